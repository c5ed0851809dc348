//! Flow fields: paths to one goal from any cell.
//!
//! One wave runs outwards from the goals (`flow/wave.rs`), as far as agents ask. Its results lie in
//! sectors of 32 x 32 cells (`flow/store.rs`).

pub(crate) mod store;
pub(crate) mod wave;

use crate::bytes::{Bytes, Saved, bytes_by_field};
use crate::cell::Cell;
use crate::cost::Cost;
use crate::direction::Direction;
use crate::flow::store::UNREACHED;
use crate::flow::wave::Wave;
use crate::grid::change::{CHANGES_MAX, GridVersion};
use crate::region::event::RegionId;
use crate::terrain::Terrain;

/// A flow field: leads any number of agents to one goal, or to the nearest of several.
///
/// Distances are exact: they equal those of [`PathScratch`](crate::PathScratch) to the unit, under all
/// rules and over weights. Directions are those of a best path; of equals, the first in the order of
/// [`Direction::ALL`]. Both are functions of the terrain and the goals, whatever was asked or edited
/// before.
///
/// The field is computed as far as agents ask and no further: the wave from the goals halts at the cell
/// that was asked for, and goes on from there the next time. A cell takes nine bytes, in sectors of 32 x
/// 32 cells that are allocated when the wave first gets there. The front of the wave takes 16 bytes a
/// cell. Nothing is allocated once the field has grown.
///
/// The field follows edits of the terrain when it is asked. Only cells whose path leads across or past an
/// edited cell are forgotten, and found again when asked for; all others stay. An edit on which no
/// agent's path depends costs next to nothing. One that closes a pass close to the goal costs as much as
/// the part of the field behind it.
///
/// A field of a whole map costs as much as many single paths. Use it if tens to hundreds of agents have
/// one goal, or if most of them are near it.
///
/// ```
/// use formic_nav::{Cell, Direction, FlowField, Grid, MoveRule, Terrain};
/// // A wall in column 2 with a gap at its southern end.
/// let grid = Grid::from_fn(5, 4, |cell| cell.x != 2 || cell.y == 3)?;
/// let mut terrain = Terrain::new(grid, MoveRule::BothFree);
/// let mut field = FlowField::new(&terrain, &[Cell::new(4, 0)]);
///
/// let mut agent = Cell::new(0, 0);
/// let mut steps = 0;
/// while let Some(direction) = field.direction(&terrain, agent) {
///     agent = direction.step(agent).unwrap();
///     steps += 1;
/// }
/// assert_eq!((agent, steps), (Cell::new(4, 0), 8));
///
/// terrain.dig(Cell::new(2, 0)); // a short cut
/// let distance = field.distance(&terrain, Cell::new(0, 0)).unwrap();
/// assert!((distance.length() - 4.0).abs() < 1e-6);
/// assert_eq!(field.direction(&terrain, Cell::new(0, 0)), Some(Direction::East));
///
/// assert_eq!(field.distance(&terrain, Cell::new(2, 1)), None); // solid
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FlowField {
    /// Sorted, without duplicates.
    goals: Vec<Cell>,
    /// The regions of the goals, sorted, without duplicates.
    goal_regions: Vec<RegionId>,
    wave: Wave,
    version: GridVersion,
    /// The version of the terrain in the last tick, whose last edits may still have to wait.
    seen: GridVersion,
    /// The cells of the edits that are being followed.
    edited: Vec<Cell>,
    /// Whether it was read from a save, and not yet compared with its terrain.
    is_unchecked: bool,
}

bytes_by_field!(FlowField {
    goals, goal_regions, wave, version;
    seen: GridVersion::ZERO, edited: Vec::new(), is_unchecked: true
});

impl FlowField {
    /// Creates a field to the nearest of some goals, and computes nothing yet.
    ///
    /// Solid goals count as soon as they are dug. Goals outside of the grid never count.
    #[must_use]
    pub fn new(terrain: &Terrain, goals: &[Cell]) -> Self {
        let mut field = Self {
            goals: Vec::new(),
            goal_regions: Vec::new(),
            wave: Wave::default(),
            version: terrain.version(),
            seen: GridVersion::ZERO,
            edited: Vec::new(),
            is_unchecked: false,
        };
        field.restart(terrain, goals);
        field
    }

