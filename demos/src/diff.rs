//! `demos diff`: finds where two runs that should be equal diverge.
//!
//! Both sides are run again side by side, whether given as a command line on two numbers of threads, as
//! two recordings, or as two saved games. A side that cannot be rerun to the same state is compared as it
//! is in the file.

use std::io::Write;
use std::path::Path;

use formic_ecs::{Difference, World};
use formic_jobs::{Divergence, Schedule, Step, SteppedGame};

use crate::catalogue::DEMOS;
use crate::cli::{self, DemoCommand, DiffArguments, Request};
use crate::failure::Failure;
use crate::files;
use crate::recording::Recording;
use crate::resume;
use crate::saved_game::SavedGame;
use crate::setup::Setup;
use crate::simulation::Simulation;

/// The constructor of a side's world.
type Start<'a> = dyn Fn() -> Result<Box<dyn Simulation>, Failure> + 'a;

/// One of two runs: its start, and its inputs with their ticks.
pub struct Side<'a> {
    /// The name of the side.
    pub name: String,
    /// Creates its world.
    pub start: Box<Start<'a>>,
    /// The inputs, in order, each with the tick before which it is applied.
    pub inputs: &'a [(u64, String)],
}

impl std::fmt::Debug for Side<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A run in progress.
struct Running<'a> {
    simulation: Box<dyn Simulation>,
    inputs: &'a [(u64, String)],
    lived: u64,
    /// The index of the world that is compared.
    world: usize,
}

impl<'a> Side<'a> {
    fn begin(&self, from: u64, world: usize) -> Result<Running<'a>, Failure> {
        let mut simulation = (self.start)()?;
        if let Ok(focus @ 1..) = u8::try_from(world) {
            simulation.view_mut().set_focus(focus);
        }
        Ok(Running { simulation, inputs: self.inputs, lived: from, world })
    }
}

impl Running<'_> {
    /// Applies the inputs for the next tick.
    fn put_in(&mut self) {
        while let Some(((due, input), rest)) = self.inputs.split_first() {
            if *due > self.lived {
                break;
            }
            // An input refused in one run is refused in the other, or this is where they differ.
            drop(self.simulation.input(input));
            self.inputs = rest;
        }
    }

    fn hash(&self) -> u64 {
        self.simulation.state_hash().value()
    }
}

impl SteppedGame for Running<'_> {
    fn world(&self) -> &World {
        let mut worlds = self.simulation.worlds();
        worlds.swap_remove(self.world).1
    }

    fn schedule(&self) -> &Schedule {
        self.simulation.engine().schedule()
    }

    fn tick(&mut self) {
        self.put_in();
        self.simulation.tick();
        self.lived += 1;
    }

    fn step(&mut self) -> Step {
        if !self.schedule().is_stepping() {
            self.put_in();
        }
        let step = self.simulation.step();
        if !self.schedule().is_stepping() {
            self.lived += 1;
        }
        step
    }
}

/// The number of ticks between comparisons until a difference is found.
const STRIDE: u64 = 16;

/// Runs both sides from one tick to another, and describes in a line where they first diverge; none if
/// they reach the same state.
///
/// # Errors
/// Returns an error if one of them cannot be started.
pub fn search<'a>(
    here: &Side<'a>,
    there: &Side<'a>,
    from: u64,
    to: u64,
) -> Result<Option<String>, Failure> {
    let (mut one, mut other) = (here.begin(from, 0)?, there.begin(from, 0)?);
    let mut equal = from;
    let differ = (from..=to).find(|&tick| {
        if tick > from {
            one.tick();
            other.tick();
        }
        let is_compared = (tick - from) % STRIDE == 0 || tick == to;
        let differs = is_compared && one.hash() != other.hash();
        equal = if is_compared && !differs { tick } else { equal };
        differs
    });
    let Some(until) = differ else { return Ok(None) };
    let names: Vec<String> =
        one.simulation.worlds().iter().map(|(name, _)| (*name).to_owned()).collect();
    drop((one, other));
    for (number, name) in names.iter().enumerate() {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let (left, right) = (here.begin(from, number)?, there.begin(from, number)?);
        if let Some(difference) = Difference::between(left.world(), right.world()) {
            return Ok(Some(format!("{prefix}after tick {from}: {difference}")));
        }
        let (here, there) = (|| here.begin(from, number), || there.begin(from, number));
        let found = Divergence::try_search(until - from, here, there)?;
        if let Some(found) = found {
            return Ok(Some(format!(
                "{prefix}{}",
                Divergence { tick: from + found.tick, ..found }
            )));
        }
    }
    Ok(Some(format!(
        "after tick {until}, and equal after tick {equal}: no entity is different, but what the demo \
         keeps beside them"
    )))
}

/// `demos diff`: reports where two runs diverge.
///
/// # Errors
/// Returns [`Failure::Differ`] if they do, and other failures if they cannot be compared.
pub fn run(arguments: &DiffArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let wrong = |what: &str| Err(Failure::Usage(what.to_owned()));
    let threads = match arguments.threads[..] {
        [] => None,
        [here, there] => Some([here, there]),
        _ => return wrong("--threads of diff takes two numbers, such as 1,8"),
    };
    let is_demo = |name: &str| DEMOS.iter().any(|demo| demo.name == name);
    let found = match &arguments.compared[..] {
        [name, ..] if is_demo(name) => of_command(&arguments.compared, threads)?,
        [here, there] => {
            let paths = [here, there].map(Path::new);
            let threads = threads.unwrap_or([Setup::threads_default(); 2]);
            match [is_save(paths[0])?, is_save(paths[1])?] {
                [true, true] => of_saves(paths, threads)?,
                [false, false] => of_recordings(paths, threads)?,
                _ => return wrong("a recording cannot be compared with a saved game"),
            }
        }
        _ => return wrong("diff takes two files, or a demo with its arguments"),
    };
    let Some(found) = found else { return Ok(()) };
    writeln!(out, "{found}").map_err(Failure::Stdout)?;
    Err(Failure::Differ)
}

