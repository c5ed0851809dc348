//! Rows that only loop.

use bevy_ecs::prelude::*;
use bevy_tasks::{ComputeTaskPool, TaskPool};
use bytemuck::{cast_slice, cast_slice_mut};

use super::{A, B, C, D, Data, E, F, G, H};
use super::{Position, Transform, Velocity, bodies, check_positions};
use crate::harness::Cell;
use crate::model::{
    FRAGMENT_LEN, for_each_letter, for_each_tag, has_tag, heavy_work, sum_floats, tag_sets,
};

type Movement = (&'static mut Position, &'static Velocity);

pub(super) fn simple_iter(n: usize) -> Cell {
    let mut world = bodies(n).0;
    let query = world.query::<Movement>();
    let frame = |(world, query): &mut (World, QueryState<Movement>)| {
        query.iter_mut(world).for_each(|(mut position, velocity)| position.0 += velocity.0);
    };
    Cell::frames((world, query), frame, |(world, _)| check_positions(world))
}

pub(super) fn simple_iter_slice(n: usize) -> Cell {
    let mut world = bodies(n).0;
    let query = world.query::<Movement>();
    let frame = |(world, query): &mut (World, QueryState<Movement>)| {
        for (mut positions, velocities) in query.contiguous_iter_mut(world).expect("dense") {
            let positions: &mut [f32] = cast_slice_mut(&mut positions);
            let velocities: &[f32] = cast_slice(velocities);
            for (position, velocity) in positions.iter_mut().zip(velocities) {
                *position += velocity;
            }
        }
    };
    Cell::frames((world, query), frame, |(world, _)| check_positions(world))
}

pub(super) fn wide_iter(n: usize) -> Cell {
    type Wide = (
        (&'static mut A, &'static mut B, &'static mut C, &'static mut D),
        (&'static E, &'static F, &'static G, &'static H),
    );
    let mut world = World::new();
    let bundle = (A(1.0), B(2.0), C(3.0), D(4.0), E(5.0), F(6.0), G(7.0), H(8.0));
    drop(world.spawn_batch((0..n).map(|_| bundle)));
    let query = world.query::<Wide>();
    let frame = |(world, query): &mut (World, QueryState<Wide>)| {
        query.iter_mut(world).for_each(|((mut a, mut b, mut c, mut d), (e, f, g, h))| {
            a.0 += e.0;
            b.0 += f.0;
            c.0 += g.0;
            d.0 += h.0;
        });
    };
    Cell::frames((world, query), frame, |(world, _)| {
        let mut query = world.query::<(&A, &B, &C, &D)>();
        sum_floats(query.iter(world).flat_map(|(a, b, c, d)| [a.0, b.0, c.0, d.0]))
    })
}

fn check_data(world: &mut World) -> u64 {
    sum_floats(world.query::<&Data>().iter(world).map(|data| data.0))
}

fn add_one<F: bevy_ecs::query::QueryFilter + 'static>(mut world: World) -> Cell {
    let query = world.query_filtered::<&'static mut Data, F>();
    Cell::frames(
        (world, query),
        |(world, query)| query.iter_mut(world).for_each(|mut data| data.0 += 1.0),
        |(world, _)| check_data(world),
    )
}

pub(super) fn frag_iter() -> Cell {
    let mut world = World::new();
    macro_rules! spawn {
        ($($letter:ident)*) => {$(
            drop(world.spawn_batch((0..FRAGMENT_LEN).map(|_| (super::$letter(0.0), Data(1.0)))));
        )*};
    }
    for_each_letter!(spawn);
    add_one::<()>(world)
}

