//! The numbers that a run of a demo starts from.

use std::sync::OnceLock;
use std::time::Duration;

use formic_jobs::{Pool, Threads};

use crate::failure::Failure;

/// The clock of the host, where the system has none.
static HOST_CLOCK: OnceLock<fn() -> Duration> = OnceLock::new();

/// Makes all pools created from now on read the time from `clock`, which returns the time since a fixed
/// moment. Only the first call counts. This is for web pages: a wasm module has no clock.
pub fn use_clock(clock: fn() -> Duration) {
    // A second page of a module has the same clock.
    _ = HOST_CLOCK.set(clock);
}

/// The numbers of one run, all of them resolved.
///
/// A simulation is a function only of `agents`, `ticks`, `seed` and its input files; `threads` affects
/// only the time it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The number of agents; at least 1.
    pub agents: u32,
    /// The number of ticks; 0 shows the world as it starts.
    pub ticks: u64,
    /// The seed of every random choice.
    pub seed: u64,
    /// The number of threads, including the calling one; at least 1.
    pub threads: usize,
}

impl Setup {
    /// The maximum number of agents of a run: it fits into the memory of an ordinary machine, at some
    /// hundred bytes each.
    pub const AGENTS_MAX: u32 = 2_000_000;
    /// The maximum number of ticks of a run.
    pub const TICKS_MAX: u64 = 1_000_000_000;
    /// The maximum number of threads of a run.
    pub const THREADS_MAX: usize = 256;
    /// The seed without `--seed`.
    pub const SEED_DEFAULT: u64 = 1;

    /// Creates the threads to run on. The caller works as well, so the pool has one thread fewer of its
    /// own; with one thread in all, everything runs on the caller.
    ///
    /// # Errors
    /// Returns an error if the system refuses a thread.
    pub fn pool(&self) -> Result<Pool, Failure> {
        let threads =
            if self.threads <= 1 { Threads::None } else { Threads::Own(self.threads - 1) };
        let builder = Pool::builder().threads(threads);
        let builder = match HOST_CLOCK.get() {
            Some(&clock) => builder.clock(clock),
            None => builder,
        };
        builder.build().map_err(|error| Failure::Usage(error.to_string()))
    }

    /// Returns the number of threads without `--threads`: one per available core.
    #[must_use]
    pub fn threads_default() -> usize {
        std::thread::available_parallelism().map_or(1, |cores| cores.get().min(Self::THREADS_MAX))
    }
}
