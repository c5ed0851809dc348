//! A query with the right to be asked.
#![expect(unsafe_code, reason = "opens each chunk of a query once")]

mod answers;
mod borrowed;

use alloc::vec::Vec;
use core::fmt;

use super::access::BorrowGuard;
use super::chunk::{Chunk, ChunkIter, Source, open, rows};
use super::data::{ColumnData, QueryData, ReadOnly};
use super::filter::QueryFilter;
use super::parallel::{ParallelChunks, ParallelScratch};
use super::pass::{visit_rows, visit_runs};
use super::plan::MatchOf;
use crate::entity::Entity;
use crate::error::{NoSuchEntity, QueryEntityError};
use crate::mask::Rows;
use crate::storage::{ChangeWindow, RowAddress, Slice};

pub use borrowed::BorrowedQuery;

/// A query of a world, ready to be walked: by row, by chunk, or entity by entity.
///
/// Rows come archetype by archetype in order of first use, chunk by chunk, in row order. The
/// order depends on the operations that made the world and on nothing else.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// # #[derive(Component)] struct Velocity(f32);
/// let mut world = World::new();
/// world.spawn_batch((0..100).map(|i| (Position(0.0), Velocity(i as f32))));
///
/// for (position, velocity) in world.query::<(&mut Position, &Velocity)>() {
///     position.0 += velocity.0;
/// }
/// // The same, as fast as a plain loop.
/// world.query::<(&mut Position, &Velocity)>().for_each(|(p, v)| p.0 += v.0);
/// // The same with slices, a run of rows at a time.
/// world.query::<(&mut Position, &Velocity)>().for_each_chunk(|(positions, velocities)| {
///     for (position, velocity) in positions.iter_mut().zip(velocities) {
///         position.0 += velocity.0;
///     }
/// });
/// assert_eq!(world.query::<&Position>().map(|p| p.0).sum::<f32>(), 3.0 * 4950.0);
/// ```
pub struct Query<'w, Q: QueryData, F: QueryFilter = ()> {
    source: Source<'w>,
    matches: Matches<'w, Q, F>,
}

enum Matches<'w, Q: QueryData, F: QueryFilter> {
    Planned(&'w [MatchOf<Q, F>]),
    Once(Vec<MatchOf<Q, F>>),
}

impl<Q: QueryData, F: QueryFilter> Matches<'_, Q, F> {
    fn as_slice(&self) -> &[MatchOf<Q, F>] {
        match self {
            Self::Planned(matches) => matches,
            Self::Once(matches) => matches,
        }
    }
}

impl<Q: QueryData, F: QueryFilter> fmt::Debug for Query<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("archetypes", &self.matches.as_slice().len())
            .finish_non_exhaustive()
    }
}

impl<'w, Q: QueryData, F: QueryFilter> Query<'w, Q, F> {
    /// # Safety
    /// The caller has the right that the query needs to all of these archetypes for `'w` (I-10),
    /// and gives it away with the query; `matches` are those of this query in them (I-8).
    pub(crate) unsafe fn planned(source: Source<'w>, matches: &'w [MatchOf<Q, F>]) -> Self {
        Self { source, matches: Matches::Planned(matches) }
    }

    /// # Safety
    /// As for [`planned`](Self::planned).
    pub(crate) unsafe fn once(source: Source<'w>, matches: Vec<MatchOf<Q, F>>) -> Self {
        Self { source, matches: Matches::Once(matches) }
    }

