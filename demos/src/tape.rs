//! The tape of a run: a recording that is being written, or one to compare with.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::recording::{Header, Recorder, Recording};
use crate::simulation::Simulation;

/// What a run is to be kept on, or held against.
#[derive(Clone, Debug, Default)]
pub enum Tape {
    /// Neither.
    #[default]
    None,
    /// A new recording.
    Record(PathBuf, Header),
    /// One from before, up to this tick.
    Replay(Recording, u64),
}

/// A [`Tape`] that runs.
#[derive(Debug)]
pub enum Running<'a> {
    /// Neither.
    None,
    /// What is recorded on.
    Record(Recorder),
    /// What is compared with.
    Replay(&'a Recording),
}

impl Tape {
    /// Begins, before anything is lived.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn begin(&self) -> Result<Running<'_>, Failure> {
        Ok(match self {
            Self::None => Running::None,
            Self::Record(path, header) => Running::Record(Recorder::begin(path, header)?),
            Self::Replay(recording, _) => Running::Replay(recording),
        })
    }

    /// How many ticks are lived where a run without a tape would live so many.
    #[must_use]
    pub fn ticks(&self, asked: u64) -> u64 {
        match self {
            Self::Replay(recording, until) => recording.ticks().min(*until),
            _ => asked,
        }
    }
}

impl Running<'_> {
    /// Whether [`after`](Self::after) has anything to do: the clock need not be stopped otherwise.
    #[must_use]
    pub fn is_due(&self, tick: u64) -> bool {
        match self {
            Self::None => false,
            Self::Record(recorder) => recorder.is_due(tick),
            Self::Replay(recording) => {
                recording.hashes.binary_search_by_key(&tick, |it| it.0).is_ok()
                    || recording.inputs.binary_search_by_key(&tick, |it| it.0).is_ok()
            }
        }
    }

    /// Notes, or compares, the state after so many ticks, and puts in what was put in then.
    ///
    /// # Errors
    /// [`Failure::Check`] where the state is not the recorded one, [`Failure::Usage`] where the file
    /// cannot be written or the demo does not understand what was put in.
    pub fn after(&mut self, tick: u64, simulation: &mut dyn Simulation) -> Result<(), Failure> {
        match self {
            Self::Record(recorder) if recorder.is_due(tick) => {
                recorder.hash(tick, simulation.state_hash().value())
            }
            Self::None | Self::Record(_) => Ok(()),
            Self::Replay(recording) => replay(recording, tick, simulation),
        }
    }

    /// Notes what is put in after so many ticks, when the state has this hash.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn input(&mut self, tick: u64, hash: u64, input: &str) -> Result<(), Failure> {
        let Self::Record(recorder) = self else { return Ok(()) };
        if recorder.is_due(tick) {
            recorder.hash(tick, hash)?;
        }
        recorder.input(tick, input)
    }

    /// Ends after so many ticks.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn end(self, tick: u64, simulation: &dyn Simulation) -> Result<(), Failure> {
        match self {
            Self::Record(recorder) => recorder.end(tick, || simulation.state_hash().value()),
            Self::None | Self::Replay(_) => Ok(()),
        }
    }
}

/// Holds the state after so many ticks against a recording, and puts in what was put in then.
///
/// # Errors
/// [`Failure::Check`] if the state is not the recorded one, [`Failure::Usage`] if the demo does not
/// understand what was put in.
pub fn replay(
    recording: &Recording,
    tick: u64,
    simulation: &mut dyn Simulation,
) -> Result<(), Failure> {
    if let Ok(place) = recording.hashes.binary_search_by_key(&tick, |it| it.0) {
        compare(recording, place, simulation.state_hash().value())?;
    }
    let first = recording.inputs.partition_point(|it| it.0 < tick);
    for (_, text) in recording.inputs[first..].iter().take_while(|it| it.0 == tick) {
        simulation.input(text).map_err(|error| {
            Failure::Usage(format!("cannot put in {text:?} at tick {tick}: {error}"))
        })?;
    }
    Ok(())
}

fn compare(recording: &Recording, place: usize, now: u64) -> Result<(), Failure> {
    let (tick, recorded) = recording.hashes[place];
    if recorded == now {
        return Ok(());
    }
    let last_equal = match place.checked_sub(1) {
        None => "from the start".to_owned(),
        Some(before) => format!("it was the same at tick {}", recording.hashes[before].0),
    };
    Err(Failure::Check(format!(
        "the state at tick {tick} is {now:016x}, and {recorded:016x} on the recording; {last_equal}"
    )))
}
