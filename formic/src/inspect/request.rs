//! The requests of the page, and the part of the session that answers each.

use std::mem;

use formic_ecs::Entity;
use glam::Vec2;
use serde::Deserialize;
use serde_json::json;

use super::entity::found;
use super::{Answer, EntityName, Host, Known, Session};

/// A request, as in HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Whether it may change something: POST rather than GET.
    pub is_post: bool,
    /// The path, without parameters.
    pub path: &'a str,
    /// The part after the question mark; empty if there is none.
    pub query: &'a str,
    /// The body; empty if there is none.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// Parses the body and passes it to `answer`. If it does not parse, returns an error answer.
    pub fn reply<'b, T: Deserialize<'b>>(&'b self, answer: impl FnOnce(T) -> Answer) -> Answer {
        match serde_json::from_slice(self.body) {
            Ok(wish) => answer(wish),
            Err(error) => Answer::error(400, &format!("the body is not what is expected: {error}")),
        }
    }

    /// Returns the value of a parameter: that of `b` in `a=1&b=2`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// A change of the world's speed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    running: Option<bool>,
    /// Ticks per second; 0 for as many as there is time for.
    speed: Option<f32>,
}

/// A number of steps of one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TakeSteps {
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

/// A clicked place, and how far from it an agent may be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pick {
    x: f32,
    y: f32,
    pub(super) reach: f32,
    /// Selects one of several agents at one place, by the index of its entity.
    pub(super) index: Option<u32>,
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
    entity: String,
}

/// One of the worlds of a program that has several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Focus {
    world: u8,
}

impl Session {
    /// Answers a request. The session goes on, whatever the request is.
    pub fn answer(&mut self, host: &mut dyn Host, request: &Request<'_>) -> Answer {
        match (request.path, request.is_post) {
            ("/api/state", false) => self.state(host),
            ("/api/archetypes", false) => Self::archetypes(host),
            ("/api/systems", false) => self.systems(host),
            ("/api/entity", false) => self.entity(host, request.parameter("id")),
            ("/api/check", false) => Self::check(host),
            ("/api/hash", false) => self.hash(host),
            ("/api/time", false) => self.time(host),
            ("/api/frame", false) => self.one_frame(host, request),
            ("/api/query", true) => request.reply(|query| Self::query(host, &query)),
            ("/api/run", true) => request.reply(|run| self.run(host, &run)),
            ("/api/step", true) => request.reply(|steps| self.take_steps(host, &steps)),
            ("/api/pick", true) => request.reply(|pick| self.pick(host, &pick)),
            ("/api/select", true) => request.reply(|select| self.select(host, &select)),
            ("/api/edit", true) => request.reply(|edit| self.edit(host, edit)),
            ("/api/break", true) => request.reply(|asked| self.set_break(host, &asked)),
            ("/api/graph", true) => request.reply(|asked| self.draw(host, &asked)),
            ("/api/history", true) => request.reply(|asked| self.keep(host, &asked)),
            ("/api/rewind", true) => request.reply(|asked| self.rewind(host, &asked)),
            ("/api/focus", true) => request.reply(|focus| self.focus(host, &focus)),
            ("/api/cheat", true) => request.reply(|cheat| self.cheat(host, &cheat)),
            (path, is_post) if PATHS.contains(&path) => {
                let wanted = if is_post { "GET" } else { "POST" };
                Answer::error(405, &format!("{path} takes {wanted}"))
            }
            (path, _) => match host.answer(request) {
                None => {
                    let known = PATHS.join(", ");
                    Answer::error(404, &format!("there is no {path}, but {known}"))
                }
                Some((_, true)) => {
                    self.begin(host);
                    self.state(host)
                }
                Some((answer, false)) => answer,
            },
        }
    }

    fn run(&mut self, host: &dyn Host, run: &Run) -> Answer {
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
        self.state(host)
    }

