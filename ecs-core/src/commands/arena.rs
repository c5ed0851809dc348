//! Memory for the payloads of commands: values of any type, one after the other.
#![expect(unsafe_code, reason = "moves values of any type in and out of words")]

use alloc::vec::Vec;
use core::mem::MaybeUninit;

/// Values by their offset. It does not know their types and drops none of them.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    words: Vec<MaybeUninit<u64>>,
}

/// Where a value is, in words: 32 GiB of them can be told apart.
pub(crate) type Offset = u32;

const fn word_count<T>() -> usize {
    size_of::<T>().div_ceil(size_of::<u64>())
}

impl Arena {
    /// Moves a value in; returns where it is.
    ///
    /// Panics where the arena would grow beyond 32 GiB.
    #[inline]
    pub(crate) fn push<T>(&mut self, value: T) -> Offset {
        let offset = self.words.len();
        let place = Offset::try_from(offset).expect("a command buffer has at most 32 GiB");
        self.words.reserve(word_count::<T>());
        let target = self.words.spare_capacity_mut().as_mut_ptr().cast::<T>();
        // SAFETY: `word_count` words were just reserved from there on, and `&mut self` makes this
        // the only access; no alignment is asked.
        unsafe { target.write_unaligned(value) };
        // SAFETY: reserved above, and a `MaybeUninit` is always initialised.
        unsafe { self.words.set_len(offset + word_count::<T>()) };
        place
    }

    /// Moves a value out.
    ///
    /// # Safety
    /// `offset` came from `push` or `put_back` with this very type since the last `clear`, and the
    /// value was not taken since (C-1).
    #[inline]
    pub(crate) unsafe fn take<T>(&self, offset: Offset) -> T {
        let offset = offset as usize;
        let source = self.words[offset..offset + word_count::<T>()].as_ptr().cast::<T>();
        // SAFETY: the caller vouches that a `T` was put there and is taken once (C-1); the slice
        // has as many words; no alignment is asked.
        unsafe { source.read_unaligned() }
    }

    /// Moves a value to where another of its type was taken from.
    pub(crate) fn put_back<T>(&mut self, offset: Offset, value: T) {
        let offset = offset as usize;
        let target = self.words[offset..offset + word_count::<T>()].as_mut_ptr().cast::<T>();
        // SAFETY: a slice of that many words, exclusively borrowed; no alignment is asked.
        unsafe { target.write_unaligned(value) };
    }

    /// Moves the values of another arena behind those here; returns what to add to their offsets.
    ///
    /// Panics where the arena would grow beyond 32 GiB.
    pub(crate) fn append(&mut self, other: &mut Self) -> Offset {
        let shift = Offset::try_from(self.words.len());
        let end = Offset::try_from(self.words.len() + other.words.len());
        let shift = shift.ok().filter(|_| end.is_ok());
        let shift = shift.expect("a command buffer has at most 32 GiB");
        self.words.append(&mut other.words);
        shift
    }

    /// Forgets all values; the memory is kept.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }
}
