//! The push of an agent out of a cell that turned solid under it.

#[cfg(test)]
mod tests;

use glam::Vec2;

use crate::cell::Cell;
use crate::grid::Grid;

/// The distance from the sides of a cell at which an agent is put down, in cells.
const MARGIN: f32 = 0.25;

/// The place for an agent that stands at `position`: the nearest one in the nearest open cell. `None` if
/// no cell is open.
///
/// For an agent outside of the map the nearest place on its edge counts. A NaN coordinate counts as zero.
pub(crate) fn refuge(grid: &Grid, position: Vec2) -> Option<Vec2> {
    if grid.open_count() == 0 {
        return None;
    }
    let inside = |value: f32, side: u16| match value.is_nan() {
        true => 0.0,
        false => value.clamp(0.0, side.into()),
    };
    let position = Vec2::new(inside(position.x, grid.width()), inside(position.y, grid.height()));
    let cell = nearest_open(grid, position)?;
    let reach = Vec2::splat(0.5 - MARGIN);
    Some(position.clamp(cell.centre() - reach, cell.centre() + reach))
}

/// The open cell whose centre is nearest to `position`, of equals the first in
/// reading order.
fn nearest_open(grid: &Grid, position: Vec2) -> Option<Cell> {
    let middle = clamped(grid, position);
    let mut best: Option<(f32, Cell)> = None;
    for radius in 0..grid.width().max(grid.height()) {
        // Every centre on this square and beyond is at least this far away.
        let least = (f32::from(radius) - 0.5).max(0.0);
        if best.is_some_and(|(distance, _)| distance < least * least) {
            break;
        }
        for cell in grid.square(middle, radius).filter(|&cell| grid.is_open(cell)) {
            let distance = cell.centre().distance_squared(position);
            let nearer = |(other, first)| distance < other || (distance == other && cell < first);
            if best.is_none_or(nearer) {
                best = Some((distance, cell));
            }
        }
    }
    best.map(|(_, cell)| cell)
}

/// The cell of the grid under a position, or the nearest one to it.
#[expect(clippy::cast_possible_truncation, reason = "clamped to the sides of the grid first")]
fn clamped(grid: &Grid, position: Vec2) -> Cell {
    let inside = |value: f32, side: u16| value.clamp(0.0, f32::from(side - 1)) as u16;
    Cell::new(inside(position.x, grid.width()), inside(position.y, grid.height()))
}
