//! The origin of a run, stored in recordings and saved games, from which the same world can be built.

use clap::ArgMatches;
use serde::{Deserialize, Serialize};

use crate::arguments::{demo_command, one_line};
use crate::card::Demo;
use crate::setup::Setup;

/// The inputs that a run's world was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The version of the program.
    pub program: String,
    /// The demo.
    pub demo: String,
    /// The command line, without the name of the program.
    pub arguments: Vec<String>,
    /// The number of agents, even if the command line did not set it.
    pub agents: u32,
    /// The seed of every random choice.
    pub seed: u64,
}

impl Origin {
    /// Creates the origin of a run of this demo.
    #[must_use]
    pub fn new(demo: &Demo, arguments: Vec<String>, setup: &Setup) -> Self {
        Self {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            demo: demo.name.to_owned(),
            arguments,
            agents: setup.agents,
            seed: setup.seed,
        }
    }

    /// Checks that its numbers are valid for a run.
    ///
    /// # Errors
    /// Returns which one is invalid.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_one = (1..=Setup::AGENTS_MAX).contains(&self.agents);
        is_one.then_some(()).ok_or("the number of agents is out of range")
    }

    /// Returns the setup of a run with this origin, of `ticks` ticks on `threads` threads.
    #[must_use]
    pub fn setup(&self, ticks: u64, threads: usize) -> Setup {
        Setup { agents: self.agents, ticks, seed: self.seed, threads }
    }

    /// Returns its demo, and the parsed arguments of its command line.
    ///
    /// # Errors
    /// Returns an error if there is no such demo, or if it no longer takes these arguments.
    pub fn read(
        &self,
        demos: &'static [&'static Demo],
    ) -> Result<(&'static Demo, ArgMatches), String> {
        let Self { demo: name, arguments, .. } = self;
        let demo = demos.iter().find(|demo| demo.name == name);
        let demo = demo.ok_or_else(|| format!("there is no demo {name:?}"))?;
        if arguments.first() != Some(name) {
            return Err(format!("its command line runs no {name}"));
        }
        let matches = demo_command(demo).try_get_matches_from(arguments);
        Ok((demo, matches.map_err(|error| one_line(&error))?))
    }
}
