//! Rows come: reserved at the end of the last chunk or in a new one, written, and committed.
#![expect(unsafe_code, reason = "writes the entities of rows that have come")]

use core::ptr::NonNull;

use super::{
    Block, BlockPool, ChunkHead, Chunks, ColumnStart, EnableBits, RowAddress, RowVersions,
    canaries, dangling,
};
use crate::entity::Entity;

impl Chunks {
    /// The place of the next rows, up to `wanted` of them in one chunk: where they start, and how
    /// many there are. The rows are unowned until [`commit_rows`](Self::commit_rows).
    pub(crate) fn reserve_rows(
        &mut self,
        pool: &mut BlockPool,
        wanted: usize,
    ) -> (RowAddress, usize) {
        let first = self.reserve_row(pool);
        (first, wanted.min(self.capacity(first.chunk) - first.row))
    }

    /// The place of the next row. It is unowned until it is committed.
    #[inline]
    pub(crate) fn reserve_row(&mut self, pool: &mut BlockPool) -> RowAddress {
        let chunk = self.used.wrapping_sub(1);
        match self.heads.get(chunk).map(ChunkHead::len) {
            Some(row) if row < self.last_capacity => RowAddress { chunk, row },
            _ => self.reserve_chunk(pool),
        }
    }

    /// The first row of the next chunk.
    #[cold]
    fn reserve_chunk(&mut self, pool: &mut BlockPool) -> RowAddress {
        let chunk = self.used;
        if chunk == self.heads.len() {
            self.push_chunk(pool);
        }
        RowAddress { chunk, row: 0 }
    }

    fn push_chunk(&mut self, pool: &mut BlockPool) {
        // All memory first: where there is none, nothing has changed but addresses.
        pool.directory.count_change();
        self.heads.reserve(1);
        self.blocks.reserve(1);
        self.records.reserve_chunk();
        self.bits.iter_mut().for_each(EnableBits::reserve_chunk);
        let (layout, place) = self.layouts.find(self.heads.len());
        let capacity = layout.capacity;
        self.tracked.iter_mut().for_each(|versions| versions.reserve_chunk(capacity));
        pool.directory.prepare();
        if place == 0 {
            let block = pool.take(layout.block);
            canaries::plant(&block, layout, &self.sizes);
            self.blocks.push(block);
        }
        let block = self.blocks.last().expect("the block of the chunk's first neighbour");
        let id = pool.directory.enter(self.owner, self.heads.len());
        let columns = layout.offsets.iter().zip(&self.sizes);
        let first = place * capacity;
        let start = |(&offset, &size)| ColumnStart(column_start(block, offset, size, first));
        self.records.push_chunk(columns.map(start));
        let entities = ColumnStart(column_start(block, 0, size_of::<Entity>(), first));
        self.heads.push(ChunkHead::new(entities, id));
        self.bits.iter_mut().for_each(EnableBits::push_chunk);
        self.tracked.iter_mut().for_each(RowVersions::push_chunk);
    }

    /// Makes the next rows this archetype's own, all components enabled. `added` is when the
    /// components came to these entities, or 0 where the caller carries over what is known.
    ///
    /// # Safety
    /// `first` came from [`reserve_rows`](Self::reserve_rows), no rows were committed or taken
    /// since, `entities` are no more than it granted, and every column of these rows has been
    /// initialised (I-2).
    pub(crate) unsafe fn commit_rows(
        &mut self,
        first: RowAddress,
        entities: &[Entity],
        version: u64,
        added: u64,
    ) {
        debug_assert!(first.row + entities.len() <= self.capacity(first.chunk));
        let target = self.entity_row(first);
        // SAFETY: the caller vouches for so many free rows, which are inside the entity column
        // (I-3) and unowned (I-2); `entities` is borrowed from outside the block.
        unsafe { target.copy_from_nonoverlapping(NonNull::from(entities).cast(), entities.len()) };
        let count = entities.len();
        let RowAddress { chunk, row } = first;
        debug_assert!(self.len(chunk) == row && row + count <= self.capacity(chunk));
        if row == 0 {
            self.enter_chunk(chunk);
        }
        self.heads[chunk].set_len(row + count);
        self.row_count += count;
        self.push_marks(first, count, version);
        self.records.arrive(chunk, version, added);
    }

    /// Enters the bits and the versions of rows that have come, all components enabled.
    #[inline]
    pub(super) fn push_marks(&mut self, first: RowAddress, count: usize, version: u64) {
        let RowAddress { chunk, row } = first;
        for bits in &mut self.bits {
            bits.push_rows(chunk, row..row + count);
        }
        for versions in &mut self.tracked {
            versions.push_rows(chunk, row..row + count, version);
        }
    }
}

/// Where a column of a chunk starts: in the column of its block, behind the `first` rows of others.
fn column_start(block: &Block, offset: usize, size: usize, first: usize) -> NonNull<u8> {
    if size == 0 {
        // The arithmetic may place an empty column at the very end of the block or past it.
        return dangling(offset);
    }
    // SAFETY: a column that has a size ends inside its block, with the rows of all of its chunks (I-3).
    unsafe { block.start().add(offset + first * size) }
}