    /// Records steps to be taken by [`live`](Self::live).
    fn take_steps(&mut self, host: &dyn Host, steps: &TakeSteps) -> Answer {
        if !(1..=Self::STEPS_MAX).contains(&steps.count) {
            return Answer::error(400, "count is a number from 1 to 100,000");
        }
        // Added to requested steps that are not taken yet.
        let mut due = mem::take(&mut self.steps);
        let more = match steps.what {
            StepKind::Tick => &mut due.ticks,
            StepKind::System => &mut due.systems,
        };
        *more = Self::STEPS_MAX.min(*more + steps.count);
        self.set_running(false);
        self.steps = due;
        self.state(host)
    }

    fn pick(&mut self, host: &mut dyn Host, pick: &Pick) -> Answer {
        let at = Vec2::new(pick.x, pick.y);
        if !at.is_finite() || pick.reach.is_nan() {
            return Answer::error(400, "x, y and reach are numbers");
        }
        let Some(mark) = self.nearest(host, at, pick) else {
            return Answer::json(&json!({ "entity": null }));
        };
        self.look_at(host, mark.world);
        self.chosen(host, mark.entity)
    }

    fn select(&mut self, host: &mut dyn Host, select: &Select) -> Answer {
        match found(host.world(), &select.entity) {
            Ok(entity) => self.chosen(host, entity),
            Err(answer) => answer,
        }
    }

    fn chosen(&mut self, host: &mut dyn Host, entity: Entity) -> Answer {
        match self.watch(host, entity) {
            Ok(()) => Answer::json(&json!({ "entity": entity_text(entity) })),
            Err(error) => Answer::error(404, &error.to_string()),
        }
    }

    fn focus(&mut self, host: &mut dyn Host, focus: &Focus) -> Answer {
        if usize::from(focus.world) >= host.view().world_names().len() {
            return Answer::error(404, &format!("there is no world {} here", focus.world));
        }
        self.look_at(host, focus.world);
        self.state(host)
    }

    fn cheat(&mut self, host: &mut dyn Host, cheat: &DoCheat) -> Answer {
        let at = Vec2::new(cheat.x, cheat.y);
        if !at.is_finite() {
            return Answer::error(400, "x and y are numbers");
        }
        if host.view().cheats().iter().all(|known| known.name != cheat.cheat) {
            return Answer::error(404, &format!("there is no cheat {}", cheat.cheat));
        }
        self.end_tick(host);
        let done = host.view_mut().cheat(&cheat.cheat, at);
        self.version += 1;
        self.keep_change(host);
        match done {
            Ok(text) => Answer::json(&json!({ "done": text })),
            Err(text) => Answer::error(409, &text),
        }
    }

    /// Answers with one frame, for a client without a socket.
    fn one_frame(&mut self, host: &dyn Host, request: &Request<'_>) -> Answer {
        let number =
            |name: &str| request.parameter(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let paths = request.parameter("paths") == Some("1");
        let chosen = request.parameter("chosen").and_then(entity_of);
        let known = Known { ground: number("ground"), ids: number("ids"), paths };
        Answer::bytes(self.frame(host, paths, chosen).message(&known))
    }
}

/// Every path, to distinguish a wrong method from a wrong path.
const PATHS: [&str; 20] = [
    "/api/state",
    "/api/archetypes",
    "/api/systems",
    "/api/entity",
    "/api/check",
    "/api/hash",
    "/api/time",
    "/api/break",
    "/api/graph",
    "/api/history",
    "/api/rewind",
    "/api/frame",
    "/api/query",
    "/api/run",
    "/api/step",
    "/api/pick",
    "/api/select",
    "/api/edit",
    "/api/focus",
    "/api/cheat",
];

/// Formats an entity for the page as a string, because JSON numbers have 53 bits.
pub(super) fn entity_text(entity: Entity) -> String {
    entity.to_bits().to_string()
}

/// Parses the entity of such a text, or of the display form of an [`Entity`]: `12v3`.
pub(super) fn entity_of(text: &str) -> Option<Entity> {
    match text.parse() {
        Ok(bits) => Entity::from_bits(bits),
        Err(_) => text.parse::<EntityName>().ok()?.handle(),
    }
}