    /// The same query for a shorter time; this one can be asked again afterwards.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..3).map(Gold));
    /// let mut purses = world.query::<&mut Gold>();
    /// purses.reborrow().for_each(|gold| gold.0 += 1);
    /// purses.for_each(|gold| gold.0 *= 2);
    /// assert!(world.query::<&Gold>().map(|gold| gold.0).eq([2, 4, 6]));
    /// ```
    pub fn reborrow(&mut self) -> Query<'_, Q, F> {
        Query { source: self.source, matches: Matches::Planned(self.matches.as_slice()) }
    }

    /// The same query, asking what has changed or come after this version of the world.
    ///
    /// What [`Changed`](crate::Changed), [`Added`](crate::Added), [`Ref`](crate::Ref) and
    /// [`Mut`](crate::Mut) go by. A query that is asked of the world itself asks for everything that
    /// was ever changed; one by a plan, for what has changed since the plan was last asked.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] #[component(tracked)] struct Health(u32);
    /// let mut world = World::new();
    /// world.spawn(Health(1));
    /// let before = world.version();
    /// world.spawn(Health(2));
    /// let changed = world.query_filtered::<&Health, Changed<Health>>().since(before);
    /// assert!(changed.map(|health| health.0).eq([2]));
    /// assert_eq!(world.query_filtered::<&Health, Changed<Health>>().count(), 2);
    /// ```
    #[must_use]
    pub fn since(mut self, version: u64) -> Self {
        self.source.moment.since = version;
        self
    }

    /// The same query about a part of the entities: those whose index leaves the remainder `which`
    /// when it is divided by `count`.
    ///
    /// To spread work over several ticks: each entity is in exactly one of the `count` slices, and
    /// stays in it. Rows that are not in the slice are passed over as disabled ones are. What is
    /// asked about one entity ([`get`](Self::get) and the like) is not narrowed.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Mind(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(Mind));
    /// let sizes: Vec<_> = (0..4).map(|which| world.query::<&Mind>().shard(4, which).count()).collect();
    /// assert_eq!(sizes, [3, 3, 2, 2]);
    /// for tick in 0..4 {
    ///     world.query::<&mut Mind>().shard(4, tick).for_each(|mind| mind.0 = tick);
    /// }
    /// assert_eq!(world.query::<&Mind>().map(|mind| mind.0).sum::<u32>(), 0 + 3 + 4 + 6);
    /// ```
    ///
    /// # Panics
    /// Panics if `which` is not below `count`.
    #[must_use]
    pub fn shard(mut self, count: u32, which: u32) -> Self {
        self.source.moment.slice = Slice::of(count, which);
        self
    }

    /// The same query, for a caller that only reads: it can be asked many times at once.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..3).map(Gold));
    /// let query = world.query::<&Gold>();
    /// // Two walks at a time.
    /// let pairs = query.as_readonly().into_iter().flat_map(|a| query.iter().map(move |b| (a, b)));
    /// assert_eq!(pairs.count(), 9);
    /// ```
    pub fn as_readonly(&self) -> Query<'_, Q, F>
    where
        Q: ReadOnly,
    {
        Query { source: self.source, matches: Matches::Planned(self.matches.as_slice()) }
    }

    /// The rows, one by one, of a query that only reads.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..3).map(Gold));
    /// let purses = world.query::<&Gold>();
    /// // Twice, since it is only read.
    /// assert_eq!(purses.iter().count(), purses.iter().count());
    /// ```
    pub fn iter(&self) -> RowIter<'_, Q, F>
    where
        Q: ReadOnly,
    {
        self.as_readonly().into_iter()
    }

    /// Calls `f` with every row. The fastest way row by row: the loop runs chunk by chunk.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(Gold));
    /// let mut sum = 0;
    /// world.query::<&Gold>().for_each(|gold| sum += gold.0);
    /// assert_eq!(sum, 36);
    /// ```
    #[inline]
    pub fn for_each(self, mut f: impl FnMut(Q::Item<'w>)) {
        // SAFETY: the query holds the right (I-10) and is consumed (I-11); the matches are its own,
        // each once (I-8).
        unsafe { visit_rows::<Q, F>(self.source, self.matches.as_slice(), &mut f) };
    }

    /// Calls `f` with the slices of every run of rows: whole chunks where nothing in them is
    /// disabled, else each run of enabled rows.
    ///
    /// Slices of `Pod` components are flat numbers to [`flat`](crate::flat) and
    /// [`flat_mut`](crate::flat_mut), which lets the compiler use the whole width of a vector.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(Gold));
    /// world.query::<&mut Gold>().for_each_chunk(|gold| gold.iter_mut().for_each(|gold| gold.0 += 1));
    /// assert_eq!(world.query::<&Gold>().map(|gold| gold.0).sum::<u32>(), 55);
    /// ```
    #[inline]
    pub fn for_each_chunk(self, mut f: impl FnMut(Q::Columns<'w>))
    where
        Q: ColumnData,
    {
        // SAFETY: the query holds the right (I-10) and is consumed (I-11); the matches are its own,
        // each once (I-8).
        unsafe { visit_runs::<Q, F>(self.source, self.matches.as_slice(), &mut f) };
    }

    /// Calls `visit` with every chunk that has rows to visit.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..1000).map(Gold));
    /// let mut rows = 0;
    /// world.query::<&Gold>().chunks(|chunk| rows += chunk.row_count());
    /// assert_eq!(rows, 1000);
    /// ```
    #[inline]
    pub fn chunks(self, mut visit: impl FnMut(Chunk<'w, Q>)) {
        let mut ordinal = 0;
        for found in self.matches.as_slice() {
            let archetype = &self.source.archetypes[found.archetype.index()];
            for chunk in 0..archetype.chunks.used_count() {
                // SAFETY: the query holds the right (I-10) and is consumed; the matches are each
                // there once (I-8), so each chunk comes up once (I-11).
                let opened =
                    unsafe { open::<Q, F>(archetype, found, chunk, ordinal, self.source.moment) };
                opened.into_iter().for_each(&mut visit);
                ordinal += 1;
            }
        }
    }

    fn rows_of(&self, found: &MatchOf<Q, F>, chunk: usize) -> Rows {
        let archetype = &self.source.archetypes[found.archetype.index()];
        rows::<Q, F>(archetype, found, chunk, self.source.moment)
    }

    /// Where the row of an entity is, if it matches: the place of its match, and its address.
    #[inline]
    pub(super) fn find(&self, entity: Entity) -> Result<(usize, RowAddress), QueryEntityError> {
        let location = self.source.locate(entity).ok_or(NoSuchEntity(entity))?;
        let matches = self.matches.as_slice();
        let found = matches
            .binary_search_by_key(&location.archetype, |found| found.archetype)
            .map_err(|_| QueryEntityError::NotMatching(entity))?;
        let RowAddress { chunk, row } = location.address;
        let archetype = &self.source.archetypes[location.archetype.index()];
        let len = archetype.chunks.len(chunk);
        // What is asked about one entity is not narrowed to the slice.
        let moment = ChangeWindow { slice: None, ..self.source.moment };
        if rows::<Q, F>(archetype, &matches[found], chunk, moment).contains(row, len) {
            Ok((found, location.address))
        } else {
            Err(QueryEntityError::NotMatching(entity))
        }
    }

    /// Opens the chunk of a row.
    #[inline]
    pub(super) fn open_place(&self, (found, address): (usize, RowAddress)) -> Q::Fetch<'w> {
        let found = &self.matches.as_slice()[found];
        let chunks = &self.source.archetypes[found.archetype.index()].chunks;
        Q::fetch(&found.query, chunks, address.chunk, self.source.moment)
    }

    /// The chunks as units of work for several threads. The scratch keeps its memory for the
    /// next time.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ParallelScratch;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(Gold));
    /// let mut scratch = ParallelScratch::default();
    /// let mut query = world.query::<&mut Gold>();
    /// let chunks = query.parallel(&mut scratch);
    /// let rows = (0..chunks.len()).filter_map(|index| chunks.take(index)).map(|chunk| chunk.row_count());
    /// assert_eq!(rows.sum::<usize>(), 9);
    /// ```
    pub fn parallel<'a>(
        &'a mut self,
        scratch: &'a mut ParallelScratch,
    ) -> ParallelChunks<'a, Q, F> {
        let matches = self.matches.as_slice();
        // SAFETY: the query holds the right (I-10) and is borrowed exclusively for as long as the
        // chunks are used (I-11); the matches are its own (I-8).
        unsafe { ParallelChunks::new(self.source, matches, scratch) }
    }
}

