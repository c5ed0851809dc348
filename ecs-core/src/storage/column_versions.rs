//! When the columns of each chunk were last written, and when rows came to them.

use alloc::vec::Vec;

use crate::sync::{AtomicU64, Ordering};

/// When a query runs: what it stamps with, and what it has seen already.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// What is written from now on is stamped with this.
    pub(crate) version: u64,
    /// What was stamped after this is new to the query.
    pub(crate) since: u64,
    /// No query is going to ask for what is new since anything below this, as a rule; one that
    /// does gets the same answer by a longer way.
    pub(crate) settled: u64,
    /// Whether other threads may stamp rows of the same chunk meanwhile, at this moment.
    pub(crate) shared: bool,
}

/// The versions of one column of one chunk.
#[derive(Debug, Default)]
pub struct ColumnStamps {
    changed: AtomicU64,
    added: u64,
}

impl ColumnStamps {
    /// When the column was last opened for writing, or rows of the chunk came or went.
    #[inline]
    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// When the youngest of the components that have been in this chunk came to its entity.
    #[inline]
    pub(crate) fn added(&self) -> u64 {
        self.added
    }

    /// Writes down that the column is opened for writing.
    #[inline]
    pub(crate) fn mark(&self, version: u64) {
        // Relaxed: who reads it is ordered after the writer by the schedule or by `&mut World`.
        // Random access stamps a chunk over and over: threads that only look share the line. A
        // turn that comes late does not take back what was written after it.
        if self.changed.load(Ordering::Relaxed) < version {
            self.changed.store(version, Ordering::Relaxed);
        }
    }

    /// Writes down that components came to entities of the chunk at this version.
    pub(crate) fn raise_added(&mut self, version: u64) {
        self.added = version.max(self.added);
    }
}

/// The versions of every column of every chunk of one archetype.
#[derive(Debug)]
pub(crate) struct ColumnVersions {
    stamps: Vec<ColumnStamps>,
    columns: usize,
}

impl ColumnVersions {
    pub(crate) fn new(columns: usize) -> Self {
        Self { stamps: Vec::new(), columns }
    }

    /// Makes sure that there is memory for one more chunk.
    pub(crate) fn reserve_chunk(&mut self) {
        self.stamps.reserve(self.columns);
    }

    /// Makes room for one more chunk, with no rows.
    pub(crate) fn push_chunk(&mut self) {
        self.stamps.extend((0..self.columns).map(|_| ColumnStamps::default()));
    }

    /// Takes away the last chunk.
    pub(crate) fn pop_chunk(&mut self) {
        self.stamps.truncate(self.stamps.len() - self.columns);
    }

    /// Gives back memory that no chunk needs.
    pub(crate) fn shrink(&mut self) {
        self.stamps.shrink_to_fit();
    }

    #[inline]
    pub(crate) fn get(&self, chunk: usize, column: usize) -> &ColumnStamps {
        debug_assert!(column < self.columns);
        &self.stamps[chunk * self.columns + column]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, chunk: usize, column: usize) -> &mut ColumnStamps {
        debug_assert!(column < self.columns);
        &mut self.stamps[chunk * self.columns + column]
    }

    #[inline]
    fn of_chunk(&mut self, chunk: usize) -> &mut [ColumnStamps] {
        &mut self.stamps[chunk * self.columns..(chunk + 1) * self.columns]
    }

    /// Writes down that rows came to a chunk, whose components came to their entities at `added`.
    /// A chunk that had no rows before forgets what was in it.
    #[inline]
    pub(crate) fn arrive(&mut self, chunk: usize, was_empty: bool, version: u64, added: u64) {
        for stamps in self.of_chunk(chunk) {
            *stamps.changed.get_mut() = version;
            stamps.added = if was_empty { added } else { added.max(stamps.added) };
        }
    }

    /// Writes down that a row of a chunk left, and that one of `filler` took its place.
    #[inline]
    pub(crate) fn leave(&mut self, chunk: usize, filler: usize, version: u64) {
        for column in 0..self.columns {
            let added = if filler == chunk { 0 } else { self.get(filler, column).added };
            let stamps = self.get_mut(chunk, column);
            *stamps.changed.get_mut() = version;
            stamps.raise_added(added);
        }
    }

    /// Whether no stamp of a chunk is later than the world.
    pub(crate) fn check(&self, chunk: usize, version: u64) -> bool {
        (0..self.columns).all(|column| {
            let stamps = self.get(chunk, column);
            stamps.changed() <= version && stamps.added <= version
        })
    }
}
