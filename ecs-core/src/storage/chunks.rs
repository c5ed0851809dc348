//! The chunks of one archetype: their blocks, and the bookkeeping outside the blocks.
#![expect(unsafe_code, reason = "computes the addresses of rows, copies and drops rows")]

mod mover;
mod upkeep;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

use smallvec::SmallVec;

use super::block::{Block, BlockPool, ColumnStart, are_canaries_alive, plant_canaries};
use super::column_records::{ChunkHead, ColumnRecord, ColumnStamps};
use super::directory::{Directory, Place, RowAddress};
use super::layout::{ChunkLayouts, WordCounts};
use super::marks::ChunkMarks;
use super::row_versions::ChunkVersions;
use crate::entity::Entity;
use crate::sync::AtomicU64;
use crate::user_code::finish;

pub(crate) use crate::component::DropErasedFn as DropFn;
pub(crate) use mover::{ColumnAction, ColumnStep, Fill, RowPlan, TakenRows};

/// The rows of an archetype, packed in chunks: every chunk before the last used one is full (I-4).
///
/// A chunk has at most 2,048 rows, and all bookkeeping about rows is per chunk. Memory comes in blocks,
/// each of which has the rows of one chunk, or of several consecutive ones.
///
/// ```text
///            chunk 0   chunk 1   chunk 2  ...      structure of arrays: a query that skips a
/// heads      [● 60]    [● 240]   [● 17]            chunk reads heads, records and bits, and
/// records    [c0 c1]   [c0 c1]   [c0 c1]           never touches the block
/// bits       [......]  [......]  [......]          per enableable column
/// versions   [......]  [......]  [......]          per tracked column and row
/// ```
///
/// Rows `0..len` of every column are initialised and owned by the chunk; rows from `len` on are unowned
/// (I-2). The chunks after the used ones are empty. One of them is kept, so that a row that repeatedly
/// comes and goes at a chunk border does not allocate each time.
// In the order in which queries access the fields: with a thousand archetypes, the cost of a query is the
// number of cache lines that it accesses in each.
#[repr(C)]
#[derive(Debug)]
pub struct Chunks {
    used: usize,
    row_count: usize,
    /// The records of all columns of the first chunk, then of the second, and so on.
    records: Vec<ColumnRecord>,
    /// The size of a value of each column, in bytes.
    sizes: Box<[usize]>,
    heads: Vec<ChunkHead>,
    /// The capacity of the last used chunk; 0 if none is used.
    last_capacity: usize,
    /// The words of all enableable columns of the first chunk, then of the second, and so on.
    bits: Vec<AtomicU64>,
    word_counts: WordCounts,
    enableable_count: usize,
    /// The row versions of all tracked columns, in the same order.
    versions: Vec<ChunkVersions>,
    tracked_count: usize,
    layouts: ChunkLayouts,
    /// The blocks, one for each chunk that is the first of its block (I-3). Most archetypes have one
    /// block.
    blocks: SmallVec<[Block; 1]>,
    /// The index of the archetype that these chunks belong to.
    owner: u32,
}

impl Chunks {
    pub(crate) fn new(
        owner: u32,
        columns: &[Layout],
        (enableable_count, tracked_count): (usize, usize),
    ) -> Self {
        let layouts = ChunkLayouts::new(columns);
        Self {
            owner,
            word_counts: layouts.word_counts(),
            layouts,
            sizes: columns.iter().map(Layout::size).collect(),
            records: Vec::new(),
            heads: Vec::new(),
            blocks: SmallVec::new(),
            bits: Vec::new(),
            enableable_count,
            versions: Vec::new(),
            tracked_count,
            used: 0,
            row_count: 0,
            last_capacity: 0,
        }
    }

    /// Returns the number of chunks that have rows.
    #[inline]
    pub(crate) fn used_count(&self) -> usize {
        self.used
    }

    /// Returns the number of chunks, with rows or without.
    pub(crate) fn all_count(&self) -> usize {
        self.heads.len()
    }

    /// Returns the number of rows in all chunks.
    #[inline]
    pub(crate) fn row_count(&self) -> usize {
        self.row_count
    }

