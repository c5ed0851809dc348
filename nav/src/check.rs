//! Checks of paths step by step, independent of the searches.

use std::fmt;

use crate::cell::Cell;
use crate::cost::Cost;
use crate::direction::{Direction, MoveRule};
use crate::flow::wave::Ground;
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
    let (ground, mut cost) = (Ground::new(grid, rule), Cost::ZERO);
    for (pair, step) in rest.windows(2).zip(from + 1..) {
        cost += step_cost(ground, pair[0], pair[1], step)?;
    }
    Ok(cost)
}

/// The cost of a step or link from an open cell.
fn step_cost(ground: Ground<'_>, from: Cell, to: Cell, step: usize) -> Result<Cost, PathFault> {
    if !ground.grid.is_open(to) {
        return Err(PathFault::Blocked { step });
    }
    let Some(direction) = Direction::between(from, to) else {
        let links = ground.links(from).filter(|&(end, _)| end == to);
        let units = links.map(|(_, units)| units).min().ok_or(PathFault::Jump { step })?;
        return Ok(Cost::from_units(units));
    };
    if ground.moves(from) & direction.bit() == 0 {
        return Err(PathFault::CutCorner { step });
    }
    Ok(Cost::from_units(ground.step(from, direction).1))
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
