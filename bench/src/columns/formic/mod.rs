//! Formic: the store under test.

mod agents;
mod change;
mod loops;
mod toggle;

use formic_ecs::prelude::*;

use super::Filled;
use crate::harness::Cell;
use crate::model::{body, random_half, shared_components, sum_vectors};
use crate::rows::{Kind, Row};

macro_rules! components {
    ($($name:ident(pub $field:ty),)*) => {$(
        #[derive(Clone, Copy, Component, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        struct $name($field);
    )*};
}
shared_components!(components);

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let n = row.n;
    Some(match row.kind {
        Kind::InsertBatch => Cell::rebuilt(
            World::new,
            move |world| drop(world.spawn_batch((0..n).map(bundle))),
            check_positions,
        ),
        Kind::InsertSingle | Kind::InsertWorst => Cell::one_by_one(
            row.spawns(),
            World::new,
            |world, i| _ = world.spawn(bundle(i)),
            check_positions,
        ),
        Kind::InsertSuite => Cell::frames(0, move |len| *len = suite(n), |len| *len),
        Kind::SimpleIter => loops::simple_iter(n),
        Kind::SimpleIterSlice => loops::simple_iter_slice(n),
        Kind::WideIter => loops::wide_iter(n),
        Kind::FragIter => loops::frag_iter(),
        Kind::ManyArchIter => loops::many_arch_iter(),
        Kind::ManyArchFilter => loops::many_arch_filter(),
        Kind::HeavySerial => loops::heavy_serial(n),
        Kind::HeavyParallel => loops::heavy_parallel(n),
        Kind::ScheduleSerial => loops::schedule_serial(n),
        Kind::ScheduleParallel => loops::schedule_parallel(n),
        Kind::AddRemove => change::add_remove(n),
        Kind::AddRemoveCmd => change::add_remove_cmd(n),
        Kind::ToggleFlag => toggle::flag(n),
        Kind::ToggleTag => toggle::tag(n),
        Kind::ToggleNative => toggle::native(n),
        Kind::RandomRead => change::random_read(n),
        Kind::RandomRmw => change::random_rmw(n),
        Kind::DespawnAll => change::despawn(n, (0..n).collect()),
        Kind::DespawnHalf => change::despawn(n, random_half(n)),
        Kind::Churn => change::churn(n),
        Kind::Changed => change::changed(n),
        Kind::AgentsFlag => agents::flag(n, false),
        Kind::AgentsFlagShuf => agents::flag(n, true),
        Kind::AgentsFlagPush => agents::flag_push(n),
        Kind::AgentsTag => agents::tag(n),
        Kind::AgentsNative => agents::native(n, false),
        Kind::AgentsNativeShuf => agents::native(n, true),
        Kind::ToggleTagAlt | Kind::Memory => return None,
    })
}

#[inline]
fn bundle(i: usize) -> (Transform, Position, Rotation, Velocity) {
    let (transform, position, rotation, velocity) = body(i);
    (Transform(transform), Position(position), Rotation(rotation), Velocity(velocity))
}

/// A world of bodies, and their entities in order.
fn bodies(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities = world.spawn_batch((0..n).map(bundle));
    (world, entities)
}

fn check_positions(world: &mut World) -> u64 {
    sum_vectors(world.query::<&Position>().map(|position| position.0))
}

fn suite(n: usize) -> u64 {
    let mut world = World::new();
    drop(world.spawn_batch((0..n).map(bundle)));
    std::hint::black_box(&world).len() as u64
}

/// A world for the memory row.
pub(crate) fn fill(n: usize) -> Filled {
    let mut world = World::new();
    let bundle = |i| {
        let (_, position, rotation, velocity) = body(i);
        (Position(position), Rotation(rotation), Velocity(velocity))
    };
    drop(world.spawn_batch((0..n).map(bundle)));
    let sum = check_positions(&mut world);
    (Box::new(world), sum)
}
