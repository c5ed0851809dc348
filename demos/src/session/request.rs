//! The requests of the page, and the part of the session that answers each.

use formic_ecs::Entity;
use glam::Vec2;
use serde::Deserialize;
use serde_json::json;

use crate::session::{Answer, Known, Session};
use crate::setup::Setup;

/// A request, as HTTP has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Whether it may change something: POST rather than GET.
    pub is_post: bool,
    /// The path, without parameters.
    pub path: &'a str,
    /// What stands behind the question mark; empty if there is none.
    pub query: &'a str,
    /// The body; empty if there is none.
    pub body: &'a [u8],
}

/// What to do with time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    running: Option<bool>,
    /// Ticks a second; 0 for as many as there is time for.
    speed: Option<f32>,
}

/// A step of one kind, several times.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    what: StepKind,
    #[serde(default = "one")]
    count: u64,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum StepKind {
    System,
    Tick,
}

fn one() -> u64 {
    1
}

/// A place that was clicked, and how far from it an agent may be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pick {
    x: f32,
    y: f32,
    reach: f32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DoCheat {
    cheat: String,
    x: f32,
    y: f32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Select {
    entity: Option<String>,
}

/// One of the worlds of a demo that has several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Focus {
    world: u8,
}

/// A demo to be opened; what is left out is as the demo likes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    demo: String,
    agents: Option<u32>,
    /// As text, or as a number where it has no more than 53 bits: JSON in a page has no more.
    seed: Option<Seed>,
    threads: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Seed {
    Number(u64),
    Text(String),
}

