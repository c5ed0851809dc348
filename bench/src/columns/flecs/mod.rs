//! flecs_ecs, the Rust face of flecs.
//!
//! With its default features, its C code optimised. Queries are kept and cached; loops are internal
//! (`each`).

mod agents;
mod change;
mod loops;
mod toggle;

use flecs_ecs::prelude::*;

use super::Filled;
use crate::harness::Cell;
use crate::model::{body, random_half, shared_components, sum_vectors};
use crate::rows::{Kind, Row};

macro_rules! components {
    ($($name:ident(pub $field:ty),)*) => {$(
        #[derive(Clone, Copy, Default, Component, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        struct $name($field);
    )*};
}
shared_components!(components);

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let n = row.n;
    Some(match row.kind {
        Kind::InsertBatch => {
            Cell::rebuilt(World::new, move |world| _ = spawn(world, n), check_positions)
        }
        Kind::InsertSingle | Kind::InsertWorst => Cell::one_by_one(
            row.spawns(),
            World::new,
            |world, i| _ = spawn_one(world, i),
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
        Kind::AgentsFlag => agents::flag(n, false),
        Kind::AgentsFlagShuf => agents::flag(n, true),
        Kind::AgentsFlagPush => agents::flag_push(n),
        Kind::AgentsTag => agents::tag(n),
        Kind::AgentsNative => agents::native(n, false),
        Kind::AgentsNativeShuf => agents::native(n, true),
        // Its change detection is by table, not by row.
        Kind::Changed | Kind::ToggleTagAlt | Kind::Memory => return None,
    })
}

/// Bodies by the bulk builder, which takes columns; filling them is part of the row.
fn spawn(world: &World, n: usize) -> Vec<Entity> {
    let mut columns = (
        Vec::with_capacity(n),
        Vec::with_capacity(n),
        Vec::with_capacity(n),
        Vec::with_capacity(n),
    );
    for (transform, position, rotation, velocity) in (0..n).map(body) {
        columns.0.push(Transform(transform));
        columns.1.push(Position(position));
        columns.2.push(Rotation(rotation));
        columns.3.push(Velocity(velocity));
    }
    let mut bulk = world.entity_bulk(n as u32);
    bulk.set(&columns.0).set(&columns.1).set(&columns.2).set(&columns.3).build()
}

/// One body. The bulk builder with one entity puts it into its table at once, where four calls of
/// `set` on an entity would move it four times.
fn spawn_one(world: &World, i: usize) -> Entity {
    let (transform, position, rotation, velocity) = body(i);
    world
        .entity_bulk(1)
        .set(&[Transform(transform)])
        .set(&[Position(position)])
        .set(&[Rotation(rotation)])
        .set(&[Velocity(velocity)])
        .build()[0]
}

/// A world of bodies, and their entities in order.
fn bodies(n: usize) -> (World, Vec<Entity>) {
    let world = World::new();
    let entities = spawn(&world, n);
    (world, entities)
}

fn check_positions(world: &mut World) -> u64 {
    let mut positions = Vec::new();
    world.new_query::<&Position>().each(|position| positions.push(position.0));
    sum_vectors(positions.into_iter())
}

fn suite(n: usize) -> u64 {
    let world = World::new();
    let spawned = spawn(&world, n).len();
    std::hint::black_box(&world);
    spawned as u64
}

/// A world for the memory row.
pub(crate) fn fill(n: usize) -> Filled {
    let mut world = World::new();
    let mut columns = (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
    for (_, position, rotation, velocity) in (0..n).map(body) {
        columns.0.push(Position(position));
        columns.1.push(Rotation(rotation));
        columns.2.push(Velocity(velocity));
    }
    world.entity_bulk(n as u32).set(&columns.0).set(&columns.1).set(&columns.2).build();
    drop(columns);
    let sum = check_positions(&mut world);
    (Box::new(world), sum)
}
