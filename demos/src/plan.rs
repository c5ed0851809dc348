//! One run, fully decided: the demo, its numbers, and where results go.

use std::path::PathBuf;

use crate::card::Demo;
use crate::cli::{DemoCommand, RunArguments};
use crate::explain::Wanted;
use crate::failure::Failure;
use crate::recording::{FORMAT, Header};
use crate::setup::Setup;
use crate::tape::Tape;

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
    /// Where the timeline goes, if one is wanted.
    pub trace: Option<PathBuf>,
    /// The agents that are to explain themselves; an empty list to show whom one can ask.
    pub explain: Option<Vec<Wanted>>,
    /// What the run is kept on, or held against.
    pub tape: Tape,
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
            trace: arguments.trace.clone(),
            explain: arguments.explain.clone(),
            tape: Tape::None,
        }
    }

    /// The plan of a whole command line: where a recording is asked for it says so.
    ///
    /// # Errors
    /// Returns an error if the command line cannot be written down.
    pub fn of_command(command: &DemoCommand) -> Result<Self, Failure> {
        let mut plan = Self::new(command.demo, &command.run);
        if let Some(path) = &command.run.record {
            let arguments = command.words.clone().ok_or_else(|| {
                Failure::Usage("cannot record a command line that is not Unicode".to_owned())
            })?;
            let header = Header {
                formic_recording: FORMAT,
                program: env!("CARGO_PKG_VERSION").to_owned(),
                demo: plan.demo.name.to_owned(),
                arguments,
                agents: plan.setup.agents,
                seed: plan.setup.seed,
                hash_every: command.run.hash_every,
            };
            plan.tape = Tape::Record(path.clone(), header);
        }
        Ok(plan)
    }
}
