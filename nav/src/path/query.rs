//! The query given to a search.

use crate::cell::Cell;
use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::HashState;

/// The algorithm of a search.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Default, NoUninit, CheckedBitPattern, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
#[non_exhaustive]
pub enum Algorithm {
    /// Jump points, or A* if weights change from cell to cell.
    #[default]
    Auto,
    /// A*, cell by cell, for comparison. On most maps it takes much longer than jump points; where many single
    /// cells are solid at random, 0.6 to 1.4 times as long.
    AStar,
    /// The shortest any-angle path that keeps a thirty-second of a cell away from everything solid. It
    /// goes straight from corner to corner ([`Path::points`](crate::Path::points)), and its cost is that
    /// of its length.
    ///
    /// It applies to terrains by [`MoveRule::BothFree`](crate::MoveRule::BothFree) without links, on
    /// which open cells that touch have the same weight. Others are searched as by [`Algorithm::Auto`]:
    /// over weights an any-angle path would have to bend at every change.
    AnyAngle,
}

/// A start, a goal, and the options of the search.
///
/// ```
/// use formic_nav::{Algorithm, Cell, PathQuery};
/// let query = PathQuery::new(Cell::new(0, 0), Cell::new(9, 4)).within(500).by(Algorithm::AStar);
/// assert_eq!(query.expansion_count_max, 500);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathQuery {
    /// The start of the path.
    pub start: Cell,
    /// The end of the path.
    pub goal: Cell,
    /// The algorithm of the search.
    pub algorithm: Algorithm,
    /// The maximum number of cells to expand. Sixteen cells that are checked to find the one nearest to
    /// the goal count as one.
    pub expansion_count_max: u64,
    /// Whether a path to the reachable cell nearest to the goal suffices if the goal itself cannot be
    /// reached.
    pub or_nearest: bool,
}

impl PathQuery {
    /// Creates a query for a path of least cost, without a limit on the search.
    #[must_use]
    pub const fn new(start: Cell, goal: Cell) -> Self {
        let (algorithm, expansion_count_max) = (Algorithm::Auto, u64::MAX);
        Self { start, goal, algorithm, expansion_count_max, or_nearest: false }
    }

    /// Returns the query with this algorithm.
    #[must_use]
    pub const fn by(self, algorithm: Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Returns the query with [partial](crate::PathOutcome::Partial) paths allowed if the goal cannot be
    /// reached. A partial path leads to the reachable cell that would be the closest to the goal, by the
    /// length of steps of the rule, if all cells were open; of equals, to the first in reading order.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, MoveRule, Path, PathOutcome, PathQuery, PathScratch, Terrain};
    /// // A wall in column 3.
    /// let terrain = Terrain::new(Grid::from_fn(7, 1, |cell| cell.x != 3)?, MoveRule::BothFree);
    /// let query = PathQuery::new(Cell::new(0, 0), Cell::new(6, 0)).or_nearest();
    /// let mut path = Path::new();
    /// let outcome = PathScratch::new().solve(&terrain, &query, &mut path);
    /// assert!(matches!(outcome, PathOutcome::Partial { .. }));
    /// assert_eq!(path.cells().last(), Some(&Cell::new(2, 0)));
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    #[must_use]
    pub const fn or_nearest(self) -> Self {
        Self { or_nearest: true, ..self }
    }

    /// Returns the query with a maximum number of cells to expand.
    #[must_use]
    pub const fn within(self, expansion_count_max: u64) -> Self {
        Self { expansion_count_max, ..self }
    }
}
