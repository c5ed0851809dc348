//! The head of a chunk: facts about it as a whole, in a quarter of a cache line.

use core::ptr::NonNull;

use super::block::ColumnStart;
use super::directory::{ChunkId, Place};
use crate::entity::Entity;

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
