//! Workers that carry gold from the mines to the castle: agent actions as entities.
//!
//! Each worker has five actions, which are entities of their own: walk to a mine, play an animation
//! there, take five gold, walk to the castle, leave five gold; then again from the first. At any time one
//! of the five is executing and the others are asleep. The five are not written here: they come from a
//! data file, `plans/miner.ron`, and `--plan` reads another one.

mod components;
mod systems;
mod view;

use std::path::{Path, PathBuf};

use clap::Args;
use formic_ai::action::{self, AgentSystem, LoadError};
use formic_ai::prelude::*;
use formic_ecs::Bundle;
use glam::Vec2;

use self::components::{
    AddItem, Animator, Books, Inventory, Item, MoveTo, PlayAnimation, Playing, Position,
    RemoveItem, Speed, Standing, Workplace,
};
use crate::card::{Demo, own_arguments};
use crate::direction::direction;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::files;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation};

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "miners",
    about: "Workers mine gold by action entities, most of them asleep most of the time",
    agents_noun: "workers",
    agents_default: 10_000,
    ticks_default: 1_000,
    summary: &[
        ("gold", "{gold_mined} mined = {gold_delivered} delivered + {gold_carried} on the way"),
        ("actions", "{actions} entities, {actions_executing} of them executing, the others asleep"),
    ],
    arguments: Arguments::augment_args,
    build: |setup, matches| simulation(setup, &own_arguments(matches)?),
};

/// The size of the country, in metres.
const SIZE: Vec2 = Vec2::new(96.0, 64.0);
const CASTLE: Vec2 = Vec2::new(18.0, 32.0);
const MINES: [Vec2; 3] = [Vec2::new(80.0, 12.0), Vec2::new(86.0, 34.0), Vec2::new(70.0, 54.0)];
/// The maximum distance of a worker from the middle of a place, in metres.
const CROWD_RADIUS: f32 = 5.0;
const TICK_SECONDS: f32 = 0.1;

/// What only the miners have.
#[derive(Debug, Args)]
struct Arguments {
    /// Work by this plan, a RON file, instead of our own (demos/plans/miner.ron)
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
}

/// The plan that is used if no other is named.
const OWN_PLAN: &str = include_str!("../../plans/miner.ron");

struct Miners {
    engine: Engine,
}

/// Builds the mines, the castle and the workers.
fn simulation(setup: &Setup, arguments: &Arguments) -> Result<Box<dyn Simulation>, Failure> {
    let work = work_plan(arguments.plan.as_deref())?;
    let mut world = World::new();
    spawn_workers(&mut world, setup, &work);
    let systems = action::add(Schedule::builder())
        .add(systems::move_to.as_action())
        .add(systems::play_animation.as_action())
        .add(systems::add_item.as_action())
        .add(systems::remove_item.as_action())
        .add(systems::animate.after(systems::play_animation));
    Ok(Box::new(Miners { engine: Engine::new(setup, world, systems)? }))
}

/// Reads the plan; errors name file, line, column and field.
fn work_plan(path: Option<&Path>) -> Result<Sequence, Failure> {
    let kinds = Kinds::new()
        .exclusive_kind::<MoveTo>("MoveTo")
        .exclusive_kind::<PlayAnimation>("PlayAnimation")
        .kind::<AddItem>("AddItem")
        .kind::<RemoveItem>("RemoveItem");
    let (name, text) = match path {
        Some(path) => (path.display().to_string(), files::read_text(path)?),
        None => ("our own plan".into(), OWN_PLAN.into()),
    };
    Sequence::parse(&text, &kinds).map_err(|error| {
        Failure::Usage(match error {
            LoadError::Text { line, column, problem, .. } => {
                format!("{name}:{line}:{column}: {problem}")
            }
            other => format!("{name}: {other}"),
        })
    })
}

/// Spawns workers, assigned to the mines in turn.
fn spawn_workers(world: &mut World, setup: &Setup, work: &Sequence) {
    let seed = RandomStream::new(setup.seed);
    let workers = world.spawn_batch((0..setup.agents).map(|worker| {
        let mine = worker % u32::try_from(MINES.len()).unwrap_or(1);
        body(seed.fork(worker.into()), mine)
    }));
    for worker in workers {
        world.set_enabled::<Playing>(worker, false).expect("the worker was just spawned");
        work.attach(world, worker).expect("the plan was checked, and the worker had none");
    }
}

fn body(mut random: RandomStream, mine: u32) -> impl Bundle {
    let angle = random.between(0.0, std::f32::consts::TAU);
    // The square root spreads them evenly over the disc.
    let standing = direction(angle) * CROWD_RADIUS * random.next_f32().sqrt();
    (
        Position(CASTLE + standing),
        Speed(random.between(5.0, 10.0)),
        Standing(standing),
        Workplace(mine),
        Inventory::EMPTY,
        Books { mined: 0, delivered: 0 },
        Animator::IDLE,
        Playing,
    )
}

impl Miners {
    fn executing(&self) -> usize {
        self.engine.world.query_ref_filtered::<Entity, With<Executing>>().count()
    }

    /// Returns the number of executing actions that are not parts of other actions.
    fn executing_alone(&self) -> usize {
        let executing = self.engine.world.query_ref_filtered::<&Action, With<Executing>>();
        executing.into_iter().filter(|action| action.owner() == action.agent()).count()
    }

    fn check_gold(&self) -> Result<(), String> {
        for (worker, inventory, books) in
            self.engine.world.query_ref::<(Entity, &Inventory, &Books)>()
        {
            let carried = u64::from(inventory.count(Item::GOLD));
            if books.mined != books.delivered + carried {
                let Books { mined, delivered } = books;
                return Err(format!(
                    "worker {worker} mined {mined}, delivered {delivered} and carries {carried}"
                ));
            }
        }
        Ok(())
    }
}

impl Simulation for Miners {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    fn counters(&self) -> Vec<Counter> {
        let engine = &self.engine;
        vec![
            ("gold_delivered", engine.sum(&|books: &Books| books.delivered)),
            ("gold_mined", engine.sum(&|books: &Books| books.mined)),
            ("gold_carried", engine.sum(&|it: &Inventory| it.count(Item::GOLD).into())),
            ("actions", engine.count::<Action>()),
            ("actions_executing", self.executing() as u64),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.engine.check()?;
        self.check_gold()?;
        let workers = self.engine.world.query_ref::<&SequenceAgent>().count();
        // An ended action sleeps until its worker moves on, in the next tick.
        let most = if self.engine.schedule().tick() == 0 { 0 } else { workers };
        if self.executing_alone() > most {
            return Err(format!("{workers} workers do {} things at once", self.executing_alone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_finds_gold_out_of_nothing_and_workers_in_two_places() {
        DEMO.assert_check_finds("and carries 0", |world| {
            world.query::<&mut Books>().for_each(|books| books.mined += 1);
        });
        DEMO.assert_check_finds("things at once", |world| {
            let actions: Vec<Entity> =
                world.query_filtered::<Entity, With<Action>>().into_iter().collect();
            for action in actions {
                world.set_enabled::<Executing>(action, true).expect("it can");
            }
        });
    }
}
