//! The open list of A*: which cell to expand next.

use crate::cell::Cell;

/// Units of estimate that share a bucket, as a power of two. An eighth of a
/// straight step: narrow enough that few cells are expanded before their time,
/// wide enough that few buckets are empty.
const BUCKET_BITS: u32 = 12;
/// The end of a chain.
const NONE: u32 = u32::MAX;

/// Cells in a block.
const BLOCK_LEN: usize = 14;

/// Some cells of a bucket: a cache line. Lists of single cells would take twice the
/// memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Block {
    cells: [u32; BLOCK_LEN],
    len: u32,
    /// The block that was there before this one; all but the first are full.
    next: u32,
}

/// Buckets of cells by estimate, in a circle (R. Dial, "Algorithm 360:
/// Shortest-Path Forest with Topological Ordering", 1969).
///
/// Estimates of A* never fall, and no step raises one by more than is known
/// beforehand, so a circle of that size is enough. Inside of a bucket the last one
/// in is the first one out: that follows the way to the goal, where many ways are
/// as good, and depends on nothing but what was put in.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenList {
    /// The first block of each bucket, which has room or is full, but is not empty.
    heads: Vec<u32>,
    blocks: Vec<Block>,
    /// Blocks that have been emptied, chained.
    free: u32,
    /// The number of the bucket that is being emptied, not wrapped.
    bucket: u64,
    /// Cells in all buckets.
    count: usize,
}

impl OpenList {
    /// Empties the list for estimates from `estimate` on, each at most `rise`
    /// above the one that it comes from.
    pub(crate) fn begin(&mut self, estimate: u64, rise: u64) {
        let bucket_count = ((rise >> BUCKET_BITS) + 2).next_power_of_two();
        let bucket_count = usize::try_from(bucket_count).expect("weights are at most 255");
        self.heads.clear();
        self.heads.resize(bucket_count, NONE);
        self.blocks.clear();
        self.free = NONE;
        self.bucket = estimate >> BUCKET_BITS;
        self.count = 0;
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>() + self.heads.capacity() * size_of::<u32>()
    }

    #[inline]
    pub(crate) fn push(&mut self, estimate: u64, cell: Cell) {
        self.push_into(estimate >> BUCKET_BITS, cell);
    }

    /// Puts the cell back that was taken out last: it will be the next again.
    pub(crate) fn put_back(&mut self, cell: Cell) {
        self.push_into(self.bucket, cell);
    }

    #[inline]
    fn push_into(&mut self, bucket: u64, cell: Cell) {
        let place = self.place(bucket);
        let head = self.heads[place];
        let has_room = |block: &&mut Block| (block.len as usize) < BLOCK_LEN;
        let number = match self.blocks.get_mut(head as usize).filter(has_room) {
            Some(_) => head,
            None => self.add_block(place, head),
        };
        let block = &mut self.blocks[number as usize];
        block.cells[block.len as usize] = cell.to_bits();
        block.len += 1;
        self.count += 1;
    }

    /// Puts an empty block before the others of a bucket, and returns its number.
    #[inline(never)]
    fn add_block(&mut self, place: usize, next: u32) -> u32 {
        let empty = Block { cells: [0; BLOCK_LEN], len: 0, next };
        let number = if let Some(free) = self.blocks.get_mut(self.free as usize) {
            std::mem::replace(&mut self.free, std::mem::replace(free, empty).next)
        } else {
            if self.blocks.len() == self.blocks.capacity() {
                // By a quarter: memory counts more here than a few copies.
                self.blocks.reserve_exact(self.blocks.len() / 4 + 16);
            }
            self.blocks.push(empty);
            u32::try_from(self.blocks.len() - 1).expect("grids have fewer than 2^32 cells")
        };
        self.heads[place] = number;
        number
    }

    /// Takes a cell of the lowest bucket out, unless all that are left have
    /// estimates of at least `limit`.
    #[inline]
    pub(crate) fn pop(&mut self, limit: u64) -> Option<Cell> {
        if self.count == 0 {
            return None;
        }
        loop {
            if self.bucket << BUCKET_BITS >= limit {
                return None;
            }
            let place = self.place(self.bucket);
            let number = self.heads[place];
            if number != NONE {
                let block = &mut self.blocks[number as usize];
                block.len -= 1;
                let cell = Cell::from_bits(block.cells[block.len as usize]);
                if block.len == 0 {
                    self.heads[place] = std::mem::replace(&mut block.next, self.free);
                    self.free = number;
                }
                self.count -= 1;
                return Some(cell);
            }
            self.bucket += 1;
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it wraps around the circle")]
    fn place(&self, bucket: u64) -> usize {
        bucket as usize & (self.heads.len() - 1)
    }
}
