//! A query under a checked borrow.

use core::fmt;

use super::{BorrowGuard, Query, QueryData, QueryFilter};
use crate::storage::Slice;

/// A query through a [`WorldCell`](crate::WorldCell): it holds the right to its components while
/// it lives, and lends it to one query at a time.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(Gold));
/// let mut plan = world.plan::<&mut Gold, ()>();
/// let cell = world.cell();
/// let mut purses = cell.query(&mut plan)?;
/// purses.query().for_each(|gold| gold.0 += 1);
/// assert_eq!(purses.query().map(|gold| gold.0).sum::<u32>(), 55);
/// # Ok::<(), formic_ecs::AccessConflict>(())
/// ```
pub struct BorrowedQuery<'w, Q: QueryData, F: QueryFilter = ()> {
    query: Query<'w, Q, F>,
    _guard: BorrowGuard<'w>,
}

impl<Q: QueryData, F: QueryFilter> fmt::Debug for BorrowedQuery<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BorrowedQuery").field("query", &self.query).finish_non_exhaustive()
    }
}

impl<'w, Q: QueryData, F: QueryFilter> BorrowedQuery<'w, Q, F> {
    /// A query whose right is the guard (I-10). It is asked only while this is borrowed, so nothing
    /// that it hands out outlives the guard.
    pub(crate) fn new(query: Query<'w, Q, F>, guard: BorrowGuard<'w>) -> Self {
        Self { query, _guard: guard }
    }

    /// The version that the plan was asked at before: what was stamped after it is new.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let mut plan = world.plan::<&Gold, ()>();
    /// assert_eq!(world.cell().query(&mut plan)?.border(), 0, "it was never asked before");
    /// assert!(world.cell().query(&mut plan)?.border() > 0);
    /// # Ok::<(), formic_ecs::AccessConflict>(())
    /// ```
    #[must_use]
    pub const fn border(&self) -> u64 {
        self.query.source.moment.since
    }

    /// The same, asking what is new since this version, see [`Query::since`].
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn(Gold(1));
    /// let mut plan = world.plan::<&Gold, Changed<Gold>>();
    /// assert_eq!(world.cell().query(&mut plan)?.count(), 1);
    /// assert_eq!(world.cell().query(&mut plan)?.count(), 0, "nothing since then");
    /// assert_eq!(world.cell().query(&mut plan)?.since(0).count(), 1);
    /// # Ok::<(), formic_ecs::AccessConflict>(())
    /// ```
    #[must_use]
    pub fn since(mut self, version: u64) -> Self {
        self.query.source.moment.since = version;
        self
    }

    /// The same about a part of the entities, see [`Query::shard`].
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(Gold));
    /// let mut plan = world.plan::<&Gold, ()>();
    /// let cell = world.cell();
    /// assert_eq!(cell.query(&mut plan)?.shard(4, 0).count(), 3);
    /// # Ok::<(), formic_ecs::AccessConflict>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `which` is not below `count`.
    #[must_use]
    pub fn shard(mut self, count: u32, which: u32) -> Self {
        self.query.source.moment.slice = Slice::of(count, which);
        self
    }

    /// The query itself, for as long as this is borrowed.
    ///
    /// What it hands out does not outlive that: the guard must stay.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..4).map(Gold));
    /// let mut plan = world.plan::<&mut Gold, ()>();
    /// let cell = world.cell();
    /// let mut purses = cell.query(&mut plan)?;
    /// purses.query().for_each(|gold| gold.0 *= 2);
    /// // The right is still there, for another pass.
    /// assert!(purses.query().map(|gold| gold.0).eq([0, 2, 4, 6]));
    /// # Ok::<(), formic_ecs::AccessConflict>(())
    /// ```
    pub fn query(&mut self) -> Query<'_, Q, F> {
        self.query.reborrow()
    }

    /// How many rows match.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(Gold));
    /// let mut plan = world.plan::<&Gold, ()>();
    /// assert_eq!(world.cell().query(&mut plan)?.count(), 10);
    /// # Ok::<(), formic_ecs::AccessConflict>(())
    /// ```
    #[must_use]
    pub fn count(&self) -> usize {
        self.query.count()
    }
}
