//! The runner of any simulation by a plan: ticks, clock, check, picture, report.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::explain;
use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::plan::{Plan, SaveAs};
use crate::progress::Progress;
use crate::recording::Recorder;
use crate::report::{self, Lived};
use crate::saved_game::SavedGame;
use crate::simulation::Simulation;

/// Runs `simulation` to the end of `plan` and writes the results to `out`.
///
/// A failed check is reported last, because the picture and the figures of a broken world are useful. So
/// is an interruption.
///
/// # Errors
/// Returns [`Failure::Check`] if the world fails its check at the end, or differs from the recording;
/// [`Failure::Usage`] if a file cannot be written; [`Failure::Stdout`] if the results cannot be written;
/// [`Failure::Interrupted`] after Ctrl-C.
pub fn run(
    plan: &Plan,
    simulation: &mut dyn Simulation,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if plan.results.explain.as_ref().is_some_and(Vec::is_empty) {
        let written = explain::write_askable(simulation, plan.demo, plan.results.json, out);
        return written.map_err(Failure::Stdout);
    }
    for path in plan.results.png.iter().chain(&plan.results.trace) {
        files::prove_writable(path)?;
    }
    if let Some(SaveAs { path, .. }) = &plan.save {
        // A save that will fail is detected before the run.
        let failed = |what: String| Failure::on_file("save", path, what);
        SavedGame::prove_writable(path)?;
        simulation.save().map_err(failed)?;
        if simulation.is_for_terminal() {
            return Err(failed("a game in the terminal is recorded, not saved".to_owned()));
        }
    }
    explain::watch(simulation, plan.demo, plan.results.explain.as_deref().unwrap_or_default())?;
    let is_replay = plan.replay.is_some();
    let lived = match simulation.is_for_terminal() && !is_replay {
        true => play(plan, simulation)?,
        false => live(plan, simulation)?,
    };
    let checked = simulation.check();
    if let Some(path) = &plan.results.png {
        files::write(path, &simulation.raster().png())?;
    }
    if let Some(path) = &plan.results.trace {
        files::write(path, simulation.trace().as_bytes())?;
    }
    // A recording names the files of another run.
    if !is_replay {
        for (path, content) in simulation.files() {
            files::write(&path, &content)?;
        }
    }
    let reported = report::write(plan, simulation, lived, &checked, out);
    checked.map_err(Failure::Check)?;
    reported?;
    match lived.is_interrupted {
        true => Err(Failure::Interrupted { ticks: lived.ticks }),
        false => Ok(()),
    }
}

/// Lets a person play, and records every input.
fn play(plan: &Plan, simulation: &mut dyn Simulation) -> Result<Lived, Failure> {
    let start = Instant::now();
    let mut recorder = begin_recording(plan)?;
    let mut ticks = 0;
    simulation.play_in_terminal(&mut |hash, input| {
        if let Some(recorder) = &mut recorder {
            recorder.after(ticks, || hash)?;
            recorder.input(ticks, input)?;
        }
        ticks += 1;
        Ok(())
    })?;
    if let Some(recorder) = recorder {
        recorder.end(ticks, || simulation.state_hash().value())?;
    }
    let elapsed = start.elapsed();
    Ok(Lived { ticks, from: 0, elapsed, is_played: true, is_interrupted: false })
}

