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
//! Columns are placed in their order, except that those aligned beyond 64 come first. Otherwise the
//! padding would depend on the order, and with it the number of rows that fit: a world that registered
//! its components in another order would have other chunks.
//!
//! A large block has room for several chunks, up to eight of 2,048 rows. The chunks share its columns, so
//! that the rows of all of them are adjacent:
//!
//! ```text
//! block, up to 2 MiB
//! ┌───────────────────────────────────┬─────┬───────────────────────────────────┬───────┐
//! │ Entity × rows                     │ gap │ column 0 × rows                   │ ...   │
//! │ chunk 8 │ chunk 9 │ ... │ chunk 15│     │ chunk 8 │ chunk 9 │ ... │ chunk 15│       │
//! └───────────────────────────────────┴─────┴───────────────────────────────────┴───────┘
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cmp::Reverse;

use smallvec::SmallVec;

use crate::entity::Entity;
use crate::mask::ROWS_MAX;

/// The size of an ordinary block in bytes. Tiny in configurations that are to cross chunk borders all the
/// time.
pub(crate) const BLOCK_BYTES: usize =
    if cfg!(any(miri, loom, fuzzing, formic_small_blocks)) { 512 } else { 16 * 1024 };
/// The alignment of every column: a cache line, and more than any SIMD load requires.
pub(crate) const COLUMN_ALIGN: usize = 64;
/// The sizes of the first blocks of an archetype, which are smaller, so that ten thousand archetypes of
/// one entity each do not cost ten thousand whole blocks.
const CLASS_BYTES: [usize; 3] = [BLOCK_BYTES / 16, BLOCK_BYTES / 4, BLOCK_BYTES];
/// The number of blocks of an archetype, from the first on, that have one chunk each.
const ORDINARY_BLOCKS: usize = 4;
/// The later blocks are large. The first `LARGE_BLOCKS` of them have this size...
const LARGE_BYTES: usize = 8 * BLOCK_BYTES;
const LARGE_BLOCKS: usize = 8;
/// ...and the others this one. A block is larger only if a single row needs it.
pub(crate) const BLOCK_BYTES_MAX: usize = 128 * BLOCK_BYTES;
/// The maximum number of chunks in a block.
const CHUNKS_MAX: usize = 8;
/// The number of rows of each chunk in a block with several. A multiple of 64, so that the columns of
/// each chunk begin at a cache line.
const CHUNK_ROWS: usize = BLOCK_BYTES / size_of::<Entity>();
/// The minimum distance between two columns of a large block. Without it, columns of 16,384 rows begin at
/// a multiple of 4 KiB from each other. They share the same few sets of a cache then and evict each
/// other, while the other sets stay empty.
const GAP_BYTES: usize = 5 * COLUMN_ALIGN;

/// The size of the canary behind each column, see `block.rs`. There is none in release builds.
const CANARY_BYTES: usize = if cfg!(debug_assertions) { size_of::<u64>() } else { 0 };

/// The message for a row that no block can hold.
const TOO_LARGE: &str = "a row is larger than the address space";

const _: () = assert!(CHUNK_ROWS <= ROWS_MAX && CHUNK_ROWS % 64 == 0);

/// The layout of the rows in a block of one size (I-3).
#[derive(Debug)]
pub(crate) struct ChunkLayout {
    /// The size and alignment of the block.
    pub(crate) block: Layout,
    /// The number of rows that each chunk of the block has room for.
    pub(crate) capacity: usize,
    /// The number of chunks that share the block.
    pub(crate) chunk_count: usize,
    /// The start of each column, in bytes from the start of the block. The entities start at 0.
    pub(crate) offsets: Box<[usize]>,
}

