//! Commands that are recorded once and played many times.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::deferred::Deferred;
use super::playback::Playback;
use super::{Action, CommandBuffer};
use crate::bundle::Bundle;
use crate::component::Component;
use crate::entity::Entity;
use crate::world::World;

/// Commands that can be played any number of times, such as the making of a wave of enemies: what
/// they give are clones.
///
/// Deferred entities stand for others each time. In all else it is a [`CommandBuffer`], and plays
/// as one does, into which clones have been recorded.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::RepeatableCommands;
/// # #[derive(Component, Clone)] struct Leader;
/// # #[derive(Component, Clone)] struct Follows(#[component(entity)] Entity);
/// let mut world = World::new();
/// let mut wave = RepeatableCommands::new(&world);
/// let leader = wave.spawn(Leader);
/// for _ in 0..10 {
///     wave.spawn(Follows(leader));
/// }
/// for _ in 0..3 {
///     assert!(wave.play(&mut world).failures().is_empty());
/// }
/// assert_eq!(world.query::<&Leader>().count(), 3);
/// assert_eq!(world.query::<&Follows>().count(), 30);
/// ```
pub struct RepeatableCommands {
    world: u64,
    sort_key: u64,
    recorders: Vec<Recorder>,
    /// Each playback has a copy of it: the handles are the same, what they stand for is not.
    deferred: Deferred,
}

/// One command.
struct Recorder {
    sort_key: u64,
    record: Box<dyn Fn(&mut CommandBuffer) + Send + Sync>,
}

impl fmt::Debug for RepeatableCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatableCommands")
            .field("commands", &self.recorders.len())
            .finish_non_exhaustive()
    }
}

impl RepeatableCommands {
    /// No commands yet, for this world.
    #[must_use]
    pub fn new(world: &World) -> Self {
        let (recorders, deferred) = (Vec::new(), Deferred::default());
        Self { world: world.id(), sort_key: 0, recorders, deferred }
    }

    /// How many commands there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorders.len()
    }

    /// Whether there is no command.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorders.is_empty()
    }

    /// Sets the sort key of the commands that follow.
    pub fn set_sort_key(&mut self, sort_key: u64) {
        self.sort_key = sort_key;
    }

    /// A new entity with clones of these components, each time. The handle stands for the one that
    /// is made in the same playback.
    ///
    /// # Panics
    /// Where there are more than 2^32 of them.
    pub fn spawn<B: Bundle + Clone>(&mut self, bundle: B) -> Entity {
        let entity = self.deferred.next();
        self.record(move |commands| {
            commands.record_payload(entity, bundle.clone(), Action::Spawn);
        });
        entity
    }

    /// Gives clones of these components to an entity.
    pub fn insert<B: Bundle + Clone>(&mut self, entity: Entity, bundle: B) {
        self.record(move |commands| commands.insert(entity, bundle.clone()));
    }

    /// Takes components from an entity and drops them.
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.record(move |commands| commands.remove::<B>(entity));
    }

    /// Switches a component of an entity on or off.
    pub fn set_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        self.record(move |commands| commands.set_enabled::<T>(entity, enabled));
    }

    /// Takes an entity out of the world.
    pub fn despawn(&mut self, entity: Entity) {
        self.record(move |commands| commands.despawn(entity));
    }

    /// Calls a clone of a closure with the world, see [`CommandBuffer::run`].
    pub fn run(&mut self, call: impl FnOnce(&mut World) + Clone + Send + Sync + 'static) {
        self.record(move |commands| commands.run(call.clone()));
    }

    fn record(&mut self, record: impl Fn(&mut CommandBuffer) + Send + Sync + 'static) {
        self.recorders.push(Recorder { sort_key: self.sort_key, record: Box::new(record) });
    }

    /// Makes the changes, as [`CommandBuffer::play`] does.
    ///
    /// Should a clone panic, no command has been applied, and those clones that were made are
    /// dropped. The commands can be played again, whatever has happened.
    ///
    /// # Panics
    /// Where the commands were recorded for another world.
    pub fn play(&self, world: &mut World) -> Playback {
        let mut commands = CommandBuffer::for_world_id(self.world);
        commands.expect_world(world);
        commands.deferred = self.deferred.to_fill_again();
        commands.records.reserve(self.recorders.len());
        for recorder in &self.recorders {
            commands.set_sort_key(recorder.sort_key);
            (recorder.record)(&mut commands);
        }
        commands.play(world)
    }
}
