//! A query cut into chunks, for several threads to work on.
#![expect(unsafe_code, reason = "opens each chunk once, for whoever takes it first")]

use alloc::vec::Vec;
use core::fmt;

use super::chunk::Chunk;
use super::data::QueryData;
use super::filter::QueryFilter;
use super::iter::{Source, open};
use super::plan::MatchOf;
use crate::sync::{Ordering, ProtocolU64};

/// One chunk of one match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) index: usize,
    pub(crate) chunk: usize,
    pub(crate) ordinal: usize,
}

/// Memory for cutting a query into chunks, kept from one time to the next.
#[derive(Debug, Default)]
pub struct ParallelScratch {
    units: Vec<Unit>,
    /// A bit per unit: whether it has been taken.
    taken: Vec<ProtocolU64>,
}

impl ParallelScratch {
    pub(crate) fn fill(&mut self, units: impl Iterator<Item = Unit>) {
        self.units.clear();
        self.units.extend(units);
        self.taken.clear();
        self.taken.extend((0..self.units.len().div_ceil(64)).map(|_| ProtocolU64::new(0)));
    }
}

/// The chunks of a query, each to be taken once, from any thread.
///
/// This is what parallel loops are built on; `ecs-jobs` has `par_for_each`.
pub struct ParallelChunks<'w, Q: QueryData, F: QueryFilter = ()> {
    source: Source<'w>,
    matches: &'w [MatchOf<Q, F>],
    scratch: &'w ParallelScratch,
}

impl<Q: QueryData, F: QueryFilter> fmt::Debug for ParallelChunks<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelChunks").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<'w, Q: QueryData, F: QueryFilter> ParallelChunks<'w, Q, F> {
    /// # Safety
    /// As for [`Query::planned`](super::Query::planned); `scratch` was filled with the chunks of
    /// these matches, each once.
    pub(crate) unsafe fn new(
        source: Source<'w>,
        matches: &'w [MatchOf<Q, F>],
        scratch: &'w ParallelScratch,
    ) -> Self {
        Self { source, matches, scratch }
    }

    /// How many chunks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scratch.units.len()
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scratch.units.is_empty()
    }

    /// Takes the chunk at this index. `None` where it has been taken before, by anybody, or has
    /// no rows to visit.
    ///
    /// # Panics
    /// Where `index` is not below [`len`](Self::len).
    #[inline]
    pub fn take(&self, index: usize) -> Option<Chunk<'_, Q>> {
        let unit = self.scratch.units[index];
        let bit = 1 << (index % 64);
        // Relaxed: that only one can be first is all that is needed. What the chunk holds was
        // published to this thread by whoever handed it the query.
        if self.scratch.taken[index / 64].fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            return None;
        }
        let found = &self.matches[unit.index];
        let archetype = &self.source.archetypes[found.archetype];
        // SAFETY: this holds the right to all chunks (`new`), and the bit shows that this one has
        // not been given away.
        unsafe { open::<Q, F>(archetype, found, unit.chunk, unit.ordinal, self.source.version) }
    }
}
