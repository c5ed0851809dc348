//! The commands of several buffers as one stream, in the order of playback, and the closures among
//! them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::deferred::{Deferred, Outcome};
use super::payload::{Exclusive, Held};
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

    /// The entity that the command after the next one is about, if there is one.
    #[inline]
    pub(super) fn following(&self) -> Option<Entity> {
        (self.next + 1 < self.order.len).then(|| self.entity(self.next + 1))
    }

    /// Takes the command at this place of the order, before its turn.
    pub(super) fn take_at(&mut self, index: usize) -> Action<Held<'_>> {
        let (buffer, record) = self.order.at(index);
        self.buffers[buffer].take(record)
    }

    /// The end of the group of commands on one entity that begins with the next one.
    pub(super) fn end_of_group(&self, entity: Entity) -> usize {
        let after = self.next + 1..self.order.len;
        let is_other = |&index: &usize| self.entity(index) != entity || self.is_call(index);
        let end = after.clone().find(is_other);
        end.unwrap_or(after.end)
    }

    /// Whether the command at this place of the order is a stored call.
    #[inline]
    pub(super) fn is_call(&self, index: usize) -> bool {
        matches!(self.at(index).1.action, Action::Call(_))
    }

    /// Takes the next command, which is a stored call, and what resolves the deferred entities of
    /// its buffer.
    pub(super) fn take_call(&mut self) -> Option<(StoredCall, &Deferred)> {
        let (buffer, record) = self.order.at(self.next);
        let CommandBuffer { records, calls, deferred, .. } = &mut self.buffers[buffer];
        let Action::Call(number) = records[record].action else { return None };
        records[record].action = Action::Taken;
        self.next += 1;
        Some((calls.take(number)?, deferred))
    }

    /// Takes the next command.
    #[inline]
    pub(super) fn take(&mut self) -> Action<Held<'_>> {
        let (buffer, record) = self.order.at(self.next);
        self.next += 1;
        self.buffers[buffer].take(record)
    }
}

/// Gets the entity that it is about, which is the real one, and what is needed to find others.
type CallFn = dyn FnOnce(&mut World, Entity, &Deferred) -> Outcome + Send;

/// A closure that is to be called once, in its turn, or else dropped.
pub(super) struct StoredCall {
    /// For messages.
    pub(super) name: &'static str,
    /// A buffer may be shared between threads, though the closure is only `Send`.
    function: Exclusive<Box<CallFn>>,
}

impl StoredCall {
    pub(super) fn new(
        name: &'static str,
        function: impl FnOnce(&mut World, Entity, &Deferred) -> Outcome + Send + 'static,
    ) -> Self {
        Self { name, function: Exclusive::new(Box::new(function)) }
    }

    pub(super) fn play(self, world: &mut World, entity: Entity, deferred: &Deferred) -> Outcome {
        (self.function.into_inner())(world, entity, deferred)
    }
}

/// The calls of a buffer, by number. A record has the number of its call.
#[derive(Default)]
pub(super) struct Calls(Vec<Option<StoredCall>>);

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("count", &self.0.len()).finish_non_exhaustive()
    }
}

impl Calls {
    /// Panics where there are 2^32 already.
    pub(super) fn push(&mut self, call: StoredCall) -> u32 {
        let number = u32::try_from(self.0.len()).expect("fewer than 2^32 calls");
        self.0.push(Some(call));
        number
    }

    pub(super) fn take(&mut self, number: u32) -> Option<StoredCall> {
        self.0.get_mut(number as usize).and_then(Option::take)
    }

    /// Takes the calls of another buffer over; returns what to add to their numbers.
    ///
    /// Panics where there would be more than 2^32, or where there is no memory; nothing has changed
    /// then.
    pub(super) fn append(&mut self, other: &mut Self) -> u32 {
        let all = self.0.len() + other.0.len();
        assert!(u32::try_from(all).is_ok(), "fewer than 2^32 calls");
        let shift = u32::try_from(self.0.len()).expect("fewer than all of them");
        self.0.append(&mut other.0);
        shift
    }

    /// Drops those that were not taken, the others too should one panic.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
