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
use formic_ecs::{Codec, Entity, StateHash};
use formic_jobs::Save;

use self::game::{Game, Play, Player, Progress, Status};
use self::things::{Barrel, Foe, Health, Position, Solid};
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
        ("turns", "{hero_turns} of the hero, {turns} of all, {undone} taken back"),
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

fn simulation(setup: &Setup, arguments: &Arguments) -> Result<Box<dyn Simulation>, Failure> {
    let player = match &arguments.script {
        _ if arguments.play => Player::Terminal(VecDeque::new()),
        Some(path) => Player::Script(files::read_lines(path, str::parse)?.into()),
        None => Player::Nobody,
    };
    Ok(Box::new(Game::new(setup, player, arguments.why)?))
}

/// The names of the parts attached to a save.
const TURNS: &str = "turns";
const PLAY: &str = "play";

fn health(game: &Game) -> u32 {
    game.engine.world.get::<Health>(game.hero).map_or(0, |health| health.now)
}

impl Simulation for Game {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    fn is_over(&self) -> bool {
        match &self.play().progress.player {
            Player::Script(commands) | Player::Terminal(commands) => commands.is_empty(),
            // A run of a given number of ticks gets all of them, even if the hero is dead.
            Player::Nobody => false,
        }
    }

    fn is_for_terminal(&self) -> bool {
        matches!(self.play().progress.player, Player::Terminal(_))
    }

    #[cfg(not(target_family = "wasm"))]
    fn play_in_terminal(&mut self, note: &mut crate::simulation::Note<'_>) -> Result<(), Failure> {
        play::play(self, note)
    }

    fn input(&mut self, input: &str) -> Result<(), String> {
        self.say(input.parse()?)
    }

    /// Saves the world and the play, between two ticks.
    fn save(&self) -> Result<Save, String> {
        let mut save = self.engine.save().map_err(|error| error.to_string())?;
        let play = self.play();
        let turns = play.turns.save(Codec::serde()).map_err(|error| error.to_string())?;
        save.attach(TURNS, turns);
        let play = serde_json::to_vec(&play.progress);
        save.attach(PLAY, play.map_err(|error| format!("{PLAY}: {error}"))?);
        Ok(save)
    }

    /// Continues a saved game of the same level.
    fn load(&mut self, save: &Save) -> Result<String, String> {
        let part = |name| save.attached(name).ok_or_else(|| format!("it has no {name}"));
        let (turns, saved) = (part(TURNS)?, serde_json::from_slice::<Progress>(part(PLAY)?));
        let mut saved = saved.map_err(|error| format!("{PLAY}: {error}"))?;
        saved.explored.resize(self.play().progress.explored.len(), false);
        let report = self.engine.load(save).map_err(|error| error.to_string())?;
        let version = self.engine.world.resource_version::<Play>().unwrap_or(0);
        let mut play: Play = self.engine.world.remove_resource().ok_or("nothing is played")?;
        let loaded = play.turns.load(&self.engine.world, Codec::serde(), turns);
        play.progress = saved;
        // Restored without a change of version: the versions of the world are part of the game.
        self.engine.world.restore_resource(play, version);
        loaded.map_err(|error| error.to_string())?;
        Ok(report.to_string())
    }

    /// Returns a hash of everything that can be undone.
    fn state_hash(&self) -> StateHash {
        self.play().turns.state_hash(&self.engine.world)
    }

    fn counters(&self) -> Vec<Counter> {
        let explored = self.play().progress.explored.iter();
        vec![
            ("hero_turns", self.play().progress.hero_turn_count),
            ("turns", self.play().turns.log().turns.len() as u64),
            ("undone", self.play().progress.undo_count),
            ("hero_health", health(self).into()),
            ("escaped", u64::from(self.status() == Status::Escaped)),
            ("foes_left", self.engine.count::<Foe>()),
            ("barrels_left", self.engine.count::<Barrel>()),
            ("cells_explored", explored.filter(|seen| **seen).count() as u64),
        ]
    }

    /// Checks the invariants of the game.
    fn check(&self) -> Result<(), String> {
        self.engine.check()?;
        let world = &self.engine.world;
        self.play().turns.cells().check(world)?;
        let now = self.now();
        for (entity, position) in world.query_ref::<(Entity, &Position)>() {
            let cell = (position.x, position.y);
            if !self.level().is_open(cell) {
                return Err(format!("{} is inside the rock at {cell:?}", self.name(entity)));
            }
            if now.cell(cell).count::<Solid>() > 1 {
                return Err(format!("two solid things are at {cell:?}"));
            }
        }
        Ok(())
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let hero = match self.status() {
            Status::Playing => {
                format!("{} health left, still looking for the stairs", health(self))
            }
            Status::Dead => String::from("dead"),
            Status::Escaped => format!("got away with {} health left", health(self)),
        };
        let traces = self.play().progress.why.iter().filter(|_| self.tells_why);
        let why = traces.flat_map(|trace| trace.lines()).map(|line| ("why", line.to_owned()));
        std::iter::once(("hero", hero)).chain(why).collect()
    }
}