impl ChunkLayout {
    /// Returns the layout of blocks of `block_bytes` with at least `rows_min` rows and at most
    /// `rows_max`, or `None` if that is no row. A block is larger if `rows_min` rows need more, and a
    /// large block may be smaller.
    ///
    /// # Panics
    /// Panics if a row is larger than the address space: the sizes of its values are checked one by one.
    fn new(
        columns: &[Layout],
        order: &[usize],
        block_bytes: usize,
        rows_min: usize,
        rows_max: usize,
    ) -> Option<Self> {
        let row_bytes = columns
            .iter()
            .try_fold(size_of::<Entity>(), |bytes, column| bytes.checked_add(column.size()))
            .expect(TOO_LARGE);
        let align = columns.iter().map(Layout::align).fold(COLUMN_ALIGN, usize::max);
        // Padding can only lower this first guess.
        let is_large = block_bytes > BLOCK_BYTES;
        let gap = if is_large { GAP_BYTES } else { 0 };
        let mut rows = (block_bytes / row_bytes).clamp(rows_min, rows_max);
        loop {
            // If there are several chunks, all of them are full.
            rows = if rows > CHUNK_ROWS { rows / CHUNK_ROWS * CHUNK_ROWS } else { rows };
            let (offsets, end) = place(columns, order, rows, gap).expect(TOO_LARGE);
            if end <= block_bytes || rows == rows_min {
                // Ordinary blocks take all of their size. A large block takes no more than its rows need.
                let bytes = if is_large { end } else { end.max(block_bytes) };
                let bytes = bytes.checked_next_multiple_of(align).expect(TOO_LARGE);
                let block = Layout::from_size_align(bytes, align).expect(TOO_LARGE);
                let (capacity, chunk_count) = (rows.min(CHUNK_ROWS), rows.div_ceil(CHUNK_ROWS));
                return (rows > 0).then_some(Self { block, capacity, chunk_count, offsets });
            }
            rows -= 1;
        }
    }

    /// Returns the number of rows that all chunks of the block have room for.
    pub(crate) fn rows(&self) -> usize {
        self.capacity * self.chunk_count
    }
}

/// Returns the order of the columns in a block: the largest alignments beyond 64 first, and of one
/// alignment the largest sizes. The other columns keep their order.
fn order_of(columns: &[Layout]) -> SmallVec<[usize; 16]> {
    let mut order: SmallVec<_> = (0..columns.len()).collect();
    let beyond = |column: &Layout| {
        let is_beyond = column.align() > COLUMN_ALIGN;
        is_beyond.then(|| (column.align(), column.size()))
    };
    order.sort_by_key(|&column| Reverse(beyond(&columns[column])));
    order
}

/// Places `rows` rows of the entities and of each column one after the other. Returns where each column
/// starts, and where the last one ends, or `None` if that is beyond the address space.
fn place(
    columns: &[Layout],
    order: &[usize],
    rows: usize,
    gap: usize,
) -> Option<(Box<[usize]>, usize)> {
    let mut end = size_of::<Entity>() * rows + CANARY_BYTES;
    let mut offsets = alloc::vec![0; columns.len()].into_boxed_slice();
    for &index in order {
        let column = &columns[index];
        let align = column.align().max(COLUMN_ALIGN);
        let start = end.checked_add(gap)?.checked_next_multiple_of(align)?;
        if column.size() > 0 {
            let bytes = column.size().checked_mul(rows)?.checked_add(CANARY_BYTES)?;
            end = start.checked_add(bytes)?;
        }
        offsets[index] = start;
    }
    Some((offsets, end))
}

/// The layouts of an archetype's blocks: small ones first, then ordinary ones, then large ones.
#[derive(Debug)]
pub(crate) struct ChunkLayouts {
    /// The layouts of the first blocks, which have one chunk each. The last layout serves all later ones
    /// of these.
    classes: Box<[ChunkLayout]>,
    /// The layout of the first large blocks, and that of the large blocks after them.
    large: [ChunkLayout; 2],
}

impl ChunkLayouts {
    /// Creates the layouts for these columns. A row that does not fit a block gets a larger block.
    pub(crate) fn new(columns: &[Layout]) -> Self {
        let order = order_of(columns);
        let mut classes: Vec<_> = CLASS_BYTES
            .iter()
            .filter_map(|&bytes| ChunkLayout::new(columns, &order, bytes, 0, CHUNK_ROWS))
            .collect();
        if classes.is_empty() {
            classes.extend(ChunkLayout::new(columns, &order, BLOCK_BYTES, 1, CHUNK_ROWS));
        }
        let large = [LARGE_BYTES, BLOCK_BYTES_MAX].map(|bytes| {
            ChunkLayout::new(columns, &order, bytes, 1, CHUNKS_MAX * CHUNK_ROWS)
                .expect("at least one row fits")
        });
        Self { classes: classes.into_boxed_slice(), large }
    }

