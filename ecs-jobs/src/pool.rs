//! The pool: worker threads, and the calls that give them work.

mod builder;
mod futures;
mod gate;
mod handles;
mod hosting;
mod job_builder;

pub use self::builder::{PoolBuilder, PoolError, Threads};
pub use self::gate::Gate;
pub use self::job_builder::JobBuilder;

use crate::context::WorkerContext;
use crate::flat_loop;
use crate::future::Futures;
use crate::join;
use crate::scope::{self, Scope};
use crate::shared::Shared;
use crate::spans::OpenSpan;
use crate::sync::{Arc, Mutex, Ordering, thread};
use crate::worker::wait_for_all;
use std::ops::Range;

/// A pool of threads that run jobs and sleep when there are none.
///
/// A pool is an object; there is no global one. All calls take `&self` and may be made from any number of
/// threads, including from jobs of the same pool. A call returns when its work is done; the calling
/// thread helps with it.
///
/// # What a waiting thread does
///
/// It runs jobs of the call that it waits for, and of calls made by those jobs, and no others. So a lock
/// may be held across a call, as long as no job of that call takes it. The exceptions, across which no
/// job of the pool may take it, are [`broadcast`](Self::broadcast) and the calls that run any job:
/// [`flush`](Self::flush), [`block_on`](Self::block_on), [`try_run_one`](Self::try_run_one),
/// [`run_until`](Self::run_until) and [`run_until_done`](Self::run_until_done); and in a pool without
/// threads also [`schedule`](Self::schedule), [`cancel`](Self::cancel) and a [`Gate`] that is opened or
/// dropped, which run all jobs that are ready. On the [main thread](Self::on_main), waits for a job also
/// run the jobs for that thread.
///
/// # Panics in jobs
///
/// A panic in a job is resumed in the call that the job belongs to, once no job of that call is running.
/// Jobs that have not started by then are dropped. If several jobs panic, the first panic is resumed; so
/// it is if a job or result dropped because of it panics in turn. The pool stays usable.
///
/// # Dropping
///
/// Dropping a pool waits for all scheduled jobs, as [`flush`](Pool::flush) does, then ends the worker
/// threads and joins them. Panics that no caller has taken are dropped; so are jobs for the main thread,
/// if the pool is dropped on another thread. If a job, or a [hook](PoolBuilder::on_thread_start), drops the
/// last reference to its own pool, the drop waits for nothing: the threads run the jobs that are ready, and
/// end. In both cases the remaining jobs and the unfinished [futures](Self::spawn_future) are dropped, along
/// with any panics that this causes.
///
/// ```
/// use formic_jobs::{Pool, Threads};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let pool = Pool::new(Threads::Own(1))?;
/// let sum = AtomicU64::new(0);
/// pool.for_each_range(1_000, |range| {
///     let part: u64 = range.map(|index| index as u64).sum();
///     sum.fetch_add(part, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// # Ok::<(), formic_jobs::PoolError>(())
/// ```
///
/// A thread that waits for the pool sleeps by [`std::thread::park`], and may consume an
/// [`unpark`](std::thread::Thread::unpark) meant for the surrounding code. As std documents, code that
/// parks must check a condition of its own.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
    futures: Futures,
    turns: Mutex<()>,
}

impl Pool {
    /// Creates a pool with these threads, and defaults for everything else.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::TooManyWorkers`] if there are more than a pool can have, and
    /// [`PoolError::ThreadRefused`] if the system refuses to start a thread.
    pub fn new(threads: Threads) -> Result<Self, PoolError> {
        Self::builder().threads(threads).build()
    }

    /// Returns a builder that configures more than [`Pool::new`] does.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    /// Returns the number of worker threads.
    #[must_use]
    pub fn worker_count(&self) -> usize {
        self.shared.worker_count
    }

    /// Returns the maximum number of threads that run the work of one call: the workers and the caller.
    /// Slots are below this number.
    #[must_use]
    pub fn parallelism(&self) -> usize {
        self.shared.parallelism()
    }

