//! Rows that add, remove and look up by id.

use legion::query::{EntityFilter, Query};
use legion::systems::CommandBuffer;
use legion::{Entity, EntityStore, IntoQuery, Resources, World, component};

use super::{A, B, Value, bodies, bundle, check_positions};
use crate::harness::Cell;
use crate::model::{flipped, shuffled, starts_on, sum_bits, sum_floats};

fn lone(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::default();
    let entities = world.extend((0..n).map(|i| (A(i as f32),))).to_vec();
    (world, entities)
}

fn check_lone(world: &World) -> u64 {
    let a = sum_floats(<&A>::query().iter(world).map(|a| a.0));
    a.wrapping_add(<&B>::query().iter(world).count() as u64)
}

pub(super) fn add_remove(n: usize) -> Cell {
    let frame = |(world, entities): &mut (World, Vec<Entity>)| {
        for &entity in &*entities {
            world.entry(entity).expect("alive").add_component(B(1.0));
        }
        for &entity in &*entities {
            world.entry(entity).expect("alive").remove_component::<B>();
        }
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

pub(super) fn add_remove_cmd(n: usize) -> Cell {
    struct State {
        world: World,
        entities: Vec<Entity>,
        commands: CommandBuffer,
        resources: Resources,
    }
    let (world, entities) = lone(n);
    let commands = CommandBuffer::new(&world);
    let frame = |State { world, entities, commands, resources }: &mut State| {
        for &entity in &*entities {
            commands.add_component(entity, B(1.0));
        }
        commands.flush(world, resources);
        for &entity in &*entities {
            commands.remove_component::<B>(entity);
        }
        commands.flush(world, resources);
    };
    let state = State { world, entities, commands, resources: Resources::default() };
    Cell::frames(state, frame, |state| check_lone(&state.world))
}

fn check_values(world: &World) -> u64 {
    sum_bits(<&Value>::query().iter(world).map(|value| value.0))
}

#[derive(Clone, Copy)]
struct Flag(bool);

pub(super) fn toggle_flag(n: usize) -> Cell {
    struct State {
        world: World,
        values: Query<(&'static mut Value, &'static Flag)>,
        flips: Vec<Entity>,
    }
    let mut world = World::default();
    let entities = world.extend((0..n).map(|i| (Flag(starts_on(i)), Value(0)))).to_vec();
    let flips = flipped(n).map(|i| entities[i]).collect();
    let frame = |State { world, values, flips }: &mut State| {
        for &entity in &*flips {
            let entry = world.entry_mut(entity).expect("alive");
            let flag = entry.into_component_mut::<Flag>().expect("there");
            flag.0 = !flag.0;
        }
        values.for_each_mut(world, |(value, flag)| {
            value.0 += u32::from(flag.0);
        });
    };
    let values = <(&mut Value, &Flag)>::query();
    Cell::frames(State { world, values, flips }, frame, |state| check_values(&state.world))
}

#[derive(Clone, Copy)]
struct Tag;

struct Switched<F: EntityFilter> {
    world: World,
    tagged: Query<&'static mut Value, F>,
    /// Each with whether it was on at the beginning.
    flips: Vec<(Entity, bool)>,
    is_odd: bool,
}

pub(super) fn toggle_tag(n: usize) -> Cell {
    let mut world = World::default();
    let entities = world.extend((0..n).map(|_| (Value(0),))).to_vec();
    for i in (0..n).filter(|&i| starts_on(i)) {
        world.entry(entities[i]).expect("alive").add_component(Tag);
    }
    let flips = flipped(n).map(|i| (entities[i], starts_on(i))).collect();
    let tagged = <&mut Value>::query().filter(component::<Tag>());
    switching(Switched { world, tagged, flips, is_odd: false })
}

fn switching<F: EntityFilter + 'static>(switched: Switched<F>) -> Cell {
    let frame = |Switched { world, tagged, flips, is_odd }: &mut Switched<F>| {
        for &(entity, started_on) in &*flips {
            let mut entry = world.entry(entity).expect("alive");
            if started_on == *is_odd {
                entry.add_component(Tag);
            } else {
                entry.remove_component::<Tag>();
            }
        }
        *is_odd = !*is_odd;
        tagged.for_each_mut(world, |value| value.0 += 1);
    };
    Cell::frames(switched, frame, |switched| check_values(&switched.world))
}

struct Lookups {
    world: World,
    order: Vec<Entity>,
    sum: u64,
}

impl Lookups {
    fn of(n: usize) -> Self {
        let mut world = World::default();
        let entities = world.extend((0..n).map(|i| (Value(i as u32), A(0.0)))).to_vec();
        let order = shuffled(n).into_iter().map(|i| entities[i]).collect();
        Self { world, order, sum: 0 }
    }

    fn check(&mut self) -> u64 {
        check_values(&self.world).wrapping_add(self.sum)
    }
}

pub(super) fn random_read(n: usize) -> Cell {
    let frame = |(state, query): &mut (Lookups, Query<&'static Value>)| {
        for &entity in &state.order {
            state.sum += u64::from(query.get(&state.world, entity).expect("alive").0);
        }
    };
    Cell::frames((Lookups::of(n), <&Value>::query()), frame, |(state, _)| state.check())
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        for &entity in &state.order {
            let entry = state.world.entry_mut(entity).expect("alive");
            entry.into_component_mut::<Value>().expect("there").0 += 1;
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
            world.remove(entity);
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
            state.world.remove(state.entities[id]);
        }
        for &id in chosen {
            state.entities[id] = state.world.push(bundle(id + state.frame));
        }
        state.frame += 1;
    };
    let state = State { world, entities, order: shuffled(n), frame: 0 };
    Cell::frames(state, frame, |state| check_positions(&state.world))
}
