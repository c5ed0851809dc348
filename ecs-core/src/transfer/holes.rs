//! The holes of entities that are despawned in any order.

use alloc::vec::Vec;

use crate::mask::ROWS_MAX;
use crate::storage::{Fill, RowAddress, masks};

/// A bit for each row of an archetype, so that holes may come in any order.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// So many words for each chunk.
    rows: Vec<u64>,
    /// A bit for each of these words that is not zero.
    words: Vec<u64>,
    /// All of `words` before this one are zero.
    first: usize,
    count: usize,
}

const CHUNK_WORDS: usize = ROWS_MAX / 64;

impl Holes {
    /// Makes room for holes in this many chunks.
    pub(super) fn prepare(&mut self, chunks: usize) {
        debug_assert!(self.is_empty());
        let words = self.rows.len().max(chunks * CHUNK_WORDS);
        self.rows.resize(words, 0);
        self.words.resize(words.div_ceil(64), 0);
        self.first = self.words.len();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a row that is no hole yet.
    #[inline]
    pub(super) fn insert(&mut self, RowAddress { chunk, row }: RowAddress) {
        let (word, bit) = (chunk * CHUNK_WORDS + row / 64, 1 << (row % 64));
        debug_assert!(self.rows[word] & bit == 0, "no row leaves twice");
        self.rows[word] |= bit;
        self.words[word / 64] |= 1 << (word % 64);
        self.first = self.first.min(word / 64);
        self.count += 1;
    }

    /// Takes rows of a word out.
    #[inline]
    fn remove(&mut self, word: usize, mask: u64) {
        self.rows[word] &= !mask;
        if self.rows[word] == 0 {
            self.words[word / 64] &= !(1 << (word % 64));
        }
    }

    /// Takes the first hole out.
    #[inline]
    fn pop(&mut self) -> RowAddress {
        while self.words[self.first] == 0 {
            self.first += 1;
        }
        let word = self.first * 64 + self.words[self.first].trailing_zeros() as usize;
        let rows = self.rows[word];
        self.remove(word, rows & rows.wrapping_neg());
        self.count -= 1;
        let row = word % CHUNK_WORDS * 64 + rows.trailing_zeros() as usize;
        RowAddress { chunk: word / CHUNK_WORDS, row }
    }

    /// Finds the rows of the last chunk that fill holes, as many as there are of either, and takes these holes
    /// out, and those behind which there is nothing else. `end` is the end of the rows. Returns where they end
    /// afterwards.
    pub(super) fn take_tail(&mut self, end: RowAddress, fills: &mut Vec<Fill>) -> usize {
        fills.clear();
        let len = end.row.saturating_sub(self.count);
        for (index, mask) in masks(len..end.row) {
            let word = end.chunk * CHUNK_WORDS + index;
            let holes = self.rows[word] & mask;
            self.count -= holes.count_ones() as usize;
            self.remove(word, mask);
            let mut rest = mask & !holes;
            while rest != 0 {
                let filler = index * 64 + rest.trailing_zeros() as usize;
                fills.push(Fill { hole: RowAddress::default(), filler });
                rest &= rest - 1;
            }
        }
        fills.iter_mut().for_each(|fill| fill.hole = self.pop());
        len
    }
}
