//! Clearance: how large an open square begins at each cell.

use crate::cell::Cell;
use crate::cost::Weight;
use crate::grid::Grid;

/// The greatest size of agents, in cells along a side.
pub const SIZE_MAX: u8 = 8;

/// Per cell the side of the largest open square whose north-western corner it is, at most a
/// certain one. Edits keep it exact.
///
/// After the true clearance of D. Harabor and A. Botea, "Hierarchical Path Planning for
/// Multi-Size Agents in Heterogeneous Environments", 2008.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clearance {
    values: Vec<u8>,
    pub(crate) max: u8,
}

impl Clearance {
    pub(crate) fn new(grid: &Grid, max: u8) -> Self {
        let mut clearance = Self { values: vec![0; grid.cell_count()], max };
        for y in (0..grid.height()).rev() {
            for x in (0..grid.width()).rev() {
                let cell = Cell::new(x, y);
                clearance.values[grid.index_inside(cell)] = clearance.measure(grid, cell);
            }
        }
        clearance
    }

    /// The clearance of a cell inside the grid.
    pub(crate) fn at(&self, grid: &Grid, cell: Cell) -> u8 {
        self.values[grid.index_inside(cell)]
    }

    /// Follows the grid after a cell inside it was dug or filled, and tells of each cell whose
    /// clearance has changed, what it was before and what it is.
    pub(crate) fn edit(&mut self, grid: &Grid, cell: Cell, mut tell: impl FnMut(Cell, u8, u8)) {
        for y in square(cell.y, self.max).rev() {
            let mut is_row_changed = false;
            for x in square(cell.x, self.max).rev() {
                let cell = Cell::new(x, y);
                let (index, after) = (grid.index_inside(cell), self.measure(grid, cell));
                let before = std::mem::replace(&mut self.values[index], after);
                if before != after {
                    is_row_changed = true;
                    tell(cell, before, after);
                }
            }
            // Each row depends on the one to the south of it.
            if !is_row_changed {
                return;
            }
        }
    }

    /// What follows for a cell from those to the east and to the south.
    fn measure(&self, grid: &Grid, cell: Cell) -> u8 {
        if !grid.is_open(cell) {
            return 0;
        }
        let (x, y) = (cell.x + 1, cell.y + 1);
        let beside = [Cell::new(x, cell.y), Cell::new(cell.x, y), Cell::new(x, y)];
        let sides = beside.map(|cell| grid.index(cell).map_or(0, |index| self.values[index]));
        let [east, south, both] = sides;
        (east.min(south).min(both) + 1).min(self.max)
    }
}

/// The columns, or rows, of the north-western corners of all squares that a cell is in.
pub(crate) fn square(place: u16, size: u8) -> std::ops::RangeInclusive<u16> {
    place.saturating_sub(u16::from(size) - 1)..=place
}

/// The heaviest cell of a square, as far as it is on the grid.
pub(crate) fn weight_of_square(grid: &Grid, corner: Cell, size: u8) -> Weight {
    let end = |place: u16, side: u16| (place + u16::from(size)).min(side);
    let rows = corner.y..end(corner.y, grid.height());
    let columns = corner.x..end(corner.x, grid.width());
    let cells = rows.flat_map(|y| columns.clone().map(move |x| Cell::new(x, y)));
    cells.map(|cell| grid.weight_inside(cell)).max().unwrap_or_default()
}
