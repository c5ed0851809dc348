//! Graphs of jobs that are built once and run often.

mod builder;

pub use self::builder::{GraphError, GraphJob, JobGraphBuilder};

use crate::panic_slot::catch;
use crate::pool::Pool;
use crate::static_graph::{StaticGraph, measures};
use crate::sync::Mutex;
use std::panic::resume_unwind;

/// What a job of a graph runs.
type Body<'env> = Box<dyn FnMut(&Pool) + Send + 'env>;

/// Jobs and their order, built once by a [`JobGraphBuilder`] and run any number of times.
///
/// For work that is the same in every frame. All that a run needs was made with the graph, so that
/// a run allocates nothing, and a job costs a fraction of what one with a
/// [handle](Pool::schedule) does.
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
/// A job starts when all jobs that it comes after have ended, and sees what they did. Of those that
/// get ready when another one ends, the one that takes the shortest time is run by the same thread.
/// On a pool without workers jobs run one after the other, in an order that depends on the graph
/// alone: what was added earlier comes earlier, where nothing speaks against it.
///
/// # Which threads
///
/// To wake a thread costs more than most jobs take. The graph learns what its jobs cost, in its
/// first runs and then in every 64th, and where several threads would not save more than that, the
/// calling thread runs all of them by itself, in the order above. So a graph of a thousand jobs
/// that do next to nothing costs no more than calling them. [`JobGraphBuilder::sharing`] settles
/// it, if need be.
///
/// # Jobs
///
/// A job gets the pool that it runs on, for loops and joins inside of it. It may keep what it needs
/// from run to run, since no two threads run it at the same time. What several jobs change has to
/// be shared in some way, be it a lock: the order of the graph is why no thread ever waits for it.
///
/// A job may wait for what it calls itself, but not for another job of its graph, as by a channel
/// or a barrier: one thread may run all of them in a row, with whatever [`Sharing`](crate::Sharing),
/// and then the wait has no end. What has to come after another job is to be
/// [added after it](JobGraphBuilder::add).
///
/// # Panics in jobs
///
/// Jobs that have not started when one panics are not run; those that have are waited for; then the
/// first panic goes on in [`run`](Self::run). The graph can be run again afterwards, from its
/// beginning.
pub struct JobGraph<'env> {
    names: Vec<String>,
    /// Locked by the thread that runs the job; the graph lets only one do so.
    bodies: Vec<Mutex<Body<'env>>>,
    graph: StaticGraph,
    /// All jobs, in an order that keeps all waits.
    row: Vec<usize>,
    /// Whether it is worth several threads. At first this is unknown, and others are asked to help.
    is_shared: bool,
    /// Whether to take the time of each job in the next run, whatever number it has.
    measure_next: bool,
    run_count: u64,
}

debug_fields!([] JobGraph<'_>:; jobs = |it| &it.names);

impl<'env> JobGraph<'env> {
    /// A graph in the making.
    #[must_use]
    pub fn builder() -> JobGraphBuilder<'env> {
        JobGraphBuilder::new()
    }

    /// The names of the jobs, in the order of adding.
    #[must_use]
    pub fn job_names(&self) -> &[String] {
        &self.names
    }

    /// Runs every job once, and returns when all have ended.
    ///
    /// The calling thread helps, with these jobs and with what they call, and with nothing else.
    ///
    /// # Panics
    ///
    /// Panics if a job does, with the first of their panics.
    pub fn run(&mut self, pool: &Pool) {
        let measured = self.measure_next || measures(self.run_count);
        self.run_count += 1;
        self.measure_next = false;
        let start = pool.now_ns();
        let is_alone = measured && self.graph.is_measured_alone(&self.row);
        if self.is_shared && !is_alone && pool.worker_count() > 0 {
            self.run_together(pool, measured);
        } else {
            self.run_serially(pool, measured);
        }
        if measured {
            self.is_shared = self.graph.is_worth(&self.row, pool.parallelism());
        } else if !self.is_shared {
            let took = pool.now_ns().saturating_sub(start);
            self.measure_next = self.graph.is_worth_a_look(&self.row, took);
        }
    }

    fn run_together(&self, pool: &Pool, measured: bool) {
        let look_ns = if measured { pool.shared().clock.look_ns() } else { 0 };
        self.graph.run_together(pool.shared(), &self.row, |_slot, job| {
            let before = if measured { pool.now_ns() } else { 0 };
            let mut body = self.bodies[job].lock();
            // Under the lock, so that this is free again before the panic goes on.
            let outcome = catch(|| {
                let _span = pool.span(&self.names[job]);
                body(pool);
            });
            drop(body);
            outcome.unwrap_or_else(|payload| resume_unwind(payload));
            if measured {
                let took = pool.now_ns().saturating_sub(before);
                self.graph.took(job, took.saturating_sub(look_ns), true);
            }
        });
    }

    fn run_serially(&mut self, pool: &Pool, measured: bool) {
        let look_ns = if measured { pool.shared().clock.look_ns() } else { 0 };
        let mut before = if measured { pool.now_ns() } else { 0 };
        for &job in &self.row {
            let span = pool.span(&self.names[job]);
            self.bodies[job].get_mut()(pool);
            drop(span);
            if measured {
                let now = pool.now_ns();
                let took = now.saturating_sub(before).saturating_sub(look_ns);
                self.graph.took(job, took, true);
                before = now;
            }
        }
    }
}
