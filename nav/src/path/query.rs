//! The query given to a search.

use crate::cell::Cell;
use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::HashState;

/// How to search.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Default, NoUninit, CheckedBitPattern, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
#[non_exhaustive]
pub enum Algorithm {
    /// Jump points, or A* where weights change from cell to cell.
    #[default]
    Auto,
    /// A*, cell by cell. Never the faster one; to compare with.
    AStar,
    /// The shortest way at any angle, which keeps a thirty-second of a cell away from everything solid: it
    /// goes straight from corner to corner ([`Path::points`](crate::Path::points)), and its cost is that of its length.
    ///
    /// Of terrains by [`MoveRule::BothFree`](crate::MoveRule::BothFree) without links on which open cells
    /// that touch have one weight. Others are searched as by [`Algorithm::Auto`]: over weights a way at
    /// any angle would have to bend at every change.
    AnyAngle,
}

/// A start, a goal, and how to get from one to the other.
///
/// ```
/// use formic_nav::{Algorithm, Cell, PathQuery};
/// let query = PathQuery::new(Cell::new(0, 0), Cell::new(9, 4)).within(500).by(Algorithm::AStar);
/// assert_eq!(query.expansion_count_max, 500);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathQuery {
    /// Where the path begins.
    pub start: Cell,
    /// Where it is to end.
    pub goal: Cell,
    /// How to search.
    pub algorithm: Algorithm,
    /// Cells to expand before the search is given up. Sixteen cells that are looked at to
    /// find the one nearest to the goal count as one.
    pub expansion_count_max: u64,
    /// Whether a path to the reachable cell next to the goal will do where the
    /// goal itself cannot be reached.
    pub or_nearest: bool,
}

impl PathQuery {
    /// Asks for a path of least cost, however long the search takes.
    #[must_use]
    pub const fn new(start: Cell, goal: Cell) -> Self {
        let (algorithm, expansion_count_max) = (Algorithm::Auto, u64::MAX);
        Self { start, goal, algorithm, expansion_count_max, or_nearest: false }
    }

    /// The same query by a certain algorithm.
    #[must_use]
    pub const fn by(self, algorithm: Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// The same query, content with a [partial](crate::PathOutcome::Partial) path
    /// where the goal cannot be reached: to the reachable cell from which fewest steps of
    /// the rule, by their length, would lead to it if all cells were open; of equals to the
    /// first in reading order.
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

    /// The same query, given up before it expands more than so many cells.
    #[must_use]
    pub const fn within(self, expansion_count_max: u64) -> Self {
        Self { expansion_count_max, ..self }
    }
}
