//! One update of a state machine for one agent.

use formic_ecs::{Buffer, QueryData};

use super::agent::{FsmAgent, StateMemory};
use super::machine::{FlatTransition, Machine, NO_GUARD, NONE};
use super::record::{TransitionReasons, note};
use super::situation::Situation;
use super::state::History;
use super::transition::TransitionTarget;
use crate::action::Body;
use crate::explain::Watch;

/// The data that an update reads and writes.
pub(super) struct Update<'u, 'i, Q: QueryData> {
    pub(super) machine: &'u Machine<Q>,
    pub(super) agent: &'u mut FsmAgent,
    pub(super) body: &'u mut Body,
    pub(super) memory: &'u mut Buffer<StateMemory>,
    pub(super) item: &'u mut Q::Item<'i>,
}

/// The index of the first transition that can be taken, and whether an interruption before it was refused
/// only because the stack of interruptions is full.
///
/// A separate function with few arguments: for an agent that stays in its state, the loop consists of
/// little more than this call.
#[inline(never)]
pub(super) fn choose<Q: QueryData>(
    machine: &Machine<Q>,
    agent: &FsmAgent,
    body: &Body,
    memory: &Buffer<StateMemory>,
    item: &Q::Item<'_>,
) -> (Option<usize>, bool) {
    let range = machine.states[usize::from(agent.first.state)].transitions.clone();
    let range = range.start as usize..range.end as usize;
    let situation = Situation { machine, agent, body, memory };
    let mut is_refused = false;
    let place = machine.transitions[range.clone()].iter().position(|transition| {
        let is_plain = transition.is_plain;
        if !(is_plain || situation.is_triggered(transition))
            || !(transition.guard == NO_GUARD || (machine.guards[transition.guard as usize])(item))
        {
            return false;
        }
        let is_possible = is_plain || situation.is_possible(transition);
        is_refused |= !is_possible && matches!(transition.to, TransitionTarget::Push(_));
        is_possible
    });
    (place.map(|place| range.start + place), is_refused)
}

impl<Q: QueryData> Update<'_, '_, Q> {
    /// Takes the transition at this index; `None` enters the initial state.
    pub(super) fn change(&mut self, chosen: Option<usize>, watch: Option<Watch<'_>>) {
        // A save made with another machine has fewer.
        let missing = self.machine.histories().saturating_sub(self.memory.len());
        self.memory.extend(std::iter::repeat_n(StateMemory(NONE), missing));
        let Some(chosen) = chosen else {
            self.enter(NONE, self.machine.initial);
            if let Some(watch) = watch {
                note(watch, self.machine, self.agent, None);
            }
            return;
        };
        // The reasons must be captured first: taking the transition changes them.
        let reasons = watch.map(|watch| (watch, TransitionReasons::of(&self.situation(), chosen)));
        self.agent.forget_events();
        self.take(self.machine.transitions[chosen]);
        if let Some((watch, reasons)) = reasons {
            note(watch, self.machine, self.agent, Some(reasons));
        }
    }

    fn situation(&self) -> Situation<'_, Q> {
        let Self { machine, agent, body, memory, .. } = self;
        Situation { machine, agent, body, memory }
    }

    fn take(&mut self, transition: FlatTransition) {
        let from = self.agent.first.state;
        let to = match transition.to {
            TransitionTarget::To(to) => to,
            TransitionTarget::Push(to) => {
                self.memory.push(StateMemory(from));
                to
            }
            TransitionTarget::Back => match self.memory.pop() {
                Some(interrupted) => self.known(interrupted.0).unwrap_or(self.machine.initial),
                None => return,
            },
        };
        let common = self.machine.common(from, to);
        let mut state = from;
        while state != common {
            state = self.exit(state);
        }
        self.enter(common, to);
    }

    /// Exits a state, and returns the state that it lies in.
    fn exit(&mut self, number: u16) -> u16 {
        let state = &self.machine.states[usize::from(number)];
        if let Some(action) = state.action {
            self.body.halt(usize::from(action));
        }
        if let Some(exit) = &state.exit {
            exit(self.item);
        }
        if self.machine.has_history && state.parent != NONE {
            self.memory[usize::from(state.parent)].0 = number;
        }
        state.parent
    }

    /// Enters the states between `common`, which is active, and `to`, then `to`, then its initial or
    /// remembered inner states.
    fn enter(&mut self, common: u16, to: u16) {
        // From the outside in. The depth is small, and searching for each level again needs no memory.
        let mut depth = if common == NONE { 0 } else { self.depth(common) + 1 };
        while depth <= self.depth(to) {
            let at = self.machine.ancestors(to).find(|&at| self.depth(at) == depth);
            self.enter_one(at.unwrap_or(to));
            depth += 1;
        }
        let (mut at, mut is_deep) = (to, false);
        loop {
            let state = &self.machine.states[usize::from(at)];
            if state.initial == NONE {
                break;
            }
            is_deep |= state.history == History::Deep;
            let is_kept = is_deep || state.history == History::Shallow;
            let last = if is_kept { self.known(self.memory[usize::from(at)].0) } else { None };
            // A save may come from another machine, in which that state lay elsewhere.
            let is_inside = |&last: &u16| self.machine.states[usize::from(last)].parent == at;
            at = last.filter(is_inside).unwrap_or(state.initial);
            self.enter_one(at);
        }
        (self.agent.first.state, self.agent.first.updates) = (at, 0);
    }

    /// A remembered state, if the machine has it.
    fn known(&self, state: u16) -> Option<u16> {
        Some(state).filter(|&state| usize::from(state) < self.machine.states.len())
    }

    fn depth(&self, state: u16) -> u16 {
        self.machine.states[usize::from(state)].depth
    }

    fn enter_one(&mut self, number: u16) {
        let state = &self.machine.states[usize::from(number)];
        if let Some(action) = state.action {
            self.body.begin(usize::from(action));
        }
        if let Some(enter) = &state.enter {
            enter(self.item);
        }
    }
}
