//! A slice whose parts are handed out by index, for pools that know indices and no slices.

use std::marker::PhantomData;
use std::ops::Range;

/// Items that several threads change, no two of them the same.
pub(crate) struct SharedItems<'items> {
    items: *mut u32,
    len: usize,
    _borrow: PhantomData<&'items mut [u32]>,
}

// SAFETY: a slice of numbers that is handed out in parts that do not overlap.
unsafe impl Sync for SharedItems<'_> {}

impl<'items> SharedItems<'items> {
    pub(crate) fn new(items: &'items mut [u32]) -> Self {
        Self { items: items.as_mut_ptr(), len: items.len(), _borrow: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Changes a part. The loops call this once for each index, with parts that do not overlap;
    /// the checksum of the row would show it if they did not.
    pub(crate) fn with(&self, range: Range<usize>, change: impl FnOnce(&mut [u32])) {
        assert!(range.start <= range.end && range.end <= self.len, "within the items");
        // SAFETY: inside of the slice, as asserted.
        let start = unsafe { self.items.add(range.start) };
        // SAFETY: inside of the slice, which is borrowed for as long as this, and in no
        // other part.
        change(unsafe { std::slice::from_raw_parts_mut(start, range.len()) });
    }
}