    /// Returns the layout of the block that has the chunk with this index in the archetype's list, and
    /// the index of the chunk in the block.
    #[inline]
    pub(crate) fn find(&self, chunk: usize) -> (&ChunkLayout, usize) {
        let Some(chunk) = chunk.checked_sub(ORDINARY_BLOCKS) else {
            return (&self.classes[chunk.min(self.classes.len() - 1)], 0);
        };
        let [large, largest] = &self.large;
        match chunk.checked_sub(LARGE_BLOCKS * large.chunk_count) {
            None => (large, chunk % large.chunk_count),
            Some(chunk) => (largest, chunk % largest.chunk_count),
        }
    }

    /// Returns the layout of the block that has the chunk with this index in the archetype's list.
    #[inline]
    pub(crate) fn of_chunk(&self, chunk: usize) -> &ChunkLayout {
        self.find(chunk).0
    }

    /// Returns an upper bound of the chunks that this many rows add to an archetype with these columns or
    /// some of them. No chunk of a large block has less room there than one of the first large block here.
    pub(super) fn chunks_for(&self, rows: usize) -> usize {
        rows.min(ORDINARY_BLOCKS) + rows.div_ceil(self.large[0].capacity)
    }

    /// Returns the numbers of words with a bit for each row, for each chunk.
    pub(super) fn word_counts(&self) -> WordCounts {
        let words = |layout: &ChunkLayout| layout.capacity.div_ceil(64);
        let mut starts = [0; ORDINARY_BLOCKS + 1];
        for chunk in 0..ORDINARY_BLOCKS {
            starts[chunk + 1] = starts[chunk] + narrow(words(self.of_chunk(chunk)));
        }
        let large = self.large.iter().map(words).max();
        WordCounts { starts, large: large.map_or(0, narrow) }
    }

    /// Returns the memory that the layouts take outside this struct, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let layouts = self.classes.iter().chain(&self.large);
        let offsets: usize = layouts.map(|layout| size_of_val(&*layout.offsets)).sum();
        size_of_val(&*self.classes) + offsets
    }
}

/// The number of words with a bit for each row, for each chunk of an archetype. All chunks of large
/// blocks have the same number; the excess is little beside the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordCounts {
    /// The number of words before each of the first chunks, and before those of the large blocks.
    starts: [u8; ORDINARY_BLOCKS + 1],
    /// The number of words of each chunk of a large block.
    large: u8,
}

const _: () = assert!(ORDINARY_BLOCKS * CHUNK_ROWS.div_ceil(64) <= u8::MAX as usize);

#[expect(clippy::cast_possible_truncation, reason = "all the first chunks have fewer")]
fn narrow(words: usize) -> u8 {
    words as u8
}

