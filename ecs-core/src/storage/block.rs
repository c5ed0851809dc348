//! Blocks of raw memory, and the pool that keeps emptied blocks for reuse.
#![expect(
    unsafe_code,
    reason = "allocates and frees blocks, and sees to the bytes between columns"
)]

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;

use super::directory::Directory;
use super::layout::{BLOCK_BYTES_MAX, COLUMN_ALIGN, ChunkLayout};
use crate::entity::Entity;

/// The allocator that a host provides for the blocks of a world. Without one they come from the global
/// allocator.
type Memory = Option<Arc<dyn GlobalAlloc + Send + Sync>>;

/// One block. The holder owns the memory and is responsible for its contents.
///
/// Dropping it frees it with the layout and allocator that it was allocated with (I-24).
pub(crate) struct Block {
    start: ColumnStart,
    layout: Layout,
    memory: Memory,
}

debug_fields!([] Block: start, layout);

/// The start of a column of a chunk: an address inside a block, stored beside the blocks so that looking
/// it up is one load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnStart(pub(crate) NonNull<u8>);

// SAFETY: an address of data that may be sent to any thread (I-22); accessing it takes unsafe code.
unsafe impl Send for ColumnStart {}
// SAFETY: an address of data that may be used from any thread (I-22); accessing it takes unsafe code.
unsafe impl Sync for ColumnStart {}

impl Block {
    /// The start of the block.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.0
    }

    /// The layout that it was allocated with.
    #[inline]
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Allocates a block. If there is no memory, the process ends.
    fn allocate(layout: Layout, memory: &Memory) -> Self {
        assert!(layout.size() > 0, "a block has a size");
        let start = match memory {
            // SAFETY: the size was just checked to be more than zero.
            None => unsafe { alloc(layout) },
            // SAFETY: the size was just checked to be more than zero.
            Some(memory) => unsafe { memory.alloc(layout) },
        };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        debug_assert_eq!(start.addr().get() % layout.align(), 0, "the block is aligned");
        Self { start: ColumnStart(start), layout, memory: memory.clone() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let (start, layout) = (self.start().as_ptr(), self.layout);
        match &self.memory {
            // SAFETY: allocated there with this layout (I-24); the block is owned, and not used any more.
            None => unsafe { dealloc(start, layout) },
            // SAFETY: as above.
            Some(memory) => unsafe { memory.dealloc(start, layout) },
        }
    }
}

/// A pool that hands out blocks and takes them back. It keeps returned blocks for requests of the same
/// layout, except those of rows larger than any ordinary chunk. It also keeps the numbers of the chunks
/// that the blocks become.
#[derive(Default)]
pub(crate) struct BlockPool {
    /// One shelf for each layout of a returned block. There are few, since chunks differ in layout only
    /// for large archetypes.
    shelves: Vec<Shelf>,
    memory: Memory,
    pub(crate) directory: Directory,
}

debug_fields!([] BlockPool: shelves, directory);

/// Spare blocks that were allocated with this layout.
#[derive(Debug)]
struct Shelf {
    layout: Layout,
    blocks: Vec<Block>,
}

impl BlockPool {
    /// Creates a pool whose blocks come from this allocator.
    pub(crate) fn new(memory: Arc<dyn GlobalAlloc + Send + Sync>) -> Self {
        Self { memory: Some(memory), ..Self::default() }
    }

    /// Returns a block of this layout. Its contents are uninitialised.
    pub(crate) fn take(&mut self, layout: Layout) -> Block {
        let shelf = self.shelves.iter_mut().find(|shelf| shelf.layout == layout);
        let recycled = shelf.and_then(|shelf| shelf.blocks.pop());
        recycled.unwrap_or_else(|| Block::allocate(layout, &self.memory))
    }

    /// Creates another pool, with the spare blocks of this one and no chunks.
    pub(crate) fn spare_blocks(&mut self) -> Self {
        let (shelves, memory) = (core::mem::take(&mut self.shelves), self.memory.clone());
        Self { shelves, memory, directory: Directory::default() }
    }

    /// Takes over the spare blocks of another pool.
    pub(crate) fn absorb(&mut self, other: &mut Self) {
        for shelf in &mut other.shelves {
            self.shelf(shelf.layout).blocks.append(&mut shelf.blocks);
        }
    }

    fn shelf(&mut self, layout: Layout) -> &mut Shelf {
        let found = self.shelves.iter().position(|shelf| shelf.layout == layout);
        let index = found.unwrap_or_else(|| {
            self.shelves.push(Shelf { layout, blocks: Vec::new() });
            self.shelves.len() - 1
        });
        &mut self.shelves[index]
    }

    /// The size of the spare blocks in bytes.
    pub(crate) fn spare_bytes(&self) -> usize {
        self.shelves.iter().map(|shelf| shelf.blocks.len() * shelf.layout.size()).sum()
    }

    /// Frees the spare blocks, and the memory for unused numbers of chunks.
    pub(crate) fn shrink(&mut self) {
        self.shelves = Vec::new();
        self.directory.shrink();
    }

