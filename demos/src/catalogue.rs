//! Which demos there are, and how a command becomes a simulation.

use std::fmt::Write;

use crate::cli::{DemoCommand, RunArguments};
use crate::failure::Failure;
use crate::setup::{Demo, Setup};
use crate::simulation::Simulation;
use crate::{dungeon, miners};

/// Every demo, in the order in which `demos list` shows them.
pub const DEMOS: [&Demo; 2] = [&miners::DEMO, &dungeon::DEMO];

/// What the first run says at its end.
pub const TRY_NEXT: &str = "\
Try next:
  cargo run --release -- list                          every demo in a line
  cargo run --release -- miners --agents 100000        a crowd that is mostly asleep
  cargo run --release -- dungeon --map FILE --png OUT  a MovingAI map of your own
";

/// The text of `demos list`.
#[must_use]
pub fn list() -> String {
    let mut text = String::new();
    for demo in DEMOS {
        // Writing into a String cannot fail.
        let line = writeln!(text, "{:<10} {}", demo.name, demo.about);
        debug_assert!(line.is_ok());
    }
    text
}

/// The demo that a command names, and the arguments it has in common with the
/// others.
#[must_use]
pub fn chosen(command: &DemoCommand) -> (&'static Demo, &RunArguments) {
    match command {
        DemoCommand::Miners(run) => (&miners::DEMO, run),
        DemoCommand::Dungeon(arguments) => (&dungeon::DEMO, &arguments.run),
    }
}

/// Builds the world of a command.
///
/// # Errors
/// Whatever the demo finds wrong with its numbers or files.
pub fn build(command: &DemoCommand, setup: &Setup) -> Result<Box<dyn Simulation>, Failure> {
    match command {
        DemoCommand::Miners(_) => miners::simulation(setup),
        DemoCommand::Dungeon(arguments) => dungeon::simulation(setup, arguments.map.as_deref()),
    }
}
