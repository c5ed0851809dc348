//! Rows that only loop.

use bytemuck::{cast_slice, cast_slice_mut};
use flecs_ecs::prelude::*;

use super::{A, B, C, D, Data, E, F, G, H};
use super::{Position, Transform, Velocity, bodies, check_positions};
use crate::harness::Cell;
use crate::model::{
    FRAGMENT_LEN, for_each_letter, for_each_tag, has_tag, heavy_work, sum_floats, tag_sets,
};

/// A query and the world it is of; the query has to be dropped first.
pub(super) struct Asked<Q> {
    pub(super) query: Q,
    pub(super) world: World,
}

type Movement = Query<(&'static mut Position, &'static Velocity)>;

fn movement(n: usize) -> Asked<Movement> {
    let world = bodies(n).0;
    Asked { query: world.query().set_cached().build(), world }
}

pub(super) fn simple_iter(n: usize) -> Cell {
    let frame = |asked: &mut Asked<Movement>| {
        asked.query.each(|(position, velocity)| position.0 += velocity.0);
    };
    Cell::frames(movement(n), frame, |asked| check_positions(&mut asked.world))
}

pub(super) fn simple_iter_slice(n: usize) -> Cell {
    let frame = |asked: &mut Asked<Movement>| {
        asked.query.run(|mut table| {
            while table.next() {
                let mut positions = table.field_mut::<Position>(0);
                let velocities = table.field::<Velocity>(1);
                let positions: &mut [f32] = cast_slice_mut(positions.as_mut_slice());
                let velocities: &[f32] = cast_slice(velocities.as_slice());
                for (position, velocity) in positions.iter_mut().zip(velocities) {
                    *position += velocity;
                }
            }
        });
    };
    Cell::frames(movement(n), frame, |asked| check_positions(&mut asked.world))
}

pub(super) fn wide_iter(n: usize) -> Cell {
    type Wide = (
        &'static mut A,
        &'static mut B,
        &'static mut C,
        &'static mut D,
        &'static E,
        &'static F,
        &'static G,
        &'static H,
    );
    let world = World::new();
    world
        .entity_bulk(n as u32)
        .set(&vec![A(1.0); n])
        .set(&vec![B(2.0); n])
        .set(&vec![C(3.0); n])
        .set(&vec![D(4.0); n])
        .set(&vec![E(5.0); n])
        .set(&vec![F(6.0); n])
        .set(&vec![G(7.0); n])
        .set(&vec![H(8.0); n])
        .build();
    let query = world.query::<Wide>().set_cached().build();
    let frame = |asked: &mut Asked<Query<Wide>>| {
        asked.query.each(|(a, b, c, d, e, f, g, h)| {
            a.0 += e.0;
            b.0 += f.0;
            c.0 += g.0;
            d.0 += h.0;
        });
    };
    Cell::frames(Asked { query, world }, frame, |asked| {
        let mut all = Vec::new();
        let query = asked.world.new_query::<(&A, &B, &C, &D)>();
        query.each(|(a, b, c, d)| all.extend([a.0, b.0, c.0, d.0]));
        sum_floats(all.into_iter())
    })
}

fn check_data(asked: &mut Asked<Query<&'static mut Data>>) -> u64 {
    let mut all = Vec::new();
    asked.world.new_query::<&Data>().each(|data| all.push(data.0));
    sum_floats(all.into_iter())
}

fn add_one(asked: &mut Asked<Query<&'static mut Data>>) {
    asked.query.each(|data| data.0 += 1.0);
}

pub(super) fn frag_iter() -> Cell {
    let world = World::new();
    let data = [Data(1.0); FRAGMENT_LEN];
    macro_rules! spawn {
        ($($letter:ident)*) => {$({
            let letters = [super::$letter(0.0); FRAGMENT_LEN];
            world.entity_bulk(FRAGMENT_LEN as u32).set(&letters).set(&data).build();
        })*};
    }
    for_each_letter!(spawn);
    let query = world.query().set_cached().build();
    Cell::frames(Asked { query, world }, add_one, check_data)
}

