//! Playing command buffers back.

use alloc::vec::Vec;

use super::erased::{self, drop_payload_of};
use super::{Action, CommandBuffer, Record};
use crate::entity::Entity;
use crate::error::{CommandFailure, CommandFailureReason};
use crate::world::World;

/// What became of the commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Playback {
    applied_count: usize,
    failures: Vec<CommandFailure>,
}

impl Playback {
    /// How many commands were applied.
    #[must_use]
    pub const fn applied_count(&self) -> usize {
        self.applied_count
    }

    /// The commands that were not, in the order of playback.
    #[must_use]
    pub fn failures(&self) -> &[CommandFailure] {
        &self.failures
    }
}

/// A command on its way from its buffer into the world.
#[derive(Debug)]
pub(super) struct Queued {
    buffer: usize,
    record: Record,
}

/// Commands that are being played. However it ends, the buffers are empty afterwards, each payload
/// was taken once, and no reserved handle is left over.
struct Playing<'a> {
    buffers: &'a mut [CommandBuffer],
    world: &'a mut World,
    /// The next one last.
    queue: Vec<Queued>,
    /// By buffer: what its deferred entities are.
    spawned: Vec<Vec<Entity>>,
}

pub(super) fn play(buffers: &mut [CommandBuffer], world: &mut World) -> Playback {
    for buffer in buffers.iter() {
        assert_eq!(
            buffer.world,
            world.id(),
            "a command buffer can be played back only to its own world"
        );
    }
    let mut playback = Playback::default();
    let Some(first) = buffers.first_mut() else { return playback };
    // The memory of the queue stays with the first buffer.
    let queue = core::mem::take(&mut first.queue);
    let mut playing = Playing { buffers, world, queue, spawned: Vec::new() };
    playing.sort();
    playing.reserve();
    while let Some(queued) = playing.queue.pop() {
        playing.run(queued, &mut playback);
    }
    playback
}

impl Playing<'_> {
    /// Takes the commands out of the buffers and puts them in order.
    fn sort(&mut self) {
        for (index, buffer) in self.buffers.iter_mut().enumerate() {
            self.queue
                .extend(buffer.records.drain(..).map(|record| Queued { buffer: index, record }));
        }
        // Stable: inside a key the order is by buffer and by time of recording.
        self.queue.sort_by_key(|queued| queued.record.sort_key);
        self.queue.reverse();
    }

    /// Gives every deferred entity its handle, in the order in which they will be spawned, so that
    /// a component can refer to one that a later command spawns.
    fn reserve(&mut self) {
        for buffer in self.buffers.iter() {
            // A place for each, overwritten below: each deferred handle has one spawn.
            let tag = buffer.tag.unwrap_or_default();
            let places = (0..buffer.deferred_count).map(|index| Entity::deferred(tag, index));
            self.spawned.push(places.collect());
        }
        for queued in self.queue.iter().rev() {
            if matches!(queued.record.action, Action::Spawn(_)) {
                let place = &mut self.spawned[queued.buffer][queued.record.entity.index() as usize];
                *place = self.world.entities.reserve_one();
            }
        }
    }

    fn run(&mut self, queued: Queued, playback: &mut Playback) {
        let Queued { buffer, record } = queued;
        let CommandBuffer { tag, arena, .. } = &self.buffers[buffer];
        let spawned = &self.spawned[buffer];
        let mut map = |entity: Entity| match entity.deferred_tag() {
            // A handle with our tag and an index that we never gave was made up of bits.
            Some(found) if Some(found) == *tag => {
                spawned.get(entity.index() as usize).copied().unwrap_or(entity)
            }
            _ => entity,
        };
        let (sort_key, command, entity) =
            (record.sort_key, record.action.name(), map(record.entity));
        let outcome = if entity.is_deferred() {
            drop_payload_of(record, arena);
            Err(CommandFailureReason::ForeignDeferred)
        } else {
            erased::play(record, arena, &mut map, self.world)
        };
        match outcome {
            Ok(()) => playback.applied_count += 1,
            Err(reason) => {
                playback.failures.push(CommandFailure { sort_key, command, entity, reason });
            }
        }
    }

    /// Gives up what a panic kept from being played.
    fn abandon(&mut self) {
        for &entity in self.spawned.iter().flatten() {
            if self.world.entities.is_reserved(entity) {
                self.world.entities.release(entity);
            }
        }
        while let Some(queued) = self.queue.pop() {
            drop_payload_of(queued.record, &self.buffers[queued.buffer].arena);
        }
    }
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        self.abandon();
        self.buffers.iter_mut().for_each(CommandBuffer::clear);
        if let Some(first) = self.buffers.first_mut() {
            first.queue = core::mem::take(&mut self.queue);
        }
    }
}

impl Action {
    /// For messages.
    fn name(&self) -> &'static str {
        match self {
            Self::Spawn(_) => "spawn",
            Self::Insert(_) => "insert",
            Self::Remove(_) => "remove",
            Self::SetEnabled(..) => "set_enabled",
            Self::Despawn => "despawn",
        }
    }
}
