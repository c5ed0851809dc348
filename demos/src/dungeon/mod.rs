//! Imps that wander, walk and dig in a dungeon of tiles.

use std::path::Path;

use crate::failure::Failure;
use crate::setup::{Demo, Setup};
use crate::simulation::Simulation;

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "dungeon",
    about: "Imps find paths through a dungeon whose walls are dug and filled in as they walk",
    agents_noun: "imps",
    agents_default: 200,
    ticks_default: 2_000,
};

/// Builds the dungeon of `map`, or our own if there is none, and its imps.
///
/// # Errors
/// The map cannot be read or is malformed; the text names file and line.
pub fn simulation(setup: &Setup, map: Option<&Path>) -> Result<Box<dyn Simulation>, Failure> {
    let name = map.map_or("our own map".into(), Path::to_string_lossy);
    Err(Failure::Usage(format!("the dungeon cannot hold {} imps in {name} yet", setup.agents)))
}
