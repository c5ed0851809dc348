//! One run, fully decided: the demo, its numbers, and where results go.

use std::path::PathBuf;

use crate::arguments::{Results, RunArguments};
use crate::card::Demo;
use crate::cli::DemoCommand;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::recording::{self, Recording};
use crate::saved_game;
use crate::setup::Setup;

/// Everything that the runner needs to know about a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The demo that runs.
    pub demo: &'static Demo,
    /// Its numbers.
    pub setup: Setup,
    /// The requested results.
    pub results: Results,
    /// The file and header of the recording, if the run is recorded.
    pub record: Option<(PathBuf, recording::Header)>,
    /// The recording with which the run is compared.
    pub replay: Option<Recording>,
    /// The number of ticks already run before the game was saved.
    pub from: u64,
    /// Where the game is saved, if it is.
    pub save: Option<SaveAs>,
}

/// The file and the tick of a save.
#[derive(Debug, Clone)]
pub struct SaveAs {
    /// The file.
    pub path: PathBuf,
    /// The number of ticks after which to save; at the end if `None`.
    pub at: Option<u64>,
    /// The origin of its world.
    pub origin: Origin,
}

impl Plan {
    /// Creates the plan of a run of which nothing is kept.
    #[must_use]
    pub fn new(demo: &'static Demo, setup: Setup, results: Results) -> Self {
        Self { demo, setup, results, record: None, replay: None, from: 0, save: None }
    }

    /// Sets the save that these arguments ask for, if any.
    ///
    /// # Errors
    /// Returns an error if the run does not contain that tick.
    pub fn save_as(&mut self, arguments: &RunArguments, origin: &Origin) -> Result<(), Failure> {
        let Some(path) = &arguments.save else { return Ok(()) };
        let (from, to) = (self.from, self.setup.ticks);
        if let Some(at) = arguments.at.filter(|at| !(from..=to).contains(at)) {
            let what = format!("--at {at} is no tick of the run, which is from {from} to {to}");
            return Err(Failure::on_file("save", path, what));
        }
        self.save = Some(SaveAs { path: path.clone(), at: arguments.at, origin: origin.clone() });
        Ok(())
    }

    /// Creates the plan of a command line, with defaults from the demo.
    ///
    /// # Errors
    /// Returns an error if the run is to be kept and the command line cannot be stored.
    pub fn of_command(command: &DemoCommand) -> Result<Self, Failure> {
        let DemoCommand { demo, run, words, .. } = command;
        let setup = run.numbers.setup(demo, run.ticks.unwrap_or(demo.ticks_default));
        let mut plan = Self::new(demo, setup, run.results.clone());
        let Some(kept) = run.record.as_ref().or(run.save.as_ref()) else { return Ok(plan) };
        let words = words
            .clone()
            .ok_or_else(|| Failure::on_file("write", kept, "the command line is not Unicode"))?;
        let origin = Origin::new(demo, words, &setup);
        plan.save_as(run, &origin)?;
        plan.record = run.record.clone().map(|path| {
            let format = recording::FORMAT;
            (
                path,
                recording::Header { formic_recording: format, origin, hash_every: run.hash_every },
            )
        });
        Ok(plan)
    }
}

impl SaveAs {
    /// Returns the header of a game saved after `tick` of its `ticks` ticks.
    #[must_use]
    pub fn header(&self, tick: u64, ticks: u64) -> saved_game::Header {
        let origin = self.origin.clone();
        saved_game::Header { format: saved_game::FORMAT, origin, ticks, tick }
    }
}
