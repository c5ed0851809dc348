//! Formic.
//!
//! The calling thread helps, so a pool for T threads has T - 1 workers. Where a job is pushed from
//! outside and no thread waits for it, the pool has as many workers as a peer has threads.

mod systems;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use formic_jobs::{JobGraph, JobHandle, Pool, Scope, Sharing, Threads};

use super::Outside;
use crate::harness::Cell;
use crate::model::{self, Countdown, Graph, Imbalanced, JoinTree};
use crate::rows::{Kind, Row};
use crate::scaling::Heavy;
use crate::shared_items::SharedItems;
use crate::signal::Signal;

fn pool(threads: usize) -> Pool {
    Pool::new(Threads::Own(threads - 1)).expect("threads are granted")
}

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let pool = pool(row.threads);
    Some(match row.kind {
        Kind::Join { n } | Kind::OutsideJoin { n } => Cell::new(
            (pool, 0),
            move |(pool, result)| *result = fib(pool, std::hint::black_box(n)),
            |(_, result)| *result,
        ),
        Kind::Graph => graph_by_handles(pool),
        Kind::GraphPrebuilt { shared } => graph_prebuilt(pool, shared),
        Kind::GraphScope => graph_in_scope(pool),
        Kind::Scope { jobs } => scope(pool, jobs),
        Kind::For { batch } => flat_loop(pool, batch),
        Kind::Imbalanced => Cell::new(
            (pool, Imbalanced::new()),
            |(pool, heavy)| pool.for_each_index(Imbalanced::LEN, |index| heavy.visit(index)),
            |(_, heavy)| heavy.sum(),
        ),
        Kind::Heavy => Cell::new(
            (pool, Heavy::new()),
            |(pool, heavy)| pool.for_each_index(Heavy::LEN, |index| heavy.visit(index)),
            |(_, heavy)| heavy.sum(),
        ),
        Kind::Tree(tree) => Cell::new(
            (pool, 0),
            move |(pool, sum): &mut (Pool, u64)| *sum = sum.wrapping_add(run_tree(pool, tree)),
            |(_, sum)| *sum,
        ),
        Kind::Systems { count } => systems::empty(pool, count),
        Kind::Mixed => systems::mixed(pool),
        Kind::Effects { targets } => systems::effects(pool, targets),
        Kind::Wake | Kind::Idle | Kind::Trickle | Kind::LostWakeUps => return None,
    })
}

fn run_tree(pool: &Pool, tree: JoinTree) -> u64 {
    let Some((left, right)) = tree.halves() else { return tree.run() };
    let (left, right) = pool.join(|| run_tree(pool, left), || run_tree(pool, right));
    left.wrapping_add(right)
}

fn fib(pool: &Pool, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (left, right) = pool.join(|| fib(pool, n - 1), || fib(pool, n - 2));
    left + right
}

/// All jobs are scheduled anew in each frame, each after those that it waits for.
fn graph_by_handles(pool: Pool) -> Cell {
    // Jobs with handles outlive the frame that schedules them, so they cannot borrow from it.
    let graph: &'static Graph = Box::leak(Box::new(Graph::new()));
    let sinks: Vec<usize> =
        (0..model::GRAPH_JOBS).filter(|&job| graph.after[job].is_empty()).collect();
    let handles = Vec::with_capacity(model::GRAPH_JOBS);
    Cell::new(
        (pool, handles, Vec::with_capacity(sinks.len())),
        move |(pool, handles, last): &mut (Pool, Vec<JobHandle>, Vec<JobHandle>)| {
            handles.clear();
            for (job, before) in graph.before.iter().enumerate() {
                let handle = match before[..] {
                    [] => pool.schedule(move || graph.run(job)),
                    [one] => pool.after(&[handles[one]]).schedule(move || graph.run(job)),
                    [one, other] => {
                        pool.after(&[handles[one], handles[other]]).schedule(move || graph.run(job))
                    }
                    _ => unreachable!("a job waits for two at most"),
                };
                handles.push(handle);
            }
            last.clear();
            last.extend(sinks.iter().map(|&job| handles[job]));
            pool.complete(pool.combine(last));
        },
        move |_| graph.sum(),
    )
}

/// The graph is built once, and each frame runs it.
fn graph_prebuilt(pool: Pool, shared: bool) -> Cell {
    let graph = Graph::new();
    let sharing = if shared { Sharing::Always } else { Sharing::default() };
    let mut builder = JobGraph::builder().sharing(sharing);
    let mut jobs = Vec::with_capacity(model::GRAPH_JOBS);
    for (job, before) in graph.before.iter().enumerate() {
        let inside = Arc::clone(&graph);
        let before: Vec<_> = before.iter().map(|&other| jobs[other]).collect();
        jobs.push(builder.add("empty", &before, move |_| inside.run(job)));
    }
    let prebuilt = builder.build().expect("there is no cycle");
    Cell::new(
        (pool, prebuilt, graph),
        |(pool, prebuilt, _)| prebuilt.run(pool),
        |(_, _, graph)| graph.sum(),
    )
}

fn graph_in_scope(pool: Pool) -> Cell {
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

fn scope(pool: Pool, jobs: usize) -> Cell {
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

fn flat_loop(pool: Pool, batch: Option<usize>) -> Cell {
    Cell::new(
        (pool, model::items()),
        move |(pool, items)| {
            let items = SharedItems::new(items);
            match batch {
                // A batch is what the user calls one index.
                Some(batch) => pool.for_each_index(items.len().div_ceil(batch), |index| {
                    let start = index * batch;
                    items.with(start..items.len().min(start + batch), model::step_all);
                }),
                None => pool.for_each_range(items.len(), |range| {
                    items.with(range, model::step_all);
                }),
            }
        },
        |(_, items)| model::sum_items(items.iter().copied()),
    )
}

pub(crate) fn outside(threads: usize) -> Option<Box<dyn Outside>> {
    Some(Box::new(Pool::new(Threads::Own(threads)).expect("threads are granted")))
}

impl Outside for Pool {
    fn push(&self, signal: &'static Signal, meanwhile: &dyn Fn()) {
        self.schedule(|| signal.ring());
        meanwhile();
    }
}
