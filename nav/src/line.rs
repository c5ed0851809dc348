//! Straight lines between points that need not be the centres of cells.

use glam::Vec2;

use crate::cell::Cell;
use crate::grid::Grid;

/// The number of parts of a cell that are the unit of points. Corners at which a path turns are whole
/// numbers of parts.
pub(crate) const PARTS: i32 = 32;

/// A point, in parts of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    pub(crate) x: i32,
    pub(crate) y: i32,
}

impl Point {
    pub(crate) fn centre(cell: Cell) -> Self {
        Self::new(cell, PARTS / 2, PARTS / 2)
    }

    /// Creates the point so many parts east and south of the north-western corner of a cell.
    pub(crate) fn new(cell: Cell, east: i32, south: i32) -> Self {
        Self { x: PARTS * i32::from(cell.x) + east, y: PARTS * i32::from(cell.y) + south }
    }

    /// The cell of a grid that contains the point.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies in a grid"
    )]
    pub(crate) const fn cell(self) -> Cell {
        Cell::new((self.x / PARTS) as u16, (self.y / PARTS) as u16)
    }

    /// The same point, in cells. Exact.
    pub(crate) fn position(self) -> Vec2 {
        Vec2::new(self.x as f32, self.y as f32) / PARTS as f32
    }

    pub(crate) fn distance(self, other: Self) -> f64 {
        let (dx, dy) = (f64::from(self.x - other.x), f64::from(self.y - other.y));
        (dx * dx + dy * dy).sqrt()
    }
}

/// Whether a cell of a line to `end` comes before `at`.
pub(crate) const fn is_before(cell: Cell, at: Cell, end: Cell) -> bool {
    cell.x.abs_diff(end.x) > at.x.abs_diff(end.x) || cell.y.abs_diff(end.y) > at.y.abs_diff(end.y)
}

/// Whether a line keeps a part of a cell away from everything solid, in columns and in rows. The points
/// themselves must. Cells before `at` on the line do not count. The test is exact, in integers.
pub(crate) fn is_free(grid: &Grid, [from, to]: [Point; 2], at: Cell) -> bool {
    let end = to.cell();
    let [north, south] = if from.y < to.y { [from, to] } else { [to, from] };
    let (dx, dy) = (i64::from(south.x - north.x), i64::from(south.y - north.y));
    // Columns of the line, times `scale`, at a height.
    let scale = dy.max(1);
    let column_at = |y: i32| i64::from(north.x) * scale + i64::from(y - north.y) * dx;
    let cells_of = |y: i32| {
        let high = (PARTS * y - 1).max(north.y);
        let low = (PARTS * y + PARTS + 1).min(south.y);
        let ends = if dy > 0 {
            [column_at(high), column_at(low)]
        } else {
            [north.x, south.x].map(i64::from)
        };
        let [west, east] = if ends[0] < ends[1] { ends } else { [ends[1], ends[0]] };
        let part = i64::from(PARTS) * scale;
        // A solid cell extends by a part beyond its sides, which themselves are free.
        let first = (west - part - scale).div_euclid(part) + 1;
        let last = (east + scale - 1).div_euclid(part);
        first..=last
    };
    let first_row = (north.y - PARTS - 1).div_euclid(PARTS) + 1;
    let last_row = south.y.div_euclid(PARTS);
    (first_row..=last_row).all(|y| {
        cells_of(y).all(|x| {
            let cell = u16::try_from(x).ok().zip(u16::try_from(y).ok());
            cell.map(|(x, y)| Cell::new(x, y))
                .is_some_and(|it| grid.is_open(it) || is_before(it, at, end))
        })
    })
}

/// Appends the cells along a line that is [free](is_free), after its first one: by diagonal steps, if
/// these are legal beside it.
pub(crate) fn append_cells(grid: &Grid, [from, to]: [Point; 2], cells: &mut Vec<Cell>) {
    let (dx, dy) = (i64::from((to.x - from.x).abs()), i64::from((to.y - from.y).abs()));
    let end = to.cell();
    let step = |at: u16, end: u16| if end > at { at + 1 } else { at.saturating_sub(1) };
    // From the beginning of the line to the far side of a cell.
    let ahead = |at: u16, from: i32, end: u16| {
        let side = PARTS * (i32::from(at) + i32::from(end > at));
        i64::from((side - from).abs())
    };
    let mut cell = from.cell();
    while cell != end {
        let column = Cell::new(step(cell.x, end.x), cell.y);
        let row = Cell::new(cell.x, step(cell.y, end.y));
        // Which side does it come to first, and is the other one the next?
        let (to_column, to_row) =
            (ahead(cell.x, from.x, end.x) * dy, ahead(cell.y, from.y, end.y) * dx);
        let part = i64::from(PARTS);
        let is_near = to_row <= to_column + part * dy && to_column <= to_row + part * dx;
        cell = if cell.y == end.y {
            column
        } else if cell.x == end.x {
            row
        } else if is_near && grid.is_open(column) && grid.is_open(row) {
            Cell::new(column.x, row.y)
        } else if to_column < to_row {
            column
        } else {
            row
        };
        cells.push(cell);
    }
}
