//! Rows that only loop.

use specs::prelude::*;

use super::{A, B, C, D, Data, E, F, G, H};
use super::{Position, Transform, Velocity, bodies, check_positions};
use crate::harness::Cell;
use crate::model::{
    FRAGMENT_LEN, for_each_letter, for_each_tag, has_tag, heavy_work, sum_floats, tag_sets,
};

pub(super) fn simple_iter(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let mut positions = world.write_storage::<Position>();
        let velocities = world.read_storage::<Velocity>();
        let rows = (&mut positions, &velocities).join();
        rows.for_each(|(position, velocity)| position.0 += velocity.0);
    };
    Cell::frames(bodies(n).0, frame, |world| check_positions(world))
}

pub(super) fn wide_iter(n: usize) -> Cell {
    type Written<'a> =
        (WriteStorage<'a, A>, WriteStorage<'a, B>, WriteStorage<'a, C>, WriteStorage<'a, D>);
    type Read<'a> =
        (ReadStorage<'a, E>, ReadStorage<'a, F>, ReadStorage<'a, G>, ReadStorage<'a, H>);
    let mut world = World::new();
    <(Written<'_>, Read<'_>) as SystemData<'_>>::setup(&mut world);
    for _ in 0..n {
        let entity = world.create_entity().with(A(1.0)).with(B(2.0)).with(C(3.0)).with(D(4.0));
        entity.with(E(5.0)).with(F(6.0)).with(G(7.0)).with(H(8.0)).build();
    }
    let frame = |world: &mut World| {
        let (mut a, mut b, mut c, mut d) = world.system_data::<Written<'_>>();
        let (e, f, g, h) = world.system_data::<Read<'_>>();
        let all = (&mut a, &mut b, &mut c, &mut d, &e, &f, &g, &h).join();
        all.for_each(|(a, b, c, d, e, f, g, h)| {
            a.0 += e.0;
            b.0 += f.0;
            c.0 += g.0;
            d.0 += h.0;
        });
    };
    Cell::frames(world, frame, |world| {
        let (a, b, c, d) = world.system_data::<Written<'_>>();
        let all = (&a, &b, &c, &d).join();
        sum_floats(all.flat_map(|(a, b, c, d)| [a.0, b.0, c.0, d.0]))
    })
}

fn check_data(world: &mut World) -> u64 {
    sum_floats(world.read_storage::<Data>().join().map(|data| data.0))
}

fn add_one(world: &mut World) {
    (&mut world.write_storage::<Data>()).join().for_each(|data| data.0 += 1.0);
}

pub(super) fn frag_iter() -> Cell {
    let mut world = World::new();
    world.register::<Data>();
    macro_rules! spawn {
        ($($letter:ident)*) => {$(
            world.register::<super::$letter>();
            for _ in 0..FRAGMENT_LEN {
                world.create_entity().with(super::$letter(0.0)).with(Data(1.0)).build();
            }
        )*};
    }
    for_each_letter!(spawn);
    Cell::frames(world, add_one, check_data)
}

macro_rules! tags {
    ($($tag:ident $number:literal),*) => {
        $(
            #[derive(Default)]
            struct $tag;

            impl Component for $tag {
                type Storage = NullStorage<Self>;
            }
        )*

        fn tagged() -> World {
            let mut world = World::new();
            world.register::<Data>();
            $(world.register::<$tag>();)*
            for set in tag_sets() {
                let entity = world.create_entity().with(Data(1.0)).build();
                $(if has_tag(set, $number) {
                    super::put(world.write_storage().insert(entity, $tag));
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
        let (t0, t1) = (world.read_storage::<T0>(), world.read_storage::<T1>());
        let mut data = world.write_storage::<Data>();
        (&mut data, t0.mask(), !t1.mask()).join().for_each(|(data, ..)| data.0 += 1.0);
    };
    Cell::frames(tagged(), frame, check_data)
}

type Heavy<'a> = (WriteStorage<'a, Transform>, WriteStorage<'a, Position>);

pub(super) fn heavy_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let (mut transforms, mut positions) = world.system_data::<Heavy<'_>>();
        let rows = (&mut transforms, &mut positions).join();
        rows.for_each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
    };
    Cell::frames(bodies(n).0, frame, |world| check_positions(world))
}

pub(super) fn heavy_parallel(n: usize) -> Cell {
    let frame = |world: &mut World| {
        let (mut transforms, mut positions) = world.system_data::<Heavy<'_>>();
        let rows = (&mut transforms, &mut positions).par_join();
        rows.for_each(|(transform, position)| heavy_work(&mut transform.0, &mut position.0));
    };
    Cell::frames(bodies(n).0, frame, |world| check_positions(world))
}

fn tables(n: usize) -> World {
    let mut world = World::new();
    world.register::<A>();
    world.register::<B>();
    world.register::<C>();
    world.register::<D>();
    world.register::<E>();
    for table in 0..4 {
        for i in (0..n).map(|i| i as f32) {
            let entity = world.create_entity().with(A(i)).with(B(1.0 + i));
            _ = match table {
                0 => entity.build(),
                1 => entity.with(C(2.0 + i)).build(),
                2 => entity.with(C(2.0 + i)).with(D(3.0 + i)).build(),
                _ => entity.with(C(2.0 + i)).with(E(4.0 + i)).build(),
            };
        }
    }
    world
}

fn check_tables(world: &mut World) -> u64 {
    let a = sum_floats(world.read_storage::<A>().join().map(|a| a.0));
    a.wrapping_add(sum_floats(world.read_storage::<C>().join().map(|c| c.0)))
}

macro_rules! swap_system {
    ($name:ident, $left:ident, $right:ident) => {
        struct $name;

        impl<'a> System<'a> for $name {
            type SystemData = (WriteStorage<'a, $left>, WriteStorage<'a, $right>);

            fn run(&mut self, (mut left, mut right): Self::SystemData) {
                let rows = (&mut left, &mut right).join();
                rows.for_each(|(left, right)| std::mem::swap(&mut left.0, &mut right.0));
            }
        }
    };
}
swap_system!(SwapAb, A, B);
swap_system!(SwapCd, C, D);
swap_system!(SwapCe, C, E);

pub(super) fn schedule_serial(n: usize) -> Cell {
    let frame = |world: &mut World| {
        SwapAb.run_now(world);
        SwapCd.run_now(world);
        SwapCe.run_now(world);
    };
    Cell::frames(tables(n), frame, check_tables)
}

pub(super) fn schedule_parallel(n: usize) -> Cell {
    let dispatcher = DispatcherBuilder::new()
        .with(SwapAb, "ab", &[])
        .with(SwapCd, "cd", &[])
        .with(SwapCe, "ce", &["cd"])
        .build();
    let frame = |(world, dispatcher): &mut (World, Dispatcher<'static, 'static>)| {
        dispatcher.dispatch(world);
    };
    Cell::frames((tables(n), dispatcher), frame, |(world, _)| check_tables(world))
}