macro_rules! tags {
    ($($tag:ident $number:literal),*) => {
        $(#[derive(Component)] struct $tag;)*

        fn tagged() -> World {
            let mut world = World::new();
            for set in tag_sets() {
                let mut entity = world.spawn(Data(1.0));
                $(if has_tag(set, $number) { entity.insert($tag); })*
            }
            world
        }
    };
}
for_each_tag!(tags);

pub(super) fn many_arch_iter() -> Cell {
    add_one::<()>(tagged())
}

pub(super) fn many_arch_filter() -> Cell {
    add_one::<(With<T0>, Without<T1>)>(tagged())
}

type Heavy = (&'static mut Transform, &'static mut Position);

pub(super) fn heavy_serial(n: usize) -> Cell {
    let mut world = bodies(n).0;
    let query = world.query::<Heavy>();
    let frame = |(world, query): &mut (World, QueryState<Heavy>)| {
        let rows = query.iter_mut(world);
        rows.for_each(|(mut transform, mut position)| {
            heavy_work(&mut transform.0, &mut position.0)
        });
    };
    Cell::frames((world, query), frame, |(world, _)| check_positions(world))
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    ComputeTaskPool::get_or_init(TaskPool::new);
    let mut world = bodies(n).0;
    let query = world.query::<Heavy>();
    let frame = |(world, query): &mut (World, QueryState<Heavy>)| {
        query.par_iter_mut(world).for_each(|(mut transform, mut position)| {
            heavy_work(&mut transform.0, &mut position.0);
        });
    };
    Cell::frames((world, query), frame, |(world, _)| check_positions(world))
}

fn tables(n: usize) -> World {
    let mut world = World::new();
    let ab = |i: usize| (A(i as f32), B(1.0 + i as f32));
    let c = |i: usize| C(2.0 + i as f32);
    drop(world.spawn_batch((0..n).map(ab)));
    drop(world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i)))));
    drop(world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i), D(3.0 + i as f32)))));
    drop(world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i), E(4.0 + i as f32)))));
    world
}

fn check_tables(world: &mut World) -> u64 {
    let a = sum_floats(world.query::<&A>().iter(world).map(|a| a.0));
    a.wrapping_add(sum_floats(world.query::<&C>().iter(world).map(|c| c.0)))
}

fn swap_ab(mut query: Query<'_, '_, (&mut A, &mut B)>) {
    query.iter_mut().for_each(|(mut a, mut b)| std::mem::swap(&mut a.0, &mut b.0));
}

fn swap_cd(mut query: Query<'_, '_, (&mut C, &mut D)>) {
    query.iter_mut().for_each(|(mut c, mut d)| std::mem::swap(&mut c.0, &mut d.0));
}

fn swap_ce(mut query: Query<'_, '_, (&mut C, &mut E)>) {
    query.iter_mut().for_each(|(mut c, mut e)| std::mem::swap(&mut c.0, &mut e.0));
}

pub(super) fn schedule_serial(n: usize) -> Cell {
    struct State {
        world: World,
        ab: QueryState<(&'static mut A, &'static mut B)>,
        cd: QueryState<(&'static mut C, &'static mut D)>,
        ce: QueryState<(&'static mut C, &'static mut E)>,
    }
    let mut world = tables(n);
    let (ab, cd, ce) = (world.query(), world.query(), world.query());
    let frame = |State { world, ab, cd, ce }: &mut State| {
        swap_ab(ab.query_mut(&mut *world));
        swap_cd(cd.query_mut(&mut *world));
        swap_ce(ce.query_mut(world));
    };
    Cell::frames(State { world, ab, cd, ce }, frame, |state| check_tables(&mut state.world))
}

pub(super) fn schedule_parallel(n: usize) -> Cell {
    ComputeTaskPool::get_or_init(TaskPool::new);
    let mut schedule = Schedule::default();
    schedule.set_executor(bevy_ecs::schedule::MultiThreadedExecutor::new());
    schedule.add_systems((swap_ab, swap_cd, swap_ce.after(swap_cd)));
    let frame = |(world, schedule): &mut (World, Schedule)| schedule.run(world);
    Cell::frames((tables(n), schedule), frame, |(world, _)| check_tables(world))
}
