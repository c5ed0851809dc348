//! The constraints of solid cells on a body: velocities that it may not choose, and where it is stopped.

use glam::{BVec4A, Vec2, Vec4};

use crate::avoid::half_plane::{HalfPlanes, LANE_COUNT, Row, Vectors};
use crate::cell::Cell;
use crate::direction::{Direction, ORTHOGONAL, members};
use crate::grid::Grid;
use crate::path::prune::ONWARD;

/// The maximum length of the pieces in which a motion is checked, in cells.
const PIECE_MAX: f32 = 0.5;
/// The maximum number of pieces of a motion; the rest is not walked in one tick.
const PIECE_COUNT_MAX: u16 = 64;

/// The directions of the walls around a position in its cell, if that is on the map. The corner behind a
/// wall does not matter.
fn walls_around(grid: &Grid, position: Vec2) -> Option<(u8, Vec2)> {
    let cell = Cell::containing(position).filter(|&cell| grid.contains(cell))?;
    let solid = !grid.ring(cell);
    let is_behind = |corner: &Direction| ONWARD[*corner as usize] & ORTHOGONAL & solid != 0;
    let corners = members(solid & !ORTHOGONAL).filter(|corner| !is_behind(corner));
    let walls = corners.fold(solid & ORTHOGONAL, |walls, corner| walls | corner.bit());
    Some((walls, position - Vec2::new(f32::from(cell.x), f32::from(cell.y))))
}

/// Adds the half-planes of velocities that keep bodies of some `radii` out of the solid cells around them
/// for the next `seconds`. Those of walls out of reach are left out.
pub(crate) fn add_half_planes(
    bodies: [(&Grid, Vec2); LANE_COUNT],
    radii: Vec4,
    seconds: f32,
    speeds: Vec4,
    planes: &mut HalfPlanes,
) {
    let around = bodies.map(|(grid, position)| walls_around(grid, position).unwrap_or_default());
    let inside = Vectors::new(around.map(|(_, inside)| inside));
    for direction in members(around.iter().fold(0, |all, (walls, _)| all | walls)) {
        let (dx, dy) = direction.offset();
        let (x, y) = (f32::from(dx), f32::from(dy));
        let (normals, distances) = if direction.is_diagonal() {
            let from = inside.minus(Vectors::splat(Vec2::new(x.max(0.0), y.max(0.0))));
            let lengths = from.dot(from).sqrt();
            (from.times(lengths.recip()), lengths)
        } else {
            let gap = |d: i16, at: Vec4| if d > 0 { 1.0 - at } else { at };
            let distances = if dx != 0 { gap(dx, inside.x) } else { gap(dy, inside.y) };
            (Vectors::splat(Vec2::new(-x, -y)), distances)
        };
        // A body that is too near already may stay so, or there might be no way out of a corner.
        let least = ((radii - distances) / seconds).min(Vec4::ZERO);
        let row = Row {
            points: normals.times(least),
            directions: Vectors { x: normals.y, y: -normals.x },
        };
        let [one, two, three, four] = around.map(|(walls, _)| walls & direction.bit() != 0);
        let is_wall = BVec4A::new(one, two, three, four) & normals.x.is_finite_mask();
        planes.push(&row, is_wall, speeds);
    }
    planes.end_walls();
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
