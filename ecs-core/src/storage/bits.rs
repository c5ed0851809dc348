//! The enabled bits of one component in all chunks of one archetype.

use alloc::vec::Vec;
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
#[derive(Debug)]
pub(crate) struct EnableBits {
    words: Vec<AtomicU64>,
    words_per_chunk: usize,
}

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

impl EnableBits {
    pub(crate) fn new(capacity_max: usize) -> Self {
        Self { words: Vec::new(), words_per_chunk: capacity_max.div_ceil(64) }
    }

    /// Makes sure that there is memory for one more chunk.
    pub(crate) fn reserve_chunk(&mut self) {
        self.words.reserve(self.words_per_chunk);
    }

    /// Makes room for one more chunk, with no rows.
    pub(crate) fn push_chunk(&mut self) {
        self.words.extend((0..self.words_per_chunk).map(|_| AtomicU64::new(0)));
    }

    /// Takes away the last chunk, which has no rows.
    pub(crate) fn pop_chunk(&mut self) {
        self.words.truncate(self.words.len() - self.words_per_chunk);
    }

    /// Gives back memory that no chunk needs.
    pub(crate) fn shrink(&mut self) {
        self.words.shrink_to_fit();
    }

    /// What one chunk takes.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.words_per_chunk * size_of::<AtomicU64>()
    }

    /// The words of one chunk.
    #[inline]
    pub(crate) fn words(&self, chunk: usize) -> &[AtomicU64] {
        let start = chunk * self.words_per_chunk;
        &self.words[start..start + self.words_per_chunk]
    }

    /// The bit of a row that is there.
    #[inline]
    pub(crate) fn bit(&self, chunk: usize, row: usize) -> EnabledBit<'_> {
        EnabledBit::of_row(self.words(chunk), row)
    }

    /// Whether all of these rows are switched on.
    pub(crate) fn are_on(&self, chunk: usize, rows: Range<usize>) -> bool {
        let words = self.words(chunk);
        masks(rows).all(|(word, mask)| words[word].load(Ordering::Relaxed) & mask == mask)
    }

    /// Writes a word of a chunk that no other thread writes meanwhile.
    #[inline]
    fn update(&self, chunk: usize, word: usize, new: impl FnOnce(u64) -> u64) {
        let word = &self.words[chunk * self.words_per_chunk + word];
        word.store(new(word.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// Switches rows on that have come, or off that go.
    pub(crate) fn fill(&mut self, chunk: usize, rows: Range<usize>, enabled: bool) {
        for (word, mask) in masks(rows) {
            self.update(chunk, word, |bits| if enabled { bits | mask } else { bits & !mask });
        }
    }

    /// Gives rows the bits that as many other rows have, which come later and do not overlap.
    pub(crate) fn move_rows(
        &mut self,
        chunk: usize,
        rows: Range<usize>,
        other: usize,
        from: usize,
    ) {
        if self.are_on(chunk, rows.clone()) && self.are_on(other, from..from + rows.len()) {
            return;
        }
        for (offset, row) in rows.enumerate() {
            let enabled = self.bit(other, from + offset).get();
            _ = self.bit(chunk, row).set_alone(enabled);
        }
    }

    /// Switches the rows of a chunk with `len` rows that are in the mask on or off.
    pub(crate) fn set_rows(&mut self, chunk: usize, len: usize, rows: &Rows, enabled: bool) {
        match rows {
            Rows::None => {}
            Rows::All => self.fill(chunk, 0..len, enabled),
            Rows::Some(mask) => {
                for (word, &mask) in (0..len.div_ceil(64)).zip(mask.words()) {
                    self.update(
                        chunk,
                        word,
                        |bits| if enabled { bits | mask } else { bits & !mask },
                    );
                }
            }
        }
    }

    /// Takes out every row.
    pub(crate) fn clear(&mut self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_clear_no_bit_of_any_chunk_is_set() {
        let mut bits = EnableBits::new(130);
        for chunk in 0..3 {
            bits.push_chunk();
            bits.fill(chunk, 0..130, true);
            assert!(bits.are_on(chunk, 0..130));
        }
        bits.clear();
        for chunk in 0..3 {
            assert!((0..130).all(|row| !bits.bit(chunk, row).get()), "chunk {chunk}");
        }
    }
}
