//! What a demo is called and how it is built, and the numbers that a run of it starts from.

use clap::{ArgMatches, Command, FromArgMatches};
use ecs_jobs::{Pool, Threads};

use crate::failure::Failure;
use crate::simulation::Simulation;

/// The card of a demo: what `demos list` shows, its default sizes, and how it is built.
///
/// Each demo's folder has one as the constant `DEMO`. The defaults are chosen
/// so that a release build finishes in seconds on two cores.
#[derive(Debug, Clone, Copy)]
pub struct Demo {
    /// The subcommand.
    pub name: &'static str,
    /// What it shows, in one line without a full stop.
    pub about: &'static str,
    /// What its agents are called, in the plural: "imps".
    pub agents_noun: &'static str,
    /// The number of agents without `--agents`.
    pub agents_default: u32,
    /// The number of ticks without `--ticks`.
    pub ticks_default: u64,
    /// Declares the arguments that only this demo has: [`no_arguments`], or the `augment_args` of
    /// a type that derives `clap::Args`.
    pub arguments: fn(Command) -> Command,
    /// Builds the world. Its own arguments come as clap has read them; [`own_arguments`] makes
    /// them that type again.
    pub build: fn(&Setup, &ArgMatches) -> Result<Box<dyn Simulation>, Failure>,
}

impl Demo {
    /// Builds the world as it is where none of the demo's own arguments were given.
    ///
    /// # Errors
    /// Whatever the demo finds wrong with its numbers, or that it needs an argument.
    pub fn open(&self, setup: &Setup) -> Result<Box<dyn Simulation>, Failure> {
        let matches = (self.arguments)(Command::new(self.name)).try_get_matches_from([self.name]);
        let matches = matches.map_err(|error| Failure::Usage(error.to_string()))?;
        (self.build)(setup, &matches)
    }
}

/// For [`Demo::arguments`]: there are none beside those that all demos have.
#[must_use]
pub fn no_arguments(command: Command) -> Command {
    command
}

/// A demo's own arguments, of the type that [`Demo::arguments`] declared them from.
///
/// # Errors
/// Only where the type declares something else than it reads.
pub fn own_arguments<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, Failure> {
    T::from_arg_matches(matches).map_err(|error| Failure::Usage(error.to_string()))
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
    /// Where the system refuses a thread.
    pub fn pool(&self) -> Result<Pool, Failure> {
        let threads =
            if self.threads <= 1 { Threads::None } else { Threads::Own(self.threads - 1) };
        Pool::new(threads).map_err(|error| Failure::Usage(error.to_string()))
    }

    /// The threads without `--threads`: one for each core that we may use.
    #[must_use]
    pub fn threads_default() -> usize {
        std::thread::available_parallelism().map_or(1, |cores| cores.get().min(Self::THREADS_MAX))
    }
}
