//! `grid_pathfinding`: jump points. It knows one rule with diagonals, which may squeeze between two
//! solid corners, so its paths are shorter than legal ones here.

use formic_nav::Cell;
use grid_pathfinding::PathingGrid;
use grid_util::grid::ValueGrid;
use grid_util::point::Point;

use crate::columns::{Column, Solver, length};
use crate::maps::Problem;

/// `None` over weights, which it does not know.
pub(crate) fn column(problem: &Problem) -> Option<Column> {
    if problem.is_weighted {
        return None;
    }
    let grid = problem.terrain.grid();
    let mut peer = PathingGrid::new(grid.width().into(), grid.height().into(), true);
    for cell in grid.cells() {
        peer.set(cell.x.into(), cell.y.into(), !grid.is_open(cell));
    }
    peer.allow_diagonal_move = true;
    // It is on by default, and slower on all of the public maps.
    peer.improved_pruning = false;
    peer.initialize();
    peer.generate_components();
    let solver = Box::new(Peer { grid: peer, path: None });
    Some(Column { name: "grid_pathfinding", solver, is_exact: false })
}

struct Peer {
    grid: PathingGrid,
    path: Option<Vec<Point>>,
}

impl Solver for Peer {
    fn solve(&mut self, start: Cell, goal: Cell) {
        let point = |cell: Cell| Point::new(cell.x.into(), cell.y.into());
        self.path = self.grid.get_path_single_goal(point(start), point(goal), false);
    }

    fn length(&self) -> Option<f64> {
        length(self.path.as_ref()?.iter().map(|point| (point.x.into(), point.y.into())))
    }
}
