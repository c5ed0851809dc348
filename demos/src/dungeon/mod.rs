//! Imps that wander, walk and dig in a dungeon of tiles.
//!
//! The pattern is that of seed 004, a dungeon builder on Unity's ECS: agents that request paths, a search
//! that answers them, and a map whose regions change while all agents walk. All of that is in the crate
//! `nav`; this module adds the game.
//!
//! ```text
//!   work (edits) ──> push_out ──> wander ──> follow ──> search ──> walkers::watch, note_paths
//! ```
//!
//! * `works`: digs tunnels and bricks up corridors, by a script that follows from the seed;
//! * `world`: puts it together;
//! * `simulation` and `view`: answer the shell, draw, and let a page watch and cheat;
//! * `cheat` and `script`: what a player may do from outside, and when.

mod cheat;
mod script;
mod simulation;
mod view;
mod works;
mod world;

use std::path::PathBuf;

use clap::Args;
use formic_nav::Grid;

use crate::card::{Demo, own_arguments};
use crate::dungeon::script::Timed;
use crate::dungeon::world::Dungeon;
use crate::failure::Failure;
use crate::files;
use crate::setup::Setup;
use crate::simulation::Simulation;

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "dungeon",
    about: "Imps find paths through a dungeon whose walls are dug and filled in as they walk",
    agents_noun: "imps",
    agents_default: 200,
    ticks_default: 10_000,
    summary: &[
        (
            "map",
            "{cells_open} open cells ({cells_open_at_start} at the start), in {regions} regions",
        ),
        (
            "works",
            "{tiles_dug} tiles dug, {tiles_filled} filled in; regions merged {regions_merged} and \
             split {regions_split} times",
        ),
        (
            "paths",
            "{paths_found} found, {paths_partial} as near as it gets, {paths_unreachable} \
             unreachable, {paths_broken} broken by an edit on the way",
        ),
        (
            "imps",
            "{arrivals} walks reached their goal, new walls pushed imps out {pushed_out} times",
        ),
        ("search", "{cells_expanded} cells expanded, {cells_expanded_max} in the busiest tick"),
        ("cheats", "{cheats}, of which {cheats_refused} changed nothing"),
    ],
    arguments: Arguments::augment_args,
    build: |setup, matches| simulation(setup, &own_arguments(matches)?),
};

/// What only the dungeon has.
#[derive(Debug, Args)]
struct Arguments {
    /// Live in this MovingAI map instead of our own
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Do something before a tick: "TICK: dig X Y", fill, spawn N X Y, or send X Y for all imps
    #[arg(long, value_name = "TICK:CHEAT")]
    cheat: Vec<Timed>,
    /// The same from a file, a line each; # begins a comment
    #[arg(long, value_name = "FILE")]
    cheats: Option<PathBuf>,
}

/// The map that is used if no other is named.
const OWN_MAP: &str = include_str!("../../maps/dungeon.map");

/// Builds the dungeon and its imps. If the map cannot be read or is malformed, the error names its file
/// and line.
fn simulation(setup: &Setup, arguments: &Arguments) -> Result<Box<dyn Simulation>, Failure> {
    let grid = match &arguments.map {
        Some(path) => Grid::parse(&path.to_string_lossy(), &files::read(path)?),
        None => Grid::parse("our own map", OWN_MAP.as_bytes()),
    };
    let grid = grid.map_err(|error| Failure::Usage(error.to_string()))?;
    if let Some(path) = arguments.map.as_ref().filter(|_| grid.open_count() == 0) {
        let path = path.display();
        return Err(Failure::Usage(format!("{path}: the map has no passable tile")));
    }
    let script = script::read(arguments.cheats.as_deref(), &arguments.cheat, &grid)?;
    Ok(Box::new(Dungeon::new(setup, grid, script)?))
}
