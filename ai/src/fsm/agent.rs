//! `FsmAgent`: the component of an agent that follows a state machine.

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

/// The component of an agent that follows a state machine: its innermost active state, and the events
/// that it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FsmAgent {
    pub(super) first: First,
    /// All events, allocated once the agent is sent one with a number of 64 or more. The first word is
    /// unused.
    more: Option<Box<Bits>>,
}

/// The part of the component that is enough while all events are among the first 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct First {
    events: u64,
    pub(super) updates: u32,
    pub(super) state: u16,
    /// Saturates.
    pub(super) refused: u16,
}

// Not cloned with an agent: the actions of the agent are not cloned either.
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

/// The last change of state of an agent that follows a state machine. The component is enabled from the
/// update that changed the state until the next update.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(enableable)]
#[repr(C)]
pub struct StateChanged {
    pub(super) from: u16,
    pub(super) to: u16,
}

impl StateChanged {
    /// The innermost state before the change; `None` if the machine has just begun.
    #[must_use]
    pub const fn from(&self) -> Option<usize> {
        if self.from == NONE { None } else { Some(self.from as usize) }
    }

    /// The innermost state after the change.
    #[must_use]
    pub const fn to(&self) -> usize {
        self.to as usize
    }
}

/// The memory of an agent that follows a machine: the states that were interrupted, and the last active
/// states of those with a history.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(buffer = 4)]
#[repr(transparent)]
pub struct StateMemory(pub(super) u16);

impl FsmAgent {
    /// Makes an entity with a body follow a machine. Running actions are halted; the next update enters
    /// the initial state.
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

    /// The innermost active state; `None` before the first update.
    #[must_use]
    pub const fn state(&self) -> Option<usize> {
        if self.first.state == NONE { None } else { Some(self.first.state as usize) }
    }

    /// The number of updates since that state was entered.
    #[must_use]
    pub const fn updates(&self) -> u32 {
        self.first.updates
    }

    /// The number of interruptions that were refused since `drive`, because 16 were already stacked: the
    /// machine interrupts more often than it returns. The count saturates at 65,535.
    #[must_use]
    pub const fn interruptions_refused(&self) -> u16 {
        self.first.refused
    }

    /// The number of events.
    pub const EVENTS_MAX: u32 = EVENTS_MAX;

    /// Sends an event to the agent, for the next update. An event that triggers no transition in that
    /// update is lost, also if another transition took precedence.
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

    /// Renumbers the pending events; those for which `renamed` returns `None` are dropped.
    pub(super) fn rename_events(&mut self, renamed: impl Fn(u32) -> Option<u32>) {
        let mut sent = self.more.as_deref().copied().unwrap_or(Bits::NONE);
        sent.0[0] = self.first.events;
        self.forget_events();
        let events = (0..).zip(sent.0).flat_map(|(number, word)| {
            set_bits(word).filter_map(move |bit| u32::try_from(64 * number + bit).ok())
        });
        events.filter_map(renamed).for_each(|event| self.send(event));
    }

    /// Clears the pending events.
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
