//! legion 0.4.
//!
//! Queries are kept; loops are internal (`for_each_mut`). Lookups read through a query's `get` and
//! write through entries, which is the faster way for each.

mod agents;
mod change;
mod loops;

use legion::{Entity, IntoQuery, World};

use super::Filled;
use crate::harness::Cell;
use crate::model::{body, random_half, shared_components, sum_vectors};
use crate::rows::{Kind, Row};

macro_rules! components {
    ($($name:ident(pub $field:ty),)*) => {$(
        #[allow(dead_code, reason = "some components are only there, to set archetypes apart")]
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        struct $name($field);
    )*};
}
shared_components!(components);

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let n = row.n;
    Some(match row.kind {
        Kind::InsertBatch => Cell::rebuilt(
            World::default,
            move |world| _ = world.extend((0..n).map(bundle)),
            |world| check_positions(world),
        ),
        Kind::InsertSingle | Kind::InsertWorst => Cell::one_by_one(
            row.spawns(),
            World::default,
            |world, i| _ = world.push(bundle(i)),
            |world| check_positions(world),
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
        Kind::ToggleFlag => change::toggle_flag(n),
        Kind::ToggleTag => change::toggle_tag(n),
        Kind::RandomRead => change::random_read(n),
        Kind::RandomRmw => change::random_rmw(n),
        Kind::DespawnAll => change::despawn(n, (0..n).collect()),
        Kind::DespawnHalf => change::despawn(n, random_half(n)),
        Kind::Churn => change::churn(n),
        Kind::AgentsFlag => agents::flag(n, false),
        Kind::AgentsFlagShuf => agents::flag(n, true),
        Kind::AgentsFlagPush => agents::flag_push(n),
        Kind::AgentsTag => agents::tag(n),
        // Its change detection is by archetype, not by row.
        Kind::Changed
        | Kind::ToggleTagAlt
        | Kind::ToggleNative
        | Kind::AgentsNative
        | Kind::AgentsNativeShuf
        | Kind::Memory => return None,
    })
}

#[inline]
fn bundle(i: usize) -> (Transform, Position, Rotation, Velocity) {
    let (transform, position, rotation, velocity) = body(i);
    (Transform(transform), Position(position), Rotation(rotation), Velocity(velocity))
}

/// A world of bodies, and their entities in order.
fn bodies(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::default();
    let entities = world.extend((0..n).map(bundle)).to_vec();
    (world, entities)
}

fn check_positions(world: &World) -> u64 {
    sum_vectors(<&Position>::query().iter(world).map(|position| position.0))
}

fn suite(n: usize) -> u64 {
    let mut world = World::default();
    let spawned = world.extend((0..n).map(bundle)).len();
    std::hint::black_box(&world);
    spawned as u64
}

/// A world for the memory row.
pub(crate) fn fill(n: usize) -> Filled {
    let mut world = World::default();
    world.extend((0..n).map(|i| {
        let (_, position, rotation, velocity) = body(i);
        (Position(position), Rotation(rotation), Velocity(velocity))
    }));
    let sum = check_positions(&world);
    (Box::new(world), sum)
}