impl WordCounts {
    /// Returns the number of words of all chunks before this one.
    #[inline]
    pub(super) fn before(self, chunk: usize) -> usize {
        match chunk.checked_sub(ORDINARY_BLOCKS) {
            None => usize::from(self.starts[chunk]),
            Some(large) => {
                usize::from(self.starts[ORDINARY_BLOCKS]) + large * usize::from(self.large)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a valid layout")
    }

    /// Checks every property that the rest of the store relies on (I-3).
    fn check(columns: &[Layout]) {
        let layouts = ChunkLayouts::new(columns);
        for class in layouts.classes.iter().chain(&layouts.large) {
            assert!(class.capacity >= 1 && class.capacity <= ROWS_MAX);
            assert!((1..=CHUNKS_MAX).contains(&class.chunk_count));
            // The columns of each chunk begin at a cache line, as those of the block do.
            assert!(class.chunk_count == 1 || class.capacity % COLUMN_ALIGN == 0);
            let mut end = class.rows() * size_of::<Entity>();
            let mut placed: Vec<_> = columns.iter().zip(&class.offsets).collect();
            placed.sort_by_key(|&(column, &offset)| (offset, column.size()));
            for (column, &offset) in placed {
                assert_eq!(offset % column.align().max(COLUMN_ALIGN), 0);
                assert!(column.size() == 0 || offset >= end, "columns overlap");
                if column.size() > 0 {
                    end = offset + column.size() * class.rows();
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
            [0, 1, 2, 4, 100].map(|chunk| layouts.of_chunk(chunk).rows())
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
    fn no_chunk_of_a_large_block_has_less_room_with_fewer_columns() {
        let sizes = [(140, 128), (12, 4), (30_000, 8), (0, 256), (1, 1), (600, 4), (100_000, 1)];
        let all = sizes.map(|(size, align)| layout(size, align));
        let few = |bits: usize| {
            let columns = all.iter().enumerate().filter(move |(k, _)| bits >> k & 1 != 0);
            columns.flat_map(|(k, &column)| vec![column; k + 1]).collect::<Vec<_>>()
        };
        for bits in (0..1 << all.len()).step_by(if cfg!(miri) { 19 } else { 1 }) {
            let least = ChunkLayouts::new(&few(bits)).large[0].capacity;
            for lost in (0..all.len()).map(|k| bits & !(1 << k)) {
                let layouts = ChunkLayouts::new(&few(lost));
                assert!(layouts.large.iter().all(|large| large.capacity >= least), "{bits:b}");
            }
        }
    }

    #[test]
    fn a_row_larger_than_a_block_gets_a_larger_block() {
        let columns = [layout(3 * BLOCK_BYTES, 8)];
        check(&columns);
        let layouts = ChunkLayouts::new(&columns);
        assert_eq!(layouts.of_chunk(0).rows(), 1);
        assert_eq!(layouts.of_chunk(ORDINARY_BLOCKS - 1).rows(), 1);
    }

    /// Where `usize` has 32 bits, a row of 256 of the largest components that a script may register is such
    /// a row. Also in builds that do not check for overflow, its columns must not begin in a small block.
    #[test]
    #[should_panic(expected = "larger than the address space")]
    fn a_row_whose_size_overflows_has_no_layout() {
        let half = layout(1 << (usize::BITS - 2), 1);
        drop(ChunkLayouts::new(&[half; 4]));
    }

    #[test]
    #[should_panic(expected = "larger than the address space")]
    fn a_row_that_only_overflows_with_its_padding_has_no_layout() {
        let third = layout(usize::MAX / 3, 1);
        drop(ChunkLayouts::new(&[third, third, layout(usize::MAX / 3 - 8, 1)]));
    }

    #[test]
    fn the_layouts_of_large_blocks_are_not_on_the_heap() {
        let layouts = ChunkLayouts::new(&[layout(4, 4), layout(8, 8)]);
        let offsets = (layouts.classes.len() + 2) * 2 * size_of::<usize>();
        let classes = layouts.classes.len() * size_of::<ChunkLayout>();
        assert_eq!(layouts.heap_bytes(), classes + offsets);
    }

    #[test]
    fn each_chunk_of_a_block_comes_up_in_its_turn() {
        for sizes in [&[4, 4][..], &[12; 3], &[], &[600], &[3 * BLOCK_BYTES]] {
            let columns: Vec<_> = sizes.iter().map(|&size| layout(size, 1)).collect();
            let layouts = ChunkLayouts::new(&columns);
            let (mut chunk, mut blocks) = (0, Vec::new());
            while blocks.len() < ORDINARY_BLOCKS + LARGE_BLOCKS + 3 {
                let count = layouts.of_chunk(chunk).chunk_count;
                blocks.push(layouts.of_chunk(chunk).block.size());
                for place in 0..count {
                    let (found, at) = layouts.find(chunk);
                    assert_eq!((found.chunk_count, at), (count, place), "chunk {chunk}");
                    chunk += 1;
                }
            }
            assert!(blocks.is_sorted(), "{blocks:?}");
            assert!(sizes.len() > 1 || blocks.iter().all(|&bytes| bytes <= BLOCK_BYTES_MAX));
        }
    }

    #[test]
    #[cfg_attr(any(miri, formic_small_blocks), ignore = "blocks are too small for many rows")]
    fn columns_of_the_largest_blocks_begin_at_different_places_of_the_cache() {
        let layouts = ChunkLayouts::new(&[layout(4, 4); 8]);
        let largest = &layouts.large[1];
        assert_eq!(largest.rows(), 16_384);
        let mut places: Vec<_> = largest.offsets.iter().map(|offset| offset % 4096).collect();
        places.push(0);
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= COLUMN_ALIGN), "{places:?}");
    }

    #[test]
    fn first_chunks_are_smaller_than_later_ones() {
        let layouts = ChunkLayouts::new(&[layout(4, 4)]);
        let capacities = [0, 1, 2, 3].map(|chunk| layouts.of_chunk(chunk).capacity);
        // Tiny blocks omit the smallest class, in which no row would fit.
        assert!(capacities[0] < capacities[1] && capacities[1] <= capacities[2]);
        assert_eq!(capacities[2], capacities[3]);
        assert_eq!(layouts.of_chunk(2).block.size(), BLOCK_BYTES);
    }
}
