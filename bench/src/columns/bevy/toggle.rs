//! The toggle rows. bevy can disable whole entities, by a tag, but not single components.

use bevy_ecs::prelude::*;

use super::Value;
use crate::harness::Cell;
use crate::model::{flipped, starts_on, sum_bits};

#[derive(Component)]
struct Flag(bool);

/// Where bevy advises to keep a tag that comes and goes often.
#[derive(Component, Default)]
#[component(storage = "SparseSet")]
pub(super) struct SparseTag;

/// The default storage.
#[derive(Component, Default)]
pub(super) struct TableTag;

fn check_values(world: &mut World) -> u64 {
    sum_bits(world.query::<&Value>().iter(world).map(|value| value.0))
}

pub(super) fn flag(n: usize) -> Cell {
    struct State {
        world: World,
        flags: QueryState<&'static mut Flag>,
        values: QueryState<(&'static mut Value, &'static Flag)>,
        flips: Vec<Entity>,
    }
    let mut world = World::new();
    let bundles = (0..n).map(|i| (Flag(starts_on(i)), Value(0)));
    let entities: Vec<Entity> = world.spawn_batch(bundles).collect();
    let flips = flipped(n).map(|i| entities[i]).collect();
    let (flags, values) = (world.query(), world.query());
    let frame = |state: &mut State| {
        let mut flags = state.flags.query_mut(&mut state.world);
        for &entity in &state.flips {
            let mut flag = flags.get_mut(entity).expect("alive");
            flag.0 = !flag.0;
        }
        state.values.iter_mut(&mut state.world).for_each(|(mut value, flag)| {
            value.0 += u32::from(flag.0);
        });
    };
    Cell::frames(State { world, flags, values, flips }, frame, |state| {
        check_values(&mut state.world)
    })
}

pub(super) fn tag<Tag: Component + Default>(n: usize) -> Cell {
    struct State<Tag: Component> {
        world: World,
        tagged: QueryState<&'static mut Value, With<Tag>>,
        /// Each with whether it was on at the beginning.
        flips: Vec<(Entity, bool)>,
        is_odd: bool,
    }
    let mut world = World::new();
    let entities: Vec<Entity> = world.spawn_batch((0..n).map(|_| Value(0))).collect();
    for i in (0..n).filter(|&i| starts_on(i)) {
        world.entity_mut(entities[i]).insert(Tag::default());
    }
    let flips = flipped(n).map(|i| (entities[i], starts_on(i))).collect();
    let tagged = world.query_filtered();
    let frame = |state: &mut State<Tag>| {
        for &(entity, started_on) in &state.flips {
            let mut entity = state.world.entity_mut(entity);
            if started_on == state.is_odd {
                entity.insert(Tag::default());
            } else {
                entity.remove::<Tag>();
            }
        }
        state.is_odd = !state.is_odd;
        state.tagged.iter_mut(&mut state.world).for_each(|mut value| value.0 += 1);
    };
    Cell::frames(State { world, tagged, flips, is_odd: false }, frame, |state| {
        check_values(&mut state.world)
    })
}
