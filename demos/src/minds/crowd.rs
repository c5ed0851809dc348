//! A world of foragers with one kind of mind, and the books over it.

use std::sync::Arc;
use std::time::Duration;

use formic_ai::action;
use formic_ai::prelude::*;
use formic_jobs::{LoadReport, Save, SaveError, SaveRules, ScheduleBuilder, Step};
use serde_json::json;

use super::actions;
use super::forager::{
    Basket, Books, EAT, GATHER, HIDE, Needs, SLEEP, TICK_SECONDS, bite, body, live,
};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::Counter;

/// A kind of mind.
pub(super) struct Mind {
    pub(super) name: &'static str,
    /// The names of its counters.
    pub(super) keys: [&'static str; 6],
    /// Gives it to foragers that have none, with all that it needs in the world.
    pub(super) drive: fn(&mut World, &[Entity]),
    /// Everything that happens in a tick.
    pub(super) systems: fn(ScheduleBuilder) -> ScheduleBuilder,
    /// Which of the four things a forager does, by its place.
    pub(super) deed: fn(&World, Entity) -> Option<usize>,
}

/// What a forager does that has a body: it runs one action at a time.
pub(super) fn deed_of_body(world: &World, forager: Entity) -> Option<usize> {
    let body = world.get::<Body>(forager).ok()?;
    (0..4).find(|&place| body.is_running(place))
}

/// The names of the counters of a mind.
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

/// A tick of foragers with bodies, of which `think` decides what they do.
pub(super) fn with_mind<Marker>(
    schedule: ScheduleBuilder,
    think: impl IntoSystem<Marker> + Copy + 'static,
) -> ScheduleBuilder {
    let schedule = schedule
        .add(live.before(thinking_starts))
        .add(thinking_starts.as_mind())
        .add(think.into_config().after(thinking_starts).as_mind())
        .add(thinking_stops.after(think).as_mind());
    actions::add(action::add(schedule)).add(bite.after(action::advance))
}

/// How long minds have thought by the pool's clock; no part of the world's state.
pub(super) struct Thinking {
    pool: Arc<Pool>,
    since: Duration,
    elapsed: Duration,
}

pub(super) fn thinking_starts(mut thinking: ResMut<'_, Thinking>) {
    thinking.since = thinking.pool.now();
}

pub(super) fn thinking_stops(mut thinking: ResMut<'_, Thinking>) {
    let took = thinking.pool.now().saturating_sub(thinking.since);
    thinking.elapsed += took;
}

/// How many foragers do each of the four things, and nothing, at one moment.
pub(super) type Shares = [u32; 5];

/// A world of foragers with one kind of mind.
pub(super) struct Crowd {
    mind: &'static Mind,
    pub(super) engine: Engine,
    pool: Arc<Pool>,
    size: u32,
    ticks: u64,
    elapsed: Duration,
    ticks_per_sample: u64,
    /// What the crowd was at, from time to time.
    samples: Vec<Shares>,
    sampled: [u64; 4],
}

impl Crowd {
    /// As many moments as a picture has room for.
    const SAMPLES: u64 = 960;

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
        let (since, elapsed) = (Duration::ZERO, Duration::ZERO);
        world.insert_resource(Thinking { pool: Arc::clone(&pool), since, elapsed });
        SaveRules::of(&mut world).rebuild::<Thinking>();
        (mind.drive)(&mut world, &crowd);
        let engine = Engine::on(Arc::clone(&pool), world, (mind.systems)(Schedule::builder()))?;
        Ok(Self {
            mind,
            engine,
            pool,
            size,
            ticks: 0,
            elapsed: Duration::ZERO,
            ticks_per_sample: setup.ticks.div_ceil(Self::SAMPLES).max(1),
            samples: Vec::new(),
            sampled: [0; 4],
        })
    }