impl Seed {
    fn get(&self) -> Option<u64> {
        match self {
            Self::Number(seed) => Some(*seed),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

impl Session {
    /// Answers a request. Whatever it is, the session goes on.
    pub fn answer(&mut self, request: &Request<'_>) -> Answer {
        let body = request.body;
        match (request.path, request.is_post) {
            ("/api/demos", false) => self.demos(),
            ("/api/state", false) => self.state(),
            ("/api/archetypes", false) => self.archetypes(),
            ("/api/systems", false) => self.systems(),
            ("/api/entity", false) => self.entity(request.query),
            ("/api/check", false) => self.check(),
            ("/api/picture", false) => Answer::png(self.simulation.raster().png()),
            ("/api/frame", false) => self.one_frame(request.query),
            ("/api/run", true) => reply(body, |run| self.run(&run)),
            ("/api/step", true) => reply(body, |steps| self.take_steps(&steps)),
            ("/api/pick", true) => reply(body, |pick| self.pick(&pick)),
            ("/api/select", true) => reply(body, |select| self.select(&select)),
            ("/api/focus", true) => reply(body, |focus| self.focus(&focus)),
            ("/api/cheat", true) => reply(body, |cheat| self.cheat(&cheat)),
            ("/api/open", true) => reply(body, |open| self.open_other(&open)),
            (path, is_post) if PATHS.contains(&path) => {
                let wanted = if is_post { "GET" } else { "POST" };
                Answer::error(405, &format!("{path} takes {wanted}"))
            }
            (path, _) => Answer::error(404, &format!("there is no {path}; try /api/state")),
        }
    }

    fn run(&mut self, run: &Run) -> Answer {
        if let Some(speed) = run.speed {
            if speed != 0.0 && !(Self::SPEED_MIN..=Self::SPEED_MAX).contains(&speed) {
                return Answer::error(400, "speed is 0, or a number from 0.1 to 10,000");
            }
            self.speed = if speed == 0.0 { f32::INFINITY } else { speed };
            self.version += 1;
        }
        if let Some(running) = run.running {
            self.set_running(running);
        }
        self.state()
    }

    fn take_steps(&mut self, steps: &Steps) -> Answer {
        if !(1..=Self::STEPS_MAX).contains(&steps.count) {
            return Answer::error(400, "count is a number from 1 to 100,000");
        }
        self.set_running(false);
        for _ in 0..steps.count {
            match steps.what {
                StepKind::Tick => self.tick(),
                StepKind::System => self.step(),
            }
        }
        self.state()
    }

    fn pick(&mut self, pick: &Pick) -> Answer {
        let at = Vec2::new(pick.x, pick.y);
        if !at.is_finite() || pick.reach.is_nan() {
            return Answer::error(400, "x, y and reach are numbers");
        }
        let nearest = self.nearest(at, pick.reach);
        if let Some(mark) = nearest {
            self.look_at(mark.world);
        }
        self.choose(nearest.map(|mark| mark.entity));
        Answer::json(&json!({ "entity": self.selected.map(entity_text) }))
    }

    fn select(&mut self, select: &Select) -> Answer {
        let entity = match &select.entity {
            None => None,
            Some(text) => match entity_of(text) {
                None => return Answer::error(400, "an entity is a number of 64 bits, as text"),
                some => some,
            },
        };
        self.choose(entity);
        Answer::json(&json!({ "entity": self.selected.map(entity_text) }))
    }

    fn focus(&mut self, focus: &Focus) -> Answer {
        let count = self.view().map_or(0, |view| view.world_names().len());
        if usize::from(focus.world) >= count {
            return Answer::error(404, &format!("there is no world {} here", focus.world));
        }
        self.look_at(focus.world);
        self.state()
    }

    fn cheat(&mut self, cheat: &DoCheat) -> Answer {
        let at = Vec2::new(cheat.x, cheat.y);
        if !at.is_finite() {
            return Answer::error(400, "x and y are numbers");
        }
        let Some(view) = self.simulation.view_mut() else {
            return Answer::error(404, "this demo has no cheats");
        };
        if view.cheats().iter().all(|known| known.name != cheat.cheat) {
            return Answer::error(404, &format!("there is no cheat {}", cheat.cheat));
        }
        self.end_tick();
        let done = self.simulation.view_mut().map(|view| view.cheat(&cheat.cheat, at));
        let done = done.unwrap_or_else(|| Err("this demo has no cheats".to_owned()));
        self.version += 1;
        match done {
            Ok(text) => Answer::json(&json!({ "done": text })),
            Err(text) => Answer::error(409, &text),
        }
    }

    fn open_other(&mut self, open: &Open) -> Answer {
        let Some(&demo) = self.demos.iter().find(|demo| demo.name == open.demo) else {
            return Answer::error(404, &format!("there is no demo {}", open.demo));
        };
        let agents = open.agents.unwrap_or(demo.agents_default);
        let threads = open.threads.unwrap_or(self.setup.threads);
        if !(1..=Setup::AGENTS_MAX).contains(&agents) {
            return Answer::error(400, "agents is a number from 1 to 2,000,000");
        }
        if !(1..=Setup::THREADS_MAX).contains(&threads) {
            return Answer::error(400, "threads is a number from 1 to 256");
        }
        let Some(seed) = open.seed.as_ref().map_or(Some(self.setup.seed), Seed::get) else {
            return Answer::error(400, "seed is a whole number of 64 bits");
        };
        let setup = Setup { agents, seed, threads, ..self.setup };
        match self.reopen(demo, setup) {
            Ok(()) => self.state(),
            Err(failure) => Answer::error(400, &failure.to_string()),
        }
    }

    /// One frame for a client without a socket.
    fn one_frame(&mut self, query: &str) -> Answer {
        let number = |name: &str| parameter(query, name).and_then(|text| text.parse().ok());
        let known = Known {
            ground: number("ground").unwrap_or(0),
            ids: number("ids").unwrap_or(0),
            paths: parameter(query, "paths") == Some("1"),
        };
        let frame = self.frame(known.paths);
        Answer::bytes(frame.message(&known))
    }
}

/// Every path, for telling a wrong method from a wrong path.
const PATHS: [&str; 15] = [
    "/api/demos",
    "/api/state",
    "/api/archetypes",
    "/api/systems",
    "/api/entity",
    "/api/check",
    "/api/picture",
    "/api/frame",
    "/api/run",
    "/api/step",
    "/api/pick",
    "/api/select",
    "/api/focus",
    "/api/cheat",
    "/api/open",
];

/// Reads the body and answers by it.
fn reply<'a, T: Deserialize<'a>>(body: &'a [u8], answer: impl FnOnce(T) -> Answer) -> Answer {
    match serde_json::from_slice(body) {
        Ok(wish) => answer(wish),
        Err(error) => Answer::error(400, &format!("the body is not what is expected: {error}")),
    }
}

/// The value of a parameter: of `b` in `a=1&b=2`.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// An entity as the page knows it: JSON numbers have 53 bits.
pub(super) fn entity_text(entity: Entity) -> String {
    entity.to_bits().to_string()
}

/// The entity of such a text.
pub(super) fn entity_of(text: &str) -> Option<Entity> {
    text.parse().ok().and_then(Entity::from_bits)
}
