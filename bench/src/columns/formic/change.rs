//! Rows that add, remove and look up by id.

use formic_ecs::ViewPlan;
use formic_ecs::prelude::*;

use super::{A, B, Value, bodies, bundle, check_positions};
use crate::harness::Cell;
use crate::model::{mixed, shuffled, sum_bits, sum_floats};

fn lone(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(|i| A(i as f32)));
    (world, entities)
}

fn check_lone(world: &mut World) -> u64 {
    let a = sum_floats(world.query::<&A>().map(|a| a.0));
    a.wrapping_add(world.query::<&B>().count() as u64)
}

pub(super) fn add_remove(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        for &entity in &*entities {
            world.insert(entity, B(1.0)).expect("alive");
        }
        for &entity in &*entities {
            world.remove::<B>(entity).expect("alive");
        }
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

pub(super) fn add_remove_cmd(n: usize) -> Cell {
    let (world, entities) = lone(n);
    let commands = CommandBuffer::new(&world);
    let frame = |(world, entities, commands): &mut (World, Vec<Entity>, CommandBuffer)| {
        for &entity in &*entities {
            commands.insert(entity, B(1.0));
        }
        commands.play(world);
        for &entity in &*entities {
            commands.remove::<B>(entity);
        }
        commands.play(world);
    };
    Cell::frames((world, entities, commands), frame, |(world, ..)| check_lone(world))
}

struct Lookups<Q: formic_ecs::QueryData> {
    world: World,
    plan: ViewPlan<Q>,
    order: Vec<Entity>,
    sum: u64,
}

impl<Q: formic_ecs::QueryData> Lookups<Q> {
    fn of(n: usize) -> Self {
        let mut world = World::new();
        let entities = world.spawn_batch((0..n).map(|i| (Value(i as u32), A(0.0))));
        let order = shuffled(n).into_iter().map(|i| entities[i]).collect();
        let plan = world.view_plan();
        Self { world, plan, order, sum: 0 }
    }

    fn check(&mut self) -> u64 {
        let values = self.world.query::<&Value>().map(|value| value.0);
        sum_bits(values).wrapping_add(self.sum)
    }
}

pub(super) fn random_read(n: usize) -> Cell {
    let frame = |state: &mut Lookups<&'static Value>| {
        let cell = state.world.cell();
        let values = cell.view(&mut state.plan).expect("nobody else is there");
        for &entity in &state.order {
            state.sum += u64::from(values.get(entity).expect("alive").0);
        }
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups<&'static mut Value>| {
        let cell = state.world.cell();
        let mut values = cell.view(&mut state.plan).expect("nobody else is there");
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
        world.despawn_many(doomed.iter().copied());
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
        state.world.despawn_many(chosen.iter().map(|&id| state.entities[id]));
        for &id in chosen {
            state.entities[id] = state.world.spawn(bundle(id + state.frame));
        }
        state.frame += 1;
    };
    let state = State { world, entities, order: shuffled(n), frame: 0 };
    Cell::frames(state, frame, |state| check_positions(&mut state.world))
}

/// Its rows remember when they were written.
#[derive(Component)]
#[component(tracked)]
struct Watched(u32);

pub(super) fn changed(n: usize) -> Cell {
    struct State {
        world: World,
        plan: ViewPlan<&'static mut Watched>,
        /// In an order that looks random, each with what is added.
        order: Vec<(Entity, u32)>,
        frame: usize,
        seen: u64,
    }
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(|_| Watched(0)));
    let order = shuffled(n).into_iter().map(|i| (entities[i], i as u32 + 1)).collect();
    let plan = world.view_plan();
    let frame = |state: &mut State| {
        let len = state.order.len() / 100;
        let from = state.frame % 100 * len;
        state.frame += 1;
        let before = state.world.version();
        let cell = state.world.cell();
        let mut values = cell.view(&mut state.plan).expect("nobody else is there");
        for &(entity, step) in &state.order[from..from + len] {
            values.get_mut(entity).expect("alive").0 += step;
        }
        drop(values);
        let changed = state.world.query_filtered::<&Watched, Changed<Watched>>().since(before);
        changed.for_each(|value| {
            state.seen = state.seen.wrapping_add(mixed(u64::from(value.0)));
        });
    };
    Cell::frames(State { world, plan, order, frame: 0, seen: 0 }, frame, |state| state.seen)
}
