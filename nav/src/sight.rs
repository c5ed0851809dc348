//! Lines of sight between cells, and paths pulled straight along them.

use crate::cell::Cell;
use crate::cost::Weight;
use crate::direction::MoveRule;
use crate::grid::Grid;
use crate::line::{Point, is_before, is_free};
use crate::link::is_step;
use crate::path::outcome::Path;
use crate::terrain::Terrain;

/// Whether an agent without a width can go straight from the centre of one cell to the centre of another:
/// every cell that the line crosses is open, and the rule allows it to pass each corner between cells
/// through which it runs.
///
/// The test is exact, in integers, without tolerances.
///
/// ```
/// use formic_nav::{Cell, Grid, MoveRule, is_visible};
/// let grid = Grid::from_fn(4, 3, |cell| cell != Cell::new(1, 0))?;
/// let sees = |to| is_visible(&grid, MoveRule::BothFree, Cell::new(0, 1), to);
/// assert!(sees(Cell::new(3, 2)));
/// assert!(!sees(Cell::new(2, 0))); // through the solid cell
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[must_use]
pub fn is_visible(grid: &Grid, rule: MoveRule, from: Cell, to: Cell) -> bool {
    heaviest(grid, rule, [from, to], 0, from).is_some()
}

/// A line is near a corner if it comes to the next column and to the next row within this part of the
/// longer side, which is about a twentieth of a cell. It may be nearer to corners behind which it has come to
/// the next row, or column: what agents walk must satisfy [`is_free`] as well.
pub(crate) const NEAR: u32 = 8;

/// The maximum weight on the line between two cells, or `None` if it is blocked. With `near` above zero
/// the line must be as free beside a corner near it as through that corner. Cells before `at` on the line
/// do not count.
pub(crate) fn heaviest(
    grid: &Grid,
    rule: MoveRule,
    [from, to]: [Cell; 2],
    near: u32,
    at: Cell,
) -> Option<Weight> {
    let (dx, dy) = (u32::from(from.x.abs_diff(to.x)), u32::from(from.y.abs_diff(to.y)));
    let next_x = |x: u16| if to.x > from.x { x + 1 } else { x.wrapping_sub(1) };
    let next_y = |y: u16| if to.y > from.y { y + 1 } else { y.wrapping_sub(1) };
    let is_free = |cell| grid.is_open(cell) || is_before(cell, at, to);
    let open_weight = |cell: Cell| grid.weight(cell).filter(|_| is_free(cell));
    let mut cell = from;
    let mut heaviest = open_weight(cell)?;
    // Columns and rows that the line has crossed.
    let (mut columns, mut rows) = (0, 0);
    while cell != to {
        // Which edge of the cell comes first: the next column's, or the next row's?
        let (column, row) = ((2 * columns + 1) * dy, (2 * rows + 1) * dx);
        let corner = Cell::new(next_x(cell.x), next_y(cell.y));
        if column.abs_diff(row) <= dx.max(dy).checked_div(near).unwrap_or(0) {
            let beside =
                [Cell::new(corner.x, cell.y), Cell::new(cell.x, corner.y)].map(open_weight);
            let free_count = beside.iter().flatten().count();
            let needed = match rule {
                MoveRule::Orthogonal | MoveRule::BothFree => 2,
                MoveRule::OneFree => 1,
                MoveRule::Always => 0,
            };
            if free_count < needed {
                return None;
            }
        }
        if column == row {
            cell = corner;
            (columns, rows) = (columns + 1, rows + 1);
        } else if column < row {
            cell.x = corner.x;
            columns += 1;
        } else {
            cell.y = corner.y;
            rows += 1;
        }
        heaviest = heaviest.max(open_weight(cell)?);
    }
    Some(heaviest)
}

impl Path {
    /// Computes the cells at which an agent on this path turns, from start to goal: the string of the
    /// path, pulled tight from the start on. [`systems::follow`](crate::systems::follow) walks like this.
    ///
    /// `turns` is cleared first. From each turn the next one is visible ([`is_visible`]), or a
    /// [`Link`](crate::Link) leads there, over no cell that is heavier than those of the path that it
    /// replaces. The result is never longer than the path, and much shorter if that had to zigzag. It
    /// need not be the shortest any-angle path (A. Botea, M. Müller and J. Schaeffer smooth paths like
    /// this, 2004).
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, MoveRule, Path, PathScratch, Terrain};
    /// let terrain = Terrain::new(Grid::from_fn(20, 10, |_| true)?, MoveRule::BothFree);
    /// let (mut path, mut turns) = (Path::new(), Vec::new());
    /// let (start, goal) = (Cell::new(0, 0), Cell::new(19, 7));
    /// let _ = PathScratch::new().find(&terrain, start, goal, &mut path);
    /// assert_eq!(path.pull(&terrain, &mut turns), 410_f64.sqrt());
    /// assert_eq!(turns, [start, goal]);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    ///
    /// Returns the length of the result in cell widths without links; 0 for a path of no cells.
    pub fn pull(&self, terrain: &Terrain, turns: &mut Vec<Cell>) -> f64 {
        let cells = self.cells();
        turns.clear();
        turns.extend(cells.first());
        let (mut at, mut length) = (0, 0.0);
        while at + 1 < cells.len() {
            let next = turn_after(cells, at, cells.len(), terrain);
            let is_walked = next > at + 1 || is_step(cells[at], cells[next]);
            length += if is_walked { distance(cells[at], cells[next]) } else { 0.0 };
            turns.push(cells[next]);
            at = next;
        }
        length
    }
}

/// The index of the cell to which an agent in the centre of the one at `from` walks straight, before
/// `end`: one that is far along the path and visible, over no ground that is heavier than that of the
/// path.
pub(crate) fn turn_after(cells: &[Cell], from: usize, end: usize, terrain: &Terrain) -> usize {
    let (grid, rule) = (terrain.grid(), terrain.rule());
    let is_straight = |place: usize| {
        let way = &cells[from..=place];
        let lightest = way.iter().map(|&cell| grid.weight(cell)).min().flatten();
        let ends = [cells[from], cells[place]];
        let line = heaviest(grid, rule, ends, NEAR, cells[from]);
        way.windows(2).all(|pair| is_step(pair[0], pair[1]))
            && line.is_some_and(|heaviest| Some(heaviest) <= lightest)
            && (rule.cuts_corners() || is_free(grid, ends.map(Point::centre), cells[from]))
    };
    // The stride grows until the test fails, then shrinks.
    let (mut turn, mut stride, mut grows) = (from + 1, 1, true);
    while stride > 0 {
        let is_seen = turn + stride < end && is_straight(turn + stride);
        turn += if is_seen { stride } else { 0 };
        grows &= is_seen;
        stride = if grows { stride * 2 } else { stride / 2 };
    }
    turn
}

/// The distance between two centres.
fn distance(a: Cell, b: Cell) -> f64 {
    f64::from(a.x.abs_diff(b.x)).hypot(f64::from(a.y.abs_diff(b.y)))
}
