//! The outcome of a search: a path, or the reason why there is none.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{HashState, StateHasher};
use glam::Vec2;
use std::cmp::Ordering;
use std::fmt;

use crate::bytes::{Saved, ensure};
use crate::cell::Cell;
use crate::check::{PathFault, rest_cost};
use crate::cost::Cost;
use crate::grid::Grid;
use crate::grid::change::{ChangeKind, GridVersion};
use crate::line::{PARTS, Point, append_cells, is_free};
use crate::terrain::Terrain;

/// The result of a search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
pub enum PathOutcome {
    /// The path buffer holds a path of least cost.
    Found {
        /// The cost of the path.
        cost: Cost,
    },
    /// The goal cannot be reached; the path buffer holds a path of least cost to the reachable cell
    /// nearest to it. Only for a query that [asks for it](crate::PathQuery::or_nearest).
    Partial {
        /// The cost of the path.
        cost: Cost,
        /// Why there is no path to the goal.
        reason: Unreachable,
    },
    /// No path exists. No search was needed to know that.
    Unreachable(Unreachable),
    /// The search has used up the expansions that it was allowed.
    OutOfBudget,
}

impl PathOutcome {
    /// The cost of the path to the goal, if one was found.
    #[must_use]
    pub const fn cost(self) -> Option<Cost> {
        match self {
            Self::Found { cost } => Some(cost),
            Self::Partial { .. } | Self::Unreachable(_) | Self::OutOfBudget => None,
        }
    }
}

/// The reason why no path exists.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Default, NoUninit, CheckedBitPattern, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
#[non_exhaustive]
pub enum Unreachable {
    /// The start lies outside of the grid.
    StartOutside,
    /// The start is solid.
    StartBlocked,
    /// The goal lies outside of the grid.
    GoalOutside,
    /// The goal is solid.
    GoalBlocked,
    /// Start and goal are open, but in regions that are not connected.
    #[default]
    Disconnected,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StartOutside => "the start lies outside of the grid",
            Self::StartBlocked => "the start is solid",
            Self::GoalOutside => "the goal lies outside of the grid",
            Self::GoalBlocked => "the goal is solid",
            Self::Disconnected => "no open route connects start and goal",
        })
    }
}

impl std::error::Error for Unreachable {}

/// A list of cells from a start to a goal, both included, each one legal step or link from the one
/// before.
///
/// A path remembers the version of the grid on which it was found, so it can tell whether edits have
/// broken it since. Its memory is reused by the next search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path {
    cells: Vec<Cell>,
    cost: Cost,
    version: GridVersion,
    bounds: Bounds,
    /// For each cell of an any-angle path, the point of the cell to which it goes straight, or zero.
    /// Empty for other paths.
    marks: Vec<u8>,
}

/// The mark of the centre of the cell. Other marks are 1 in the west or 2 in the east, plus 2 in the
/// south.
const MIDDLE: u8 = 5;

/// The bounds are not hashed: they follow from the cells.
impl HashState for Path {
    fn hash_state(&self, hasher: &mut StateHasher) {
        hasher.write(bytemuck::cast_slice(&self.cells));
        hasher.write(bytemuck::bytes_of(&self.cost));
        hasher.write(bytemuck::bytes_of(&self.version));
        if self.is_at_any_angle() {
            hasher.write(&self.marks);
        }
    }
}

impl Path {
    /// Creates a path of no cells, for a search to fill.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The cells from start to goal.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cells to enter: all but the start.
    #[must_use]
    pub fn steps(&self) -> &[Cell] {
        self.cells.get(1..).unwrap_or_default()
    }

