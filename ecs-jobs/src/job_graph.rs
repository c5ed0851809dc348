//! Graphs of jobs that are built once and run often.

mod builder;

pub use self::builder::{GraphError, GraphJob, JobGraphBuilder};

use crate::pool::Pool;
use crate::static_graph::{StaticGraph, measures};
use crate::sync::Mutex;

/// The body of a job of a graph.
type Body<'env> = Box<dyn FnMut(&Pool) + Send + 'env>;

/// Jobs and their order, built once by a [`JobGraphBuilder`] and run any number of times.
///
/// For work that is the same in every frame. Everything that a run needs is allocated with the graph, so
/// a run allocates nothing, and a job costs a fraction of a job with a [handle](Pool::schedule).
///
/// ```
/// use formic_jobs::{JobGraph, Pool, Threads};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let (stone, wood, walls) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
/// let mut graph = JobGraph::builder();
/// let dig = graph.add("dig", &[], |_| _ = stone.fetch_add(3, Relaxed));
/// let chop = graph.add("chop", &[], |_| _ = wood.fetch_add(2, Relaxed));
/// graph.add("build", &[dig, chop], |_| {
///     walls.fetch_add(stone.load(Relaxed).min(wood.load(Relaxed)), Relaxed);
/// });
/// let mut graph = graph.build()?;
///
/// let pool = Pool::new(Threads::Own(1))?;
/// for _ in 0..3 {
///     graph.run(&pool);
/// }
/// assert_eq!(walls.load(Relaxed), 2 + 4 + 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Order
///
/// A job starts when all its dependencies have ended, and sees their effects. Of the jobs that become
/// ready when another one ends, the same thread runs the one with the lowest cost. On a pool without
/// workers jobs run one after the other, in an order that depends only on the graph: jobs run in the
/// order of adding, as far as dependencies allow.
///
/// # Which threads
///
/// Waking a thread costs more than most jobs take. The graph measures the cost of its jobs in its first
/// runs and then in every 64th. If several threads would not save more than a wake-up costs, the calling
/// thread runs all jobs by itself, in the order above. So a graph of a thousand nearly empty jobs costs
/// no more than calling them. [`JobGraphBuilder::sharing`] overrides the decision.
///
/// # Jobs
///
/// A job gets the pool that it runs on, for loops and joins inside it. It may keep state from run to run,
/// since no two threads run it at the same time. State that several jobs change must be shared in some
/// way, for example behind a lock: because of the order of the graph, no thread ever waits for that lock.
///
/// A job may wait for work that it starts itself, but not for another job of its graph, such as by a
/// channel or a barrier: with any [`Sharing`](crate::Sharing), one thread may run all of them in a row,
/// and then the wait never ends. A job that depends on another job is [added after
/// it](JobGraphBuilder::add).
///
/// # Panics in jobs
///
/// When a job panics, jobs that have not started are not run, and the running ones are awaited. Then the
/// first panic is resumed in [`run`](Self::run). The graph can be run again afterwards, from the
/// beginning.
pub struct JobGraph<'env> {
    names: Vec<String>,
    /// Locked by the thread that runs the job; the graph lets only one thread do so.
    bodies: Vec<Mutex<Body<'env>>>,
    graph: StaticGraph,
    /// All jobs, in topological order.
    row: Vec<usize>,
    /// Whether several threads are worth it. At first this is unknown, and other threads are asked to
    /// help.
    is_shared: bool,
    /// Whether to measure the time of each job in the next run, whatever its number.
    measure_next: bool,
    run_count: u64,
}

debug_fields!([] JobGraph<'_>:; jobs = |it| &it.names);

impl<'env> JobGraph<'env> {
    /// Returns a builder of a graph.
    #[must_use]
    pub fn builder() -> JobGraphBuilder<'env> {
        JobGraphBuilder::new()
    }

    /// Returns the names of the jobs, in the order of adding.
    #[must_use]
    pub fn job_names(&self) -> &[String] {
        &self.names
    }

    /// Runs every job once, and returns when all have ended.
    ///
    /// The calling thread helps with these jobs and with their calls, and with nothing else.
    ///
    /// # Panics
    ///
    /// Panics if a job does, with the first of their panics.
    pub fn run(&mut self, pool: &Pool) {
        let measured = std::mem::take(&mut self.measure_next) || measures(self.run_count);
        self.run_count += 1;
        let look_ns = measured.then(|| pool.shared().clock.look_ns());
        let Self { names, bodies, row, is_shared, .. } = self;
        let run = |graph: &StaticGraph, is_shared| {
            let run_job = |job: usize, body: &mut Body<'env>| {
                let _span = pool.span(&names[job]);
                body(pool);
            };
            let measure = |job: usize, body: &mut Body<'env>, look_ns: u64| {
                let before = pool.now_ns();
                run_job(job, body);
                let took = pool.now_ns().saturating_sub(before);
                graph.record_cost(job, took.saturating_sub(look_ns), true);
            };
            if is_shared {
                graph.run_together(pool.shared(), row, |_slot, job| {
                    let body = &mut bodies[job].lock();
                    match look_ns {
                        None => run_job(job, body),
                        Some(look_ns) => measure(job, body, look_ns),
                    }
                });
            } else if let Some(look_ns) = look_ns {
                row.iter().for_each(|&job| measure(job, bodies[job].get_mut(), look_ns));
            } else {
                row.iter().for_each(|&job| run_job(job, bodies[job].get_mut()));
            }
        };
        self.measure_next = self.graph.run(pool.shared(), row, (measured, is_shared), run);
    }
}
