//! The mind of one agent that follows a machine.

use std::fmt;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable, bytes_of};
use formic_ecs::{
    Buffer, Codec, CodecError, Component, ComponentError, DebugFn, Entity, HashRule, QueryData,
    World,
};

use super::machine::{Machine, NONE};
use super::transition::EVENTS_MAX;
use crate::action::give_mind;
use crate::bits::{Bits, set_bits};

/// On an agent that follows a state machine: its innermost state, and what it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FsmAgent {
    pub(super) first: First,
    /// The events from the 64th on, once it was sent one of them.
    more: Option<Box<Bits>>,
}

/// What there is to know of an agent that was sent none but the first 64 events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct First {
    events: u64,
    pub(super) updates: u32,
    pub(super) state: u16,
    /// Saturating.
    pub(super) refused: u16,
}

// It is not cloned with an agent, whose actions are not either.
impl Component for FsmAgent {
    const HASH: HashRule<Self> = HashRule::Fields(|agent, hasher| {
        hasher.write(bytes_of(&agent.first));
        agent.more_events().iter().for_each(|events| hasher.write(bytes_of(&events.0)));
    });
    const DEBUG: Option<DebugFn<Self>> = Some(fmt::Debug::fmt);
    const CODEC: Codec<Self> = Codec::custom(
        |agent, bytes| {
            bytes.extend(bytes_of(&agent.first));
            bytes.push(agent.more_events().is_some().into());
            agent.more_events().iter().for_each(|events| bytes.extend(bytes_of(&events.0)));
            Ok(())
        },
        |bytes| {
            let first = Codec::plain().read(bytes)?;
            let more = match Codec::<u8>::plain().read(bytes)? {
                0 => None,
                1 => Some(Box::new(Bits(Codec::plain().read(bytes)?))),
                _ => return Err(CodecError),
            };
            Ok(Self { first, more })
        },
    );
}

/// On an agent that follows a state machine: how it changed state last. It is switched on from the
/// update in which it did until the next one.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(enableable)]
#[repr(C)]
pub struct StateChanged {
    pub(super) from: u16,
    pub(super) to: u16,
}

impl StateChanged {
    /// The innermost state before; `None` as the machine begins.
    #[must_use]
    pub const fn from(&self) -> Option<usize> {
        if self.from == NONE { None } else { Some(self.from as usize) }
    }

    /// The innermost state now.
    #[must_use]
    pub const fn to(&self) -> usize {
        self.to as usize
    }
}

/// What an agent remembers of its machine: which states were interrupted, and which were last in
/// those that have a history.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(buffer = 4)]
#[repr(transparent)]
pub struct StateMemory(pub(super) u16);

impl FsmAgent {
    /// Has an entity that has a body follow a machine. What is running is halted; the initial state
    /// is entered with the next update.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    pub fn drive<Q: QueryData>(
        world: &mut World,
        agent: Entity,
        machine: &Machine<Q>,
    ) -> Result<(), ComponentError> {
        let first = First { events: 0, updates: 0, state: NONE, refused: 0 };
        let mind = Self { first, more: None };
        let memory: Buffer<StateMemory> =
            (0..machine.histories()).map(|_| StateMemory(NONE)).collect();
        let changed = StateChanged { from: NONE, to: NONE };
        give_mind::<Self>(world, agent, "an argument `Machines`", (mind, memory, changed))?;
        world.set_enabled::<StateChanged>(agent, false)?;
        Ok(())
    }

    /// The innermost state that it is in; `None` before the first update.
    #[must_use]
    pub const fn state(&self) -> Option<usize> {
        if self.first.state == NONE { None } else { Some(self.first.state as usize) }
    }

    /// How many updates ago that was entered.
    #[must_use]
    pub const fn updates(&self) -> u32 {
        self.first.updates
    }

    /// How many interruptions were refused since it is driven, since 16 lay on each other already: a
    /// machine that interrupts more often than it comes back. More than 65,535 count as that.
    #[must_use]
    pub const fn interruptions_refused(&self) -> u16 {
        self.first.refused
    }

    /// How many events there are.
    pub const EVENTS_MAX: u32 = EVENTS_MAX;

    /// Sends it an event, for the next update. An event that leads nowhere then is lost, as are those
    /// that a more important transition came before.
    ///
    /// # Panics
    /// Panics if the event is not below [`Self::EVENTS_MAX`].
    pub fn send(&mut self, event: u32) {
        assert!(event < Self::EVENTS_MAX, "there are {} events", Self::EVENTS_MAX);
        if event < 64 {
            self.first.events |= 1 << event;
        } else {
            self.more.get_or_insert(Box::new(Bits::NONE)).insert(event as usize);
        }
    }

    #[inline]
    pub(super) fn was_sent(&self, event: u32) -> bool {
        match &self.more {
            Some(more) if event >= 64 => more.has(event as usize),
            _ => event < 64 && self.first.events >> event & 1 == 1,
        }
    }

    /// Has the events that it was sent be others, or none.
    pub(super) fn rename_events(&mut self, renamed: impl Fn(u32) -> Option<u32>) {
        let mut sent = self.more.as_deref().copied().unwrap_or(Bits::NONE);
        sent.0[0] = self.first.events;
        self.forget_events();
        let events = (0..).zip(sent.0).flat_map(|(number, word)| {
            set_bits(word).filter_map(move |bit| u32::try_from(64 * number + bit).ok())
        });
        events.filter_map(renamed).for_each(|event| self.send(event));
    }

    /// Forgets the events that it was sent.
    #[inline]
    pub(super) fn forget_events(&mut self) {
        self.first.events = 0;
        if let Some(more) = &mut self.more {
            **more = Bits::NONE;
        }
    }

    fn more_events(&self) -> Option<&Bits> {
        self.more.as_deref().filter(|more| **more != Bits::NONE)
    }
}
