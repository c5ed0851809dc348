//! The head of a chunk: facts about it as a whole, in a quarter of a cache line.

use core::ptr::NonNull;

use super::block::Block;
use super::directory::{ChunkId, Place};
use crate::entity::Entity;

/// The block of a chunk, how many rows are in use, and its number.
///
/// A row that comes or goes needs all of them, so they lie together.
#[derive(Debug)]
pub(super) struct ChunkHead {
    block: Block,
    /// Of the rows, so that it has no more than `ROWS_MAX`.
    len: u32,
    /// The number under which the world knows the chunk.
    id: ChunkId,
}

impl ChunkHead {
    /// The head of a chunk without rows.
    pub(super) fn new(block: Block, id: ChunkId) -> Self {
        Self { block, len: 0, id }
    }

    #[inline]
    pub(super) fn block(&self) -> &Block {
        &self.block
    }

    /// The parts that are to be given back with the chunk.
    pub(super) fn into_parts(self) -> (Block, ChunkId) {
        (self.block, self.id)
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

    /// Where the entity column starts, which is where the block does (I-3).
    #[inline]
    pub(super) fn entities(&self) -> NonNull<Entity> {
        self.block.start().cast()
    }
}
