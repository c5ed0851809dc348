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
pub struct Running<'a> {
    kind: Kind<'a>,
}

#[derive(Debug)]
enum Kind<'a> {
    None,
    Record(Recorder),
    Replay {
        recording: &'a Recording,
        /// The next hash and the next input.
        hash: usize,
        input: usize,
    },
}

impl Tape {
    /// Begins, before anything is lived.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn begin(&self) -> Result<Running<'_>, Failure> {
        let kind = match self {
            Self::None => Kind::None,
            Self::Record(path, header) => Kind::Record(Recorder::begin(path, header)?),
            Self::Replay(recording, _) => Kind::Replay { recording, hash: 0, input: 0 },
        };
        Ok(Running { kind })
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
        match &self.kind {
            Kind::None => false,
            Kind::Record(recorder) => recorder.is_due(tick),
            Kind::Replay { recording, hash, input } => {
                recording.hashes.get(*hash).is_some_and(|&(due, _)| due <= tick)
                    || recording.inputs.get(*input).is_some_and(|&(due, _)| due <= tick)
            }
        }
    }

    /// Notes, or compares, the state after so many ticks, and puts in what was put in then.
    ///
    /// # Errors
    /// [`Failure::Check`] where the state is not the recorded one, [`Failure::Usage`] where the file
    /// cannot be written or the demo does not understand what was put in.
    pub fn after(&mut self, tick: u64, simulation: &mut dyn Simulation) -> Result<(), Failure> {
        match &mut self.kind {
            Kind::Record(recorder) if recorder.is_due(tick) => {
                recorder.hash(tick, simulation.state_hash().value())
            }
            Kind::None | Kind::Record(_) => Ok(()),
            Kind::Replay { recording, hash, input } => {
                if let Some(&(due, recorded)) = recording.hashes.get(*hash) {
                    if due == tick {
                        compare(recording, *hash, recorded, simulation.state_hash().value())?;
                        *hash += 1;
                    }
                }
                while let Some((due, text)) = recording.inputs.get(*input) {
                    if *due > tick {
                        break;
                    }
                    simulation.input(text).map_err(|error| {
                        Failure::Usage(format!("cannot put in {text:?} at tick {due}: {error}"))
                    })?;
                    *input += 1;
                }
                Ok(())
            }
        }
    }

    /// Notes what is put in after so many ticks, when the state has this hash.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn input(&mut self, tick: u64, hash: u64, input: &str) -> Result<(), Failure> {
        let Kind::Record(recorder) = &mut self.kind else { return Ok(()) };
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
        match self.kind {
            Kind::Record(recorder) => recorder.end(tick, || simulation.state_hash().value()),
            Kind::None | Kind::Replay { .. } => Ok(()),
        }
    }
}

fn compare(recording: &Recording, place: usize, recorded: u64, now: u64) -> Result<(), Failure> {
    if recorded == now {
        return Ok(());
    }
    let tick = recording.hashes[place].0;
    let last_equal = match place.checked_sub(1) {
        None => "from the start".to_owned(),
        Some(before) => format!("it was the same at tick {}", recording.hashes[before].0),
    };
    Err(Failure::Check(format!(
        "the state at tick {tick} is {now:016x}, and {recorded:016x} on the recording; {last_equal}"
    )))
}
