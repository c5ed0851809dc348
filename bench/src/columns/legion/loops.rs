//! Rows that only loop.

use bytemuck::{cast_slice, cast_slice_mut};
use legion::query::Query;
use legion::systems::ParallelRunnable;
use legion::{EntityStore, IntoQuery, Resources, Schedule, SystemBuilder, World, component};

use super::{A, B, C, D, Data, E, F, G, H};
use super::{Position, Transform, Velocity, bodies, check_positions};
use crate::harness::Cell;
use crate::model::{
    FRAGMENT_LEN, for_each_letter, for_each_tag, has_tag, heavy_work, sum_floats, tag_sets,
};

type Movement = Query<(&'static mut Position, &'static Velocity)>;

fn movement(n: usize) -> (World, Movement) {
    (bodies(n).0, <(&mut Position, &Velocity)>::query())
}

pub(super) fn simple_iter(n: usize) -> Cell {
    let frame = |(world, query): &mut (World, Movement)| {
        query.for_each_mut(world, |(position, velocity)| position.0 += velocity.0);
    };
    Cell::frames(movement(n), frame, |(world, _)| check_positions(world))
}

pub(super) fn simple_iter_slice(n: usize) -> Cell {
    let frame = |(world, query): &mut (World, Movement)| {
        query.for_each_chunk_mut(world, |chunk| {
            let (positions, velocities) = chunk.into_components();
            let positions: &mut [f32] = cast_slice_mut(positions);
            let velocities: &[f32] = cast_slice(velocities);
            for (position, velocity) in positions.iter_mut().zip(velocities) {
                *position += velocity;
            }
        });
    };
    Cell::frames(movement(n), frame, |(world, _)| check_positions(world))
}

pub(super) fn wide_iter(n: usize) -> Cell {
    type Wide<'a> = (&'a mut A, &'a mut B, &'a mut C, &'a mut D, &'a E, &'a F, &'a G, &'a H);
    let mut world = World::default();
    let bundle = (A(1.0), B(2.0), C(3.0), D(4.0), E(5.0), F(6.0), G(7.0), H(8.0));
    world.extend((0..n).map(|_| bundle));
    let frame = |(world, query): &mut (World, Query<Wide<'static>>)| {
        query.for_each_mut(world, |(a, b, c, d, e, f, g, h)| {
            a.0 += e.0;
            b.0 += f.0;
            c.0 += g.0;
            d.0 += h.0;
        });
    };
    Cell::frames((world, <Wide<'static>>::query()), frame, |(world, _)| {
        let mut all = <(&A, &B, &C, &D)>::query();
        sum_floats(all.iter(world).flat_map(|(a, b, c, d)| [a.0, b.0, c.0, d.0]))
    })
}

fn check_data(world: &World) -> u64 {
    sum_floats(<&Data>::query().iter(world).map(|data| data.0))
}

fn add_one<F: legion::query::EntityFilter + 'static>(
    world: World,
    query: Query<&'static mut Data, F>,
) -> Cell {
    Cell::frames(
        (world, query),
        |(world, query)| query.for_each_mut(world, |data| data.0 += 1.0),
        |(world, _)| check_data(world),
    )
}

pub(super) fn frag_iter() -> Cell {
    let mut world = World::default();
    macro_rules! spawn {
        ($($letter:ident)*) => {$(
            world.extend((0..FRAGMENT_LEN).map(|_| (super::$letter(0.0), Data(1.0))));
        )*};
    }
    for_each_letter!(spawn);
    add_one(world, <&mut Data>::query())
}

