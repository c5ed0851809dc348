//! The head of each chunk of an archetype, and the record of each column of it.

use alloc::vec::Vec;
use core::ptr::NonNull;

use super::block::ColumnStart;
use super::column_versions::ColumnStamps;
use super::directory::{ChunkId, Place};
use crate::entity::Entity;

/// A column of a chunk: where it starts, and when it was written.
///
/// Opening a column to write it needs both, so they share a cache line.
#[derive(Debug)]
pub struct ColumnRecord {
    /// Aligned for the column's type, inside the block (I-3). The start of a column without a size
    /// is no memory, but as well aligned.
    start: ColumnStart,
    stamps: ColumnStamps,
}

impl ColumnRecord {
    /// Where the values are. Rows of zero-sized components all lie there.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.0
    }

    /// When the column was written, and when components came to it.
    #[inline]
    pub(crate) fn stamps(&self) -> &ColumnStamps {
        &self.stamps
    }

    /// Writes down that rows came, see [`ColumnStamps::arrive`].
    #[inline]
    pub(super) fn arrive(&self, version: u64, added: u64) {
        self.stamps.arrive(version, added);
    }

    /// Writes down that a row left, and that another one of `filler` took its place: rows of both
    /// went.
    #[inline]
    pub(super) fn leave(&self, filler: &Self, version: u64) {
        self.stamps.arrive(version, filler.stamps.added());
        filler.stamps.arrive(version, 0);
    }
}

/// The records of one archetype, chunk by chunk.
///
/// ```text
/// chunk 0               chunk 1               ...
/// [ column 0, column 1 ][ column 0, column 1 ]
/// ```
#[derive(Debug)]
pub(crate) struct ColumnRecords {
    records: Vec<ColumnRecord>,
    columns: usize,
}

impl ColumnRecords {
    pub(crate) fn new(columns: usize) -> Self {
        Self { records: Vec::new(), columns }
    }

    /// Makes sure that there is memory for one more chunk.
    pub(crate) fn reserve_chunk(&mut self) {
        self.records.reserve(self.columns);
    }

    /// Enters one more chunk, with no rows, whose columns start here.
    pub(crate) fn push_chunk(&mut self, starts: impl Iterator<Item = ColumnStart>) {
        let record = |start| ColumnRecord { start, stamps: ColumnStamps::default() };
        self.records.extend(starts.map(record));
        debug_assert!(self.columns == 0 || self.records.len() % self.columns == 0);
    }

    /// Takes away the last chunk.
    pub(crate) fn pop_chunk(&mut self) {
        self.records.truncate(self.records.len() - self.columns);
    }

    /// Gives back memory that no chunk needs.
    pub(crate) fn shrink(&mut self) {
        self.records.shrink_to_fit();
    }

    /// Other records in place of all that there are: where each column starts, and when the youngest
    /// component had come to it. The columns count as written.
    pub(crate) fn refill(&mut self, columns: Vec<(ColumnStart, u64)>, version: u64) {
        self.records.clear();
        self.records.extend(columns.into_iter().map(|(start, added)| {
            let stamps = ColumnStamps::default();
            stamps.arrive(version, added);
            ColumnRecord { start, stamps }
        }));
    }

    #[inline]
    pub(crate) fn get(&self, chunk: usize, column: usize) -> &ColumnRecord {
        debug_assert!(column < self.columns);
        &self.records[chunk * self.columns + column]
    }

    /// The records of all columns of a chunk.
    #[inline]
    pub(crate) fn of_chunk(&self, chunk: usize) -> &[ColumnRecord] {
        let first = chunk * self.columns;
        &self.records[first..first + self.columns]
    }

    /// A chunk that had no rows before forgets what was in it.
    pub(crate) fn begin(&mut self, chunk: usize) {
        self.of_chunk(chunk).iter().for_each(|record| record.stamps.begin());
    }

    /// Writes down that rows came to a chunk, whose components came to their entities at `added`.
    #[inline]
    pub(crate) fn arrive(&mut self, chunk: usize, version: u64, added: u64) {
        self.of_chunk(chunk).iter().for_each(|record| record.arrive(version, added));
    }

    /// Whether no stamp of a chunk is later than the world.
    pub(crate) fn check(&self, chunk: usize, version: u64) -> bool {
        (0..self.columns).all(|column| {
            let stamps = &self.get(chunk, column).stamps;
            stamps.changed() <= version && stamps.added() <= version
        })
    }
}

/// Where the entities of a chunk are, how many rows are in use, and its number.
///
/// A row that comes or goes needs all of them, so they lie together.
#[derive(Debug)]
pub(super) struct ChunkHead {
    entities: ColumnStart,
    /// Of the rows, so that it has no more than `ROWS_MAX`.
    len: u32,
    /// The number under which the world knows the chunk.
    id: ChunkId,
}

impl ChunkHead {
    /// The head of a chunk without rows.
    pub(super) fn new(entities: ColumnStart, id: ChunkId) -> Self {
        Self { entities, len: 0, id }
    }

    /// How many rows there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "no chunk has more than ROWS_MAX rows")]
    pub(super) fn set_len(&mut self, len: usize) {
        debug_assert!(len <= crate::mask::ROWS_MAX);
        self.len = len as u32;
    }

    #[inline]
    pub(super) fn id(&self) -> ChunkId {
        self.id
    }

    /// The word for a row.
    #[inline]
    pub(super) fn place(&self, row: usize) -> Place {
        Place::new(self.id, row)
    }

    /// Where the entity column starts (I-3).
    #[inline]
    pub(super) fn entities(&self) -> NonNull<Entity> {
        self.entities.0.cast()
    }
}
