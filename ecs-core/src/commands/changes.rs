//! Commands beyond those on rows: closures, and what is built from them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::call::{Outcome, StoredCall};
use super::deferred::{Deferred, NOBODY};
use super::{Action, CommandBuffer};
use crate::bundle::Bundle;
use crate::capacity::expected_of;
use crate::component::{ComponentId, MapEntities};
use crate::entity::Entity;
use crate::error::{ByIdError, CommandFailureReason, InstantiateError, RelationError};
use crate::relation::Relation;
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
        self.record_call("run", NOBODY, |world, _, _| {
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
        self.record_call("run", NOBODY, move |world, _, deferred| {
            entities.map_entities(&mut |entity| deferred.resolve(entity));
            call(world, entities);
            Ok(())
        });
    }

    /// New entities, one for each bundle, as [`spawn`](Self::spawn) makes them. The iterator runs
    /// now; should it panic, those before are recorded.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Seat(u32);
    /// # #[derive(Component)] struct Guest(#[component(entity)] Entity);
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// let seats = commands.spawn_batch((0..100).map(Seat));
    /// commands.spawn_batch(seats.into_iter().map(Guest));
    /// assert_eq!(commands.play(&mut world).applied_count(), 200);
    /// ```
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn) does.
    pub fn spawn_batch<B: Bundle>(&mut self, bundles: impl IntoIterator<Item = B>) -> Vec<Entity> {
        let bundles = bundles.into_iter();
        let mut spawned = Vec::with_capacity(expected_of(&bundles));
        bundles.for_each(|bundle| spawned.push(self.spawn(bundle)));
        spawned
    }

    /// Makes copies of an entity, as [`World::instantiate`] does.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::Prefab;
    /// # #[derive(Component, Clone)] struct Imp;
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// let prefab = commands.spawn((Prefab, Imp));
    /// commands.instantiate(prefab, 3);
    /// commands.play(&mut world);
    /// assert_eq!(world.query::<&Imp>().count(), 3);
    /// ```
    pub fn instantiate(&mut self, prefab: Entity, count: usize) {
        self.record_call("instantiate", prefab, move |world, prefab, _| {
            world.instantiate(prefab, count).map(drop).map_err(instantiate_reason)
        });
    }

    /// Makes copies of an entity and gives each the bundle that the closure makes for it, as
    /// [`World::instantiate_with`] does. Deferred entities in the bundles are replaced.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone)] struct Guest;
    /// # #[derive(Component, Clone)] struct Seat(#[component(entity)] Entity);
    /// let mut world = World::new();
    /// let guest = world.spawn(Guest);
    /// let mut commands = CommandBuffer::new(&world);
    /// let seats = commands.spawn_batch([(), (), ()]);
    /// commands.instantiate_with(guest, 3, move |index| Seat(seats[index]));
    /// commands.play(&mut world);
    /// assert!(world.query::<&Seat>().map(|seat| seat.0).all(|seat| !seat.is_deferred()));
    /// ```
    pub fn instantiate_with<B: Bundle>(
        &mut self,
        prefab: Entity,
        count: usize,
        mut bundle: impl FnMut(usize) -> B + Send + 'static,
    ) {
        self.record_call("instantiate", prefab, move |world, prefab, deferred| {
            let bundle = |index| {
                let mut bundle = bundle(index);
                bundle.map_entities(&mut |entity| deferred.resolve(entity));
                bundle
            };
            world.instantiate_with(prefab, count, bundle).map(drop).map_err(instantiate_reason)
        });
    }

    /// Puts a resource into the world, and drops the one that it replaces. Deferred entities in it
    /// stay deferred: where it has any, [`run_with`](Self::run_with) does better.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// struct Score(u32);
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.insert_resource(Score(7));
    /// commands.play(&mut world);
    /// assert_eq!(world.resource::<Score>()?.0, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_resource<T: Send + Sync + 'static>(&mut self, value: T) {
        self.run(|world| drop(world.insert_resource(value)));
    }

    /// Takes a resource out of the world and drops it; nothing happens where there is none.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// let mut world = World::new();
    /// world.insert_resource(7_u32);
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.remove_resource::<u32>();
    /// commands.play(&mut world);
    /// assert!(world.resource::<u32>().is_err());
    /// ```
    pub fn remove_resource<T: Send + Sync + 'static>(&mut self) {
        self.run(|world| drop(world.remove_resource::<T>()));
    }

    /// Gives an entity a component of plain bytes, as [`World::insert_by_id`] does. Bytes are bytes:
    /// a deferred entity among them is not found.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ComponentDescriptor;
    ///
    /// let mut world = World::new();
    /// let gold = ComponentDescriptor::bytes("gold", Layout::new::<u16>());
    /// let gold = world.register_dynamic(gold)?;
    /// let mut commands = CommandBuffer::new(&world);
    /// let imp = commands.spawn(());
    /// commands.insert_by_id(imp, gold, &300_u16.to_ne_bytes());
    /// commands.insert_by_id(imp, gold, &[1, 2, 3]);
    /// let playback = commands.play(&mut world);
    /// assert_eq!(playback.applied_count(), 2);
    /// assert!(playback.failures()[0].to_string().ends_with("a value has 2 bytes, not 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_by_id(&mut self, entity: Entity, id: ComponentId, bytes: &[u8]) {
        let bytes: Box<[u8]> = bytes.into();
        self.record_call("insert_by_id", entity, move |world, entity, _| {
            world.insert_by_id(entity, id, &bytes).map_err(|error| by_id_reason(&error, id))
        });
    }

    /// Takes a component of any kind from an entity and drops it, as [`World::remove_by_id`] does.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let gold = world.register::<Gold>();
    /// let purse = world.spawn(Gold(3));
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.remove_by_id(purse, gold);
    /// commands.play(&mut world);
    /// assert!(!world.has::<Gold>(purse));
    /// ```
    pub fn remove_by_id(&mut self, entity: Entity, id: ComponentId) {
        self.record_call("remove_by_id", entity, move |world, entity, _| {
            world.remove_by_id(entity, id).map_err(|error| by_id_reason(&error, id))
        });
    }

    /// Relates an entity to another, as [`World::relate`] does.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// struct Likes;
    /// impl formic_ecs::Relation for Likes {}
    ///
    /// let mut world = World::new();
    /// let ada = world.spawn(());
    /// let mut commands = CommandBuffer::new(&world);
    /// let bob = commands.spawn(());
    /// commands.relate::<Likes>(ada, bob);
    /// commands.play(&mut world);
    /// assert_eq!(world.targets::<Likes>(ada).len(), 1);
    /// ```
    pub fn relate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("relate", source, move |world, source, deferred| {
            let target = deferred.resolve(target);
            let related = world.relate::<R>(source, target);
            related.map(drop).map_err(|error| relation_reason(error, source))
        });
    }

    /// Ends the relation of an entity to another, as [`World::unrelate`] does; nothing happens where
    /// there is none.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// struct Likes;
    /// impl formic_ecs::Relation for Likes {}
    ///
    /// let mut world = World::new();
    /// let [ada, bob] = [world.spawn(()), world.spawn(())];
    /// world.relate::<Likes>(ada, bob)?;
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.unrelate::<Likes>(ada, bob);
    /// commands.play(&mut world);
    /// assert!(world.targets::<Likes>(ada).is_empty());
    /// # Ok::<(), formic_ecs::RelationError>(())
    /// ```
    pub fn unrelate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("unrelate", source, move |world, source, deferred| {
            let ended = world.unrelate::<R>(source, deferred.resolve(target));
            ended.map(drop).map_err(|error| relation_reason(error.into(), source))
        });
    }

    /// Makes an entity the child of another, or of none, as [`World::set_parent`] does.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// let mut world = World::new();
    /// let house = world.spawn(());
    /// let mut commands = CommandBuffer::new(&world);
    /// let room = commands.spawn(());
    /// commands.set_parent(room, house);
    /// commands.set_parent(house, room); // a circle
    /// let playback = commands.play(&mut world);
    /// assert_eq!(playback.failures().len(), 1);
    /// assert_eq!(world.children(house).len(), 1);
    /// ```
    pub fn set_parent(&mut self, child: Entity, parent: impl Into<Option<Entity>>) {
        let parent = parent.into();
        self.record_call("set_parent", child, move |world, child, deferred| {
            let parent = parent.map(|parent| deferred.resolve(parent));
            world.set_parent(child, parent).map_err(|error| relation_reason(error, child))
        });
    }

    /// Records a closure. `entity` is what it is about; it is called only where that entity is no
    /// deferred one of another buffer.
    pub(super) fn record_call(
        &mut self,
        name: &'static str,
        entity: Entity,
        call: impl FnOnce(&mut World, Entity, &Deferred) -> Outcome + Send + 'static,
    ) {
        let number = self.calls.push(StoredCall::new(name, call));
        self.record(entity, Action::Call(number));
    }
}

