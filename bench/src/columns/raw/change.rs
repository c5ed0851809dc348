//! Rows that add, remove and look up by id.

use super::Bodies;
use crate::harness::Cell;
use crate::model::{flipped, mixed, shuffled, starts_on, sum_bits, sum_floats};

pub(super) fn add_remove(n: usize) -> Cell {
    struct State {
        a: Vec<f32>,
        b: Vec<f32>,
    }
    let a = (0..n).map(|i| i as f32).collect();
    let frame = |state: &mut State| {
        for a in &state.a {
            state.b.push(*a);
        }
        for _ in 0..state.a.len() {
            state.b.pop();
        }
    };
    Cell::frames(State { a, b: Vec::new() }, frame, |state| {
        sum_floats(state.a.iter().copied()).wrapping_add(state.b.len() as u64)
    })
}

pub(super) fn toggle_flag(n: usize) -> Cell {
    struct State {
        flags: Vec<bool>,
        values: Vec<u32>,
        flips: Vec<usize>,
    }
    let state = State {
        flags: (0..n).map(starts_on).collect(),
        values: vec![0; n],
        flips: flipped(n).collect(),
    };
    let frame = |state: &mut State| {
        for &at in &state.flips {
            state.flags[at] = !state.flags[at];
        }
        for (value, flag) in state.values.iter_mut().zip(&state.flags) {
            *value += u32::from(*flag);
        }
    };
    Cell::frames(state, frame, |state| sum_bits(state.values.iter().copied()))
}

struct Lookups {
    values: Vec<u32>,
    order: Vec<usize>,
    sum: u64,
}

impl Lookups {
    fn of(n: usize) -> Self {
        Self { values: (0..n as u32).collect(), order: shuffled(n), sum: 0 }
    }

    fn check(&self) -> u64 {
        sum_bits(self.values.iter().copied()).wrapping_add(self.sum)
    }
}

pub(super) fn random_read(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        for &at in &state.order {
            state.sum += u64::from(state.values[at]);
        }
    };
    Cell::frames(Lookups::of(n), frame, |state| state.check())
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        for &at in &state.order {
            state.values[at] += 1;
        }
    };
    Cell::frames(Lookups::of(n), frame, |state| state.check())
}

/// Bodies with ids: the least that a store without holes has to keep.
struct Crowd {
    bodies: Bodies,
    /// By place: whose it is.
    ids: Vec<u32>,
    /// By id: the place.
    places: Vec<u32>,
}

impl Crowd {
    fn of(n: usize) -> Self {
        Self {
            bodies: Bodies::of(n),
            ids: (0..n as u32).collect(),
            places: (0..n as u32).collect(),
        }
    }

    fn despawn(&mut self, id: usize) {
        let place = self.places[id] as usize;
        self.bodies.swap_remove(place);
        self.ids.swap_remove(place);
        if let Some(&moved) = self.ids.get(place) {
            self.places[moved as usize] = place as u32;
        }
    }

    fn spawn(&mut self, id: usize, i: usize) {
        self.places[id] = self.ids.len() as u32;
        self.ids.push(id as u32);
        self.bodies.push(i);
    }
}

pub(super) fn despawn(n: usize, order: Vec<usize>) -> Cell {
    let run = move |crowd: &mut Crowd| order.iter().for_each(|&id| crowd.despawn(id));
    Cell::rebuilt(move || Crowd::of(n), run, |crowd| crowd.bodies.check())
}

pub(super) fn churn(n: usize) -> Cell {
    struct State {
        crowd: Crowd,
        order: Vec<usize>,
        frame: usize,
    }
    let frame = |state: &mut State| {
        let tenth = state.order.len() / 10;
        let from = state.frame % 10 * tenth;
        let chosen = &state.order[from..from + tenth];
        chosen.iter().for_each(|&id| state.crowd.despawn(id));
        for &id in chosen {
            state.crowd.spawn(id, id + state.frame);
        }
        state.frame += 1;
    };
    let state = State { crowd: Crowd::of(n), order: shuffled(n), frame: 0 };
    Cell::frames(state, frame, |state| state.crowd.bodies.check())
}

/// Each write is entered into a list, once.
pub(super) fn changed(n: usize) -> Cell {
    struct State {
        values: Vec<u32>,
        is_listed: Vec<bool>,
        changed: Vec<usize>,
        order: Vec<usize>,
        frame: usize,
        seen: u64,
    }
    let state = State {
        values: vec![0; n],
        is_listed: vec![false; n],
        changed: Vec::new(),
        order: shuffled(n),
        frame: 0,
        seen: 0,
    };
    let frame = |state: &mut State| {
        let len = state.order.len() / 100;
        let from = state.frame % 100 * len;
        state.frame += 1;
        for &id in &state.order[from..from + len] {
            state.values[id] += id as u32 + 1;
            if !state.is_listed[id] {
                state.is_listed[id] = true;
                state.changed.push(id);
            }
        }
        for id in state.changed.drain(..) {
            state.is_listed[id] = false;
            state.seen = state.seen.wrapping_add(mixed(u64::from(state.values[id])));
        }
    };
    Cell::frames(state, frame, |state| state.seen)
}
