//! The origin of a run, as recordings and saved games keep it: the same world can be built from it.

use clap::ArgMatches;
use serde::{Deserialize, Serialize};

use crate::arguments::{demo_command, one_line};
use crate::card::Demo;
use crate::setup::Setup;

/// What the world of a run was built by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The version of the program.
    pub program: String,
    /// The demo.
    pub demo: String,
    /// The command line, without the name of the program.
    pub arguments: Vec<String>,
    /// How many agents there were, also where the command line did not say.
    pub agents: u32,
    /// Where every random choice came from.
    pub seed: u64,
}

impl Origin {
    /// The origin of a run of this demo.
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

    /// Whether its numbers are those of a run.
    ///
    /// # Errors
    /// Returns the name of the one that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_one = (1..=Setup::AGENTS_MAX).contains(&self.agents);
        is_one.then_some(()).ok_or("the number of agents is out of range")
    }

    /// The numbers of a run of so many ticks on so many threads that begins alike.
    #[must_use]
    pub fn setup(&self, ticks: u64, threads: usize) -> Setup {
        Setup { agents: self.agents, ticks, seed: self.seed, threads }
    }

    /// Which of the demos it is of, and the arguments of its command line.
    ///
    /// # Errors
    /// Returns an error if there is no such demo, or if it does not take these arguments any more.
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
