//! The toggle rows.

use formic_ecs::ViewPlan;
use formic_ecs::prelude::*;

use super::Value;
use crate::harness::Cell;
use crate::model::{flipped, starts_on, sum_bits};

#[derive(Component)]
struct Flag(bool);
#[derive(Component)]
struct Tag;
#[derive(Component)]
#[component(enableable)]
struct Active;

fn check_values(world: &mut World) -> u64 {
    sum_bits(world.query::<&Value>().map(|value| value.0))
}

pub(super) fn flag(n: usize) -> Cell {
    struct State {
        world: World,
        plan: ViewPlan<&'static mut Flag>,
        flips: Vec<Entity>,
    }
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(|i| (Flag(starts_on(i)), Value(0))));
    let flips = flipped(n).map(|i| entities[i]).collect();
    let plan = world.view_plan();
    let frame = |state: &mut State| {
        let cell = state.world.cell();
        let mut flags = cell.view(&mut state.plan).expect("nobody else is there");
        for &entity in &state.flips {
            let flag = flags.get_mut(entity).expect("alive");
            flag.0 = !flag.0;
        }
        drop(flags);
        state.world.query::<(&mut Value, &Flag)>().for_each(|(value, flag)| {
            value.0 += u32::from(flag.0);
        });
    };
    Cell::frames(State { world, plan, flips }, frame, |state| check_values(&mut state.world))
}

pub(super) fn tag(n: usize) -> Cell {
    struct State {
        world: World,
        /// Each with whether it was on at the beginning.
        flips: Vec<(Entity, bool)>,
        is_odd: bool,
    }
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(|_| Value(0)));
    for i in (0..n).filter(|&i| starts_on(i)) {
        world.insert(entities[i], Tag).expect("alive");
    }
    let flips = flipped(n).map(|i| (entities[i], starts_on(i))).collect();
    let frame = |state: &mut State| {
        for &(entity, started_on) in &state.flips {
            if started_on == state.is_odd {
                state.world.insert(entity, Tag).expect("alive");
            } else {
                state.world.remove::<Tag>(entity).expect("alive");
            }
        }
        state.is_odd = !state.is_odd;
        let tagged = state.world.query_filtered::<&mut Value, With<Tag>>();
        tagged.for_each(|value| value.0 += 1);
    };
    Cell::frames(State { world, flips, is_odd: false }, frame, |state| {
        check_values(&mut state.world)
    })
}

pub(super) fn native(n: usize) -> Cell {
    struct State {
        world: World,
        /// Each with whether it was on at the beginning.
        flips: Vec<(Entity, bool)>,
        is_odd: bool,
    }
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(|_| (Value(0), Active)));
    for i in (0..n).filter(|&i| !starts_on(i)) {
        world.set_enabled::<Active>(entities[i], false).expect("alive");
    }
    let flips = flipped(n).map(|i| (entities[i], starts_on(i))).collect();
    let frame = |state: &mut State| {
        let mut bits = state.world.view::<EnabledMut<Active>>();
        for &(entity, started_on) in &state.flips {
            bits.set_mut(entity, started_on == state.is_odd).expect("alive");
        }
        drop(bits);
        state.is_odd = !state.is_odd;
        let active = state.world.query_filtered::<&mut Value, With<Active>>();
        active.for_each(|value| value.0 += 1);
    };
    Cell::frames(State { world, flips, is_odd: false }, frame, |state| {
        check_values(&mut state.world)
    })
}
