//! Workers that carry gold from the mines to the castle: agent actions as entities.
//!
//! Each worker has five actions, which are entities of their own: walk to a mine, play an
//! animation there, take five gold, walk to the castle, leave five gold; and then from the first
//! again. At any time one of the five is executing and the others are asleep.

mod components;
mod picture;
mod systems;
mod view;

use ai::action::{self, ActionSystem};
use ai::prelude::*;
use ecs_core::Bundle;
use ecs_jobs::RunReport;
use glam::Vec2;

use self::components::{
    AddItem, Animator, Books, Clip, Inventory, Item, MoveTo, PlayAnimation, Playing, Position,
    RemoveItem, Speed, Standing,
};
use self::systems::{Places, TimeStep};
use crate::failure::Failure;
use crate::raster::Raster;
use crate::setup::{Demo, Setup, no_arguments};
use crate::simulation::{Counter, Simulation, Summary};
use crate::text;
use crate::view::View;

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "miners",
    about: "Workers mine gold by action entities, most of them asleep most of the time",
    agents_noun: "workers",
    agents_default: 10_000,
    ticks_default: 1_000,
    arguments: no_arguments,
    build: |setup, _| simulation(setup),
};

/// The size of the country, in metres.
const SIZE: Vec2 = Vec2::new(96.0, 64.0);
/// By its number, zero.
const CASTLE: Vec2 = Vec2::new(18.0, 32.0);
/// By their numbers, from one on.
const MINES: [Vec2; 3] = [Vec2::new(80.0, 12.0), Vec2::new(86.0, 34.0), Vec2::new(70.0, 54.0)];
/// How far from the middle of a place a worker may stand, in metres.
const CROWD_RADIUS: f32 = 5.0;
/// How much gold a worker takes in one go.
const LOAD: u32 = 5;
const TICK_SECONDS: f32 = 0.1;

struct Miners {
    world: World,
    schedule: Schedule,
    pool: Pool,
    failed_commands: usize,
    ticks: u64,
}

/// Builds the mines, the castle and the workers.
fn simulation(setup: &Setup) -> Result<Box<dyn Simulation>, Failure> {
    let pool = setup.pool()?;
    let mut world = World::new();
    world.insert_resource(TimeStep { seconds: TICK_SECONDS });
    world.insert_resource(Places(std::iter::once(CASTLE).chain(MINES).collect()));
    spawn_workers(&mut world, setup);
    let schedule = action::sequence(Schedule::builder(), |schedule| {
        schedule
            .add(systems::move_to.in_sequence())
            .add(systems::play_animation.in_sequence())
            .add(systems::add_item.in_sequence())
            .add(systems::remove_item.in_sequence())
    })
    .add(systems::animate.after(systems::play_animation))
    .build(&mut world)
    .map_err(|error| Failure::Check(error.to_string()))?;
    Ok(Box::new(Miners { world, schedule, pool, failed_commands: 0, ticks: 0 }))
}

/// One plan for each mine; workers are dealt out to the mines in turn.
fn spawn_workers(world: &mut World, setup: &Setup) {
    let plans: Vec<Sequence> = (1..).take(MINES.len()).map(plan).collect();
    let seed = RandomStream::new(setup.seed);
    let workers = world.spawn_batch((0..setup.agents).map(|worker| body(seed.fork(worker.into()))));
    for (worker, plan) in workers.into_iter().zip(plans.iter().cycle()) {
        world.set_enabled::<Playing>(worker, false).expect("the worker was just spawned");
        plan.attach(world, worker).expect("the plan has five actions, and the worker had none");
    }
}

fn body(mut random: RandomStream) -> impl Bundle {
    let angle = random.between(0.0, std::f32::consts::TAU);
    // The square root spreads them evenly over the disc.
    let standing = Vec2::from_angle(angle) * CROWD_RADIUS * random.next_f32().sqrt();
    (
        Position(CASTLE + standing),
        Speed(random.between(5.0, 10.0)),
        Standing(standing),
        Inventory::EMPTY,
        Books { mined: 0, delivered: 0 },
        Animator::IDLE,
        Playing,
    )
}

fn plan(mine: u32) -> Sequence {
    Sequence::new()
        .then(MoveTo::place(mine))
        .then(PlayAnimation { clip: Clip::Mine, request: 0 })
        .then(AddItem { item: Item::GOLD, count: LOAD })
        .then(MoveTo::place(0))
        .then(RemoveItem { item: Item::GOLD, count: LOAD })
}

/// What all workers together have done.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    mined: u64,
    carried: u64,
    delivered: u64,
}

impl Miners {
    /// Notes what a whole tick had to tell.
    fn count(&mut self, report: &RunReport) {
        self.failed_commands += report.failures.len();
        self.ticks += 1;
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.world.query_ref::<(&Inventory, &Books)>().for_each(|(inventory, books)| {
            totals.mined += u64::from(books.mined);
            totals.carried += u64::from(inventory.count(Item::GOLD));
            totals.delivered += u64::from(books.delivered);
        });
        totals
    }

    fn executing(&self) -> usize {
        self.world.query_ref_filtered::<Entity, With<Executing>>().count()
    }

    fn check_gold(&self) -> Result<(), String> {
        for (worker, inventory, books) in self.world.query_ref::<(Entity, &Inventory, &Books)>() {
            let carried = inventory.count(Item::GOLD);
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
    fn tick(&mut self) {
        let report = self.schedule.run(&mut self.world, &self.pool);
        self.count(&report);
    }

    fn view(&self) -> Option<&dyn View> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn View> {
        Some(self)
    }

    fn state_hash(&self) -> u64 {
        self.world.state_hash()
    }

    fn counters(&self) -> Vec<Counter> {
        let Totals { mined, carried, delivered } = self.totals();
        vec![
            Counter::new("gold_delivered", delivered),
            Counter::new("gold_mined", mined),
            Counter::new("gold_carried", carried),
            Counter::new("actions", self.world.query_ref::<&Action>().count() as u64),
            Counter::new("actions_executing", self.executing() as u64),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.world.check().map_err(|error| error.to_string())?;
        self.check_gold()?;
        let workers = self.world.query_ref::<&SequenceAgent>().count();
        // What has ended sleeps until its worker moves on, in the next tick.
        let most = if self.ticks == 0 { 0 } else { workers };
        if self.executing() > most {
            return Err(format!("{} actions of {workers} workers are executing", self.executing()));
        }
        if self.failed_commands > 0 {
            return Err(format!("{} commands did not apply", self.failed_commands));
        }
        Ok(())
    }

    fn raster(&self) -> Raster {
        picture::draw(&self.world)
    }

    fn summary(&self) -> Summary {
        let Totals { mined, carried, delivered } = self.totals();
        let actions = self.world.query_ref::<&Action>().count();
        Summary::new()
            .line(
                "gold",
                format!(
                    "{} mined = {} delivered + {} on the way",
                    text::grouped(mined),
                    text::grouped(delivered),
                    text::grouped(carried)
                ),
            )
            .line(
                "actions",
                format!(
                    "{} entities, {} of them executing, the others asleep",
                    text::grouped(actions as u64),
                    text::grouped(self.executing() as u64)
                ),
            )
    }
}
