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
    let size = Vec2::new(grid.width().into(), grid.height().into());
    let position =
        Vec2::select(position.is_nan_mask(), Vec2::ZERO, position).clamp(Vec2::ZERO, size);
    let cell = nearest_open(grid, position)?;
    let reach = Vec2::splat(0.5 - MARGIN);
    Some(position.clamp(cell.centre() - reach, cell.centre() + reach))
}

/// The open cell whose centre is nearest to `position`, which is on the map; of equals the first in
/// reading order.
fn nearest_open(grid: &Grid, position: Vec2) -> Option<Cell> {
    let Cell { x, y } = Cell::nearest_to(position)?;
    let middle = Cell::new(x.min(grid.width() - 1), y.min(grid.height() - 1));
    let mut best: Option<(f32, Cell)> = None;
    for away in 0..grid.height() {
        // Every centre in these two rows and beyond is at least this far away.
        let least = (f32::from(away) - 0.5).max(0.0);
        if best.is_some_and(|(distance, _)| distance < least * least) {
            break;
        }
        let north = middle.y.checked_sub(away);
        let south = Some(middle.y + away).filter(|&y| away > 0 && y < grid.height());
        for y in north.into_iter().chain(south) {
            for cell in grid.nearest_in_row(Cell::new(middle.x, y)) {
                let distance = cell.centre().distance_squared(position);
                let nearer =
                    |(other, first)| distance < other || (distance == other && cell < first);
                if best.is_none_or(nearer) {
                    best = Some((distance, cell));
                }
            }
        }
    }
    best.map(|(_, cell)| cell)
}
