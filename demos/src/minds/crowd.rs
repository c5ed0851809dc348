//! A world of foragers with one kind of decision engine, and its statistics.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use formic_ai::action;
use formic_ai::prelude::*;
use formic_ecs::Codec;
use formic_jobs::{SaveRules, ScheduleBuilder, Step};
use serde::{Deserialize, Serialize};

use super::actions;
use super::forager::{
    Basket, Books, Doing, EAT, GATHER, HIDE, Needs, SLEEP, TICK_SECONDS, bite, body, live,
};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::Counter;

/// A kind of decision engine.
pub(super) struct Mind {
    pub(super) name: &'static str,
    /// The names of its counters.
    pub(super) keys: [&'static str; 6],
    /// Attaches it to foragers that have none, and inserts what it needs into the world.
    pub(super) drive: fn(&mut World, &[Entity]),
    /// The last part of the name of the system that only thinks, if there is one.
    pub(super) thinks: Option<&'static str>,
    /// Adds all systems of a tick.
    pub(super) systems: fn(ScheduleBuilder) -> ScheduleBuilder,
}

/// The names of the counters of a decision engine.
macro_rules! keys {
    ($mind:literal) => {
        [
            concat!($mind, "_agents"),
            concat!($mind, "_ns"),
            concat!($mind, "_thinking_ns"),
            concat!($mind, "_meals"),
            concat!($mind, "_bitten_ticks"),
            concat!($mind, "_idle_ticks"),
        ]
    };
}
pub(super) use keys;

/// Adds a tick of foragers with bodies, whose actions `think` decides.
pub(super) fn with_mind<Marker>(
    schedule: ScheduleBuilder,
    think: impl IntoSystem<Marker> + Copy + 'static,
) -> ScheduleBuilder {
    let schedule = schedule.add(live.before(think)).add(think.as_mind());
    actions::add(action::add(schedule)).add(bite.after(action::advance))
}

/// Gives bodies to foragers, and a decision engine to each by `drive`, which also gets the index of the
/// forager.
pub(super) fn drive<E: std::fmt::Debug>(
    world: &mut World,
    crowd: &[Entity],
    actions: &ActionSet,
    drive: impl Fn(&mut World, Entity, u64) -> Result<(), E>,
) {
    for (&forager, number) in crowd.iter().zip(0..) {
        actions.attach(world, forager).expect("the set has four actions");
        drive(world, forager, number).expect("the forager was just given a body");
    }
}

/// The number of foragers that do each of the four actions, and nothing, at one moment.
pub(super) type Shares = [u32; 5];

/// The activities of a crowd over time, for the picture. A resource.
#[derive(Serialize, Deserialize)]
struct Samples {
    ticks_per_sample: NonZeroU64,
    shares: Vec<Shares>,
    /// The number of ticks spent on each of the four actions up to the last sample.
    sums: [u64; 4],
}

impl Samples {
    /// The number of samples for which a picture has room.
    const ROOM: u64 = 960;

    /// Records the average activities since the last sample.
    fn note(&mut self, sums: [u64; 4], size: u32) {
        let per_tick = |sum: u64| u32::try_from(sum / self.ticks_per_sample).unwrap_or(u32::MAX);
        let shares = |deed: usize| sums.get(deed).map_or(0, |sum| per_tick(sum - self.sums[deed]));
        self.shares.push(with_idle(std::array::from_fn(shares), size));
        self.sums = sums;
        // In a long run, columns stand for twice the ticks instead of becoming more.
        if self.shares.len() as u64 == 2 * Self::ROOM {
            let merged = |pair: &[Shares]| {
                let mean = |deed: usize| (pair[0][deed] + pair[1][deed]) / 2;
                with_idle(std::array::from_fn(mean), size)
            };
            self.shares = self.shares.chunks(2).map(merged).collect();
            self.ticks_per_sample =
                self.ticks_per_sample.saturating_add(self.ticks_per_sample.get());
        }
    }
}

/// Returns the shares with the rest of the crowd counted as idle.
fn with_idle(mut shares: Shares, size: u32) -> Shares {
    shares[4] = size.saturating_sub(shares[..4].iter().sum());
    shares
}

/// A world of foragers with one kind of decision engine.
pub(super) struct Crowd {
    mind: &'static Mind,
    pub(super) engine: Engine,
    size: u32,
    /// The wall-clock time spent on ticks and on thinking; not part of its state.
    elapsed: Duration,
    thinking: Duration,
}

impl Crowd {
    pub(super) fn new(
        mind: &'static Mind,
        size: u32,
        setup: &Setup,
        pool: Arc<Pool>,
    ) -> Result<Self, Failure> {
        let mut world = World::new();
        let seed = RandomStream::new(setup.seed);
        let crowd = world.spawn_batch((0..size).map(|forager| body(seed.fork(forager.into()))));
        let crowd: Vec<Entity> = crowd.into_iter().collect();
        (mind.drive)(&mut world, &crowd);
        let ticks_per_sample = NonZeroU64::new(setup.ticks.div_ceil(Samples::ROOM));
        let ticks_per_sample = ticks_per_sample.unwrap_or(NonZeroU64::MIN);
        world.insert_resource(Samples { ticks_per_sample, shares: Vec::new(), sums: [0; 4] });
        SaveRules::of(&mut world).save(Codec::<Samples>::serde());
        let engine = Engine::on(pool, world, (mind.systems)(Schedule::builder()))?;
        let (elapsed, thinking) = (Duration::ZERO, Duration::ZERO);
        Ok(Self { mind, engine, size, elapsed, thinking })
    }

