//! Memory that the chunks of an archetype hold and can give back.

use super::{BlockPool, ChunkHead, Chunks, ColumnRecord, Directory, EnableBits, RowVersions};

impl Chunks {
    /// The memory that all blocks take.
    pub(crate) fn block_bytes(&self) -> usize {
        let found = (0..self.heads.len()).map(|chunk| self.layouts.find(chunk));
        found.filter(|&(_, place)| place == 0).map(|(layout, _)| layout.block.size()).sum()
    }

    /// Gives back all but one of the empty chunks at the end.
    pub(crate) fn trim(&mut self, pool: &mut BlockPool) {
        while self.heads.len() > self.used + 1 {
            self.pop_chunk(pool);
        }
    }

    /// The archetype has another index now.
    pub(crate) fn set_owner(&mut self, owner: u32, directory: &mut Directory) {
        self.owner = owner;
        for (chunk, head) in self.heads.iter().enumerate() {
            directory.set(head.id(), owner, chunk);
        }
    }

    /// Gives back memory that no chunk needs.
    pub(crate) fn shrink(&mut self, directory: &mut Directory) {
        directory.count_change();
        self.heads.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.records.shrink();
        self.bits.iter_mut().for_each(EnableBits::shrink);
        self.tracked.iter_mut().for_each(RowVersions::shrink);
    }

    /// What is known about the chunks takes this much, as long as nothing is kept for more.
    pub(crate) fn metadata_bytes(&self) -> usize {
        let each = size_of::<ChunkHead>()
            + self.sizes.len() * size_of::<ColumnRecord>()
            + self.bits.iter().map(EnableBits::chunk_bytes).sum::<usize>();
        let rows: usize = (0..self.heads.len()).map(|chunk| self.capacity(chunk)).sum();
        let tracked = self.tracked.len() * rows * 2 * size_of::<u64>();
        self.layouts.heap_bytes()
            + self.sizes.len() * size_of::<usize>()
            + self.heads.len() * each
            + tracked
    }

    /// Gives back all empty chunks.
    pub(crate) fn free_spare(&mut self, pool: &mut BlockPool) {
        while self.heads.len() > self.used {
            self.pop_chunk(pool);
        }
    }
}
