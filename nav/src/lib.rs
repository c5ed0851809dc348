//! Grid navigation: exact regions under edits, and paths of exact least cost.
//!
//! Begin with [`Terrain`]: a [`Grid`] of cells that are open or solid and have weights, a [`MoveRule`],
//! and the connected [`Regions`]. Digging merges regions and filling splits them, by work local to the
//! edit, so whether a goal can be reached is known at any time without a search. [`PathScratch`] finds
//! the path. If weights change from cell to cell, it does so several times as fast after
//! [`Terrain::place_landmarks`].
//!
//! ```
//! use formic_nav::prelude::*;
//!
//! let map = b"type octile\nheight 3\nwidth 5\nmap\n..@..\n..@..\n..@..\n";
//! let mut terrain = Terrain::new(Grid::parse("cells.map", map)?, MoveRule::default());
//! let (west, east) = (Cell::new(0, 0), Cell::new(4, 2));
//! assert!(!terrain.reachable(west, east));
//!
//! terrain.dig(Cell::new(2, 1));
//! assert!(terrain.reachable(west, east));
//!
//! let mut path = Path::new();
//! match PathScratch::new().find(&terrain, west, east, &mut path) {
//!     PathOutcome::Found { cost } => println!("{cost} cells long: {:?}", path.cells()),
//!     PathOutcome::Unreachable(why) => println!("no path: {why}"),
//!     PathOutcome::Partial { .. } => unreachable!("only with `partial`"),
//!     PathOutcome::OutOfBudget => unreachable!("no budget was set"),
//! }
//! # Ok::<(), formic_nav::LoadError>(())
//! ```
//!
//! # One goal, many agents
//!
//! A [`FlowField`] gives the exact distance and the next step from any cell to the nearest of some goals.
//! It is computed as far as agents ask, and an edit recomputes only the cells whose path it touches. As
//! agents in a world, a crowd follows a field as [`FlowFollower`]s.
//!
//! # Agents
//!
//! The other half of the crate works in an [`formic_ecs::World`]. Agents have a [`Position`] and a
//! [`PathRequest`], which takes a goal and reports the outcome. The [`systems`] search, walk, and heed
//! edits. A [`Wander`]er chooses its goals by itself. Agents with [`Avoid`] give way to each other, as
//! [`systems::avoid`] explains.
//!
//! Searches have a budget in expansions per tick, which is kept exactly: a search that is too long for
//! one tick goes on in the next ([`SearchBudget`]). A request can accept the nearest reachable cell, and
//! wait for the edit that opens the way:
//!
//! ```
//! use formic_ecs::World;
//! use formic_jobs::{Pool, Schedule, Threads};
//! use glam::Vec2;
//! use formic_nav::prelude::*;
//!
//! // Two halls with a wall between.
//! let grid = Grid::from_fn(9, 5, |cell| cell.x != 4)?;
//! let mut world = World::new();
//! systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
//! let imp = world.spawn(systems::agent(Vec2::new(0.5, 2.5), 4.0));
//! world.get_mut::<PathRequest>(imp)?.ask(Vec2::new(8.5, 2.5)).or_nearest().keep_trying();
//!
//! let pool = Pool::new(Threads::None)?;
//! let mut schedule = systems::add(Schedule::builder()).build(&mut world)?;
//! (0..40).for_each(|_| drop(schedule.run(&mut world, &pool)));
//! let nearby = RequestStatus::Nearby(Unreachable::Disconnected);
//! assert_eq!(world.get::<PathRequest>(imp)?.status(), nearby);
//!
//! world.resource_mut::<Terrain>()?.dig(Cell::new(4, 2));
//! (0..60).for_each(|_| drop(schedule.run(&mut world, &pool)));
//! assert_eq!(world.get::<PathRequest>(imp)?.status(), RequestStatus::Arrived);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Coordinates: `x` grows to the east and `y` to the south, a cell is one unit wide, and its centre is at
//! +0.5. Nothing here reads a clock or the randomness of the operating system:
//! results are functions of the arguments.

#![forbid(unsafe_code)]

#[macro_use(debug_as_text)]
extern crate formic_ecs;

mod agent;
mod avoid;
mod bytes;
mod cell;
mod check;
mod class;
mod cost;
mod direction;
mod draw;
mod flow;
mod flow_agent;
mod follow;
pub mod generate;
mod grid;
mod landmarks;
mod lanes;
mod line;
mod link;
mod load;
mod map;
mod obstacle;
mod path;
mod reach;
mod region;
mod request;
mod rng;
mod scenario;
mod search;
mod sight;
pub mod systems;
mod terrain;
mod wander;

pub use agent::{Facing, PathStats, Position, Speed, TimeStep};
pub use avoid::body::Avoid;
pub use cell::Cell;
pub use check::{PathFault, path_cost};
pub use class::{AgentClass, ClassId, SIZE_MAX};
pub use cost::{Cost, DIAGONAL, STRAIGHT, Weight};
pub use direction::{Connectivity, Direction, MoveRule};
pub use draw::{DrawOptions, Picture, debug_draw};
pub use flow::{FlowField, SettledFlow};
pub use flow_agent::fields::{FlowFields, FlowId};
pub use flow_agent::{FlowFollower, FlowStatus};
pub use grid::change::{CHANGES_MAX, Change, ChangeKind, GridVersion};
pub use grid::{CELL_COUNT_MAX, Grid, GridSizeError, SIDE_MAX};
pub use link::Link;
pub use load::LoadError;
pub use obstacle::Obstacle;
pub use path::PathScratch;
pub use path::outcome::{Path, PathOutcome, Unreachable};
pub use path::query::{Algorithm, PathQuery};
pub use region::event::{EVENTS_MAX, RegionEvent, RegionId};
pub use region::{RegionFault, Regions};
pub use request::{PathPending, PathRequest, RequestStatus, Route};
pub use scenario::Scenario;
pub use search::{SearchBudget, SearchReport};
pub use sight::is_visible;
pub use terrain::Terrain;
pub use wander::Wander;

/// The names that most code needs.
pub mod prelude {
    pub use crate::agent::{Facing, Position, Speed, TimeStep};
    pub use crate::avoid::body::Avoid;
    pub use crate::cell::Cell;
    pub use crate::class::{AgentClass, ClassId};
    pub use crate::cost::{Cost, Weight};
    pub use crate::direction::MoveRule;
    pub use crate::flow::FlowField;
    pub use crate::flow_agent::fields::{FlowFields, FlowId};
    pub use crate::flow_agent::{FlowFollower, FlowStatus};
    pub use crate::grid::Grid;
    pub use crate::link::Link;
    pub use crate::obstacle::Obstacle;
    pub use crate::path::PathScratch;
    pub use crate::path::outcome::{Path, PathOutcome, Unreachable};
    pub use crate::region::event::{RegionEvent, RegionId};
    pub use crate::request::{PathRequest, RequestStatus};
    pub use crate::search::SearchBudget;
    pub use crate::systems;
    pub use crate::terrain::Terrain;
    pub use crate::wander::Wander;
}
