//! How a pool is made: where its threads come from, and what can go wrong.

use crate::pool::Pool;
use crate::shared::{Bench, Shared};
use crate::sync::{Arc, core_count, thread};
use crate::worker::run_worker;
use std::fmt;
use std::io;

/// Where the threads of a pool come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// None: every job runs on the thread that waits for it, in a fixed order.
    ///
    /// For replays, fuzzing, and targets without threads, such as wasm.
    None,
    /// This many worker threads of the pool's own. The thread that calls into
    /// the pool helps, so on N cores N - 1 workers are enough. `Own(0)` is the
    /// same as `None`, and [`WORKER_COUNT_MAX`](Self::WORKER_COUNT_MAX) is the
    /// most that a pool takes.
    Own(usize),
}

impl Threads {
    /// The most workers that a pool can have.
    ///
    /// More than any machine has cores, and little enough that what the pool
    /// keeps for each of them always fits.
    pub const WORKER_COUNT_MAX: usize = 4096;

    /// One worker per core but one: the caller's.
    ///
    /// Where the number of cores is not known there are no workers.
    #[must_use]
    pub fn all_cores() -> Self {
        Self::Own(core_count().map_or(0, |count| count - 1).min(Self::WORKER_COUNT_MAX))
    }

    fn worker_count(self) -> usize {
        match self {
            Self::None => 0,
            Self::Own(count) => count,
        }
    }
}

/// Why a pool could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum PoolError {
    /// More than [`Threads::WORKER_COUNT_MAX`] workers were asked for.
    TooManyWorkers {
        /// How many were asked for.
        wanted: usize,
    },
    /// The system refused a worker thread. The ones before it have ended.
    ThreadRefused {
        /// Which worker it was, counted from zero.
        worker: usize,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyWorkers { wanted } => {
                let most = Threads::WORKER_COUNT_MAX;
                write!(f, "{wanted} workers were asked for, and a pool has {most} at most")
            }
            Self::ThreadRefused { worker, .. } => {
                write!(f, "the system refused the thread of worker {worker}")
            }
        }
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::TooManyWorkers { .. } => None,
            Self::ThreadRefused { source, .. } => Some(source),
        }
    }
}

/// How a pool is to be, before it is; made by [`Pool::builder`].
///
/// ```
/// use ecs_jobs::{Pool, Threads};
///
/// let pool = Pool::builder()
///     .threads(Threads::Own(2))
///     .name("simulation")
///     .stack_bytes(1 << 20)
///     .build()
///     .expect("the system grants two threads");
/// assert_eq!(pool.worker_count(), 2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct PoolBuilder {
    threads: Threads,
    name: String,
    stack_bytes: Option<usize>,
}

impl PoolBuilder {
    pub(super) fn new() -> Self {
        Self { threads: Threads::all_cores(), name: "jobs".to_owned(), stack_bytes: None }
    }

    /// Where the threads come from; [`Threads::all_cores`] unless told.
    pub fn threads(mut self, threads: Threads) -> Self {
        self.threads = threads;
        self
    }

    /// What the threads are called: this name and their number. `jobs` unless
    /// told.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The size of each worker's stack; the standard library's unless told.
    pub fn stack_bytes(mut self, stack_bytes: usize) -> Self {
        self.stack_bytes = Some(stack_bytes);
        self
    }

    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// [`PoolError::TooManyWorkers`] if that is more than a pool can have, and
    /// [`PoolError::ThreadRefused`] if the system does not grant a thread.
    ///
    /// # Panics
    ///
    /// If the name contains a zero byte.
    pub fn build(self) -> Result<Pool, PoolError> {
        let wanted = self.threads.worker_count();
        if wanted > Threads::WORKER_COUNT_MAX {
            return Err(PoolError::TooManyWorkers { wanted });
        }
        let (shared, benches) = Shared::new(wanted);
        let mut pool = Pool { shared: Arc::new(shared), threads: Vec::new() };
        for (worker, bench) in benches.into_iter().enumerate() {
            // On failure `pool` is dropped, which ends the threads so far.
            let thread = self
                .spawn(Arc::clone(&pool.shared), worker, bench)
                .map_err(|source| PoolError::ThreadRefused { worker, source })?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    fn spawn(
        &self,
        shared: Arc<Shared>,
        worker: usize,
        bench: Bench,
    ) -> io::Result<thread::JoinHandle<()>> {
        let mut builder = thread::Builder::new().name(format!("{} {worker}", self.name));
        if let Some(stack_bytes) = self.stack_bytes {
            builder = builder.stack_size(stack_bytes);
        }
        builder.spawn(move || run_worker(&shared, worker, bench))
    }
}
