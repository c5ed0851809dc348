//! Asking queries by component id.
#![expect(unsafe_code, reason = "turns borrows of the world into the right that a query needs")]

use super::World;
use super::cell::WorldCell;
use crate::error::DynamicQueryError;
use crate::query::{BorrowedDynamicRows, DynamicQuery, DynamicQueryBuilder, DynamicRows};

impl DynamicQueryBuilder {
    /// The query, for this world.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DynamicQuery;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let gold = world.register::<Gold>();
    /// assert!(DynamicQuery::builder().write(gold).build(&world).is_ok());
    /// assert!(DynamicQuery::builder().write(gold).read(gold).build(&world).is_err(), "twice");
    /// ```
    ///
    /// # Errors
    /// Returns an error if an id is not of this world, a component is asked for twice, once of them
    /// to write, or to be written though only the world changes it, or no entity could ever match.
    pub fn build(self, world: &World) -> Result<DynamicQuery, DynamicQueryError> {
        self.plan(world.id, &world.registry)
    }
}

impl World {
    /// All entities that the query finds.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DynamicQuery;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(Gold));
    /// let gold = world.component_id::<Gold>().expect("it is in use");
    /// let mut query = DynamicQuery::builder().write(gold).build(&world)?;
    /// for mut row in world.query_by_id(&mut query)? {
    ///     row.get_mut::<Gold>(0)?.0 += 1;
    /// }
    /// assert_eq!(world.query::<&Gold>().first(), Some(&Gold(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the query was built for another world.
    pub fn query_by_id<'w>(
        &'w mut self,
        query: &'w mut DynamicQuery,
    ) -> Result<DynamicRows<'w>, DynamicQueryError> {
        query.extend(self.plan_source())?;
        self.next_version();
        // SAFETY: the world is borrowed exclusively for as long as the rows live (I-10); the query
        // is of this world and was just extended (I-8).
        Ok(unsafe { DynamicRows::new(self.source(), query) })
    }
}

impl<'w> WorldCell<'w> {
    /// All entities that the query finds, until what is returned is dropped.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DynamicQuery;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..3).map(Gold));
    /// let gold = world.register::<Gold>();
    /// let mut writer = DynamicQuery::builder().write(gold).build(&world)?;
    /// let mut reader = DynamicQuery::builder().read(gold).build(&world)?;
    /// let cell = world.cell();
    /// let purses = cell.query_by_id(&mut writer)?;
    /// assert!(cell.query_by_id(&mut reader).is_err(), "a query writes it");
    /// # drop(purses);
    /// # Ok::<(), formic_ecs::DynamicQueryError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the query was built for another world, or a component is in use
    /// elsewhere in a way that contradicts it.
    pub fn query_by_id(
        self,
        query: &'w mut DynamicQuery,
    ) -> Result<BorrowedDynamicRows<'w>, DynamicQueryError> {
        let world = self.world;
        query.extend(world.plan_source())?;
        let query = &*query;
        let guard = self.take(query.access())?;
        let source = self.source(self.moment(0));
        // SAFETY: the guard is the right that the query's access asks for (I-10), as long as
        // every user goes through cells, which is the case: the world is borrowed exclusively by the
        // first. The query was just extended (I-8).
        Ok(unsafe { BorrowedDynamicRows::new(source, query, guard) })
    }
}
