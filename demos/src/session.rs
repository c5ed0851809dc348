//! A demo as the host of the page: what the page shows of it, and how it opens another.

use std::collections::BTreeMap;
use std::mem;
use std::thread::{self, JoinHandle};

use clap::{Args, Command, FromArgMatches};
use formic::inspect::{Answer, Host, Request, View};
use formic_ecs::World;
use formic_jobs::{Save, Schedule, Step};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::arguments::{Numbers, one_line, own_file};
use crate::card::Demo;
use crate::failure::Failure;
use crate::recording::Recording;
use crate::setup::Setup;
use crate::simulation::Simulation;
use crate::text::{grouped, singular};

/// One running demo, and those that may be opened in its place.
pub struct Live {
    demos: &'static [&'static Demo],
    demo: &'static Demo,
    setup: Setup,
    simulation: Box<dyn Simulation>,
    replay: Option<Replay>,
    /// The world that is being opened in its place.
    opening: Option<Opening>,
}

/// A world that is built on a thread of its own: one of two million agents takes seconds, during which
/// the current one runs on.
struct Opening {
    /// The body of the request that asked for it.
    wish: Vec<u8>,
    world: JoinHandle<Result<Live, Answer>>,
}

/// A function that opens a world for a request, given the setup of the current one.
type Open<T> = fn(&'static [&'static Demo], &Setup, &T) -> Result<Live, Answer>;

/// The recording with which a world is compared.
struct Replay {
    recording: Recording,
    /// How the world differs from it; after that nothing is compared.
    fault: Option<String>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("demo", &self.demo.name).finish_non_exhaustive()
    }
}

/// A demo to be opened, with the numbers of its command line. A seed may be text: JSON numbers in a page
/// have at most 53 bits.
#[derive(Deserialize)]
struct Other {
    demo: String,
    #[serde(flatten)]
    numbers: Map<String, Value>,
}

/// A recording to be played: the content of its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    recording: String,
}

impl Live {
    /// Opens one of the demos that the page can choose from, at tick zero.
    ///
    /// # Errors
    /// Returns an error if the demo rejects its numbers.
    pub fn open(
        demos: &'static [&'static Demo],
        demo: &'static Demo,
        setup: Setup,
    ) -> Result<Self, Failure> {
        let simulation = demo.open(&setup)?;
        Ok(Self { demos, demo, setup, simulation, replay: None, opening: None })
    }

    fn open_other(
        demos: &'static [&'static Demo],
        now: &Setup,
        open: &Other,
    ) -> Result<Self, Answer> {
        let Some(&demo) = demos.iter().find(|demo| demo.name == open.demo) else {
            return Err(Answer::error(404, &format!("there is no demo {}", open.demo)));
        };
        let Setup { seed, threads, ticks, .. } = *now;
        let as_now = [("seed", seed.to_string()), ("threads", threads.to_string())];
        let mut numbers: BTreeMap<&str, String> = as_now.into();
        for (name, value) in open.numbers.iter().filter(|(_, value)| !value.is_null()) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            numbers.insert(name, text);
        }
        let words = numbers.iter().map(|(name, text)| format!("--{name}={text}"));
        let words = std::iter::once(demo.name.to_owned()).chain(words);
        // No other arguments: a page names no files.
        let command = Numbers::augment_args(Command::new(demo.name));
        let numbers = command.try_get_matches_from(words);
        let numbers = numbers.and_then(|matches| Numbers::from_arg_matches(&matches));
        let setup =
            numbers.map_err(|error| Answer::error(400, &one_line(&error)))?.setup(demo, ticks);
        Self::open(demos, demo, setup).map_err(|failure| Answer::error(400, &failure.to_string()))
    }

    /// Answers a request that opens another world, and returns whether it did. While the world is being
    /// built, the answer is 202: ask again.
    fn answer_by<T>(&mut self, request: &Request<'_>, open: Open<T>) -> (Answer, bool)
    where
        T: DeserializeOwned + Send + 'static,
    {
        match self.opened(request, open) {
            Ok(live) => {
                let before = mem::replace(self, live);
                // Dropping two million agents takes longer than a slice.
                drop(thread::Builder::new().spawn(move || drop(before)));
                (Answer::json(&Value::Object(self.describe())), true)
            }
            Err(answer) => (answer, false),
        }
    }

    fn opened<T>(&mut self, request: &Request<'_>, open: Open<T>) -> Result<Self, Answer>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let opening = match self.opening.take() {
            Some(it) if it.wish == request.body => it,
            Some(it) if !it.world.is_finished() => {
                self.opening = Some(it);
                return Err(Answer::error(409, "another world is being opened"));
            }
            _ => {
                let mut wish = None;
                let refusal = request.reply(|it: T| {
                    wish = Some(it);
                    Answer::json(&Value::Null)
                });
                let wish = wish.ok_or(refusal)?;
                let (demos, now) = (self.demos, self.setup);
                let build = move || open(demos, &now, &wish);
                if cfg!(target_family = "wasm") {
                    // A page has no threads, and no other viewers.
                    return build();
                }
                let thread = thread::Builder::new().name("opening".to_owned());
                let world = thread.spawn(build);
                let world = world.map_err(|error| Answer::error(503, &error.to_string()))?;
                Opening { wish: request.body.to_vec(), world }
            }
        };
        if !opening.world.is_finished() {
            self.opening = Some(opening);
            return Err(Answer { status: 202, ..Answer::json(&json!({ "opening": true })) });
        }
        opening.world.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Opens the world of a recording, as it was at the start.
    fn open_recording(
        demos: &'static [&'static Demo],
        now: &Setup,
        play: &Play,
    ) -> Result<Self, Answer> {
        let refused = |text: String| Answer::error(400, &text);
        let recording = Recording::parse(play.recording.as_bytes())
            .map_err(|error| refused(error.to_string()))?;
        let origin = &recording.header.origin;
        let (demo, matches) = origin.read(demos).map_err(refused)?;
        // An input file may be on another machine, and no output file may be written.
        if let Some(name) = own_file(demo, &matches) {
            return Err(refused(format!(
                "--{name} of the recording names a file; use demos verify"
            )));
        }
        let setup = origin.setup(recording.ticks(), now.threads);
        let simulation = (demo.build)(&setup, &matches);
        let simulation = simulation.map_err(|failure| refused(failure.to_string()))?;
        let replay = Some(Replay { recording, fault: None });
        let mut live = Self { demos, demo, setup, simulation, replay, opening: None };
        live.compare();
        Ok(live)
    }

    /// Compares the world with its recording, between two ticks.
    fn compare(&mut self) {
        let schedule = self.simulation.engine().schedule();
        let (tick, is_between) = (schedule.tick(), !schedule.is_stepping());
        if let Some(Replay { recording, fault }) = &mut self.replay {
            if fault.is_none() && is_between {
                let same = recording.replay(tick, self.simulation.as_mut());
                *fault = same.err().map(|failure| match failure {
                    Failure::Check(what) => what,
                    other => other.to_string(),
                });
            }
        }
    }

    /// Returns the result of the comparison so far.
    fn replay_line(&self) -> Option<String> {
        let Replay { recording, fault } = self.replay.as_ref()?;
        if fault.is_some() {
            return fault.clone();
        }
        let tick = self.simulation.engine().schedule().tick();
        let equal = recording.hashes.partition_point(|it| it.0 <= tick);
        let ticks = recording.ticks();
        Some(format!(
            "tick {} of {}, {} of {} hashes equal",
            grouped(tick.min(ticks)),
            grouped(ticks),
            grouped(equal as u64),
            grouped(recording.hashes.len() as u64),
        ))
    }
}

