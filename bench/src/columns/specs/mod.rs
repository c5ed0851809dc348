//! specs 0.20: a vector for each component, indexed by entity, with a bit set of who has it.
//!
//! Components are in `VecStorage`, tags in `NullStorage`, which is what specs advises for
//! components that most entities have, and for tags.

mod agents;
mod change;
mod loops;

use specs::prelude::*;
use specs::storage::InsertResult;

use super::Filled;
use crate::harness::Cell;
use crate::model::{body, random_half, shared_components, sum_vectors};
use crate::rows::{Kind, Row};

macro_rules! components {
    ($($name:ident(pub $field:ty),)*) => {$(
        #[allow(dead_code, reason = "some components are only there, to set archetypes apart")]
        #[derive(Clone, Copy)]
        struct $name($field);

        impl Component for $name {
            type Storage = VecStorage<Self>;
        }
    )*};
}
shared_components!(components);

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let n = row.n;
    Some(match row.kind {
        Kind::InsertBatch => {
            Cell::rebuilt(empty, move |world| drop(spawn(world, n)), |world| check_positions(world))
        }
        Kind::InsertSingle | Kind::InsertWorst => Cell::one_by_one(
            row.spawns(),
            empty,
            |world, i| _ = spawn_one(world, i),
            |world| check_positions(world),
        ),
        Kind::InsertSuite => Cell::frames(0, move |len| *len = suite(n), |len| *len),
        Kind::SimpleIter => loops::simple_iter(n),
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
        Kind::Changed => change::changed(n),
        Kind::AgentsFlag => agents::flag(n, false),
        Kind::AgentsFlagShuf => agents::flag(n, true),
        Kind::AgentsFlagPush => agents::flag_push(n),
        Kind::AgentsTag => agents::tag(n),
        Kind::SimpleIterSlice
        | Kind::ToggleTagAlt
        | Kind::ToggleNative
        | Kind::AgentsNative
        | Kind::AgentsNativeShuf
        | Kind::Memory => return None,
    })
}

fn empty() -> World {
    let mut world = World::new();
    world.register::<Transform>();
    world.register::<Position>();
    world.register::<Rotation>();
    world.register::<Velocity>();
    world
}

fn spawn(world: &mut World, n: usize) -> Vec<Entity> {
    let created: Vec<Entity> = world.create_iter().take(n).collect();
    let mut transforms = world.write_storage::<Transform>();
    let mut positions = world.write_storage::<Position>();
    let mut rotations = world.write_storage::<Rotation>();
    let mut velocities = world.write_storage::<Velocity>();
    for (&entity, (transform, position, rotation, velocity)) in created.iter().zip((0..n).map(body))
    {
        put(transforms.insert(entity, Transform(transform)));
        put(positions.insert(entity, Position(position)));
        put(rotations.insert(entity, Rotation(rotation)));
        put(velocities.insert(entity, Velocity(velocity)));
    }
    created
}

/// What an insertion gives, which must have gone well.
#[inline]
fn put<T>(result: InsertResult<T>) {
    assert!(result.is_ok());
}

fn spawn_one(world: &mut World, i: usize) -> Entity {
    let (transform, position, rotation, velocity) = body(i);
    world
        .create_entity()
        .with(Transform(transform))
        .with(Position(position))
        .with(Rotation(rotation))
        .with(Velocity(velocity))
        .build()
}

/// A world of bodies, and their entities in order.
fn bodies(n: usize) -> (World, Vec<Entity>) {
    let mut world = empty();
    let entities = spawn(&mut world, n);
    (world, entities)
}

fn check_positions(world: &World) -> u64 {
    sum_vectors(world.read_storage::<Position>().join().map(|position| position.0))
}

fn suite(n: usize) -> u64 {
    let mut world = empty();
    let spawned = spawn(&mut world, n).len();
    std::hint::black_box(&world);
    spawned as u64
}

/// A world for the memory row.
pub(crate) fn fill(n: usize) -> Filled {
    let mut world = empty();
    let created: Vec<Entity> = world.create_iter().take(n).collect();
    for (&entity, (_, position, rotation, velocity)) in created.iter().zip((0..n).map(body)) {
        put(world.write_storage().insert(entity, Position(position)));
        put(world.write_storage().insert(entity, Rotation(rotation)));
        put(world.write_storage().insert(entity, Velocity(velocity)));
    }
    drop(created);
    let sum = check_positions(&world);
    (Box::new(world), sum)
}
