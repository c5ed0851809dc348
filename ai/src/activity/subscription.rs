//! Subscriptions: the events that an activity waits for.

#[cfg(test)]
mod tests;

use formic_ecs::{BufferElement, Codec, CodecError, Entity, HashRule, HashState};

use super::event::{EventKinds, Token};

/// One thing that a task waits for: events of some kinds about a subject, or a point in time.
///
/// Subscriptions are stored with the task, so that a snapshot includes them. The index by subject is
/// derived from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, HashState)]
pub struct Subscription {
    subject: Entity,
    /// The kinds, as bits of their block, or the tick of the timer.
    what: u64,
    number: u32,
    /// [`TIMER`], or the block of the kinds. With the first block, bytes and hashes are the same as in
    /// versions with a single block.
    sort: u8,
}

/// The sort of timers. Blocks of kinds other than the first are above it.
const TIMER: u8 = 1;

// Two are stored inline; a third one moves all of them to the heap.
impl BufferElement for Subscription {
    type Inline = [Self; 2];
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);
}

impl Subscription {
    pub(super) fn write(&self, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        Codec::plain().write(&[self.subject.to_bits(), self.what], bytes)?;
        Codec::plain().write(&self.number, bytes)?;
        Codec::plain().write(&self.sort, bytes)
    }

    pub(super) fn read(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        let [subject, what] = Codec::<[u64; 2]>::plain().read(bytes)?;
        let subject = Entity::from_bits(subject).ok_or(CodecError)?;
        let (number, sort) = (Codec::plain().read(bytes)?, Codec::plain().read(bytes)?);
        let read = Self { subject, what, number, sort };
        let is_known = sort == TIMER || read.kinds().is_valid();
        is_known.then_some(read).ok_or(CodecError)
    }

    pub(super) const fn to(subject: Entity, kinds: EventKinds, number: u32) -> Self {
        let (what, block) = kinds.to_parts();
        let sort = if block == 0 { 0 } else { block + TIMER };
        Self { subject, what, number, sort }
    }

    pub(super) const fn timer(task: Entity, due: u64, number: u32) -> Self {
        Self { subject: task, what: due, number, sort: TIMER }
    }

    /// The entity that it is about; for a timer, the task itself.
    #[must_use]
    pub const fn subject(&self) -> Entity {
        self.subject
    }

    /// The kinds of events; none for a timer.
    #[must_use]
    pub const fn kinds(&self) -> EventKinds {
        match self.sort {
            TIMER => EventKinds::NONE,
            sort => EventKinds::of_block(self.what, sort.saturating_sub(TIMER)),
        }
    }

    /// The tick in which the timer runs out, if it is one.
    #[must_use]
    pub const fn due(&self) -> Option<u64> {
        if self.sort == TIMER { Some(self.what) } else { None }
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// Its token, given its task.
    #[must_use]
    pub const fn token(&self, task: Entity) -> Token {
        Token { task, number: self.number }
    }
}
