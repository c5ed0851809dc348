//! Shared components: values that entities have in common, which lie together by value.

use alloc::vec::Vec;
use core::any::TypeId;

use super::World;
use super::change::NotInserted;
use crate::bundle::Bundle;
use crate::component::{ComponentId, SharedComponent};
use crate::entity::Entity;
use crate::error::{ComponentError, MissingComponent, NoSuchEntity};

impl World {
    /// Makes a type of shared values known. It is known anyway once an entity got such a value;
    /// [`restore`](Self::restore) asks for it in a world where none did.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(SharedComponent, Clone, Copy, PartialEq, Eq, Hash, Debug)]
    /// #[derive(bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Level(u32);
    ///
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.set_shared(imp, Level(3))?;
    /// let saved = world.snapshot()?;
    ///
    /// let mut other = World::new();
    /// other.register_shared::<Level>();
    /// other.restore(&saved)?;
    /// assert_eq!(other.shared::<Level>(imp)?, &Level(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_shared<T: SharedComponent>(&mut self) {
        self.registry.register_shared::<T>();
    }

    /// A new entity with these components and a shared value. It goes to the entities with an equal
    /// value at once, where [`spawn`](Self::spawn) and [`set_shared`](Self::set_shared) would move
    /// it there.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)]
    /// struct Level(u32);
    /// # #[derive(Component, Debug, PartialEq)] struct Gold(u32);
    ///
    /// let mut world = World::new();
    /// let imp = world.spawn_shared(Gold(5), Level(1));
    /// assert_eq!(world.shared::<Level>(imp), Ok(&Level(1)));
    /// assert_eq!(world.get(imp), Ok(&Gold(5)));
    /// ```
    ///
    /// # Panics
    /// Where the bundle has a component twice.
    pub fn spawn_shared<B: Bundle, T: SharedComponent>(&mut self, bundle: B, value: T) -> Entity {
        // `Hash` and `Eq` run in here, when nothing has changed yet.
        let (id, equal) = self.registry.intern(value);
        let entity = self.spawn_with_marker(bundle, id);
        // The value that was equal is dropped now, when all books are in order.
        drop(equal);
        entity
    }

    /// Gives an entity a shared value, in place of the one of this type that it had. A structural
    /// change, unless it had an equal value already; see [`SharedComponent`].
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)]
    /// struct Level(u32);
    ///
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.set_shared(imp, Level(1))?;
    /// world.set_shared(imp, Level(2))?; // takes the place of the other
    /// assert_eq!(world.shared::<Level>(imp)?, &Level(2));
    /// world.remove_shared::<Level>(imp)?;
    /// assert!(world.shared::<Level>(imp).is_err());
    /// world.collect_archetypes(); // nobody has the values now, not even an archetype
    /// assert_eq!(world.release_unused_shared(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world; the value is in the error.
    pub fn set_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<(), NotInserted<T>> {
        if !self.contains(entity) {
            return Err(NotInserted { entity, bundle: value });
        }
        // `Hash` and `Eq` run in here, when nothing has changed yet.
        let (id, equal) = self.registry.intern(value);
        let added = self.add_marker(entity, id);
        debug_assert!(added.is_ok(), "the entity was just seen to be there");
        // The value that was equal is dropped now, when all books are in order.
        drop(equal);
        Ok(())
    }

    /// Takes the shared value of this type from an entity. A structural change.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)] struct Level(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.set_shared(imp, Level(1))?;
    /// world.remove_shared::<Level>(imp)?;
    /// assert!(world.remove_shared::<Level>(imp).is_err(), "it has none");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world, or has no such value.
    pub fn remove_shared<T: SharedComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<(), ComponentError> {
        let id = self.shared_id::<T>(entity)?;
        let missing = MissingComponent { entity, component: T::name() };
        // A watcher may have been faster.
        self.remove_by_id(entity, id).map_err(|_| missing.into())
    }

    /// The shared value of this type that an entity has.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)] struct Level(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// assert!(world.shared::<Level>(imp).is_err());
    /// world.set_shared(imp, Level(1))?;
    /// assert_eq!(world.shared(imp), Ok(&Level(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world, or has no such value.
    pub fn shared<T: SharedComponent>(&self, entity: Entity) -> Result<&T, ComponentError> {
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let outer = self.archetypes.get(location.archetype).chunks.outer();
        let slot = outer.shared_slot(TypeId::of::<T>());
        let value = slot.and_then(|slot| outer.shared(slot));
        value.ok_or_else(|| MissingComponent { entity, component: T::name() }.into())
    }

    /// Frees the shared values that no archetype has any more; returns how many. Archetypes stay
    /// when their entities go, so this is of use after they were collected.
    ///
    /// Their ids are given to other values later on, so that observers of one of these ids
    /// ([`observe_by_id`](Self::observe_by_id)) go with the value.
    ///
    /// The values are dropped at the end: should a drop panic, the others are dropped all the same
    /// and everything is in order.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)] struct Level(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.set_shared(imp, Level(1))?;
    /// world.despawn(imp)?;
    /// assert_eq!(world.release_unused_shared(), 0, "its archetype still has it");
    /// world.collect_archetypes();
    /// assert_eq!(world.release_unused_shared(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release_unused_shared(&mut self) -> usize {
        let released = self.registry.release_unused_shared(|_| true);
        let hooks = &mut self.hooks;
        // The observers go with what they hold when they are dropped, after the values.
        let forgotten: Vec<_> = released.iter().map(|&(id, _)| hooks.forget(id)).collect();
        let count = released.len();
        drop((released, forgotten));
        count
    }

    /// The id of the shared value of this type that an entity has.
    fn shared_id<T: SharedComponent>(&self, entity: Entity) -> Result<ComponentId, ComponentError> {
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let of = Some(TypeId::of::<T>());
        let mut columns = self.archetypes.get(location.archetype).columns.iter();
        let column = columns.find(|column| column.info.shared_type() == of);
        let missing = || MissingComponent { entity, component: T::name() };
        Ok(column.ok_or_else(missing)?.info.id())
    }
}
