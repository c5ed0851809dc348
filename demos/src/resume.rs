//! Reruns of recordings and saved games: `--replay`, `--load`, and `demos verify`.

use std::io::{self, Write};
use std::path::Path;

use crate::arguments::{Results, own_argument};
use crate::catalogue::DEMOS;
use crate::cli::DemoCommand;
use crate::failure::Failure;
use crate::interrupt;
use crate::origin::Origin;
use crate::plan::Plan;
use crate::recording::Recording;
use crate::runner;
use crate::saved_game::SavedGame;
use crate::setup::Setup;
use crate::simulation::Simulation;
use crate::text::{counted, grouped};

/// Returns the plan and the world of a recorded run, on a number of threads.
///
/// # Errors
/// Returns an error if the demo, or one of its arguments or files, no longer exists.
pub fn run_of(
    recording: Recording,
    path: &Path,
    threads: Option<usize>,
) -> Result<(Plan, Box<dyn Simulation>), Failure> {
    let origin = &recording.header.origin;
    let (demo, matches) =
        origin.read(DEMOS).map_err(|what| Failure::on_file("replay", path, what))?;
    let setup = origin.setup(recording.ticks(), threads.unwrap_or_else(Setup::threads_default));
    let simulation = (demo.build)(&setup, &matches)?;
    let mut plan = Plan::new(demo, setup, Results::default());
    plan.replay = Some(recording);
    Ok((plan, simulation))
}

/// Builds the initial world of a saved game.
///
/// # Errors
/// Returns an error if the demo, or one of its arguments or files, no longer exists.
pub fn build(
    game: &SavedGame,
    path: &Path,
    threads: usize,
) -> Result<Box<dyn Simulation>, Failure> {
    let origin = &game.header.origin;
    let (demo, matches) =
        origin.read(DEMOS).map_err(|what| Failure::on_file("load", path, what))?;
    (demo.build)(&origin.setup(game.header.ticks, threads), &matches)
}

/// Builds the world of a saved game as it was when it was saved. Also returns lines about the parts of
/// the save that did not fit.
///
/// # Errors
/// Returns the errors of [`build`], and an error if the save does not fit.
pub fn load(
    game: &SavedGame,
    path: &Path,
    threads: usize,
) -> Result<(Box<dyn Simulation>, String), Failure> {
    let mut simulation = build(game, path, threads)?;
    let report = simulation.load(&game.save);
    let report = report.map_err(|what| Failure::on_file("load", path, what))?;
    Ok((simulation, report))
}

/// `demo --replay FILE`: the run of a recording with the results that this command line asks for.
///
/// # Errors
/// Returns the errors of [`run_of`], and an error if the command line sets what the recording determines.
pub fn of_recording(
    command: &DemoCommand,
    path: &Path,
) -> Result<(Plan, Box<dyn Simulation>), Failure> {
    let recording = Recording::read(path)?;
    if !recording.is_whole {
        tell(command, &cut_off(path, &recording));
    }
    check_own(command, &recording.header.origin, "run", "recording")
        .map_err(|what| Failure::on_file("replay", path, what))?;
    let run = &command.run;
    let (mut plan, simulation) = run_of(recording, path, run.numbers.threads)?;
    plan.setup.ticks = run.until.map_or(plan.setup.ticks, |until| until.min(plan.setup.ticks));
    plan.results = run.results.clone();
    Ok((plan, simulation))
}

/// `demo --load FILE`: the run of a saved game with the results that this command line asks for.
///
/// # Errors
/// Returns the errors of [`load`], and an error if the command line sets what the save determines.
pub fn of_save(command: &DemoCommand, path: &Path) -> Result<(Plan, Box<dyn Simulation>), Failure> {
    let game = SavedGame::read(path)?;
    let (header, run) = (&game.header, &command.run);
    let refused = |what: String| Failure::on_file("load", path, what);
    check_own(command, &header.origin, "game", "save").map_err(refused)?;
    if run.ticks.is_some_and(|asked| asked < header.tick) {
        let what = format!("it was saved after tick {}, when --ticks is over", header.tick);
        return Err(refused(what));
    }
    let ticks = run.ticks.unwrap_or(header.ticks).max(header.tick);
    let threads = run.numbers.threads.unwrap_or_else(Setup::threads_default);
    let setup = header.origin.setup(ticks, threads);
    let mut plan = Plan::new(command.demo, setup, run.results.clone());
    plan.from = header.tick;
    plan.save_as(run, &header.origin)?;
    let (simulation, report) = load(&game, path, threads)?;
    if !report.is_empty() {
        tell(command, &format!("{}: {}", path.display(), report.replace('\n', "; ")));
    }
    Ok((plan, simulation))
}

/// Checks that a file belongs to the demo of a command line, and that the command line does not set what
/// the file determines.
fn check_own(
    command: &DemoCommand,
    origin: &Origin,
    what: &str,
    source: &str,
) -> Result<(), String> {
    if origin.demo != command.demo.name {
        return Err(format!("it is a {what} of {}, not of {}", origin.demo, command.demo.name));
    }
    match own_argument(command.demo, &command.matches) {
        Some(name) => Err(format!("--{name} comes from the {source}")),
        None => Ok(()),
    }
}

/// Writes a message to stderr, ignoring errors.
fn tell(command: &DemoCommand, text: &str) {
    if !command.run.results.quiet {
        drop(writeln!(io::stderr(), "demos: {text}"));
    }
}

/// Returns the message about a recording without an end.
fn cut_off(path: &Path, recording: &Recording) -> String {
    let ticks = grouped(recording.ticks());
    format!("{} was cut off, and ends with tick {ticks}", path.display())
}

/// `demos verify FILE`: reruns a recording, and compares all its hashes.
///
/// # Errors
/// Returns [`Failure::Check`] with the first tick that differs, and the errors of [`run_of`].
pub fn verify(path: &Path, threads: Option<usize>, out: &mut dyn Write) -> Result<(), Failure> {
    let recording = Recording::read(path)?;
    let (hashes, ticks) = (recording.hashes.len(), recording.ticks());
    let note = match recording.is_whole {
        true => String::new(),
        false => format!("; {}", cut_off(path, &recording)),
    };
    let (plan, mut simulation) = run_of(recording, path, threads)?;
    let lived = interrupt::polled(|| runner::live(&plan, simulation.as_mut()))?;
    if lived.is_interrupted {
        return Err(Failure::Interrupted { ticks: lived.ticks });
    }
    simulation.check().map_err(Failure::Check)?;
    writeln!(
        out,
        "{}: {}, {} {}, all equal on {}{note}",
        plan.demo.name,
        counted(ticks, "ticks"),
        grouped(hashes as u64),
        if hashes == 1 { "hash" } else { "hashes" },
        counted(plan.setup.threads as u64, "threads"),
    )
    .map_err(Failure::Stdout)
}
