//! The layout of the columns in a block: pure arithmetic, no memory.
//!
//! ```text
//! block, 16 KiB, aligned to 64
//! ┌──────────────┬─────┬───────────────────┬─────┬──────────────┬───────┐
//! │ Entity × cap │ pad │ column 0 × cap    │ pad │ column 1 ... │ spare │
//! └──────────────┴─────┴───────────────────┴─────┴──────────────┴───────┘
//! 0              each column starts at a multiple of 64 (or of its own, larger, alignment)
//! ```
//!
//! Columns lie in their order, but those aligned beyond 64 come first. The padding would depend on
//! the order otherwise, and with it how many rows fit: a world that met its components in another
//! order would have other chunks.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cmp::Reverse;

use smallvec::SmallVec;

use crate::entity::Entity;
use crate::mask::ROWS_MAX;

/// The size of an ordinary block. Tiny where chunk borders are to be crossed all the time.
pub(crate) const BLOCK_BYTES: usize =
    if cfg!(any(miri, loom, fuzzing, formic_small_blocks)) { 512 } else { 16 * 1024 };
/// Every column starts at a multiple of this: a cache line, and more than any SIMD load asks.
pub(crate) const COLUMN_ALIGN: usize = 64;
/// The first chunks of an archetype are smaller, so that ten thousand archetypes of one entity
/// each do not cost ten thousand whole blocks.
const CLASS_BYTES: [usize; 3] = [BLOCK_BYTES / 16, BLOCK_BYTES / 4, BLOCK_BYTES];
/// The chunks of a large archetype are larger: fewer borders to cross for what is walked in order.
/// From which chunk on, and how large.
///
/// They are 31/32 of a power of two, and so is the most rows that they have. Blocks that follow each
/// other by a power of two have each column at the same few places of the caches, where it crowds
/// itself out while the rest stays empty.
const GROWN: [(usize, usize); 2] = [(8, odd(4 * BLOCK_BYTES)), (64, odd(BLOCK_BYTES_MAX))];
const ROWS_GROWN: usize = odd(ROWS_MAX);

const fn odd(power_of_two: usize) -> usize {
    power_of_two / 32 * 31
}

/// No chunk is larger than this but for the sake of a single row.
pub(crate) const BLOCK_BYTES_MAX: usize = 16 * BLOCK_BYTES;

/// Room behind each column for a canary, see `canaries.rs`. None in release builds.
const CANARY_BYTES: usize = if cfg!(debug_assertions) { size_of::<u64>() } else { 0 };

const _: () = assert!(BLOCK_BYTES / size_of::<Entity>() <= ROWS_MAX);

/// How the rows of one size of chunk lie in its block (I-3).
#[derive(Debug)]
pub(crate) struct ChunkLayout {
    /// Size and alignment of the block.
    pub(crate) block: Layout,
    /// How many rows fit.
    pub(crate) capacity: usize,
    /// Where each column starts, in bytes from the start of the block. The entities start at 0.
    pub(crate) offsets: Box<[usize]>,
}

impl ChunkLayout {
    /// The layout of blocks of at least `block_bytes` that hold at least `rows_min` rows, and at most
    /// `rows_max`.
    fn new(
        columns: &[Layout],
        order: &[usize],
        block_bytes: usize,
        rows_min: usize,
        rows_max: usize,
    ) -> Option<Self> {
        let row_bytes: usize =
            size_of::<Entity>() + columns.iter().map(Layout::size).sum::<usize>();
        let align = columns.iter().map(Layout::align).fold(COLUMN_ALIGN, usize::max);
        // Padding can only lower this first guess; a row of one entity always fits ROWS_MAX.
        let mut capacity = (block_bytes / row_bytes).clamp(rows_min, rows_max);
        loop {
            let (offsets, end) = place(columns, order, capacity);
            if end <= block_bytes || capacity == rows_min {
                // Ordinary blocks are all alike. A large one takes no more than its rows need.
                let bytes = if block_bytes > BLOCK_BYTES { end } else { end.max(block_bytes) };
                let bytes = bytes.next_multiple_of(align);
                let block = Layout::from_size_align(bytes, align)
                    .expect("a row is smaller than the address space");
                return (capacity > 0).then_some(Self { block, capacity, offsets });
            }
            capacity -= 1;
        }
    }
}

/// The order in which columns lie in a block: the largest alignments beyond 64 first, and of one
/// alignment the largest sizes.
fn order_of(columns: &[Layout]) -> SmallVec<[usize; 16]> {
    let mut order: SmallVec<_> = (0..columns.len()).collect();
    let beyond = |column: &Layout| {
        let is_beyond = column.align() > COLUMN_ALIGN;
        is_beyond.then(|| (column.align(), column.size()))
    };
    order.sort_by_key(|&column| Reverse(beyond(&columns[column])));
    order
}

/// Puts `capacity` rows of entities and of each column one after the other.
fn place(columns: &[Layout], order: &[usize], capacity: usize) -> (Box<[usize]>, usize) {
    let mut end = size_of::<Entity>() * capacity + CANARY_BYTES;
    let mut offsets = alloc::vec![0; columns.len()].into_boxed_slice();
    for &index in order {
        let column = &columns[index];
        let start = end.next_multiple_of(column.align().max(COLUMN_ALIGN));
        if column.size() > 0 {
            end = start + column.size() * capacity + CANARY_BYTES;
        }
        offsets[index] = start;
    }
    (offsets, end)
}

