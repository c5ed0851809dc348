//! Rows that add, remove and look up by id.

use flecs_ecs::prelude::*;

use super::{A, B, Value, bodies, check_positions, spawn_one};
use crate::harness::Cell;
use crate::model::{shuffled, sum_bits, sum_floats};

fn lone(n: usize) -> (World, Vec<Entity>) {
    let world = World::new();
    let values: Vec<A> = (0..n).map(|i| A(i as f32)).collect();
    let entities = world.entity_bulk(n as u32).set(&values).build();
    (world, entities)
}

fn check_lone(world: &World) -> u64 {
    let mut all = Vec::new();
    world.new_query::<&A>().each(|a| all.push(a.0));
    sum_floats(all.into_iter()).wrapping_add(world.new_query::<&B>().count() as u64)
}

pub(super) fn add_remove(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        for &entity in &*entities {
            world.entity_from_id(entity).set(B(1.0));
        }
        for &entity in &*entities {
            world.entity_from_id(entity).remove(B::id());
        }
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

pub(super) fn add_remove_cmd(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        world.defer_begin();
        for &entity in &*entities {
            world.entity_from_id(entity).set(B(1.0));
        }
        world.defer_end();
        world.defer_begin();
        for &entity in &*entities {
            world.entity_from_id(entity).remove(B::id());
        }
        world.defer_end();
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

struct Lookups {
    world: World,
    order: Vec<Entity>,
    sum: u64,
}

impl Lookups {
    fn of(n: usize) -> Self {
        let world = World::new();
        let values: Vec<Value> = (0..n as u32).map(Value).collect();
        let mut bulk = world.entity_bulk(n as u32);
        let entities = bulk.set(&values).set(&vec![A(0.0); n]).build();
        let order = shuffled(n).into_iter().map(|i| entities[i]).collect();
        Self { world, order, sum: 0 }
    }

    fn check(&mut self) -> u64 {
        let mut all = Vec::new();
        self.world.new_query::<&Value>().each(|value| all.push(value.0));
        sum_bits(all.into_iter()).wrapping_add(self.sum)
    }
}

/// By `cloned`, which is faster than `get` with a closure: it defers nothing.
pub(super) fn random_read(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        for &entity in &state.order {
            state.sum += u64::from(state.world.entity_from_id(entity).cloned::<&Value>().0);
        }
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        for &entity in &state.order {
            state.world.entity_from_id(entity).get::<&mut Value>(|value| value.0 += 1);
        }
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn despawn(n: usize, order: Vec<usize>) -> Cell {
    let build = move || {
        let (world, entities) = bodies(n);
        let doomed: Vec<Entity> = order.iter().map(|&i| entities[i]).collect();
        (world, doomed)
    };
    let run = |(world, doomed): &mut (World, Vec<Entity>)| {
        for &entity in &*doomed {
            world.entity_from_id(entity).destruct();
        }
    };
    Cell::rebuilt(build, run, |(world, _)| check_positions(world))
}

pub(super) fn churn(n: usize) -> Cell {
    struct State {
        world: World,
        entities: Vec<Entity>,
        order: Vec<usize>,
        frame: usize,
    }
    let (world, entities) = bodies(n);
    let frame = |state: &mut State| {
        let tenth = state.order.len() / 10;
        let from = state.frame % 10 * tenth;
        let chosen = &state.order[from..from + tenth];
        for &id in chosen {
            state.world.entity_from_id(state.entities[id]).destruct();
        }
        for &id in chosen {
            state.entities[id] = spawn_one(&state.world, id + state.frame);
        }
        state.frame += 1;
    };
    let state = State { world, entities, order: shuffled(n), frame: 0 };
    Cell::frames(state, frame, |state| check_positions(&mut state.world))
}
