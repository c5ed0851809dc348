//! The shortest way between two cells that keeps a part of a cell away from everything solid: a graph of all
//! corners that see each other, for tests to judge searches at any angle by.

use formic_nav::{Cell, Grid};

/// A point in parts of a cell.
pub(crate) type Point = (i64, i64);

/// So many parts make a cell, and ways keep one of them away from what is solid.
pub(crate) const PARTS: i64 = 32;

pub(crate) fn centre(cell: Cell) -> Point {
    (PARTS * i64::from(cell.x) + PARTS / 2, PARTS * i64::from(cell.y) + PARTS / 2)
}

/// Where solid cells begin and end, a part beyond their sides; those around the map are solid.
pub(crate) fn obstacles(grid: &Grid) -> Vec<[i64; 4]> {
    let (width, height) = (i64::from(grid.width()), i64::from(grid.height()));
    let is_open = |x: i64, y: i64| {
        let cell = u16::try_from(x).ok().zip(u16::try_from(y).ok());
        cell.is_some_and(|(x, y)| grid.is_open(Cell::new(x, y)))
    };
    let around = (-1..=height).flat_map(|y| (-1..=width).map(move |x| (x, y)));
    let solid = around.filter(|&(x, y)| !is_open(x, y));
    let [before, behind] = [-1, PARTS + 1];
    let sides = |(x, y)| [x + before, y + before, x + behind, y + behind];
    solid.map(|(x, y)| sides((PARTS * x, PARTS * y))).collect()
}

/// Whether a line stays out of the insides of all obstacles: none of them has corners on both sides of it
/// where it lies beside it.
pub(crate) fn is_clear(obstacles: &[[i64; 4]], from: Point, to: Point) -> bool {
    obstacles.iter().all(|&[west, north, east, south]| {
        let side = |x: i64, y: i64| (to.0 - from.0) * (y - from.1) - (to.1 - from.1) * (x - from.0);
        let sides = [side(west, north), side(east, north), side(west, south), side(east, south)];
        from.0.max(to.0) <= west
            || from.0.min(to.0) >= east
            || from.1.max(to.1) <= north
            || from.1.min(to.1) >= south
            || sides.iter().all(|&side| side <= 0)
            || sides.iter().all(|&side| side >= 0)
    })
}

pub(crate) fn length(from: Point, to: Point) -> f64 {
    (((from.0 - to.0).pow(2) + (from.1 - to.1).pow(2)) as f64).sqrt() / PARTS as f64
}

/// The length of the shortest way from corner to corner: Dijkstra's algorithm over all of them.
pub(crate) fn shortest(grid: &Grid, start: Cell, goal: Cell) -> Option<f64> {
    let obstacles = obstacles(grid);
    let corners = obstacles.iter().flat_map(|&[west, north, east, south]| {
        [(west, north), (east, north), (west, south), (east, south)]
    });
    let outside = |&(x, y): &Point| {
        !obstacles.iter().any(|it| it[0] < x && x < it[2] && it[1] < y && y < it[3])
    };
    let points = corners.filter(outside).chain([centre(start), centre(goal)]);
    let mut open: Vec<(f64, Point)> = points.map(|point| (f64::INFINITY, point)).collect();
    let count = open.len();
    open[count - 2].0 = 0.0;
    while let Some(nearest) = (0..open.len()).min_by(|&a, &b| open[a].0.total_cmp(&open[b].0)) {
        let (so_far, point) = open.swap_remove(nearest);
        if so_far.is_infinite() {
            return None;
        }
        if point == centre(goal) {
            return Some(so_far);
        }
        for (best, other) in &mut open {
            let way = so_far + length(point, *other);
            if way < *best && is_clear(&obstacles, point, *other) {
                *best = way;
            }
        }
    }
    None
}
