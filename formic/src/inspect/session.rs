//! A world with viewers: what the page shows, and what it may ask for.
//!
//! A session knows neither sockets nor clocks. Its owner has both and gives it requests and time:
//! the [`Inspector`](super::Inspector), and a page that runs a world by itself. Both show the same.
//!
//! ```text
//!   request ──> Session::answer ──> JSON           time ──> Session::live ──> ticks
//!                                                  what the viewer knows ──> Session::frame
//! ```

use std::time::Duration;

use formic_ai::explain::DecisionLog;
use formic_ecs::{Entity, NoSuchEntity};
use formic_jobs::SaveRules;
use glam::Vec2;
use serde_json::{Map, Value};

use super::breakpoint::{Breakpoint, Stop};
use super::frame::Frames;
use super::graph::Graph;
use super::history::History;
use super::request::Pick;
use super::{Frame, Host, Mark};

/// How a world is looked at: whether time goes by, how fast, and what was drawn last.
#[derive(Debug)]
pub struct Session {
    pub(super) is_running: bool,
    /// Ticks a second; infinite for as many as there is time for.
    pub(super) speed: f32,
    /// Ticks that are due, and the part of one that is.
    due: f32,
    /// Steps that were asked for and not taken yet.
    pub(super) steps: Steps,
    pub(super) ticks: u64,
    /// Whether the last tick was taken system by system.
    pub(super) was_stepped: bool,
    /// Goes up whenever there is something new to see.
    pub(super) version: u64,
    /// Goes up whenever another world is opened.
    pub(super) world_number: u32,
    /// How long ticks have taken lately, in seconds; an average.
    pub(super) tick_seconds: f32,
    /// The entities whose decisions are written down for viewers, the last chosen at the end.
    watched: Vec<Entity>,
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) breakpoints: Vec<Breakpoint>,
    /// The breakpoint that the world stands still at.
    pub(super) stop: Option<Stop>,
    pub(super) graphs: Vec<Graph>,
    pub(super) history: History,
    /// How often the world went back in time.
    pub(super) rewind_count: u32,
    /// The last number that was given to something.
    number: u32,
    frames: Frames,
    pub(super) told: Told,
}

/// What was worked out for an answer, and holds on while the version is the same.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) version: u64,
    /// What the host has to say.
    pub(super) described: Option<Map<String, Value>>,
    /// The hash of the state.
    pub(super) hash: Option<u64>,
}

/// Steps that are to be taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) ticks: u64,
    pub(super) systems: u64,
}

impl Steps {
    pub(super) fn are_due(self) -> bool {
        self != Self::default()
    }
}

/// How many entities have their decisions written down for viewers.
const WATCHED_MAX: usize = 8;
/// How many of the last decisions of each are kept.
const DECISIONS_MAX: usize = 12;

impl Session {
    /// The most ticks a second that can be asked for, but for as many as there is time for.
    pub const SPEED_MAX: f32 = 10_000.0;
    /// The least, but for standing still.
    pub const SPEED_MIN: f32 = 0.1;
    /// The most ticks that are stepped through by one request.
    pub const STEPS_MAX: u64 = 100_000;

    /// A session of a host that has not lived yet, in which time stands still.
    #[must_use]
    pub fn new(host: &dyn Host) -> Self {
        let mut session = Self::at_once(false);
        session.take_speed_of(host);
        session
    }

    /// Takes the speed at which a second of the world takes a second.
    pub(super) fn take_speed_of(&mut self, host: &dyn Host) {
        self.speed = match host.view().scene().ticks_per_second {
            rate if rate > 0.0 => rate,
            _ => f32::INFINITY,
        };
    }

    /// A session in which ticks come as fast as there is time for.
    pub(super) fn at_once(is_running: bool) -> Self {
        Self {
            is_running,
            speed: f32::INFINITY,
            due: 0.0,
            steps: Steps::default(),
            ticks: 0,
            was_stepped: false,
            version: 1,
            world_number: 1,
            tick_seconds: 0.0,
            watched: Vec::new(),
            labels: Vec::new(),
            breakpoints: Vec::new(),
            stop: None,
            graphs: Vec::new(),
            history: History::default(),
            rewind_count: 0,
            number: 0,
            frames: Frames::default(),
            told: Told::default(),
        }
    }