/// The layouts of an archetype's chunks: small ones first, then ordinary ones, then large ones.
#[derive(Debug)]
pub(crate) struct ChunkLayouts {
    /// Of the first chunks; those after them are as the last.
    classes: Box<[ChunkLayout]>,
    /// Of the chunks after so many.
    grown: [ChunkLayout; GROWN.len()],
}

impl ChunkLayouts {
    /// The layouts for these columns. A row that does not fit a block gets a larger block.
    pub(crate) fn new(columns: &[Layout]) -> Self {
        let order = order_of(columns);
        let mut classes: Vec<_> = CLASS_BYTES
            .iter()
            .filter_map(|&bytes| ChunkLayout::new(columns, &order, bytes, 0, ROWS_MAX))
            .collect();
        if classes.is_empty() {
            classes.extend(ChunkLayout::new(columns, &order, BLOCK_BYTES, 1, ROWS_MAX));
        }
        let grown = GROWN.map(|(_, bytes)| {
            ChunkLayout::new(columns, &order, bytes, 1, ROWS_GROWN).expect("at least one row fits")
        });
        Self { classes: classes.into_boxed_slice(), grown }
    }

    /// The layout of the chunk at this place in the archetype's list.
    #[inline]
    pub(crate) fn of_chunk(&self, chunk: usize) -> &ChunkLayout {
        if chunk >= GROWN[0].0 {
            return &self.grown[usize::from(chunk >= GROWN[1].0)];
        }
        &self.classes[chunk.min(self.classes.len() - 1)]
    }

    /// What this takes beside itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        let layouts = self.classes.iter().chain(&self.grown);
        layouts.map(|layout| size_of::<ChunkLayout>() + size_of_val(&*layout.offsets)).sum()
    }

    /// The most rows that any chunk has.
    pub(crate) fn capacity_max(&self) -> usize {
        let layouts = self.classes.iter().chain(&self.grown);
        layouts.map(|layout| layout.capacity).max().expect("there are layouts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a valid layout")
    }

    /// Every property that the rest of the store relies on (I-3).
    fn check(columns: &[Layout]) {
        let layouts = ChunkLayouts::new(columns);
        for class in layouts.classes.iter().chain(&layouts.grown) {
            assert!(class.capacity >= 1 && class.capacity <= ROWS_MAX);
            let mut end = class.capacity * size_of::<Entity>();
            let mut placed: Vec<_> = columns.iter().zip(&class.offsets).collect();
            placed.sort_by_key(|&(column, &offset)| (offset, column.size()));
            for (column, &offset) in placed {
                assert_eq!(offset % column.align().max(COLUMN_ALIGN), 0);
                assert!(column.size() == 0 || offset >= end, "columns overlap");
                if column.size() > 0 {
                    end = offset + column.size() * class.capacity;
                }
            }
            assert!(end <= class.block.size());
            assert!(columns.iter().all(|column| class.block.align() % column.align() == 0));
        }
    }

    #[test]
    fn columns_never_overlap_and_end_inside_the_block() {
        check(&[]);
        check(&[layout(0, 1), layout(0, 64), layout(1, 1)]);
        check(&[layout(12, 4); 3]);
        check(&vec![layout(4, 4); 100]);
        check(&[layout(64, 64), layout(4096, 4096), layout(3, 1)]);
    }

    #[test]
    fn how_many_rows_fit_does_not_depend_on_the_order_of_the_columns() {
        let sizes = [(140, 128), (12, 4), (16, 8), (4096, 4096), (100, 128), (0, 256), (1, 1)];
        let columns = sizes.map(|(size, align)| layout(size, align));
        let capacities = |columns: &[Layout]| {
            let layouts = ChunkLayouts::new(columns);
            [0, 1, 2, 8, 64].map(|chunk| layouts.of_chunk(chunk).capacity)
        };
        for few in if cfg!(miri) { 2..4 } else { 1..columns.len() } {
            let mut turned = columns[..=few].to_vec();
            for _ in 0..=few {
                turned.rotate_left(1);
                check(&turned);
                assert_eq!(capacities(&turned), capacities(&columns[..=few]));
                turned.swap(0, few / 2);
                assert_eq!(capacities(&turned), capacities(&columns[..=few]));
            }
        }
    }

    #[test]
    fn a_row_larger_than_a_block_gets_a_larger_block() {
        let columns = [layout(3 * BLOCK_BYTES, 8)];
        check(&columns);
        let layouts = ChunkLayouts::new(&columns);
        assert_eq!(layouts.of_chunk(0).capacity, 1);
        assert_eq!(layouts.of_chunk(7).capacity, 1);
    }

    #[test]
    fn first_chunks_are_smaller_than_later_ones() {
        let layouts = ChunkLayouts::new(&[layout(4, 4)]);
        let capacities = [0, 1, 2, 3].map(|chunk| layouts.of_chunk(chunk).capacity);
        // Tiny blocks leave out the smallest class, of which no row would fit.
        assert!(capacities[0] < capacities[1] && capacities[1] <= capacities[2]);
        assert_eq!(capacities[2], capacities[3]);
        assert_eq!(layouts.of_chunk(2).block.size(), BLOCK_BYTES);
    }
}
