//! The inputs of a machine's transitions, for one agent.

use formic_ecs::{Buffer, QueryData};

use super::agent::{FsmAgent, StateMemory};
use super::machine::{FlatTransition, Machine};
use super::transition::{TransitionTarget, Trigger};
use crate::action::{ActionResult, Body};

/// The maximum depth of the stack of interruptions. A further one is refused and counted.
pub(super) const INTERRUPTIONS_MAX: usize = 16;

/// The inputs that transitions depend on, other than those of their guards.
pub(super) struct Situation<'s, Q: QueryData> {
    pub(super) machine: &'s Machine<Q>,
    pub(super) agent: &'s FsmAgent,
    pub(super) body: &'s Body,
    /// The buffer rather than its slice, which is only resolved where it is read.
    pub(super) memory: &'s Buffer<StateMemory>,
}

impl<Q: QueryData> Situation<'_, Q> {
    /// Whether the transition's event has been sent, its time has passed, or its action has ended.
    #[inline]
    pub(super) fn is_triggered(&self, transition: &FlatTransition) -> bool {
        match transition.trigger {
            Trigger::Always => true,
            Trigger::Event(event) => self.agent.was_sent(event),
            Trigger::After(updates) => self.agent.first.updates >= updates,
            Trigger::Done => self.ended(transition.from) == Some(ActionResult::Success),
            Trigger::Failed => self.ended(transition.from) == Some(ActionResult::Failed),
        }
    }

    /// Whether the stack of interruptions allows the transition.
    #[inline]
    pub(super) fn is_possible(&self, transition: &FlatTransition) -> bool {
        match transition.to {
            TransitionTarget::To(_) => true,
            TransitionTarget::Push(_) => self.interruptions() < INTERRUPTIONS_MAX,
            TransitionTarget::Back => self.interruptions() > 0,
        }
    }

    fn ended(&self, state: u16) -> Option<ActionResult> {
        let action = self.machine.states[usize::from(state)].action?;
        self.body.ended(usize::from(action))
    }

    pub(super) fn interruptions(&self) -> usize {
        self.memory.len().saturating_sub(self.machine.histories())
    }
}
