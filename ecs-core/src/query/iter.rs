//! Iteration over queries, and questions about all rows or some entities.

use core::ops::Deref;

use super::access::BorrowGuard;
use super::cursor::{BorrowedToken, Chunk, ChunkIter, OpenedChunks, Query};
use super::data::{QueryData, ReadOnly};
use super::filter::QueryFilter;
use super::plan::QueryPlanOf;
use crate::entity::Entity;
use crate::error::{QueryEntityError, QuerySingleError};
use crate::storage::{ChangeWindow, Shard};

impl<'w, Q: QueryData, F: QueryFilter> Query<'w, Q, F> {
    /// Returns the same query, asking what was changed or added after this version of the world.
    ///
    /// [`Changed`](crate::Changed), [`Added`](crate::Added), [`Ref`](crate::Ref) and [`Mut`](crate::Mut)
    /// compare with this version. Without it, a query of the world itself asks for all changes ever made,
    /// and a query by a plan for those since the plan was last used.
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
    pub fn since(self, version: u64) -> Self {
        let window = ChangeWindow { since: version, ..self.window() };
        self.at(window)
    }

    /// Returns the same query for a part of the entities: those whose index modulo `count` is `which`.
    ///
    /// This spreads work over several ticks: each entity is in exactly one of the `count` parts, and
    /// stays in it. Rows that are not in the part are skipped as disabled ones are. Questions about one
    /// entity ([`get`](Self::get) and the like) are not restricted.
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
    pub fn shard(self, count: u32, which: u32) -> Self {
        let window = ChangeWindow { shard: Shard::of(count, which), ..self.window() };
        self.at(window)
    }

    /// Iterates over the rows of a query that only reads.
    pub fn iter(&self) -> RowIter<'_, Q, F>
    where
        Q: ReadOnly,
    {
        self.as_readonly().into_iter()
    }

    /// Returns the number of matching rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.counts().sum()
    }

    /// Returns whether no row matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts().all(|count| count == 0)
    }

    /// Returns the first row, in the order of the query.
    #[must_use]
    #[doc(alias = "get_single")]
    pub fn first(self) -> Option<Q::Item<'w>> {
        self.into_iter().next()
    }

    /// Returns the only row that matches.
    ///
    /// # Errors
    /// Returns an error if no row matches, or more than one does.
    pub fn single(self) -> Result<Q::Item<'w>, QuerySingleError> {
        let mut count = 0;
        for more in self.counts() {
            count += more;
            if count > 1 {
                return Err(QuerySingleError::SeveralRows);
            }
        }
        self.first().ok_or(QuerySingleError::NoRow)
    }

    /// Iterates over the rows, each converted by `f`. Short for `into_iter().map(f)`.
    pub fn map<T>(self, f: impl FnMut(Q::Item<'w>) -> T) -> impl Iterator<Item = T> {
        self.into_iter().map(f)
    }

    /// Returns the item of one entity.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match the query.
    #[inline]
    pub fn get(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError> {
        self.reborrow().into_get(entity)
    }

    /// Iterates over the items of these entities, for a query that only reads. Entities that do not match
    /// are skipped, and repeated ones are returned repeatedly.
    pub fn iter_many<'a>(
        &'a self,
        entities: impl IntoIterator<Item = Entity> + 'a,
    ) -> impl Iterator<Item = Q::Item<'a>> + 'a
    where
        Q: ReadOnly,
    {
        entities.into_iter().filter_map(|entity| self.as_readonly().into_get(entity).ok())
    }
}

impl<'w, Q: QueryData, F: QueryFilter> IntoIterator for Query<'w, Q, F> {
    type Item = Q::Item<'w>;
    type IntoIter = RowIter<'w, Q, F>;

    fn into_iter(self) -> RowIter<'w, Q, F> {
        RowIter { chunks: self.into_chunks(), rows: Chunk::empty().into_iter() }
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

/// An iterator over the rows of a query.
pub struct RowIter<'w, Q: QueryData, F: QueryFilter = ()> {
    chunks: OpenedChunks<'w, Q, F>,
    rows: ChunkIter<'w, Q>,
}

debug_fields!([Q: QueryData, F: QueryFilter] RowIter<'_, Q, F>: rows);

impl<'w, Q: QueryData, F: QueryFilter> Iterator for RowIter<'w, Q, F> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Q::Item<'w>> {
        loop {
            if let Some(item) = self.rows.next() {
                return Some(item);
            }
            self.rows = self.chunks.next()?.into_iter();
        }
    }

    /// The internal loop, which `for_each`, `sum`, `count` and others use.
    fn fold<B, G: FnMut(B, Q::Item<'w>) -> B>(mut self, init: B, mut f: G) -> B {
        let mut folded = Some(init);
        let mut step = |item| folded = folded.take().map(|before| f(before, item));
        self.rows.by_ref().for_each(&mut step);
        while let Some(chunk) = self.chunks.next() {
            chunk.for_each(&mut step);
        }
        folded.expect("put back after each step")
    }
}

/// A query through a [`WorldCell`](crate::WorldCell). It holds the right to its components while it
/// lives, and lends it to one query at a time, or to any number of queries that only read.
pub struct BorrowedQuery<'w, Q: QueryData, F: QueryFilter = ()> {
    query: Query<'w, Q, F>,
    _guard: BorrowGuard<'w>,
}

debug_fields!([Q: QueryData, F: QueryFilter] BorrowedQuery<'_, Q, F>: query);

impl<'w, Q: QueryData, F: QueryFilter> BorrowedQuery<'w, Q, F> {
    /// Creates a query whose right is that of the guard (I-10). It is used only while this is borrowed,
    /// so nothing that it hands out outlives the guard.
    #[inline(always)]
    pub(crate) fn new(token: BorrowedToken<'w>, plan: &'w QueryPlanOf<Q, F>) -> Self {
        let (token, guard) = token.into_parts();
        Self { query: token.query(plan), _guard: guard }
    }

    /// Returns the version since which the query asks: that of the previous use of its plan, unless
    /// [`since`](Self::since) has set another. What was stamped after it is new.
    #[must_use]
    pub const fn last_run(&self) -> u64 {
        self.query.window().since
    }

    /// Returns the same query, asking what is new since this version: see [`Query::since`].
    #[must_use]
    pub fn since(self, version: u64) -> Self {
        Self { query: self.query.since(version), ..self }
    }

    /// Returns the same query for a part of the entities: see [`Query::shard`].
    ///
    /// # Panics
    /// Panics if `which` is not below `count`.
    #[must_use]
    pub fn shard(self, count: u32, which: u32) -> Self {
        Self { query: self.query.shard(count, which), ..self }
    }

    /// Returns the query itself, for as long as this is borrowed.
    ///
    /// What it hands out does not live longer, because the guard must outlive it.
    pub fn query(&mut self) -> Query<'_, Q, F> {
        self.query.reborrow()
    }
}

/// Gives access to what several callers can ask of the query at the same time.
impl<'w, Q: QueryData, F: QueryFilter> Deref for BorrowedQuery<'w, Q, F> {
    type Target = Query<'w, Q, F>;

    fn deref(&self) -> &Query<'w, Q, F> {
        &self.query
    }
}
