//! A world with viewers: what the page shows and what it may ask for.
//!
//! A session has neither sockets nor clocks. Its owner has both, and passes requests and elapsed time to
//! it. The owner is the [`Inspector`](super::Inspector), or a page that runs a world by itself; both show
//! the same.
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

/// The state of an inspected world: whether it runs, how fast, and what was drawn last.
#[derive(Debug)]
pub struct Session {
    pub(super) is_running: bool,
    /// Ticks per second; infinite for as many as there is time for.
    pub(super) speed: f32,
    /// Ticks that are due, including the fraction of one.
    due: f32,
    /// Requested steps that are not taken yet.
    pub(super) steps: Steps,
    pub(super) ticks: u64,
    /// Whether the last tick was stepped system by system.
    pub(super) was_stepped: bool,
    /// Increases whenever there is something new to see.
    pub(super) version: u64,
    /// Increases whenever another world is opened.
    pub(super) world_number: u32,
    /// The average duration of recent ticks, in seconds.
    pub(super) tick_seconds: f32,
    /// The entities whose decisions are logged for viewers, the most recently chosen last.
    watched: Vec<Entity>,
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) breakpoints: Vec<Breakpoint>,
    /// The breakpoint at which the world is stopped.
    pub(super) stop: Option<Stop>,
    pub(super) graphs: Vec<Graph>,
    pub(super) history: History,
    /// The number of times the world went back in time.
    pub(super) rewind_count: u32,
    /// The last number given out by `new_number`.
    number: u32,
    frames: Frames,
    pub(super) told: Told,
}

/// Values computed for an answer, which hold while the version stays the same.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) version: u64,
    /// The host's own entries.
    pub(super) described: Option<Map<String, Value>>,
    /// The state hash.
    pub(super) hash: Option<u64>,
}

/// Steps still to be taken.
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

/// The maximum number of entities whose decisions are logged for viewers.
const WATCHED_MAX: usize = 8;
/// The number of latest decisions kept for each.
const DECISIONS_MAX: usize = 12;

impl Session {
    /// The highest speed that can be requested, in ticks per second, apart from unlimited speed.
    pub const SPEED_MAX: f32 = 10_000.0;
    /// The lowest speed, in ticks per second, apart from a paused world.
    pub const SPEED_MIN: f32 = 0.1;
    /// The maximum number of steps in one request.
    pub const STEPS_MAX: u64 = 100_000;

    /// Creates a paused session of a host that has not run yet.
    #[must_use]
    pub fn new(host: &dyn Host) -> Self {
        let mut session = Self::at_once(false);
        session.take_speed_of(host);
        session
    }

    /// Sets the speed at which a second of the world takes a second.
    pub(super) fn take_speed_of(&mut self, host: &dyn Host) {
        self.speed = match host.view().scene().ticks_per_second {
            rate if rate > 0.0 => rate.max(Self::SPEED_MIN),
            _ => f32::INFINITY,
        };
    }

    /// Creates a session in which ticks run as fast as there is time for.
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

    /// Whether the world is running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Resumes or pauses the world. Pending steps are dropped.
    pub fn set_running(&mut self, is_running: bool) {
        self.is_running = is_running;
        self.stop = None;
        self.forget_goal();
        self.steps = Steps::default();
        self.due = 0.0;
        self.version += 1;
    }

    /// Returns a number that increases whenever there is something new to see.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The number of ticks that the world has run: while inspected, or as its schedule counts them if the
    /// program has a loop of its own.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Takes the requested steps, then runs the ticks that are due after `elapsed` at the current speed.
    /// No tick begins once `is_over` returns true. Ticks for which there is no time are dropped, so the
    /// world runs slower.
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

    /// Adds `elapsed` to the time, so that ticks become due.
    fn pass(&mut self, elapsed: Duration) {
        // At most a quarter of a second is due, or a world that starts slowly would never catch up. An
        // infinite speed times zero time is NaN, for which `min` returns the limit.
        let due = self.due + elapsed.as_secs_f32() * self.speed;
        self.due = due.min((self.speed / 4.0).max(1.0));
    }

    /// Whether a program that runs its own ticks may run one now.
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

    /// Notes that the program has run a tick by itself.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn note_tick(&mut self, host: &dyn Host) {
        self.end_of_tick(host);
    }

    /// Notes that a whole tick has ended.
    fn end_of_tick(&mut self, host: &dyn Host) {
        self.ticks += 1;
        self.version += 1;
        self.sample_graphs(host);
        let is_again = self.keep_tick(host);
        self.check_breakpoints(host, !is_again);
    }

    /// Returns a new number by which requests can refer to something.
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

    /// Returns the time until the next tick is due; `None` while the world is paused.
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

    /// Takes one step of a tick: a system or a sync point.
    pub(super) fn step(&mut self, host: &mut dyn Host) {
        self.version += 1;
        self.was_stepped = true;
        host.step();
        if !host.schedule().is_stepping() {
            self.end_of_tick(host);
        }
    }

    /// Finishes a tick that was begun by steps, since changes to the world are allowed only between two
    /// ticks.
    pub(super) fn end_tick(&mut self, host: &mut dyn Host) {
        if host.schedule().is_stepping() {
            self.tick(host);
        }
    }

    /// Switches to another of the host's worlds.
    pub(super) fn look_at(&mut self, host: &mut dyn Host, world: u8) {
        if host.view().focus() == world {
            return;
        }
        self.end_tick(host);
        self.forget_watched(host);
        host.view_mut().set_focus(world);
        self.version += 1;
        for agent in self.waited_for(world) {
            // A despawned agent makes no decisions.
            _ = self.watch(host, agent);
        }
        // What happened here while another world was in focus is not new.
        self.check_breakpoints(host, false);
    }

    /// Logs the decisions of an entity from now on. Only the last few entities chosen by viewers are
    /// watched.
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
            // The program itself watches the entity.
            None if log.is_watched(entity) => {}
            None => {
                // Entities that a breakpoint waits for stay watched.
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

    /// The entities that viewers have chosen recently.
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

    /// Resets the session for another world that the host has opened.
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

    /// Returns the current frame for a viewer who has chosen this entity, with or without the paths of
    /// all agents.
    pub fn frame(&mut self, host: &dyn Host, with_paths: bool, chosen: Option<Entity>) -> Frame {
        let mut frames = std::mem::take(&mut self.frames);
        frames.draw(self, host.view(), with_paths);
        self.frames = frames;
        self.frames.frame(host.view(), chosen)
    }

    /// Returns the agent nearest to a place and within reach, or the one with the requested index.
    /// Returns a thing if there is no agent.
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
