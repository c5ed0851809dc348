//! Villagers who break blocks, haul stones, take tools, eat and run: activities that sleep.
//!
//! It is the village of seed 003, an article on activities: what takes time says when it is over, so
//! that villagers that wait for it need not ask. With `--polling` every villager asks in every tick, does the
//! same, and the summary shows how often that was in vain.
//!
//! ```text
//!   prowl, survey ──> think (every 10th tick) ──> live ──> walk, dig ──> deliver
//! ```
//!
//! * `parts`: what the village is made of, and what happens in it;
//! * `steps`: the sub-activities;
//! * `chores`: the activities, which put them in order;
//! * `country`: the systems;
//! * `view`: all of it from above.

mod chores;
mod country;
mod parts;
mod steps;
mod view;

use clap::Args;
use formic_ai::activity::{self, ActivitySlot, State};
use formic_ai::prelude::*;
use formic_ecs::{Codec, StateHasher};
use formic_jobs::SaveRules;
use glam::Vec2;

use self::chores::{Chore, Kind};
use self::country::{Country, new_block, somewhere};
use self::parts::{Block, Books, Dig, Pickaxe, Position, Walk, Wolf};
use crate::card::{Demo, own_arguments};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation, Summary};
use crate::text::grouped;

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "villagers",
    about: "Villagers mine, haul, eat and flee, and sleep until something happens",
    agents_noun: "villagers",
    agents_default: 10_000,
    ticks_default: 1_000,
    arguments: Arguments::augment_args,
    build: |setup, matches| simulation(setup, &own_arguments(matches)?),
};

/// What only the villagers have.
#[derive(Debug, Args)]
struct Arguments {
    /// Have every activity ask in every tick whether it is done, in place of being told
    #[arg(long)]
    polling: bool,
}

/// The size of the country, in metres.
const SIZE: Vec2 = Vec2::new(120.0, 80.0);
/// Where tools and bread are.
const HOME: Vec2 = Vec2::new(60.0, 40.0);
/// How near is there, in metres.
const REACH: f32 = 0.5;
const WOLVES_MAX: u32 = 8;
/// How fast the page lets time go by.
const TICKS_PER_SECOND: f32 = 20.0;

struct Villagers {
    engine: Engine,
}

fn simulation(setup: &Setup, arguments: &Arguments) -> Result<Box<dyn Simulation>, Failure> {
    let mut world = World::new();
    let mut random = RandomStream::new(setup.seed);
    let block_count = (setup.agents as usize).clamp(40, 50_000);
    for _ in 0..block_count {
        world.spawn(new_block(&mut random));
    }
    for wolf in 0..WOLVES_MAX.min(1 + setup.agents / 100) {
        let mut own = random.fork(wolf.into());
        let (at, to) = (somewhere(&mut own), somewhere(&mut own));
        world.spawn((Wolf { to, random: own.state() }, Position(at)));
    }
    for number in 0..setup.agents {
        spawn_villager(&mut world, random.fork(u64::from(number) << 32));
    }
    world.insert_resource(Country {
        now: 0,
        random,
        is_polling: arguments.polling,
        block_count,
        blocks: Vec::new(),
        wolves: Vec::new(),
        asked: 0,
    });
    SaveRules::of(&mut world).save(Codec::<Country>::serde());
    let systems = Schedule::builder()
        .add(country::prowl)
        .add(country::survey.every(10))
        .add(country::think.every(10).staggered())
        .add((country::live, country::walk, country::dig).chain_ignoring_commands())
        .add(activity::deliver::<Chore>);
    Ok(Box::new(Villagers { engine: Engine::new(setup, world, systems)? }))
}

fn spawn_villager(world: &mut World, mut random: RandomStream) {
    let hungry_after = 600 + u32::try_from(random.below(1_200)).unwrap_or(0);
    let villager = world.spawn((
        Position(somewhere(&mut random)),
        Books { hungry_after, ..Books::default() },
        Walk { to: HOME, request: 0 },
        Dig { block: 0, ticks_left: 0, unused: 0 },
        Pickaxe,
        activity::idle::<Chore>(),
    ));
    for result in [
        world.set_enabled::<Walk>(villager, false),
        world.set_enabled::<Dig>(villager, false),
        world.set_enabled::<Pickaxe>(villager, false),
    ] {
        result.expect("the villager was just spawned");
    }
}

/// What all villagers together have done.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    broken: u64,
    hauled: u64,
    dropped: u64,
    equipped: u64,
    meals: u64,
    flights: u64,
}