    /// The points between which the path goes straight, from the centre of the first cell to that of the
    /// last. For an any-angle path ([`Algorithm::AnyAngle`](crate::Algorithm::AnyAngle)) these are the
    /// corners at which it turns, a thirty-second of a cell away from them. For another path they are the
    /// centres of all cells; see [`Path::pull`] as well.
    ///
    /// ```
    /// use formic_nav::{Algorithm, Cell, Grid, MoveRule, Path, PathQuery, PathScratch, Terrain};
    /// use glam::Vec2;
    /// // Around the end of a wall.
    /// let grid = Grid::from_fn(9, 5, |cell| cell.x != 4 || cell.y == 4)?;
    /// let terrain = Terrain::new(grid, MoveRule::BothFree);
    /// let query = PathQuery::new(Cell::new(0, 2), Cell::new(8, 2)).by(Algorithm::AnyAngle);
    /// let mut path = Path::new();
    /// assert!(PathScratch::new().solve(&terrain, &query, &mut path).cost().is_some());
    /// let points: Vec<Vec2> = path.points().collect();
    /// let corners = [Vec2::new(3.96875, 4.03125), Vec2::new(5.03125, 4.03125)];
    /// assert_eq!(points, [Vec2::new(0.5, 2.5), corners[0], corners[1], Vec2::new(8.5, 2.5)]);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    pub fn points(&self) -> impl Iterator<Item = Vec2> + '_ {
        let last = self.cells.len().saturating_sub(1);
        let middle = |place: usize| self.cells.get(place).map(|cell| cell.centre());
        // Turns in the first and the last cell are points beside the centres of those cells.
        let is_passed = move |place: &usize| match self.is_at_any_angle() {
            true => ![0, MIDDLE].contains(&self.marks[*place]),
            false => (1..last).contains(place),
        };
        let between = (0..=last).filter(is_passed).map(|place| self.point(place));
        middle(0).into_iter().chain(between).chain(middle(last).filter(move |_| last > 0))
    }

    /// Whether there are no cells, because no search has found any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cost of the whole path.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// The version of the grid on which this path is known to be legal.
    #[must_use]
    pub const fn version(&self) -> GridVersion {
        self.version
    }

    /// Checks whether the rest of this path, from the cell with index `from` on, is still legal after the
    /// edits since it was found.
    ///
    /// A legal path need not be the best one any more: edits may have opened a shorter path, or changed
    /// weights. The check costs next to nothing while no cell was filled within the bounds of the path,
    /// so followers can call it before every step. On another terrain it checks every step. The lines of
    /// an any-angle path that begin at that cell or behind it are checked as well.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, MoveRule, Path, PathFault, PathOutcome, PathScratch, Terrain};
    /// let mut terrain = Terrain::new(Grid::from_fn(4, 1, |_| true)?, MoveRule::BothFree);
    /// let mut path = Path::new();
    /// let outcome = PathScratch::new().find(&terrain, Cell::new(0, 0), Cell::new(3, 0), &mut path);
    /// assert!(matches!(outcome, PathOutcome::Found { .. }));
    ///
    /// terrain.fill(Cell::new(1, 0));
    /// assert_eq!(path.revalidate(&terrain, 0), Err(PathFault::Blocked { step: 1 }));
    /// assert_eq!(path.revalidate(&terrain, 2), Ok(())); // already past the wall
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`PathFault`] for the first step, counted from the start of the path, that has become
    /// illegal. Returns [`PathFault::Empty`] if there are no cells from `from` on.
    pub fn revalidate(&mut self, terrain: &Terrain, from: usize) -> Result<(), PathFault> {
        if from >= self.cells.len() {
            return Err(PathFault::Empty);
        }
        if self.may_be_broken(terrain) {
            let step = rest_cost(terrain.grid(), terrain.rule(), &self.cells, from).err();
            let faults = step.into_iter().chain(self.check_lines(terrain.grid(), from).err());
            faults.min_by_key(|fault| fault.step()).map_or(Ok(()), Err)?;
        }
        // Cells behind the follower may be solid by now, but no caller asks for them: followers only go
        // forward.
        self.version = terrain.version();
        Ok(())
    }

    /// Clears this path and keeps its memory.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.cost = Cost::ZERO;
        self.version = GridVersion::ZERO;
        self.bounds = Bounds::NOTHING;
        self.marks.clear();
    }

    /// Replaces this path by one given as two halves, from a cell in the middle to its start and to its
    /// goal.
    pub(crate) fn set_halves(
        &mut self,
        cost: Cost,
        version: GridVersion,
        to_start: impl Iterator<Item = Cell>,
        to_goal: impl Iterator<Item = Cell>,
    ) {
        self.clear();
        self.cells.extend(to_start);
        self.cells.reverse();
        self.cells.extend(to_goal.skip(1));
        for &cell in &self.cells {
            self.bounds.include(cell);
        }
        self.cost = cost;
        self.version = version;
    }

    /// Replaces this path by one given by its corners, from goal to start. The path is straight between
    /// corners.
    pub(crate) fn set_corners_reversed(
        &mut self,
        cost: Cost,
        version: GridVersion,
        mut corners: impl Iterator<Item = Cell>,
    ) {
        self.clear();
        if let Some(goal) = corners.next() {
            self.bounds.include(goal);
            self.cells.push(goal);
            let mut last = goal;
            for corner in corners {
                self.bounds.include(corner);
                self.cells.extend(line(last, corner));
                last = corner;
            }
        }
        self.cells.reverse();
        self.cost = cost;
        self.version = version;
    }

    /// Replaces this path by an any-angle path, given by its goal and the points before it, back to the
    /// start.
    pub(crate) fn set_points_reversed(
        &mut self,
        cost: Cost,
        terrain: &Terrain,
        goal: Point,
        points: impl Iterator<Item = Point>,
    ) {
        self.clear();
        let Self { cells, marks, .. } = self;
        cells.push(goal.cell());
        let mut last = goal;
        for point in points {
            marks.resize(cells.len(), 0);
            // A corner in the last cell also replaces the end.
            marks[cells.len() - 1] = mark(last);
            append_cells(terrain.grid(), [last, point], cells);
            last = point;
        }
        marks.resize(cells.len(), 0);
        cells.reverse();
        marks.reverse();
        cells.iter().for_each(|&cell| self.bounds.include(cell));
        (self.cost, self.version) = (cost, terrain.version());
    }

    /// Whether this is an any-angle path.
    pub(crate) fn is_at_any_angle(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Whether an any-angle path has a turn in this cell.
    pub(crate) fn is_turn(&self, place: usize) -> bool {
        place == 0 || self.marks[place] > 0
    }

    /// The index of the cell to which an any-angle path goes straight from this one.
    pub(crate) fn turn_after(&self, place: usize) -> usize {
        let after = (place + 1..self.marks.len()).find(|&after| self.marks[after] > 0);
        after.unwrap_or(place)
    }

    /// The point of a cell through which the path goes.
    fn exact_point(&self, place: usize) -> Point {
        let [east, south] = match self.marks.get(place) {
            None | Some(&(0 | MIDDLE)) => [PARTS / 2; 2],
            Some(mark) => {
                [(mark - 1) & 1, (mark - 1) >> 1].map(|far| if far > 0 { PARTS - 1 } else { 1 })
            }
        };
        Point::new(self.cells[place], east, south)
    }

    /// The point of a cell through which the path goes, in cells.
    pub(crate) fn point(&self, place: usize) -> Vec2 {
        self.exact_point(place).position()
    }

    /// Whether the straight line from one turn to the next is free. Cells before `at` on the line do not
    /// count.
    pub(crate) fn is_line_free(&self, grid: &Grid, ends: [usize; 2], at: Cell) -> bool {
        is_free(grid, ends.map(|place| self.exact_point(place)), at)
    }

    /// Checks all lines that begin at index `from` or after it.
    fn check_lines(&self, grid: &Grid, from: usize) -> Result<(), PathFault> {
        let mut start = 0;
        for end in (0..self.marks.len()).filter(|&place| self.marks[place] > 0) {
            if start >= from && !self.is_line_free(grid, [start, end], self.cells[start]) {
                return Err(PathFault::Blocked { step: end });
            }
            start = end;
        }
        Ok(())
    }

    /// The mark of each cell of an any-angle path; empty for another path.
    pub(crate) fn marks(&self) -> &[u8] {
        &self.marks
    }

    /// Makes this path an any-angle path with these marks.
    pub(crate) fn set_marks(&mut self, marks: Vec<u8>) -> Saved<()> {
        ensure(marks.iter().all(|&mark| mark <= MIDDLE))?;
        self.marks = marks;
        Ok(())
    }

    /// Removes all cells from an index on, and all marks; the cost stays that of the whole path.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.cells.truncate(length);
        self.marks.clear();
    }

    /// Whether any edit could have made a step illegal.
    pub(crate) fn may_be_broken(&self, terrain: &Terrain) -> bool {
        let Some(mut changes) = terrain.grid().changes_since(self.version) else { return true };
        // The cells beside a diagonal step lie within the bounds as well.
        changes.any(|change| change.kind == ChangeKind::Filled && self.bounds.contain(change.cell))
    }
}

