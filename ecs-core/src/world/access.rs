//! Access to components, one entity at a time or by query.

use super::World;
use crate::archetype::Archetype;
use crate::component::Component;
use crate::entity::Entity;
use crate::error::{ComponentError, MissingComponent, NoSuchEntity, QueryEntityError};
use crate::query::{
    ExclusivePlan, Query, QueryData, QueryFilter, QueryPlan, ReadOnly, SourceToken, View, ViewPlan,
};
use crate::storage::RowAddress;

/// Values: those of one entity, those of all entities that match a query, and reusable query plans.
impl World {
    /// Whether the entity has the component, enabled or not. Returns `false` for an entity that is gone.
    #[must_use]
    #[doc(alias = "satisfies")]
    pub fn has<T: Component>(&self, entity: Entity) -> bool {
        let component = self.registry.get::<T>();
        let archetype = self.locate(entity).map(|location| self.archetypes.get(location.archetype));
        component.zip(archetype).is_some_and(|(id, archetype)| archetype.components().contains(id))
    }

    /// The location of an entity's component: the archetype, the row, and the column.
    #[inline]
    pub(super) fn find<T: Component>(
        &self,
        entity: Entity,
    ) -> Result<(&Archetype, RowAddress, usize), ComponentError> {
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(location.archetype);
        let column = self.registry.get::<T>().and_then(|id| archetype.column_of(id));
        let column = column.ok_or_else(|| MissingComponent { entity, component: T::name() })?;
        Ok((archetype, location.address, column))
    }

    /// Returns a component of an entity, enabled or not.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks the component.
    #[doc(alias = "entity")]
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&T, ComponentError> {
        let (archetype, address, column) = self.find::<T>(entity)?;
        Ok(archetype.value(address, column))
    }

    /// Returns a component of an entity, enabled or not, for writing.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks the component.
    pub fn get_mut<T: Component>(&mut self, entity: Entity) -> Result<&mut T, ComponentError> {
        const { assert!(!T::MANAGED, "this component is the world's to change") };
        self.value_mut(entity)
    }

    /// Returns a component of an entity for writing, also one that only the world changes.
    #[inline]
    pub(crate) fn value_mut<T: Component>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, ComponentError> {
        self.next_version();
        let (archetype, address, column) = self.find::<T>(entity)?;
        archetype.mark_changed(address, column, self.window());
        let archetype = archetype.id();
        Ok(self.archetypes.get_mut(archetype).value_mut(address, column))
    }

