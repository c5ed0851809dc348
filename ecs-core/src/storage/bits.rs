//! The enabled bits of one component in all chunks of one archetype.

use alloc::vec::Vec;
use core::ops::Range;

use crate::mask::Rows;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A bit per row and a count of zeros per chunk, outside the blocks.
///
/// Bits are atomics so that a bit can be flipped from anywhere, also while queries run. All
/// accesses are relaxed: a bit says whether a row takes part, it publishes no data; two systems
/// that need an order between them get it from the schedule. Bits at and after the chunk's
/// length are zero, and the count is the length less the ones (I-5).
#[derive(Debug)]
pub(crate) struct EnableBits {
    words: Vec<AtomicU64>,
    disabled: Vec<AtomicU32>,
    words_per_chunk: usize,
}

impl EnableBits {
    pub(crate) fn new(capacity_max: usize) -> Self {
        Self { words: Vec::new(), disabled: Vec::new(), words_per_chunk: capacity_max.div_ceil(64) }
    }

    /// Makes sure that there is memory for one more chunk.
    pub(crate) fn reserve_chunk(&mut self) {
        self.words.reserve(self.words_per_chunk);
        self.disabled.reserve(1);
    }

    /// Makes room for one more chunk, with no rows.
    pub(crate) fn push_chunk(&mut self) {
        self.words.extend((0..self.words_per_chunk).map(|_| AtomicU64::new(0)));
        self.disabled.push(AtomicU32::new(0));
    }

    /// Takes away the last chunk, which has no rows.
    pub(crate) fn pop_chunk(&mut self) {
        self.words.truncate(self.words.len() - self.words_per_chunk);
        self.disabled.pop();
    }

    /// Gives back memory that no chunk needs.
    pub(crate) fn shrink(&mut self) {
        self.words.shrink_to_fit();
        self.disabled.shrink_to_fit();
    }

