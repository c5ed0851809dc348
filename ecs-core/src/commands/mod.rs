//! Command buffers: structural changes that are written down now and made later.

mod deferred;
mod payload;
mod playback;
mod runs;
mod stream;

use alloc::vec::Vec;
use core::marker::PhantomData;

use deferred::{Deferred, NO_ENTITY, Outcome};
use payload::{Arena, BundleFns, Payload, StoredCall};

use crate::bundle::{Bundle, mapped};
use crate::component::{Component, MapEntities};
use crate::entity::Entity;
use crate::query::QueryFilter;
use crate::user_code::expected_of;
use crate::user_code::finish;
use crate::world::World;

pub use playback::Playback;

/// Structural changes, recorded now and made when the buffer is played back.
///
/// Each command carries the sort key that was set when it was recorded. Playback goes by sort key,
/// and by the order of recording inside one key.
///
/// A buffer that is dropped unplayed drops what it holds.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Spark(f32);
/// # #[derive(Component, Clone, Copy, PartialEq, Debug)] struct Target(#[component(entity)] Entity);
/// let mut world = World::new();
/// let agent = world.spawn(());
///
/// let mut commands = CommandBuffer::new(&world);
/// let spark = commands.spawn(Spark(3.0)); // known now, there after playback
/// commands.insert(agent, Target(spark)); // refers to the real one by then
/// let playback = commands.play(&mut world);
/// assert!(playback.failures().is_empty());
///
/// let target = *world.get::<Target>(agent)?;
/// assert_eq!(world.get::<Spark>(target.0)?.0, 3.0);
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
///
/// # Several threads
///
/// To record takes `&mut CommandBuffer`, so each thread has a buffer of its own, and
/// [`play_all`](Self::play_all) plays them as one. Which thread did which piece of the work must not
/// show in the world; it does not where each piece has a sort key that depends on the work alone,
/// the number of a chunk say, and no two pieces share one. Inside a key the commands are then those
/// of one piece, in the order in which it recorded them. A deferred entity is known to the buffer
/// that deferred it: what another one is to be told about it goes through components or
/// [`append`](Self::append).
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Spark(usize);
/// /// Each thread takes every `count`-th piece of the work.
/// fn sparks(count: usize) -> Vec<usize> {
///     let mut world = World::new();
///     let mut buffers: Vec<_> = (0..count).map(|_| CommandBuffer::new(&world)).collect();
///     std::thread::scope(|scope| {
///         for (thread, commands) in buffers.iter_mut().enumerate() {
///             scope.spawn(move || {
///                 for piece in (thread..8).step_by(count) {
///                     commands.set_sort_key(piece as u64);
///                     commands.spawn(Spark(piece));
///                     commands.spawn(Spark(piece * 10));
///                 }
///             });
///         }
///     });
///     CommandBuffer::play_all(&mut buffers, &mut world);
///     world.query::<&Spark>().map(|spark| spark.0).collect()
/// }
/// assert_eq!(sparks(1), sparks(3));
/// ```
pub struct CommandBuffer {
    world: u64,
    sort_key: u64,
    /// Whether the keys of the records never go down.
    is_sorted: bool,
    records: Vec<Record>,
    /// The payload of each record that has one; it is dropped or moved out by way of the record
    /// (C-1).
    arena: Arena,
    deferred: Deferred,
    /// Memory for playback.
    places: Vec<stream::Place>,
}

/// One command.
#[derive(Debug)]
struct Record {
    sort_key: u64,
    /// What it is about; for a spawn, the deferred handle.
    entity: Entity,
    action: Action<Payload>,
}

type SetEnabledFn = fn(&mut World, Entity, bool) -> Outcome;

fn set_enabled<T: Component>(world: &mut World, entity: Entity, enabled: bool) -> Outcome {
    world.set_enabled::<T>(entity, enabled).map(drop).map_err(Into::into)
}

/// What a command does, with bundles as `P`.
#[derive(Debug)]
enum Action<P> {
    Spawn(P),
    Insert(P),
    Remove(&'static BundleFns),
    SetEnabled(SetEnabledFn, bool),
    Despawn,
    Call(StoredCall),
    /// It has been taken.
    Taken,
}

const _: () = assert!(size_of::<Record>() == 32, "two to a cache line");

debug_fields!([] CommandBuffer:; commands = |it| it.records.len());

impl CommandBuffer {
    /// An empty buffer for this world.
    #[must_use]
    pub fn new(world: &World) -> Self {
        Self::for_world_id(world.id())
    }

    /// An empty buffer for the world with this [id](World::id).
    #[must_use]
    pub fn for_world_id(world: u64) -> Self {
        Self {
            world,
            sort_key: 0,
            is_sorted: true,
            records: Vec::new(),
            arena: Arena::default(),
            deferred: Deferred::default(),
            places: Vec::new(),
        }
    }

