//! rayon 1, with a pool of its own.
//!
//! Rows from inside run in `install`, which does not help: the threads are the pool's. Jobs of the
//! graph are spawned into one scope as they become ready.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use super::Outside;
use crate::harness::Cell;
use crate::model::{self, Countdown, Graph, Imbalanced, JoinTree};
use crate::rows::{Kind, Row};
use crate::scaling::Heavy;
use crate::signal::Signal;

pub(crate) fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads are granted")
}

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let pool = pool(row.threads);
    Some(match row.kind {
        Kind::Join { n } | Kind::OutsideJoin { n } => Cell::new(
            (pool, 0),
            move |(pool, result)| *result = pool.install(|| fib(std::hint::black_box(n))),
            |(_, result)| *result,
        ),
        Kind::Graph | Kind::GraphPrebuilt { .. } | Kind::GraphScope => graph(pool),
        Kind::Scope { jobs } => scope(pool, jobs),
        Kind::For { batch } => flat_loop(pool, batch),
        Kind::Imbalanced => Cell::new(
            (pool, Imbalanced::new()),
            |(pool, heavy)| {
                pool.install(|| {
                    (0..Imbalanced::LEN).into_par_iter().for_each(|index| heavy.visit(index));
                });
            },
            |(_, heavy)| heavy.sum(),
        ),
        Kind::Heavy => Cell::new(
            (pool, Heavy::new()),
            |(pool, heavy)| {
                pool.install(|| {
                    (0..Heavy::LEN).into_par_iter().for_each(|index| heavy.visit(index));
                });
            },
            |(_, heavy)| heavy.sum(),
        ),
        Kind::Tree(tree) => Cell::new(
            (pool, 0),
            move |(pool, sum): &mut (ThreadPool, u64)| {
                *sum = sum.wrapping_add(pool.install(|| run_tree(tree)));
            },
            |(_, sum)| *sum,
        ),
        _ => return None,
    })
}

fn run_tree(tree: JoinTree) -> u64 {
    let Some((left, right)) = tree.halves() else { return tree.run() };
    let (left, right) = rayon::join(|| run_tree(left), || run_tree(right));
    left.wrapping_add(right)
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (left, right) = rayon::join(|| fib(n - 1), || fib(n - 2));
    left + right
}

fn graph(pool: ThreadPool) -> Cell {
    fn run<'scope>(
        graph: &'scope Graph,
        countdown: &'scope Countdown,
        job: usize,
        scope: &Scope<'scope>,
    ) {
        graph.run(job);
        for &after in &graph.after[job] {
            if countdown.is_ready(after) {
                scope.spawn(move |scope| run(graph, countdown, after, scope));
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
                    scope.spawn(move |scope| run(graph, countdown, job, scope));
                }
            });
        },
        |(_, graph, _)| graph.sum(),
    )
}

fn scope(pool: ThreadPool, jobs: usize) -> Cell {
    Cell::new(
        (pool, model::counter()),
        move |(pool, count)| {
            let count: &AtomicU64 = count;
            pool.scope(|scope| {
                for _ in 0..jobs {
                    scope.spawn(|_| _ = count.fetch_add(1, Ordering::Relaxed));
                }
            });
        },
        |(_, count)| count.load(Ordering::Relaxed),
    )
}

/// By batches, which rayon groups as it sees fit, or by items.
fn flat_loop(pool: ThreadPool, batch: Option<usize>) -> Cell {
    Cell::new(
        (pool, model::items()),
        move |(pool, items)| {
            pool.install(|| match batch {
                Some(batch) => items.par_chunks_mut(batch).for_each(model::step_all),
                None => items.par_iter_mut().for_each(|item| *item = model::step(*item)),
            });
        },
        |(_, items)| model::sum_items(items.iter().copied()),
    )
}

pub(crate) fn outside(threads: usize) -> Option<Box<dyn Outside>> {
    Some(Box::new(pool(threads)))
}

impl Outside for ThreadPool {
    fn push(&self, signal: &'static Signal, meanwhile: &dyn Fn()) {
        self.spawn(|| signal.ring());
        meanwhile();
    }
}