/// Runs all ticks of a plan, or until Ctrl-C.
///
/// # Errors
/// Returns an error if the recording cannot be written, or does not match.
pub fn live(plan: &Plan, simulation: &mut dyn Simulation) -> Result<Lived, Failure> {
    let wanted = plan.setup.ticks;
    let progress = match plan.results.quiet {
        true => Progress::hidden(),
        false => Progress::new(plan.demo.name, wanted),
    };
    let mut notes = Notes::begin(plan)?;
    let (mut elapsed, mut ticks) = (Duration::ZERO, plan.from);
    notes.after(ticks, simulation)?;
    let mut start = Instant::now();
    while ticks < wanted && !simulation.is_over() && !interrupt::asked() {
        simulation.tick();
        ticks += 1;
        progress.at(ticks);
        if notes.is_due(ticks) {
            elapsed += start.elapsed();
            notes.after(ticks, simulation)?;
            start = Instant::now();
        }
    }
    elapsed += start.elapsed();
    progress.finish();
    notes.end(ticks, simulation)?;
    let is_interrupted = ticks < wanted && !simulation.is_over();
    Ok(Lived { ticks, from: plan.from, elapsed, is_played: false, is_interrupted })
}

fn begin_recording(plan: &Plan) -> Result<Option<Recorder>, Failure> {
    plan.record.as_ref().map(|(path, header)| Recorder::begin(path, header)).transpose()
}

/// The work between ticks of a run: recording it, comparing it with a recording, saving it, and writing
/// its hashes.
struct Notes<'a> {
    plan: &'a Plan,
    recorder: Option<Recorder>,
    hashes: Option<(BufWriter<File>, &'a Path)>,
}

impl<'a> Notes<'a> {
    fn begin(plan: &'a Plan) -> Result<Self, Failure> {
        let open = |path: &'a PathBuf| match File::create(path) {
            Ok(file) => Ok((BufWriter::new(file), path.as_path())),
            Err(error) => Err(Failure::on_file("write", path, error)),
        };
        let hashes = plan.results.hashes.as_ref().map(open).transpose()?;
        Ok(Self { plan, recorder: begin_recording(plan)?, hashes })
    }

    /// Whether [`after`](Self::after) has anything to do; otherwise the clock need not be stopped.
    fn is_due(&self, tick: u64) -> bool {
        self.hashes.is_some()
            || self.recorder.as_ref().is_some_and(|recorder| recorder.is_due(tick))
            || self.plan.replay.as_ref().is_some_and(|recording| recording.is_due(tick))
            || self.plan.save.as_ref().is_some_and(|save| save.at == Some(tick))
    }

    fn after(&mut self, tick: u64, simulation: &mut dyn Simulation) -> Result<(), Failure> {
        if let Some(recorder) = &mut self.recorder {
            recorder.after(tick, || simulation.state_hash().value())?;
        }
        if let Some(recording) = &self.plan.replay {
            recording.replay(tick, simulation)?;
        }
        if let Some((file, path)) = &mut self.hashes {
            let hash = simulation.state_hash().value();
            let written = writeln!(file, "{tick} {hash:016x}");
            written.map_err(|error| Failure::on_file("write", path, error))?;
        }
        match &self.plan.save {
            Some(it) if it.at == Some(tick) => save(self.plan, it, tick, simulation),
            _ => Ok(()),
        }
    }

    fn end(self, tick: u64, simulation: &dyn Simulation) -> Result<(), Failure> {
        if let Some(recorder) = self.recorder {
            recorder.end(tick, || simulation.state_hash().value())?;
        }
        if let Some((mut file, path)) = self.hashes {
            file.flush().map_err(|error: io::Error| Failure::on_file("write", path, error))?;
        }
        match &self.plan.save {
            Some(it @ SaveAs { at: None, .. }) => save(self.plan, it, tick, simulation),
            Some(SaveAs { at: Some(at), path, .. }) if *at > tick => {
                let what = format!("the run is over after tick {tick}, before --at {at}");
                Err(Failure::on_file("save", path, what))
            }
            _ => Ok(()),
        }
    }
}

/// Saves the game after `tick` ticks.
fn save(plan: &Plan, to: &SaveAs, tick: u64, simulation: &dyn Simulation) -> Result<(), Failure> {
    let save = simulation.save().map_err(|error| Failure::on_file("save", &to.path, error))?;
    SavedGame { header: to.header(tick, plan.setup.ticks), save }.write(&to.path)
}