    /// Returns the number of rows of this chunk.
    #[inline]
    pub(crate) fn len(&self, chunk: usize) -> usize {
        self.heads[chunk].len()
    }

    /// Returns the number of rows that this chunk has room for.
    pub(crate) fn capacity(&self, chunk: usize) -> usize {
        self.layouts.of_chunk(chunk).capacity
    }

    /// Returns an upper bound of the chunks that come to another archetype, which has only some of these
    /// columns, if the rows go there.
    pub(crate) fn count_elsewhere(&self) -> usize {
        self.layouts.chunks_for(self.row_count)
    }

    /// Returns the number of a chunk in the world.
    #[inline]
    pub(crate) fn id(&self, chunk: usize) -> usize {
        self.heads[chunk].place(0).chunk()
    }

    /// Returns the place of this row, which may be merely reserved.
    #[inline]
    pub(crate) fn place(&self, address: RowAddress) -> Place {
        self.heads[address.chunk].place(address.row)
    }

    /// Returns the start of the entities of this chunk's rows.
    #[inline]
    pub(crate) fn entity_column(&self, chunk: usize) -> NonNull<Entity> {
        self.heads[chunk].entities()
    }

    /// Returns the entities of this chunk's rows.
    #[inline]
    pub(crate) fn entities(&self, chunk: usize) -> &[Entity] {
        let head = &self.heads[chunk];
        // SAFETY: the first `len` rows of the entity column (I-3) are initialised (I-2); it is
        // written only through `&mut self`.
        unsafe { core::slice::from_raw_parts(head.entities().as_ptr(), head.len()) }
    }

    /// Returns the record of a column.
    #[inline]
    pub(crate) fn record(&self, chunk: usize, column: usize) -> &ColumnRecord {
        debug_assert!(column < self.sizes.len());
        &self.records[chunk * self.sizes.len() + column]
    }

    /// Returns the records of the columns of a chunk.
    #[inline]
    fn records(&self, chunk: usize) -> &[ColumnRecord] {
        let first = chunk * self.sizes.len();
        &self.records[first..first + self.sizes.len()]
    }

    /// Returns the start of a column. All rows of a zero-sized component share it.
    #[inline]
    pub(crate) fn column(&self, chunk: usize, column: usize) -> NonNull<u8> {
        self.record(chunk, column).start()
    }

    /// Returns the address of one row of a column.
    #[inline]
    fn value(&self, address: RowAddress, column: usize) -> NonNull<u8> {
        let size = self.sizes[column];
        let start = self.column(address.chunk, column);
        debug_assert!(address.row < self.capacity(address.chunk));
        // SAFETY: the row is below the capacity, and that many rows fit the column (I-3).
        unsafe { start.add(address.row * size) }
    }

    /// Returns the address of one row of the entity column.
    #[inline]
    fn entity_row(&self, address: RowAddress) -> NonNull<Entity> {
        debug_assert!(address.row < self.capacity(address.chunk));
        let start = self.entity_column(address.chunk);
        // SAFETY: the row is below the capacity, and that many rows fit the entity column (I-3).
        unsafe { start.add(address.row) }
    }

    /// Returns the address of an existing row of a column.
    #[inline]
    pub(crate) fn row(&self, address: RowAddress, column: usize) -> NonNull<u8> {
        assert!(address.row < self.len(address.chunk), "the row exists");
        self.value(address, column)
    }

    /// Returns the address of a reserved row of a column, which holds no value yet.
    #[inline]
    pub(crate) fn reserved(&self, address: RowAddress, column: usize) -> NonNull<u8> {
        let RowAddress { chunk, row } = address;
        assert!(row >= self.len(chunk) && row < self.capacity(chunk), "the row is free");
        self.value(address, column)
    }

    /// Returns the versions of a column of this chunk.
    #[inline]
    pub(crate) fn stamps(&self, chunk: usize, column: usize) -> &ColumnStamps {
        self.record(chunk, column).stamps()
    }

