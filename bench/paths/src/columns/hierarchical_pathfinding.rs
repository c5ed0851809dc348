//! `hierarchical_pathfinding`: ways between chunks of 16 x 16 cells, worked out beforehand. A
//! diagonal step costs it as much as a straight one, so its paths are longer.

use formic_nav::{Cell, Grid};
use hierarchical_pathfinding::prelude::{MooreNeighborhood, PathCache, PathCacheConfig};

use crate::columns::{Column, Solver, length};
use crate::maps::Problem;

/// `None` over weights, which it counts in another way.
pub(crate) fn column(problem: &Problem) -> Option<Column> {
    if problem.is_weighted {
        return None;
    }
    let grid = problem.terrain.grid().clone();
    let (width, height) = (usize::from(grid.width()), usize::from(grid.height()));
    let cache = PathCache::new(
        (width, height),
        |place| cost(&grid, place),
        MooreNeighborhood::new(width, height),
        PathCacheConfig::with_chunk_size(16),
    );
    let solver = Box::new(Peer { grid, cache, path: None });
    Some(Column { name: "hierarchical_pathfinding", solver, is_exact: false })
}

/// What it costs to walk over a cell; less than zero stands for solid.
fn cost(grid: &Grid, (x, y): (usize, usize)) -> isize {
    let cell = u16::try_from(x).ok().zip(u16::try_from(y).ok()).map(|(x, y)| Cell::new(x, y));
    if cell.is_some_and(|cell| grid.is_open(cell)) { 1 } else { -1 }
}

struct Peer {
    grid: Grid,
    cache: PathCache<MooreNeighborhood>,
    path: Option<Vec<(usize, usize)>>,
}

impl Solver for Peer {
    fn solve(&mut self, start: Cell, goal: Cell) {
        let place = |cell: Cell| (usize::from(cell.x), usize::from(cell.y));
        let path = self.cache.find_path(place(start), place(goal), |place| cost(&self.grid, place));
        // The path is there once it has been asked for cell by cell.
        self.path = path.map(|path| std::iter::once(place(start)).chain(path).collect());
    }

    fn length(&self) -> Option<f64> {
        let cells = self.path.as_ref()?.iter();
        length(cells.map(|&(x, y)| (x as i64, y as i64)))
    }
}
