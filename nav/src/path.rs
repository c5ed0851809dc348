//! Paths of least cost over weighted cells, by A*.
//!
//! P. Hart, N. Nilsson and B. Raphael, "A Formal Basis for the Heuristic
//! Determination of Minimum Cost Paths", 1968. The estimate is the octile (or
//! Manhattan) distance between cell centres times the least weight of the map:
//! consistent, so that the first expansion of a cell is its last.

pub(crate) mod nodes;
pub(crate) mod open_list;
pub(crate) mod outcome;

use crate::cell::Cell;
use crate::cost::{Cost, DIAGONAL, STRAIGHT, distance_units};
use crate::direction::{Direction, MoveRule, members};
use crate::grid::Grid;
use crate::path::nodes::NodeTable;
use crate::path::open_list::{OpenEntry, OpenList};
use crate::path::outcome::{Path, PathOutcome, Unreachable};
use crate::terrain::Terrain;

/// Finds paths, and is the memory that searches use again and again.
///
/// Keep one per thread: it serves terrains of any size, grows to the largest
/// (12 bytes a cell and the open list), and allocates nothing once it has grown.
///
/// ```
/// use nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathScratch, Terrain, Unreachable};
/// // A wall in column 2 with a gap at its southern end.
/// let grid = Grid::from_fn(5, 4, |cell| cell.x != 2 || cell.y == 3)?;
/// let mut terrain = Terrain::new(grid, MoveRule::BothFree);
/// let (start, goal) = (Cell::new(0, 0), Cell::new(4, 0));
///
/// let mut scratch = PathScratch::new();
/// let mut path = Path::new();
/// let PathOutcome::Found { cost } = scratch.find(&terrain, start, goal, &mut path) else { panic!() };
/// assert!((cost.length() - (6.0 + 2.0 * 2_f64.sqrt())).abs() < 1e-6);
/// assert_eq!(path.cells().first(), Some(&start));
/// assert_eq!(path.cells().last(), Some(&goal));
///
/// terrain.fill(Cell::new(2, 3));
/// let outcome = scratch.find(&terrain, start, goal, &mut path);
/// assert_eq!(outcome, PathOutcome::Unreachable(Unreachable::Apart));
/// # Ok::<(), nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PathScratch {
    nodes: NodeTable,
    open: OpenList,
    expansion_count: u64,
}

impl PathScratch {
    /// Scratch that holds no memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds a path of least cost and writes it to `path`, which is empty if
    /// there is none.
    ///
    /// Of several paths of least cost, which one is found is a function of the
    /// terrain, the start and the goal. A start that is the goal gives a path of
    /// that one cell.
    pub fn find(
        &mut self,
        terrain: &Terrain,
        start: Cell,
        goal: Cell,
        path: &mut Path,
    ) -> PathOutcome {
        self.find_within(terrain, start, goal, u64::MAX, path)
    }

    /// As [`PathScratch::find`], but gives up before it expands more than
    /// `expansion_count_max` cells.
    ///
    /// ```
    /// # use nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathScratch, Terrain};
    /// # let terrain = Terrain::new(Grid::from_fn(9, 9, |_| true)?, MoveRule::BothFree);
    /// # let (start, goal) = (Cell::new(0, 0), Cell::new(8, 8));
    /// let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    /// let outcome = scratch.find_within(&terrain, start, goal, 3, &mut path);
    /// assert_eq!(outcome, PathOutcome::OutOfBudget);
    /// assert_eq!(scratch.expansion_count(), 3);
    /// # Ok::<(), nav::GridSizeError>(())
    /// ```
    pub fn find_within(
        &mut self,
        terrain: &Terrain,
        start: Cell,
        goal: Cell,
        expansion_count_max: u64,
        path: &mut Path,
    ) -> PathOutcome {
        path.clear();
        self.expansion_count = 0;
        if let Err(reason) = check_ends(terrain, start, goal) {
            return PathOutcome::Unreachable(reason);
        }
        let query = Query::new(terrain, goal);
        let cost = if query.is_uniform {
            self.search::<false>(&query, start, expansion_count_max)
        } else {
            self.search::<true>(&query, start, expansion_count_max)
        };
        let Some(cost) = cost else { return PathOutcome::OutOfBudget };
        path.set_reversed(cost, terrain.version(), self.trace_back(terrain.grid(), goal));
        PathOutcome::Found { cost }
    }

    /// How many cells the last search expanded.
    #[must_use]
    pub const fn expansion_count(&self) -> u64 {
        self.expansion_count
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.nodes.bytes() + self.open.bytes()
    }

