//! Blocks of raw memory, and the pool that keeps emptied ones for the next chunk.
#![expect(unsafe_code, reason = "allocates and frees blocks")]

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

use super::directory::Directory;
use super::layout::{CLASS_BYTES, COLUMN_ALIGN};

/// One block. Whoever holds it owns the memory; what lies in it is the holder's business.
///
/// It does not know its own layout, since the archetype that holds it does: the pool that it is
/// given back to has to be told.
#[derive(Debug)]
pub(crate) struct Block(NonNull<u8>);

// SAFETY: a block is owned memory like a `Box<[MaybeUninit<u8>]>`; the components that chunks
// keep in it are `Send + Sync` by the bounds of `Component`.
unsafe impl Send for Block {}
// SAFETY: as for `Send`; a shared block gives out nothing but its address.
unsafe impl Sync for Block {}

/// Where a column of a chunk starts: an address inside a block, kept beside the blocks so that a
/// lookup of it is one load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnStart(pub(crate) NonNull<u8>);

// SAFETY: an address; what lies there is `Send + Sync`, and getting at it takes unsafe code.
unsafe impl Send for ColumnStart {}
// SAFETY: as for `Send`.
unsafe impl Sync for ColumnStart {}

impl Block {
    /// The start of the block.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.0
    }

    fn allocate(layout: Layout) -> Self {
        assert!(layout.size() > 0, "a block has a size");
        // SAFETY: the size was just seen to be more than zero.
        let start = unsafe { alloc(layout) };
        Self(NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout)))
    }
}

/// Hands out blocks and takes them back. Those of the usual sizes are kept for the next to ask.
/// Also keeps the numbers of the chunks that the blocks become.
#[derive(Debug, Default)]
pub(crate) struct BlockPool {
    /// By size.
    free: [Vec<Block>; CLASS_BYTES.len()],
    pub(crate) directory: Directory,
}

impl BlockPool {
    /// A block of this layout. Its contents are uninitialised.
    pub(crate) fn take(&mut self, layout: Layout) -> Block {
        let recycled = class_of(layout).and_then(|class| self.free[class].pop());
        recycled.unwrap_or_else(|| Block::allocate(layout))
    }

    /// Another pool, which has the spare blocks of this one and no chunks.
    pub(crate) fn spare_blocks(&mut self) -> Self {
        Self { free: core::mem::take(&mut self.free), directory: Directory::default() }
    }

    /// Takes over the spare blocks of another pool.
    pub(crate) fn absorb(&mut self, other: &mut Self) {
        for (mine, theirs) in self.free.iter_mut().zip(&mut other.free) {
            mine.append(theirs);
        }
    }

    /// What the spare blocks take.
    pub(crate) fn spare_bytes(&self) -> usize {
        self.free.iter().zip(CLASS_BYTES).map(|(free, bytes)| free.len() * bytes).sum()
    }

    /// Frees the spare blocks, and memory for numbers of chunks that there are not.
    pub(crate) fn shrink(&mut self) {
        drop(self.spare_blocks());
        self.directory.shrink();
    }

    /// Takes back a block that this pool gave out for this layout. What lies in it is forgotten.
    ///
    /// # Safety
    /// `layout` is the one that the block was taken with.
    pub(crate) unsafe fn give_back(&mut self, block: Block, layout: Layout) {
        if let Some(class) = class_of(layout) {
            self.free[class].push(block);
        } else {
            // SAFETY: the caller ensures that the block was allocated with this layout, and the
            // block is owned, so nobody else uses or frees it.
            unsafe { dealloc(block.0.as_ptr(), layout) };
        }
    }
}

/// Which of the layouts that are alike for all archetypes this is.
fn class_of(layout: Layout) -> Option<usize> {
    (0..CLASS_BYTES.len()).find(|&class| layout_of(class) == layout)
}

fn layout_of(class: usize) -> Layout {
    Layout::from_size_align(CLASS_BYTES[class], COLUMN_ALIGN)
        .expect("the block size and alignment make a layout")
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        for (class, free) in self.free.iter_mut().enumerate() {
            for block in free.drain(..) {
                // SAFETY: blocks are kept by their class, so this one was allocated with its
                // layout; it is owned by the pool.
                unsafe { dealloc(block.0.as_ptr(), layout_of(class)) };
            }
        }
    }
}
