//! Ways inside of one sector, by Dijkstra's algorithm over its few cells.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::cell::Cell;
use crate::cost::{DIAGONAL, STRAIGHT};
use crate::direction::{Direction, MoveRule, members};
use crate::grid::Grid;
use crate::portal::sector::{Extent, SECTOR_SIDE};

const CELL_COUNT: usize = SECTOR_SIDE as usize * SECTOR_SIDE as usize;
/// The cost of a cell that cannot be reached inside of the sector. Ways inside of
/// it have at most 255 steps, so all others are less.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// The ways from one cell to all others of its sector.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    low: Cell,
    costs: [u32; CELL_COUNT],
    /// By discriminant; only those of cells that were reached say something.
    arrivals: [u8; CELL_COUNT],
    queue: BinaryHeap<Reverse<(u32, u16)>>,
}

/// The arrival of the first cell.
const START: u8 = 8;

impl Local {
    pub(crate) fn new() -> Self {
        let (costs, arrivals) = ([UNREACHED; CELL_COUNT], [START; CELL_COUNT]);
        Self { low: Cell::new(0, 0), costs, arrivals, queue: BinaryHeap::new() }
    }

    /// Finds the ways from a cell, until one to `until` is known if that is given.
    pub(crate) fn run(
        &mut self,
        grid: &Grid,
        rule: MoveRule,
        extent: Extent,
        from: Cell,
        until: Option<Cell>,
    ) {
        self.low = extent.low;
        self.costs.fill(UNREACHED);
        self.queue.clear();
        let first = self.place(from);
        self.costs[usize::from(first)] = 0;
        self.arrivals[usize::from(first)] = START;
        self.queue.push(Reverse((0, first)));
        while let Some(Reverse((cost, place))) = self.queue.pop() {
            let cell = self.cell(place);
            if until == Some(cell) {
                return;
            }
            if cost == self.costs[usize::from(place)] {
                self.expand(grid, rule, extent, cell, cost);
            }
        }
    }

    fn expand(&mut self, grid: &Grid, rule: MoveRule, extent: Extent, cell: Cell, cost: u32) {
        let weight = u32::from(grid.weight_inside(cell).get());
        for direction in members(rule.table()[usize::from(grid.ring(cell))]) {
            let next = direction.step_inside(cell);
            if !extent.contains(next) {
                continue;
            }
            let length = if direction.is_diagonal() { DIAGONAL } else { STRAIGHT };
            let next_cost = cost + length * weight.max(grid.weight_inside(next).get().into());
            let place = self.place(next);
            if next_cost < self.costs[usize::from(place)] {
                self.costs[usize::from(place)] = next_cost;
                self.arrivals[usize::from(place)] = direction as u8;
                self.queue.push(Reverse((next_cost, place)));
            }
        }
    }

    /// The cost of the way to a cell of the sector, or [`UNREACHED`].
    pub(crate) fn cost(&self, cell: Cell) -> u32 {
        self.costs[usize::from(self.place(cell))]
    }

    /// The cells from one that was reached back to the first, both included.
    pub(crate) fn trace_back(&self, cell: Cell) -> impl Iterator<Item = Cell> + '_ {
        std::iter::successors(Some(cell), |&cell| {
            let arrival = self.arrivals[usize::from(self.place(cell))];
            let arrival = Direction::ALL.get(usize::from(arrival))?;
            Some(arrival.opposite().step_inside(cell))
        })
    }

    fn place(&self, cell: Cell) -> u16 {
        (cell.y - self.low.y) * SECTOR_SIDE + cell.x - self.low.x
    }

    fn cell(&self, place: u16) -> Cell {
        Cell::new(self.low.x + place % SECTOR_SIDE, self.low.y + place / SECTOR_SIDE)
    }
}
