//! The open list of A*: the order in which to expand cells.

use crate::cell::Cell;

/// The units of estimate that share a bucket, as a power of two. Hardly less than a straight step: narrow
/// enough that few cells are expanded early, wide enough that few buckets are empty.
pub(crate) const BUCKET_BITS: u32 = 15;
/// The same for good estimates, with which wide buckets make twice as many cells be expanded early.
pub(crate) const BUCKET_BITS_WITH_LANDMARKS: u32 = 12;
/// Buckets are wider if a single link raises estimates by more than this many, as a power of two.
const BUCKET_COUNT_BITS_MAX: u32 = 15;
/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A cell in a bucket.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cell: u32,
    /// The entry that was put into the bucket before this one.
    next: u32,
}

/// Circular buckets of cells by estimate (R. Dial, "Algorithm 360: Shortest-Path Forest with Topological
/// Ordering", 1969).
///
/// Estimates of A* never fall, and no step raises one by more than is known beforehand, so a circle of
/// that size suffices. A bucket is a stack: the last entry in is the first one out. That follows a path
/// to the goal if many paths are equally good, and depends only on what was put in.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenList {
    heads: Vec<u32>,
    bucket_bits: u32,
    /// A bit per bucket that has entries. Heavy weights spread estimates over thousands of buckets, and
    /// most of them are empty.
    occupied: Vec<u64>,
    entries: Vec<Entry>,
    /// A chain of the entries that were taken out.
    free: u32,
    /// The number of the bucket that is being emptied, not wrapped.
    bucket: u64,
    /// The number of entries in all buckets.
    count: usize,
}

impl OpenList {
    /// Clears the list, for estimates from `estimate` on, each at most `rise` above the one that it comes
    /// from. Buckets have this many bits, or are wider if there would be too many of them.
    pub(crate) fn begin(&mut self, estimate: u64, rise: u64, bucket_bits: u32) {
        let bits_more = (rise >> bucket_bits).checked_ilog2().unwrap_or(0);
        self.bucket_bits = bucket_bits + bits_more.saturating_sub(BUCKET_COUNT_BITS_MAX);
        let bucket_count = ((rise >> self.bucket_bits) + 2).next_power_of_two().max(64);
        let bucket_count = usize::try_from(bucket_count).expect("a circle has a bounded length");
        // Clears only buckets in which the last search has left entries: a search of a few cells must not
        // pay for all buckets.
        for (word, bits) in self.occupied.iter_mut().enumerate() {
            while *bits != 0 {
                self.heads[word * 64 + bits.trailing_zeros() as usize] = NONE;
                *bits &= *bits - 1;
            }
        }
        if self.heads.len() < bucket_count {
            self.heads.resize(bucket_count, NONE);
            self.occupied.resize(bucket_count / 64, 0);
        }
        self.entries.clear();
        self.free = NONE;
        self.bucket = estimate >> self.bucket_bits;
        self.count = 0;
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.heads.capacity() * size_of::<u32>()
            + self.occupied.capacity() * size_of::<u64>()
    }

    #[inline]
    pub(crate) fn push(&mut self, estimate: u64, cell: Cell) {
        self.push_into(estimate >> self.bucket_bits, cell);
    }

    /// Puts back the cell that was taken out last, so that it is the next again.
    pub(crate) fn put_back(&mut self, cell: Cell) {
        self.push_into(self.bucket, cell);
    }

    #[inline]
    fn push_into(&mut self, bucket: u64, cell: Cell) {
        let place = self.place(bucket);
        let entry = Entry { cell: cell.to_bits(), next: self.heads[place] };
        self.heads[place] = if let Some(free) = self.entries.get_mut(self.free as usize) {
            let number = self.free;
            self.free = free.next;
            *free = entry;
            number
        } else {
            if self.entries.len() == self.entries.capacity() {
                self.grow();
            }
            self.entries.push(entry);
            u32::try_from(self.entries.len() - 1).expect("grids have fewer than 2^32 cells")
        };
        self.occupied[place / 64] |= 1 << (place % 64);
        self.count += 1;
    }

    /// Makes room for a few more entries. Memory held counts more than the copies that are made until the
    /// list has grown.
    #[cold]
    fn grow(&mut self) {
        self.entries.reserve_exact(self.entries.len() / 32 + 64);
    }

    /// The number of entries in all buckets.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Goes on to the lowest bucket that has entries. Returns the least estimate that they can have,
    /// `u64::MAX` if there are none.
    #[inline]
    pub(crate) fn floor(&mut self) -> u64 {
        if self.count == 0 {
            return u64::MAX;
        }
        self.bucket += self.empty_count();
        self.bucket << self.bucket_bits
    }

    /// Takes a cell out of the bucket that is being emptied, unless it is empty.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Cell> {
        let place = self.place(self.bucket);
        let number = self.heads[place];
        let entry = self.entries.get_mut(number as usize)?;
        let cell = Cell::from_bits(entry.cell);
        self.heads[place] = entry.next;
        if entry.next == NONE {
            self.occupied[place / 64] &= !(1 << (place % 64));
        }
        entry.next = self.free;
        self.free = number;
        self.count -= 1;
        Some(cell)
    }

    /// The number of empty buckets before the next one that has entries, which must exist.
    #[inline]
    fn empty_count(&self) -> u64 {
        let place = self.place(self.bucket);
        let mut word = place / 64;
        let mut bits = self.occupied[word] >> (place % 64);
        let mut passed = 0;
        let mut width = 64 - place % 64;
        while bits == 0 {
            passed += width;
            width = 64;
            word = (word + 1) & (self.occupied.len() - 1);
            bits = self.occupied[word];
        }
        passed as u64 + u64::from(bits.trailing_zeros())
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it wraps around the circle")]
    fn place(&self, bucket: u64) -> usize {
        bucket as usize & (self.heads.len() - 1)
    }
}
