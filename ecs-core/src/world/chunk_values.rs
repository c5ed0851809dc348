//! Chunk components: values that a chunk has once, for all its rows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::TypeId;

use super::World;
use crate::archetype::ArchetypeId;
use crate::component::{ChunkComponent, OwnedAny};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{ComponentError, MissingComponent, NoSuchEntity};
use crate::query::{Chunk, QueryData, WithChunkValue};

impl World {
    /// Makes a chunk component known. It is known anyway once a chunk got it;
    /// [`restore`](Self::restore) asks for it in a world where none did.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(ChunkComponent, Clone, Copy, Default, PartialEq, Debug)]
    /// #[derive(bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Reach(u32);
    ///
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.add_chunk_component::<Reach>(imp)?;
    /// world.chunk_value_mut::<Reach>(imp)?.0 = 7;
    /// let saved = world.snapshot()?;
    ///
    /// let mut other = World::new();
    /// other.register_chunk_component::<Reach>();
    /// other.restore(&saved)?;
    /// assert_eq!(other.chunk_value::<Reach>(imp)?, &Reach(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_chunk_component<T: ChunkComponent>(&mut self) {
        self.registry.register_chunk::<T>();
    }

    /// Lets the chunk of an entity have a value of this type. A structural change, unless it has
    /// one already: `true` then. See [`ChunkComponent`].
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(ChunkComponent, Default, Debug, PartialEq)]
    /// struct Reach(u32);
    ///
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.add_chunk_component::<Reach>(imp)?;
    /// assert_eq!(world.chunk_value::<Reach>(imp)?, &Reach(0), "the default");
    /// world.chunk_value_mut::<Reach>(imp)?.0 = 7;
    /// assert_eq!(world.chunk_value::<Reach>(imp)?, &Reach(7));
    /// world.remove_chunk_component::<Reach>(imp)?;
    /// assert!(world.chunk_value::<Reach>(imp).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world.
    pub fn add_chunk_component<T: ChunkComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<bool, NoSuchEntity> {
        if !self.contains(entity) {
            return Err(NoSuchEntity(entity));
        }
        let id = self.registry.register_chunk::<T>();
        self.add_marker(entity, id)
    }

    /// Moves an entity to where chunks have no value of this type. A structural change.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(ChunkComponent, Default, Debug, PartialEq)] struct Reach(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.add_chunk_component::<Reach>(imp)?;
    /// world.remove_chunk_component::<Reach>(imp)?;
    /// assert!(world.chunk_value::<Reach>(imp).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world, or its chunk has no such value.
    pub fn remove_chunk_component<T: ChunkComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<(), ComponentError> {
        self.find_chunk_value::<T>(entity)?;
        let missing = MissingComponent { entity, component: T::name() };
        let id = self.registry.chunk_id::<T>().ok_or(missing)?;
        // A watcher may have been faster.
        self.remove_by_id(entity, id).map_err(|_| missing.into())
    }

    /// The value of this type of the chunk that an entity is in: what was set, or the default.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(ChunkComponent, Default, Debug, PartialEq)] struct Reach(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// world.add_chunk_component::<Reach>(imp)?;
    /// assert_eq!(world.chunk_value(imp), Ok(&Reach(0)), "the default");
    /// # Ok::<(), formic_ecs::NoSuchEntity>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world, or its chunk has no such value.
    pub fn chunk_value<T: ChunkComponent>(&self, entity: Entity) -> Result<&T, ComponentError> {
        let (location, slot) = self.find_chunk_value::<T>(entity)?;
        let outer = self.archetypes.get(location.archetype).chunks.outer();
        let value = outer.chunk_value(slot, location.address.chunk);
        value.ok_or_else(|| MissingComponent { entity, component: T::name() }.into())
    }

    /// The value of this type of the chunk that an entity is in, to be written. No structural
    /// change; all entities of the chunk see it.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(ChunkComponent, Default, Debug, PartialEq)] struct Reach(u32);
    /// let mut world = World::new();
    /// let [imp, other] = [world.spawn(()), world.spawn(())];
    /// world.add_chunk_component::<Reach>(imp)?;
    /// world.add_chunk_component::<Reach>(other)?;
    /// world.chunk_value_mut::<Reach>(imp)?.0 = 7;
    /// assert_eq!(world.chunk_value(other), Ok(&Reach(7)), "it is in the same chunk");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world, or its chunk has no such value.
    pub fn chunk_value_mut<T: ChunkComponent>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, ComponentError> {
        let (location, slot) = self.find_chunk_value::<T>(entity)?;
        let outer = self.archetypes.get_mut(location.archetype).chunks.outer_mut();
        let value = outer.chunk_values_mut(slot).get_mut(location.address.chunk);
        let missing = || MissingComponent { entity, component: T::name() };
        Ok(value.and_then(written).ok_or_else(missing)?)
    }

    /// Works out the value of each chunk that has one of type `T`: calls `update` with the value
    /// and the rows that match `Q`. Chunks without such rows keep theirs.
    ///
    /// The value is what it was the last time; begin by resetting it where it is to be worked out
    /// anew. Should `update` panic, the chunks have what it had written by then.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Weight(u32);
    /// # #[derive(ChunkComponent, Default, Debug, PartialEq)] struct Load(u32);
    /// let mut world = World::new();
    /// let crates = world.spawn_batch((1..4).map(Weight));
    /// for &it in &crates {
    ///     world.add_chunk_component::<Load>(it)?;
    /// }
    /// world.update_chunk_values::<Load, &Weight>(|load, weights| {
    ///     load.0 = weights.into_iter().map(|weight| weight.0).sum();
    /// });
    /// assert_eq!(world.chunk_value(crates[0]), Ok(&Load(6)));
    /// # Ok::<(), formic_ecs::NoSuchEntity>(())
    /// ```
    ///
    /// # Panics
    /// Where `Q` asks for a component twice, once of them to write.
    pub fn update_chunk_values<T: ChunkComponent, Q: QueryData>(
        &mut self,
        mut update: impl FnMut(&mut T, Chunk<'_, Q>),
    ) {
        let mut lifted = LiftedValues::of::<T>(self);
        let LiftedValues { world, columns } = &mut lifted;
        let query = world.query_filtered::<Q, WithChunkValue<T>>();
        let mut next = 0;
        query.chunks_at(
            |_, _| true,
            |archetype, chunk, rows| {
                // Both lists are in the order of the archetypes.
                while columns.get(next).is_some_and(|column| column.archetype.index() < archetype) {
                    next += 1;
                }
                let values = columns.get_mut(next).map(|column| &mut column.values);
                let value = values.and_then(|values| values.get_mut(chunk)).and_then(written);
                update(value.expect("every archetype that matches has a column"), rows);
            },
        );
    }

    /// Where an entity is, and where its archetype keeps the chunk values of this type.
    fn find_chunk_value<T: ChunkComponent>(
        &self,
        entity: Entity,
    ) -> Result<(Location, usize), ComponentError> {
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let outer = self.archetypes.get(location.archetype).chunks.outer();
        let missing = || MissingComponent { entity, component: T::name() };
        Ok((location, outer.chunk_slot(TypeId::of::<T>()).ok_or_else(missing)?))
    }
}

