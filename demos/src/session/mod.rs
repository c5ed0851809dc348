//! A demo with viewers: what the page shows, and what it may ask for.
//!
//! A session knows neither sockets nor clocks. Its host has both and gives it requests and time: the
//! server in `serve`, and the page that runs a demo by itself. Both thereby show the same.
//!
//! ```text
//!   request ──> Session::answer ──> JSON           time ──> Session::live ──> ticks
//!                                                  what the viewer knows ──> Session::frame
//! ```

pub mod advice;
mod answer;
mod details;
mod frame;
mod report;
mod request;

use std::time::Duration;

use formic_ai::explain::DecisionLog;
use formic_ecs::Entity;

pub use crate::session::answer::Answer;
pub use crate::session::frame::{Frame, Known};
pub use crate::session::request::Request;

use crate::card::Demo;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::Simulation;
use crate::view::View;

/// One running demo and who looks at it.
pub struct Session {
    demos: &'static [&'static Demo],
    demo: &'static Demo,
    setup: Setup,
    simulation: Box<dyn Simulation>,
    is_running: bool,
    /// Ticks a second; infinite for as many as there is time for.
    speed: f32,
    /// Ticks that are due, and the part of one that is.
    due: f32,
    ticks: u64,
    selected: Option<Entity>,
    /// Goes up whenever there is something new to see.
    version: u64,
    /// Goes up whenever another world is opened.
    world_number: u32,
    /// How long ticks have taken lately, in seconds; an average.
    tick_seconds: f32,
    frames: frame::FrameCache,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("demo", &self.demo.name)
            .field("ticks", &self.ticks)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// The most ticks a second that can be asked for, but for as many as there is time for.
    pub const SPEED_MAX: f32 = 10_000.0;
    /// The least, but for standing still.
    pub const SPEED_MIN: f32 = 0.1;
    /// The most ticks that are stepped through by one request.
    pub const STEPS_MAX: u64 = 100_000;

    /// Opens a demo, one of those that the page can choose from. It is paused and at tick zero.
    ///
    /// # Errors
    /// Whatever the demo finds wrong with its numbers.
    pub fn open(
        demos: &'static [&'static Demo],
        demo: &'static Demo,
        setup: Setup,
    ) -> Result<Self, Failure> {
        let simulation = demo.open(&setup)?;
        let speed = natural_speed(simulation.as_ref());
        Ok(Self {
            demos,
            demo,
            setup,
            simulation,
            is_running: false,
            speed,
            due: 0.0,
            ticks: 0,
            selected: None,
            version: 1,
            world_number: 1,
            tick_seconds: 0.0,
            frames: frame::FrameCache::default(),
        })
    }

    /// Whether time goes by in the world.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Lets time go by in the world, or stops it.
    pub fn set_running(&mut self, is_running: bool) {
        self.is_running = is_running;
        self.due = 0.0;
        self.version += 1;
    }

    /// A number that goes up whenever there is something new to see.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many ticks the world has lived.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Lives as many ticks as `elapsed` asks for at the current speed, but none that would begin
    /// after `is_over`. Ticks that there is no time for are left out: the world goes slower then.
    pub fn live(&mut self, elapsed: Duration, mut is_over: impl FnMut() -> bool) {
        if !self.is_running {
            return;
        }
        // Of a quarter of a second at most, or a world that is slow at first would never catch up.
        // An infinite speed times no time at all is no number, and as good as what is most.
        let due = self.due + elapsed.as_secs_f32() * self.speed;
        self.due = due.min((self.speed / 4.0).max(1.0));
        while self.due >= 1.0 && !is_over() {
            self.due -= 1.0;
            self.tick();
        }
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
        let missing = (1.0 - self.due).max(0.0);
        self.is_running.then(|| Duration::from_secs_f32(missing / self.speed))
    }

    fn tick(&mut self) {
        self.simulation.tick();
        self.ticks += 1;
        self.version += 1;
    }

    /// One step of a tick: the turn of a system, or a sync point. A world that cannot be stepped
    /// through takes the whole tick.
    fn step(&mut self) {
        self.version += 1;
        match self.simulation.view_mut() {
            None => self.tick(),
            Some(view) => {
                view.step();
                if !view.schedule().is_stepping() {
                    self.ticks += 1;
                }
            }
        }
    }

    /// Whether a tick was begun by steps, and has not ended.
    fn is_mid_tick(&self) -> bool {
        self.view().is_some_and(|view| view.schedule().is_stepping())
    }

    /// Ends a tick that was begun by steps: what changes the world is for the time between two.
    fn end_tick(&mut self) {
        if self.is_mid_tick() {
            self.tick();
        }
    }

    /// Looks at another of the demo's worlds, with no agent selected in it yet.
    fn look_at(&mut self, world: u8) {
        if self.view().is_none_or(|view| view.focus() == world) {
            return;
        }
        self.end_tick();
        self.choose(None);
        if let Some(view) = self.simulation.view_mut() {
            view.set_focus(world);
        }
    }

    /// Selects an entity, and has its decisions written down from now on.
    fn choose(&mut self, entity: Option<Entity>) {
        self.version += 1;
        let before = std::mem::replace(&mut self.selected, entity);
        let Some(view) = self.simulation.view_mut() else { return };
        let own = entity.and_then(|entity| view.noun(entity));
        let noun = own.unwrap_or_else(|| singular(self.demo.agents_noun));
        let world = view.world_mut();
        if world.resource::<DecisionLog>().is_err() {
            world.insert_resource(DecisionLog::new());
        }
        let log = world.resource_mut::<DecisionLog>().expect("it was just put there");
        if let Some(before) = before {
            log.unwatch(before);
        }
        if let Some(entity) = entity {
            log.watch(entity, noun, DECISIONS_MAX);
        }
    }

    fn reopen(&mut self, demo: &'static Demo, setup: Setup) -> Result<(), Failure> {
        let simulation = demo.open(&setup)?;
        self.simulation = simulation;
        (self.demo, self.setup) = (demo, setup);
        self.speed = natural_speed(self.simulation.as_ref());
        (self.due, self.ticks, self.selected, self.tick_seconds) = (0.0, 0, None, 0.0);
        self.world_number += 1;
        self.version += 1;
        Ok(())
    }

    fn view(&self) -> Option<&dyn View> {
        self.simulation.view()
    }
}

/// How many of the last decisions of the selected agent are kept.
const DECISIONS_MAX: usize = 12;

/// One of those that a noun names: "imp" of "imps".
fn singular(noun: &'static str) -> &'static str {
    noun.strip_suffix('s').unwrap_or(noun)
}

/// The speed at which a second of the world takes a second.
fn natural_speed(simulation: &dyn Simulation) -> f32 {
    simulation.view().map_or(20.0, |view| view.scene().ticks_per_second)
}
