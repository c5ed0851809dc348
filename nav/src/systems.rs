//! The systems of this crate, and their order.
//!
//! ```text
//!   edits of the terrain                yours: whatever has a `ResMut<Terrain>`
//!     └─> block_cells                   obstacles stand, or have left
//!           └─> push_out                out of cells that are solid now
//!                 └─> retry             goals that can be reached now
//!                       └─> wander      and other behaviours: choose goals
//!                             └─> settle_flows      fields follow the edits
//!                                   └─> follow, follow_flow    walk, heed edits, arrive
//!                                         └─> avoid            give way to others
//!                                               └─> search     answer requests
//! ```
//!
//! A goal that is chosen in one tick has its path at the end of that tick, unless the budget is spent.
//! The agent first moves along it in the tick after. Paths and fields heed an edit in its own tick.
//!
//! | system | reads | writes |
//! |---|---|---|
//! | `block_cells` | `Position`, `TimeStep` | `Terrain`, `Obstacle` |
//! | `push_out` | `Terrain` | `Position`, `PathRequest`, `Route`, `PathStats` |
//! | `retry` | `Terrain`, `Position` | `PathRequest` |
//! | `wander` | `Terrain`, `TimeStep`, `Position` | `Wander`, `PathRequest` |
//! | `settle_flows` | `Terrain`, `Position`, `FlowFollower` | `FlowFields` |
//! | `follow` | `Terrain`, `TimeStep`, `Speed` | `Position`, `Facing`, `PathRequest`, `Route`, `PathStats`, `PathPending`, `Avoid` |
//! | `follow_flow` | `Terrain`, `TimeStep`, `FlowFields`, `Speed` | `Position`, `Facing`, `FlowFollower`, `Avoid` |
//! | `avoid` | `Terrain`, `TimeStep`, `Speed`, `Obstacle` | `Position`, `Facing`, `Avoid` |
//! | `search` | `Terrain`, `SearchBudget`, `Position` | `SearchReport`, `PathRequest`, `Route`, `PathStats`, `PathPending` |
//!
//! All systems use the [`ClassId`](crate::ClassId) of agents that have one; followers of a field use that
//! of the field. Each handles only agents with the components that it names. So an agent that follows a
//! field has no request, and one without [`Avoid`](crate::Avoid) walks through others. Systems without
//! agents cost next to nothing.

use formic_ecs::{Bundle, Codec, World};
use formic_jobs::{IntoSystem, SaveRules, ScheduleBuilder};
use glam::Vec2;

use crate::agent::{Facing, PathStats, Position, Speed, TimeStep};
use crate::flow_agent::FlowFollower;
use crate::flow_agent::fields::{FlowFields, FlowId};
use crate::grid::change::GridVersion;
use crate::request::{PathPending, PathRequest, Route};
use crate::search::{SavedSearch, SearchBudget, SearchReport};
use crate::terrain::Terrain;

pub use crate::avoid::{AvoidState, avoid};
pub use crate::flow_agent::{follow_flow, settle_flows};
pub use crate::follow::{follow, push_out, retry};
pub use crate::obstacle::{BlockedCells, TerrainMut, block_cells};
pub use crate::search::{SearchState, search};
pub use crate::wander::wander;

/// Adds the systems to a schedule, in their order and after everything that was added before, so without
/// ambiguity.
///
/// Systems that edit the terrain and behaviours that choose goals run before them: add them first, or use
/// `.before(formic_nav::systems::block_cells)`. Results are the same for any number of threads.
///
/// ```
/// use formic_ecs::World;
/// use formic_jobs::{Pool, Schedule, Threads};
/// use glam::Vec2;
/// use formic_nav::{Grid, MoveRule, PathRequest, Position, RequestStatus, Terrain, systems};
///
/// let terrain = Terrain::new(Grid::from_fn(8, 8, |_| true)?, MoveRule::default());
/// let mut world = World::new();
/// systems::insert_resources(&mut world, terrain);
/// let imp = world.spawn(systems::agent(Vec2::new(0.5, 0.5), 4.0));
/// world.get_mut::<PathRequest>(imp)?.ask(Vec2::new(7.5, 7.3));
///
/// let pool = Pool::new(Threads::None)?;
/// let mut schedule = systems::add(Schedule::builder()).build(&mut world)?;
/// assert!(schedule.ambiguities().is_empty());
/// for _ in 0..60 {
///     schedule.run(&mut world, &pool);
/// }
/// assert_eq!(world.get::<PathRequest>(imp)?.status(), RequestStatus::Arrived);
/// assert_eq!(world.get::<Position>(imp)?.0, Vec2::new(7.5, 7.3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn add(schedule: ScheduleBuilder) -> ScheduleBuilder {
    let before_walking = (block_cells, push_out, retry, wander, settle_flows);
    let walking = (follow, follow_flow, avoid, search);
    schedule.add((before_walking.chain(), walking.chain()).chain().after_earlier())
}

/// Inserts the resources that the systems need: the terrain, no flow fields, and the defaults of
/// [`TimeStep`], [`SearchBudget`] and [`SearchReport`].
///
/// The systems panic if the rule of the terrain [cuts corners](crate::MoveRule::cuts_corners): an agent
/// has a position, which is never in a solid cell.
pub fn insert_resources(world: &mut World, terrain: Terrain) {
    world.insert_resource(terrain);
    world.insert_resource(TimeStep::default());
    world.insert_resource(SearchBudget::default());
    world.insert_resource(SearchReport::default());
    world.insert_resource(FlowFields::default());
    save(world);
}

/// Registers how the resources and the state of these systems are saved with a game. [`insert_resources`]
/// calls it; call it in a program that inserts the resources one by one.
pub fn save(world: &mut World) {
    SaveRules::of(world)
        .save(Terrain::CODEC)
        .save(FlowFields::CODEC)
        .save(Codec::<TimeStep>::plain())
        .save(Codec::<SearchBudget>::plain())
        .save(Codec::<SearchReport>::plain())
        .save_part(BlockedCells::CODEC, BlockedCells::to_save, BlockedCells::load)
        .save_part(SavedSearch::CODEC, SearchState::to_save, SearchState::load)
        .save(GridVersion::CODEC)
        .renamed::<GridVersion>("formic_nav::follow::SeenTerrain")
        // All of it is computed anew in each tick.
        .rebuild::<AvoidState>();
}

/// The components that an agent needs to follow a flow field.
///
/// See the example at [`FlowFollower`].
#[must_use]
pub fn flow_agent(position: Vec2, cells_per_second: f32, field: FlowId) -> impl Bundle {
    (Position(position), Facing::default(), Speed(cells_per_second), FlowFollower::new(field))
}

/// The components that an agent needs to walk. Add a component that makes it choose goals, such as
/// [`Wander`](crate::Wander).
///
/// ```
/// use formic_ecs::{RandomStream, World};
/// use formic_nav::{Wander, systems};
/// let mut world = World::new();
/// let stream = RandomStream::new(1);
/// world.spawn((systems::agent((2.5, 3.5).into(), 2.0), Wander::new(stream)));
/// ```
#[must_use]
pub fn agent(position: Vec2, cells_per_second: f32) -> impl Bundle {
    let body = (Position(position), Facing::default(), Speed(cells_per_second));
    (body, PathRequest::default(), Route::default(), PathPending, PathStats::default())
}