    /// Runs `body`, which may spawn jobs that borrow, then waits for all of them.
    ///
    /// Use it for a few different tasks, or for work that is discovered along the way. For one task over
    /// many indices, use [`for_each_index`](Self::for_each_index).
    ///
    /// # Panics
    ///
    /// Panics if `body` or a job does, with the first of their panics, after all jobs have ended.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let (mut left, mut right) = (vec![3, 1, 2], vec![6, 5]);
    /// pool.scope(|scope| {
    ///     scope.spawn(|_| left.sort());
    ///     scope.spawn(|_| right.sort());
    /// });
    /// assert_eq!((left, right), (vec![1, 2, 3], vec![5, 6]));
    /// ```
    pub fn scope<'scope, R>(&'scope self, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
        scope::scope(&self.shared, body)
    }

    /// Runs both closures, in parallel if a thread is free, and returns both results.
    ///
    /// The calling thread runs `first`, and then `second` unless another thread has taken it by then.
    /// Joins may nest, to halve a problem until the pieces are small: a join in which no other thread
    /// takes part costs a few nanoseconds.
    ///
    /// # Panics
    ///
    /// Panics if `first` or `second` does, with the panic of `first` if both do. If `first` panics before
    /// `second` has started, `second` is dropped.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// fn sum(pool: &Pool, numbers: &[u64]) -> u64 {
    ///     if numbers.len() < 1_000 {
    ///         return numbers.iter().sum();
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (left, right) = pool.join(|| sum(pool, left), || sum(pool, right));
    ///     left + right
    /// }
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// assert_eq!(sum(&pool, &vec![2; 10_000]), 20_000);
    /// ```
    pub fn join<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join::join(&self.shared, first, second)
    }

    /// Runs `body` for each index below `len`, in no particular order.
    ///
    /// There is no batch size to choose. The caller runs a loop of a few microseconds alone; the batches
    /// of a longer loop are shared among all threads. The pool estimates the cost from the last loop over
    /// this body, or else from the first indices, which the caller runs alone, unless there are so few
    /// indices that each may be heavy. A pool without workers runs the indices in order.
    ///
    /// # Panics
    ///
    /// Panics if `body` does, with the first of its panics; batches that have not started by then are
    /// skipped.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::atomic::{AtomicUsize, Ordering};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let found = AtomicUsize::new(0);
    /// pool.for_each_index(100, |index| {
    ///     if index % 7 == 0 {
    ///         found.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// });
    /// assert_eq!(found.into_inner(), 15);
    /// ```
    pub fn for_each_index(&self, len: usize, body: impl Fn(usize) + Sync) {
        self.for_each_range(len, |range| range.for_each(&body));
    }

    /// Runs `body` for ranges of indices that together cover `0..len` exactly once.
    ///
    /// Like [`for_each_index`](Self::for_each_index), for bodies that work better on many indices at a
    /// time. `body` is not called for an empty range.
    ///
    /// # Panics
    ///
    /// Panics like [`for_each_index`](Self::for_each_index).
    pub fn for_each_range(&self, len: usize, body: impl Fn(Range<usize>) + Sync) {
        self.for_each_range_with_slot(len, |_slot, range| body(range));
    }

    /// Like [`for_each_range`](Self::for_each_range), and passes `body` the slot of the thread that runs
    /// it: `body(slot, range)`.
    ///
    /// Slots are below [`parallelism`](Self::parallelism). No two threads share a slot while they run
    /// batches of one call, or of calls that its batches make into this pool in turn. So a caller can
    /// keep one buffer per slot, and no thread ever waits for a buffer. Which indices end up in one slot
    /// depends on timing.
    ///
    /// Slots belong to one call: two threads outside the pool that call at the same time have the same
    /// slot, each in its own call, and need separate buffers. The same holds for a call that a batch
    /// makes through another thread, whether started by hand or a worker of another pool.
    ///
    /// A batch that itself calls into the pool keeps its slot meanwhile, and batches of that inner call
    /// may run on the same thread with the same slot. Release the slot's buffer before such a call.
    ///
    /// # Panics
    ///
    /// Panics like [`for_each_index`](Self::for_each_index).
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::Mutex;
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let buffers: Vec<Mutex<Vec<usize>>> =
    ///     (0..pool.parallelism()).map(|_| Mutex::new(Vec::new())).collect();
    /// pool.for_each_range_with_slot(100, |slot, range| {
    ///     let mut buffer = buffers[slot].try_lock().expect("no other index has this slot here");
    ///     buffer.extend(range.filter(|index| index % 9 == 0));
    /// });
    /// let found: usize = buffers.iter().map(|buffer| buffer.lock().unwrap().len()).sum();
    /// assert_eq!(found, 12);
    /// ```
    pub fn for_each_range_with_slot(&self, len: usize, body: impl Fn(usize, Range<usize>) + Sync) {
        flat_loop::for_each_range(&self.shared, len, &body);
    }

    /// Begins the span of a job or system with this name; the span ends when the result is dropped.
    pub(crate) fn span<'a>(&'a self, name: &'a str) -> Option<OpenSpan<'a>> {
        self.shared.spans.as_ref().map(|spans| spans.open(name))
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.shared.clock.now_ns()
    }

    /// Runs `change` under a lock of the pool, so that no two changes run at the same time.
    pub(crate) fn one_at_a_time<R>(&self, change: impl FnOnce() -> R) -> R {
        let _turn = self.turns.lock();
        change()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Whether the calling thread is in a job or a call of this pool, or is one of its workers in a hook: it
    /// must not wait for a worker.
    fn is_inside(&self) -> bool {
        let current = thread::current().id();
        WorkerContext::with_any(&self.shared, |context| context.is_some())
            || self.threads.iter().any(|worker| worker.thread().id() == current)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // A job may hold the last reference to its own pool.
        let (shared, is_inside) = (&*self.shared, self.is_inside());
        if !is_inside {
            shared.is_dropped.store(true, Ordering::Relaxed);
            wait_for_all(shared, !shared.is_main_thread());
        }
        shared.close();
        for thread in self.threads.drain(..).filter(|_| !is_inside) {
            // A worker catches the panics of jobs, so the thread does not end with one; if it did, a
            // panic in a drop would only hide the cause.
            drop(thread.join());
        }
        self.futures.drop_all();
    }
}

debug_fields!([] Pool:; worker_count = |it| it.worker_count());