    /// What one chunk takes.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.words_per_chunk * size_of::<AtomicU64>() + size_of::<AtomicU32>()
    }

    /// The words of one chunk.
    #[inline]
    pub(crate) fn words(&self, chunk: usize) -> &[AtomicU64] {
        let start = chunk * self.words_per_chunk;
        &self.words[start..start + self.words_per_chunk]
    }

    /// How many rows of this chunk are switched off.
    #[inline]
    pub(crate) fn disabled_count(&self, chunk: usize) -> usize {
        self.disabled[chunk].load(Ordering::Relaxed) as usize
    }

    /// Whether this row is switched on.
    #[inline]
    pub(crate) fn get(&self, chunk: usize, row: usize) -> bool {
        self.words(chunk)[row / 64].load(Ordering::Relaxed) & (1 << (row % 64)) != 0
    }

    /// Switches a row that is there on or off; returns what it was. May run beside anything.
    #[inline]
    pub(crate) fn set(&self, chunk: usize, row: usize, enabled: bool) -> bool {
        let bit = 1 << (row % 64);
        let word = &self.words(chunk)[row / 64];
        // A look is much cheaper than a read-modify-write, and often all that is needed.
        if (word.load(Ordering::Relaxed) & bit != 0) == enabled {
            return enabled;
        }
        let before = if enabled {
            word.fetch_or(bit, Ordering::Relaxed)
        } else {
            word.fetch_and(!bit, Ordering::Relaxed)
        };
        let was = before & bit != 0;
        // Whoever changed the bit keeps the books; who found it as wished leaves them alone.
        match (was, enabled) {
            (true, false) => _ = self.disabled[chunk].fetch_add(1, Ordering::Relaxed),
            (false, true) => _ = self.disabled[chunk].fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
        was
    }

    /// [`set`](Self::set) where nobody else flips bits of this chunk meanwhile; if somebody does,
    /// one of the two flips may be lost or miscounted.
    #[inline]
    pub(crate) fn set_alone(&self, chunk: usize, row: usize, enabled: bool) -> bool {
        let bit = 1 << (row % 64);
        let word = &self.words(chunk)[row / 64];
        let before = word.load(Ordering::Relaxed);
        let was = before & bit != 0;
        // Plain loads and stores: a read-modify-write would cost several times as much.
        word.store(if enabled { before | bit } else { before & !bit }, Ordering::Relaxed);
        let count = &self.disabled[chunk];
        let less = u32::from(enabled && !was);
        let more = u32::from(was && !enabled);
        count.store(count.load(Ordering::Relaxed) + more - less, Ordering::Relaxed);
        was
    }

    /// [`set`](Self::set) for whoever has the bits alone.
    #[inline]
    pub(crate) fn put(&mut self, chunk: usize, row: usize, enabled: bool) {
        let bit = 1 << (row % 64);
        let word = self.words[chunk * self.words_per_chunk + row / 64].get_mut();
        let was = *word & bit != 0;
        if was != enabled {
            *word ^= bit;
            let disabled = self.disabled[chunk].get_mut();
            *disabled = if enabled { *disabled - 1 } else { *disabled + 1 };
        }
    }

    /// Enters rows that were not there, switched on.
    pub(crate) fn push_rows(&mut self, chunk: usize, rows: Range<usize>) {
        for (word, mask) in masks(rows) {
            *self.words[chunk * self.words_per_chunk + word].get_mut() |= mask;
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
        if self.disabled_count(chunk) == 0 && self.disabled_count(other) == 0 {
            return;
        }
        for (offset, row) in rows.enumerate() {
            let enabled = self.get(other, from + offset);
            self.put(chunk, row, enabled);
        }
    }

    /// Takes out the last rows of a chunk.
    pub(crate) fn pop_rows(&mut self, chunk: usize, rows: Range<usize>) {
        let count = rows.len();
        let mut ones = 0;
        for (word, mask) in masks(rows) {
            let word = self.words[chunk * self.words_per_chunk + word].get_mut();
            ones += (*word & mask).count_ones() as usize;
            *word &= !mask;
        }
        let zeros = u32::try_from(count - ones).expect("a chunk has few rows");
        *self.disabled[chunk].get_mut() -= zeros;
    }

    /// Switches the rows of a chunk with `len` rows that are in the mask on or off.
    pub(crate) fn set_rows(&mut self, chunk: usize, len: usize, rows: &Rows, enabled: bool) {
        let start = chunk * self.words_per_chunk;
        let words = &mut self.words[start..start + len.div_ceil(64)];
        let mut ones = 0;
        match rows {
            Rows::None => return,
            Rows::All => {
                for (word, mask) in words.iter_mut().zip(masks(0..len)) {
                    *word.get_mut() = if enabled { mask.1 } else { 0 };
                }
                ones = if enabled { len } else { 0 };
            }
            Rows::Some(mask) => {
                for (word, &mask) in words.iter_mut().zip(mask.words()) {
                    let word = word.get_mut();
                    *word = if enabled { *word | mask } else { *word & !mask };
                    ones += word.count_ones() as usize;
                }
            }
        }
        *self.disabled[chunk].get_mut() = u32::try_from(len - ones).expect("a chunk has few rows");
    }

    /// Takes out the last row of a chunk; returns what it was.
    pub(crate) fn pop_row(&mut self, chunk: usize, row: usize) -> bool {
        let bit = 1 << (row % 64);
        let word = self.words[chunk * self.words_per_chunk + row / 64].get_mut();
        let was = *word & bit != 0;
        *word &= !bit;
        if !was {
            *self.disabled[chunk].get_mut() -= 1;
        }
        was
    }

    /// Takes out every row.
    pub(crate) fn clear(&mut self) {
        self.words.iter_mut().for_each(|word| *word.get_mut() = 0);
        self.disabled.iter_mut().for_each(|count| *count.get_mut() = 0);
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
