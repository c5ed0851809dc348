//! A harbour, in which the kind of an agent determines where it can go.
//!
//! Boats cross the water and goblins do not. Mud costs goblins half of what it costs a troll. A troll is
//! two cells wide, so it fits through no door. One door opens only to agents with the key. Two floors are
//! on one map, joined by stairs, a ramp and a drop. Carts roll and stand in the way. All of that is
//! `nav`: classes, links and obstacles. The harbour adds a map and errands.
//!
//! ```text
//!   haul (carts) ──> send (errands) ──> the systems of nav ──> walkers::watch
//! ```
//!
//! * `map`: the map, and the classes that can cross it;
//! * `traffic`: carts, and the errands of all others;
//! * `view`: the view, and why a troll makes a detour.

mod map;
#[cfg(test)]
mod tests;
mod traffic;
mod view;

use formic_ecs::{RandomStream, StateHash, World};
use formic_jobs::{IntoSystem, Schedule};
use formic_nav::{Avoid, Position, SearchBudget, SearchReport, Terrain, systems};

use self::map::{KINDS, Kind};
use self::traffic::{CARTS, Errand};
use crate::card::{Demo, no_arguments};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation};
use crate::walkers::{self, Watch};

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "harbour",
    about: "Boats, goblins, and trolls too wide for doors, on two floors; carts stand in the way",
    agents_noun: "agents",
    agents_default: 60,
    ticks_default: 4_000,
    summary: &[
        (
            "agents",
            "{goblins} goblins, {porters} porters with the key, {boats} boats, {trolls} trolls; \
             {upstairs} of them upstairs",
        ),
        (
            "errands",
            "{arrivals} done, the longest in {longest_errand_ticks} ticks; {paths_unreachable} \
             found no path",
        ),
        ("carts", "broke {paths_broken} paths and pushed agents out {pushed_out} times"),
        (
            "search",
            "{cells_expanded} cells expanded, at most {cells_expanded_max} in a tick; \
             {interruptions} searches went on in the next",
        ),
    ],
    arguments: no_arguments,
    build: |setup, _| Ok(Box::new(Harbour::new(setup)?)),
};

/// The search budget of a tick: so small that paths across the harbour, which take more than half of it,
/// are searched off the frame.
const BUDGET: SearchBudget = SearchBudget { expansions: 300 };
/// The kinds of agents, assigned in turn.
const TURNS: [Kind; 10] = {
    use Kind::{Boat, Goblin, Porter, Troll};
    [Goblin, Boat, Troll, Porter, Goblin, Boat, Goblin, Goblin, Boat, Goblin]
};

struct Harbour {
    engine: Engine,
}

impl Harbour {
    fn new(setup: &Setup) -> Result<Self, Failure> {
        let mut world = World::new();
        let terrain = map::terrain();
        let seed = RandomStream::new(setup.seed);
        for (number, &kind) in (0..setup.agents).zip(TURNS.iter().cycle()) {
            let mut random = seed.fork(number.into());
            let ground = terrain.for_class(kind.class()).expect("every kind has a class");
            let place = map::somewhere(ground, &mut random).expect("every kind has its ground");
            let (slowest, fastest) = kind.speeds();
            let speed = random.between(slowest, fastest);
            world.spawn((
                (systems::agent(place.centre(), speed), kind.class(), Avoid::default()),
                (Errand::new(random), Watch::new(place.centre())),
            ));
        }
        world.spawn_batch(CARTS.map(|[from, to]| traffic::cart(from, to)));
        systems::insert_resources(&mut world, terrain);
        world.insert_resource(BUDGET);
        let systems =
            Schedule::builder().add(traffic::haul).add(traffic::send.after(traffic::haul));
        let systems = systems::add(systems).add(walkers::watch.after(systems::search));
        Ok(Self { engine: Engine::new(setup, world, systems)? })
    }

    fn terrain(&self) -> &Terrain {
        self.engine.resource()
    }

    /// Returns the number of agents of each kind.
    fn counts(&self) -> [u64; KINDS.len()] {
        KINDS.map(|kind| self.engine.sum(&|&class| u64::from(kind.class() == class)))
    }

    fn upstairs(&self) -> u64 {
        let agents = self.engine.world.query_ref::<(&Position, &Errand)>();
        agents.into_iter().filter(|(position, _)| map::is_upstairs(position.0)).count() as u64
    }

    /// Returns the maximum number of ticks that one errand took.
    fn longest(&self) -> u64 {
        let errands = self.engine.world.query_ref::<&Errand>();
        errands.map(Errand::ticks_max).max().unwrap_or(0).into()
    }
}

impl Simulation for Harbour {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    fn state_hash(&self) -> StateHash {
        let mut terrain = Vec::new();
        // Writing a terrain never fails.
        _ = Terrain::CODEC.write(self.terrain(), &mut terrain);
        self.engine.world.state_hash().and(|hasher| hasher.write(&terrain))
    }

    fn counters(&self) -> Vec<Counter> {
        let [goblins, porters, boats, trolls] = self.counts();
        let mut counters = walkers::counters(&self.engine);
        counters.extend([
            ("goblins", goblins),
            ("porters", porters),
            ("boats", boats),
            ("trolls", trolls),
            ("upstairs", self.upstairs()),
            ("longest_errand_ticks", self.longest()),
        ]);
        counters
    }

    fn check(&self) -> Result<(), String> {
        let report = self.engine.world.resource::<SearchReport>().copied().unwrap_or_default();
        let (most, budget) = (report.expansions_max, BUDGET.expansions);
        if most > budget {
            return Err(format!("the searches of a tick expanded {most} cells of {budget}"));
        }
        walkers::check(&self.engine.world)?;
        self.engine.check()
    }
}
