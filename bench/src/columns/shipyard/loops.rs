//! Rows that only loop.

use rayon::prelude::*;
use shipyard::{Component, IntoIter, IntoWorkload, View, ViewMut, Workload, World};

use super::{A, B, C, D, Data, E, F, G, H};
use super::{Position, Transform, Velocity, bodies, check_positions};
use crate::harness::Cell;
use crate::model::{
    FRAGMENT_LEN, for_each_letter, for_each_tag, has_tag, heavy_work, sum_floats, tag_sets,
};

pub(super) fn simple_iter(n: usize) -> Cell {
    let frame = |world: &mut World| {
        world.run(|mut positions: ViewMut<'_, Position>, velocities: View<'_, Velocity>| {
            let rows = (&mut positions, &velocities).iter();
            rows.for_each(|(position, velocity)| position.0 += velocity.0);
        });
    };
    Cell::frames(bodies(n).0, frame, |world| check_positions(world))
}

type Wide<'a> = (
    (ViewMut<'a, A>, ViewMut<'a, B>, ViewMut<'a, C>, ViewMut<'a, D>),
    (View<'a, E>, View<'a, F>, View<'a, G>, View<'a, H>),
);

fn wide(((mut a, mut b, mut c, mut d), (e, f, g, h)): Wide<'_>) {
    let all = (&mut a, &mut b, &mut c, &mut d, &e, &f, &g, &h).iter();
    all.for_each(|(a, b, c, d, e, f, g, h)| {
        a.0 += e.0;
        b.0 += f.0;
        c.0 += g.0;
        d.0 += h.0;
    });
}

pub(super) fn wide_iter(n: usize) -> Cell {
    let mut world = World::new();
    let bundle = (A(1.0), B(2.0), C(3.0), D(4.0), E(5.0), F(6.0), G(7.0), H(8.0));
    world.bulk_add_entity((0..n).map(|_| bundle));
    Cell::frames(
        world,
        |world| world.run(wide),
        |world| {
            world.run(|a: View<'_, A>, b: View<'_, B>, c: View<'_, C>, d: View<'_, D>| {
                let all = (&a, &b, &c, &d).iter();
                sum_floats(all.flat_map(|(a, b, c, d)| [a.0, b.0, c.0, d.0]))
            })
        },
    )
}

fn check_data(world: &mut World) -> u64 {
    world.run(|data: View<'_, Data>| sum_floats(data.iter().map(|data| data.0)))
}

fn add_one(world: &mut World) {
    world.run(|mut data: ViewMut<'_, Data>| {
        (&mut data).iter().for_each(|data| data.0 += 1.0);
    });
}

pub(super) fn frag_iter() -> Cell {
    let mut world = World::new();
    macro_rules! spawn {
        ($($letter:ident)*) => {$(
            world.bulk_add_entity((0..FRAGMENT_LEN).map(|_| (super::$letter(0.0), Data(1.0))));
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
                let entity = world.add_entity((Data(1.0),));
                $(if has_tag(set, $number) { world.add_component(entity, ($tag,)); })*
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
        world.run(|mut data: ViewMut<'_, Data>, t0: View<'_, T0>, t1: View<'_, T1>| {
            (&mut data, &t0, !&t1).iter().for_each(|(data, ..)| data.0 += 1.0);
        });
    };
    Cell::frames(tagged(), frame, check_data)
}

pub(super) fn heavy_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        world.run(
            |mut transforms: ViewMut<'_, Transform>, mut positions: ViewMut<'_, Position>| {
                let rows = (&mut transforms, &mut positions).iter();
                rows.for_each(|(transform, position)| {
                    heavy_work(&mut transform.0, &mut position.0)
                });
            },
        );
    };
    Cell::frames(bodies(n).0, frame, |world| check_positions(world))
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    let frame = |world: &mut World| {
        world.run(
            |mut transforms: ViewMut<'_, Transform>, mut positions: ViewMut<'_, Position>| {
                let rows = (&mut transforms, &mut positions).par_iter();
                rows.for_each(|(transform, position)| {
                    heavy_work(&mut transform.0, &mut position.0)
                });
            },
        );
    };
    Cell::frames(bodies(n).0, frame, |world| check_positions(world))
}

fn tables(n: usize) -> World {
    let mut world = World::new();
    let ab = |i: usize| (A(i as f32), B(1.0 + i as f32));
    let c = |i: usize| C(2.0 + i as f32);
    world.bulk_add_entity((0..n).map(ab));
    world.bulk_add_entity((0..n).map(|i| (ab(i).0, ab(i).1, c(i))));
    world.bulk_add_entity((0..n).map(|i| (ab(i).0, ab(i).1, c(i), D(3.0 + i as f32))));
    world.bulk_add_entity((0..n).map(|i| (ab(i).0, ab(i).1, c(i), E(4.0 + i as f32))));
    world
}

fn check_tables(world: &mut World) -> u64 {
    world.run(|a: View<'_, A>, c: View<'_, C>| {
        let a = sum_floats(a.iter().map(|a| a.0));
        a.wrapping_add(sum_floats(c.iter().map(|c| c.0)))
    })
}

fn swap_ab(mut a: ViewMut<'_, A>, mut b: ViewMut<'_, B>) {
    (&mut a, &mut b).iter().for_each(|(a, b)| std::mem::swap(&mut a.0, &mut b.0));
}

fn swap_cd(mut c: ViewMut<'_, C>, mut d: ViewMut<'_, D>) {
    (&mut c, &mut d).iter().for_each(|(c, d)| std::mem::swap(&mut c.0, &mut d.0));
}

fn swap_ce(mut c: ViewMut<'_, C>, mut e: ViewMut<'_, E>) {
    (&mut c, &mut e).iter().for_each(|(c, e)| std::mem::swap(&mut c.0, &mut e.0));
}

fn swaps() -> Workload {
    (swap_ab, swap_cd, swap_ce).into_workload()
}

pub(super) fn schedule_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        world.run(swap_ab);
        world.run(swap_cd);
        world.run(swap_ce);
    };
    Cell::frames(tables(n), frame, check_tables)
}

pub(super) fn schedule_parallel(n: usize) -> Cell {
    let world = tables(n);
    world.add_workload(swaps);
    let frame = |world: &mut World| world.run_workload(swaps).expect("added above");
    Cell::frames(world, frame, check_tables)
}
