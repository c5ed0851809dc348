//! Looking at components and writing them, one entity at a time or by query.
#![expect(unsafe_code, reason = "turns the borrow of the world into the right that a query needs")]

use super::World;
use crate::component::Component;
use crate::entity::Entity;
use crate::error::{ComponentError, MissingComponent, NoSuchEntity, QueryEntityError};
use crate::query::{
    ClaimPlan, Query, QueryData, QueryFilter, QueryPlan, ReadOnly, View, ViewPlan, matches_once,
};

impl World {
    /// Whether the entity has the component, enabled or not. `false` for an entity that is gone.
    #[must_use]
    pub fn has<T: Component>(&self, entity: Entity) -> bool {
        let component = self.registry.get::<T>();
        let archetype = self.locate(entity).map(|location| self.archetypes.get(location.archetype));
        component.zip(archetype).is_some_and(|(id, archetype)| archetype.components().contains(id))
    }

    /// A component of an entity, enabled or not.
    ///
    /// # Errors
    /// Where the entity is not in the world, or lacks the component.
    pub fn get<T: Component>(&self, entity: Entity) -> Result<&T, ComponentError> {
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(location.archetype);
        let column = self.registry.get::<T>().and_then(|id| archetype.column_of(id));
        let column = column.ok_or_else(|| MissingComponent { entity, component: T::name() })?;
        let value = archetype.chunks.row(location.address, column).cast::<T>();
        // SAFETY: a row of a column that holds values of T (I-9), initialised (I-2); the world is
        // borrowed shared for as long as the reference lives.
        Ok(unsafe { value.as_ref() })
    }

    /// A component of an entity, enabled or not, to be written.
    ///
    /// # Errors
    /// Where the entity is not in the world, or lacks the component.
    pub fn get_mut<T: Component>(&mut self, entity: Entity) -> Result<&mut T, ComponentError> {
        const { assert!(!T::MANAGED, "this component is the world's to change") };
        self.value_mut(entity)
    }

    /// A component of an entity, also one that only the world changes.
    #[inline]
    pub(super) fn value_mut<T: Component>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, ComponentError> {
        self.next_version();
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(location.archetype);
        let column = self.registry.get::<T>().and_then(|id| archetype.column_of(id));
        let column = column.ok_or_else(|| MissingComponent { entity, component: T::name() })?;
        archetype.mark_changed(location.address, column, self.moment());
        let mut value = archetype.chunks.row(location.address, column).cast::<T>();
        // SAFETY: a row of a column that holds values of T (I-9), initialised (I-2); the world is
        // borrowed exclusively for as long as the reference lives.
        Ok(unsafe { value.as_mut() })
    }

    /// All entities that have what `Q` asks for.
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn query<Q: QueryData>(&mut self) -> Query<'_, Q> {
        self.query_filtered::<Q, ()>()
    }

    /// All entities that have what `Q` asks for and pass `F`.
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn query_filtered<Q: QueryData, F: QueryFilter>(&mut self) -> Query<'_, Q, F> {
        self.next_version();
        let moment = self.moment();
        let archetypes = self.archetypes.list();
        let matches = self.plans.matches::<Q, F>(&mut self.registry, archetypes);
        let source = crate::query::Source {
            archetypes,
            entities: &self.entities,
            directory: &self.blocks.directory,
            moment,
        };
        // SAFETY: the world is borrowed exclusively for as long as the query lives; the cache holds
        // the plan of this very query, just extended (I-8).
        unsafe { Query::planned(source, matches) }
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
        let matches = matches_once::<Q, F>(&self.registry, self.archetypes.list());
        // SAFETY: `Q` only reads, and the world is borrowed shared for as long as the query lives;
        // the matches were just worked out (I-8).
        unsafe { Query::once(self.source(), matches) }
    }

    /// Random access to some components of any entity.
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn view<Q: QueryData>(&mut self) -> View<'_, Q> {
        // A plan checks that Q does not contradict itself.
        let plan = self.view_plan::<Q>();
        self.next_version();
        // SAFETY: the world is borrowed exclusively for as long as the view lives.
        unsafe { View::once(self.source(), plan) }
    }

    /// A query to keep, for [`WorldCell::query`](crate::WorldCell::query).
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn plan<Q: QueryData, F: QueryFilter>(&mut self) -> QueryPlan<Q, F> {
        QueryPlan::new(self.id, &mut self.registry)
    }

    /// A view to keep, for [`WorldCell::view`](crate::WorldCell::view).
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn view_plan<Q: QueryData>(&mut self) -> ViewPlan<Q> {
        ViewPlan::new(self.id, &mut self.registry)
    }

    /// A view by claims to keep, for [`WorldCell::claims`](crate::WorldCell::claims).
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn claim_plan<Q: QueryData>(&mut self) -> ClaimPlan<Q> {
        ClaimPlan { view: self.view_plan(), flags: crate::query::ClaimFlags::default() }
    }

    /// What a query gives for one entity. Short for `query::<Q>().into_get(entity)`.
    ///
    /// # Errors
    /// Where the entity is not in the world, or does not match.
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn query_one<Q: QueryData>(
        &mut self,
        entity: Entity,
    ) -> Result<Q::Item<'_>, QueryEntityError> {
        self.query::<Q>().into_get(entity)
    }
}