fn instantiate_reason(error: InstantiateError) -> CommandFailureReason {
    match error {
        InstantiateError::NoSuchEntity(_) => CommandFailureReason::NoSuchEntity,
        InstantiateError::NotClone { component } => {
            let name = component.as_static().unwrap_or("a component without a type");
            CommandFailureReason::NotClone(name)
        }
    }
}

fn relation_reason(error: RelationError, source: Entity) -> CommandFailureReason {
    match error {
        RelationError::NoSuchEntity(missing) if missing.0 == source => {
            CommandFailureReason::NoSuchEntity
        }
        RelationError::NoSuchEntity(missing) if missing.0.is_deferred() => {
            CommandFailureReason::ForeignDeferred
        }
        RelationError::NoSuchEntity(missing) => CommandFailureReason::NoSuchTarget(missing.0),
        RelationError::Circle { target, .. } => CommandFailureReason::Circle(target),
    }
}

fn by_id_reason(error: &ByIdError, id: ComponentId) -> CommandFailureReason {
    let index = id.index();
    match *error {
        ByIdError::NoSuchEntity(_) => CommandFailureReason::NoSuchEntity,
        ByIdError::Unknown(unknown) => CommandFailureReason::UnknownComponent(unknown),
        ByIdError::Missing { .. } => CommandFailureReason::MissingId { index },
        ByIdError::WrongLength { expected, given, .. } => {
            CommandFailureReason::WrongLength { index, expected, given }
        }
        ByIdError::Managed(_) => CommandFailureReason::ManagedId { index },
        ByIdError::NotBytes(_) | ByIdError::NotEnableable(_) | ByIdError::Twice(_) => {
            CommandFailureReason::NotBytes { index }
        }
    }
}
