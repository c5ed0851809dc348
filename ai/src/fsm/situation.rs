//! The situation of one agent, as its machine sees it.

use formic_ecs::{Buffer, QueryData};

use super::agent::{FsmAgent, StateMemory};
use super::machine::{FlatTransition, Machine};
use super::transition::{Goes, Trigger};
use crate::action::{ActionResult, Body};

/// How many interruptions can lie on each other. One more is refused, and counted.
pub(super) const INTERRUPTIONS_MAX: usize = 16;

/// What transitions depend on, but for their guards.
pub(super) struct Situation<'s, Q: QueryData> {
    pub(super) machine: &'s Machine<Q>,
    pub(super) agent: &'s FsmAgent,
    pub(super) body: &'s Body,
    /// Not as a slice: where its elements are is worked out where it is read.
    pub(super) memory: &'s Buffer<StateMemory>,
}

impl<Q: QueryData> Situation<'_, Q> {
    /// Whether its event, its time or its end has come.
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

    /// Whether the stack of interruptions allows it.
    #[inline]
    pub(super) fn is_possible(&self, transition: &FlatTransition) -> bool {
        match transition.to {
            Goes::To(_) => true,
            Goes::Push(_) => self.interruptions() < INTERRUPTIONS_MAX,
            Goes::Back => self.interruptions() > 0,
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