    /// Returns a query over all entities that have what `Q` asks for.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(Gold));
    /// for gold in world.query::<&mut Gold>() {
    ///     gold.0 *= 2;
    /// }
    /// assert_eq!(world.query::<&Gold>().map(|gold| gold.0).sum::<u32>(), 90);
    /// ```
    ///
    /// # Panics
    /// Panics if `Q` asks for a component twice, at least once for writing.
    #[doc(alias = "query_mut")]
    pub fn query<Q: QueryData>(&mut self) -> Query<'_, Q> {
        self.query_filtered::<Q, ()>()
    }

    /// Returns a query over all entities that have what `Q` asks for and pass `F`.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// # #[derive(Component)] struct Thief;
    /// let mut world = World::new();
    /// world.spawn((Gold(1), Thief));
    /// world.spawn(Gold(2));
    /// let honest = world.query_filtered::<&Gold, Without<Thief>>();
    /// assert_eq!(honest.map(|gold| gold.0).collect::<Vec<_>>(), [2]);
    /// ```
    ///
    /// # Panics
    /// Panics if `Q` asks for a component twice, at least once for writing.
    pub fn query_filtered<Q: QueryData, F: QueryFilter>(&mut self) -> Query<'_, Q, F> {
        self.next_version();
        let (window, directory) = (self.window(), &self.blocks.directory);
        let archetypes = self.archetypes.list();
        let plan = self.plans.query::<Q, F>(&mut self.registry, archetypes, directory);
        SourceToken::exclusive(&mut self.archetypes, &self.entities, directory, window).query(plan)
    }

    /// Returns a read-only query over all entities that have what `Q` asks for.
    pub fn query_ref<Q: ReadOnly>(&self) -> Query<'_, Q> {
        self.query_ref_filtered::<Q, ()>()
    }

    /// Returns a read-only query over all entities that have what `Q` asks for and pass `F`.
    ///
    /// The matches are computed on each call; [`query_filtered`](Self::query_filtered) caches them.
    pub fn query_ref_filtered<Q: ReadOnly, F: QueryFilter>(&self) -> Query<'_, Q, F> {
        let (window, directory) = (self.window(), &self.blocks.directory);
        Query::readonly(&self.archetypes, &self.entities, directory, window, &self.registry)
    }

    /// Returns a view: random access to some components of any entity.
    ///
    /// # Panics
    /// Panics if `Q` asks for a component twice, at least once for writing.
    pub fn view<Q: QueryData>(&mut self) -> View<'_, Q> {
        self.next_version();
        let (window, directory) = (self.window(), &self.blocks.directory);
        let archetypes = self.archetypes.list();
        let plan = self.plans.view::<Q>(&mut self.registry, archetypes, directory);
        SourceToken::exclusive(&mut self.archetypes, &self.entities, directory, window).view(plan)
    }

    /// Creates a reusable query plan, for [`WorldCell::query`](crate::WorldCell::query).
    ///
    /// If `Q` asks for a component twice, at least once for writing, using the plan panics; its
    /// [access](QueryPlan::access) names the [clash](crate::Access::clash).
    pub fn plan<Q: QueryData>(&mut self) -> QueryPlan<Q> {
        self.plan_filtered()
    }

    /// Creates a [`plan`](Self::plan) with a filter.
    pub fn plan_filtered<Q: QueryData, F: QueryFilter>(&mut self) -> QueryPlan<Q, F> {
        QueryPlan::new(self.id, &mut self.registry)
    }

    /// Makes a plan continue as one that [last ran](QueryPlan::last_run) at this version, even if the
    /// world was restored since. Use it after loading a saved game.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn(Gold(1));
    /// let mut news = world.plan_filtered::<&Gold, Changed<Gold>>();
    /// world.resume_plan(&mut news, world.version());
    /// assert_eq!(world.cell().query(&mut news)?.count(), 0, "nothing since then");
    /// # Ok::<(), formic_ecs::AccessConflict>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the plan belongs to another world.
    pub fn resume_plan<Q: QueryData, F: QueryFilter>(
        &self,
        plan: &mut QueryPlan<Q, F>,
        last_run: u64,
    ) {
        plan.extend(self.plan_source()).1.version = last_run;
    }

    /// Creates a reusable view plan, for [`WorldCell::view`](crate::WorldCell::view). What a
    /// [`plan`](Self::plan) refuses, it refuses as well.
    pub fn view_plan<Q: QueryData>(&mut self) -> ViewPlan<Q> {
        ViewPlan::new(self.id, &mut self.registry)
    }

    /// Creates a reusable plan for a view by claims, for [`WorldCell::claims`](crate::WorldCell::claims).
    pub fn claim_plan<Q: QueryData>(&mut self) -> ExclusivePlan<Q> {
        ExclusivePlan::new(self.view_plan())
    }

    /// Returns the item of a query for one entity. Short for `query::<Q>().into_get(entity)`.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match.
    ///
    /// # Panics
    /// Panics if `Q` asks for a component twice, at least once for writing.
    #[doc(alias = "entity_mut")]
    pub fn query_one<Q: QueryData>(
        &mut self,
        entity: Entity,
    ) -> Result<Q::Item<'_>, QueryEntityError> {
        self.query::<Q>().into_get(entity)
    }
}