impl Villagers {
    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for books in self.engine.world.query_ref::<&Books>() {
            totals.broken += u64::from(books.broken);
            totals.hauled += u64::from(books.hauled);
            totals.dropped += u64::from(books.dropped);
            totals.equipped += u64::from(books.equipped);
            totals.meals += u64::from(books.meals);
            totals.flights += u64::from(books.flights);
        }
        totals
    }

    /// How many ticks have passed.
    fn ticks(&self) -> u64 {
        let schedule = self.engine.schedule();
        schedule.tick() - u64::from(schedule.is_stepping())
    }

    fn country(&self) -> &Country {
        self.engine.world.resource().expect("inserted at the start, and nobody takes it out")
    }

    fn count(&self, is_it: impl Fn(&ActivitySlot<Chore>) -> bool) -> u64 {
        self.engine
            .world
            .query_ref::<&ActivitySlot<Chore>>()
            .into_iter()
            .filter(|it| is_it(it))
            .count() as u64
    }

    /// What can be seen of the village from outside, whichever way villagers wait: a sum, for the
    /// order of rows has to do with that.
    fn behaviour(&self) -> u64 {
        let world = &self.engine.world;
        let digest = |entity: Entity, position: &Position, numbers: &[u64]| {
            let mut hasher = StateHasher::new();
            hasher.write_u64(entity.to_bits());
            hasher.write(bytemuck::bytes_of(position));
            numbers.iter().for_each(|&number| hasher.write_u64(number));
            hasher.finish()
        };
        let villagers = world.query_ref::<(Entity, &Position, &Books)>().map(|(it, at, books)| {
            let numbers = [books.broken, books.hauled, books.meals, books.flights];
            digest(it, at, &numbers.map(u64::from))
        });
        let blocks = world
            .query_ref::<(Entity, &Position, &Block)>()
            .map(|(it, at, block)| digest(it, at, &[block.carrier().map_or(0, Entity::to_bits)]));
        villagers.chain(blocks).fold(0, u64::wrapping_add)
    }
}

impl Simulation for Villagers {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    fn counters(&self) -> Vec<Counter> {
        let totals = self.totals();
        vec![
            Counter::new("blocks_broken", totals.broken),
            Counter::new("stones_hauled", totals.hauled),
            Counter::new("stones_dropped", totals.dropped),
            Counter::new("pickaxes_taken", totals.equipped),
            Counter::new("meals", totals.meals),
            Counter::new("flights", totals.flights),
            Counter::new("villagers_blocked", self.count(|it| it.state() == State::Blocked)),
            Counter::new("activity_ticks", self.country().asked),
            Counter::new("behaviour_hash", self.behaviour()),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.engine.check()?;
        activity::check::<Chore>(&self.engine.world).map_err(|error| error.to_string())?;
        let Totals { broken, hauled, dropped, .. } = self.totals();
        let world = &self.engine.world;
        let carried = world.query_ref::<&Block>().into_iter();
        let carried = carried.filter(|block| block.carrier().is_some()).count() as u64;
        // What was broken out in the last tick is in the arms of a villager that has not seen it yet.
        if broken > hauled + dropped + carried {
            return Err(format!(
                "{broken} blocks were broken, {hauled} hauled, {dropped} dropped, {carried} carried"
            ));
        }
        for position in world.query_ref::<&Position>() {
            let place = position.0;
            if place.min_element() < 0.0 || place.x > SIZE.x || place.y > SIZE.y {
                return Err(format!("somebody is at {place}, outside of the country"));
            }
        }
        Ok(())
    }

    fn summary(&self) -> Summary {
        let Totals { broken, hauled, dropped, equipped, meals, flights } = self.totals();
        let asked = self.country().asked;
        let everybody = self.count(|_| true);
        let polled = everybody * self.ticks();
        let at = |kind: fn(Kind) -> bool| {
            grouped(self.count(|it| it.activity().is_some_and(|chore| kind(chore.kind))))
        };
        let blocked = self.count(|it| it.state() == State::Blocked);
        let share = |part: u64, whole: u64| part as f64 * 100.0 / (whole.max(1)) as f64;
        let first = self.engine.world.query_ref::<&ActivitySlot<Chore>>().first();
        let asking = if self.country().is_polling {
            format!("{} ticks of activities: everybody asks in every tick", grouped(asked))
        } else {
            format!(
                "{} ticks of activities in place of {}, {:.1} %",
                grouped(asked),
                grouped(polled),
                share(asked, polled)
            )
        };
        Summary::new()
            .line(
                "stones",
                format!(
                    "{} broken out, {} hauled home, {} dropped",
                    grouped(broken),
                    grouped(hauled),
                    grouped(dropped)
                ),
            )
            .line(
                "lives",
                format!(
                    "{} pickaxes taken, {} meals, {} flights from wolves",
                    grouped(equipped),
                    grouped(meals),
                    grouped(flights)
                ),
            )
            .line(
                "now",
                format!(
                    "{} fetch stones, {} eat, {} flee; {:.1} % sleep",
                    at(|kind| matches!(kind, Kind::Mine { .. })),
                    at(|kind| kind == Kind::Eat),
                    at(|kind| kind == Kind::Flee),
                    share(blocked, everybody)
                ),
            )
            .line("asking", asking)
            .line("the first", first.map_or(String::new(), ToString::to_string))
    }
}
