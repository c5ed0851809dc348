//! Commands beyond those on rows: closures, and what is built from them.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::deferred::{Deferred, NO_ENTITY, Outcome};
use super::payload::StoredCall;
use super::{Action, CommandBuffer};
use crate::bundle::{Bundle, mapped};
use crate::capacity::expected_of;
use crate::component::{Component, MapEntities};
use crate::entity::Entity;
use crate::query::QueryFilter;
use crate::world::World;

impl CommandBuffer {
    /// Calls a closure with the world, in its place among the commands: it sees what the commands
    /// before it have done, and those after it see what it has done. It can do everything that can
    /// be done to a world, also fill and play other buffers.
    ///
    /// Deferred entities that the closure captures stay deferred: hand them to
    /// [`run_with`](Self::run_with). Where only the world's state counts, so that the order of
    /// commands is of no use, a system does the same at less cost.
    ///
    /// Should it panic, what it has done stays, and the commands after it are dropped, see
    /// [`play`](Self::play). Playback panics where it exchanges the world for another.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Imp;
    /// struct Count(usize);
    ///
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.spawn(Imp);
    /// commands.run(|world| {
    ///     let count = world.query::<&Imp>().count();
    ///     world.insert_resource(Count(count));
    /// });
    /// commands.spawn(Imp);
    /// commands.play(&mut world);
    /// assert_eq!(world.resource::<Count>()?.0, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&mut self, call: impl FnOnce(&mut World) + Send + 'static) {
        self.record_call("run", NO_ENTITY, |world, _, _| {
            call(world);
            Ok(())
        });
    }

    /// Calls a closure as [`run`](Self::run) does, and hands it entities, or a value with entities
    /// in it, of which the deferred ones have been replaced by the real ones.
    ///
    /// An entity whose spawn comes later is not there yet.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Health(u32);
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// let imps = commands.spawn_batch((1..4).map(Health));
    /// commands.run_with(imps, |world, imps| {
    ///     let health: u32 = imps.iter().flat_map(|&imp| world.get::<Health>(imp)).map(|h| h.0).sum();
    ///     world.spawn(Health(health));
    /// });
    /// commands.play(&mut world);
    /// assert_eq!(world.query::<&Health>().map(|health| health.0).max(), Some(6));
    /// ```
    pub fn run_with<T: MapEntities + Send + 'static>(
        &mut self,
        mut entities: T,
        call: impl FnOnce(&mut World, T) + Send + 'static,
    ) {
        self.record_call("run", NO_ENTITY, move |world, _, deferred| {
            entities.map_entities(&mut |entity| deferred.resolve(entity));
            call(world, entities);
            Ok(())
        });
    }

    /// New entities, one for each bundle, as [`spawn`](Self::spawn) makes them. The iterator runs
    /// now; should it panic, those before are recorded.
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn) does.
    pub fn spawn_batch<B: Bundle>(&mut self, bundles: impl IntoIterator<Item = B>) -> Vec<Entity> {
        let bundles = bundles.into_iter();
        let mut spawned = Vec::with_capacity(expected_of(&bundles));
        bundles.for_each(|bundle| spawned.push(self.spawn(bundle)));
        spawned
    }

    /// Puts a resource into the world, and drops the one that it replaces. Deferred entities in it
    /// stay deferred: where it has any, [`run_with`](Self::run_with) does better.
    pub fn insert_resource<T: Send + Sync + 'static>(&mut self, value: T) {
        self.run(|world| drop(world.insert_resource(value)));
    }

    /// Takes a resource out of the world and drops it; nothing happens where there is none.
    pub fn remove_resource<T: Send + Sync + 'static>(&mut self) {
        self.run(|world| drop(world.remove_resource::<T>()));
    }

    /// Records a closure. `entity` is what it is about; it is called only where that entity is no
    /// deferred one of another buffer.
    pub(crate) fn record_call(
        &mut self,
        name: &'static str,
        entity: Entity,
        call: impl FnOnce(&mut World, Entity, &Deferred) -> Outcome + Send + 'static,
    ) {
        // A call in the arena has its record for sure.
        self.records.reserve(1);
        let call = StoredCall::store(name, call, &mut self.arena);
        self.record(entity, Action::Call(call));
    }
}

/// A command on all entities that pass a filter when it is played, made by
/// [`CommandBuffer::bulk`].
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone)] struct Position(f32);
/// # #[derive(Component, Clone)] struct Frozen;
/// # #[derive(Component)] #[component(enableable)] struct Awake;
/// let mut world = World::new();
/// world.spawn_batch((0..1000).map(|i| (Position(i as f32), Awake)));
///
/// let mut commands = CommandBuffer::new(&world);
/// commands.spawn((Position(0.0), Awake));
/// commands.bulk::<With<Awake>>().insert(Frozen); // the one above, too
/// commands.bulk::<With<Frozen>>().set_enabled::<Awake>(false);
/// commands.play(&mut world);
/// assert_eq!(world.query_filtered::<(), (With<Frozen>, Without<Awake>)>().count(), 1001);
/// ```
pub struct BulkCommands<'a, F: QueryFilter + 'static> {
    commands: &'a mut CommandBuffer,
    filter: PhantomData<fn() -> F>,
}

debug_fields!([F: QueryFilter + 'static] BulkCommands<'_, F>:);

impl CommandBuffer {
    /// All entities that pass a filter when the command is played, see
    /// [`World::bulk`](crate::World::bulk). One command, however many there will be.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Spark;
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.bulk::<With<Spark>>().despawn();
    /// world.spawn_batch((0..9).map(|_| Spark)); // after recording, before playing
    /// commands.play(&mut world);
    /// assert!(world.is_empty());
    /// ```
    pub fn bulk<F: QueryFilter + 'static>(&mut self) -> BulkCommands<'_, F> {
        BulkCommands { commands: self, filter: PhantomData }
    }
}

impl<F: QueryFilter + 'static> BulkCommands<'_, F> {
    /// Gives each entity clones of these components, see [`Bulk::insert`](crate::Bulk::insert).
    /// Deferred entities in them are replaced.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Spark;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Heat(u32);
    /// let mut world = World::new();
    /// let spark = world.spawn(Spark);
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.bulk::<With<Spark>>().insert(Heat(9));
    /// commands.play(&mut world);
    /// assert_eq!(world.get(spark), Ok(&Heat(9)));
    /// ```
    pub fn insert<B: Bundle + Clone>(self, bundle: B) {
        self.commands.record_call("bulk insert", NO_ENTITY, move |world, _, deferred| {
            let bundle = mapped(bundle, &mut |entity| deferred.resolve(entity));
            world.bulk::<F>().insert(bundle);
            Ok(())
        });
    }

    /// Takes components from each entity that has all of them, see
    /// [`Bulk::remove`](crate::Bulk::remove).
    pub fn remove<B: Bundle>(self) {
        self.commands.run(|world| _ = world.bulk::<F>().remove::<B>());
    }

    /// Takes each entity out of the world, see [`Bulk::despawn`](crate::Bulk::despawn).
    pub fn despawn(self) {
        self.commands.run(|world| _ = world.bulk::<F>().despawn());
    }

    /// Switches a component on or off in each entity that has it, see
    /// [`Bulk::set_enabled`](crate::Bulk::set_enabled).
    ///
    /// Does not compile where the component is not declared enableable.
    pub fn set_enabled<T: Component>(self, enabled: bool) {
        self.commands.run(move |world| _ = world.bulk::<F>().set_enabled::<T>(enabled));
    }
}
