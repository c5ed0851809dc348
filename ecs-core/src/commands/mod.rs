//! Command buffers: structural changes that are recorded now and applied later.

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

/// A buffer of structural changes, which are recorded now and applied when the buffer is played back.
///
/// Each command carries the sort key that was set when it was recorded. Commands are played back in the
/// order of their sort keys, and those with the same key in the order of recording.
///
/// A buffer that is dropped without being played drops its contents.
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
/// Recording takes `&mut CommandBuffer`, so each thread has its own buffer, and
/// [`play_all`](Self::play_all) plays them as one. Which thread did which piece of the work must not show
/// in the world. It does not if each piece has a sort key that depends on the work alone, such as the
/// number of a chunk, and no two pieces share a key. Then the commands with one key are those of one
/// piece, in the order in which it recorded them. A deferred entity is known only to the buffer that
/// deferred it. For another buffer, write it to a component, which has the real handle after playback, or
/// use [`append`](Self::append).
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
    /// True only if the keys of the records never decrease.
    is_sorted: bool,
    records: Vec<Record>,
    /// The payloads of the records. Each is dropped or moved out through its record (C-1).
    arena: Arena,
    deferred: Deferred,
    /// Memory that playback reuses.
    positions: Vec<stream::Position>,
}

/// One command.
#[derive(Debug)]
struct Record {
    sort_key: u64,
    /// The target: for a spawn the deferred handle, or `NO_ENTITY` if there is none.
    entity: Entity,
    action: Action<Payload>,
}

type SetEnabledFn = fn(&mut World, Entity, bool) -> Outcome;

fn set_enabled<T: Component>(world: &mut World, entity: Entity, enabled: bool) -> Outcome {
    world.set_enabled::<T>(entity, enabled).map(drop).map_err(Into::into)
}

/// The action of a command. `P` holds its bundle.
#[derive(Debug)]
enum Action<P> {
    Spawn(P),
    Insert(P),
    Remove(&'static BundleFns),
    SetEnabled(SetEnabledFn, bool),
    Despawn,
    Call(StoredCall),
    /// The command has been taken.
    Taken,
}

const _: () = assert!(size_of::<Record>() == 32, "two to a cache line");

debug_fields!([] CommandBuffer:; commands = |it| it.records.len());

impl CommandBuffer {
    /// Creates an empty buffer for this world.
    #[must_use]
    pub fn new(world: &World) -> Self {
        Self::for_world_id(world.id())
    }

    /// Creates an empty buffer for the world with this [id](World::id).
    #[must_use]
    pub fn for_world_id(world: u64) -> Self {
        Self {
            world,
            sort_key: 0,
            is_sorted: true,
            records: Vec::new(),
            arena: Arena::default(),
            deferred: Deferred::default(),
            positions: Vec::new(),
        }
    }

    /// Returns the number of recorded commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether the buffer has no commands.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the sort key of the commands that are recorded next.
    #[must_use]
    pub const fn sort_key(&self) -> u64 {
        self.sort_key
    }

    /// Sets the sort key of the commands that are recorded from now on. In a new buffer, and in one that
    /// was played, cleared or appended to another, it is 0.
    #[inline]
    pub fn set_sort_key(&mut self, sort_key: u64) {
        self.is_sorted &= sort_key >= self.sort_key || self.records.is_empty();
        self.sort_key = sort_key;
    }

    /// Spawns an entity with the components of `bundle`, and returns its deferred handle. This buffer can
    /// use the handle at once, also inside components (see [`Component`]). Playback replaces it by the
    /// real one. It replaces none that was written anywhere else, such as to a component in place, an event
    /// or a resource: it refers to no entity there, and its bits depend on timing.
    ///
    /// # Panics
    /// Panics if one buffer spawns 2^32 entities between two playbacks.
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        let entity = self.deferred.next();
        self.record_payload(entity, bundle, Action::Spawn);
        entity
    }

