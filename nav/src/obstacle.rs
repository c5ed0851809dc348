//! Obstacles: things that block cells for a while, move, and are not agents.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Codec, Component, ResourceError, World};
use formic_jobs::{Local, ParamError, Query, Res, ResMut, RunContext, SystemAccess, SystemParam};
use glam::Vec2;

use crate::agent::{Position, TimeStep, clamp};
use crate::bytes::codec;
use crate::cell::Cell;
use crate::class::SIZE_MAX;
use crate::terrain::Terrain;

/// The minimum side, in cells.
const SIZE_MIN: f32 = 0.1;
/// Less than this of a cell, in cells along a side, does not count as covered.
const MARGIN: f32 = 0.01;
/// An obstacle that moves farther than this in a tick, in cells, was placed there and has no velocity.
const STRIDE_MAX: f32 = 2.0;

/// A square thing that blocks the way and is not an agent: a cart, a boulder, a drawbridge.
///
/// The game moves it by its [`Position`], which is its centre. While it stands, the cells that it covers
/// are solid, for regions, paths and fields alike. When it moves off, or is despawned, they are open
/// again. While it moves it is a body to which agents with [`Avoid`](crate::Avoid) give way completely:
/// it does not give way to them. Agents without it walk through it then, as through others.
///
/// ```
/// use formic_ecs::World;
/// use formic_jobs::{Pool, Schedule, Threads};
/// use formic_nav::{Cell, Grid, MoveRule, Obstacle, Position, Terrain, systems};
/// // Two halls, and a door that a boulder lies before.
/// let grid = Grid::from_fn(9, 5, |cell| cell.x != 4 || cell.y == 2)?;
/// let mut world = World::new();
/// systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
/// let boulder = world.spawn((Position(Cell::new(4, 2).centre()), Obstacle::new(1.0)));
/// let pool = Pool::new(Threads::None)?;
/// let mut schedule = systems::add(Schedule::builder()).build(&mut world)?;
/// schedule.run(&mut world, &pool);
/// let reachable = |world: &World| {
///     world.resource::<Terrain>().unwrap().reachable(Cell::new(0, 0), Cell::new(8, 0))
/// };
/// assert!(!reachable(&world));
/// world.get_mut::<Position>(boulder)?.0.x += 1.0;
/// schedule.run(&mut world, &pool);
/// assert!(reachable(&world));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Obstacle {
    size: f32,
    velocity: Vec2,
    /// The position in the last tick.
    place: Vec2,
}

impl Obstacle {
    /// Creates an obstacle of `size` cells along a side, clamped to a tenth and [`SIZE_MAX`].
    #[must_use]
    pub const fn new(size: f32) -> Self {
        let size = clamp(size, SIZE_MIN, SIZE_MAX as f32);
        Self { size, velocity: Vec2::ZERO, place: Vec2::NAN }
    }

    /// The length of a side, in cells.
    #[must_use]
    pub const fn size(&self) -> f32 {
        // From a save it may be any number.
        clamp(self.size, SIZE_MIN, SIZE_MAX as f32)
    }

    /// The velocity of the last tick that took time, in cells per second: zero if it stands.
    #[must_use]
    pub const fn velocity(&self) -> Vec2 {
        self.velocity
    }

    /// The position in the last tick.
    pub(crate) const fn place(&self) -> Vec2 {
        self.place
    }

    fn follow(&mut self, place: Vec2, seconds: f32) {
        let way = place - std::mem::replace(&mut self.place, place);
        // A tick without time does not tell whether it is under way.
        if seconds == 0.0 {
            return;
        }
        let velocity = way / seconds;
        // False for NaN as well.
        let has_moved = way.length() <= STRIDE_MAX && velocity.is_finite();
        self.velocity = if has_moved { velocity } else { Vec2::ZERO };
    }

    /// The cells that it covers at its position.
    fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let (place, reach) = (self.place, self.size() * 0.5 - MARGIN);
        let ends = [place - reach, place + reach].map(Cell::nearest_to);
        let ends = ends[0].zip(ends[1]);
        let rows = ends.into_iter().flat_map(|(low, high)| {
            (low.y..=high.y).flat_map(move |y| (low.x..=high.x).map(move |x| Cell::new(x, y)))
        });
        // Beside the map the nearest cells are not the covered ones.
        let is_covered =
            move |cell: &Cell| (cell.centre() - place).abs().max_element() < reach + 0.5;
        rows.filter(is_covered)
    }
}

/// The state of [`block_cells`], kept from tick to tick: the cells that were open before obstacles stood
/// there.
#[derive(Debug, Default)]
pub struct BlockedCells {
    /// Sorted.
    cells: Vec<Cell>,
    covered: Vec<Cell>,
}

impl BlockedCells {
    pub(crate) const CODEC: Codec<Vec<Cell>> = codec();

    pub(crate) fn to_save(&self) -> Vec<Cell> {
        self.cells.clone()
    }

    pub(crate) fn load(&mut self, cells: Vec<Cell>, _: &World) {
        self.cells = cells;
    }
}

/// The terrain as a parameter of the first of the systems. In a world without one, its error names the
/// function that inserts all resources.
#[derive(Debug)]
pub struct TerrainMut<'a>(ResMut<'a, Terrain>);

impl SystemParam for TerrainMut<'_> {
    type State = ();
    type Item<'a> = TerrainMut<'a>;

    fn init(world: &mut World, access: &mut SystemAccess) {
        ResMut::<Terrain>::init(world, access);
    }

    fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<TerrainMut<'a>, ParamError> {
        context.cell.resource_mut().map(TerrainMut).map_err(|error| match error {
            ResourceError::Missing(_) => {
                "the world has no terrain: call `formic_nav::systems::insert_resources`".into()
            }
            error => error.into(),
        })
    }
}

/// Makes the cells solid on which obstacles stand, and opens those that they have left.
///
/// Cells that were solid before stay solid. A cell that is dug under an obstacle is filled again, and
/// opens when the obstacle leaves. So does a cell that is filled under an obstacle.
///
/// The system remembers the cells that it filled on one terrain. Before another terrain replaces it, with
/// `World::insert_resource`, remove the obstacles and run this once more.
pub fn block_cells(
    mut obstacles: Query<(&Position, &mut Obstacle)>,
    TerrainMut(mut terrain): TerrainMut,
    step: Res<TimeStep>,
    mut state: Local<BlockedCells>,
) {
    let BlockedCells { cells, covered } = &mut *state;
    covered.clear();
    obstacles.for_each(|(position, obstacle)| {
        obstacle.follow(position.0, step.elapsed());
        if obstacle.velocity == Vec2::ZERO {
            covered.extend(obstacle.cells());
        }
    });
    covered.sort_unstable();
    covered.dedup();
    cells.retain(|cell| {
        let stays = covered.binary_search(cell).is_ok();
        if !stays {
            terrain.dig(*cell);
        }
        stays
    });
    for &cell in covered.iter() {
        if terrain.fill(cell) {
            cells.push(cell);
        }
    }
    cells.sort_unstable();
    cells.dedup();
}
