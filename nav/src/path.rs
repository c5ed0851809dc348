//! Paths of least cost between two cells.
//!
//! Where all cells weigh the same, by jump points (`path/jump.rs`); over weights,
//! by A* (`path/a_star.rs`). Both are exact and cost the same to the unit.

pub(crate) mod a_star;
pub(crate) mod frontier;
pub(crate) mod jump;
pub(crate) mod nearest;
pub(crate) mod nodes;
pub(crate) mod open_list;
pub(crate) mod outcome;
pub(crate) mod prune;
pub(crate) mod query;
pub(crate) mod trace;

use crate::cell::Cell;
use crate::cost::Cost;
use crate::path::a_star::{AStar, Query};
use crate::path::frontier::Frontier;
use crate::path::jump::{JumpOutcome, JumpSearch};
use crate::path::nearest::nearest;
use crate::path::outcome::{Path, PathOutcome, Unreachable};
use crate::path::query::{Algorithm, PathQuery};
use crate::path::trace::trace_back;
use crate::terrain::Terrain;

/// Finds paths, and is the memory that searches use again and again.
///
/// Keep one per thread: it serves terrains of any size, grows to the largest,
/// and allocates nothing once it has grown. Where all cells weigh the same it
/// takes some 50 bytes for each jump point of the longest search, of which there
/// are few, and nothing for other cells. Over weights it takes 8 bytes a cell and
/// the open list.
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
    a_star: AStar,
    frontier: Frontier,
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
        self.solve(terrain, &PathQuery::new(start, goal), path)
    }

    /// As [`PathScratch::find`], but gives up before it expands more than
    /// `expansion_count_max` cells.
    ///
    /// ```
    /// # use nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathScratch, Terrain};
    /// # let grid = Grid::from_fn(9, 9, |cell| (cell.x * 5 + cell.y * 3) % 7 > 0)?;
    /// # let terrain = Terrain::new(grid, MoveRule::BothFree);
    /// # let (start, goal) = (Cell::new(1, 0), Cell::new(8, 8));
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
        let query = PathQuery::new(start, goal).within(expansion_count_max);
        self.solve(terrain, &query, path)
    }

    /// Answers a query, and writes the path to `path`, which is empty if there is
    /// none.
    ///
    /// ```
    /// use nav::{Algorithm, Cell, Grid, MoveRule, Path, PathQuery, PathScratch, Terrain};
    /// let terrain = Terrain::new(Grid::from_fn(30, 30, |_| true)?, MoveRule::BothFree);
    /// let query = PathQuery::new(Cell::new(2, 3), Cell::new(25, 9));
    /// let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    /// let by_jumping = scratch.solve(&terrain, &query, &mut path);
    /// let by_steps = scratch.solve(&terrain, &query.by(Algorithm::AStar), &mut path);
    /// assert_eq!(by_jumping, by_steps);
    /// # Ok::<(), nav::GridSizeError>(())
    /// ```
    pub fn solve(&mut self, terrain: &Terrain, query: &PathQuery, path: &mut Path) -> PathOutcome {
        path.clear();
        self.expansion_count = 0;
        let Err(reason) = check_ends(terrain, query.start, query.goal) else {
            let found = self.search(terrain, query, path);
            return found.map_or(PathOutcome::OutOfBudget, |cost| PathOutcome::Found { cost });
        };
        // Solid starts have no region, and no way out.
        let region = terrain.region(query.start).filter(|_| query.or_nearest);
        let Some(region) = region else { return PathOutcome::Unreachable(reason) };
        let goal = nearest(terrain, region, query.goal);
        let found = self.search(terrain, &PathQuery { goal, ..*query }, path);
        found.map_or(PathOutcome::OutOfBudget, |cost| PathOutcome::Partial { cost, reason })
    }

    /// How many cells the last search expanded.
    #[must_use]
    pub const fn expansion_count(&self) -> u64 {
        self.expansion_count
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.a_star.bytes() + self.frontier.bytes()
    }

    /// Searches where a path exists.
    fn search(&mut self, terrain: &Terrain, query: &PathQuery, path: &mut Path) -> Option<Cost> {
        let (grid, rule) = (terrain.grid(), terrain.rule());
        let a_star = Query::new(grid, rule, query.goal);
        if a_star.is_uniform && query.algorithm != Algorithm::AStar {
            let mut search = JumpSearch::new(terrain.lanes(), &mut self.frontier, query.goal);
            let outcome = search.run(rule, query.start, query.expansion_count_max);
            self.expansion_count = search.expansion_count;
            match outcome {
                JumpOutcome::Found(number) => {
                    let units = u64::from(self.frontier.node(number).cost) * a_star.weight_min;
                    let cost = Cost::from_units(units);
                    let corners = trace_back(&self.frontier, rule, number);
                    path.set_corners_reversed(cost, terrain.version(), corners);
                    return Some(cost);
                }
                JumpOutcome::OutOfBudget => return None,
                JumpOutcome::TooLong => {}
            }
        }
        let cost = self.a_star.run(&a_star, query.start, query.expansion_count_max);
        self.expansion_count = self.a_star.expansion_count;
        let cells = self.a_star.trace_back(grid, query.goal);
        path.set_reversed(cost?, terrain.version(), cells);
        cost
    }
}

/// Everything that can be known about start and goal without a search.
pub(crate) fn check_ends(terrain: &Terrain, start: Cell, goal: Cell) -> Result<(), Unreachable> {
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