    /// Returns the enabled bits and the row versions of this chunk.
    #[inline]
    pub(crate) fn marks(&self, chunk: usize) -> ChunkMarks<'_> {
        let versions = self.tracked_count;
        let (start, end) = (self.word_counts.before(chunk), self.word_counts.before(chunk + 1));
        ChunkMarks {
            words: &self.bits[start * self.enableable_count..end * self.enableable_count],
            words_each: end - start,
            versions: &self.versions[chunk * versions..(chunk + 1) * versions],
        }
    }

    /// Reserves the next rows, up to `wanted` of them in one chunk. Returns the first, and how many there
    /// are, at least one. The rows are unowned until [`commit_rows`](Self::commit_rows).
    ///
    /// # Panics
    /// Panics if none is wanted.
    pub(crate) fn reserve_rows(
        &mut self,
        pool: &mut BlockPool,
        wanted: usize,
    ) -> (RowAddress, usize) {
        assert!(wanted > 0, "a row is wanted");
        let first = self.reserve_row(pool);
        (first, wanted.min(self.capacity(first.chunk) - first.row))
    }

    /// Reserves the next row. It is unowned until it is committed.
    #[inline]
    pub(crate) fn reserve_row(&mut self, pool: &mut BlockPool) -> RowAddress {
        let chunk = self.used.wrapping_sub(1);
        match self.heads.get(chunk).map(ChunkHead::len) {
            Some(row) if row < self.last_capacity => RowAddress { chunk, row },
            _ => self.reserve_chunk(pool),
        }
    }

    /// Reserves the first row of the next chunk.
    #[cold]
    fn reserve_chunk(&mut self, pool: &mut BlockPool) -> RowAddress {
        let chunk = self.used;
        if chunk == self.heads.len() {
            self.push_chunk(pool);
        }
        RowAddress { chunk, row: 0 }
    }

    fn push_chunk(&mut self, pool: &mut BlockPool) {
        // All memory first: if there is none, nothing has changed but addresses.
        pool.directory.count_change();
        self.heads.reserve(1);
        self.blocks.reserve(1);
        self.records.reserve(self.sizes.len());
        let (layout, place) = self.layouts.find(self.heads.len());
        let capacity = layout.capacity;
        let bits = self.enableable_count * self.word_counts.before(self.heads.len() + 1);
        self.bits.reserve(bits - self.bits.len());
        self.versions.reserve(self.tracked_count);
        let versions: Vec<_> =
            (0..self.tracked_count).map(|_| ChunkVersions::new(capacity)).collect();
        pool.directory.prepare();
        if place == 0 {
            let block = pool.take(layout.block);
            plant_canaries(&block, layout, &self.sizes);
            self.blocks.push(block);
        }
        let block = self.blocks.last().expect("the block of the chunk's first neighbour");
        let id = pool.directory.enter(self.owner, self.heads.len());
        let columns = layout.offsets.iter().zip(&self.sizes);
        let first = place * capacity;
        let start = |(&offset, &size)| ColumnStart(column_start(block, offset, size, first));
        self.records.extend(columns.map(|column| ColumnRecord::new(start(column), 0, 0)));
        let entities = ColumnStart(column_start(block, 0, size_of::<Entity>(), first));
        self.heads.push(ChunkHead::new(entities, id));
        self.bits.resize_with(bits, AtomicU64::default);
        self.versions.extend(versions);
    }

    /// Commits the next rows, which have these entities, with all components enabled. `added` is the
    /// version at which the components were added, or 0 if the caller carries over the known versions.
    ///
    /// # Safety
    /// `first` came from [`reserve_rows`](Self::reserve_rows), and no rows were committed or taken since.
    /// There are at most as many `entities` as it granted, and every column of these rows is initialised
    /// (I-2).
    pub(crate) unsafe fn commit_rows(
        &mut self,
        first: RowAddress,
        entities: &[Entity],
        version: u64,
        added: u64,
    ) {
        debug_assert!(first.row + entities.len() <= self.capacity(first.chunk));
        let target = self.entity_row(first);
        // A single entity is the usual case, and needs no call of `memcpy`.
        if let &[entity] = entities {
            // SAFETY: the caller guarantees a free row, which is inside the entity column (I-3) and
            // unowned (I-2).
            unsafe { target.write(entity) };
        } else {
            let source = NonNull::from(entities).cast();
            // SAFETY: the caller guarantees this many free rows, which are inside the entity column (I-3)
            // and unowned (I-2); `entities` is borrowed from outside the block.
            unsafe { target.copy_from_nonoverlapping(source, entities.len()) };
        }
        let count = entities.len();
        let RowAddress { chunk, row } = first;
        debug_assert!(self.len(chunk) == row && row + count <= self.capacity(chunk));
        if row == 0 {
            self.enter_chunk(chunk);
        }
        self.heads[chunk].set_len(row + count);
        self.row_count += count;
        if self.enableable_count + self.tracked_count > 0 {
            self.marks(chunk).push_rows(&(row..row + count), version);
        }
        self.records(chunk).iter().for_each(|record| record.arrive(version, added));
    }

    /// Begins to use a chunk, for its first row.
    #[cold]
    fn enter_chunk(&mut self, chunk: usize) {
        debug_assert_eq!(chunk, self.used);
        self.used = chunk + 1;
        self.last_capacity = self.capacity(chunk);
        self.records(chunk).iter().for_each(|record| record.stamps().begin());
    }

    /// Stops using the last chunk, whose last row has left.
    #[cold]
    fn leave_chunk(&mut self, pool: &mut BlockPool) {
        self.used -= 1;
        self.last_capacity = self.used.checked_sub(1).map_or(0, |last| self.capacity(last));
        self.trim(pool);
    }

    fn pop_chunk(&mut self, pool: &mut BlockPool) {
        let Some(head) = self.heads.pop() else { return };
        pool.directory.leave(head.id());
        self.records.truncate(self.records.len() - self.sizes.len());
        self.bits.truncate(self.enableable_count * self.word_counts.before(self.heads.len()));
        self.versions.truncate(self.versions.len() - self.tracked_count);
        if self.layouts.find(self.heads.len()).1 == 0 {
            self.blocks.pop().into_iter().for_each(|block| pool.give_back(block));
        }
    }

    /// Gives up all rows without dropping a value, and returns how many rows each chunk had. The values
    /// stay where they are, for the caller to drop.
    pub(crate) fn forget_rows(&mut self) -> Vec<usize> {
        self.used = 0;
        self.last_capacity = 0;
        self.row_count = 0;
        let count = self.heads.len();
        let give_up = |chunk: usize| {
            let len = self.len(chunk);
            self.marks(chunk).pop_rows(&(0..len));
            self.heads[chunk].set_len(0);
            len
        };
        (0..count).map(give_up).collect()
    }

    /// Drops the values of given-up rows of one chunk, `count` of them from `first` on, in the listed
    /// columns. If a drop panics, the others are dropped all the same, and the panic continues.
    ///
    /// # Safety
    /// The values are initialised and unowned (I-2), have the types that the functions are for (I-9), and
    /// are not used afterwards.
    // Not inlined: its loop is compiled twice, for a drop that panics.
    #[inline(never)]
    pub(crate) unsafe fn drop_rows(
        &self,
        first: RowAddress,
        count: usize,
        drops: &[(usize, DropFn)],
    ) {
        let (mut drops, mut next) = (drops, 0);
        finish(|| {
            while let &[(column, drop), ref rest @ ..] = drops {
                while next < count {
                    let address = RowAddress { row: first.row + next, ..first };
                    let value = self.value(address, column);
                    // Counted before its drop runs, so that no value is dropped twice.
                    next += 1;
                    // SAFETY: the caller guarantees a value that is initialised, unowned (I-2), and of
                    // the type that the function is for (I-9); each is dropped once.
                    unsafe { drop.call(value) };
                }
                (drops, next) = (rest, 0);
            }
        });
    }
}

/// Returns the start of a column of a chunk: in the column of its block, behind the `first` rows of
/// earlier chunks.
fn column_start(block: &Block, offset: usize, size: usize, first: usize) -> NonNull<u8> {
    if size == 0 {
        // The arithmetic may place an empty column at the very end of the block, or past it.
        return dangling(offset);
    }
    // SAFETY: a column with a size ends inside its block, with the rows of all of its chunks (I-3).
    unsafe { block.start().add(offset + first * size) }
}

/// Returns an address that is aligned as `offset` is and belongs to no memory, for zero-sized values.
fn dangling(offset: usize) -> NonNull<u8> {
    NonNull::new(core::ptr::without_provenance_mut(offset))
        .expect("columns start after the entities")
}
