//! One update of a machine for one agent.

use formic_ecs::{Buffer, QueryData};

use super::agent::{FsmAgent, StateMemory};
use super::machine::{FlatTransition, Machine, NO_GUARD, NONE};
use super::record::{Sight, note};
use super::situation::Situation;
use super::state::History;
use super::transition::Goes;
use crate::action::Body;
use crate::explain::Watch;

/// What an update reads and writes.
pub(super) struct Update<'u, 'i, Q: QueryData> {
    pub(super) machine: &'u Machine<Q>,
    pub(super) agent: &'u mut FsmAgent,
    pub(super) body: &'u mut Body,
    pub(super) memory: &'u mut Buffer<StateMemory>,
    pub(super) item: &'u mut Q::Item<'i>,
}

/// The first transition that can be taken, by its place, and whether an interruption before it would
/// have been, but for the stack of interruptions, which is full.
///
/// A function of its own with few arguments: the loop over agents that stay where they are is a call
/// of it and not much else.
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
        is_refused |= !is_possible && matches!(transition.to, Goes::Push(_));
        is_possible
    });
    (place.map(|place| range.start + place), is_refused)
}

impl<Q: QueryData> Update<'_, '_, Q> {
    /// Takes the transition at this place; where there is none, enters the initial state.
    pub(super) fn change(&mut self, chosen: Option<usize>, watch: Option<Watch<'_>>) {
        let Some(chosen) = chosen else {
            self.enter(NONE, self.machine.initial);
            if let Some(watch) = watch {
                note(watch, self.machine, self.agent, None);
            }
            return;
        };
        // What is seen now is gone when the transition has been taken.
        let sight = watch.map(|watch| (watch, Sight::of(&self.situation(), chosen)));
        self.agent.forget_events();
        self.take(self.machine.transitions[chosen]);
        if let Some((watch, sight)) = sight {
            note(watch, self.machine, self.agent, Some(sight));
        }
    }

    /// How things stand.
    fn situation(&self) -> Situation<'_, Q> {
        let Self { machine, agent, body, memory, .. } = self;
        Situation { machine, agent, body, memory }
    }

    fn take(&mut self, transition: FlatTransition) {
        let from = self.agent.first.state;
        let to = match transition.to {
            Goes::To(to) => to,
            Goes::Push(to) => {
                self.memory.push(StateMemory(from));
                to
            }
            Goes::Back => match self.memory.pop() {
                Some(interrupted) => interrupted.0,
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

    /// Leaves a state; returns the one that it lies in.
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

    /// Enters what lies between a state that is active and another one, that one, and what is
    /// entered with it.
    fn enter(&mut self, common: u16, to: u16) {
        // From the outside: there are few, and asking for each level anew needs no memory.
        let mut depth = if common == NONE { 0 } else { self.depth(common) + 1 };
        while depth <= self.depth(to) {
            let at = self.machine.way(to).find(|&at| self.depth(at) == depth);
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
            let last = if is_kept { self.memory[usize::from(at)].0 } else { NONE };
            at = if last == NONE { state.initial } else { last };
            self.enter_one(at);
        }
        (self.agent.first.state, self.agent.first.updates) = (at, 0);
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
