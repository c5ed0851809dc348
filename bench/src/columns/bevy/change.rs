//! Rows that add, remove and look up by id.

use bevy_ecs::prelude::*;
use bevy_ecs::world::CommandQueue;

use super::{A, B, Value, bodies, bundle, check_positions};
use crate::harness::Cell;
use crate::model::{mixed, shuffled, sum_bits, sum_floats};

fn lone(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(|i| A(i as f32))).collect();
    (world, entities)
}

fn check_lone(world: &mut World) -> u64 {
    let a = sum_floats(world.query::<&A>().iter(world).map(|a| a.0));
    a.wrapping_add(world.query::<&B>().iter(world).count() as u64)
}

pub(super) fn add_remove(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        for &entity in &*entities {
            world.entity_mut(entity).insert(B(1.0));
        }
        for &entity in &*entities {
            world.entity_mut(entity).remove::<B>();
        }
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

pub(super) fn add_remove_cmd(n: usize) -> Cell {
    let (world, entities) = lone(n);
    let frame = |(world, entities, queue): &mut (World, Vec<Entity>, CommandQueue)| {
        let mut commands = Commands::new(queue, world);
        for &entity in &*entities {
            commands.entity(entity).insert(B(1.0));
        }
        queue.apply(world);
        let mut commands = Commands::new(queue, world);
        for &entity in &*entities {
            commands.entity(entity).remove::<B>();
        }
        queue.apply(world);
    };
    Cell::frames((world, entities, CommandQueue::default()), frame, |(world, ..)| check_lone(world))
}

struct Lookups<D: bevy_ecs::query::QueryData + 'static> {
    world: World,
    query: QueryState<D>,
    order: Vec<Entity>,
    sum: u64,
}

impl<D: bevy_ecs::query::QueryData + 'static> Lookups<D> {
    fn of(n: usize) -> Self {
        let mut world = World::new();
        let bundles = (0..n).map(|i| (Value(i as u32), A(0.0)));
        let entities: Vec<Entity> = world.spawn_batch(bundles).collect();
        let order = shuffled(n).into_iter().map(|i| entities[i]).collect();
        let query = world.query();
        Self { world, query, order, sum: 0 }
    }

    fn check(&mut self) -> u64 {
        let values = self.world.query::<&Value>();
        let sum = |mut values: QueryState<&Value>| {
            sum_bits(values.iter(&self.world).map(|value| value.0))
        };
        sum(values).wrapping_add(self.sum)
    }
}

pub(super) fn random_read(n: usize) -> Cell {
    let frame = |state: &mut Lookups<&'static Value>| {
        let values = state.query.query(&state.world);
        for &entity in &state.order {
            state.sum += u64::from(values.get(entity).expect("alive").0);
        }
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups<&'static mut Value>| {
        let mut values = state.query.query_mut(&mut state.world);
        for &entity in &state.order {
            values.get_mut(entity).expect("alive").0 += 1;
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
            world.despawn(entity);
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
            state.world.despawn(state.entities[id]);
        }
        for &id in chosen {
            state.entities[id] = state.world.spawn(bundle(id + state.frame)).id();
        }
        state.frame += 1;
    };
    let state = State { world, entities, order: shuffled(n), frame: 0 };
    Cell::frames(state, frame, |state| check_positions(&mut state.world))
}

/// By change ticks, which every write through a query sets.
pub(super) fn changed(n: usize) -> Cell {
    struct State {
        world: World,
        values: QueryState<&'static mut Value>,
        changed: QueryState<&'static Value, Changed<Value>>,
        /// In an order that looks random, each with what is added.
        order: Vec<(Entity, u32)>,
        frame: usize,
        seen: u64,
    }
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..n).map(|_| Value(0))).collect();
    let order = shuffled(n).into_iter().map(|i| (entities[i], i as u32 + 1)).collect();
    let (values, changed) = (world.query(), world.query_filtered());
    world.clear_trackers();
    let frame = |state: &mut State| {
        let len = state.order.len() / 100;
        let from = state.frame % 100 * len;
        state.frame += 1;
        let mut values = state.values.query_mut(&mut state.world);
        for &(entity, step) in &state.order[from..from + len] {
            values.get_mut(entity).expect("alive").0 += step;
        }
        state.changed.iter(&state.world).for_each(|value| {
            state.seen = state.seen.wrapping_add(mixed(u64::from(value.0)));
        });
        state.world.clear_trackers();
    };
    let state = State { world, values, changed, order, frame: 0, seen: 0 };
    Cell::frames(state, frame, |state| state.seen)
}
