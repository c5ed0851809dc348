//! Structural changes: components come to and go from an entity, whose row moves.

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

/// The entity is not in the world; the components that it was to be given are handed back.
pub struct NotInserted<B> {
    /// The entity that is not there.
    pub entity: Entity,
    /// What it was to be given.
    pub bundle: B,
}

debug_fields!([B] NotInserted<B>: entity);

impl<B> fmt::Display for NotInserted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot insert components: {}", NoSuchEntity(self.entity))
    }
}

impl<B> core::error::Error for NotInserted<B> {}

/// One entity: its components come, go, and are switched on and off.
impl World {
    /// Gives components to an entity. Those it has already are replaced, and keep their enabled
    /// bit; those it did not have come enabled.
    ///
    /// The replaced values are dropped at the end: should a drop panic, the entity has the new
    /// components and everything is in order.
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
    /// Returns an error if the entity is not in the world; the components are in the error.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), NotInserted<B>> {
        self.insert_by(entity, bundle, B::into_parts)
            .map_err(|bundle| NotInserted { entity, bundle })
    }

    /// Gives a bundle to an entity, and tells of it; `into_parts` takes it apart. An error is the
    /// bundle, where there is no such entity.
    #[inline]
    pub(crate) fn insert_by<B, P: Parts>(
        &mut self,
        entity: Entity,
        bundle: B,
        into_parts: impl FnOnce(B) -> P,
    ) -> Result<(), B> {
        let Some(mut row) = self.moves().locate(entity) else { return Err(bundle) };
        if row.flags().any(ArchetypeFlags::REPLACE) {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Replacing(ids));
            // An observer may have moved it, or taken it away.
            match self.moves().locate(entity) {
                Some(now) => row = now,
                None => return Err(bundle),
            }
        }
        let from = row.archetype().id();
        if row.insert(into_parts(bundle)).any(ArchetypeFlags::ON_ADD) {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Given(ids, from));
        }
        Ok(())
    }

    /// Takes components from an entity and hands them over.
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
    /// Returns an error if the entity is not in the world, or lacks one of the components; nothing
    /// has changed then.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<B, ComponentError> {
        self.remove_parts(entity).map(B::from_parts)
    }

    #[inline]
    pub(crate) fn remove_parts<P: Parts>(&mut self, entity: Entity) -> Result<P, ComponentError> {
        let mut row = self.moves().locate(entity).ok_or(NoSuchEntity(entity))?;
        if row.flags().any(ArchetypeFlags::ON_REMOVE) && row.has::<P>() {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Removing(ids));
            // An observer may have moved it, or taken it away.
            row = self.moves().locate(entity).ok_or(NoSuchEntity(entity))?;
        }
        let (removed, flags) = row.remove::<P>()?;
        if flags.any(ArchetypeFlags::CLEANUP_PENDING) {
            self.finish_cleanup(entity);
        }
        Ok(removed)
    }

    /// Switches a component of an entity on or off; returns what it was. The entity stays where it
    /// is, and so does the value.
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

    /// Whether a component of an entity is switched on. One that cannot be switched always is.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or lacks the component.
    pub fn is_enabled<T: Component>(&self, entity: Entity) -> Result<bool, ComponentError> {
        let (archetype, address, column) = self.find::<T>(entity)?;
        Ok(archetype.is_enabled(address, column))
    }

    /// The components of an entity, by name, with whether each is enabled.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world.
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
