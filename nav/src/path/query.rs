//! What is asked of a search.

use crate::cell::Cell;

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// Jump points where all cells weigh the same, and A* elsewhere.
    #[default]
    Auto,
    /// A*, cell by cell. Never the faster one; to compare with.
    AStar,
}

/// A start, a goal, and how to get from one to the other.
///
/// ```
/// use nav::{Algorithm, Cell, PathQuery};
/// let query = PathQuery::new(Cell::new(0, 0), Cell::new(9, 4)).within(500).by(Algorithm::AStar);
/// assert_eq!(query.expansion_count_max, 500);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathQuery {
    /// Where the path begins.
    pub start: Cell,
    /// Where it is to end.
    pub goal: Cell,
    /// How to search.
    pub algorithm: Algorithm,
    /// Cells to expand before the search is given up.
    pub expansion_count_max: u64,
}

impl PathQuery {
    /// Asks for a path of least cost, however long the search takes.
    #[must_use]
    pub const fn new(start: Cell, goal: Cell) -> Self {
        Self { start, goal, algorithm: Algorithm::Auto, expansion_count_max: u64::MAX }
    }

    /// The same query by a certain algorithm.
    #[must_use]
    pub const fn by(self, algorithm: Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// The same query, given up before it expands more than so many cells.
    #[must_use]
    pub const fn within(self, expansion_count_max: u64) -> Self {
        Self { expansion_count_max, ..self }
    }
}
