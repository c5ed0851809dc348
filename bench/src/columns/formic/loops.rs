//! Rows that only loop.

use bytemuck::{cast_slice, cast_slice_mut};
use formic_ecs::prelude::*;
use formic_jobs::{Pool, Query, Schedule, Threads};

use super::{A, B, C, D, Data, E, F, G, H};
use super::{Position, Transform, Velocity, bodies, check_positions};
use crate::harness::Cell;
use crate::model::{
    FRAGMENT_LEN, for_each_letter, for_each_tag, has_tag, heavy_work, sum_floats, tag_sets,
};

pub(super) fn simple_iter(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let query = world.query::<(&mut Position, &Velocity)>();
        query.for_each(|(position, velocity)| position.0 += velocity.0);
    };
    Cell::frames(bodies(n).0, frame, check_positions)
}

pub(super) fn simple_iter_slice(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let query = world.query::<(&mut Position, &Velocity)>();
        query.for_each_chunk(|(positions, velocities)| {
            let positions: &mut [f32] = cast_slice_mut(positions);
            let velocities: &[f32] = cast_slice(velocities);
            for (position, velocity) in positions.iter_mut().zip(velocities) {
                *position += velocity;
            }
        });
    };
    Cell::frames(bodies(n).0, frame, check_positions)
}

pub(super) fn wide_iter(n: usize) -> Cell {
    type Wide<'a> = (&'a mut A, &'a mut B, &'a mut C, &'a mut D, &'a E, &'a F, &'a G, &'a H);
    let mut world = World::new();
    let bundle = (A(1.0), B(2.0), C(3.0), D(4.0), E(5.0), F(6.0), G(7.0), H(8.0));
    world.spawn_batch((0..n).map(|_| bundle));
    let frame = |world: &mut World| {
        world.query::<Wide<'_>>().for_each(|(a, b, c, d, e, f, g, h)| {
            a.0 += e.0;
            b.0 += f.0;
            c.0 += g.0;
            d.0 += h.0;
        });
    };
    Cell::frames(world, frame, |world| {
        let all = world.query::<(&A, &B, &C, &D)>().into_iter();
        sum_floats(all.flat_map(|(a, b, c, d)| [a.0, b.0, c.0, d.0]))
    })
}

fn check_data(world: &mut World) -> u64 {
    sum_floats(world.query::<&Data>().map(|data| data.0))
}

fn add_one(world: &mut World) {
    world.query::<&mut Data>().for_each(|data| data.0 += 1.0);
}

pub(super) fn frag_iter() -> Cell {
    let mut world = World::new();
    macro_rules! spawn {
        ($($letter:ident)*) => {$(
            world.spawn_batch((0..FRAGMENT_LEN).map(|_| (super::$letter(0.0), Data(1.0))));
        )*};
    }
    for_each_letter!(spawn);
    Cell::frames(world, add_one, check_data)
}

macro_rules! tags {
    ($($tag:ident $number:literal),*) => {
        $(#[derive(Component)] struct $tag;)*

        fn tagged() -> World {
            let mut world = World::new();
            for set in tag_sets() {
                let entity = world.spawn(Data(1.0));
                $(if has_tag(set, $number) {
                    world.insert(entity, $tag).expect("alive");
                })*
            }
            world
        }
    };
}
for_each_tag!(tags);

pub(super) fn many_arch_iter() -> Cell {
    Cell::frames(tagged(), add_one, check_data)
}

pub(super) fn many_arch_filter() -> Cell {
    let frame = |world: &mut World| {
        let query = world.query_filtered::<&mut Data, (With<T0>, Without<T1>)>();
        query.for_each(|data| data.0 += 1.0);
    };
    Cell::frames(tagged(), frame, check_data)
}

pub(super) fn heavy_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let query = world.query::<(&mut Transform, &mut Position)>();
        query.for_each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
    };
    Cell::frames(bodies(n).0, frame, check_positions)
}

/// A world, what is run on it, and the threads for it: as many as there are cores, the calling one
/// among them.
struct Scheduled {
    world: World,
    schedule: Schedule,
    pool: Pool,
}

impl Scheduled {
    fn run(&mut self) {
        self.schedule.run(&mut self.world, &self.pool);
    }
}

fn pool() -> Pool {
    Pool::new(Threads::all_cores()).expect("threads are granted")
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    fn heavy(mut query: Query<'_, (&mut Transform, &mut Position)>) {
        query.par_for_each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
    }
    let mut world = bodies(n).0;
    let schedule = Schedule::builder().add(heavy).build(&mut world).expect("no contradiction");
    Cell::frames(Scheduled { world, schedule, pool: pool() }, Scheduled::run, |scheduled| {
        check_positions(&mut scheduled.world)
    })
}

fn tables(n: usize) -> World {
    let mut world = World::new();
    let ab = |i: usize| (A(i as f32), B(1.0 + i as f32));
    let c = |i: usize| C(2.0 + i as f32);
    world.spawn_batch((0..n).map(ab));
    world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i))));
    world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i), D(3.0 + i as f32))));
    world.spawn_batch((0..n).map(|i| (ab(i).0, ab(i).1, c(i), E(4.0 + i as f32))));
    world
}

fn check_tables(world: &mut World) -> u64 {
    let a = sum_floats(world.query::<&A>().map(|a| a.0));
    a.wrapping_add(sum_floats(world.query::<&C>().map(|c| c.0)))
}

pub(super) fn schedule_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let ab = world.query::<(&mut A, &mut B)>();
        ab.for_each(|(a, b)| std::mem::swap(&mut a.0, &mut b.0));
        let cd = world.query::<(&mut C, &mut D)>();
        cd.for_each(|(c, d)| std::mem::swap(&mut c.0, &mut d.0));
        let ce = world.query::<(&mut C, &mut E)>();
        ce.for_each(|(c, e)| std::mem::swap(&mut c.0, &mut e.0));
    };
    Cell::frames(tables(n), frame, check_tables)
}

pub(super) fn schedule_parallel(n: usize) -> Cell {
    fn ab(mut query: Query<'_, (&mut A, &mut B)>) {
        query.for_each(|(a, b)| std::mem::swap(&mut a.0, &mut b.0));
    }
    fn cd(mut query: Query<'_, (&mut C, &mut D)>) {
        query.for_each(|(c, d)| std::mem::swap(&mut c.0, &mut d.0));
    }
    fn ce(mut query: Query<'_, (&mut C, &mut E)>) {
        query.for_each(|(c, e)| std::mem::swap(&mut c.0, &mut e.0));
    }
    let mut world = tables(n);
    let builder = Schedule::builder().add(ab).add(cd).add(ce);
    let schedule = builder.build(&mut world).expect("no contradiction");
    Cell::frames(Scheduled { world, schedule, pool: pool() }, Scheduled::run, |scheduled| {
        check_tables(&mut scheduled.world)
    })
}
