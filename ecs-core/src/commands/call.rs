//! Stored calls: commands that are closures, kept beside the records.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::deferred::{Deferred, Outcome};
use super::payload::Exclusive;
use crate::entity::Entity;
use crate::world::World;

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
