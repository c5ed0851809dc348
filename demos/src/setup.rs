//! The numbers that a run of a demo starts from.

use std::sync::OnceLock;
use std::time::Duration;

use formic_jobs::{Pool, Threads};

use crate::failure::Failure;

/// The clock of a host, where the system has none.
static HOST_CLOCK: OnceLock<fn() -> Duration> = OnceLock::new();

/// Has all pools that are made from now on read the time from `clock`: how much of it has gone by
/// since some moment that is always the same. The first call counts. For pages: a wasm module has no
/// clock.
pub fn use_clock(clock: fn() -> Duration) {
    // A second page of a module has the same clock.
    _ = HOST_CLOCK.set(clock);
}

/// The numbers of one run, all of them resolved.
///
/// A simulation is a function of `agents`, `ticks`, `seed` and its input files
/// alone; `threads` may change how long it takes and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// How many agents live in the world; at least 1.
    pub agents: u32,
    /// How many ticks are simulated; 0 shows the world as it starts.
    pub ticks: u64,
    /// Where every random choice comes from.
    pub seed: u64,
    /// How many threads work, the calling one included; at least 1.
    pub threads: usize,
}

impl Setup {
    /// The most agents that a run may have: what fits into the memory of an
    /// ordinary machine, at some hundred bytes each.
    pub const AGENTS_MAX: u32 = 2_000_000;
    /// The most ticks that a run may have.
    pub const TICKS_MAX: u64 = 1_000_000_000;
    /// The most threads that a run may ask for.
    pub const THREADS_MAX: usize = 256;
    /// The seed without `--seed`.
    pub const SEED_DEFAULT: u64 = 1;

    /// The threads to run on. The caller works as well, so the pool has one thread fewer of its
    /// own; with one thread in all everything runs on the caller.
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

    /// The threads without `--threads`: one for each core that we may use.
    #[must_use]
    pub fn threads_default() -> usize {
        std::thread::available_parallelism().map_or(1, |cores| cores.get().min(Self::THREADS_MAX))
    }
}
