//! Cats that eat, sleep or play, whichever scores most: utility over action entities.
//!
//! The cat is that of seed 002, an article on decision making in an ECS: it plays, then it naps, again
//! and again, and when it is more hungry than tired it eats. It sleeps more than it eats.
//!
//! ```text
//!   think (scores) ──> identify ──> eat, sleep, play ──> keep_diary
//! ```
//!
//! * `needs`: the components of a cat;
//! * `mind`: the options, and their scores;
//! * `actions`: the actions;
//! * `diary`: what one of them did, for the plot;
//! * `plot`: the diary beside the curves, as SVG;
//! * `view`: all of them, by their needs.

mod actions;
mod diary;
mod mind;
mod needs;
mod plot;
#[cfg(test)]
mod tests;
mod view;

use std::path::PathBuf;

use clap::Args;
use formic_ai::action::{self, AgentSystem};
use formic_ai::prelude::*;
use formic_ai::utility::{Reasoner, UtilityAgent};
use formic_ecs::Codec;
use formic_jobs::SaveRules;

use self::diary::Diary;
use self::mind::OPTIONS;
use self::needs::{Hunger, Temper, TimeSpent, Tiredness};
use crate::card::{Demo, own_arguments};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::files;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation};

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "cats",
    about: "Cats eat, sleep or play, whichever scores most; --plot shows one of them and its curves",
    agents_noun: "cats",
    agents_default: 10_000,
    ticks_default: 2_400,
    summary: &[
        ("now", "eat {eating}, sleep {sleeping}, play {playing}"),
        ("minds", "changed {switches} times"),
    ],
    arguments: Arguments::augment_args,
    build: |setup, matches| simulation(setup, own_arguments(matches)?),
};

/// What only the cats have.
#[derive(Debug, Args)]
struct Arguments {
    /// Plot the needs and choices of the first cat over time, beside its curves, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// The duration of a tick, in seconds.
const TICK_SECONDS: f32 = 0.1;

struct CatWorld {
    engine: Engine,
    plot: Option<PathBuf>,
}

fn simulation(setup: &Setup, arguments: Arguments) -> Result<Box<dyn Simulation>, Failure> {
    if let Some(path) = &arguments.plot {
        files::prove_writable(path)?;
    }
    Ok(Box::new(CatWorld::new(setup, arguments.plot)?))
}

impl CatWorld {
    fn new(setup: &Setup, plot: Option<PathBuf>) -> Result<Self, Failure> {
        let mut world = World::new();
        let (actions, reasoner) = (mind::actions(), mind::reasoner());
        let first = spawn_cats(&mut world, setup, &actions, &reasoner);
        world.insert_resource(Diary::new(first, TICK_SECONDS));
        world.insert_resource(reasoner);
        let rules = SaveRules::of(&mut world);
        rules.rebuild::<Reasoner>().save(Codec::<Diary>::serde());
        let systems = action::add(Schedule::builder())
            .add(mind::think.as_mind())
            .add(actions::eat.as_action())
            .add(actions::sleep.as_action())
            .add(actions::play.as_action())
            .add(diary::keep_diary.after(action::advance));
        Ok(Self { engine: Engine::new(setup, world, systems)?, plot })
    }

    fn diary(&self) -> &Diary {
        self.engine.resource()
    }

    fn reasoner(&self) -> &Reasoner {
        self.engine.resource()
    }

    /// Returns the number of ticks that all cats together spent on each of their options.
    fn time_spent(&self) -> [u64; 3] {
        std::array::from_fn(|option| {
            self.engine.sum(&|spent: &TimeSpent| spent.ticks[option].into())
        })
    }

    /// Returns the number of cats doing each of their options.
    fn at_it(&self) -> [u64; 3] {
        std::array::from_fn(|option| {
            self.engine.sum(&|it: &UtilityAgent| u64::from(it.current() == Some(option)))
        })
    }
}

/// Spawns the cats, none of them very hungry or tired; returns the first.
fn spawn_cats(
    world: &mut World,
    setup: &Setup,
    actions: &ActionSet,
    reasoner: &Reasoner,
) -> Entity {
    let seed = RandomStream::new(setup.seed);
    let cats = world.spawn_batch((0..setup.agents).map(|cat| {
        let mut random = seed.fork(cat.into());
        (
            Hunger(random.between(0.0, 10.0)),
            Tiredness(random.between(0.0, 10.0)),
            Temper { appetite: random.between(0.8, 1.25), drowsiness: random.between(0.8, 1.25) },
            TimeSpent::default(),
        )
    }));
    let cats: Vec<Entity> = cats.into_iter().collect();
    for (cat, number) in cats.iter().zip(0..) {
        actions.attach(world, *cat).expect("the set has three actions, and the cat had none");
        UtilityAgent::drive(world, *cat, reasoner, number).expect("the cat was just given a body");
    }
    cats[0]
}

impl Simulation for CatWorld {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    fn counters(&self) -> Vec<Counter> {
        let ([eaten, slept, played], [eating, sleeping, playing]) =
            (self.time_spent(), self.at_it());
        vec![
            ("eat_ticks", eaten),
            ("sleep_ticks", slept),
            ("play_ticks", played),
            ("eating", eating),
            ("sleeping", sleeping),
            ("playing", playing),
            ("switches", self.engine.sum(&|it: &UtilityAgent| it.switches().into())),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.engine.check()?;
        let ticks = self.diary().ticks();
        let world = &self.engine.world;
        for (cat, Hunger(hunger), Tiredness(tiredness), spent) in
            world.query_ref::<(Entity, &Hunger, &Tiredness, &TimeSpent)>()
        {
            let needs = 0.0..=100.0;
            if !needs.contains(hunger) || !needs.contains(tiredness) {
                return Err(format!("cat {cat} has hunger {hunger} and tiredness {tiredness}"));
            }
            // A cat does exactly one thing in every tick.
            let busy: u64 = spent.ticks.iter().map(|&ticks| u64::from(ticks)).sum();
            if busy != ticks {
                return Err(format!("cat {cat} was busy for {busy} of {ticks} ticks"));
            }
        }
        Ok(())
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let plot = |path: &PathBuf| (path.clone(), plot::draw(self.diary(), self.reasoner()));
        self.plot.iter().map(plot).collect()
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let all: u64 = self.time_spent().iter().sum::<u64>().max(1);
        let shares = OPTIONS.iter().zip(self.time_spent());
        let shares = shares.map(|(name, ticks)| format!("{name} {} %", ticks * 100 / all));
        let time = shares.collect::<Vec<_>>().join(", ");
        let plot = self.plot.iter().map(|path| ("plot", path.display().to_string()));
        std::iter::once(("time", time)).chain(plot).collect()
    }
}
