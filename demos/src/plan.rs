//! One run, fully decided: the demo, its numbers, and where results go.

use std::path::PathBuf;

use crate::arguments::{Results, RunArguments};
use crate::card::Demo;
use crate::cli::DemoCommand;
use crate::failure::Failure;
use crate::recording::{self, FORMAT};
use crate::saved_game;
use crate::setup::Setup;
use crate::tape::Tape;

/// Everything that the runner needs to know about a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The demo that runs.
    pub demo: &'static Demo,
    /// Its numbers.
    pub setup: Setup,
    /// What is to come of it.
    pub results: Results,
    /// What the run is kept on, or held against.
    pub tape: Tape,
    /// How many of the ticks were lived before, by the run that saved the game.
    pub from: u64,
    /// Where the game is saved, if it is.
    pub save: Option<SaveAs>,
}

/// Where a game is saved, and when.
#[derive(Debug, Clone)]
pub struct SaveAs {
    /// The file.
    pub path: PathBuf,
    /// After how many ticks; at the end where nothing is said.
    pub at: Option<u64>,
    /// What the world was built by.
    pub header: saved_game::Header,
}

impl Plan {
    /// The plan of a command line: what it leaves open comes from the demo.
    #[must_use]
    pub fn new(demo: &'static Demo, arguments: &RunArguments) -> Self {
        let ticks = arguments.ticks.unwrap_or(demo.ticks_default);
        let setup = arguments.numbers.setup(demo, ticks);
        Self {
            demo,
            setup,
            results: arguments.results.clone(),
            tape: Tape::None,
            from: 0,
            save: None,
        }
    }

    /// Has the game saved as these arguments say, if they do.
    ///
    /// # Errors
    /// Returns an error if there is no such tick in the run.
    pub fn save_as(
        &mut self,
        arguments: &RunArguments,
        header: saved_game::Header,
    ) -> Result<(), Failure> {
        let Some(path) = &arguments.save else { return Ok(()) };
        let (from, to) = (self.from, self.setup.ticks);
        if let Some(at) = arguments.at.filter(|at| !(from..=to).contains(at)) {
            let what = format!("--at {at} is no tick of the run, which is from {from} to {to}");
            return Err(Failure::on_file("save", path, what));
        }
        self.save = Some(SaveAs { path: path.clone(), at: arguments.at, header });
        Ok(())
    }

    /// The plan of a whole command line: where a recording is asked for it says so.
    ///
    /// # Errors
    /// Returns an error if the command line cannot be written down.
    pub fn of_command(command: &DemoCommand) -> Result<Self, Failure> {
        let mut plan = Self::new(command.demo, &command.run);
        if let Some(path) = &command.run.record {
            let arguments = words(command, "record")?;
            let header = recording::Header {
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
        if command.run.save.is_some() {
            let header = saved_game::Header {
                format: saved_game::FORMAT,
                program: env!("CARGO_PKG_VERSION").to_owned(),
                demo: plan.demo.name.to_owned(),
                arguments: words(command, "save")?,
                agents: plan.setup.agents,
                seed: plan.setup.seed,
                ticks: plan.setup.ticks,
                tick: 0,
            };
            plan.save_as(&command.run, header)?;
        }
        Ok(plan)
    }
}

fn words(command: &DemoCommand, verb: &str) -> Result<Vec<String>, Failure> {
    let refused = || format!("cannot {verb} a command line that is not Unicode");
    command.words.clone().ok_or_else(|| Failure::Usage(refused()))
}
