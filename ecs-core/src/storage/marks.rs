//! The enabled bits and the versions of the rows of a chunk, as one value.

use core::ops::Range;

use super::bits::EnableBits;
use super::row_versions::ChunkVersions;
use crate::sync::AtomicU64;

/// The enabled bits and the versions of the rows of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkMarks<'a> {
    /// Of each enableable column so many words, of one column after the other.
    pub(super) words: &'a [AtomicU64],
    pub(super) words_each: usize,
    /// Of each tracked column.
    pub(crate) versions: &'a [ChunkVersions],
}

impl<'a> ChunkMarks<'a> {
    /// The bits of the `slot`-th enableable column.
    #[inline]
    pub(crate) fn bits(self, slot: usize) -> EnableBits<'a> {
        EnableBits(&self.words[slot * self.words_each..][..self.words_each])
    }

    /// The bits of each enableable column.
    pub(super) fn all_bits(self) -> impl Iterator<Item = EnableBits<'a>> {
        self.words.chunks_exact(self.words_each).map(EnableBits)
    }

    /// Enters rows that have come, all components enabled.
    #[inline]
    pub(super) fn push_rows(self, rows: &Range<usize>, version: u64) {
        self.all_bits().for_each(|bits| bits.fill(rows.clone(), true));
        for versions in self.versions {
            rows.clone().for_each(|row| versions.set(row, version, version));
        }
    }

    /// Gives rows the marks that as many rows from `start` on have in another chunk of the archetype, or
    /// later in this.
    pub(super) fn copy_rows(self, rows: &Range<usize>, from: Self, start: usize) {
        for (mine, theirs) in self.all_bits().zip(from.all_bits()) {
            mine.copy_rows(rows.clone(), theirs, start);
        }
        for (mine, theirs) in self.versions.iter().zip(from.versions) {
            mine.copy_rows(rows.clone(), theirs, start, None);
        }
    }

    /// Takes out rows that go.
    pub(super) fn pop_rows(self, rows: &Range<usize>) {
        self.all_bits().for_each(|bits| bits.fill(rows.clone(), false));
        self.versions.iter().for_each(|versions| versions.pop_rows(rows.clone()));
    }
}
