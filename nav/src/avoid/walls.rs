//! The constraints of solid cells on a body: velocities that it may not choose, and where it is stopped.

use glam::Vec2;

use crate::avoid::half_plane::{HalfPlane, HalfPlanes};
use crate::cell::Cell;
use crate::direction::{ORTHOGONAL, members};
use crate::grid::Grid;
use crate::path::prune::ONWARD;

/// The maximum length of the pieces in which a motion is checked, in cells.
const PIECE_MAX: f32 = 0.5;
/// The maximum number of pieces of a motion; the rest is not walked in one tick.
const PIECE_COUNT_MAX: u16 = 64;

/// Adds the half-planes of velocities that keep a body of `radius` out of the solid cells
/// around it for the next `seconds`. Those of walls out of reach are left out.
pub(crate) fn add_half_planes(
    grid: &Grid,
    position: Vec2,
    radius: f32,
    seconds: f32,
    speed_max: f32,
    planes: &mut HalfPlanes,
) {
    let Some(cell) = Cell::containing(position).filter(|&cell| grid.contains(cell)) else { return };
    let ring = grid.ring(cell);
    let corner = Vec2::new(f32::from(cell.x), f32::from(cell.y));
    let inside = position - corner;
    for direction in members(!ring) {
        let (dx, dy) = direction.offset();
        let away = Vec2::new(-f32::from(dx), -f32::from(dy));
        let (normal, distance) = if direction.is_diagonal() {
            // The corner behind a wall does not matter.
            if ONWARD[direction as usize] & ORTHOGONAL & !ring != 0 {
                continue;
            }
            let point = Vec2::new(if dx > 0 { 1.0 } else { 0.0 }, if dy > 0 { 1.0 } else { 0.0 });
            let from = inside - point;
            let Some(normal) = from.try_normalize() else { continue };
            (normal, from.length())
        } else {
            let gap = |d: i16, at: f32| if d > 0 { 1.0 - at } else { at };
            (away, if dx != 0 { gap(dx, inside.x) } else { gap(dy, inside.y) })
        };
        // A body that is too near already may stay so, or there might be no way out of a corner.
        let least = ((radius - distance) / seconds).min(0.0);
        if least > -speed_max {
            planes.push(HalfPlane::beyond(normal, least));
        }
    }
}

/// The end of a motion that solid cells stop: it goes on along the wall.
///
/// A body in an open cell stays in open cells, whatever the motion.
pub(crate) fn slide(grid: &Grid, from: Vec2, motion: Vec2) -> Vec2 {
    if !motion.is_finite() {
        return from;
    }
    let length = motion.length();
    let count = (1..PIECE_COUNT_MAX).find(|&count| length <= f32::from(count) * PIECE_MAX);
    let count = f32::from(count.unwrap_or(PIECE_COUNT_MAX));
    let piece = (motion / count).clamp_length_max(PIECE_MAX);
    let mut position = from;
    let mut left = count;
    while left > 0.0 {
        let next = slide_piece(grid, position, piece);
        if next == position {
            break;
        }
        position = next;
        left -= 1.0;
    }
    position
}

fn slide_piece(grid: &Grid, from: Vec2, motion: Vec2) -> Vec2 {
    let along_x = Vec2::new(motion.x, 0.0);
    let along_y = Vec2::new(0.0, motion.y);
    let (longer, shorter) =
        if motion.x.abs() >= motion.y.abs() { (along_x, along_y) } else { (along_y, along_x) };
    let mut ends = [motion, longer, shorter].into_iter().map(|motion| from + motion);
    ends.find(|&to| may_go(grid, from, to)).unwrap_or(from)
}

/// Whether the straight line between two places less than a cell apart is free.
fn may_go(grid: &Grid, from: Vec2, to: Vec2) -> bool {
    let cells = Cell::containing(from).zip(Cell::containing(to));
    let Some((start, end)) = cells else { return false };
    if !grid.is_open(end) {
        return false;
    }
    if start == end || start.x == end.x || start.y == end.y {
        return true;
    }
    // Through a corner, or through one of the cells beside it, whichever.
    [Cell::new(start.x, end.y), Cell::new(end.x, start.y)]
        .into_iter()
        .all(|cell| grid.is_open(cell))
}