impl Host for Live {
    fn world(&self) -> &World {
        self.simulation.world()
    }

    fn world_mut(&mut self) -> &mut World {
        &mut self.simulation.engine_mut().world
    }

    fn schedule(&self) -> &Schedule {
        self.simulation.engine().schedule()
    }

    fn threads(&self) -> usize {
        self.setup.threads
    }

    fn tick(&mut self) {
        self.simulation.tick();
        self.compare();
    }

    fn step(&mut self) -> Step {
        let step = self.simulation.step();
        self.compare();
        step
    }

    fn view(&self) -> &dyn View {
        self.simulation.view()
    }

    fn view_mut(&mut self) -> &mut dyn View {
        self.simulation.view_mut()
    }

    fn describe(&self) -> Map<String, Value> {
        let counters = self.simulation.counters();
        let counters: Map<String, Value> =
            counters.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let summary = self.demo.summary(self.simulation.as_ref());
        let replay = self.replay_line();
        let lines = replay.iter().map(|line| ("recording", line.clone()));
        let summary: Vec<_> = lines.chain(summary).collect();
        let fault = self.replay.as_ref().and_then(|replay| replay.fault.as_ref());
        let described = json!({
            "demo": self.demo.name,
            "about": self.demo.about,
            "noun": self.demo.agents_noun,
            "agents": self.setup.agents,
            "seed": self.setup.seed.to_string(),
            "counters": counters,
            "summary": summary,
            "replay_fault": fault,
        });
        match described {
            Value::Object(entries) => entries,
            _ => Map::new(),
        }
    }

    fn state_hash(&self) -> u64 {
        self.simulation.state_hash().value()
    }

    fn noun(&self) -> &'static str {
        singular(self.demo.agents_noun)
    }

    fn check(&self) -> Result<(), String> {
        self.simulation.check()
    }

    fn save(&self) -> Result<Save, String> {
        self.simulation.save()
    }

    fn load(&mut self, save: &Save) -> Result<(), String> {
        self.simulation.load(save)?;
        if let Some(replay) = &mut self.replay {
            replay.fault = None;
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request<'_>) -> Option<(Answer, bool)> {
        match (request.path, request.is_post) {
            ("/api/demos", false) => {
                let one = |demo: &&Demo| json!({ "name": demo.name, "about": demo.about });
                let demos: Vec<Value> = self.demos.iter().map(one).collect();
                Some((Answer::json(&json!({ "demos": demos })), false))
            }
            ("/api/picture", false) => Some((Answer::png(self.simulation.raster().png()), false)),
            ("/api/open", true) => Some(self.answer_by(request, Self::open_other)),
            ("/api/replay", true) => Some(self.answer_by(request, Self::open_recording)),
            _ => None,
        }
    }
}
