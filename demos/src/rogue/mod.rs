//! A turn-based roguelike: seed 001, to be played in a terminal.
//!
//! Doors open when somebody with hands bumps into them, barrels burst in real time inside a turn,
//! and whoever sees the hero wakes. All of it are turn actions, rules and one real-time hook of
//! [`ai::turn`]; the foes decide by [`ai::utility`].
//!
//! ```text
//!   keys, script or mind ──> command ──> deed ──> rules ──> commit ──> draw
//!                                          └── reactions <──┘
//! ```
//!
//! * `things`: what everything is made of;
//! * `level`: rooms, corridors, and what lies in them;
//! * `sight`: fields of view, and ways;
//! * `deed`: what can be done;
//! * `rules`: what speaks against it, and what follows;
//! * `fire`: arrows and flames, in real time;
//! * `mind`: what foes want, and a hero for when nobody plays;
//! * `command`: what a player says;
//! * `game`: the whole, turn by turn;
//! * `screen`, `play`: the terminal;
//! * `picture`: a drawing of the level.

mod command;
mod deed;
mod fire;
mod game;
mod level;
mod mind;
mod picture;
#[cfg(not(target_family = "wasm"))]
mod play;
mod rules;
#[cfg(not(target_family = "wasm"))]
mod screen;
mod sight;
#[cfg(test)]
mod tests;
mod things;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use ai::turn::read_script;
use clap::Args;
use ecs_core::World;

use self::command::Command;
use self::game::{Game, Status, unwatched};
use self::things::{Barrel, Foe, Health};
use crate::failure::Failure;
use crate::raster::Raster;
use crate::setup::{Demo, Setup, own_arguments};
use crate::simulation::{Counter, Simulation, Summary};
use crate::text::grouped;

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "rogue",
    about: "A roguelike in turns, with rules, undo and an answer to why; --play it in a terminal",
    agents_noun: "foes",
    agents_default: 12,
    ticks_default: 500,
    arguments: Arguments::augment_args,
    build: |setup, matches| simulation(setup, &own_arguments(matches)?),
};

/// What only the roguelike has.
#[derive(Debug, Args)]
struct Arguments {
    /// Play it in this terminal
    #[arg(long, conflicts_with = "script")]
    play: bool,
    /// Play the commands of a file: go east, shoot ne, close w, rest, undo; one in each line
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Tell why everything happened since the hero's last decision
    #[arg(long)]
    why: bool,
}

/// Who tells the hero what to do.
enum Player {
    /// A mind of its own.
    Nobody,
    /// The rest of a script.
    Script(VecDeque<Command>),
    /// Somebody at the keyboard.
    Terminal,
}

struct Rogue {
    game: Game,
    player: Player,
    tells_why: bool,
}

fn simulation(setup: &Setup, arguments: &Arguments) -> Result<Box<dyn Simulation>, Failure> {
    let player = match &arguments.script {
        _ if arguments.play => Player::Terminal,
        Some(path) => Player::Script(read(path)?.into()),
        None => Player::Nobody,
    };
    let game = Game::new(setup.agents, setup.seed);
    Ok(Box::new(Rogue { game, player, tells_why: arguments.why }))
}

fn read(path: &Path) -> Result<Vec<Command>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::on_file("read", path, error))?;
    read_script(&text).map_err(|error| Failure::on_file("play", path, error))
}

impl Rogue {
    fn count<T: ecs_core::Component>(&self) -> u64 {
        self.game.world.query_ref_filtered::<(), ecs_core::With<T>>().count() as u64
    }

    fn health(&self) -> u32 {
        self.game.world.get::<Health>(self.game.hero).map_or(0, |health| health.now)
    }
}

impl Simulation for Rogue {
    /// A command to the hero, and everybody's turns until the next.
    fn tick(&mut self) {
        let command = match &mut self.player {
            _ if self.game.status() != Status::Playing => None,
            Player::Nobody => Some(mind::hero(&self.game.now(), self.game.hero)),
            Player::Script(commands) => commands.pop_front(),
            Player::Terminal => None,
        };
        if let Some(command) = command {
            self.game.command(command, &mut unwatched);
        }
    }

    fn is_over(&self) -> bool {
        match &self.player {
            // A script may take the hero's death back.
            Player::Script(commands) => commands.is_empty(),
            // Who asks for so many ticks gets them, also with a hero who is dead.
            Player::Nobody => false,
            Player::Terminal => true,
        }
    }

    fn is_for_terminal(&self) -> bool {
        matches!(self.player, Player::Terminal)
    }

    #[cfg(not(target_family = "wasm"))]
    fn play(&mut self) -> Result<(), Failure> {
        play::play(&mut self.game)
    }

    fn worlds(&self) -> Vec<(&str, &World)> {
        vec![("", &self.game.world)]
    }

    fn worlds_mut(&mut self) -> Vec<&mut World> {
        vec![&mut self.game.world]
    }

    fn state_hash(&self) -> u64 {
        self.game.turns.state_hash(&self.game.world)
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            Counter::new("hero_turns", self.game.hero_turn_count),
            Counter::new("turns", self.game.turns.log().turns.len() as u64),
            Counter::new("undone", self.game.undo_count),
            Counter::new("hero_health", self.health().into()),
            Counter::new("escaped", u64::from(self.game.status() == Status::Escaped)),
            Counter::new("foes_left", self.count::<Foe>()),
            Counter::new("barrels_left", self.count::<Barrel>()),
            Counter::new("cells_explored", self.game.explored_count() as u64),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.game.check()
    }

    fn raster(&self) -> Raster {
        picture::draw(&self.game)
    }

    fn summary(&self) -> Summary {
        let hero = match self.game.status() {
            Status::Playing => {
                format!("{} health left, still looking for the stairs", self.health())
            }
            Status::Dead => String::from("dead"),
            Status::Escaped => format!("got away with {} health left", self.health()),
        };
        let Game { hero_turn_count, undo_count, turns, .. } = &self.game;
        let turns = turns.log().turns.len() as u64;
        let summary = Summary::new()
            .line("hero", hero)
            .line(
                "turns",
                format!(
                    "{} of the hero, {} of everybody, {} taken back",
                    grouped(*hero_turn_count),
                    grouped(turns),
                    grouped(*undo_count)
                ),
            )
            .line(
                "left",
                format!(
                    "{} foes, {} barrels",
                    grouped(self.count::<Foe>()),
                    grouped(self.count::<Barrel>())
                ),
            );
        if !self.tells_why {
            return summary;
        }
        let lines = self.game.why.iter().flat_map(|trace| trace.lines());
        lines.fold(summary, |summary, line| summary.line("why", line))
    }
}