    /// Runs A* until the goal is reached, and returns its cost. `None` if the
    /// budget is spent first; that a path exists is known beforehand.
    fn search<const WEIGHTED: bool>(
        &mut self,
        query: &Query<'_>,
        start: Cell,
        expansion_count_max: u64,
    ) -> Option<Cost> {
        self.begin(query, start);
        while let Some(entry) = self.open.pop() {
            let cell = entry.cell();
            let index = query.grid.index_inside(cell);
            let cost = entry.estimate - entry.distance() * query.weight_min;
            // A cell is pushed again when a cheaper way to it turns up, and the
            // older entry is then passed over here.
            if cost != self.nodes.cost(index) {
                continue;
            }
            if cell == query.goal {
                return Some(Cost::from_units(cost));
            }
            if self.expansion_count == expansion_count_max {
                return None;
            }
            self.expansion_count += 1;
            self.expand::<WEIGHTED>(query, cell, index, cost);
        }
        unreachable!("start and goal are of one region, but no path joins them");
    }

    fn begin(&mut self, query: &Query<'_>, start: Cell) {
        self.nodes.begin(query.grid.cell_count());
        self.nodes.start(query.grid.index_inside(start));
        self.open.clear();
        self.push(query, start, 0);
    }

    #[inline]
    fn push(&mut self, query: &Query<'_>, cell: Cell, cost: u64) {
        let distance = distance_units(query.rule, cell, query.goal);
        let estimate = cost + u64::from(distance) * query.weight_min;
        self.open.push(OpenEntry::new(estimate, distance, cell));
    }

    #[inline]
    fn expand<const WEIGHTED: bool>(
        &mut self,
        query: &Query<'_>,
        cell: Cell,
        index: usize,
        cost: u64,
    ) {
        let mut moves = query.moves[usize::from(query.grid.ring(cell))];
        if let Some(arrival) = self.nodes.arrival(index) {
            moves &= !arrival.opposite().bit();
        }
        let weight =
            if WEIGHTED { query.grid.weight_inside(cell).factor() } else { query.weight_min };
        for direction in members(moves) {
            let next = direction.step_inside(cell);
            let next_index = query.grid.index_inside(next);
            let weight =
                if WEIGHTED { weight.max(query.grid.weight_inside(next).factor()) } else { weight };
            let next_cost = cost + LENGTHS[direction as usize] * weight;
            if self.nodes.improve(next_index, next_cost, direction) {
                self.push(query, next, next_cost);
            }
        }
    }

    /// The cells from the goal back to the start.
    fn trace_back<'a>(&'a self, grid: &'a Grid, goal: Cell) -> impl Iterator<Item = Cell> + 'a {
        std::iter::successors(Some(goal), |&cell| {
            let arrival = self.nodes.arrival(grid.index_inside(cell))?;
            Some(arrival.opposite().step_inside(cell))
        })
    }
}

/// Units of a step in each direction between cells of weight one.
const LENGTHS: [u64; 8] = {
    let mut lengths = [STRAIGHT as u64; 8];
    let mut i = 0;
    while i < lengths.len() {
        if Direction::ALL[i].is_diagonal() {
            lengths[i] = DIAGONAL as u64;
        }
        i += 1;
    }
    lengths
};

/// What stays the same during a search.
struct Query<'a> {
    grid: &'a Grid,
    rule: MoveRule,
    moves: &'static [u8; 256],
    goal: Cell,
    /// The least weight of the map, by which estimates are scaled.
    weight_min: u64,
    /// Whether all open cells have that weight.
    is_uniform: bool,
}

impl<'a> Query<'a> {
    fn new(terrain: &'a Terrain, goal: Cell) -> Self {
        let grid = terrain.grid();
        let (min, max) = grid.weight_range().unwrap_or_default();
        let rule = terrain.rule();
        let (moves, weight_min) = (rule.table(), min.factor());
        Self { grid, rule, moves, goal, weight_min, is_uniform: min == max }
    }
}

/// Everything that can be known about start and goal without a search.
fn check_ends(terrain: &Terrain, start: Cell, goal: Cell) -> Result<(), Unreachable> {
    let grid = terrain.grid();
    if !grid.contains(start) {
        return Err(Unreachable::StartOutside);
    }
    if !grid.is_open(start) {
        return Err(Unreachable::StartBlocked);
    }
    if !grid.contains(goal) {
        return Err(Unreachable::GoalOutside);
    }
    if !grid.is_open(goal) {
        return Err(Unreachable::GoalBlocked);
    }
    if terrain.reachable(start, goal) { Ok(()) } else { Err(Unreachable::Apart) }
}