impl<'w, Q: QueryData, F: QueryFilter> IntoIterator for Query<'w, Q, F> {
    type Item = Q::Item<'w>;
    type IntoIter = RowIter<'w, Q, F>;

    fn into_iter(self) -> RowIter<'w, Q, F> {
        RowIter {
            query: self,
            next_match: 0,
            next_chunk: 0,
            ordinal: 0,
            rows: Chunk::nothing().into_iter(),
        }
    }
}

impl<'a, Q: QueryData, F: QueryFilter> IntoIterator for &'a mut Query<'_, Q, F> {
    type Item = Q::Item<'a>;
    type IntoIter = RowIter<'a, Q, F>;

    fn into_iter(self) -> RowIter<'a, Q, F> {
        self.reborrow().into_iter()
    }
}

impl<'a, Q: ReadOnly, F: QueryFilter> IntoIterator for &'a Query<'_, Q, F> {
    type Item = Q::Item<'a>;
    type IntoIter = RowIter<'a, Q, F>;

    fn into_iter(self) -> RowIter<'a, Q, F> {
        self.iter()
    }
}

/// The rows of a query, one by one.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(Gold));
/// let mut rows = world.query::<&Gold>().into_iter();
/// assert_eq!(rows.next(), Some(&Gold(0)));
/// assert_eq!(rows.map(|gold| gold.0).sum::<u32>(), 45);
/// ```
pub struct RowIter<'w, Q: QueryData, F: QueryFilter = ()> {
    query: Query<'w, Q, F>,
    next_match: usize,
    next_chunk: usize,
    ordinal: usize,
    rows: ChunkIter<'w, Q>,
}

