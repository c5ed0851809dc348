//! Villagers who break blocks, haul stones, take tools, eat and flee: activities that sleep.
//!
//! The village is that of seed 003, an article on activities: anything that takes time announces its end,
//! so that waiting villagers need not poll. With `--polling` every villager polls in every tick and
//! behaves the same, and the summary shows how many polls were in vain.
//!
//! ```text
//!   prowl, survey ──> think (every 10th tick) ──> live ──> walk, dig ──> deliver
//! ```
//!
//! * `parts`: the components and events of the village;
//! * `steps`: the sub-activities;
//! * `chores`: the activities, which put them in order;
//! * `country`: the systems;
//! * `view`: the village from above.

mod chores;
mod country;
mod parts;
mod steps;
mod view;

use clap::Args;
use formic_ai::activity::{self, ActivitySlot, State};
use formic_ai::explain::DecisionLog;
use formic_ai::prelude::*;
use formic_ecs::{Codec, EventKind, StateHasher};
use formic_jobs::SaveRules;
use glam::Vec2;

use self::chores::{Chore, Kind};
use self::country::{Country, new_block, somewhere};
use self::parts::{Block, Books, Dig, Pickaxe, Position, Walk, Wolf};
use crate::card::{Demo, own_arguments};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation};

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "villagers",
    about: "Villagers mine, haul, eat and flee, and sleep until something happens",
    agents_noun: "villagers",
    agents_default: 10_000,
    ticks_default: 1_000,
    summary: &[
        (
            "stones",
            "{blocks_broken} broken out, {stones_hauled} hauled home, {stones_dropped} dropped",
        ),
        ("lives", "{pickaxes_taken} pickaxes taken, {meals} meals, {flights} flights from wolves"),
        (
            "now",
            "{villagers_fetching} fetch stones, {villagers_eating} eat, {villagers_fleeing} flee; \
             {villagers_blocked} of all sleep",
        ),
        (
            "asking",
            "{activity_ticks} ticks of activities in place of {activity_ticks_polled}, where \
             all ask in every tick",
        ),
    ],
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
/// The place of tools and bread.
const HOME: Vec2 = Vec2::new(60.0, 40.0);
/// The distance that counts as arrived, in metres.
const REACH: f32 = 0.5;
const WOLVES_MAX: u32 = 8;
/// The speed of the world on the page.
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
    // Names blocks that are spawned later, for the reasons of villagers.
    world.hooks().observe::<Block>(EventKind::Add, |world, event| {
        if let Ok(log) = world.resource_mut::<DecisionLog>() {
            log.call(event.entity, "Stone");
        }
    });
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

impl Villagers {
    /// Returns the sum of one statistic of all villagers.
    fn sum(&self, of: fn(&Books) -> u32) -> u64 {
        self.engine.sum(&|books| of(books).into())
    }

    fn country(&self) -> &Country {
        self.engine.resource()
    }

    fn count(&self, is_it: impl Fn(&ActivitySlot<Chore>) -> bool) -> u64 {
        self.engine.sum(&|it| is_it(it).into())
    }

    /// Returns a digest of the visible behaviour of the village, which does not depend on how villagers
    /// wait. It is a sum, because the order of rows does depend on it.
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
        let at = |kind: fn(Kind) -> bool| {
            self.count(|it| it.activity().is_some_and(|chore| kind(chore.kind)))
        };
        vec![
            ("blocks_broken", self.sum(|it| it.broken)),
            ("stones_hauled", self.sum(|it| it.hauled)),
            ("stones_dropped", self.sum(|it| it.dropped)),
            ("pickaxes_taken", self.sum(|it| it.equipped)),
            ("meals", self.sum(|it| it.meals)),
            ("flights", self.sum(|it| it.flights)),
            ("villagers_fetching", at(|kind| matches!(kind, Kind::Mine { .. }))),
            ("villagers_eating", at(|kind| kind == Kind::Eat)),
            ("villagers_fleeing", at(|kind| kind == Kind::Flee)),
            ("villagers_blocked", self.count(|it| it.state() == State::Blocked)),
            ("activity_ticks", self.country().asked),
            ("activity_ticks_polled", self.engine.count::<Books>() * self.engine.ticks()),
            ("behaviour_hash", self.behaviour()),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.engine.check()?;
        activity::check::<Chore>(&self.engine.world).map_err(|error| error.to_string())?;
        let (broken, hauled) = (self.sum(|it| it.broken), self.sum(|it| it.hauled));
        let dropped = self.sum(|it| it.dropped);
        let world = &self.engine.world;
        let carried = self.engine.sum(&|block: &Block| block.carrier().is_some().into());
        // A block broken out in the last tick is carried by a villager that has not noticed it yet.
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

    fn lines(&self) -> Vec<(&'static str, String)> {
        let first = self.engine.world.query_ref::<&ActivitySlot<Chore>>().first();
        vec![("the first", first.map_or(String::new(), ToString::to_string))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_finds_stones_that_are_gone_and_villagers_outside_of_the_country() {
        DEMO.assert_check_finds("blocks were broken", |world| {
            world.query::<&mut Books>().for_each(|books| books.broken += 1);
        });
        DEMO.assert_check_finds("outside of the country", |world| {
            world.query::<&mut Position>().for_each(|position| position.0.y = SIZE.y + 1.0);
        });
    }
}
