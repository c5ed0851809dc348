//! Random grids for tests to try things on.

use formic_nav::Grid;

use crate::rng::Rng;

/// A grid on which `percent` of the cells are open.
pub(crate) fn noise(rng: &mut Rng, width: u32, height: u32, percent: usize) -> Grid {
    Grid::from_fn(width, height, |_| rng.below(100) < percent).unwrap()
}
