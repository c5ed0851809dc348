//! Random cells for tests to try things on.

use formic_nav::{Cell, Grid};

use crate::rng::Rng;

/// Any cell of a grid, open or not.
pub(crate) fn any_cell(rng: &mut Rng, grid: &Grid) -> Cell {
    let x = rng.below(usize::from(grid.width()));
    let y = rng.below(usize::from(grid.height()));
    Cell::new(u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
}
