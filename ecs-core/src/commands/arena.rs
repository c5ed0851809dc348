//! Memory for the payloads of commands: values of any type, one after the other.
#![expect(unsafe_code, reason = "moves values of any type in and out of bytes")]

use alloc::vec::Vec;
use core::mem::MaybeUninit;

/// Values by their offset. It does not know their types and drops none of them.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    bytes: Vec<MaybeUninit<u8>>,
}

impl Arena {
    /// Moves a value in; returns where it is.
    pub(crate) fn push<T>(&mut self, value: T) -> usize {
        let offset = self.bytes.len();
        self.bytes.resize(offset + size_of::<T>(), MaybeUninit::uninit());
        let target = self.bytes[offset..].as_mut_ptr().cast::<T>();
        // SAFETY: `size_of::<T>()` bytes from there on were just added; no alignment is asked.
        unsafe { target.write_unaligned(value) };
        offset
    }

    /// Moves a value out.
    ///
    /// # Safety
    /// `offset` came from `push` with this very type since the last `clear`, and the value was not
    /// taken before.
    pub(crate) unsafe fn take<T>(&self, offset: usize) -> T {
        let source = self.bytes[offset..offset + size_of::<T>()].as_ptr().cast::<T>();
        // SAFETY: the caller ensures that a `T` was put there and not taken; no alignment is asked.
        unsafe { source.read_unaligned() }
    }

    /// Forgets all values; the memory is kept.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }
}
