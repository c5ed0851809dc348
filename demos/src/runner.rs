//! Runs any simulation by a plan: ticks, clock, check, picture, report.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::files;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::Report;
use crate::simulation::Simulation;

/// Runs `simulation` to the end of `plan` and writes the results to `out`.
///
/// A failed check is reported last: the picture and the figures of a broken
/// world are what one wants to see.
///
/// # Errors
/// [`Failure::Check`] if the world is not as it must be at the end,
/// [`Failure::Usage`] if the picture cannot be written, [`Failure::Stdout`] if
/// the results cannot.
pub fn run(
    plan: &Plan,
    simulation: &mut dyn Simulation,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(path) = &plan.png {
        files::prove_writable(path)?;
    }
    let elapsed = live(plan, simulation);
    let checked = simulation.check();
    if let Some(path) = &plan.png {
        files::write(path, &simulation.raster().png())?;
    }
    for (path, content) in simulation.files() {
        files::write(&path, &content)?;
    }
    let reported = Report::new(plan, simulation, elapsed, checked.clone()).write(out);
    checked.map_err(Failure::Check)?;
    reported
}

/// Lives all ticks and returns how long they took.
fn live(plan: &Plan, simulation: &mut dyn Simulation) -> Duration {
    let progress = match plan.quiet {
        true => Progress::hidden(),
        false => Progress::new(plan.demo.name, plan.setup.ticks),
    };
    let start = Instant::now();
    for tick in 1..=plan.setup.ticks {
        simulation.tick();
        progress.at(tick);
    }
    let elapsed = start.elapsed();
    progress.finish();
    elapsed
}
