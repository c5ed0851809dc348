//! The libraries, each used by its own fastest way to a whole path.

mod formic;
#[cfg(feature = "grid_pathfinding")]
mod grid_pathfinding;
#[cfg(feature = "hierarchical_pathfinding")]
mod hierarchical_pathfinding;
#[cfg(feature = "pathfinding")]
mod pathfinding;
mod reference;

use formic_nav::Cell;

use crate::maps::Problem;

/// One library on one map.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) solver: Box<dyn Solver>,
    /// Whether its paths must be as long as ours.
    pub(crate) is_exact: bool,
}

pub(crate) trait Solver {
    /// Finds a path, cell by cell, and keeps it.
    fn solve(&mut self, start: Cell, goal: Cell);

    /// The length of the path that was found last, in cell widths.
    fn length(&self) -> Option<f64>;
}

/// All columns that know such a problem, those of ours first, whose names begin with `formic`.
pub(crate) fn all(problem: &Problem) -> Vec<Column> {
    let mut columns = vec![formic::column(problem)];
    columns.extend(formic::with_landmarks(problem));
    columns.extend(reference::column(problem));
    #[cfg(feature = "pathfinding")]
    columns.push(pathfinding::column(problem));
    #[cfg(feature = "grid_pathfinding")]
    columns.extend(grid_pathfinding::column(problem));
    #[cfg(feature = "hierarchical_pathfinding")]
    columns.extend(hierarchical_pathfinding::column(problem));
    columns
}

/// The length of a path over cells of weight one.
#[cfg(any(feature = "grid_pathfinding", feature = "hierarchical_pathfinding"))]
fn length(mut cells: impl Iterator<Item = (i64, i64)>) -> Option<f64> {
    let mut last = cells.next()?;
    let mut sum = 0.0;
    for cell in cells {
        let (dx, dy) = ((cell.0 - last.0).abs(), (cell.1 - last.1).abs());
        sum += (dx.max(dy) - dx.min(dy)) as f64 + dx.min(dy) as f64 * std::f64::consts::SQRT_2;
        last = cell;
    }
    Some(sum)
}
