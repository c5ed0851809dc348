//! Rows that only loop.

use bytemuck::{cast_slice, cast_slice_mut};
use hecs::{PreparedQuery, World};
use rayon::prelude::*;

use super::{A, B, C, D, Data, E, F, G, H};
use super::{Position, Transform, Velocity, bodies, check_positions};
use crate::harness::Cell;
use crate::model::{
    FRAGMENT_LEN, for_each_letter, for_each_tag, has_tag, heavy_work, sum_floats, tag_sets,
};

pub(super) fn simple_iter(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let rows = world.query_mut::<(&mut Position, &Velocity)>().into_iter();
        rows.for_each(|(position, velocity)| position.0 += velocity.0);
    };
    Cell::frames(bodies(n).0, frame, check_positions)
}

pub(super) fn simple_iter_slice(n: usize) -> Cell {
    let frame = |world: &mut World| {
        for archetype in world.archetypes() {
            let Some(mut positions) = archetype.get::<&mut Position>() else { continue };
            let Some(velocities) = archetype.get::<&Velocity>() else { continue };
            let positions: &mut [f32] = cast_slice_mut(&mut positions);
            let velocities: &[f32] = cast_slice(&velocities);
            for (position, velocity) in positions.iter_mut().zip(velocities) {
                *position += velocity;
            }
        }
    };
    Cell::frames(bodies(n).0, frame, check_positions)
}

pub(super) fn wide_iter(n: usize) -> Cell {
    type Wide<'a> = (&'a mut A, &'a mut B, &'a mut C, &'a mut D, &'a E, &'a F, &'a G, &'a H);
    let mut world = World::new();
    let bundle = (A(1.0), B(2.0), C(3.0), D(4.0), E(5.0), F(6.0), G(7.0), H(8.0));
    drop(world.spawn_batch((0..n).map(|_| bundle)));
    let frame = |world: &mut World| {
        world.query_mut::<Wide<'_>>().into_iter().for_each(|(a, b, c, d, e, f, g, h)| {
            a.0 += e.0;
            b.0 += f.0;
            c.0 += g.0;
            d.0 += h.0;
        });
    };
    Cell::frames(world, frame, |world| {
        let all = world.query_mut::<(&A, &B, &C, &D)>().into_iter();
        sum_floats(all.flat_map(|(a, b, c, d)| [a.0, b.0, c.0, d.0]))
    })
}

type AddOne = PreparedQuery<&'static mut Data>;

fn check_data((world, _): &mut (World, AddOne)) -> u64 {
    sum_floats(world.query_mut::<&Data>().into_iter().map(|data| data.0))
}

fn add_one((world, query): &mut (World, AddOne)) {
    query.query_mut(world).for_each(|data| data.0 += 1.0);
}

pub(super) fn frag_iter() -> Cell {
    let mut world = World::new();
    macro_rules! spawn {
        ($($letter:ident)*) => {$(
            drop(world.spawn_batch((0..FRAGMENT_LEN).map(|_| (super::$letter(0.0), Data(1.0)))));
        )*};
    }
    for_each_letter!(spawn);
    Cell::frames((world, PreparedQuery::new()), add_one, check_data)
}

macro_rules! tags {
    ($($tag:ident $number:literal),*) => {
        $(struct $tag;)*

        fn tagged() -> World {
            let mut world = World::new();
            for set in tag_sets() {
                let mut bundle = hecs::EntityBuilder::new();
                bundle.add(Data(1.0));
                $(if has_tag(set, $number) { bundle.add($tag); })*
                world.spawn(bundle.build());
            }
            world
        }
    };
}
for_each_tag!(tags);

pub(super) fn many_arch_iter() -> Cell {
    Cell::frames((tagged(), PreparedQuery::new()), add_one, check_data)
}

pub(super) fn many_arch_filter() -> Cell {
    type Filtered = hecs::With<hecs::Without<&'static mut Data, &'static T1>, &'static T0>;
    let frame = |(world, query): &mut (World, PreparedQuery<Filtered>)| {
        query.query_mut(world).for_each(|data| data.0 += 1.0);
    };
    Cell::frames((tagged(), PreparedQuery::new()), frame, |(world, _)| {
        sum_floats(world.query_mut::<&Data>().into_iter().map(|data| data.0))
    })
}

pub(super) fn heavy_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let rows = world.query_mut::<(&mut Transform, &mut Position)>().into_iter();
        rows.for_each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
    };
    Cell::frames(bodies(n).0, frame, check_positions)
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let batches = world.query_mut::<(&mut Transform, &mut Position)>().into_iter_batched(64);
        batches.par_bridge().for_each(|batch| {
            batch.for_each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
        });
    };
    Cell::frames(bodies(n).0, frame, check_positions)
}

fn scheduled(n: usize) -> World {
    let mut world = World::new();
    let ab = |i: usize| (A(i as f32), B(1.0 + i as f32));
    let c = |i: usize| C(2.0 + i as f32);
    drop(world.spawn_batch((0..n).map(ab)));
    drop(world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i)))));
    drop(world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i), D(3.0 + i as f32)))));
    drop(world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i), E(4.0 + i as f32)))));
    world
}

fn check_scheduled(world: &mut World) -> u64 {
    let a = sum_floats(world.query_mut::<&A>().into_iter().map(|a| a.0));
    a.wrapping_add(sum_floats(world.query_mut::<&C>().into_iter().map(|c| c.0)))
}

pub(super) fn schedule_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let ab = world.query_mut::<(&mut A, &mut B)>().into_iter();
        ab.for_each(|(a, b)| std::mem::swap(&mut a.0, &mut b.0));
        let cd = world.query_mut::<(&mut C, &mut D)>().into_iter();
        cd.for_each(|(c, d)| std::mem::swap(&mut c.0, &mut d.0));
        let ce = world.query_mut::<(&mut C, &mut E)>().into_iter();
        ce.for_each(|(c, e)| std::mem::swap(&mut c.0, &mut e.0));
    };
    Cell::frames(scheduled(n), frame, check_scheduled)
}

/// hecs has no scheduler: its queries borrow what they touch from a shared world, and rayon's join
/// runs the two that do not conflict.
pub(super) fn schedule_parallel(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let world = &*world;
        let ab = || {
            let mut query = world.query::<(&mut A, &mut B)>();
            query.iter().for_each(|(a, b)| std::mem::swap(&mut a.0, &mut b.0));
        };
        let cd_then_ce = || {
            let mut query = world.query::<(&mut C, &mut D)>();
            query.iter().for_each(|(c, d)| std::mem::swap(&mut c.0, &mut d.0));
            drop(query);
            let mut query = world.query::<(&mut C, &mut E)>();
            query.iter().for_each(|(c, e)| std::mem::swap(&mut c.0, &mut e.0));
        };
        rayon::join(ab, cd_then_ce);
    };
    Cell::frames(scheduled(n), frame, check_scheduled)
}
