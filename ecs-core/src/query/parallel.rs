//! A query cut into chunks, for several threads to work on.
#![expect(unsafe_code, reason = "opens each chunk once, for whoever takes it first")]

use alloc::vec::Vec;
use core::fmt;

use super::chunk::{Chunk, Source, rows};
use super::data::QueryData;
use super::filter::QueryFilter;
use super::plan::MatchOf;
use crate::mask::{RowMask, Rows};
use crate::sync::{Ordering, ProtocolU64};

/// One chunk of one match that has rows to visit.
#[derive(Clone, Copy, Debug)]
struct Unit {
    index: usize,
    chunk: usize,
    ordinal: usize,
    /// Where its mask is among the words, if not all rows are visited.
    mask: Option<usize>,
}

/// Memory for cutting a query into chunks, kept from one time to the next.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::ParallelScratch;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(Gold));
/// let mut scratch = ParallelScratch::default();
/// for _tick in 0..3 {
///     // The memory is used again.
///     let mut query = world.query::<&mut Gold>();
///     let chunks = query.parallel(&mut scratch);
///     (0..chunks.len()).filter_map(|i| chunks.take(i)).flatten().for_each(|gold| gold.0 += 1);
/// }
/// assert_eq!(world.query::<&Gold>().first(), Some(&Gold(3)));
/// ```
#[derive(Debug, Default)]
pub struct ParallelScratch {
    units: Vec<Unit>,
    /// The masks of the units that have one.
    words: Vec<u64>,
    taken: Taken,
}

/// Which units have been taken: a bit for each, set once and by one thread (I-11). The model is in
/// `loom_models`.
#[derive(Debug, Default)]
pub(super) struct Taken(Vec<ProtocolU64>);

impl Taken {
    /// Begins with this many units, none of them taken.
    pub(super) fn prepare(&mut self, count: usize) {
        self.0.clear();
        self.0.extend((0..count.div_ceil(64)).map(|_| ProtocolU64::new(0)));
    }

    /// Sets the bit; whether it was not set before.
    #[inline]
    pub(super) fn take(&self, index: usize) -> bool {
        let bit = 1 << (index % 64);
        // Relaxed: that only one can be first is all that is needed. What a chunk holds was
        // published to this thread by the thread that handed it the query, and no thread gives a bit back:
        // who comes second touches nothing, and who joins the first sees what it wrote.
        self.0[index / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

impl ParallelScratch {
    fn clear(&mut self) {
        self.units.clear();
        self.words.clear();
    }

    fn push(&mut self, index: usize, chunk: usize, ordinal: usize, rows: &Rows) {
        let mask = match rows {
            Rows::None => return,
            Rows::All => None,
            Rows::Some(mask) => {
                self.words.extend_from_slice(mask.words());
                Some(self.words.len() - mask.words().len())
            }
        };
        self.units.push(Unit { index, chunk, ordinal, mask });
    }

    /// The rows of a unit whose chunk has `len` rows.
    fn rows(&self, unit: Unit, len: usize) -> Rows {
        match unit.mask {
            None => Rows::All,
            Some(start) => Rows::Some(RowMask::from_words(&self.words[start..], len)),
        }
    }
}

/// The chunks of a query that have rows to visit, each to be taken once, from any thread.
///
/// Which rows are visited was settled when this was made: a bit that is flipped meanwhile, by
/// whichever thread, is seen by the next pass. This is what parallel loops are built on;
/// `ecs-jobs` has `par_for_each`.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::ParallelScratch;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10_000).map(Gold));
/// let mut scratch = ParallelScratch::default();
/// let mut query = world.query::<&mut Gold>();
/// let chunks = query.parallel(&mut scratch);
/// assert!(!chunks.is_empty());
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| {
///             for chunk in (0..chunks.len()).filter_map(|index| chunks.take(index)) {
///                 chunk.for_each(|gold| gold.0 += 1);
///             }
///         });
///     }
/// });
/// # drop(query);
/// assert_eq!(world.query::<&Gold>().first(), Some(&Gold(1)));
/// ```
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
    /// Cuts a query into its chunks.
    ///
    /// # Safety
    /// As for [`Query::planned`](super::Query::planned).
    pub(crate) unsafe fn new(
        source: Source<'w>,
        matches: &'w [MatchOf<Q, F>],
        scratch: &'w mut ParallelScratch,
    ) -> Self {
        scratch.clear();
        let moment = source.moment;
        let mut ordinal = 0;
        for (index, found) in matches.iter().enumerate() {
            let archetype = &source.archetypes[found.archetype.index()];
            for chunk in 0..archetype.chunks.used_count() {
                scratch.push(index, chunk, ordinal, &rows::<Q, F>(archetype, found, chunk, moment));
                ordinal += 1;
            }
        }
        scratch.taken.prepare(scratch.units.len());
        Self { source, matches, scratch }
    }

    /// How many chunks there are.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ParallelScratch;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(Gold));
    /// let mut scratch = ParallelScratch::default();
    /// assert_eq!(world.query::<&Gold>().parallel(&mut scratch).len(), 1, "few fit into one");
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.scratch.units.len()
    }

    /// Whether there is nothing to do.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ParallelScratch;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let mut scratch = ParallelScratch::default();
    /// assert!(world.query::<&Gold>().parallel(&mut scratch).is_empty());
    /// world.spawn(Gold(1));
    /// assert!(!world.query::<&Gold>().parallel(&mut scratch).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scratch.units.is_empty()
    }

    /// Takes the chunk at this index. `None` where it has been taken before.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ParallelScratch;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(Gold));
    /// let mut scratch = ParallelScratch::default();
    /// let mut query = world.query::<&Gold>();
    /// let chunks = query.parallel(&mut scratch);
    /// assert!(chunks.take(0).is_some());
    /// assert!(chunks.take(0).is_none(), "each is given out once");
    /// ```
    ///
    /// # Panics
    /// Panics if `index` is not below [`len`](Self::len).
    #[inline]
    pub fn take(&self, index: usize) -> Option<Chunk<'_, Q>> {
        let unit = self.scratch.units[index];
        if !self.scratch.taken.take(index) {
            return None;
        }
        let found = &self.matches[unit.index];
        let chunks = &self.source.archetypes[found.archetype.index()].chunks;
        let len = chunks.len(unit.chunk);
        let fetch = Q::fetch(&found.query, chunks, unit.chunk, self.source.moment);
        // SAFETY: fetched from the chunk whose length is given; the rows were those of this chunk
        // when the query was cut, and no row has come or gone since, as the query borrows the
        // world. This holds the right to all chunks (`new`, I-10), each is a unit once, and the bit
        // shows that this one has not been given away (I-11).
        Some(unsafe { Chunk::new(fetch, self.scratch.rows(unit, len), len, unit.ordinal) })
    }
}