    pub(super) fn tick(&mut self) {
        self.engine.tick();
        let schedule = self.engine.schedule();
        self.elapsed += schedule.last_run_took();
        let names = schedule.system_names();
        for span in schedule.last_run() {
            if span.system.is_some_and(|system| {
                self.mind.thinks.is_some_and(|name| names[system].ends_with(name))
            }) {
                self.thinking += Duration::from_nanos(span.to_ns - span.from_ns);
            }
        }
        self.end_tick();
    }

    /// Takes a step of a tick.
    pub(super) fn step(&mut self) -> Step {
        let step = self.engine.step();
        if !self.engine.schedule().is_stepping() {
            self.end_tick();
        }
        step
    }

    fn end_tick(&mut self) {
        if self.engine.ticks() % self.engine.resource::<Samples>().ticks_per_sample == 0 {
            let sums = self.tally().ticks;
            self.engine.resource_mut::<Samples>().note(sums, self.size);
        }
    }

    pub(super) fn samples(&self) -> &[Shares] {
        &self.engine.resource::<Samples>().shares
    }

    /// Returns the number of ticks that the samples cover.
    pub(super) fn sampled_ticks(&self) -> u64 {
        let samples: &Samples = self.engine.resource();
        samples.shares.len() as u64 * samples.ticks_per_sample.get()
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Returns the index of the action that a forager is doing. With a body it runs one action at a time.
    pub(super) fn deed(&self, forager: Entity) -> Option<usize> {
        let world = &self.engine.world;
        match world.get::<Doing>(forager) {
            Ok(doing) => Some(doing.deed as usize),
            Err(_) => world.get::<Body>(forager).ok()?.running().next(),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.mind.name
    }

    pub(super) fn world(&self) -> &World {
        &self.engine.world
    }

    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (needs, books) in self.engine.world.query_ref::<(&Needs, &Books)>() {
            tally.add(needs, books);
        }
        tally
    }

    fn agent_ticks(&self) -> u64 {
        u64::from(self.size) * self.engine.ticks()
    }

    /// Returns the number of agent ticks in which a forager did nothing. In the middle of a tick, some
    /// foragers have done more than there were ticks.
    fn idle_ticks(&self, tally: &Tally) -> u64 {
        self.agent_ticks().saturating_sub(tally.ticks.iter().sum())
    }

    pub(super) fn counters(&self) -> Vec<Counter> {
        let tally = self.tally();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let values = [
            self.size.into(),
            ns(self.elapsed),
            ns(self.thinking),
            tally.meals,
            tally.bitten,
            self.idle_ticks(&tally),
        ];
        self.mind.keys.into_iter().zip(values).collect()
    }

    /// Returns the row of the table; its columns are those of [`Tally::HEAD`].
    pub(super) fn row(&self) -> String {
        let agent_ticks = (self.agent_ticks() as f64).max(1.0);
        let cost = |time: Duration| time.as_nanos() as f64 / agent_ticks;
        let tally = self.tally();
        let percent = |ticks: u64| 100.0 * ticks as f64 / agent_ticks;
        let idle = self.idle_ticks(&tally);
        let minutes = agent_ticks * f64::from(TICK_SECONDS) / 60.0;
        format!(
            "{:>7.1} {:>8} {:>7.0} {:>5.0} {:>6.0} {:>5.0} {:>5.0} {:>8.0} {:>9.1} {:>11.1}",
            cost(self.elapsed),
            match self.thinking {
                Duration::ZERO => "-".into(),
                time => format!("{:.1}", cost(time)),
            },
            percent(tally.ticks[GATHER]),
            percent(tally.ticks[EAT]),
            percent(tally.ticks[SLEEP]),
            percent(tally.ticks[HIDE]),
            percent(idle),
            tally.hunger / f64::from(self.size),
            tally.meals as f64 / minutes,
            tally.bitten as f64 * f64::from(TICK_SECONDS) / minutes,
        )
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.engine.check().map_err(|what| format!("{}: {what}", self.name()))?;
        let foragers = self.engine.world.query_ref::<(Entity, &Needs, &Basket, &Books)>();
        for (forager, needs, basket, books) in foragers {
            let wrong = |what: String| Err(format!("{}: forager {forager} {what}", self.name()));
            if books.gathered != books.meals + basket.0 || basket.0 > Basket::FULL {
                let Books { gathered, meals, .. } = books;
                return wrong(format!("found {gathered} berries, ate {meals}, has {}", basket.0));
            }
            let range = 0.0..=100.0;
            if !range.contains(&needs.hunger) || !range.contains(&needs.tiredness) {
                return wrong(format!("has {needs:?}"));
            }
            let busy: u64 = books.ticks.iter().map(|&ticks| u64::from(ticks)).sum();
            if busy > self.engine.ticks() {
                return wrong(format!("was busy for {busy} of {} ticks", self.engine.ticks()));
            }
        }
        for (forager, body) in self.engine.world.query_ref::<(Entity, &Body)>() {
            if body.running().count() > 1 {
                return Err(format!("{}: forager {forager} does two things at once", self.name()));
            }
        }
        Ok(())
    }
}

/// The totals of a whole crowd.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) ticks: [u64; 4],
    pub(super) meals: u64,
    pub(super) bitten: u64,
    /// The current sum over all foragers.
    hunger: f64,
}

impl Tally {
    /// The head of the table. Costs are in nanoseconds per agent and tick, actions in percent of the
    /// time, hunger at the end, and meals and bitten seconds per minute.
    pub(super) const HEAD: &str =
        "ns/tick thinking gather% eat% sleep% hide% idle% hunger meals/min bitten s/min";

    fn add(&mut self, needs: &Needs, books: &Books) {
        self.ticks.iter_mut().zip(books.ticks).for_each(|(sum, ticks)| *sum += u64::from(ticks));
        self.meals += u64::from(books.meals);
        self.bitten += u64::from(books.bitten);
        self.hunger += f64::from(needs.hunger);
    }
}
