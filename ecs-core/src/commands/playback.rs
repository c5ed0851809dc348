//! The playback of command buffers.

use alloc::vec::Vec;

use super::deferred::NO_ENTITY;
use super::payload::TakenBundle;
use super::runs;
use super::stream::{Order, Stream};
use super::{Action, CommandBuffer};
use crate::entity::Entity;
use crate::error::{CommandFailure, CommandFailureReason};
use crate::world::World;

/// The result of a playback.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::CommandFailureReason;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let [imp, gone] = [world.spawn(()), world.spawn(())];
/// world.despawn(gone)?;
/// let mut commands = CommandBuffer::new(&world);
/// commands.insert(imp, Gold(1));
/// commands.insert(gone, Gold(2));
/// let playback = commands.play(&mut world);
/// assert_eq!(playback.applied_count(), 1);
/// assert_eq!(playback.failures()[0].entity, gone);
/// assert_eq!(playback.failures()[0].reason, CommandFailureReason::NoSuchEntity);
/// # Ok::<(), formic_ecs::NoSuchEntity>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Playback {
    applied_count: usize,
    failures: Vec<CommandFailure>,
}

impl Playback {
    /// Returns the number of commands that were applied.
    #[must_use]
    pub const fn applied_count(&self) -> usize {
        self.applied_count
    }

    /// Returns the commands that were not applied, in the order of playback.
    #[must_use]
    pub fn failures(&self) -> &[CommandFailure] {
        &self.failures
    }
}

/// A playback in progress. However it ends, the buffers are empty afterwards, each payload was taken
/// once, and no handle stays reserved (except in a world that user code has put elsewhere).
struct Playing<'a> {
    stream: Stream<'a>,
    world: &'a mut World,
    world_id: u64,
    playback: Playback,
    is_complete: bool,
}

pub(super) fn play(buffers: &mut [CommandBuffer], world: &mut World) -> Playback {
    for buffer in buffers.iter() {
        buffer.expect_world(world);
    }
    if buffers.iter().all(CommandBuffer::is_empty) {
        buffers.iter_mut().for_each(CommandBuffer::reset);
        return Playback::default();
    }
    let Some(first) = buffers.first_mut() else { return Playback::default() };
    // The first buffer keeps the memory.
    let positions = core::mem::take(&mut first.positions);
    let order = Order::new(buffers, positions);
    let stream = Stream { buffers, order, next: 0 };
    let world_id = world.id();
    let mut playing =
        Playing { stream, world, world_id, playback: Playback::default(), is_complete: false };
    playing.reserve();
    while !playing.stream.is_at_end() {
        playing.step();
    }
    playing.is_complete = true;
    core::mem::take(&mut playing.playback)
}

impl Playing<'_> {
    /// Reserves a handle for every deferred entity, in the order in which they will be spawned, and
    /// replaces the deferred handles in all payloads: a component can refer to an entity that a later
    /// command spawns.
    fn reserve(&mut self) {
        let Self { stream, world, .. } = self;
        if stream.buffers.iter().all(|buffer| buffer.deferred.is_empty()) {
            return;
        }
        stream.buffers.iter_mut().for_each(|buffer| buffer.deferred.begin_playback());
        for index in 0..stream.remaining() {
            let (buffer, record) = stream.order.at(index);
            let CommandBuffer { records, deferred, .. } = &mut stream.buffers[buffer];
            if matches!(records[record].action, Action::Spawn(_)) {
                deferred.set_entity(records[record].entity, world.entities.reserve_one());
            }
        }
        let maps = |buffer: &&mut CommandBuffer| !buffer.deferred.is_empty();
        stream.buffers.iter_mut().filter(maps).for_each(CommandBuffer::map_entities);
    }

    /// Plays the next command, or as many as can be played together.
    fn step(&mut self) {
        let entity = self.stream.entity(self.stream.next);
        if self.stream.is_call(self.stream.next) {
            return self.play_call(entity);
        }
        let applied = runs::play(&mut self.stream, entity, self.world);
        self.playback.applied_count += applied;
        if applied == 0 {
            self.play_one(entity);
        }
    }

    fn play_one(&mut self, entity: Entity) {
        let (_, record) = self.stream.at(self.stream.next);
        let (sort_key, command) = (record.sort_key, record.action.name());
        let action = self.stream.take();
        let outcome = if entity.is_deferred() {
            drop(action);
            Err(CommandFailureReason::ForeignDeferred)
        } else {
            action.play(self.world, entity)
        };
        self.finish(sort_key, command, entity, outcome);
    }

    fn play_call(&mut self, entity: Entity) {
        let sort_key = self.stream.at(self.stream.next).1.sort_key;
        let is_foreign = entity.is_deferred() && entity != NO_ENTITY;
        let world = (!is_foreign).then_some((&mut *self.world, entity));
        let (command, mut outcome) = self.stream.take_call(world);
        if is_foreign {
            outcome = Err(CommandFailureReason::ForeignDeferred);
        }
        self.finish(sort_key, command, entity, outcome);
    }

    /// Records the outcome of a command that was played by itself.
    fn finish(
        &mut self,
        sort_key: u64,
        command: &'static str,
        entity: Entity,
        outcome: Result<(), CommandFailureReason>,
    ) {
        // Observers and stored calls get `&mut World`, so they can replace the world itself.
        assert_eq!(self.world.id(), self.world_id, "the world was exchanged during playback");
        match outcome {
            Ok(()) => self.playback.applied_count += 1,
            Err(reason) => {
                let failure = CommandFailure { sort_key, command, entity, reason };
                self.playback.failures.push(failure);
            }
        }
    }
}

impl Action<TakenBundle<'_>> {
    fn play(self, world: &mut World, entity: Entity) -> Result<(), CommandFailureReason> {
        let no_such_entity = Err(CommandFailureReason::NoSuchEntity);
        match self {
            Self::Spawn(bundle) if world.entities.is_reserved(entity) => {
                bundle.spawn(world, entity);
                Ok(())
            }
            Self::Insert(bundle) => bundle.insert(world, entity),
            Self::Remove(functions) => (functions.remove)(world, entity),
            Self::SetEnabled(set_enabled, enabled) => set_enabled(world, entity, enabled),
            Self::Despawn if world.despawn(entity).is_ok() => Ok(()),
            Self::Spawn(_) | Self::Despawn | Self::Call(_) | Self::Taken => no_such_entity,
        }
    }
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        let positions = self.stream.order.take_memory();
        if !self.is_complete {
            // A panic ended the playback early. If the world was replaced, the handles that are reserved
            // in the one that is here now are not ours.
            let is_ours = self.world.id() == self.world_id;
            let spawned = self.stream.buffers.iter().flat_map(|buffer| buffer.deferred.spawned());
            for &entity in spawned.filter(|_| is_ours) {
                if self.world.entities.is_reserved(entity) {
                    self.world.entities.release(entity);
                }
            }
            self.stream.buffers.iter_mut().for_each(CommandBuffer::clear);
        }
        self.stream.buffers.iter_mut().for_each(CommandBuffer::reset);
        if let Some(first) = self.stream.buffers.first_mut() {
            first.positions = positions;
        }
    }
}

impl<P> Action<P> {
    /// Returns the name of the command, for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Spawn(_) => "spawn",
            Self::Insert(_) => "insert",
            Self::Remove(_) => "remove",
            Self::SetEnabled(..) => "set_enabled",
            Self::Despawn => "despawn",
            Self::Call(_) => "run",
            Self::Taken => "nothing",
        }
    }
}
