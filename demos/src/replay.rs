//! From a recording back to a run: `--replay`, and `demos verify`.

use std::io::{self, Write};
use std::path::Path;

use crate::arguments::{Results, own_argument};
use crate::cli::DemoCommand;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::recording::Recording;
use crate::resume::command_of;
use crate::runner;
use crate::setup::Setup;
use crate::simulation::Simulation;
use crate::tape::Tape;
use crate::text::grouped;

/// The run that is on a recording, on so many threads: what it is, and its world.
///
/// # Errors
/// Returns an error if the demo, or one of its arguments or files, is not there any more.
pub fn run_of(
    recording: Recording,
    path: &Path,
    threads: Option<usize>,
) -> Result<(Plan, Box<dyn Simulation>), Failure> {
    let header = &recording.header;
    let refused = |what: String| Failure::on_file("replay", path, what);
    let command = command_of(&header.demo, &header.arguments).map_err(refused)?;
    let DemoCommand { demo, run, matches, .. } = *command;
    let setup = Setup {
        agents: header.agents,
        ticks: recording.ticks(),
        seed: header.seed,
        threads: threads.unwrap_or_else(Setup::threads_default),
    };
    let simulation = (demo.build)(&setup, &matches)?;
    let mut plan = Plan::new(demo, &run);
    // The results of the run that was recorded are not written anew.
    plan.results = Results { quiet: run.results.quiet, ..Results::default() };
    (plan.setup, plan.tape) = (setup, Tape::Replay(recording, u64::MAX));
    Ok((plan, simulation))
}

/// `demo --replay FILE`: the run of a recording with the results that this command line asks for.
///
/// # Errors
/// As [`run_of`], and where the command line asks for what the recording says.
pub fn of_command(
    command: &DemoCommand,
    path: &Path,
) -> Result<(Plan, Box<dyn Simulation>), Failure> {
    let recording = Recording::read(path)?;
    if !recording.is_whole && !command.run.results.quiet {
        // Whether it can be told does not matter.
        drop(writeln!(io::stderr(), "demos: {}", cut_off(path, &recording)));
    }
    if recording.header.demo != command.demo.name {
        let demo = &recording.header.demo;
        let what = format!("it is a run of {demo}, not of {}", command.demo.name);
        return Err(Failure::on_file("replay", path, what));
    }
    if let Some(name) = own_argument(command.demo, &command.matches) {
        let what = format!("--{name} comes from the recording");
        return Err(Failure::on_file("replay", path, what));
    }
    let run = &command.run;
    let (mut plan, simulation) = run_of(recording, path, run.numbers.threads)?;
    if let (Tape::Replay(_, until), Some(asked)) = (&mut plan.tape, run.until) {
        *until = asked;
        plan.setup.ticks = plan.setup.ticks.min(asked);
    }
    plan.results = run.results.clone();
    Ok((plan, simulation))
}

/// What there is to say of a recording without an end.
fn cut_off(path: &Path, recording: &Recording) -> String {
    let ticks = grouped(recording.ticks());
    format!("{} was cut off, and ends with tick {ticks}", path.display())
}

/// `demos verify FILE`: lives the run of a recording again, and compares all its hashes.
///
/// # Errors
/// [`Failure::Check`] with the first tick that differs; as [`run_of`] besides.
pub fn verify(path: &Path, threads: Option<usize>, out: &mut dyn Write) -> Result<(), Failure> {
    let recording = Recording::read(path)?;
    let (hashes, ticks) = (recording.hashes.len(), recording.ticks());
    let note = match recording.is_whole {
        true => String::new(),
        false => format!("; {}", cut_off(path, &recording)),
    };
    let (plan, mut simulation) = run_of(recording, path, threads)?;
    let lived = runner::live(&plan, simulation.as_mut())?;
    if lived.is_interrupted {
        return Err(Failure::Interrupted { ticks: lived.ticks });
    }
    simulation.check().map_err(Failure::Check)?;
    let threads = plan.setup.threads;
    let noun = if threads == 1 { "thread" } else { "threads" };
    writeln!(
        out,
        "{}: {} ticks, {} {}, all equal on {threads} {noun}{note}",
        plan.demo.name,
        grouped(ticks),
        grouped(hashes as u64),
        if hashes == 1 { "hash" } else { "hashes" },
    )
    .map_err(Failure::Stdout)
}