    pub(super) fn tick(&mut self) {
        let start = self.pool.now();
        self.engine.tick();
        self.elapsed += self.pool.now().saturating_sub(start);
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

    /// The world, and beside it what was sampled for the picture.
    pub(super) fn save(&self) -> Result<Save, SaveError> {
        let mut save = self.engine.save()?;
        let sampled = json!([self.ticks, self.ticks_per_sample, self.sampled, self.samples]);
        save.attach("crowd", sampled.to_string());
        Ok(save)
    }

    pub(super) fn load(&mut self, save: &Save) -> Result<LoadReport, String> {
        let sampled = serde_json::from_slice(save.attached("crowd").unwrap_or_default());
        let sampled = sampled.map_err(|error| format!("what was sampled: {error}"))?;
        let report = self.engine.load(save).map_err(|error| error.to_string())?;
        (self.ticks, self.ticks_per_sample, self.sampled, self.samples) = sampled;
        self.ticks_per_sample = self.ticks_per_sample.max(1);
        Ok(report)
    }

    fn end_tick(&mut self) {
        self.ticks += 1;
        if self.ticks % self.ticks_per_sample == 0 {
            self.sample();
        }
    }

    /// What was done since the last time, on the average.
    fn sample(&mut self) {
        let sums = self.tally().ticks;
        let per_tick = |sum: u64| u32::try_from(sum / self.ticks_per_sample).unwrap_or(u32::MAX);
        let mut shares = [0; 5];
        for (deed, share) in shares.iter_mut().take(4).enumerate() {
            *share = per_tick(sums[deed] - self.sampled[deed]);
        }
        shares[4] = self.size.saturating_sub(shares[..4].iter().sum());
        self.sampled = sums;
        self.samples.push(shares);
        // Who runs for long gets columns of twice the ticks, not more of them.
        if self.samples.len() as u64 == 2 * Self::SAMPLES {
            self.samples = self.samples.chunks(2).map(|pair| self.merged(pair)).collect();
            self.ticks_per_sample *= 2;
        }
    }

    /// What was done in two samples, on the average.
    fn merged(&self, pair: &[Shares]) -> Shares {
        let mut shares = std::array::from_fn(|deed| (pair[0][deed] + pair[1][deed]) / 2);
        shares[4] = self.size.saturating_sub(shares[..4].iter().sum());
        shares
    }

    pub(super) fn samples(&self) -> &[Shares] {
        &self.samples
    }

    /// How many ticks the samples are of.
    pub(super) fn sampled_ticks(&self) -> u64 {
        self.samples.len() as u64 * self.ticks_per_sample
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    pub(super) fn deed(&self, forager: Entity) -> Option<usize> {
        (self.mind.deed)(&self.engine.world, forager)
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

    fn thinking(&self) -> Duration {
        self.engine.world.resource::<Thinking>().map_or(Duration::ZERO, |it| it.elapsed)
    }

    fn agent_ticks(&self) -> u64 {
        u64::from(self.size) * self.ticks
    }

    /// The number of ticks in which no forager did anything. In the middle of a tick some have done more than
    /// there were ticks.
    fn idle_ticks(&self, tally: &Tally) -> u64 {
        self.agent_ticks().saturating_sub(tally.ticks.iter().sum())
    }

    pub(super) fn counters(&self) -> Vec<Counter> {
        let tally = self.tally();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let values = [
            self.size.into(),
            ns(self.elapsed),
            ns(self.thinking()),
            tally.meals,
            tally.bitten,
            self.idle_ticks(&tally),
        ];
        self.mind.keys.into_iter().zip(values).collect()
    }

    /// The row of the table; its columns are those of [`Tally::HEAD`].
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
            match self.thinking() {
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
            if busy > self.ticks {
                return wrong(format!("was busy for {busy} of {} ticks", self.ticks));
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

/// What a whole crowd has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) ticks: [u64; 4],
    pub(super) meals: u64,
    pub(super) bitten: u64,
    /// The sum over all, as it is now.
    hunger: f64,
}

impl Tally {
    /// The head of the table. Costs are in nanoseconds per agent and tick, the things to do in
    /// percent of the time, hunger as it is at the end, meals and bitten seconds per minute.
    pub(super) const HEAD: &str =
        "ns/tick thinking gather% eat% sleep% hide% idle% hunger meals/min bitten s/min";

    fn add(&mut self, needs: &Needs, books: &Books) {
        self.ticks.iter_mut().zip(books.ticks).for_each(|(sum, ticks)| *sum += u64::from(ticks));
        self.meals += u64::from(books.meals);
        self.bitten += u64::from(books.bitten);
        self.hunger += f64::from(needs.hunger);
    }
}
