//! bevy_tasks 0.20, with a pool of its own.
//!
//! The thread that waits for a scope helps, so a pool for T threads has T - 1 of its own, but one
//! at least.

use std::sync::atomic::{AtomicU64, Ordering};

use bevy_tasks::prelude::ParallelSliceMut;
use bevy_tasks::{Scope, TaskPool, TaskPoolBuilder};

use super::Outside;
use crate::harness::Cell;
use crate::model::{self, Countdown, Graph, Imbalanced};
use crate::rows::{Kind, Row};
use crate::scaling::Heavy;
use crate::signal::Signal;

/// Indices of the imbalanced loop in one task.
const HEAVY_BATCH: usize = 64;

fn pool(threads: usize) -> TaskPool {
    TaskPoolBuilder::new().num_threads(threads).build()
}

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let pool = pool((row.threads - 1).max(1));
    Some(match row.kind {
        Kind::Graph | Kind::GraphPrebuilt { .. } | Kind::GraphScope => graph(pool),
        Kind::Scope { jobs } => scope(pool, jobs),
        Kind::For { batch } => Cell::new(
            (pool, model::items()),
            move |(pool, items)| match batch {
                Some(batch) => {
                    items.par_chunk_map_mut(pool, batch, |_, batch| model::step_all(batch));
                }
                None => {
                    items.par_splat_map_mut(pool, None, |_, batch| model::step_all(batch));
                }
            },
            |(_, items)| model::sum_items(items.iter().copied()),
        ),
        Kind::Imbalanced => Cell::new(
            (pool, Imbalanced::new()),
            |(pool, heavy)| for_each(pool, Imbalanced::LEN, |index| heavy.visit(index)),
            |(_, heavy)| heavy.sum(),
        ),
        Kind::Heavy => Cell::new(
            (pool, Heavy::new()),
            |(pool, heavy)| for_each(pool, Heavy::LEN, |index| heavy.visit(index)),
            |(_, heavy)| heavy.sum(),
        ),
        _ => return None,
    })
}

/// One task for each batch.
fn for_each(pool: &TaskPool, len: usize, body: impl Fn(usize) + Sync) {
    let body = &body;
    pool.scope(|scope| {
        for start in (0..len).step_by(HEAVY_BATCH) {
            let indices = start..len.min(start + HEAVY_BATCH);
            scope.spawn(async move { indices.for_each(body) });
        }
    });
}

fn graph(pool: TaskPool) -> Cell {
    fn run<'scope>(
        graph: &'scope Graph,
        countdown: &'scope Countdown,
        job: usize,
        scope: &'scope Scope<'scope, '_, ()>,
    ) {
        graph.run(job);
        for &after in &graph.after[job] {
            if countdown.is_ready(after) {
                scope.spawn(async move { run(graph, countdown, after, scope) });
            }
        }
    }
    Cell::new(
        (pool, Graph::new(), Countdown::new()),
        |(pool, graph, countdown)| {
            let (graph, countdown) = (&**graph, &*countdown);
            countdown.reset(graph);
            pool.scope(|scope| {
                for job in graph.roots() {
                    scope.spawn(async move { run(graph, countdown, job, scope) });
                }
            });
        },
        |(_, graph, _)| graph.sum(),
    )
}

fn scope(pool: TaskPool, jobs: usize) -> Cell {
    Cell::new(
        (pool, model::counter()),
        move |(pool, count)| {
            let count: &AtomicU64 = count;
            pool.scope(|scope| {
                for _ in 0..jobs {
                    scope.spawn(async move { _ = count.fetch_add(1, Ordering::Relaxed) });
                }
            });
        },
        |(_, count)| count.load(Ordering::Relaxed),
    )
}

pub(crate) fn outside(threads: usize) -> Option<Box<dyn Outside>> {
    Some(Box::new(pool(threads)))
}

impl Outside for TaskPool {
    fn push(&self, signal: &'static Signal, meanwhile: &dyn Fn()) {
        self.spawn(async { signal.ring() }).detach();
        meanwhile();
    }
}
