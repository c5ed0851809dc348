//! `pathfinding`: its A* as fast as it gets, with small nodes, integer costs, and the legal steps of
//! each cell worked out beforehand.

use formic_nav::{Cell, DIAGONAL, Direction, Grid, MoveRule, STRAIGHT};
use pathfinding::directed::astar::astar;

use crate::columns::{Column, Solver};
use crate::maps::Problem;

pub(crate) fn column(problem: &Problem) -> Column {
    let grid = problem.terrain.grid();
    let steps = grid.cells().map(|cell| legal_steps(grid, cell)).collect();
    let weight = |cell| grid.weight(cell).map_or(0, |weight| u32::from(weight.get()));
    let weights = grid.cells().map(weight).collect();
    let width = u32::from(grid.width());
    let solver = Peer { width, steps, weights, is_weighted: problem.is_weighted, found: None };
    Column { name: "pathfinding astar", solver: Box::new(solver), is_exact: true }
}

/// A bit for each direction.
fn legal_steps(grid: &Grid, cell: Cell) -> u8 {
    let bit = |next| Direction::between(cell, next).map_or(0, |direction| 1 << direction as u8);
    if !grid.is_open(cell) {
        return 0;
    }
    grid.neighbours(cell, MoveRule::BothFree).fold(0, |set, next| set | bit(next))
}

struct Peer {
    width: u32,
    steps: Vec<u8>,
    weights: Vec<u32>,
    is_weighted: bool,
    found: Option<(Vec<u32>, u32)>,
}

impl Solver for Peer {
    fn solve(&mut self, start: Cell, goal: Cell) {
        let index = |cell: Cell| u32::from(cell.y) * self.width + u32::from(cell.x);
        let (start, goal) = (index(start), index(goal));
        let width = self.width;
        let (goal_x, goal_y) = (goal % width, goal / width);
        let offsets = [
            !width,
            width.wrapping_neg(),
            1_u32.wrapping_sub(width),
            !0,
            1,
            width - 1,
            width,
            width + 1,
        ];
        let next = |&cell: &u32| {
            let steps = self.steps[cell as usize];
            let (weights, is_weighted) = (&self.weights, self.is_weighted);
            (0..8).filter(move |i| steps >> i & 1 != 0).map(move |i| {
                let next = cell.wrapping_add(offsets[i]);
                let length = if [0, 2, 5, 7].contains(&i) { DIAGONAL } else { STRAIGHT };
                let weight = || weights[cell as usize].max(weights[next as usize]);
                (next, if is_weighted { length * weight() } else { length })
            })
        };
        let rest = |&cell: &u32| {
            let (dx, dy) = ((cell % width).abs_diff(goal_x), (cell / width).abs_diff(goal_y));
            STRAIGHT * dx.max(dy) + (DIAGONAL - STRAIGHT) * dx.min(dy)
        };
        self.found = astar(&start, next, rest, |&cell| cell == goal);
    }

    fn length(&self) -> Option<f64> {
        self.found.as_ref().map(|(_, cost)| f64::from(*cost) / f64::from(STRAIGHT))
    }
}
