//! A turn-based roguelike: seed 001, to be played in a terminal.
//!
//! Doors open when an actor with hands bumps into them, barrels burst in real time inside a turn, and
//! foes that see the hero wake. All of it consists of turn actions, rules and one real-time hook of
//! [`formic_ai::turn`]; the foes decide by [`formic_ai::utility`].
//!
//! ```text
//!   keys, script or mind ──> command ──> deed ──> rules ──> commit ──> draw
//!                                          └── reactions <──┘
//! ```
//!
//! * `things`: the components;
//! * `level`: rooms, corridors, and what lies in them;
//! * `sight`: fields of view, and paths;
//! * `deed`: the turn actions;
//! * `rules`: what forbids them, and what follows from them;
//! * `fire`: arrows and flames, in real time;
//! * `mind`: the decisions of foes, and a hero for when no one plays;
//! * `command`: the commands of a player;
//! * `game`: the whole game, turn by turn;
//! * `screen`, `play`, `terminal`: a game in a terminal;
//! * `view`: what the hero sees and remembers, live and as a picture.

mod command;
mod deed;
mod fire;
mod game;
mod level;
mod mind;
#[cfg(not(target_family = "wasm"))]
mod play;
mod rules;
#[cfg(not(target_family = "wasm"))]
mod screen;
mod sight;
#[cfg(not(target_family = "wasm"))]
mod terminal;
#[cfg(test)]
mod tests;
mod things;
mod view;

use std::collections::VecDeque;
use std::path::PathBuf;

use clap::Args;
use formic_ecs::{StateHash, With};
use formic_jobs::Save;

use self::game::{Game, Player, Status};
use self::things::{Barrel, Foe, Health};
use crate::card::{Demo, own_arguments};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::files;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation};

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "rogue",
    about: "A roguelike in turns, with rules, undo and an answer to why; --play it in a terminal",
    agents_noun: "foes",
    agents_default: 12,
    ticks_default: 500,
    summary: &[
        ("turns", "{hero_turns} of the hero, {turns} of everybody, {undone} taken back"),
        ("left", "{foes_left} foes, {barrels_left} barrels"),
    ],
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

struct Rogue {
    game: Game,
    tells_why: bool,
}

fn simulation(setup: &Setup, arguments: &Arguments) -> Result<Box<dyn Simulation>, Failure> {
    let player = match &arguments.script {
        _ if arguments.play => Player::Terminal(VecDeque::new()),
        Some(path) => Player::Script(files::read_lines(path, str::parse)?.into()),
        None => Player::Nobody,
    };
    Ok(Box::new(Rogue { game: Game::new(setup, player)?, tells_why: arguments.why }))
}

impl Rogue {
    fn count<T: formic_ecs::Component>(&self) -> u64 {
        self.game.engine.world.query_ref_filtered::<(), With<T>>().count() as u64
    }

    fn health(&self) -> u32 {
        self.game.engine.world.get::<Health>(self.game.hero).map_or(0, |health| health.now)
    }
}

impl Simulation for Rogue {
    fn engine(&self) -> &Engine {
        &self.game.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.game.engine
    }

    fn is_over(&self) -> bool {
        match &self.game.play().progress.player {
            Player::Script(commands) | Player::Terminal(commands) => commands.is_empty(),
            // A run of a given number of ticks gets all of them, even if the hero is dead.
            Player::Nobody => false,
        }
    }

    fn is_for_terminal(&self) -> bool {
        matches!(self.game.play().progress.player, Player::Terminal(_))
    }

    #[cfg(not(target_family = "wasm"))]
    fn play(&mut self, note: &mut crate::simulation::Note<'_>) -> Result<(), Failure> {
        play::play(&mut self.game, note)
    }

    fn input(&mut self, input: &str) -> Result<(), String> {
        self.game.say(input.parse()?)
    }

    fn save(&self) -> Result<Save, String> {
        self.game.save()
    }

    fn load(&mut self, save: &Save) -> Result<String, String> {
        self.game.load(save).map(|it| it.to_string())
    }

    fn state_hash(&self) -> StateHash {
        self.game.state_hash()
    }

    fn counters(&self) -> Vec<Counter> {
        vec![
            ("hero_turns", self.game.play().progress.hero_turn_count),
            ("turns", self.game.play().turns.log().turns.len() as u64),
            ("undone", self.game.play().progress.undo_count),
            ("hero_health", self.health().into()),
            ("escaped", u64::from(self.game.status() == Status::Escaped)),
            ("foes_left", self.count::<Foe>()),
            ("barrels_left", self.count::<Barrel>()),
            ("cells_explored", self.game.explored_count() as u64),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.game.check()
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let hero = match self.game.status() {
            Status::Playing => {
                format!("{} health left, still looking for the stairs", self.health())
            }
            Status::Dead => String::from("dead"),
            Status::Escaped => format!("got away with {} health left", self.health()),
        };
        let traces = self.game.play().progress.why.iter().filter(|_| self.tells_why);
        let why = traces.flat_map(|trace| trace.lines()).map(|line| ("why", line.to_owned()));
        std::iter::once(("hero", hero)).chain(why).collect()
    }
}
