//! One run, fully decided: the demo, its numbers, and where results go.

use std::path::PathBuf;

use crate::cli::RunArguments;
use crate::setup::{Demo, Setup};

/// Everything that the runner needs to know about a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The demo that runs.
    pub demo: &'static Demo,
    /// Its numbers.
    pub setup: Setup,
    /// Results as one JSON object instead of a summary.
    pub json: bool,
    /// No progress on stderr.
    pub quiet: bool,
    /// Where the picture goes, if one is wanted.
    pub png: Option<PathBuf>,
}

impl Plan {
    /// The plan of a command line: what it leaves open comes from the demo.
    #[must_use]
    pub fn new(demo: &'static Demo, arguments: &RunArguments) -> Self {
        let setup = Setup {
            agents: arguments.agents.unwrap_or(demo.agents_default),
            ticks: arguments.ticks.unwrap_or(demo.ticks_default),
            seed: arguments.seed,
            threads: arguments.threads.unwrap_or_else(Setup::threads_default),
        };
        Self {
            demo,
            setup,
            json: arguments.json,
            quiet: arguments.quiet,
            png: arguments.png.clone(),
        }
    }
}
