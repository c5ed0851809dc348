//! From a saved game back to a run: `--load`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use crate::arguments::own_argument;
use crate::catalogue::DEMOS;
use crate::cli::{self, DemoCommand, Request};
use crate::failure::Failure;
use crate::plan::Plan;
use crate::saved_game::{Header, SavedGame};
use crate::setup::Setup;
use crate::simulation::Simulation;

/// The command line that a file says it was written by.
///
/// # Errors
/// Says why there is no such demo, or why it does not take these arguments any more.
pub fn command_of(demo: &str, arguments: &[String]) -> Result<Box<DemoCommand>, String> {
    if !DEMOS.iter().any(|known| known.name == demo) {
        return Err(format!("there is no demo {demo:?}"));
    }
    let words = std::iter::once("demos").chain(arguments.iter().map(String::as_str));
    match cli::parse(words.map(OsString::from)) {
        Ok(Request::Demo(command)) if command.demo.name == demo => Ok(command),
        Ok(_) => Err(format!("its command line runs no {demo}")),
        Err(error) => Err(error.to_string()),
    }
}

/// The world of a saved game as it was built, and as it was when it was saved; beside it, in lines,
/// what of the save did not fit.
///
/// # Errors
/// Returns an error if the demo, or one of its arguments or files, is not there any more, or the save
/// does not fit.
pub fn load(
    game: &SavedGame,
    path: &Path,
    threads: usize,
) -> Result<(Box<dyn Simulation>, String), Failure> {
    let mut simulation = build(&game.header, path, threads)?;
    let report = simulation.load(&game.save);
    let report = report.map_err(|what| Failure::on_file("load", path, what))?;
    Ok((simulation, report))
}

/// The world of a saved game as it was built.
///
/// # Errors
/// Returns an error if the demo, or one of its arguments or files, is not there any more.
pub fn build(header: &Header, path: &Path, threads: usize) -> Result<Box<dyn Simulation>, Failure> {
    let refused = |what: String| Failure::on_file("load", path, what);
    let command = command_of(&header.demo, &header.arguments).map_err(refused)?;
    let setup = Setup { agents: header.agents, ticks: header.ticks, seed: header.seed, threads };
    (command.demo.build)(&setup, &command.matches)
}

/// `demo --load FILE`: the run of a saved game with the results that this command line asks for.
///
/// # Errors
/// As [`load`], and if the command line asks for what the save says.
pub fn of_command(
    command: &DemoCommand,
    path: &Path,
) -> Result<(Plan, Box<dyn Simulation>), Failure> {
    let game = SavedGame::read(path)?;
    let header = &game.header;
    let refused = |what: String| Err(Failure::on_file("load", path, what));
    if header.demo != command.demo.name {
        return refused(format!("it is a game of {}, not of {}", header.demo, command.demo.name));
    }
    if let Some(name) = own_argument(command.demo, &command.matches) {
        return refused(format!("--{name} comes from the save"));
    }
    let run = &command.run;
    let ticks = run.ticks.unwrap_or(header.ticks).max(header.tick);
    if run.ticks.is_some_and(|asked| asked < header.tick) {
        return refused(format!("it was saved after tick {}, when --ticks is over", header.tick));
    }
    let mut plan = Plan::new(command.demo, run);
    (plan.setup.agents, plan.setup.seed, plan.setup.ticks) = (header.agents, header.seed, ticks);
    plan.from = header.tick;
    plan.save_as(run, header.clone())?;
    let (simulation, report) = load(&game, path, plan.setup.threads)?;
    if !report.is_empty() && !run.results.quiet {
        // Whether it can be told does not matter.
        drop(writeln!(io::stderr(), "demos: {}: {}", path.display(), report.replace('\n', "; ")));
    }
    Ok((plan, simulation))
}
