//! Command buffers: structural changes that are written down now and made later.

mod arena;
mod erased;
mod playback;

use alloc::vec::Vec;
use core::fmt;

use crate::bundle::Bundle;
use crate::component::Component;
use crate::entity::Entity;
use crate::sync::Serial;
use crate::world::World;
use arena::Arena;
use erased::Payload;

pub use playback::Playback;

/// Structural changes, recorded now and made when the buffer is played back.
///
/// Each command carries the sort key that was set when it was recorded. Playback goes by sort key,
/// and by the order of recording inside one key: buffers filled by several threads give the same
/// world whatever thread did what, as long as each key was used by one thread at a time, in an
/// order of its own (the ordinal of a chunk is such a key).
///
/// A buffer that is dropped unplayed drops what it holds.
///
/// ```
/// use ecs_core::prelude::*;
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
/// # Ok::<(), ecs_core::ComponentError>(())
/// ```
pub struct CommandBuffer {
    world: u64,
    /// Tells the deferred entities of this buffer from those of others, once there are any.
    tag: Option<u32>,
    sort_key: u64,
    records: Vec<Record>,
    arena: Arena,
    deferred_count: u32,
    /// Memory for playback.
    queue: Vec<playback::Queued>,
}

/// One command.
#[derive(Debug)]
struct Record {
    sort_key: u64,
    /// What it is about; for a spawn, the deferred handle.
    entity: Entity,
    action: Action,
}

/// What a command does.
#[derive(Debug)]
enum Action {
    Spawn(Payload),
    Insert(Payload),
    Remove(erased::RemoveFn),
    SetEnabled(erased::SetEnabledFn, bool),
    Despawn,
}

static BUFFER_TAGS: Serial = Serial::starting_at(0);
/// Tags have 30 bits; two buffers that share one after a billion others cannot meet in practice.
const TAG_MASK: u64 = (1 << 30) - 1;

impl fmt::Debug for CommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandBuffer")
            .field("commands", &self.records.len())
            .finish_non_exhaustive()
    }
}

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
            tag: None,
            sort_key: 0,
            records: Vec::new(),
            arena: Arena::default(),
            deferred_count: 0,
            queue: Vec::new(),
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
    pub fn set_sort_key(&mut self, sort_key: u64) {
        self.sort_key = sort_key;
    }

    /// A new entity with these components. The handle can be used in this buffer right away, also
    /// inside components (see [`Component`]); playback replaces it by the real one.
    ///
    /// # Panics
    /// Where one buffer spawns more than 2^32 entities between two playbacks.
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        let tag = *self.tag.get_or_insert_with(fresh_tag);
        let entity = Entity::deferred(tag, self.deferred_count);
        self.deferred_count = self.deferred_count.checked_add(1).expect("fewer than 2^32 entities");
        let payload = Payload::store(bundle, &mut self.arena);
        self.record(entity, Action::Spawn(payload));
        entity
    }

    /// Gives components to an entity, as [`World::insert`] does.
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        let payload = Payload::store(bundle, &mut self.arena);
        self.record(entity, Action::Insert(payload));
    }

    /// Takes components from an entity and drops them.
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.record(entity, Action::Remove(erased::remove::<B>));
    }

    /// Switches a component of an entity on or off.
    pub fn set_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        self.record(entity, Action::SetEnabled(erased::set_enabled::<T>, enabled));
    }

    /// Takes an entity out of the world.
    pub fn despawn(&mut self, entity: Entity) {
        self.record(entity, Action::Despawn);
    }

    fn record(&mut self, entity: Entity, action: Action) {
        self.records.push(Record { sort_key: self.sort_key, entity, action });
    }

    /// Makes the changes, and leaves the buffer empty.
    ///
    /// A command that cannot be applied is passed over and reported. Should user code panic (the
    /// drop of a component that is replaced, say), the commands before it have been applied and
    /// those after it are dropped.
    ///
    /// # Panics
    /// Where the buffer was made for another world.
    pub fn play(&mut self, world: &mut World) -> Playback {
        Self::play_all(core::slice::from_mut(self), world)
    }

    /// Plays several buffers back as one: by sort key, inside one key by the place of the buffer,
    /// inside one buffer by the order of recording.
    ///
    /// # Panics
    /// Where one of the buffers was made for another world; nothing is applied then.
    pub fn play_all(buffers: &mut [Self], world: &mut World) -> Playback {
        playback::play(buffers, world)
    }

    /// Forgets all commands and drops what they hold.
    pub fn clear(&mut self) {
        // The books first: should a drop panic, the rest is still dropped, by the list of records.
        self.deferred_count = 0;
        self.tag = None;
        self.sort_key = 0;
        erased::drop_all(&mut self.records, &mut self.arena);
    }
}

/// Each filling of a buffer has its own: a handle that was deferred before the last playback must
/// not be taken for one after it.
fn fresh_tag() -> u32 {
    (BUFFER_TAGS.next() & TAG_MASK) as u32
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        self.clear();
    }
}
