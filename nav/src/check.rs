//! Checks of paths step by step, independent of the searches.

use std::fmt;

use crate::cell::Cell;
use crate::cost::{Cost, DIAGONAL, STRAIGHT};
use crate::direction::{Direction, MoveRule};
use crate::grid::Grid;

/// Computes the exact cost of a path, from its first cell to its last, and checks that every cell is open
/// and every step legal or a [`Link`](crate::Link).
///
/// It reads cells one by one and shares no code with the searches, so tests and demos use it to check
/// them.
///
/// ```
/// use formic_nav::{Cell, Grid, MoveRule, PathFault, STRAIGHT, path_cost};
/// let grid = Grid::from_fn(3, 1, |_| true)?;
/// let path = [0, 1, 2].map(|x| Cell::new(x, 0));
/// let cost = path_cost(&grid, MoveRule::BothFree, &path).unwrap();
/// assert_eq!(cost.units(), u64::from(2 * STRAIGHT));
///
/// let jump = [path[0], path[2]];
/// assert_eq!(path_cost(&grid, MoveRule::BothFree, &jump), Err(PathFault::Jump { step: 1 }));
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
///
/// # Errors
/// Returns [`PathFault`] for the first fault along the path, if any.
pub fn path_cost(grid: &Grid, rule: MoveRule, path: &[Cell]) -> Result<Cost, PathFault> {
    rest_cost(grid, rule, path, 0)
}

/// The same for the rest of a path, from the cell with index `from` on.
pub(crate) fn rest_cost(
    grid: &Grid,
    rule: MoveRule,
    path: &[Cell],
    from: usize,
) -> Result<Cost, PathFault> {
    let rest = path.get(from..).unwrap_or_default();
    if !grid.is_open(*rest.first().ok_or(PathFault::Empty)?) {
        return Err(PathFault::Blocked { step: from });
    }
    let mut cost = Cost::ZERO;
    for (pair, step) in rest.windows(2).zip(from + 1..) {
        cost += step_cost(grid, rule, pair[0], pair[1], step)?;
    }
    Ok(cost)
}

/// The cost of one step. Its number is for the fault alone.
fn step_cost(
    grid: &Grid,
    rule: MoveRule,
    from: Cell,
    to: Cell,
    step: usize,
) -> Result<Cost, PathFault> {
    if !grid.is_open(to) {
        return Err(PathFault::Blocked { step });
    }
    let Some(direction) = Direction::between(from, to) else {
        let links = grid.open_links(from, false).filter(|&(end, _)| end == to);
        let units = links.map(|(_, units)| units).min().ok_or(PathFault::Jump { step })?;
        return Ok(Cost::from_units(units));
    };
    if direction.is_diagonal() && !may_pass_diagonally(grid, rule, from, to) {
        return Err(PathFault::CutCorner { step });
    }
    let length = if direction.is_diagonal() { DIAGONAL } else { STRAIGHT };
    let weight = grid.weight(from).max(grid.weight(to)).unwrap_or_default();
    Ok(Cost::from_units(u64::from(length) * weight.factor()))
}

fn may_pass_diagonally(grid: &Grid, rule: MoveRule, from: Cell, to: Cell) -> bool {
    let beside = [Cell::new(from.x, to.y), Cell::new(to.x, from.y)];
    let free_count = beside.into_iter().filter(|&cell| grid.is_open(cell)).count();
    match rule {
        MoveRule::Orthogonal => false,
        MoveRule::BothFree => free_count == 2,
        MoveRule::OneFree => free_count >= 1,
        MoveRule::Always => true,
    }
}

/// The fault of an illegal path. Step `i` is the one that enters cell `i` of the path; step 0 stands for
/// its first cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PathFault {
    /// The path has no cells.
    Empty,
    /// The cell entered is solid or outside of the grid.
    Blocked {
        /// The number of the step.
        step: usize,
    },
    /// The two cells do not touch, and no link joins them, or they are the same.
    Jump {
        /// The number of the step.
        step: usize,
    },
    /// The rule forbids this diagonal.
    CutCorner {
        /// The number of the step.
        step: usize,
    },
}

impl PathFault {
    /// The number of the step.
    pub(crate) const fn step(self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Blocked { step } | Self::Jump { step } | Self::CutCorner { step } => step,
        }
    }
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the path has no cells"),
            Self::Blocked { step } => write!(f, "step {step} enters a solid cell"),
            Self::Jump { step } => write!(f, "step {step} goes to a cell that does not touch"),
            Self::CutCorner { step } => write!(f, "step {step} cuts a corner"),
        }
    }
}

impl std::error::Error for PathFault {}