    /// Takes back a block that this pool handed out. Its contents are not dropped.
    pub(crate) fn give_back(&mut self, block: Block) {
        if is_kept(block.layout) {
            self.shelf(block.layout).blocks.push(block);
        }
    }
}

/// Whether blocks of this layout are kept: those of ordinary rows.
fn is_kept(layout: Layout) -> bool {
    layout.size() <= BLOCK_BYTES_MAX && layout.align() == COLUMN_ALIGN
}

/// A canary: in debug builds, this pattern follows each column of a block. Code that writes past the end
/// of a column overwrites it, and `World::check` finds that.
///
/// ```text
/// ┌──────────────┬───┬─────┬──────────────────┬───┬─────┬──────────────────┬───┬───────┐
/// │ Entity × cap │ c │ pad │ column 0 × cap   │ c │ pad │ column 1 × cap   │ c │ spare │
/// └──────────────┴───┴─────┴──────────────────┴───┴─────┴──────────────────┴───┴───────┘
/// ```
///
/// In release builds canaries take no room, and nothing is written or checked. The pattern is not a
/// handle nor a likely number, and its bytes all differ.
const PATTERN: u64 = 0xC5_1D_F0_93_6E_B8_27_4A;

/// Writes the canaries of a block that has just been taken for this layout.
pub(super) fn plant_canaries(block: &Block, layout: &ChunkLayout, sizes: &[usize]) {
    for canary in places(block, layout, sizes) {
        // SAFETY: these bytes are inside the block and in no column (I-3), so no other code uses them;
        // they need no alignment.
        unsafe { canary.write_unaligned(PATTERN) };
    }
}

/// Whether all canaries of a block are unchanged.
pub(super) fn are_canaries_alive(block: &Block, layout: &ChunkLayout, sizes: &[usize]) -> bool {
    places(block, layout, sizes).all(|canary| {
        // SAFETY: inside the block and in no column (I-3), and written when the block became a
        // chunk (`plant_canaries`).
        unsafe { canary.read_unaligned() == PATTERN }
    })
}

/// The addresses of the canaries of a block: behind the entities, and behind each column with a size.
fn places<'a>(
    block: &'a Block,
    layout: &'a ChunkLayout,
    sizes: &'a [usize],
) -> impl Iterator<Item = NonNull<u64>> + 'a {
    let columns = layout.offsets.iter().zip(sizes).filter(|&(_, &size)| size > 0);
    let columns = columns.map(|(&offset, &size)| offset + size * layout.rows());
    let ends = core::iter::once(size_of::<Entity>() * layout.rows()).chain(columns);
    ends.take(if cfg!(debug_assertions) { usize::MAX } else { 0 }).map(|end| {
        debug_assert!(end + size_of::<u64>() <= layout.block.size());
        // SAFETY: in debug builds the layout leaves room for a canary behind each column, inside
        // the block (I-3).
        unsafe { block.start().add(end) }.cast()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Chunks;

    const COLUMNS: [Layout; 3] =
        [Layout::new::<u32>(), Layout::new::<()>(), Layout::new::<[u8; 3]>()];

    /// Two full chunks and one that is full or not.
    fn filled(pool: &mut BlockPool) -> Chunks {
        let mut chunks = Chunks::new(0, &COLUMNS, (0, 0));
        while chunks.used_count() < 3 {
            let (first, count) = chunks.reserve_rows(pool, usize::MAX);
            let entity = Entity::from_bits(1 << 32).expect("a handle");
            let entities = alloc::vec![entity; count];
            for (column, layout) in COLUMNS.iter().enumerate() {
                let start = chunks.reserved(first, column);
                // SAFETY: the reserved rows are this many values of this size (I-3).
                unsafe { start.write_bytes(0xFF, layout.size() * count) };
            }
            // SAFETY: just reserved, and written in full (I-2).
            unsafe { chunks.commit_rows(first, &entities, 1, 1) };
        }
        chunks
    }

    #[test]
    fn rows_that_fill_their_columns_to_the_last_byte_kill_no_canary() {
        let mut pool = BlockPool::default();
        assert_eq!(filled(&mut pool).check(1), Ok(()));
        // Blocks that come back from the pool get new ones.
        let mut again = filled(&mut pool);
        drop(again.forget_rows());
        again.free_spare(&mut pool);
        assert_eq!(filled(&mut pool).check(1), Ok(()));
    }

    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "there are no canaries")]
    fn one_byte_past_the_end_of_a_column_is_found() {
        for chunk in 0..3 {
            for (column, layout) in COLUMNS.iter().enumerate().filter(|(_, at)| at.size() > 0) {
                let mut pool = BlockPool::default();
                let chunks = filled(&mut pool);
                let bytes = layout.size() * chunks.capacity(chunk);
                // SAFETY: breaks I-3 on purpose, but is inside the block: the first byte of the
                // canary.
                let past = unsafe { chunks.column(chunk, column).add(bytes) };
                // SAFETY: breaks I-3 on purpose, inside the block; no other code looks at it
                // meanwhile.
                unsafe { past.write(0xFF) };
                let found = chunks.check(1);
                assert_eq!(found, Err(("I-3", "something was written past the end of a column")));
            }
        }
    }
}
