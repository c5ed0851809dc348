//! The commands of several buffers as one stream, in the order of playback, and the closures among
//! them.

use alloc::vec::Vec;

use super::deferred::Outcome;
use super::payload::Held;
use super::{Action, CommandBuffer, Record};
use crate::entity::Entity;
use crate::world::World;

/// Where a command is, ordered as it is to be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    sort_key: u64,
    buffer: usize,
    record: usize,
}

/// In which order the commands of some buffers go.
#[derive(Debug)]
pub(super) struct Order {
    /// Empty where one buffer has all commands, in order.
    places: Vec<Place>,
    /// That buffer.
    only: usize,
    len: usize,
}

impl Order {
    /// By sort key, inside a key by the place of the buffer, inside a buffer by the order of
    /// recording. `places` is memory, and empty.
    pub(super) fn new(buffers: &[CommandBuffer], mut places: Vec<Place>) -> Self {
        let filled = |buffer: &CommandBuffer| !buffer.is_empty();
        let only = buffers.iter().position(filled).unwrap_or_default();
        let len = buffers.iter().map(CommandBuffer::len).sum();
        let is_only = buffers.iter().skip(only + 1).all(CommandBuffer::is_empty);
        if !is_only || buffers.get(only).is_some_and(|buffer| !buffer.is_sorted) {
            for (buffer, CommandBuffer { records, .. }) in buffers.iter().enumerate() {
                let place = |(record, &Record { sort_key, .. })| Place { sort_key, buffer, record };
                places.extend(records.iter().enumerate().map(place));
            }
            if !places.is_sorted() {
                // No two are equal, so that this is as good as a stable sort, which needs memory.
                places.sort_unstable();
            }
        }
        Self { places, only, len }
    }

    /// The buffer and the number of the command at this place of the order.
    #[inline]
    pub(super) fn at(&self, index: usize) -> (usize, usize) {
        match self.places.get(index) {
            Some(place) => (place.buffer, place.record),
            None => (self.only, index),
        }
    }

    /// The memory, emptied.
    pub(super) fn take_memory(&mut self) -> Vec<Place> {
        self.places.clear();
        core::mem::take(&mut self.places)
    }
}

/// The commands in their order, to be taken from the first to the last.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    pub(super) buffers: &'a mut [CommandBuffer],
    pub(super) order: Order,
    /// The next command to be taken.
    pub(super) next: usize,
}

impl Stream<'_> {
    /// Whether every command was taken.
    pub(super) fn is_at_end(&self) -> bool {
        self.next == self.order.len
    }

    /// How many commands are left.
    pub(super) fn remaining(&self) -> usize {
        self.order.len - self.next
    }

    /// The command at this place of the order, and its buffer.
    #[inline]
    pub(super) fn at(&self, index: usize) -> (&CommandBuffer, &Record) {
        let (buffer, record) = self.order.at(index);
        let buffer = &self.buffers[buffer];
        (buffer, &buffer.records[record])
    }

    /// The entity that the command at this place is about.
    #[inline]
    pub(super) fn entity(&self, index: usize) -> Entity {
        let (buffer, record) = self.at(index);
        buffer.deferred.resolve(record.entity)
    }

    /// Whether the command at this place of the order is a stored call.
    #[inline]
    pub(super) fn is_call(&self, index: usize) -> bool {
        matches!(self.at(index).1.action, Action::Call(_))
    }

    /// Takes the next command, which is a stored call, and calls it with a world and the entity that
    /// it is about, or else drops it. Says what it is called, and what became of it.
    pub(super) fn take_call(
        &mut self,
        world: Option<(&mut World, Entity)>,
    ) -> (&'static str, Outcome) {
        let (buffer, record) = self.order.at(self.next);
        self.next += 1;
        self.buffers[buffer].take_call(record, world)
    }

    /// Takes the next command.
    #[inline]
    pub(super) fn take(&mut self) -> Action<Held<'_>> {
        let (buffer, record) = self.order.at(self.next);
        self.next += 1;
        self.buffers[buffer].take(record)
    }
}
