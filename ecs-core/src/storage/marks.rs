//! The enabled bits and the versions of the rows of a chunk, as one value.

use core::ops::Range;

use super::bits::EnableBits;
use super::row_versions::ChunkVersions;

/// The enabled bits and the versions of the rows of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkMarks<'a> {
    /// Of each enableable column.
    pub(crate) bits: &'a [EnableBits],
    /// Of each tracked column.
    pub(crate) versions: &'a [ChunkVersions],
}

impl ChunkMarks<'_> {
    /// Enters rows that have come, all components enabled.
    #[inline]
    pub(super) fn push_rows(self, rows: &Range<usize>, version: u64) {
        self.bits.iter().for_each(|bits| bits.fill(rows.clone(), true));
        for versions in self.versions {
            rows.clone().for_each(|row| versions.set(row, version, version));
        }
    }

    /// Gives rows the marks that as many rows from `start` on have in another chunk of the archetype, or
    /// later in this.
    pub(super) fn copy_rows(self, rows: &Range<usize>, from: Self, start: usize) {
        for (mine, theirs) in self.bits.iter().zip(from.bits) {
            mine.copy_rows(rows.clone(), theirs, start);
        }
        for (mine, theirs) in self.versions.iter().zip(from.versions) {
            mine.copy_rows(rows.clone(), theirs, start, None);
        }
    }

    /// Takes out rows that go.
    pub(super) fn pop_rows(self, rows: &Range<usize>) {
        self.bits.iter().for_each(|bits| bits.fill(rows.clone(), false));
        self.versions.iter().for_each(|versions| versions.pop_rows(rows.clone()));
    }
}