/// The mark of a point in its cell.
fn mark(point: Point) -> u8 {
    let [east, south] = [point.x, point.y].map(|it| it.rem_euclid(PARTS));
    let is_far = |part: i32| u8::from(part > PARTS / 2);
    if east == PARTS / 2 { MIDDLE } else { 1 + is_far(east) + 2 * is_far(south) }
}

/// The cells after `from` up to `to`, in one of the eight directions.
fn line(from: Cell, to: Cell) -> impl Iterator<Item = Cell> {
    let step = |from: u16, to: u16| match from.cmp(&to) {
        Ordering::Less => 1,
        Ordering::Equal => 0,
        Ordering::Greater => u16::MAX,
    };
    let (dx, dy) = (step(from.x, to.x), step(from.y, to.y));
    let count = from.x.abs_diff(to.x).max(from.y.abs_diff(to.y));
    (1..count + 1).map(move |i| {
        let (x, y) = (i.wrapping_mul(dx), i.wrapping_mul(dy));
        Cell::new(from.x.wrapping_add(x), from.y.wrapping_add(y))
    })
}

/// The smallest rectangle around some cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bounds {
    low: Cell,
    high: Cell,
}

impl Bounds {
    const NOTHING: Self = Self { low: Cell::new(u16::MAX, u16::MAX), high: Cell::new(0, 0) };

    fn include(&mut self, cell: Cell) {
        self.low = Cell::new(self.low.x.min(cell.x), self.low.y.min(cell.y));
        self.high = Cell::new(self.high.x.max(cell.x), self.high.y.max(cell.y));
    }

    fn contain(&self, cell: Cell) -> bool {
        (self.low.x..=self.high.x).contains(&cell.x) && (self.low.y..=self.high.y).contains(&cell.y)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::NOTHING
    }
}