fn is_save(path: &Path) -> Result<bool, Failure> {
    files::begins_with(path, b"FormicSG")
}

fn other_demo(here: &str, there: &str) -> Result<(), Failure> {
    match here == there {
        true => Ok(()),
        false => {
            let what = format!("a run of {here} cannot be compared with one of {there}");
            Err(Failure::Usage(what))
        }
    }
}

/// Compares a command line on two numbers of threads.
fn of_command(words: &[String], threads: Option<[usize; 2]>) -> Result<Option<String>, Failure> {
    let threads = threads.ok_or_else(|| {
        Failure::Usage("say on which two numbers of threads: diff --threads 1,8 DEMO".to_owned())
    })?;
    let words = std::iter::once("demos").chain(words.iter().map(String::as_str));
    let Request::Demo(command) = cli::parse(words.map(Into::into))? else {
        return Err(Failure::Usage("only the run of a demo can be compared".to_owned()));
    };
    let DemoCommand { demo, run, matches, .. } = *command;
    if run.load.is_some() || run.replay.is_some() {
        let what = "give recordings and saved games as they are: diff A B";
        return Err(Failure::Usage(what.to_owned()));
    }
    let ticks = run.ticks.unwrap_or(demo.ticks_default);
    let side = |threads| {
        let setup = Setup { threads, ..run.numbers.setup(demo, ticks) };
        let matches = &matches;
        let start = Box::new(move || (demo.build)(&setup, matches));
        Side { name: format!("{threads} threads"), start, inputs: &[] }
    };
    let [here, there] = threads.map(side);
    let found = search(&here, &there, 0, ticks)?;
    Ok(found.map(|found| told(&here.name, &there.name, &found)))
}

/// Compares two recordings: by their hashes and, if these differ, by running both again.
fn of_recordings(paths: [&Path; 2], threads: [usize; 2]) -> Result<Option<String>, Failure> {
    let [one, other] = [Recording::read(paths[0])?, Recording::read(paths[1])?];
    other_demo(&one.header.origin.demo, &other.header.origin.demo)?;
    let pairs = one.hashes.iter().filter_map(|&(tick, here)| {
        let place = other.hashes.binary_search_by_key(&tick, |&(other, _)| other).ok()?;
        Some((tick, here, other.hashes[place].1))
    });
    let pairs: Vec<_> = pairs.collect();
    let differ = pairs.iter().find(|&&(_, here, there)| here != there).copied();
    // Of the ticks behind the last hash that both have, only a second run knows.
    let end = one.ticks().min(other.ticks());
    if differ.is_none() && pairs.last().is_some_and(|&(last, ..)| last == end) {
        return Ok(None);
    }
    let until = differ.map_or(end, |(tick, ..)| tick);
    let start = |number: usize| {
        let (path, recording) = (paths[number], [&one, &other][number]);
        let threads = Some(threads[number]);
        let start = Box::new(move || Ok(resume::run_of(recording.clone(), path, threads)?.1));
        Side { name: path.display().to_string(), start, inputs: &recording.inputs }
    };
    let (first, second) = (start(0), start(1));
    let equal_again = |(until, here, there)| {
        format!(
            "after tick {until} the state is {here:016x} on one and {there:016x} on the other, and \
             equal where both are lived again: another version of the program has recorded one of them"
        )
    };
    let found = search(&first, &second, 0, until)?.or_else(|| differ.map(equal_again));
    Ok(found.map(|found| told(&first.name, &second.name, &found)))
}

/// Compares two saved games from the tick of the later one to their end. If they differ at once, both are
/// also run again from the start.
fn of_saves(paths: [&Path; 2], threads: [usize; 2]) -> Result<Option<String>, Failure> {
    let games = [SavedGame::read(paths[0])?, SavedGame::read(paths[1])?];
    let [one, other] = [&games[0].header, &games[1].header];
    other_demo(&one.origin.demo, &other.origin.demo)?;
    let from = one.tick.max(other.tick);
    let loaded = |number: usize| {
        let (path, game, threads) = (paths[number], &games[number], threads[number]);
        let start = Box::new(move || {
            let (mut simulation, _) = resume::load(game, path, threads)?;
            // The earlier one runs on to the tick at which the later one begins.
            (game.header.tick..from).for_each(|_| simulation.tick());
            Ok(simulation)
        });
        Side { name: path.display().to_string(), start, inputs: &[] }
    };
    let (here, there) = (loaded(0), loaded(1));
    let to = one.ticks.min(other.ticks).max(from);
    let Some(mut found) = search(&here, &there, from, to)? else { return Ok(None) };
    // If they diverged before they were saved, the run from the start finds the system.
    let built = |number: usize| {
        let (path, game, threads) = (paths[number], &games[number], threads[number]);
        let start = Box::new(move || resume::build(game, path, threads));
        Side { name: path.display().to_string(), start, inputs: &[] }
    };
    if let Some(earlier) = search(&built(0), &built(1), 0, from)? {
        found = format!("{earlier}\n{found}");
    }
    Ok(Some(told(&here.name, &there.name, &found)))
}

fn told(here: &str, there: &str, found: &str) -> String {
    format!("here:  {here}\nthere: {there}\n{found}")
}
