//! Paths of least cost between two cells.
//!
//! Searches use jump points (`path/jump.rs`), or A* (`path/a_star.rs`) if weights change from cell to
//! cell. Both are exact, and their costs are equal to the unit. Shortest any-angle paths
//! (`path/any_angle.rs`) are a separate problem.

pub(crate) mod a_star;
pub(crate) mod any_angle;
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
use crate::direction::MoveRule;
use crate::grid::change::GridVersion;
use crate::line::Point;
use crate::path::a_star::{AStar, Query};
use crate::path::any_angle::{AnyAngle, AnyAngleSearch};
use crate::path::frontier::Frontier;
use crate::path::jump::JumpSearch;
use crate::path::nearest::Nearest;
use crate::path::outcome::{Path, PathOutcome, Unreachable};
use crate::path::query::{Algorithm, PathQuery};
use crate::path::trace::trace_back;
use crate::terrain::Terrain;

/// A path finder, and the memory that its searches reuse.
///
/// Keep one per thread. It serves terrains of any size, grows to the largest, and allocates nothing once
/// it has grown. If all cells weigh the same, it takes some 50 bytes for each jump point of the longest
/// search, of which there are few, and nothing for other cells. Over weights it takes 16 bytes a cell and
/// the open lists.
///
/// ```
/// use formic_nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathScratch, Terrain, Unreachable};
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
/// assert_eq!(outcome, PathOutcome::Unreachable(Unreachable::Disconnected));
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PathScratch {
    a_star: AStar,
    frontier: Frontier,
    any_angle: AnyAngle,
    expansion_count: u64,
    /// The number of cells that the last query looked at to find the one nearest to its goal.
    looked_at_count: u64,
    interrupted: Option<Interrupted>,
}

/// The number of cells whose region can be checked in the time of one expansion.
const CELLS_PER_EXPANSION: u64 = 16;

/// A search that ran out of budget and can be resumed.
#[derive(Clone, Copy, Debug)]
struct Interrupted {
    query: PathQuery,
    stage: Stage,
    /// The version of the terrain at that time.
    version: GridVersion,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Looks for the cell nearest to the goal, which cannot be reached for this reason.
    Looking(Nearest, Unreachable),
    /// Searches for a path to a target, or is about to begin.
    Searching { target: Target, is_begun: bool },
}

/// The cell to which a search finds a path.
#[derive(Clone, Copy, Debug)]
struct Target {
    cell: Cell,
    /// The reason why it is not the goal, if it is not.
    reason: Option<Unreachable>,
}

impl PathScratch {
    /// Creates a `PathScratch` that holds no memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds a path of least cost and writes it to `path`, which is empty if there is none.
    ///
    /// Which of several paths of least cost is found is a function of the terrain, the start and the
    /// goal. If the start is the goal, the path has that one cell.
    pub fn find(
        &mut self,
        terrain: &Terrain,
        start: Cell,
        goal: Cell,
        path: &mut Path,
    ) -> PathOutcome {
        self.solve(terrain, &PathQuery::new(start, goal), path)
    }