macro_rules! tags {
    ($($tag:ident $number:literal),*) => {
        $(#[derive(Clone, Copy)] struct $tag;)*

        fn tagged() -> World {
            let mut world = World::default();
            for set in tag_sets() {
                let entity = world.push((Data(1.0),));
                let mut entry = world.entry(entity).expect("just made");
                $(if has_tag(set, $number) { entry.add_component($tag); })*
            }
            world
        }
    };
}
for_each_tag!(tags);

pub(super) fn many_arch_iter() -> Cell {
    add_one(tagged(), <&mut Data>::query())
}

pub(super) fn many_arch_filter() -> Cell {
    add_one(tagged(), <&mut Data>::query().filter(component::<T0>() & !component::<T1>()))
}

type Heavy = Query<(&'static mut Transform, &'static mut Position)>;

pub(super) fn heavy_serial(n: usize) -> Cell {
    let frame = |(world, query): &mut (World, Heavy)| {
        query.for_each_mut(world, |(transform, position)| {
            heavy_work(&mut transform.0, &mut position.0);
        });
    };
    let query = <(&mut Transform, &mut Position)>::query();
    Cell::frames((bodies(n).0, query), frame, |(world, _)| check_positions(world))
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    let frame = |(world, query): &mut (World, Heavy)| {
        query.par_for_each_mut(world, |(transform, position)| {
            heavy_work(&mut transform.0, &mut position.0);
        });
    };
    let query = <(&mut Transform, &mut Position)>::query();
    Cell::frames((bodies(n).0, query), frame, |(world, _)| check_positions(world))
}

fn tables(n: usize) -> World {
    let mut world = World::default();
    let ab = |i: usize| (A(i as f32), B(1.0 + i as f32));
    let c = |i: usize| C(2.0 + i as f32);
    world.extend((0..n).map(ab));
    world.extend((0..n).map(|i| (ab(i).0, ab(i).1, c(i))));
    world.extend((0..n).map(|i| (ab(i).0, ab(i).1, c(i), D(3.0 + i as f32))));
    world.extend((0..n).map(|i| (ab(i).0, ab(i).1, c(i), E(4.0 + i as f32))));
    world
}

fn check_tables(world: &World) -> u64 {
    let a = sum_floats(<&A>::query().iter(world).map(|a| a.0));
    a.wrapping_add(sum_floats(<&C>::query().iter(world).map(|c| c.0)))
}

type SwapAb = Query<(&'static mut A, &'static mut B)>;
type SwapCd = Query<(&'static mut C, &'static mut D)>;
type SwapCe = Query<(&'static mut C, &'static mut E)>;

fn swap_ab(query: &mut SwapAb, world: &mut impl EntityStore) {
    query.for_each_mut(world, |(a, b)| std::mem::swap(&mut a.0, &mut b.0));
}

fn swap_cd(query: &mut SwapCd, world: &mut impl EntityStore) {
    query.for_each_mut(world, |(c, d)| std::mem::swap(&mut c.0, &mut d.0));
}

fn swap_ce(query: &mut SwapCe, world: &mut impl EntityStore) {
    query.for_each_mut(world, |(c, e)| std::mem::swap(&mut c.0, &mut e.0));
}

pub(super) fn schedule_serial(n: usize) -> Cell {
    let queries =
        (<(&mut A, &mut B)>::query(), <(&mut C, &mut D)>::query(), <(&mut C, &mut E)>::query());
    let frame = |(world, (ab, cd, ce)): &mut (World, (SwapAb, SwapCd, SwapCe))| {
        swap_ab(ab, world);
        swap_cd(cd, world);
        swap_ce(ce, world);
    };
    Cell::frames((tables(n), queries), frame, |(world, _)| check_tables(world))
}

fn system_ab() -> impl ParallelRunnable {
    let query = <(&mut A, &mut B)>::query();
    SystemBuilder::new("ab").with_query(query).build(|_, world, _, query| swap_ab(query, world))
}

fn system_cd() -> impl ParallelRunnable {
    let query = <(&mut C, &mut D)>::query();
    SystemBuilder::new("cd").with_query(query).build(|_, world, _, query| swap_cd(query, world))
}

fn system_ce() -> impl ParallelRunnable {
    let query = <(&mut C, &mut E)>::query();
    SystemBuilder::new("ce").with_query(query).build(|_, world, _, query| swap_ce(query, world))
}

pub(super) fn schedule_parallel(n: usize) -> Cell {
    struct State {
        world: World,
        schedule: Schedule,
        resources: Resources,
    }
    let mut builder = Schedule::builder();
    builder.add_system(system_ab()).add_system(system_cd()).add_system(system_ce());
    let schedule = builder.build();
    let frame =
        |State { world, schedule, resources }: &mut State| schedule.execute(world, resources);
    let state = State { world: tables(n), schedule, resources: Resources::default() };
    Cell::frames(state, frame, |state| check_tables(&state.world))
}
