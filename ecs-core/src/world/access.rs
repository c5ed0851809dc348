//! Looking at components and writing them, one entity at a time or by query.

use super::World;
use crate::archetype::Archetype;
use crate::component::Component;
use crate::entity::Entity;
use crate::error::{ComponentError, MissingComponent, NoSuchEntity, QueryEntityError};
use crate::query::{
    ExclusivePlan, Query, QueryData, QueryFilter, QueryPlan, ReadOnly, SourceRight, View, ViewPlan,
};
use crate::storage::RowAddress;

/// Values: of one entity, of all that match a query, and plans of queries to be kept.
impl World {
    /// Whether the entity has the component, enabled or not. `false` for an entity that is gone.
    #[must_use]
    pub fn has<T: Component>(&self, entity: Entity) -> bool {
        let component = self.registry.get::<T>();
        let archetype = self.locate(entity).map(|location| self.archetypes.get(location.archetype));
        component.zip(archetype).is_some_and(|(id, archetype)| archetype.components().contains(id))
    }

    /// Where a component of an entity is: the archetype, the row, and the column.
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

    /// A component of an entity, enabled or not.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks the component.
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&T, ComponentError> {
        let (archetype, address, column) = self.find::<T>(entity)?;
        Ok(archetype.value(address, column))
    }

    /// A component of an entity, enabled or not, to be written.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks the component.
    pub fn get_mut<T: Component>(&mut self, entity: Entity) -> Result<&mut T, ComponentError> {
        const { assert!(!T::MANAGED, "this component is the world's to change") };
        self.value_mut(entity)
    }

    /// A component of an entity, also one that only the world changes.
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

    /// All entities that have what `Q` asks for.
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
    /// Panics if `Q` asks for a component twice, once of them to write.
    pub fn query<Q: QueryData>(&mut self) -> Query<'_, Q> {
        self.query_filtered::<Q, ()>()
    }

    /// All entities that have what `Q` asks for and pass `F`.
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
    /// Panics if `Q` asks for a component twice, once of them to write.
    pub fn query_filtered<Q: QueryData, F: QueryFilter>(&mut self) -> Query<'_, Q, F> {
        self.next_version();
        let (window, directory) = (self.window(), &self.blocks.directory);
        let archetypes = self.archetypes.list();
        let plan = self.plans.query::<Q, F>(&mut self.registry, archetypes, directory);
        SourceRight::exclusive(&mut self.archetypes, &self.entities, directory, window).query(plan)
    }

    /// All entities that have what `Q` asks for, without the right to change anything.
    pub fn query_ref<Q: ReadOnly>(&self) -> Query<'_, Q> {
        self.query_ref_filtered::<Q, ()>()
    }

    /// All entities that have what `Q` asks for and pass `F`, without the right to change anything.
    ///
    /// The matches are worked out each time: [`query_filtered`](Self::query_filtered) remembers
    /// them.
    pub fn query_ref_filtered<Q: ReadOnly, F: QueryFilter>(&self) -> Query<'_, Q, F> {
        let (window, directory) = (self.window(), &self.blocks.directory);
        Query::shared(&self.archetypes, &self.entities, directory, window, &self.registry)
    }

    /// Random access to some components of any entity.
    ///
    /// # Panics
    /// Panics if `Q` asks for a component twice, once of them to write.
    pub fn view<Q: QueryData>(&mut self) -> View<'_, Q> {
        self.next_version();
        let (window, directory) = (self.window(), &self.blocks.directory);
        let archetypes = self.archetypes.list();
        let plan = self.plans.view::<Q>(&mut self.registry, archetypes, directory);
        SourceRight::exclusive(&mut self.archetypes, &self.entities, directory, window).view(plan)
    }

    /// A query to keep, for [`WorldCell::query`](crate::WorldCell::query).
    ///
    /// If `Q` asks for a component twice, once of them to write, using the plan panics; its [access](QueryPlan::access)
    /// names the [clash](crate::Access::clash).
    pub fn plan<Q: QueryData>(&mut self) -> QueryPlan<Q> {
        self.plan_filtered()
    }

    /// [`plan`](Self::plan), with a filter.
    pub fn plan_filtered<Q: QueryData, F: QueryFilter>(&mut self) -> QueryPlan<Q, F> {
        QueryPlan::new(self.id, &mut self.registry)
    }

    /// Has a plan go on as one that was [asked last](QueryPlan::last_run) at this version, also if
    /// the world was restored since: for those who load a saved game.
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
    /// Panics if the plan is another world's.
    pub fn resume_plan<Q: QueryData, F: QueryFilter>(
        &self,
        plan: &mut QueryPlan<Q, F>,
        last_run: u64,
    ) {
        plan.extend(self.plan_source()).1.version = last_run;
    }

    /// A view to keep, for [`WorldCell::view`](crate::WorldCell::view).
    pub fn view_plan<Q: QueryData>(&mut self) -> ViewPlan<Q> {
        ViewPlan::new(self.id, &mut self.registry)
    }

    /// A view by claims to keep, for [`WorldCell::claims`](crate::WorldCell::claims).
    pub fn claim_plan<Q: QueryData>(&mut self) -> ExclusivePlan<Q> {
        ExclusivePlan::new(self.view_plan())
    }

    /// What a query gives for one entity. Short for `query::<Q>().into_get(entity)`.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match.
    ///
    /// # Panics
    /// Panics if `Q` asks for a component twice, once of them to write.
    pub fn query_one<Q: QueryData>(
        &mut self,
        entity: Entity,
    ) -> Result<Q::Item<'_>, QueryEntityError> {
        self.query::<Q>().into_get(entity)
    }
}
