//! Structural changes: adding components to an entity and removing them, which moves its row.

use alloc::vec::Vec;
use core::fmt;

use super::World;
use super::lifecycle::Lifecycle;
use crate::bundle::{Bundle, Parts};
use crate::component::{ArchetypeFlags, Component};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{ComponentError, NoSuchEntity};
use crate::name::Name;

/// An error: the entity is not in the world. It returns the components that were to be inserted.
pub struct NotInserted<B> {
    /// The entity that does not exist.
    pub entity: Entity,
    /// The components that were to be inserted.
    pub bundle: B,
}

debug_fields!([B] NotInserted<B>: entity);

impl<B> fmt::Display for NotInserted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot insert components: {}", NoSuchEntity(self.entity))
    }
}

impl<B> core::error::Error for NotInserted<B> {}

/// One entity: inserting, removing, enabling and disabling its components.
impl World {
    /// Adds components to an entity. A component that it already has is replaced, and keeps its enabled
    /// bit; a new one starts enabled.
    ///
    /// The replaced values are dropped last. If a drop panics, the entity has the new components and the
    /// world is consistent.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// # #[derive(Component)] struct Depth(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(Gold(5));
    /// world.insert(imp, (Gold(6), Depth(1)))?;
    /// assert_eq!(world.get(imp), Ok(&Gold(6)));
    ///
    /// // Where the entity is gone, what was to be inserted comes back.
    /// world.despawn(imp).expect("alive");
    /// let Err(refused) = world.insert(imp, Gold(7)) else { panic!("the entity is alive") };
    /// assert_eq!(refused.bundle, Gold(7));
    /// # Ok::<(), formic_ecs::NotInserted<(Gold, Depth)>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`NotInserted`], which contains the components, if the entity is not in the world.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    #[doc(alias("insert_one", "entity_mut"))]
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), NotInserted<B>> {
        self.insert_by(entity, bundle, B::into_parts)
            .map_err(|bundle| NotInserted { entity, bundle })
    }

    /// Adds a bundle to an entity, and triggers hooks and observers; `into_parts` takes the bundle apart.
    /// The error contains the bundle, if there is no such entity.
    #[inline]
    pub(crate) fn insert_by<B, P: Parts>(
        &mut self,
        entity: Entity,
        bundle: B,
        into_parts: impl FnOnce(B) -> P,
    ) -> Result<(), B> {
        let Some(mut row) = self.moves().locate(entity) else { return Err(bundle) };
        if row.flags().any(ArchetypeFlags::REPLACE) {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Inserting(ids));
            // An observer may have moved or despawned the entity.
            match self.moves().locate(entity) {
                Some(now) => row = now,
                None => return Err(bundle),
            }
        }
        let from = row.archetype().id();
        if row.insert(into_parts(bundle)).any(ArchetypeFlags::ON_ADD) {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Inserted(ids, from));
        }
        Ok(())
    }

    /// Removes components from an entity and returns them.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// # #[derive(Component, Debug, PartialEq)] struct Depth(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn((Gold(5), Depth(1)));
    /// assert_eq!(world.remove::<Gold>(imp)?, Gold(5));
    /// // All of a bundle or nothing.
    /// assert!(world.remove::<(Gold, Depth)>(imp).is_err());
    /// assert!(world.has::<Depth>(imp));
    /// # Ok::<(), formic_ecs::ComponentError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the entity is not in the world, or lacks one of the
    /// components.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    #[doc(alias("remove_one", "exchange"))]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<B, ComponentError> {
        self.remove_parts(entity).map(B::from_parts)
    }

    #[inline]
    pub(crate) fn remove_parts<P: Parts>(&mut self, entity: Entity) -> Result<P, ComponentError> {
        let mut row = self.moves().locate(entity).ok_or(NoSuchEntity(entity))?;
        if row.flags().any(ArchetypeFlags::ON_REMOVE) && row.has::<P>() {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Removing(ids));
            // An observer may have moved or despawned the entity.
            row = self.moves().locate(entity).ok_or(NoSuchEntity(entity))?;
        }
        let (removed, flags) = row.remove::<P>()?;
        if flags.any(ArchetypeFlags::CLEANUP_DONE) {
            self.finish_cleanup(entity);
        }
        Ok(removed)
    }

    /// Enables or disables a component of an entity, and returns whether it was enabled. Neither the
    /// entity nor the value moves.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or lacks the component, or the component
    /// is not declared enableable.
    pub fn set_enabled<T: Component>(
        &mut self,
        entity: Entity,
        enabled: bool,
    ) -> Result<bool, ComponentError> {
        let (archetype, address, column) = self.find::<T>(entity)?;
        let not_enableable = ComponentError::NotEnableable { component: T::name() };
        Ok(archetype.enabled_bit(address, column).ok_or(not_enableable)?.set(enabled))
    }

    /// Whether a component of an entity is enabled. A component that is not enableable always is.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or lacks the component.
    pub fn is_enabled<T: Component>(&self, entity: Entity) -> Result<bool, ComponentError> {
        let (archetype, address, column) = self.find::<T>(entity)?;
        Ok(archetype.is_enabled(address, column))
    }

    /// Returns the names of an entity's components, each with whether it is enabled.
    ///
    /// # Errors
    /// Returns [`NoSuchEntity`] if the entity is not in the world.
    pub fn components_of(&self, entity: Entity) -> Result<Vec<(Name, bool)>, NoSuchEntity> {
        let Location { archetype, address, .. } =
            self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(archetype);
        let columns = archetype.columns.iter().enumerate();
        Ok(columns
            .map(|(index, column)| (column.info.name.clone(), archetype.is_enabled(address, index)))
            .collect())
    }
}
