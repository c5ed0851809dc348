//! A war in space: ships, turrets and bullets by the hundred thousand.
//!
//! The pattern is that of seed 002, an article on game AI for an online strategy game with very many
//! units. Each kind of unit has a suitable decision engine: ships follow a hierarchical state machine,
//! turrets a behaviour tree, admirals plan. All of them act through action entities, and the same action
//! fires a gun whatever unit holds it. Bullets make no decisions and live for seconds: they are spawned
//! and despawned by command buffers, from all threads.
//!
//! ```text
//!   scan ──> aim ──> report ──> think (ships, turrets, admirals) ──> identify
//!     ──> cruise, close, fire (spawns bullets), retreat, cool, repair, command ──> advance
//!     ──> fly ──> race (despawns bullets) ──> sink ──> launch
//! ```
//!
//! * `parts`: the components of units;
//! * `sky`: the layout of the squadrons;
//! * `radar`: which units are near, and the target of each unit;
//! * `ships`, `turrets`, `admirals`: their decisions;
//! * `flight`, `guns`, `command`: the actions;
//! * `bullets`: their flight and hits;
//! * `dockyard`: building units, at the start and later;
//! * `tally`: the score of the war, and its invariants;
//! * `view`: the sky from above.

mod admirals;
mod bullets;
mod command;
mod dockyard;
mod flight;
mod guns;
mod parts;
mod radar;
mod ships;
mod sky;
mod tally;
#[cfg(test)]
mod tests;
mod turrets;
mod view;

use std::sync::Arc;

use formic_ai::action::{self, AgentSystem};
use formic_ai::prelude::*;
use formic_ecs::Codec;
use formic_jobs::SaveRules;

use self::admirals::Admirals;
use self::dockyard::Dockyard;
use self::parts::Toll;
use self::radar::Radar;
use self::ships::Ships;
use self::sky::Sky;
use self::turrets::Turrets;
use crate::card::{Demo, no_arguments};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation};

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "fleet",
    about: "Ships by state machines, turrets by trees, admirals by plans; bullets come and go",
    agents_noun: "units",
    agents_default: 20_000,
    ticks_default: 600,
    summary: &[
        (
            "units",
            "{ships} ships, {turrets} turrets, {admirals} admirals, with {actions} action entities",
        ),
        (
            "bullets",
            "{bullets_fired} fired, {hits} have hit, {bullets_missed} missed, {bullets} in flight",
        ),
        (
            "losses",
            "{ships_lost} ships, {turrets_lost} turrets; {ships_built} ships and {turrets_built} \
             turrets built",
        ),
        ("admirals", "{plans} plans begun, {plan_failures} steps failed"),
    ],
    arguments: no_arguments,
    build: |setup, _| Ok(Box::new(Fleet::new(setup)?)),
};

struct Fleet {
    engine: Engine,
}

impl Fleet {
    fn new(setup: &Setup) -> Result<Self, Failure> {
        let mut world = World::new();
        let sky = Sky::new(setup.agents);
        world.insert_resource(Radar::new(sky.size()));
        let yard = Dockyard::new();
        yard.insert_minds(&mut world);
        yard.found_squadrons(&mut world, &sky, setup.seed);
        // The units of the beginning do not count.
        world.insert_resource(Toll::default());
        world.insert_resource(Arc::new(yard));
        world.insert_resource(sky);
        SaveRules::of(&mut world)
            .save_part(Codec::serde(), Radar::to_save, Radar::load)
            .save(Codec::<Toll>::serde())
            .rebuild::<Arc<Dockyard>>()
            .rebuild::<Sky>()
            .rebuild::<Ships>()
            .rebuild::<Turrets>()
            .rebuild::<Admirals>();
        let before = Schedule::builder()
            .add(radar::scan.every(radar::SCAN_TICKS))
            .add(radar::aim.after(radar::scan))
            .add(admirals::report.after(radar::aim));
        let systems = action::add(before)
            .add(ships::think.as_mind())
            .add(turrets::think.as_mind())
            .add(admirals::think.as_mind())
            .add(flight::cruise.as_action())
            .add(flight::close.as_action())
            .add(flight::retreat.as_action())
            .add(guns::fire.as_action())
            .add(guns::cool.as_action())
            .add(guns::repair.as_action())
            .add(command::command.as_action())
            .add(flight::fly.after(action::advance))
            .add(bullets::race.after(guns::fire).after(flight::fly))
            .add(bullets::sink.after(bullets::race))
            .add(dockyard::launch.after(bullets::sink));
        Ok(Self { engine: Engine::new(setup, world, systems)? })
    }
}

impl Simulation for Fleet {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    fn counters(&self) -> Vec<Counter> {
        tally::counters(&self.engine)
    }

    fn check(&self) -> Result<(), String> {
        self.engine.check()?;
        tally::check(&self.engine)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        vec![("ships now", tally::states_line(&self.engine.world))]
    }
}
