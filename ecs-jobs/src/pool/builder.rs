//! The builder of a pool, the source of its threads, and its errors.

use crate::clock::{Clock, HostClock};
use crate::future::Futures;
use crate::panic_slot::never_unwinding;
use crate::pool::Pool;
use crate::shared::Shared;
use crate::spans::Spans;
use crate::sync::{Arc, Mutex, core_count, thread};
use crate::worker::run_worker;
use std::io;
use std::time::Duration;

debug_as_text!(PoolError);

/// The source of a pool's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// No threads: every job runs on the thread that waits for it, in a fixed order.
    ///
    /// For replays, fuzzing, and targets without threads, such as wasm.
    None,
    /// This many worker threads owned by the pool. The thread that calls into the pool helps, so N - 1
    /// workers are enough on N cores. `Own(0)` is the same as `None`; the maximum is
    /// [`WORKER_COUNT_MAX`](Self::WORKER_COUNT_MAX).
    Own(usize),
    /// No threads of the pool's own, and worker places for this many threads of the host, which work for
    /// the pool while they are in [`Pool::run_until`]. The maximum is
    /// [`WORKER_COUNT_MAX`](Self::WORKER_COUNT_MAX).
    ///
    /// For engines that already have a thread pool. Jobs with handles wait until a thread of the host
    /// runs them, here or in any call that waits. Calls that borrow, such as [`Pool::scope`], need no
    /// thread but their caller.
    Host(usize),
}

impl Threads {
    /// The maximum number of workers of a pool.
    ///
    /// More than any machine has cores, and small enough that the pool's per-worker state always fits
    /// into memory.
    pub const WORKER_COUNT_MAX: usize = 4096;

    /// One worker for each core but one, which is left to the caller.
    ///
    /// If the number of cores is unknown, there are no workers.
    #[must_use]
    pub fn all_cores() -> Self {
        Self::Own(core_count().map_or(0, |count| count - 1).min(Self::WORKER_COUNT_MAX))
    }

    fn worker_count(self) -> usize {
        match self {
            Self::None => 0,
            Self::Own(count) | Self::Host(count) => count,
        }
    }
}

/// The reason why a pool could not be built.
#[non_exhaustive]
pub enum PoolError {
    /// More than [`Threads::WORKER_COUNT_MAX`] workers were asked for.
    TooManyWorkers {
        /// The number of workers asked for.
        wanted: usize,
    },
    /// The system refused to start a worker thread. The workers started before it have ended.
    ThreadRefused {
        /// The index of that worker.
        worker: usize,
        /// The error of the system.
        source: io::Error,
    },
}

display_text! { PoolError:
    Self::TooManyWorkers { wanted } => "{wanted} workers were asked for, and a pool has {} at most", Threads::WORKER_COUNT_MAX;
    Self::ThreadRefused { worker, .. } => "the system refused the thread of worker {worker}";
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::TooManyWorkers { .. } => None,
            Self::ThreadRefused { source, .. } => Some(source),
        }
    }
}

/// A builder of pools, made by [`Pool::builder`].
///
/// ```
/// use formic_jobs::{Pool, Threads};
///
/// let pool = Pool::builder()
///     .threads(Threads::Own(2))
///     .name("simulation")
///     .stack_bytes(1 << 20)
///     .build()
///     .expect("the system grants two threads");
/// assert_eq!(pool.worker_count(), 2);
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct PoolBuilder {
    threads: Threads,
    name: String,
    stack_bytes: Option<usize>,
    on_start: Arc<Hook>,
    on_exit: Arc<Hook>,
    clock: Option<Box<HostClock>>,
    spans: Option<Spans>,
}

/// A callback of the host that runs on each worker thread.
type Hook = Box<dyn Fn(usize) + Send + Sync>;

debug_fields!([] PoolBuilder: threads, name, stack_bytes);

impl PoolBuilder {
    pub(super) fn new() -> Self {
        Self {
            threads: Threads::all_cores(),
            name: "jobs".to_owned(),
            stack_bytes: None,
            on_start: Arc::new(Box::new(|_| ())),
            on_exit: Arc::new(Box::new(|_| ())),
            clock: None,
            spans: None,
        }
    }

    /// Sets the source of the threads; [`Threads::all_cores`] by default.
    pub fn threads(mut self, threads: Threads) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the base name of the threads, which is followed by the number of each; `jobs` by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the stack size of each worker; the standard library's default otherwise.
    pub fn stack_bytes(mut self, stack_bytes: usize) -> Self {
        self.stack_bytes = Some(stack_bytes);
        self
    }