macro_rules! tags {
    ($($tag:ident $number:literal),*) => {
        $(#[derive(Component)] struct $tag;)*

        fn tagged() -> World {
            let world = World::new();
            for set in tag_sets() {
                let entity = world.entity().set(Data(1.0));
                $(if has_tag(set, $number) { entity.add($tag::id()); })*
            }
            world
        }
    };
}
for_each_tag!(tags);

pub(super) fn many_arch_iter() -> Cell {
    let world = tagged();
    let query = world.query().set_cached().build();
    Cell::frames(Asked { query, world }, add_one, check_data)
}

pub(super) fn many_arch_filter() -> Cell {
    let world = tagged();
    let mut query = world.query::<&'static mut Data>();
    let query = query.with(T0::id()).without(T1::id()).set_cached().build();
    Cell::frames(Asked { query, world }, add_one, check_data)
}

pub(super) fn heavy_serial(n: usize) -> Cell {
    let world = bodies(n).0;
    let query =
        world.query::<(&'static mut Transform, &'static mut Position)>().set_cached().build();
    Cell::frames(
        Asked { query, world },
        |asked| {
            asked.query.each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
        },
        |asked| check_positions(&mut asked.world),
    )
}

/// As many threads as there are cores.
fn threads(world: &World) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    world.set_threads(cores as i32);
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    let world = bodies(n).0;
    threads(&world);
    world
        .system::<(&mut Transform, &mut Position)>()
        .par_each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
    // With a time of our own, so that it asks no clock.
    Cell::frames(world, |world| _ = world.progress_time(1.0), check_positions)
}

fn tables(n: usize) -> World {
    let world = World::new();
    let numbers = |first: f32| (0..n).map(move |i| first + i as f32);
    let a: Vec<A> = numbers(0.0).map(A).collect();
    let b: Vec<B> = numbers(1.0).map(B).collect();
    let c: Vec<C> = numbers(2.0).map(C).collect();
    let d: Vec<D> = numbers(3.0).map(D).collect();
    let e: Vec<E> = numbers(4.0).map(E).collect();
    let len = n as u32;
    world.entity_bulk(len).set(&a).set(&b).build();
    world.entity_bulk(len).set(&a).set(&b).set(&c).build();
    world.entity_bulk(len).set(&a).set(&b).set(&c).set(&d).build();
    world.entity_bulk(len).set(&a).set(&b).set(&c).set(&e).build();
    world
}

fn check_tables(world: &World) -> u64 {
    let mut all = Vec::new();
    world.new_query::<&A>().each(|a| all.push(a.0));
    world.new_query::<&C>().each(|c| all.push(c.0));
    sum_floats(all.into_iter())
}

pub(super) fn schedule_serial(n: usize) -> Cell {
    struct State {
        ab: Query<(&'static mut A, &'static mut B)>,
        cd: Query<(&'static mut C, &'static mut D)>,
        ce: Query<(&'static mut C, &'static mut E)>,
        world: World,
    }
    let world = tables(n);
    let state = State {
        ab: world.query().set_cached().build(),
        cd: world.query().set_cached().build(),
        ce: world.query().set_cached().build(),
        world,
    };
    let frame = |state: &mut State| {
        state.ab.each(|(a, b)| std::mem::swap(&mut a.0, &mut b.0));
        state.cd.each(|(c, d)| std::mem::swap(&mut c.0, &mut d.0));
        state.ce.each(|(c, e)| std::mem::swap(&mut c.0, &mut e.0));
    };
    Cell::frames(state, frame, |state| check_tables(&state.world))
}

/// flecs cuts the entities of each system in pieces, one for each thread.
pub(super) fn schedule_parallel(n: usize) -> Cell {
    let world = tables(n);
    threads(&world);
    world.system::<(&mut A, &mut B)>().par_each(|(a, b)| std::mem::swap(&mut a.0, &mut b.0));
    world.system::<(&mut C, &mut D)>().par_each(|(c, d)| std::mem::swap(&mut c.0, &mut d.0));
    world.system::<(&mut C, &mut E)>().par_each(|(c, e)| std::mem::swap(&mut c.0, &mut e.0));
    Cell::frames(world, |world| _ = world.progress_time(1.0), |world| check_tables(world))
}
