//! Agents and their actions.

use crate::harness::Cell;
use crate::model::{ACTIONS, ADVANCE_EVERY, action_order, first_action, sum_bits};

struct State {
    /// By agent: its current action.
    current: Vec<u32>,
    /// By action: its agent and its index there.
    owners: Vec<(u32, u32)>,
    active: Vec<bool>,
    progress: Vec<u32>,
    /// By agent: its actions.
    actions: Vec<[u32; ACTIONS as usize]>,
    frame: usize,
}

impl State {
    fn of(n: usize, shuffle: bool) -> Self {
        let order = action_order(n, shuffle);
        let mut actions = vec![[0; ACTIONS as usize]; n];
        for (at, &(agent, index)) in order.iter().enumerate() {
            actions[agent][index as usize] = at as u32;
        }
        Self {
            current: (0..n).map(first_action).collect(),
            owners: order.iter().map(|&(agent, index)| (agent as u32, index)).collect(),
            active: order.iter().map(|&(agent, index)| index == first_action(agent)).collect(),
            progress: vec![0; order.len()],
            actions,
            frame: 0,
        }
    }

    fn progress(&mut self) {
        for (progress, active) in self.progress.iter_mut().zip(&self.active) {
            *progress += u32::from(*active);
        }
    }

    fn check(&self) -> u64 {
        sum_bits(self.progress.iter().copied())
    }
}

pub(super) fn flag(n: usize, shuffle: bool) -> Cell {
    let frame = |state: &mut State| {
        let phase = state.frame % ADVANCE_EVERY;
        state.frame += 1;
        for agent in (phase..state.current.len()).step_by(ADVANCE_EVERY) {
            state.current[agent] = (state.current[agent] + 1) % ACTIONS;
        }
        for (active, &(agent, index)) in state.active.iter_mut().zip(&state.owners) {
            *active = state.current[agent as usize] == index;
        }
        state.progress();
    };
    Cell::frames(State::of(n, shuffle), frame, |state| state.check())
}

pub(super) fn flag_push(n: usize) -> Cell {
    let frame = |state: &mut State| {
        let phase = state.frame % ADVANCE_EVERY;
        state.frame += 1;
        for agent in (phase..state.current.len()).step_by(ADVANCE_EVERY) {
            let before = state.current[agent];
            let after = (before + 1) % ACTIONS;
            state.current[agent] = after;
            let actions = &state.actions[agent];
            state.active[actions[before as usize] as usize] = false;
            state.active[actions[after as usize] as usize] = true;
        }
        state.progress();
    };
    Cell::frames(State::of(n, false), frame, |state| state.check())
}
