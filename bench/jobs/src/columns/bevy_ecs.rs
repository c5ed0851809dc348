//! bevy_ecs 0.20: its executors, and its parallel queries.
//!
//! The threads are those of the process-wide `ComputeTaskPool`, as many as the rows on all threads
//! have. The calling thread runs no systems in the multi-threaded executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy_ecs::batching::BatchingStrategy;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{MultiThreadedExecutor, SingleThreadedExecutor};
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};

use crate::harness::Cell;
use crate::mixed::{self, for_each_mixed};
use crate::model::{self, Graph};
use crate::rows::{Kind, Row};

#[derive(Clone, Copy)]
enum Executor {
    Multi,
    Single,
}

/// Makes the one pool of the process.
pub(crate) fn prepare(threads: usize) {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(threads).build());
}

pub(crate) fn multi_threaded(row: &Row) -> Option<Cell> {
    if ComputeTaskPool::get().thread_num() != row.threads {
        return None;
    }
    match row.kind {
        Kind::For { batch: Some(batch) } => Some(flat_loop(batch)),
        kind => of(kind, Executor::Multi),
    }
}

pub(crate) fn single_threaded(row: &Row) -> Option<Cell> {
    of(row.kind, Executor::Single)
}

fn of(kind: Kind, executor: Executor) -> Option<Cell> {
    match kind {
        Kind::Graph | Kind::GraphPrebuilt { .. } => Some(graph(executor)),
        Kind::Systems { count } => Some(empty(count, executor)),
        Kind::Mixed => Some(mixed(executor)),
        _ => None,
    }
}

fn schedule(executor: Executor) -> Schedule {
    let mut schedule = Schedule::default();
    match executor {
        Executor::Multi => schedule.set_executor(MultiThreadedExecutor::new()),
        Executor::Single => schedule.set_executor(SingleThreadedExecutor::new()),
    };
    schedule
}

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Job(usize);

/// The jobs as systems, ordered after those that they wait for.
fn graph(executor: Executor) -> Cell {
    let graph = Graph::new();
    let mut schedule = schedule(executor);
    for job in 0..model::GRAPH_JOBS {
        let of_system = Arc::clone(&graph);
        let mut system = (move || of_system.run(job)).in_set(Job(job));
        for &before in &graph.before[job] {
            system = system.after(Job(before));
        }
        schedule.add_systems(system);
    }
    Cell::new(
        (World::new(), schedule),
        |(world, schedule)| schedule.run(world),
        move |_| graph.sum(),
    )
}

fn empty(count: usize, executor: Executor) -> Cell {
    fn nothing() {}
    let mut schedule = schedule(executor);
    for _ in 0..count {
        schedule.add_systems(nothing);
    }
    Cell::new((World::new(), schedule), |(world, schedule)| schedule.run(world), |_| 0)
}

#[derive(Component, Clone, Copy)]
struct Item(u32);

/// A query over the items, in batches of this size.
fn flat_loop(batch: usize) -> Cell {
    let mut world = World::new();
    drop(world.spawn_batch(model::items().into_iter().map(Item)));
    let query = world.query::<&mut Item>();
    Cell::new(
        (world, query),
        move |(world, query)| {
            let items = query.par_iter_mut(world).batching_strategy(BatchingStrategy::fixed(batch));
            items.for_each(|mut item| {
                let item = item.bypass_change_detection();
                item.0 = model::step(item.0);
            });
        },
        |(world, query)| model::sum_items(query.iter(world).map(|item| item.0)),
    )
}

#[derive(Component, Clone, Copy)]
struct Written<const N: usize>(u32);
#[derive(Component, Clone, Copy)]
struct Steady(u32);
#[derive(Resource)]
struct Gain(u32);
#[derive(Resource, Default)]
struct Rows(AtomicU64);

fn advance<const N: usize>(
    mut rows: Query<'_, '_, (&mut Written<N>, &Steady)>,
    gain: Res<'_, Gain>,
) {
    rows.iter_mut().for_each(|(mut written, steady)| {
        written.0 = mixed::advance(written.0, steady.0, gain.0);
    });
}

fn count<const N: usize>(rows: Query<'_, '_, &Written<N>>, counted: Res<'_, Rows>) {
    let mut count = 0;
    rows.iter().for_each(|_| count += 1);
    counted.0.fetch_add(count, Ordering::Relaxed);
}

fn record<const N: usize>(
    rows: Query<'_, '_, (Entity, &Written<N>)>,
    mut commands: Commands<'_, '_>,
) {
    rows.iter().for_each(|(entity, written)| {
        if mixed::is_over(written.0) {
            commands.entity(entity).despawn();
        }
    });
}

fn nothing() {}

fn mixed(executor: Executor) -> Cell {
    let mut world = World::new();
    world.insert_resource(Gain(mixed::GAIN));
    world.insert_resource(Rows::default());
    let mut schedule = schedule(executor);
    macro_rules! spawn {
        ($($n:literal)*) => {$(
            drop(world.spawn_batch((0..mixed::ROWS).map(|row| (Written::<$n>(row), Steady(row)))));
        )*};
    }
    for_each_mixed!(spawn);
    for _ in 0..mixed::REPEATS {
        macro_rules! add {
            ($($n:literal)*) => {$( schedule.add_systems((advance::<$n>, count::<$n>)); )*};
        }
        for_each_mixed!(add);
    }
    macro_rules! add_once {
        ($($n:literal)*) => {$( schedule.add_systems((record::<$n>, nothing)); )*};
    }
    for_each_mixed!(add_once);
    Cell::new((world, schedule), |(world, schedule)| schedule.run(world), |(world, _)| check(world))
}

fn check(world: &mut World) -> u64 {
    let mut sum = world.resource::<Rows>().0.load(Ordering::Relaxed);
    macro_rules! add {
        ($($n:literal)*) => {$(
            for written in world.query::<&Written<$n>>().iter(world) {
                sum = sum.wrapping_add(u64::from(written.0));
            }
        )*};
    }
    for_each_mixed!(add);
    sum
}
