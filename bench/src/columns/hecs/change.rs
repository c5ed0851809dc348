//! Rows that add, remove and look up by id.

use hecs::{ChangeTracker, CommandBuffer, Entity, World};

use super::{A, B, Value, bodies, bundle, check_positions};
use crate::harness::Cell;
use crate::model::{flipped, mixed, shuffled, starts_on, sum_bits, sum_floats};

fn lone(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(|i| (A(i as f32),))).collect();
    (world, entities)
}

fn check_lone(world: &mut World) -> u64 {
    let a = sum_floats(world.query_mut::<&A>().into_iter().map(|a| a.0));
    a.wrapping_add(world.query_mut::<&B>().into_iter().count() as u64)
}

pub(super) fn add_remove(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        for &entity in &*entities {
            world.insert_one(entity, B(1.0)).expect("alive");
        }
        for &entity in &*entities {
            world.remove_one::<B>(entity).expect("alive");
        }
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

pub(super) fn add_remove_cmd(n: usize) -> Cell {
    let (world, entities) = lone(n);
    let frame = |(world, entities, commands): &mut (World, Vec<Entity>, CommandBuffer)| {
        for &entity in &*entities {
            commands.insert_one(entity, B(1.0));
        }
        commands.run_on(world);
        for &entity in &*entities {
            commands.remove_one::<B>(entity);
        }
        commands.run_on(world);
    };
    Cell::frames((world, entities, CommandBuffer::new()), frame, |(world, ..)| check_lone(world))
}

struct Flag(bool);

pub(super) fn toggle_flag(n: usize) -> Cell {
    let mut world = World::new();
    let bundles = (0..n).map(|i| (Flag(starts_on(i)), Value(0)));
    let entities: Vec<Entity> = world.spawn_batch(bundles).collect();
    let flips: Vec<Entity> = flipped(n).map(|i| entities[i]).collect();
    let frame = |(world, flips): &mut (World, Vec<Entity>)| {
        let mut flags = world.view_mut::<&mut Flag>();
        for &entity in &*flips {
            let flag = flags.get_mut(entity).expect("alive");
            flag.0 = !flag.0;
        }
        drop(flags);
        world.query_mut::<(&mut Value, &Flag)>().into_iter().for_each(|(value, flag)| {
            value.0 += u32::from(flag.0);
        });
    };
    Cell::frames((world, flips), frame, |(world, _)| check_values(world))
}

struct Active;

pub(super) fn toggle_tag(n: usize) -> Cell {
    struct State {
        world: World,
        /// Each with whether it was on at the beginning.
        flips: Vec<(Entity, bool)>,
        is_odd: bool,
    }
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..n).map(|_| (Value(0),))).collect();
    for i in (0..n).filter(|&i| starts_on(i)) {
        world.insert_one(entities[i], Active).expect("alive");
    }
    let flips = flipped(n).map(|i| (entities[i], starts_on(i))).collect();
    let frame = |state: &mut State| {
        for &(entity, started_on) in &state.flips {
            if started_on == state.is_odd {
                state.world.insert_one(entity, Active).expect("alive");
            } else {
                state.world.remove_one::<Active>(entity).expect("alive");
            }
        }
        state.is_odd = !state.is_odd;
        let active = state.world.query_mut::<&mut Value>().with::<&Active>();
        active.into_iter().for_each(|value| value.0 += 1);
    };
    Cell::frames(State { world, flips, is_odd: false }, frame, |state| {
        check_values(&mut state.world)
    })
}

fn check_values(world: &mut World) -> u64 {
    sum_bits(world.query_mut::<&Value>().into_iter().map(|value| value.0))
}

struct Lookups {
    world: World,
    order: Vec<Entity>,
    sum: u64,
}

impl Lookups {
    fn of(n: usize) -> Self {
        let mut world = World::new();
        let bundles = (0..n).map(|i| (Value(i as u32), A(0.0)));
        let entities: Vec<Entity> = world.spawn_batch(bundles).collect();
        let order = shuffled(n).into_iter().map(|i| entities[i]).collect();
        Self { world, order, sum: 0 }
    }

    fn check(&mut self) -> u64 {
        check_values(&mut self.world).wrapping_add(self.sum)
    }
}

pub(super) fn random_read(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        let values = state.world.view_mut::<&Value>();
        for &entity in &state.order {
            state.sum += u64::from(values.get(entity).expect("alive").0);
        }
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        let mut values = state.world.view_mut::<&mut Value>();
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
            world.despawn(entity).expect("alive");
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
            state.world.despawn(state.entities[id]).expect("alive");
        }
        for &id in chosen {
            state.entities[id] = state.world.spawn(bundle(id + state.frame));
        }
        state.frame += 1;
    };
    let state = State { world, entities, order: shuffled(n), frame: 0 };
    Cell::frames(state, frame, |state| check_positions(&mut state.world))
}

/// hecs compares with copies of what was there.
pub(super) fn changed(n: usize) -> Cell {
    struct State {
        world: World,
        tracker: ChangeTracker<Value>,
        /// In an order that looks random, each with what is added.
        order: Vec<(Entity, u32)>,
        frame: usize,
        seen: u64,
    }
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..n).map(|_| (Value(0),))).collect();
    let order = shuffled(n).into_iter().map(|i| (entities[i], i as u32 + 1)).collect();
    let mut tracker = ChangeTracker::new();
    drop(tracker.track(&mut world));
    let frame = |state: &mut State| {
        let len = state.order.len() / 100;
        let from = state.frame % 100 * len;
        state.frame += 1;
        let mut values = state.world.view_mut::<&mut Value>();
        for &(entity, step) in &state.order[from..from + len] {
            values.get_mut(entity).expect("alive").0 += step;
        }
        drop(values);
        for (_, _, value) in state.tracker.track(&mut state.world).changed() {
            state.seen = state.seen.wrapping_add(mixed(u64::from(value.0)));
        }
    };
    Cell::frames(State { world, tracker, order, frame: 0, seen: 0 }, frame, |state| state.seen)
}
