//! The enabled bits of one component in one chunk.

use core::ops::Range;

use crate::mask::Rows;
use crate::sync::{AtomicU64, Ordering};

/// A bit per row, outside the blocks.
///
/// Bits are atomics so that a bit can be flipped from anywhere, also while queries run. All
/// accesses are relaxed: a bit says whether a row takes part, it publishes no data; two systems
/// that need an order between them get it from the schedule. Bits at and after the chunk's
/// length are zero (I-5).
///
/// They are not counted: a flip would cost twice as much, and a pass that enters a chunk looks at all of its
/// words, 32 at most, anyway.
///
/// A caller that has the bits alone writes them by shared references as well: views keep the addresses of
/// words (I-23), which an exclusive reference to these would make worthless.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnableBits<'a>(pub(super) &'a [AtomicU64]);

/// The enabled bit of one component of one entity.
#[derive(Clone, Copy, Debug)]
pub struct EnabledBit<'a> {
    word: &'a AtomicU64,
    shift: u32,
}

impl<'a> EnabledBit<'a> {
    /// The bit of a row among the words of its chunk.
    #[inline]
    pub(crate) fn of_row(words: &'a [AtomicU64], row: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is below 64")]
        let shift = (row % 64) as u32;
        Self { word: &words[row / 64], shift }
    }

    /// Whether the component is enabled now.
    #[inline]
    #[must_use]
    pub fn get(self) -> bool {
        self.word.load(Ordering::Relaxed) >> self.shift & 1 != 0
    }

    /// Switches a row that is there on or off; returns what it was. May run beside anything.
    #[inline]
    pub(crate) fn set(self, enabled: bool) -> bool {
        // A look is much cheaper than a read-modify-write, and often all that is needed.
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

    /// [`set`](Self::set) where no other thread flips bits of this chunk meanwhile; if one does,
    /// one of the two flips may be lost.
    #[inline]
    pub(crate) fn set_alone(self, enabled: bool) -> bool {
        let before = self.word.load(Ordering::Relaxed);
        // Plain loads and stores: a read-modify-write would cost several times as much. No branch
        // either, since which way a bit is flipped is a matter of chance.
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

    /// The bit of a row that is there.
    #[inline]
    pub(crate) fn bit(self, row: usize) -> EnabledBit<'a> {
        EnabledBit::of_row(self.0, row)
    }

    /// Whether all of these rows are switched on.
    fn are_on(self, rows: Range<usize>) -> bool {
        masks(rows).all(|(word, mask)| self.0[word].load(Ordering::Relaxed) & mask == mask)
    }

    /// Switches rows on or off that no other thread switches meanwhile.
    #[inline]
    fn switch(self, word: usize, mask: u64, enabled: bool) {
        let word = &self.0[word];
        let bits = word.load(Ordering::Relaxed);
        word.store(if enabled { bits | mask } else { bits & !mask }, Ordering::Relaxed);
    }

    /// Switches rows on that have come, or off that go.
    pub(super) fn fill(self, rows: Range<usize>, enabled: bool) {
        masks(rows).for_each(|(word, mask)| self.switch(word, mask, enabled));
    }

    /// Gives rows the bits that as many rows from `start` on have in another chunk, or later in this.
    pub(super) fn copy_rows(self, rows: Range<usize>, from: Self, start: usize) {
        if self.are_on(rows.clone()) && from.are_on(start..start + rows.len()) {
            return;
        }
        for (row, source) in rows.zip(start..) {
            _ = self.bit(row).set_alone(from.bit(source).get());
        }
    }

    /// Switches the rows of a chunk with `len` rows that are in the mask on or off.
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

/// The words that these rows have bits in, and which bits.
fn masks(rows: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = rows;
    let words = if start < end { start / 64..end.div_ceil(64) } else { 0..0 };
    words.map(move |word| {
        let from = start.saturating_sub(word * 64);
        let to = (end - word * 64).min(64);
        (word, (u64::MAX << from) & (u64::MAX >> (64 - to)))
    })
}
