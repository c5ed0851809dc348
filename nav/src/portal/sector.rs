//! Sectors: the squares that a map is divided into, and the gates between them.

use crate::cell::Cell;
use crate::cost::Weight;
use crate::grid::Grid;

/// Cells along each side of a sector; those at the end of a map may be smaller.
pub(crate) const SECTOR_SIDE: u16 = 16;
/// The most gates that a sector can have: runs of one cell all along each side.
pub(crate) const GATE_COUNT_MAX: usize = 64;
/// From this length on, a run has a gate at each end instead of one in its middle.
const LONG_RUN: u16 = 6;

/// A step over the border of a sector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gate {
    /// The cell inside.
    pub(crate) cell: Cell,
    /// The cell outside that the step leads to.
    pub(crate) across: Cell,
}

/// How a map is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sectors {
    width: u16,
    height: u16,
    columns: u16,
    rows: u16,
}

/// The cells of a sector: from `low` up to but without `high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) low: Cell,
    pub(crate) high: Cell,
}

impl Extent {
    pub(crate) const fn contains(self, cell: Cell) -> bool {
        self.low.x <= cell.x && cell.x < self.high.x && self.low.y <= cell.y && cell.y < self.high.y
    }
}

impl Sectors {
    pub(crate) fn new(grid: &Grid) -> Self {
        let (width, height) = (grid.width(), grid.height());
        let (columns, rows) = (width.div_ceil(SECTOR_SIDE), height.div_ceil(SECTOR_SIDE));
        Self { width, height, columns, rows }
    }

    pub(crate) fn count(self) -> usize {
        usize::from(self.columns) * usize::from(self.rows)
    }

    /// The number of the sector that a cell inside the grid is in.
    pub(crate) fn number(self, cell: Cell) -> usize {
        let (column, row) = (cell.x / SECTOR_SIDE, cell.y / SECTOR_SIDE);
        usize::from(row) * usize::from(self.columns) + usize::from(column)
    }

    /// The cells of the sector that has this cell.
    pub(crate) fn extent(self, cell: Cell) -> Extent {
        let begin = |place: u16| place - place % SECTOR_SIDE;
        let low = Cell::new(begin(cell.x), begin(cell.y));
        let high = Cell::new(
            (low.x + SECTOR_SIDE).min(self.width),
            (low.y + SECTOR_SIDE).min(self.height),
        );
        Extent { low, high }
    }

    /// The first cell of a sector.
    pub(crate) fn corner(self, number: usize) -> Cell {
        let columns = usize::from(self.columns);
        let place = |sector: usize| u16::try_from(sector).expect("few sectors") * SECTOR_SIDE;
        Cell::new(place(number % columns), place(number / columns))
    }

    /// The sectors that a change of a cell bears upon: its own, and those whose
    /// border it lies on. The same one may be named twice.
    pub(crate) fn touched(self, cell: Cell) -> impl Iterator<Item = usize> {
        let (west, north) = (cell.x.saturating_sub(1), cell.y.saturating_sub(1));
        let (east, south) = ((cell.x + 1).min(self.width - 1), (cell.y + 1).min(self.height - 1));
        let around = [
            cell,
            Cell::new(west, cell.y),
            Cell::new(east, cell.y),
            Cell::new(cell.x, north),
            Cell::new(cell.x, south),
        ];
        around.into_iter().map(move |cell| self.number(cell))
    }

    /// Lists the gates of the sector that has the cell `corner`, side by side.
    /// The sector on the other side of each lists its twin.
    pub(crate) fn gates(self, grid: &Grid, corner: Cell, gates: &mut Vec<Gate>) {
        gates.clear();
        let Extent { low, high } = self.extent(corner);
        let mut side = |length: u16, is_there: bool, step: &dyn Fn(u16) -> Gate| {
            if is_there {
                runs(length, |place| weight(grid, step(place)), |place| gates.push(step(place)));
            }
        };
        let (columns, rows) = (high.x - low.x, high.y - low.y);
        let gate = |x, y, to_x, to_y| Gate { cell: Cell::new(x, y), across: Cell::new(to_x, to_y) };
        side(columns, low.y > 0, &|i| gate(low.x + i, low.y, low.x + i, low.y - 1));
        side(columns, high.y < self.height, &|i| gate(low.x + i, high.y - 1, low.x + i, high.y));
        side(rows, low.x > 0, &|i| gate(low.x, low.y + i, low.x - 1, low.y + i));
        side(rows, high.x < self.width, &|i| gate(high.x - 1, low.y + i, high.x, low.y + i));
        debug_assert!(gates.len() <= GATE_COUNT_MAX);
    }
}

/// The weight of a step, or `None` if it is blocked.
fn weight(grid: &Grid, gate: Gate) -> Option<Weight> {
    let is_open = grid.is_open(gate.cell) && grid.is_open(gate.across);
    is_open.then(|| grid.weight_inside(gate.cell).max(grid.weight_inside(gate.across)))
}

/// Calls `found` with the places of the gates in each run of passable places. A run
/// ends where the weight changes, or light steps would be left for heavy ones.
fn runs(length: u16, weight: impl Fn(u16) -> Option<Weight>, mut found: impl FnMut(u16)) {
    let mut run: Option<(u16, Weight)> = None;
    for place in 0..=length {
        let here = if place < length { weight(place) } else { None };
        if run.map(|(_, weight)| weight) == here {
            continue;
        }
        if let Some((begin, _)) = run {
            if place - begin < LONG_RUN {
                found(begin + (place - begin) / 2);
            } else {
                found(begin);
                found(place - 1);
            }
        }
        run = here.map(|weight| (place, weight));
    }
}
