//! Runs any simulation by a plan: ticks, clock, check, picture, report.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::explain;
use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::{Lived, Report};
use crate::simulation::Simulation;
use crate::tape::Tape;

/// Runs `simulation` to the end of `plan` and writes the results to `out`.
///
/// A failed check is reported last: the picture and the figures of a broken
/// world are what one wants to see. So is an interruption.
///
/// # Errors
/// [`Failure::Check`] if the world is not as it must be at the end, or not as it was recorded;
/// [`Failure::Usage`] if a file cannot be written, [`Failure::Stdout`] if
/// the results cannot; [`Failure::Interrupted`] after Ctrl-C.
pub fn run(
    plan: &Plan,
    simulation: &mut dyn Simulation,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if plan.explain.as_ref().is_some_and(Vec::is_empty) {
        let text = explain::whom_to_ask(simulation, plan.demo);
        return out.write_all(text.as_bytes()).map_err(Failure::Stdout);
    }
    for path in plan.png.iter().chain(&plan.trace) {
        files::prove_writable(path)?;
    }
    if plan.trace.is_some() && simulation.trace().is_none() {
        return Err(Failure::Usage(format!("{} has no timeline", plan.demo.name)));
    }
    explain::watch(simulation, plan.demo, plan.explain.as_deref().unwrap_or_default())?;
    let is_replay = matches!(plan.tape, Tape::Replay(..));
    let lived = match simulation.is_for_terminal() && !is_replay {
        true => play(plan, simulation)?,
        false => live(plan, simulation)?,
    };
    let checked = simulation.check();
    if let Some(path) = &plan.png {
        files::write(path, &simulation.raster().png())?;
    }
    if let (Some(path), Some(trace)) = (&plan.trace, simulation.trace()) {
        files::write(path, trace.as_bytes())?;
    }
    // A recording names the files of another run.
    if !is_replay {
        for (path, content) in simulation.files() {
            files::write(&path, &content)?;
        }
    }
    let reported = Report::new(plan, simulation, lived, checked.clone()).write(out);
    checked.map_err(Failure::Check)?;
    reported?;
    match lived.is_interrupted {
        true => Err(Failure::Interrupted { ticks: lived.ticks }),
        false => Ok(()),
    }
}

/// Lets a person play, with every input on the recording.
fn play(plan: &Plan, simulation: &mut dyn Simulation) -> Result<Lived, Failure> {
    let start = Instant::now();
    let mut tape = plan.tape.begin()?;
    let mut ticks = 0;
    simulation.play(&mut |hash, input| {
        tape.input(ticks, hash, input)?;
        ticks += 1;
        Ok(())
    })?;
    tape.end(ticks, simulation)?;
    Ok(Lived { ticks, elapsed: start.elapsed(), is_played: true, is_interrupted: false })
}

/// Lives all ticks of a plan, or as many as there is time for until Ctrl-C.
///
/// # Errors
/// Returns an error if the recording cannot be written, or does not match.
pub fn live(plan: &Plan, simulation: &mut dyn Simulation) -> Result<Lived, Failure> {
    let wanted = plan.tape.ticks(plan.setup.ticks);
    let progress = match plan.quiet {
        true => Progress::hidden(),
        false => Progress::new(plan.demo.name, wanted),
    };
    let mut tape = plan.tape.begin()?;
    let (mut elapsed, mut ticks) = (Duration::ZERO, 0);
    tape.after(0, simulation)?;
    let mut start = Instant::now();
    while ticks < wanted && !simulation.is_over() && !interrupt::asked() {
        simulation.tick();
        ticks += 1;
        progress.at(ticks);
        if tape.is_due(ticks) {
            elapsed += start.elapsed();
            tape.after(ticks, simulation)?;
            start = Instant::now();
        }
    }
    elapsed += start.elapsed();
    progress.finish();
    tape.end(ticks, simulation)?;
    let is_interrupted = ticks < wanted && !simulation.is_over();
    Ok(Lived { ticks, elapsed, is_played: false, is_interrupted })
}
