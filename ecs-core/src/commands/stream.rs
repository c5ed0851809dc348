//! The commands of several buffers as one stream, in the order of playback.

use alloc::vec::Vec;

use super::deferred::Outcome;
use super::payload::TakenBundle;
use super::{Action, CommandBuffer, Record};
use crate::entity::Entity;
use crate::world::World;

/// The position of a command. Positions are ordered as the commands are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    sort_key: u64,
    buffer: usize,
    record: usize,
}

/// The order in which the commands of some buffers are played.
#[derive(Debug)]
pub(super) struct Order {
    /// Empty if one buffer has all commands, in order.
    positions: Vec<Position>,
    /// The index of that buffer.
    only: usize,
    len: usize,
}

impl Order {
    /// Orders commands by sort key, then by buffer, then by the order of recording. `positions` is reused
    /// memory, and empty.
    pub(super) fn new(buffers: &[CommandBuffer], mut positions: Vec<Position>) -> Self {
        let filled = |buffer: &CommandBuffer| !buffer.is_empty();
        let only = buffers.iter().position(filled).unwrap_or_default();
        let len = buffers.iter().map(CommandBuffer::len).sum();
        let is_only = buffers.iter().skip(only + 1).all(CommandBuffer::is_empty);
        if !is_only || buffers.get(only).is_some_and(|buffer| !buffer.is_sorted) {
            for (buffer, CommandBuffer { records, .. }) in buffers.iter().enumerate() {
                let position =
                    |(record, &Record { sort_key, .. })| Position { sort_key, buffer, record };
                positions.extend(records.iter().enumerate().map(position));
            }
            if !positions.is_sorted() {
                // No two are equal, so the result is that of a stable sort, which needs memory.
                positions.sort_unstable();
            }
        }
        Self { positions, only, len }
    }

    /// Returns the buffer and the record of the command at this index of the order.
    #[inline]
    pub(super) fn at(&self, index: usize) -> (usize, usize) {
        match self.positions.get(index) {
            Some(position) => (position.buffer, position.record),
            None => (self.only, index),
        }
    }

    /// Returns the memory, emptied.
    pub(super) fn take_memory(&mut self) -> Vec<Position> {
        self.positions.clear();
        core::mem::take(&mut self.positions)
    }
}

/// The commands in their order, to be taken from the first to the last.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    pub(super) buffers: &'a mut [CommandBuffer],
    pub(super) order: Order,
    /// The index of the next command to be taken.
    pub(super) next: usize,
}

impl Stream<'_> {
    /// Whether every command was taken.
    pub(super) fn is_at_end(&self) -> bool {
        self.next == self.order.len
    }

    /// Returns the number of commands that are left.
    pub(super) fn remaining(&self) -> usize {
        self.order.len - self.next
    }

    /// Returns the command at this index of the order, and its buffer.
    #[inline]
    pub(super) fn at(&self, index: usize) -> (&CommandBuffer, &Record) {
        let (buffer, record) = self.order.at(index);
        let buffer = &self.buffers[buffer];
        (buffer, &buffer.records[record])
    }

    /// Returns the target of the command at this index, resolved if its buffer deferred it.
    #[inline]
    pub(super) fn entity(&self, index: usize) -> Entity {
        let (buffer, record) = self.at(index);
        buffer.deferred.resolve(record.entity)
    }

    /// Whether the command at this index of the order is a stored call.
    #[inline]
    pub(super) fn is_call(&self, index: usize) -> bool {
        matches!(self.at(index).1.action, Action::Call(_))
    }

    /// Takes the next command, which is a stored call. Calls it with a world and its target, or else
    /// drops it. Returns the name of the call and its outcome.
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
    pub(super) fn take(&mut self) -> Action<TakenBundle<'_>> {
        let (buffer, record) = self.order.at(self.next);
        self.next += 1;
        self.buffers[buffer].take(record)
    }
}
