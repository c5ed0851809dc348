//! The enabled bits of one component in one chunk.

use core::ops::Range;

use crate::mask::Rows;
use crate::sync::{AtomicU64, Ordering};

/// The enabled bits of one component in one chunk: a bit per row, stored outside the blocks.
///
/// The bits are atomics so that any thread can flip one, even while queries run. All accesses are
/// relaxed: a bit says whether a row takes part and publishes no data. Two systems that need an order
/// between them get it from the schedule. Bits at and after the chunk's length are zero (I-5).
///
/// Set bits are not counted: that would double the cost of a flip, and a pass that enters a chunk reads
/// all of its words, 32 at most, anyway.
///
/// A caller with exclusive access to the bits also writes them through shared references: views keep the
/// addresses of words (I-23), which an exclusive reference to the words would invalidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnableBits<'a>(pub(super) &'a [AtomicU64]);

/// The enabled bit of one component of one entity.
#[derive(Clone, Copy, Debug)]
pub struct EnabledBit<'a> {
    word: &'a AtomicU64,
    shift: u32,
}

impl<'a> EnabledBit<'a> {
    /// Returns the bit of a row, given the words of its chunk.
    #[inline]
    pub(crate) fn of_row(words: &'a [AtomicU64], row: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is below 64")]
        let shift = (row % 64) as u32;
        Self { word: &words[row / 64], shift }
    }

    /// Returns whether the component is enabled now.
    #[inline]
    #[must_use]
    pub fn get(self) -> bool {
        self.word.load(Ordering::Relaxed) >> self.shift & 1 != 0
    }

    /// Enables or disables the component of an existing row, and returns whether it was enabled. May run
    /// at the same time as anything else.
    #[inline]
    pub(crate) fn set(self, enabled: bool) -> bool {
        // A load is much cheaper than a read-modify-write, and often enough.
        if self.get() == enabled {
            return enabled;
        }
        let bit = 1 << self.shift;
        let before = if enabled {
            self.word.fetch_or(bit, Ordering::Relaxed)
        } else {
            self.word.fetch_and(!bit, Ordering::Relaxed)
        };
        before & bit != 0
    }

    /// The same as [`set`](Self::set), but no other thread may flip bits of this chunk at the same time.
    /// If one does, either flip may be lost.
    #[inline]
    pub(crate) fn set_alone(self, enabled: bool) -> bool {
        let before = self.word.load(Ordering::Relaxed);
        // A plain load and store: a read-modify-write would cost several times as much. No branch either,
        // since the direction of a flip is unpredictable.
        let others = before & !(1 << self.shift);
        self.word.store(others | u64::from(enabled) << self.shift, Ordering::Relaxed);
        before >> self.shift & 1 != 0
    }
}

impl<'a> EnableBits<'a> {
    #[inline]
    pub(crate) fn words(self) -> &'a [AtomicU64] {
        self.0
    }

    /// Returns the bit of an existing row.
    #[inline]
    pub(crate) fn bit(self, row: usize) -> EnabledBit<'a> {
        EnabledBit::of_row(self.0, row)
    }

    /// Returns whether all of these rows are enabled.
    fn are_on(self, rows: Range<usize>) -> bool {
        masks(rows).all(|(word, mask)| self.0[word].load(Ordering::Relaxed) & mask == mask)
    }

    /// Enables or disables the rows in `mask`, which no other thread changes meanwhile.
    #[inline]
    fn switch(self, word: usize, mask: u64, enabled: bool) {
        let word = &self.0[word];
        let bits = word.load(Ordering::Relaxed);
        word.store(if enabled { bits | mask } else { bits & !mask }, Ordering::Relaxed);
    }

    /// Enables rows that have come, or disables rows that leave.
    pub(super) fn fill(self, rows: Range<usize>, enabled: bool) {
        masks(rows).for_each(|(word, mask)| self.switch(word, mask, enabled));
    }

    /// Copies to these rows the bits of as many rows from `start` on, in another chunk or later in this
    /// one.
    pub(super) fn copy_rows(self, rows: Range<usize>, from: Self, start: usize) {
        if self.are_on(rows.clone()) && from.are_on(start..start + rows.len()) {
            return;
        }
        for (row, source) in rows.zip(start..) {
            _ = self.bit(row).set_alone(from.bit(source).get());
        }
    }

    /// Enables or disables the rows in the mask, of a chunk with `len` rows.
    pub(crate) fn set_rows(self, len: usize, rows: &Rows, enabled: bool) {
        match rows {
            Rows::None => {}
            Rows::All => self.fill(0..len, enabled),
            Rows::Some(mask) => {
                let words = (0..len.div_ceil(64)).zip(mask.words());
                words.for_each(|(word, &mask)| self.switch(word, mask, enabled));
            }
        }
    }
}

/// Iterates over the words that hold the bits of these rows, each with a mask of these bits.
#[inline]
pub(crate) fn masks(rows: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = rows;
    let words = if start < end { start / 64..end.div_ceil(64) } else { 0..0 };
    words.map(move |word| {
        let from = start.saturating_sub(word * 64);
        let to = (end - word * 64).min(64);
        (word, (u64::MAX << from) & (u64::MAX >> (64 - to)))
    })
}
