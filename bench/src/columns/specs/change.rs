//! Rows that add, remove and look up by id.

use specs::prelude::*;

use super::{A, B, Value, bodies, check_positions, put, spawn_one};
use crate::harness::Cell;
use crate::model::{flipped, mixed, shuffled, starts_on, sum_bits, sum_floats};

fn lone(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    world.register::<A>();
    world.register::<B>();
    let entities = (0..n).map(|i| world.create_entity().with(A(i as f32)).build()).collect();
    (world, entities)
}

fn check_lone(world: &World) -> u64 {
    let a = sum_floats(world.read_storage::<A>().join().map(|a| a.0));
    a.wrapping_add(world.read_storage::<B>().count() as u64)
}

pub(super) fn add_remove(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        let mut b = world.write_storage::<B>();
        for &entity in &*entities {
            put(b.insert(entity, B(1.0)));
        }
        for &entity in &*entities {
            b.remove(entity).expect("there");
        }
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

pub(super) fn add_remove_cmd(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        let commands = world.read_resource::<LazyUpdate>();
        for &entity in &*entities {
            commands.insert(entity, B(1.0));
        }
        drop(commands);
        world.maintain();
        let commands = world.read_resource::<LazyUpdate>();
        for &entity in &*entities {
            commands.remove::<B>(entity);
        }
        drop(commands);
        world.maintain();
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

fn check_values(world: &World) -> u64 {
    sum_bits(world.read_storage::<Value>().join().map(|value| value.0))
}

struct Flag(bool);

impl Component for Flag {
    type Storage = VecStorage<Self>;
}

pub(super) fn toggle_flag(n: usize) -> Cell {
    let mut world = World::new();
    world.register::<Value>();
    world.register::<Flag>();
    let one = |i| world.create_entity().with(Value(0)).with(Flag(starts_on(i))).build();
    let entities: Vec<Entity> = (0..n).map(one).collect();
    let flips: Vec<Entity> = flipped(n).map(|i| entities[i]).collect();
    let frame = |(world, flips): &mut (World, Vec<Entity>)| {
        let mut flags = world.write_storage::<Flag>();
        for &entity in &*flips {
            let flag = flags.get_mut(entity).expect("alive");
            flag.0 = !flag.0;
        }
        let mut values = world.write_storage::<Value>();
        (&mut values, &flags).join().for_each(|(value, flag)| {
            value.0 += u32::from(flag.0);
        });
    };
    Cell::frames((world, flips), frame, |(world, _)| check_values(world))
}

#[derive(Default)]
struct Tag;

impl Component for Tag {
    type Storage = NullStorage<Self>;
}

pub(super) fn toggle_tag(n: usize) -> Cell {
    struct State {
        world: World,
        /// Each with whether it was on at the beginning.
        flips: Vec<(Entity, bool)>,
        is_odd: bool,
    }
    let mut world = World::new();
    world.register::<Value>();
    world.register::<Tag>();
    let entities: Vec<Entity> =
        (0..n).map(|_| world.create_entity().with(Value(0)).build()).collect();
    for i in (0..n).filter(|&i| starts_on(i)) {
        put(world.write_storage().insert(entities[i], Tag));
    }
    let flips = flipped(n).map(|i| (entities[i], starts_on(i))).collect();
    let frame = |state: &mut State| {
        let mut tags = state.world.write_storage::<Tag>();
        for &(entity, started_on) in &state.flips {
            if started_on == state.is_odd {
                put(tags.insert(entity, Tag));
            } else {
                tags.remove(entity).expect("there");
            }
        }
        state.is_odd = !state.is_odd;
        let mut values = state.world.write_storage::<Value>();
        (&mut values, tags.mask()).join().for_each(|(value, _)| value.0 += 1);
    };
    Cell::frames(State { world, flips, is_odd: false }, frame, |state| check_values(&state.world))
}

struct Lookups {
    world: World,
    order: Vec<Entity>,
    sum: u64,
}

impl Lookups {
    fn of(n: usize) -> Self {
        let mut world = World::new();
        world.register::<Value>();
        world.register::<A>();
        let one = |i| world.create_entity().with(Value(i as u32)).with(A(0.0)).build();
        let entities: Vec<Entity> = (0..n).map(one).collect();
        let order = shuffled(n).into_iter().map(|i| entities[i]).collect();
        Self { world, order, sum: 0 }
    }

    fn check(&mut self) -> u64 {
        check_values(&self.world).wrapping_add(self.sum)
    }
}

pub(super) fn random_read(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        let values = state.world.read_storage::<Value>();
        for &entity in &state.order {
            state.sum += u64::from(values.get(entity).expect("alive").0);
        }
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        let mut values = state.world.write_storage::<Value>();
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
    // All at once: one call for each entity is several times as slow.
    let run = |(world, doomed): &mut (World, Vec<Entity>)| {
        world.delete_entities(doomed).expect("alive");
    };
    Cell::rebuilt(build, run, |(world, _)| check_positions(world))
}

pub(super) fn churn(n: usize) -> Cell {
    struct State {
        world: World,
        entities: Vec<Entity>,
        order: Vec<usize>,
        frame: usize,
        doomed: Vec<Entity>,
    }
    let (world, entities) = bodies(n);
    let frame = |state: &mut State| {
        let tenth = state.order.len() / 10;
        let from = state.frame % 10 * tenth;
        let chosen = &state.order[from..from + tenth];
        state.doomed.clear();
        state.doomed.extend(chosen.iter().map(|&id| state.entities[id]));
        state.world.delete_entities(&state.doomed).expect("alive");
        for &id in chosen {
            state.entities[id] = spawn_one(&mut state.world, id + state.frame);
        }
        state.frame += 1;
    };
    let state = State { world, entities, order: shuffled(n), frame: 0, doomed: Vec::new() };
    Cell::frames(state, frame, |state| check_positions(&state.world))
}

/// Its writes are events.
struct Watched(u32);

impl Component for Watched {
    type Storage = FlaggedStorage<Self, VecStorage<Self>>;
}

pub(super) fn changed(n: usize) -> Cell {
    struct State {
        world: World,
        events: ReaderId<ComponentEvent>,
        written: BitSet,
        /// In an order that looks random, each with what is added.
        order: Vec<(Entity, u32)>,
        frame: usize,
        seen: u64,
    }
    let mut world = World::new();
    world.register::<Watched>();
    let entities: Vec<Entity> =
        (0..n).map(|_| world.create_entity().with(Watched(0)).build()).collect();
    let order = shuffled(n).into_iter().map(|i| (entities[i], i as u32 + 1)).collect();
    let events = world.write_storage::<Watched>().register_reader();
    let frame = |state: &mut State| {
        let len = state.order.len() / 100;
        let from = state.frame % 100 * len;
        state.frame += 1;
        let mut values = state.world.write_storage::<Watched>();
        for &(entity, step) in &state.order[from..from + len] {
            values.get_mut(entity).expect("alive").0 += step;
        }
        state.written.clear();
        for event in values.channel().read(&mut state.events) {
            if let ComponentEvent::Modified(id) = event {
                state.written.add(*id);
            }
        }
        for (value, _) in (&values, &state.written).join() {
            state.seen = state.seen.wrapping_add(mixed(u64::from(value.0)));
        }
    };
    let state = State { world, events, written: BitSet::new(), order, frame: 0, seen: 0 };
    Cell::frames(state, frame, |state| state.seen)
}