    /// Begins anew with other goals, and reuses the memory of the field. The terrain may be another one.
    ///
    /// ```
    /// use formic_nav::{Cell, FlowField, Grid, MoveRule, Terrain};
    /// let terrain = Terrain::new(Grid::from_fn(9, 1, |_| true)?, MoveRule::BothFree);
    /// let mut field = FlowField::new(&terrain, &[Cell::new(0, 0)]);
    /// assert_eq!(field.distance(&terrain, Cell::new(6, 0)).unwrap().length(), 6.0);
    /// field.restart(&terrain, &[Cell::new(0, 0), Cell::new(8, 0)]);
    /// assert_eq!(field.distance(&terrain, Cell::new(6, 0)).unwrap().length(), 2.0);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    pub fn restart(&mut self, terrain: &Terrain, goals: &[Cell]) {
        self.goals.clear();
        self.goals.extend_from_slice(goals);
        self.goals.sort_unstable();
        self.goals.dedup();
        self.begin(terrain);
    }

    fn begin(&mut self, terrain: &Terrain) {
        self.version = terrain.version();
        self.wave.begin(terrain.grid(), &self.goals);
        self.find_goal_regions(terrain);
    }

    fn find_goal_regions(&mut self, terrain: &Terrain) {
        self.goal_regions.clear();
        self.goal_regions.extend(self.goals.iter().filter_map(|&goal| terrain.region(goal)));
        self.goal_regions.sort_unstable();
        self.goal_regions.dedup();
    }

    /// Whether an open cell is a goal.
    fn is_goal(&self, cell: Cell) -> bool {
        self.goals.binary_search(&cell).is_ok()
    }

    /// The goals, sorted, without duplicates.
    #[must_use]
    pub fn goals(&self) -> &[Cell] {
        &self.goals
    }

    /// Follows the edits since the last call. All queries call it first, so a call is needed only to
    /// choose the moment.
    ///
    /// The field begins anew if there were more than [`CHANGES_MAX`](crate::CHANGES_MAX) edits, or if
    /// this is another terrain: another level, or a restored state of the same one.
    pub fn update(&mut self, terrain: &Terrain) {
        self.check(terrain);
        if self.version == terrain.version() {
            return;
        }
        let Some(changes) = terrain.grid().changes_since(self.version) else {
            return self.begin(terrain);
        };
        self.edited.clear();
        self.edited.extend(changes.map(|change| change.cell));
        self.edited.sort_unstable();
        self.edited.dedup();
        self.version = terrain.version();
        self.wave.begin_repair(terrain.ground(), &self.goals, &self.edited);
        self.find_goal_regions(terrain);
    }

    /// Begins anew if the field, read from a save, cannot be one of this terrain.
    fn check(&mut self, terrain: &Terrain) {
        if !self.fits(terrain) {
            self.begin(terrain);
        }
        self.is_unchecked = false;
    }

    /// Whether the edits since the last update may wait for agents without a direction.
    ///
    /// Edits beside the goal in every tick could make the wave begin again and again and never come to
    /// them. A wave and its repair together expand each cell three times at most, so it comes to all cells
    /// while edits may wait. Before, and then again and again, it expands each cell once while they may not.
    pub(crate) fn may_hold(&mut self, terrain: &Terrain) -> bool {
        self.check(terrain);
        let cell_count = terrain.grid().cell_count() as u64;
        let changes = terrain.grid().changes_since(self.version);
        self.version != terrain.version()
            && self.expansion_count() % (4 * cell_count) >= cell_count
            && changes.is_some_and(|changes| changes.count() <= CHANGES_MAX / 2)
    }

    /// Lets the edits wait: agents follow their last directions meanwhile.
    pub(crate) fn hold(&mut self, terrain: &Terrain) {
        self.seen = terrain.version();
        self.find_goal_regions(terrain);
    }

    /// Whether an agent in a cell has no direction, not even an old one, until the wave comes there.
    pub(crate) fn is_stuck(&self, terrain: &Terrain, cell: Cell) -> bool {
        self.known(terrain, cell) == Known::NotYet(None) && self.wave.final_cost(cell).is_none()
    }

    /// Whether the field can be one of this terrain, as one from a save may not be.
    pub(crate) fn fits(&self, terrain: &Terrain) -> bool {
        !self.is_unchecked || self.wave.is_for(terrain.grid())
    }

    /// The cost of the best path from a cell to the nearest goal, or `None` if there is none or the cell
    /// is solid or outside.
    ///
    /// It takes no run of the wave to know that there is none.
    pub fn distance(&mut self, terrain: &Terrain, cell: Cell) -> Option<Cost> {
        self.update(terrain);
        if !self.is_reachable(terrain, cell) {
            return None;
        }
        to_cost(self.wave.settle(terrain.ground(), cell))
    }

    /// The step to take from a cell. `None` at a goal, where [`FlowField::distance`] is `None`, and where
    /// the path goes on by a [`FlowField::link`].
    ///
    /// The step is legal, and the distance after it is less by exactly its cost.
    pub fn direction(&mut self, terrain: &Terrain, cell: Cell) -> Option<Direction> {
        self.distance(terrain, cell)?;
        self.wave.direction(cell)
    }

    /// The end of the [`Link`](crate::Link) to take from a cell, or `None` if the path does not go on by
    /// a link.
    pub fn link(&mut self, terrain: &Terrain, cell: Cell) -> Option<Cell> {
        self.distance(terrain, cell)?;
        SettledFlow { wave: &self.wave, terrain }.link(cell)
    }

    /// Whether a path from a cell is known, as it is for most agents in most ticks.
    #[inline]
    pub(crate) fn is_final(&self, terrain: &Terrain, cell: Cell) -> bool {
        self.version == terrain.version()
            && terrain.grid().contains(cell)
            && self.wave.final_cost(cell).is_some_and(|cost| cost != UNREACHED)
    }

    /// Returns what is known of a cell, without computing anything.
    pub(crate) fn known(&self, terrain: &Terrain, cell: Cell) -> Known {
        if self.is_final(terrain, cell) {
            let direction = self.wave.direction(cell);
            let step = direction.map(|direction| direction.step_inside(cell));
            let step = step.or_else(|| self.wave.link(terrain.ground(), cell));
            return step.map_or(Known::Goal, Known::Step);
        }
        if ![self.version, self.seen].contains(&terrain.version()) {
            return Known::NotYet(None);
        }
        if !self.is_reachable(terrain, cell) {
            return Known::Unreachable;
        }
        if self.is_goal(cell) {
            return Known::Goal;
        }
        Known::NotYet(self.wave.likely_next(terrain.ground(), cell))
    }

    /// The distance from a cell to the nearest goal in cells, if it is known already.
    #[expect(clippy::cast_possible_truncation, reason = "to a part of a cell")]
    pub(crate) fn left(&self, cell: Cell) -> Option<f32> {
        Some(to_cost(self.wave.final_cost(cell)?)?.length() as f32)
    }

    /// Computes the field as far as a cell that [`FlowField::known`] does not know, in at most
    /// `count_max` steps. Returns the number of steps taken.
    pub(crate) fn settle_within(&mut self, terrain: &Terrain, cell: Cell, count_max: u64) -> u64 {
        self.wave.settle_within(terrain.ground(), cell, count_max)
    }

    /// Computes the whole field, for many threads to read.
    ///
    /// ```
    /// use formic_nav::{Cell, FlowField, Grid, MoveRule, Terrain};
    /// let terrain = Terrain::new(Grid::from_fn(9, 9, |_| true)?, MoveRule::BothFree);
    /// let mut field = FlowField::new(&terrain, &[Cell::new(4, 4)]);
    /// let settled = field.settle_all(&terrain);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(settled.direction(Cell::new(0, 0)).is_some()));
    ///     scope.spawn(|| assert!(settled.direction(Cell::new(8, 0)).is_some()));
    /// });
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    pub fn settle_all<'a>(&'a mut self, terrain: &'a Terrain) -> SettledFlow<'a> {
        self.update(terrain);
        self.wave.settle_all(terrain.ground());
        SettledFlow { wave: &self.wave, terrain }
    }

    /// The number of cells that the wave has expanded since the field was created: a measure of the work.
    /// A cell counts again when an edit makes it be forgotten and found again.
    #[must_use]
    pub const fn expansion_count(&self) -> u64 {
        self.wave.expansion_count
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.wave.bytes()
            + (self.goals.capacity() + self.edited.capacity()) * size_of::<Cell>()
            + self.goal_regions.capacity() * size_of::<RegionId>()
    }

    fn is_reachable(&self, terrain: &Terrain, cell: Cell) -> bool {
        let region = terrain.region(cell);
        region.is_some_and(|region| {
            self.goal_regions.binary_search(&region).is_ok()
                || self.goal_regions.iter().any(|&goal| terrain.leads(region, goal))
        })
    }
}