impl<Q: QueryData, F: QueryFilter> fmt::Debug for RowIter<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowIter").field("query", &self.query).finish_non_exhaustive()
    }
}

impl<'w, Q: QueryData, F: QueryFilter> RowIter<'w, Q, F> {
    /// Opens the next chunk with rows to visit.
    fn next_chunk(&mut self) -> Option<Chunk<'w, Q>> {
        loop {
            let found = self.query.matches.as_slice().get(self.next_match)?;
            let source = self.query.source;
            let archetype = &source.archetypes[found.archetype.index()];
            while self.next_chunk < archetype.chunks.used_count() {
                let chunk = self.next_chunk;
                self.next_chunk += 1;
                self.ordinal += 1;
                // SAFETY: the iterator owns the query and its right (I-10); the place only ever
                // goes up among matches that are each there once (I-8), so each chunk is opened
                // once (I-11).
                let opened = unsafe {
                    open::<Q, F>(archetype, found, chunk, self.ordinal - 1, source.moment)
                };
                if opened.is_some() {
                    return opened;
                }
            }
            self.next_match += 1;
            self.next_chunk = 0;
        }
    }
}

impl<'w, Q: QueryData, F: QueryFilter> Iterator for RowIter<'w, Q, F> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Q::Item<'w>> {
        loop {
            if let Some(item) = self.rows.next() {
                return Some(item);
            }
            self.rows = self.next_chunk()?.into_iter();
        }
    }

    /// The internal loop, which `for_each`, `sum`, `count` and others come down to.
    fn fold<B, G: FnMut(B, Q::Item<'w>) -> B>(mut self, init: B, mut f: G) -> B {
        let mut folded = Some(init);
        let mut step = |item| folded = folded.take().map(|before| f(before, item));
        self.rows.by_ref().for_each(&mut step);
        while let Some(chunk) = self.next_chunk() {
            chunk.for_each(&mut step);
        }
        folded.expect("put back after each step")
    }
}