/// The value in this place, to be written; the default where there was none.
fn written<T: ChunkComponent>(place: &mut Option<OwnedAny>) -> Option<&mut T> {
    place.get_or_insert_with(|| Box::new(T::default())).downcast_mut()
}

/// The values of one type of all chunks, out of their places so that they can be written while a
/// query runs; put back when this is dropped.
struct LiftedValues<'w> {
    world: &'w mut World,
    /// In the order of the archetypes.
    columns: Vec<LiftedColumn>,
}

struct LiftedColumn {
    archetype: ArchetypeId,
    slot: usize,
    values: Vec<Option<OwnedAny>>,
}

impl<'w> LiftedValues<'w> {
    fn of<T: ChunkComponent>(world: &'w mut World) -> Self {
        let mut lifted = Self { world, columns: Vec::new() };
        let Self { world, columns } = &mut lifted;
        for archetype in world.archetypes.list_mut() {
            let outer = archetype.chunks.outer_mut();
            let Some(slot) = outer.chunk_slot(TypeId::of::<T>()) else { continue };
            let values = core::mem::take(outer.chunk_values_mut(slot));
            columns.push(LiftedColumn { archetype: archetype.id(), slot, values });
        }
        lifted
    }
}

impl Drop for LiftedValues<'_> {
    fn drop(&mut self) {
        for LiftedColumn { archetype, slot, values } in self.columns.drain(..) {
            let outer = self.world.archetypes.get_mut(archetype).chunks.outer_mut();
            *outer.chunk_values_mut(slot) = values;
        }
    }
}
