//! Operations on whole rows: hashing, formatting, saving, and the drop of an archetype.
#![expect(
    unsafe_code,
    reason = "lends, hashes, shows, saves and drops the values of rows, by the types of their columns"
)]

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ptr::NonNull;

use super::Archetype;
use crate::component::{CodecError, Component, ComponentInfo, DebugErasedFn};
use crate::hash::StateHasher;
use crate::storage::{BlockPool, Chunks, EnabledBit, RowAddress};
use crate::user_code::finish;

impl Archetype {
    /// Returns the first component that would have to be cloned and cannot be, if any. Components that
    /// say what to do instead come first.
    pub(crate) fn not_clone(&self) -> Option<&ComponentInfo> {
        let infos = self.columns.iter().map(|column| &column.info);
        infos
            .filter(|info| !info.is_cleanup() && info.erased.clone.is_none())
            .min_by_key(|info| info.instead_of_clone.is_empty())
    }

    /// Returns one value, as the type of its column.
    ///
    /// # Panics
    /// Panics if the column is of another type, or there is no such row.
    #[inline]
    pub(crate) fn value<T: Component>(&self, address: RowAddress, column: usize) -> &T {
        self.columns[column].expect_type::<T>();
        // SAFETY: `row` has checked that the row exists: it is initialised (I-2), and of the type of the
        // column (I-9); `&self`, which the result borrows, keeps writers out (I-10).
        unsafe { self.chunks.row(address, column).cast::<T>().as_ref() }
    }

    /// Returns one value for writing, as the type of its column.
    ///
    /// # Panics
    /// Panics if the column is of another type, or there is no such row.
    #[inline]
    pub(crate) fn value_mut<T: Component>(&mut self, address: RowAddress, column: usize) -> &mut T {
        self.columns[column].expect_type::<T>();
        // SAFETY: `row` has checked that the row exists: it is initialised (I-2), and of the type of the
        // column (I-9); the result borrows `&mut self`, which keeps all others out (I-10).
        unsafe { self.chunks.row(address, column).cast::<T>().as_mut() }
    }

    /// Adds one value to the state hash, by the function of its component.
    pub(crate) fn hash_value(&self, address: RowAddress, column: usize, hasher: &mut StateHasher) {
        let info = &self.columns[column].info;
        let value = self.chunks.row(address, column);
        let (hash, size) = (info.erased.hash, info.layout.size());
        // SAFETY: the function is that of the column's type (I-9), and the row, which `row` has checked
        // to exist, is initialised (I-2); `&self` keeps writers out.
        unsafe { hash(value, size, hasher) };
    }

    pub(crate) fn is_enabled(&self, address: RowAddress, column: usize) -> bool {
        self.enabled_bit(address, column).is_none_or(EnabledBit::get)
    }

    /// Returns one value as text: as `Debug` writes it, else its bytes, else its hash.
    pub(crate) fn shown_value(&self, address: RowAddress, column: usize) -> String {
        struct Shown(NonNull<u8>, DebugErasedFn);
        impl fmt::Debug for Shown {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // SAFETY: created below from a row and the function of its column's type (I-9), while
                // `&self` of the archetype keeps writers out.
                unsafe { self.1(self.0, f) }
            }
        }
        if let Some(debug) = self.columns[column].info.erased.debug {
            return format!("{:?}", Shown(self.chunks.row(address, column), debug));
        }
        if let Some(bytes) = self.bytes(address, column) {
            return format!("the bytes {bytes:02x?}");
        }
        let mut hasher = StateHasher::new();
        self.hash_value(address, column, &mut hasher);
        format!("a value with the hash {:016x} (it is no Debug)", hasher.finish())
    }

    /// Returns the bytes of one value, if the values of this component have bytes.
    pub(crate) fn bytes(&self, address: RowAddress, column: usize) -> Option<&[u8]> {
        let value = self.chunks.row(address, column);
        let info = &self.columns[column].info;
        let bytes = info.erased.bytes?;
        // SAFETY: the function is that of the column's component (I-9, I-16), and the row, which `row`
        // has checked to exist, is initialised (I-2); `&self` keeps writers out.
        let bytes = unsafe { bytes(value, 1, info.layout.size()) };
        // SAFETY: the bytes are those of a row, initialised (I-2), or those that the type's own function
        // returns for it (I-9); `&self`, which the result borrows, keeps writers out (I-10).
        Some(unsafe { bytes.as_ref() })
    }

    /// Appends the values of one column of a chunk to `out`, in row order.
    pub(crate) fn save_column(
        &self,
        chunk: usize,
        column: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let info = &self.columns[column].info;
        let (save, size) = (info.erased.codec.save, info.layout.size());
        let first = self.chunks.column(chunk, column);
        // SAFETY: the function is that of the column's type (I-9), and the first `len` rows are
        // initialised (I-2); `&self` keeps writers out.
        unsafe { save(first, self.chunks.len(chunk), size, out) }
    }

    /// Takes out all rows, and drops their values once everything else is in order. If a drop panics, the
    /// others are dropped all the same.
    fn drop_all(&mut self) {
        let lens = self.chunks.forget_rows();
        if self.ending.drops.is_empty() {
            return;
        }
        let mut chunks = lens.into_iter().enumerate();
        finish(|| {
            for (chunk, len) in chunks.by_ref() {
                let first = RowAddress { chunk, row: 0 };
                // SAFETY: these rows were initialised (I-2) until they were just given up, and each chunk
                // comes up once.
                unsafe { self.chunks.drop_rows(first, len, &self.ending.drops) };
            }
        });
    }

    /// Drops all values and frees chunks; the chunks even if a drop panics.
    pub(crate) fn empty(
        &mut self,
        pool: &mut BlockPool,
        give_back: fn(&mut Chunks, &mut BlockPool),
    ) {
        finish(|| {
            self.drop_all();
            give_back(&mut self.chunks, pool);
        });
    }
}

impl Drop for Archetype {
    fn drop(&mut self) {
        // The blocks are freed with the chunks, even if a drop panics.
        self.drop_all();
    }
}
