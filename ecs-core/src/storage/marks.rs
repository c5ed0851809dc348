//! The enabled bits and the versions of the rows of a chunk, as one value.

use core::ops::Range;

use super::bits::EnableBits;
use super::row_versions::ChunkVersions;
use crate::sync::AtomicU64;

/// The enabled bits and the versions of the rows of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkMarks<'a> {
    /// The words of one enableable column after the other, `words_each` of each.
    pub(super) words: &'a [AtomicU64],
    pub(super) words_each: usize,
    /// One for each tracked column.
    pub(crate) versions: &'a [ChunkVersions],
}

impl<'a> ChunkMarks<'a> {
    /// Returns the bits of the `slot`-th enableable column.
    #[inline]
    pub(crate) fn bits(self, slot: usize) -> EnableBits<'a> {
        EnableBits(&self.words[slot * self.words_each..][..self.words_each])
    }

    /// Iterates over the bits of each enableable column.
    pub(super) fn all_bits(self) -> impl Iterator<Item = EnableBits<'a>> {
        self.words.chunks_exact(self.words_each).map(EnableBits)
    }

    /// Adds rows that have come, with all components enabled.
    #[inline]
    pub(super) fn push_rows(self, rows: &Range<usize>, version: u64) {
        self.all_bits().for_each(|bits| bits.fill(rows.clone(), true));
        for versions in self.versions {
            rows.clone().for_each(|row| versions.set(row, version, version));
        }
    }

    /// Copies to these rows the marks of as many rows from `start` on, in another chunk of the archetype
    /// or later in this one.
    pub(super) fn copy_rows(self, rows: &Range<usize>, from: Self, start: usize) {
        for (mine, theirs) in self.all_bits().zip(from.all_bits()) {
            mine.copy_rows(rows.clone(), theirs, start);
        }
        for (mine, theirs) in self.versions.iter().zip(from.versions) {
            mine.copy_rows(rows.clone(), theirs, start, None);
        }
    }

    /// Clears the marks of rows that leave.
    pub(super) fn pop_rows(self, rows: &Range<usize>) {
        self.all_bits().for_each(|bits| bits.fill(rows.clone(), false));
        self.versions.iter().for_each(|versions| versions.pop_rows(rows.clone()));
    }
}