    /// Whether time goes by in the world.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Lets time go by in the world, or stops it. Steps that are still to be taken are left out.
    pub fn set_running(&mut self, is_running: bool) {
        self.is_running = is_running;
        self.stop = None;
        self.forget_goal();
        self.steps = Steps::default();
        self.due = 0.0;
        self.version += 1;
    }

    /// A number that goes up whenever there is something new to see.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many ticks the world has lived while it was looked at.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Takes the steps that were asked for and lives as many ticks as `elapsed` asks for at the
    /// current speed, but none that would begin after `is_over`. Ticks that there is no time for
    /// are left out: the world goes slower then.
    pub fn live(
        &mut self,
        host: &mut dyn Host,
        elapsed: Duration,
        mut is_over: impl FnMut() -> bool,
    ) {
        while self.steps.are_due() && !is_over() {
            if self.steps.systems > 0 {
                self.steps.systems -= 1;
                self.step(host);
            } else {
                self.steps.ticks -= 1;
                self.tick(host);
            }
        }
        if !self.is_running {
            return;
        }
        self.pass(elapsed);
        while self.due >= 1.0 && !is_over() {
            self.due -= 1.0;
            self.tick(host);
        }
    }

    /// Lets time go by, for ticks to be due.
    fn pass(&mut self, elapsed: Duration) {
        // Of a quarter of a second at most, or a world that is slow at first would never catch up.
        // An infinite speed times no time at all is no number, and as good as what is most.
        let due = self.due + elapsed.as_secs_f32() * self.speed;
        self.due = due.min((self.speed / 4.0).max(1.0));
    }