/// The knowledge that a field has of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    /// Nothing final. While the field follows edits, contains the next cell of the previous best path, if
    /// that step or link is still legal.
    NotYet(Option<Cell>),
    /// No path leads from there to a goal.
    Unreachable,
    /// The cell is a goal.
    Goal,
    /// The best cell to go to, by a step or a link.
    Step(Cell),
}

/// A flow field that is computed completely, for many threads to read.
///
/// [`FlowField::settle_all`] returns it, and has an example.
#[derive(Clone, Copy, Debug)]
pub struct SettledFlow<'a> {
    wave: &'a Wave,
    terrain: &'a Terrain,
}

impl SettledFlow<'_> {
    /// Like [`FlowField::distance`].
    #[must_use]
    pub fn distance(&self, cell: Cell) -> Option<Cost> {
        if !self.terrain.is_open(cell) {
            return None;
        }
        to_cost(self.wave.final_cost(cell)?)
    }

    /// Like [`FlowField::direction`].
    #[must_use]
    pub fn direction(&self, cell: Cell) -> Option<Direction> {
        self.distance(cell)?;
        self.wave.direction(cell)
    }

    /// Like [`FlowField::link`].
    #[must_use]
    pub fn link(&self, cell: Cell) -> Option<Cell> {
        self.distance(cell)?;
        let is_walked = self.direction(cell).is_some();
        self.wave.link(self.terrain.ground(), cell).filter(|_| !is_walked)
    }
}

fn to_cost(units: u64) -> Option<Cost> {
    (units != UNREACHED).then_some(Cost::from_units(units))
}
