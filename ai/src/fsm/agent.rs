//! The mind of one agent that follows a machine.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Buffer, Component, ComponentError, Entity, QueryData, World};

use super::machine::{Machine, NONE};
use crate::action::give_mind;

/// On an agent that follows a state machine: its innermost state, and what it was sent.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct FsmAgent {
    pub(super) events: u64,
    pub(super) updates: u32,
    pub(super) state: u16,
    /// Saturating.
    pub(super) refused: u16,
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
        let mind = Self { events: 0, updates: 0, state: NONE, refused: 0 };
        let histories = if machine.has_history { machine.state_count() } else { 0 };
        let memory: Buffer<StateMemory> = (0..histories).map(|_| StateMemory(NONE)).collect();
        let changed = StateChanged { from: NONE, to: NONE };
        give_mind::<Self>(world, agent, (mind, memory, changed))?;
        world.set_enabled::<StateChanged>(agent, false)?;
        Ok(())
    }

    /// The innermost state that it is in; `None` before the first update.
    #[must_use]
    pub const fn state(&self) -> Option<usize> {
        if self.state == NONE { None } else { Some(self.state as usize) }
    }

    /// How many updates ago that was entered.
    #[must_use]
    pub const fn updates(&self) -> u32 {
        self.updates
    }

    /// How many interruptions were refused since it is driven, since 16 lay on each other already: a
    /// machine that interrupts more often than it comes back. More than 65,535 count as that.
    #[must_use]
    pub const fn interruptions_refused(&self) -> u16 {
        self.refused
    }

    /// Sends it an event, from 0 to 63, for the next update. An event that leads nowhere then is
    /// lost, as are those that a more important transition came before.
    ///
    /// # Panics
    /// Panics if it is above 63.
    pub const fn send(&mut self, event: u32) {
        assert!(event < 64, "there are 64 events");
        self.events |= 1 << event;
    }
}
