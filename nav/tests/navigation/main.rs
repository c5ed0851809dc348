//! Tests of grids, regions, paths and the agents that follow them.

mod allocations;
#[path = "../../../ecs-core/tests/support/allocator.rs"]
mod allocator;
mod any_angle;
mod asking;
mod background;
mod benchmarks;
#[path = "../support/cells.rs"]
mod cells;
mod classes;
mod corners;
mod crowds;
#[path = "../support/dijkstra.rs"]
mod dijkstra;
mod draw;
#[path = "../support/flood.rs"]
mod flood;
mod flow;
mod flows;
mod follow;
mod generate;
mod grid;
mod jump_points;
mod landmarks;
mod levels;
mod links;
mod load;
#[path = "../support/nav_data.rs"]
mod nav_data;
#[path = "../support/noise.rs"]
mod noise;
mod obstacles;
mod paths;
mod regions;
mod request;
#[path = "../support/rng.rs"]
mod rng;
mod save;
mod scenes;
mod sight;
#[path = "../support/sim.rs"]
mod sim;
mod systems;
#[path = "../support/visibility.rs"]
mod visibility;
mod walls;
mod wander;