    /// Calls `hook` on each worker thread before its first job, with the number of the worker: to pin the
    /// thread to a core, or to register it with a profiler. It is not called on threads of the host.
    ///
    /// A panic in the hook aborts the process.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::Arc;
    /// # use std::sync::atomic::{AtomicUsize, Ordering};
    /// let running = Arc::new(AtomicUsize::new(0));
    /// let (started, ended) = (Arc::clone(&running), Arc::clone(&running));
    /// let pool = Pool::builder()
    ///     .threads(Threads::Own(2))
    ///     .on_thread_start(move |_worker| _ = started.fetch_add(1, Ordering::SeqCst))
    ///     .on_thread_exit(move |_worker| _ = ended.fetch_sub(1, Ordering::SeqCst))
    ///     .build()?;
    /// drop(pool);
    /// assert_eq!(running.load(Ordering::SeqCst), 0);
    /// # Ok::<(), formic_jobs::PoolError>(())
    /// ```
    pub fn on_thread_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_start = Arc::new(Box::new(hook));
        self
    }

    /// Calls `hook` on each worker thread after its last job, with the number of the worker.
    ///
    /// A panic in the hook aborts the process.
    pub fn on_thread_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_exit = Arc::new(Box::new(hook));
        self
    }

    /// Calls `begin` before and `end` after each job with a handle, each job of a
    /// [graph](crate::JobGraph), and each turn of a system in a schedule, on the thread that runs it: for
    /// a profiler such as `tracing`, Tracy or puffin. The turn of a system includes its conditions, also
    /// where they keep it from running; a condition of several systems has a turn of its own.
    ///
    /// Both get the name of the system or job. A job that was not [named](crate::Pool::named) has the
    /// type name of its closure, which tells where it was written. Spans of one thread nest, and a span
    /// also ends if its job panics. A panic in a hook aborts the process.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::{Arc, Mutex};
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let (begun, ended) = (Arc::clone(&log), Arc::clone(&log));
    /// let pool = Pool::builder()
    ///     .threads(Threads::None)
    ///     .on_span(
    ///         move |name| begun.lock().unwrap().push(format!("begin {name}")),
    ///         move |name| ended.lock().unwrap().push(format!("end {name}")),
    ///     )
    ///     .build()?;
    /// fn bake() {}
    /// pool.complete(pool.schedule(bake));
    /// pool.complete(pool.named("boil").schedule(|| ()));
    /// let log = log.lock().unwrap();
    /// assert!(log[0].starts_with("begin ") && log[0].ends_with("::bake"));
    /// assert!(log[1].starts_with("end ") && log[2..] == ["begin boil", "end boil"]);
    /// # Ok::<(), formic_jobs::PoolError>(())
    /// ```
    pub fn on_span(
        mut self,
        begin: impl Fn(&str) + Send + Sync + 'static,
        end: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        self.spans = Some(Spans::new(begin, end));
        self
    }

    /// Sets the clock of the pool: a function that returns the time since some fixed moment. The default
    /// is the system's monotonic clock.
    ///
    /// The pool measures with it what loops, [graphs](crate::JobGraph) and [schedules](crate::Schedule)
    /// cost, which decides whether they are worth sharing; it is also the time of a schedule's timeline.
    /// Set it on targets without a clock, such as a wasm module in a page, where everything takes no time
    /// unless the host passes a clock in; or to match the time of a host's trace. A panic in the clock
    /// aborts the process.
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        // The clock is read while other threads use the frame of the caller, so it must not unwind.
        self.clock = Some(Box::new(move || never_unwinding(&clock)));
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::TooManyWorkers`] if there are more than a pool can have, and
    /// [`PoolError::ThreadRefused`] if the system refuses to start a thread.
    ///
    /// # Panics
    ///
    /// Panics if the name contains a zero byte.
    pub fn build(mut self) -> Result<Pool, PoolError> {
        let wanted = self.threads.worker_count();
        if wanted > Threads::WORKER_COUNT_MAX {
            return Err(PoolError::TooManyWorkers { wanted });
        }
        let clock = Clock::new(self.clock.take());
        let (mut shared, mut places) = Shared::with_clock(wanted, clock);
        shared.spans = self.spans.take().map(Arc::new);
        if matches!(self.threads, Threads::Host(_)) {
            shared.open_to_host(std::mem::take(&mut places));
        }
        let (shared, futures) = (Arc::new(shared), Futures::new());
        let mut pool = Pool { shared, threads: Vec::new(), futures, turns: Mutex::new(()) };
        for (worker, place) in places.into_iter().enumerate() {
            // On failure `pool` is dropped, which ends the threads started so far.
            let shared = Arc::clone(&pool.shared);
            let (on_start, on_exit) = (Arc::clone(&self.on_start), Arc::clone(&self.on_exit));
            let mut builder = thread::Builder::new().name(format!("{} {worker}", self.name));
            if let Some(stack_bytes) = self.stack_bytes {
                builder = builder.stack_size(stack_bytes);
            }
            let thread = builder.spawn(move || {
                never_unwinding(|| on_start(worker));
                run_worker(&shared, place);
                never_unwinding(|| on_exit(worker));
            });
            pool.threads
                .push(thread.map_err(|source| PoolError::ThreadRefused { worker, source })?);
        }
        Ok(pool)
    }
}
