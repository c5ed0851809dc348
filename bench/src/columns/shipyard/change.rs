//! Rows that add, remove and look up by id.

use shipyard::{
    Component, EntitiesView, EntityId, Get, IntoIter, Remove, View, ViewMut, World, track,
};

use super::{A, B, Value, bodies, bundle, check_positions};
use crate::harness::Cell;
use crate::model::{flipped, mixed, shuffled, starts_on, sum_bits, sum_floats};

fn lone(n: usize) -> (World, Vec<EntityId>) {
    let mut world = World::new();
    let entities = world.bulk_add_entity((0..n).map(|i| (A(i as f32),))).collect();
    (world, entities)
}

fn check_lone(world: &World) -> u64 {
    world.run(|a: View<'_, A>, b: View<'_, B>| {
        sum_floats(a.iter().map(|a| a.0)).wrapping_add(b.len() as u64)
    })
}

pub(super) fn add_remove(n: usize) -> Cell {
    let frame = |(world, ids): &mut (World, Vec<EntityId>)| {
        world.run(|entities: EntitiesView<'_>, mut b: ViewMut<'_, B>| {
            for &entity in &*ids {
                entities.add_component(entity, &mut b, B(1.0));
            }
            for &entity in &*ids {
                b.remove(entity).expect("there");
            }
        });
    };
    Cell::frames(lone(n), frame, |(world, _)| check_lone(world))
}

fn check_values(world: &World) -> u64 {
    world.run(|values: View<'_, Value>| sum_bits(values.iter().map(|value| value.0)))
}

#[derive(Component)]
struct Flag(bool);

pub(super) fn toggle_flag(n: usize) -> Cell {
    let mut world = World::new();
    let bundles = (0..n).map(|i| (Flag(starts_on(i)), Value(0)));
    let entities: Vec<EntityId> = world.bulk_add_entity(bundles).collect();
    let flips: Vec<EntityId> = flipped(n).map(|i| entities[i]).collect();
    let frame = |(world, flips): &mut (World, Vec<EntityId>)| {
        world.run(|mut flags: ViewMut<'_, Flag>, mut values: ViewMut<'_, Value>| {
            for &entity in &*flips {
                let mut flag = (&mut flags).get(entity).expect("alive");
                flag.0 = !flag.0;
            }
            (&mut values, &flags).iter().for_each(|(value, flag)| {
                value.0 += u32::from(flag.0);
            });
        });
    };
    Cell::frames((world, flips), frame, |(world, _)| check_values(world))
}

#[derive(Component)]
struct Tag;

pub(super) fn toggle_tag(n: usize) -> Cell {
    struct State {
        world: World,
        /// Each with whether it was on at the beginning.
        flips: Vec<(EntityId, bool)>,
        is_odd: bool,
    }
    let mut world = World::new();
    let entities: Vec<EntityId> = world.bulk_add_entity((0..n).map(|_| (Value(0),))).collect();
    for i in (0..n).filter(|&i| starts_on(i)) {
        world.add_component(entities[i], (Tag,));
    }
    let flips = flipped(n).map(|i| (entities[i], starts_on(i))).collect();
    let frame = |State { world, flips, is_odd }: &mut State| {
        let run = |entities: EntitiesView<'_>,
                   mut tags: ViewMut<'_, Tag>,
                   mut values: ViewMut<'_, Value>| {
            for &(entity, started_on) in &*flips {
                if started_on == *is_odd {
                    entities.add_component(entity, &mut tags, Tag);
                } else {
                    tags.remove(entity).expect("there");
                }
            }
            (&mut values, &tags).iter().for_each(|(value, _)| value.0 += 1);
        };
        world.run(run);
        *is_odd = !*is_odd;
    };
    Cell::frames(State { world, flips, is_odd: false }, frame, |state| check_values(&state.world))
}

struct Lookups {
    world: World,
    order: Vec<EntityId>,
    sum: u64,
}

impl Lookups {
    fn of(n: usize) -> Self {
        let mut world = World::new();
        let bundles = (0..n).map(|i| (Value(i as u32), A(0.0)));
        let entities: Vec<EntityId> = world.bulk_add_entity(bundles).collect();
        let order = shuffled(n).into_iter().map(|i| entities[i]).collect();
        Self { world, order, sum: 0 }
    }

    fn check(&mut self) -> u64 {
        check_values(&self.world).wrapping_add(self.sum)
    }
}

pub(super) fn random_read(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        let Lookups { world, order, sum } = state;
        world.run(|values: View<'_, Value>| {
            for &entity in &*order {
                *sum += u64::from(values.get(entity).expect("alive").0);
            }
        });
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn random_rmw(n: usize) -> Cell {
    let frame = |state: &mut Lookups| {
        let Lookups { world, order, .. } = state;
        world.run(|mut values: ViewMut<'_, Value>| {
            for &entity in &*order {
                (&mut values).get(entity).expect("alive").0 += 1;
            }
        });
    };
    Cell::frames(Lookups::of(n), frame, Lookups::check)
}

pub(super) fn despawn(n: usize, order: Vec<usize>) -> Cell {
    let build = move || {
        let (world, entities) = bodies(n);
        let doomed: Vec<EntityId> = order.iter().map(|&i| entities[i]).collect();
        (world, doomed)
    };
    let run = |(world, doomed): &mut (World, Vec<EntityId>)| {
        for &entity in &*doomed {
            world.delete_entity(entity);
        }
    };
    Cell::rebuilt(build, run, |(world, _)| check_positions(world))
}

pub(super) fn churn(n: usize) -> Cell {
    struct State {
        world: World,
        entities: Vec<EntityId>,
        order: Vec<usize>,
        frame: usize,
    }
    let (world, entities) = bodies(n);
    let frame = |state: &mut State| {
        let tenth = state.order.len() / 10;
        let from = state.frame % 10 * tenth;
        let chosen = &state.order[from..from + tenth];
        for &id in chosen {
            state.world.delete_entity(state.entities[id]);
        }
        for &id in chosen {
            state.entities[id] = state.world.add_entity(bundle(id + state.frame));
        }
        state.frame += 1;
    };
    let state = State { world, entities, order: shuffled(n), frame: 0 };
    Cell::frames(state, frame, |state| check_positions(&state.world))
}

#[derive(Component)]
#[track(Modification)]
struct Watched(u32);

pub(super) fn changed(n: usize) -> Cell {
    struct State {
        world: World,
        /// In an order that looks random, each with what is added.
        order: Vec<(EntityId, u32)>,
        frame: usize,
        seen: u64,
    }
    let mut world = World::new();
    let entities: Vec<EntityId> = world.bulk_add_entity((0..n).map(|_| (Watched(0),))).collect();
    let order = shuffled(n).into_iter().map(|i| (entities[i], i as u32 + 1)).collect();
    let frame = |State { world, order, frame, seen }: &mut State| {
        let len = order.len() / 100;
        let from = *frame % 100 * len;
        *frame += 1;
        world.run(|mut values: ViewMut<'_, Watched, track::Modification>| {
            for &(entity, step) in &order[from..from + len] {
                (&mut values).get(entity).expect("alive").0 += step;
            }
            values.modified().iter().for_each(|value| {
                *seen = seen.wrapping_add(mixed(u64::from(value.0)));
            });
            values.clear_all_modified();
        });
    };
    Cell::frames(State { world, order, frame: 0, seen: 0 }, frame, |state| state.seen)
}