    /// How many commands are waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no command is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Sets the sort key of the commands that follow.
    #[inline]
    pub fn set_sort_key(&mut self, sort_key: u64) {
        self.is_sorted &= sort_key >= self.sort_key || self.records.is_empty();
        self.sort_key = sort_key;
    }

    /// A new entity with these components. The handle can be used in this buffer right away, also
    /// inside components (see [`Component`]); playback replaces it by the real one.
    ///
    /// # Panics
    /// Panics if one buffer spawns more than 2^32 entities between two playbacks.
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        let entity = self.deferred.next();
        self.record_payload(entity, bundle, Action::Spawn);
        entity
    }

    /// Gives components to an entity, as [`World::insert`] does.
    #[inline]
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        self.record_payload(entity, bundle, Action::Insert);
    }

    /// Takes components from an entity and drops them.
    #[inline]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.record(entity, Action::Remove(BundleFns::of::<B::Parts>()));
    }

    /// Switches a component of an entity on or off.
    #[inline]
    pub fn set_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        self.record(entity, Action::SetEnabled(set_enabled::<T>, enabled));
    }

    /// Takes an entity out of the world.
    #[inline]
    pub fn despawn(&mut self, entity: Entity) {
        self.record(entity, Action::Despawn);
    }

    #[inline]
    fn record(&mut self, entity: Entity, action: Action<Payload>) {
        self.records.push(Record { sort_key: self.sort_key, entity, action });
    }

    #[inline]
    fn record_payload<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: B,
        action: impl FnOnce(Payload) -> Action<Payload>,
    ) {
        let parts = bundle.into_parts();
        // The record cannot fail once the payload is stored: nothing else would drop it.
        self.records.reserve(1);
        let payload = Payload::store(parts, &mut self.arena);
        self.record(entity, action(payload));
    }

    /// Takes over the commands of another buffer, which is empty afterwards. They keep their sort
    /// keys, and inside a key they come after those that are here. Entities that the other buffer
    /// deferred are this one's from now on.
    ///
    /// # Panics
    /// Panics if the two were made for different worlds, or would hold more than 32 GiB together.
    pub fn append(&mut self, other: &mut Self) {
        assert_eq!(self.world, other.world, "command buffers of two worlds cannot be joined");
        let key = |record: Option<&Record>| record.map(|record| record.sort_key);
        if let (Some(first), Some(last)) = (key(other.records.first()), key(other.records.last())) {
            let follows = key(self.records.last()) <= Some(first) && last <= self.sort_key;
            self.is_sorted &= other.is_sorted && follows;
        }
        self.append_records(other);
        other.reset();
    }

    /// Makes the changes, and leaves the buffer empty.
    ///
    /// A command that cannot be applied is passed over and reported. Commands of one kind on entities
    /// of one archetype that follow one another are made together; apart from the order of rows, the
    /// world is what it would be had each been made by itself.
    ///
    /// Should user code panic (the drop of a component that is replaced, say), the commands before
    /// it have been applied, and so has the one that panics (of a stored call, what it did until then); those
    /// after it are dropped. Where the mapping of an entity inside a component panics, which comes
    /// first, none has been applied.
    ///
    /// # Panics
    /// Panics if the buffer was made for another world, or an observer or a stored call exchanges
    /// the world.
    pub fn play(&mut self, world: &mut World) -> Playback {
        Self::play_all(core::slice::from_mut(self), world)
    }

    /// Plays several buffers back as one: by sort key, inside one key by the place of the buffer,
    /// inside one buffer by the order of recording.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(Gold(0));
    /// let mut buffers = [CommandBuffer::new(&world), CommandBuffer::new(&world)];
    /// buffers[0].set_sort_key(2);
    /// buffers[0].insert(imp, Gold(2));
    /// buffers[1].set_sort_key(1);
    /// buffers[1].insert(imp, Gold(1));
    /// CommandBuffer::play_all(&mut buffers, &mut world);
    /// assert_eq!(world.get(imp), Ok(&Gold(2)), "the key decides, not the buffer");
    /// ```
    ///
    /// # Panics
    /// Panics if one of the buffers was made for another world; nothing is applied then.
    pub fn play_all(buffers: &mut [Self], world: &mut World) -> Playback {
        playback::play(buffers, world)
    }

    /// Forgets all commands and drops what they hold, the others too should one panic.
    pub fn clear(&mut self) {
        let mut next = 0;
        finish(|| {
            while next < self.records.len() {
                next += 1;
                drop(self.take(next - 1));
            }
            self.reset();
        });
    }

    /// Back to the state of a new buffer: the payloads have been taken.
    fn reset(&mut self) {
        self.records.clear();
        self.arena.clear();
        self.deferred.clear();
        self.sort_key = 0;
        self.is_sorted = true;
    }

    /// Panics where the buffer was made for another world.
    fn expect_world(&self, world: &World) {
        assert_eq!(
            self.world,
            world.id(),
            "a command buffer can be played back only to its own world"
        );
    }
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        self.clear();
    }
}

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
    /// Panics like [`spawn`](Self::spawn).
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