    /// Adds components to an entity, as [`World::insert`] does.
    #[inline]
    #[doc(alias("insert_one", "entity"))]
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        self.record_payload(entity, bundle, Action::Insert);
    }

    /// Removes components from an entity and drops them. It removes all of them, or none if the entity
    /// lacks one.
    #[inline]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.record(entity, Action::Remove(BundleFns::of::<B::Parts>()));
    }

    /// Enables or disables a component of an entity.
    #[inline]
    pub fn set_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        self.record(entity, Action::SetEnabled(set_enabled::<T>, enabled));
    }

    /// Despawns an entity.
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
        // Reserved first: once the payload is stored, only its record drops it.
        self.records.reserve(1);
        let payload = Payload::store(parts, &mut self.arena);
        self.record(entity, action(payload));
    }

    /// Moves the commands of another buffer into this one. They keep their sort keys, and those with the
    /// same key come after the commands that are already here. Entities that the other buffer deferred
    /// belong to this one from now on.
    ///
    /// # Panics
    /// Panics if the two were created for different worlds, or would hold 32 GiB or more together.
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

    /// Applies the commands, and leaves the buffer empty.
    ///
    /// A command that cannot be applied is skipped and reported. Consecutive commands of one kind on
    /// entities of one archetype are applied together. Apart from the order of rows, the world is as if
    /// each had been applied by itself.
    ///
    /// If user code panics (such as the drop of a replaced component), the commands before it have been
    /// applied, and those after it are dropped. The command that panics leaves what the same call of the
    /// [`World`] leaves when it panics; a stored call leaves what it did until then. If the mapping of an
    /// entity inside a component panics, which comes first, no command has been applied.
    ///
    /// # Panics
    /// Panics if the buffer was created for another world, if a bundle has a component twice, if the world
    /// has no handle left (see [`World`]), or if an observer or a stored call puts another world in place
    /// of this one.
    #[doc(alias("run_on", "apply"))]
    pub fn play(&mut self, world: &mut World) -> Playback {
        Self::play_all(core::slice::from_mut(self), world)
    }

    /// Plays several buffers back as one: in the order of sort keys, then of the buffers, then of
    /// recording.
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
    /// Panics like [`play`](Self::play). If one of the buffers was created for another world, no command
    /// is applied.
    pub fn play_all(buffers: &mut [Self], world: &mut World) -> Playback {
        playback::play(buffers, world)
    }

    /// Drops all commands and their contents. If a drop panics, the others are dropped nevertheless.
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

    /// Resets the buffer to the state of a new one. All payloads have been taken.
    fn reset(&mut self) {
        self.records.clear();
        self.arena.clear();
        self.deferred.clear();
        self.sort_key = 0;
        self.is_sorted = true;
    }

    /// Panics if the buffer was created for another world.
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
    /// Calls a closure with the world, in its place among the commands: it sees the effects of the
    /// commands before it, and those after it see its effects. It can do everything that can be done to a
    /// world, including filling and playing other buffers.
    ///
    /// Deferred entities that the closure captures stay deferred: pass them to
    /// [`run_with`](Self::run_with) instead. If the place among the commands does not matter, a system
    /// does the same at less cost.
    ///
    /// If the closure panics, what it has done stays, and the commands after it are dropped (see
    /// [`play`](Self::play)). Playback panics if the closure puts another world in place of this one.
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
    #[doc(alias = "queue")]
    pub fn run(&mut self, call: impl FnOnce(&mut World) + Send + 'static) {
        self.record_call("run", NO_ENTITY, |world, _, _| {
            call(world);
            Ok(())
        });
    }

    /// Calls a closure as [`run`](Self::run) does, and passes it entities, or a value that contains
    /// entities. Deferred ones among them have been replaced by the real ones.
    ///
    /// An entity whose spawn is played later does not exist yet.
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

    /// Spawns one entity for each bundle, as [`spawn`](Self::spawn) does. The iterator runs now; if it
    /// panics, the entities before that are recorded.
    ///
    /// # Panics
    /// Panics like [`spawn`](Self::spawn).
    pub fn spawn_batch<B: Bundle>(&mut self, bundles: impl IntoIterator<Item = B>) -> Vec<Entity> {
        let bundles = bundles.into_iter();
        let mut spawned = Vec::with_capacity(expected_of(&bundles));
        bundles.for_each(|bundle| spawned.push(self.spawn(bundle)));
        spawned
    }

    /// Inserts a resource, and drops the one that it replaces. Deferred entities in it stay deferred: use
    /// [`run_with`](Self::run_with) if it contains any.
    pub fn insert_resource<T: Send + Sync + 'static>(&mut self, value: T) {
        self.run(|world| drop(world.insert_resource(value)));
    }

    /// Removes a resource and drops it. Does nothing if there is none.
    pub fn remove_resource<T: Send + Sync + 'static>(&mut self) {
        self.run(|world| drop(world.remove_resource::<T>()));
    }

    /// Records a closure. `entity` is its target. The closure is dropped instead of called if that is a
    /// deferred entity of another buffer.
    pub(crate) fn record_call(
        &mut self,
        name: &'static str,
        entity: Entity,
        call: impl FnOnce(&mut World, Entity, &Deferred) -> Outcome + Send + 'static,
    ) {
        // Reserved first: once the call is in the arena, only its record drops it.
        self.records.reserve(1);
        let call = StoredCall::store(name, call, &mut self.arena);
        self.record(entity, Action::Call(call));
    }
}

/// Records commands on all entities that pass a filter at playback. Created by [`CommandBuffer::bulk`].
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
    /// Selects all entities that pass a filter when the command is played (see
    /// [`World::bulk`](crate::World::bulk)). It is one command, however many entities there are.
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
    /// Adds clones of these components to each entity (see [`Bulk::insert`](crate::Bulk::insert)).
    /// Deferred entities in them are replaced.
    pub fn insert<B: Bundle + Clone>(self, bundle: B) {
        self.commands.record_call("bulk insert", NO_ENTITY, move |world, _, deferred| {
            let bundle = mapped(bundle, &mut |entity| deferred.resolve(entity));
            world.bulk::<F>().insert(bundle);
            Ok(())
        });
    }

    /// Removes components from each entity that has all of them (see
    /// [`Bulk::remove`](crate::Bulk::remove)).
    pub fn remove<B: Bundle>(self) {
        self.commands.run(|world| _ = world.bulk::<F>().remove::<B>());
    }

    /// Despawns each entity (see [`Bulk::despawn`](crate::Bulk::despawn)).
    pub fn despawn(self) {
        self.commands.run(|world| _ = world.bulk::<F>().despawn());
    }

    /// Enables or disables a component of each entity that has it (see
    /// [`Bulk::set_enabled`](crate::Bulk::set_enabled)).
    ///
    /// Does not compile if the component is not declared enableable.
    pub fn set_enabled<T: Component>(self, enabled: bool) {
        self.commands.run(move |world| _ = world.bulk::<F>().set_enabled::<T>(enabled));
    }
}