    /// Answers a query, and writes the path to `path`, which is empty if there is none.
    ///
    /// ```
    /// use formic_nav::{Algorithm, Cell, Grid, MoveRule, Path, PathQuery, PathScratch, Terrain};
    /// let terrain = Terrain::new(Grid::from_fn(30, 30, |_| true)?, MoveRule::BothFree);
    /// let query = PathQuery::new(Cell::new(2, 3), Cell::new(25, 9));
    /// let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    /// let by_jumping = scratch.solve(&terrain, &query, &mut path);
    /// let by_steps = scratch.solve(&terrain, &query.by(Algorithm::AStar), &mut path);
    /// assert_eq!(by_jumping, by_steps);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    pub fn solve(&mut self, terrain: &Terrain, query: &PathQuery, path: &mut Path) -> PathOutcome {
        self.reset(path);
        let stage = match check_ends(terrain, query.start, query.goal) {
            Ok(()) => {
                let target = Target { cell: query.goal, reason: None };
                Stage::Searching { target, is_begun: false }
            }
            Err(reason) => {
                // Solid starts have no region, and no path.
                let region = terrain.region(query.start).filter(|_| query.or_nearest);
                let Some(region) = region else { return PathOutcome::Unreachable(reason) };
                Stage::Looking(Nearest::new(terrain, region, query.goal), reason)
            }
        };
        self.go_on(terrain, query, stage, path)
    }

    /// Continues from a stage, within the budget of the query.
    fn go_on(
        &mut self,
        terrain: &Terrain,
        query: &PathQuery,
        stage: Stage,
        path: &mut Path,
    ) -> PathOutcome {
        let (target, is_begun) = match stage {
            Stage::Searching { target, is_begun } => (target, is_begun),
            Stage::Looking(mut nearest, reason) => {
                let count_max = query.expansion_count_max.saturating_mul(CELLS_PER_EXPANSION);
                let (cell, looked_at_count) = nearest.run(terrain, count_max);
                self.looked_at_count = looked_at_count;
                let Some(cell) = cell else {
                    return self.interrupt(terrain, query, Stage::Looking(nearest, reason));
                };
                (Target { cell, reason: Some(reason) }, false)
            }
        };
        let left = query.expansion_count_max - self.charge();
        if left == 0 {
            return self.interrupt(terrain, query, Stage::Searching { target, is_begun });
        }
        let Some(cost) = self.run(terrain, &query.within(left), target.cell, is_begun, path) else {
            return self.interrupt(terrain, query, Stage::Searching { target, is_begun: true });
        };
        match target.reason {
            None => PathOutcome::Found { cost },
            Some(reason) => PathOutcome::Partial { cost, reason },
        }
    }

    /// Resumes the search that last ran out of budget, for up to `expansion_count_max` more expansions.
    ///
    /// The result and the total number of expansions are the same as without the interruptions, so a long
    /// search can be spread over many ticks. If the terrain was edited in between, or this is another
    /// one, the search begins anew.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathQuery, PathScratch, Terrain};
    /// let grid = Grid::from_fn(40, 40, |cell| (cell.x * 5 + cell.y * 3) % 7 > 0)?;
    /// let terrain = Terrain::new(grid, MoveRule::BothFree);
    /// let (start, goal) = (Cell::new(1, 0), Cell::new(38, 38));
    /// let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    ///
    /// let query = PathQuery::new(start, goal).within(10);
    /// let mut outcome = scratch.solve(&terrain, &query, &mut path);
    /// let mut ticks = 1;
    /// while outcome == PathOutcome::OutOfBudget {
    ///     outcome = scratch.resume(&terrain, 10, &mut path);
    ///     ticks += 1;
    /// }
    /// assert!(ticks > 1);
    /// assert_eq!(outcome, PathScratch::new().find(&terrain, start, goal, &mut path));
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the last search did not end with [`PathOutcome::OutOfBudget`].
    pub fn resume(
        &mut self,
        terrain: &Terrain,
        expansion_count_max: u64,
        path: &mut Path,
    ) -> PathOutcome {
        let interrupted = self.interrupted.expect("there is a search to go on with");
        let query = PathQuery { expansion_count_max, ..interrupted.query };
        if interrupted.version != terrain.version() {
            return self.solve(terrain, &query, path);
        }
        self.reset(path);
        self.go_on(terrain, &query, interrupted.stage, path)
    }

    /// The number of cells that the last search expanded; after a [resume](PathScratch::resume), those
    /// since then.
    #[must_use]
    pub const fn expansion_count(&self) -> u64 {
        self.expansion_count
    }

    /// The cost of the last search, in expansions. It includes looking for the cell nearest to a goal, at
    /// [`CELLS_PER_EXPANSION`] cells to an expansion.
    pub(crate) const fn charge(&self) -> u64 {
        self.expansion_count + self.looked_at_count.div_ceil(CELLS_PER_EXPANSION)
    }

    /// Memory held, in bytes. Of the hash table of any-angle searches, the room for its entries counts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.a_star.bytes() + self.frontier.bytes() + self.any_angle.bytes()
    }

    fn reset(&mut self, path: &mut Path) {
        path.clear();
        self.expansion_count = 0;
        self.looked_at_count = 0;
        self.interrupted = None;
    }

    /// Searches for a path that exists, from the start or resumed. Returns its cost, or `None` once the
    /// budget is spent.
    fn run(
        &mut self,
        terrain: &Terrain,
        query: &PathQuery,
        target: Cell,
        is_resumed: bool,
        path: &mut Path,
    ) -> Option<Cost> {
        let (grid, rule, version) = (terrain.grid(), terrain.rule(), terrain.version());
        let PathQuery { algorithm, expansion_count_max, .. } = *query;
        let start = Some(query.start).filter(|_| !is_resumed);
        let may_jump = terrain.may_jump() && algorithm != Algorithm::AStar;
        // All cells of the region have this weight.
        let is_uniform = may_jump && terrain.lanes().mixed_count() == 0;
        let factor = grid.weight_inside(query.start).factor();
        if is_uniform && algorithm == Algorithm::AnyAngle && rule == MoveRule::BothFree {
            let mut search = AnyAngleSearch::new(grid, &mut self.any_angle, target);
            let found = search.run(start, expansion_count_max);
            self.expansion_count = search.expansion_count;
            let (turn, length) = found?;
            let (cost, goal) = (Cost::of_length(length, factor), Point::centre(target));
            path.set_points_reversed(cost, terrain, goal, self.any_angle.trace_back(goal, turn));
            return Some(cost);
        }
        if may_jump {
            let mut search = JumpSearch::new(terrain, &mut self.frontier, target);
            let found = search.run(rule, start, expansion_count_max);
            self.expansion_count = search.expansion_count;
            let number = found?;
            let units = self.frontier.node(number).cost();
            let cost = Cost::from_units(if is_uniform { units * factor } else { units });
            path.set_corners_reversed(cost, version, trace_back(&self.frontier, rule, number));
            return Some(cost);
        }
        let a_star = Query::new(terrain, query.start, target);
        if !is_resumed {
            self.a_star.begin(&a_star);
        }
        let found = self.a_star.run(&a_star, expansion_count_max);
        self.expansion_count = self.a_star.expansion_count;
        let cost = found?;
        let [to_start, to_goal] = self.a_star.halves(&a_star);
        path.set_halves(cost, version, to_start, to_goal);
        Some(cost)
    }

    /// Stores a search that has run out of budget.
    fn interrupt(&mut self, terrain: &Terrain, query: &PathQuery, stage: Stage) -> PathOutcome {
        self.interrupted = Some(Interrupted { query: *query, stage, version: terrain.version() });
        PathOutcome::OutOfBudget
    }
}

/// Checks everything about start and goal that can be known without a search.
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
    if terrain.reachable(start, goal) { Ok(()) } else { Err(Unreachable::Disconnected) }
}
