//! Crowds: agents that give way to each other, and agents that follow flow fields.

#[path = "../support/cells.rs"]
mod cells;
#[path = "../support/dijkstra.rs"]
mod dijkstra;
#[path = "../support/noise.rs"]
mod noise;
#[path = "../support/rng.rs"]
mod rng;
#[path = "../support/sim.rs"]
mod sim;

mod flows;
mod scenes;
mod walls;