    /// Whether a program that lives its own ticks may live one now.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn takes_tick(&mut self, elapsed: Duration) -> bool {
        if self.steps.ticks > 0 {
            self.steps.ticks -= 1;
            return true;
        }
        if self.is_running {
            self.pass(elapsed);
        }
        let is_due = self.is_running && self.due >= 1.0;
        if is_due {
            self.due -= 1.0;
        }
        is_due
    }

    /// Notes that the program has lived a tick by itself.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn note_tick(&mut self, host: &dyn Host) {
        self.end_of_tick(host);
    }

    /// Notes that a whole tick has been lived.
    fn end_of_tick(&mut self, host: &dyn Host) {
        self.ticks += 1;
        self.version += 1;
        self.sample_graphs(host);
        let is_again = self.keep_tick(host);
        self.check_breakpoints(host, !is_again);
    }

    /// A number for something that requests can name.
    pub(super) fn new_number(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    /// Notes how long a tick took; the session itself has no clock.
    pub fn note_tick_time(&mut self, per_tick: Duration) {
        let seconds = per_tick.as_secs_f32();
        let is_first = self.tick_seconds == 0.0;
        let weight = if is_first { 1.0 } else { 0.1 };
        self.tick_seconds += (seconds - self.tick_seconds) * weight;
    }

    /// How long until the next tick is due; `None` while time stands still.
    #[must_use]
    pub fn next_tick_in(&self) -> Option<Duration> {
        if self.steps.are_due() {
            return Some(Duration::ZERO);
        }
        let missing = (1.0 - self.due).max(0.0);
        self.is_running.then(|| Duration::from_secs_f32(missing / self.speed))
    }

    fn tick(&mut self, host: &mut dyn Host) {
        self.was_stepped = host.schedule().is_stepping();
        host.tick();
        self.end_of_tick(host);
    }

    /// One step of a tick: the turn of a system, or a sync point.
    pub(super) fn step(&mut self, host: &mut dyn Host) {
        self.version += 1;
        self.was_stepped = true;
        host.step();
        if !host.schedule().is_stepping() {
            self.end_of_tick(host);
        }
    }

    /// Ends a tick that was begun by steps: what changes the world is for the time between two.
    pub(super) fn end_tick(&mut self, host: &mut dyn Host) {
        if host.schedule().is_stepping() {
            self.tick(host);
        }
    }

    /// Looks at another of the host's worlds.
    pub(super) fn look_at(&mut self, host: &mut dyn Host, world: u8) {
        if host.view().focus() == world {
            return;
        }
        self.end_tick(host);
        self.forget_watched(host);
        host.view_mut().set_focus(world);
        self.version += 1;
        for agent in self.waited_for(world) {
            // One that is gone decides nothing.
            _ = self.watch(host, agent);
        }
        // What happened here while another world was looked at is not new.
        self.check_breakpoints(host, false);
    }

    /// Has the decisions of an entity written down from now on. Only the last few entities that
    /// viewers chose are watched.
    pub(super) fn watch(
        &mut self,
        host: &mut dyn Host,
        entity: Entity,
    ) -> Result<(), NoSuchEntity> {
        host.world().place_of(entity)?;
        let noun = host.view().noun(entity).unwrap_or_else(|| host.noun());
        let world = host.world_mut();
        if world.resource::<DecisionLog>().is_err() {
            world.insert_resource(DecisionLog::new());
            SaveRules::of(world).rebuild::<DecisionLog>();
        }
        let log = world.resource_mut::<DecisionLog>().expect("it was just put there");
        match self.watched.iter().position(|&other| other == entity) {
            Some(place) => self.watched[place..].rotate_left(1),
            // The program watches it by itself.
            None if log.is_watched(entity) => {}
            None => {
                // What a breakpoint waits for goes on being written down.
                let is_pinned =
                    |it: &Entity| self.breakpoints.iter().any(|at| at.entity == Some(*it));
                let first = self.watched.iter().position(|it| !is_pinned(it));
                if let Some(first) = first.filter(|_| self.watched.len() >= WATCHED_MAX) {
                    log.unwatch(self.watched.remove(first));
                }
                log.watch(entity, noun, DECISIONS_MAX);
                self.watched.push(entity);
            }
        }
        Ok(())
    }

    /// The entities that viewers have chosen of late.
    pub(super) fn watched(&self) -> &[Entity] {
        &self.watched
    }

    fn forget_watched(&mut self, host: &mut dyn Host) {
        if let Ok(log) = host.world_mut().resource_mut::<DecisionLog>() {
            for entity in self.watched.drain(..) {
                log.unwatch(entity);
            }
        }
        self.watched.clear();
    }

    /// Begins anew: the host has opened another world.
    pub(super) fn begin(&mut self, host: &dyn Host) {
        self.take_speed_of(host);
        (self.due, self.ticks, self.tick_seconds) = (0.0, 0, 0.0);
        self.steps = Steps::default();
        self.watched.clear();
        self.breakpoints.clear();
        self.graphs.clear();
        self.history = History::default();
        self.stop = None;
        self.world_number += 1;
        self.version += 1;
    }

    /// The world as it is now for a viewer who has chosen this entity, with the paths of all agents
    /// or without.
    pub fn frame(&mut self, host: &dyn Host, with_paths: bool, chosen: Option<Entity>) -> Frame {
        let mut frames = std::mem::take(&mut self.frames);
        frames.draw(self, host.view(), with_paths);
        self.frames = frames;
        self.frames.frame(host.view(), chosen)
    }

    /// The agent that is nearest to a place, and not farther from it than the reach, or the one of the
    /// index that is asked for; a thing if there is no agent.
    pub(super) fn nearest(&mut self, host: &dyn Host, at: Vec2, pick: &Pick) -> Option<Mark> {
        let kinds = host.view().scene().kinds;
        let mut frames = std::mem::take(&mut self.frames);
        frames.draw(self, host.view(), false);
        self.frames = frames;
        let distance = |mark: &Mark| mark.at.distance_squared(at);
        let is_thing =
            |mark: &Mark| kinds.get(usize::from(mark.kind)).is_some_and(|kind| kind.is_thing);
        let near = self.frames.marks().iter().filter(|it| distance(it) <= pick.reach * pick.reach);
        let is_other = |mark: &Mark| pick.index.is_some_and(|index| mark.entity.index() != index);
        let rank = |mark: &Mark| ((is_other(mark), is_thing(mark)), distance(mark));
        near.copied().min_by(|one, other| {
            let (one, other) = (rank(one), rank(other));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
        })
    }
}
