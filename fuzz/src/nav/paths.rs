//! A program of edits and queries: jump points, A* and Dijkstra must agree to the unit, and ways at any angle with a
//! graph of the corners that see each other.

#[path = "../../../nav/tests/support/visibility.rs"]
mod visibility;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ::formic_nav::{
    Algorithm, Cell, Cost, DIAGONAL, Grid, MoveRule, Path, PathOutcome, PathQuery, PathScratch,
    STRAIGHT, Terrain, path_cost,
};

use crate::nav::Input;

pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let rule = input.rule();
    let mut terrain = Terrain::new(input.grid(), rule);
    let mut scratch = PathScratch::new();
    // Each round is a pass over the grid by the oracle.
    for _ in 0..8 {
        let (start, goal) = (input.cell(terrain.grid()), input.cell(terrain.grid()));
        check(&terrain, &mut scratch, start, goal);
        if input.is_empty() {
            return;
        }
        for _ in 0..input.byte() % 8 {
            let cell = input.cell(terrain.grid());
            let _changed = terrain.dig(cell) || terrain.fill(cell);
        }
    }
}

fn check(terrain: &Terrain, scratch: &mut PathScratch, start: Cell, goal: Cell) {
    let best = dijkstra(terrain.grid(), terrain.rule(), start, goal);
    assert_eq!(best.is_some(), terrain.reachable(start, goal));
    check_any_angle(terrain, scratch, start, goal, best);
    check_shortest(terrain.grid(), scratch, start, goal);
    let query = PathQuery::new(start, goal);
    let mut path = Path::new();
    for algorithm in [Algorithm::Auto, Algorithm::AStar] {
        let outcome = scratch.solve(terrain, &query.by(algorithm), &mut path);
        assert_eq!(outcome.cost().map(|cost| cost.units()), best, "{algorithm:?}");
        if let Some(cost) = outcome.cost() {
            assert_eq!(path_cost(terrain.grid(), terrain.rule(), path.cells()), Ok(cost));
            assert_eq!((path.cells().first(), path.cells().last()), (Some(&start), Some(&goal)));
        }
    }
}

/// The way at any angle is found where there is a path, in whatever pieces, and is no longer.
fn check_any_angle(
    terrain: &Terrain,
    scratch: &mut PathScratch,
    start: Cell,
    goal: Cell,
    best: Option<u64>,
) {
    let query = PathQuery::new(start, goal).by(Algorithm::AnyAngle);
    let (mut whole, mut path) = (Path::new(), Path::new());
    let expected = scratch.solve(terrain, &query, &mut whole);
    assert_eq!(expected.cost().is_some(), best.is_some());
    let mut outcome = scratch.solve(terrain, &query.within(3), &mut path);
    while outcome == PathOutcome::OutOfBudget {
        outcome = scratch.resume(terrain, 3, &mut path);
    }
    assert_eq!((outcome, &path), (expected, &whole));
    let Some((cost, best)) = outcome.cost().zip(best) else { return };
    assert!(path_cost(terrain.grid(), terrain.rule(), path.cells()).is_ok());
    let points: Vec<_> = path.points().collect();
    let length: f32 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let flight = f64::from(start.centre().distance(goal.centre()));
    let rounding = 1e-3 + 1e-5 * cost.length();
    assert!(
        (f64::from(length) - cost.length()).abs() < rounding
            || terrain.rule() != MoveRule::BothFree
    );
    assert!(flight - rounding < cost.length());
    assert!(cost.length() < Cost::from_units(best).length() + rounding);
}

/// The way at any angle is the shortest one: in the first columns and rows, for of a larger grid the graph of corners
/// takes seconds, and with the opposite part of the grid cut out of what is solid, or few ways would turn.
fn check_shortest(grid: &Grid, scratch: &mut PathScratch, start: Cell, goal: Cell) {
    let [width, height] = [grid.width(), grid.height()].map(|side| side.min(SIDE_MAX));
    let opposite = |cell: Cell| Cell::new(grid.width() - 1 - cell.x, grid.height() - 1 - cell.y);
    let is_open = |cell| grid.is_open(cell) || grid.is_open(opposite(cell));
    let part = Grid::from_fn(width.into(), height.into(), is_open);
    let terrain = Terrain::new(part.expect("it is smaller than a grid"), MoveRule::BothFree);
    let [start, goal] = [start, goal].map(|cell| Cell::new(cell.x % width, cell.y % height));
    let query = PathQuery::new(start, goal).by(Algorithm::AnyAngle);
    let mut path = Path::new();
    let Some(cost) = scratch.solve(&terrain, &query, &mut path).cost() else { return };
    let points: Vec<_> = path.points().map(|it| [it.x, it.y].map(f64::from)).collect();
    let sides = |pair: &[[f64; 2]]| [0, 1].map(|axis| pair[1][axis] - pair[0][axis]);
    let length: f64 = points.windows(2).map(sides).map(|[x, y]| x.hypot(y)).sum();
    let shortest = visibility::shortest(terrain.grid(), start, goal).expect("there is a path");
    assert!((length - shortest).abs() < 1e-9, "{length} for {shortest}");
    assert!((cost.length() - shortest).abs() < 1e-3, "{cost:?} for {shortest}");
}

/// The columns and rows of the part of a grid whose ways at any angle are held to the graph of corners.
const SIDE_MAX: u16 = 11;

/// The units of the best path, cell by cell and without any estimate.
fn dijkstra(grid: &Grid, rule: MoveRule, start: Cell, goal: Cell) -> Option<u64> {
    grid.is_open(start).then_some(())?;
    let mut is_done = vec![false; grid.cell_count()];
    let mut queue = BinaryHeap::from([(Reverse(0), start)]);
    while let Some((Reverse(cost), cell)) = queue.pop() {
        if cell == goal {
            return Some(cost);
        }
        if std::mem::replace(&mut is_done[grid.index(cell)?], true) {
            continue;
        }
        for (dx, dy) in [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
            let next = cell.x.checked_add_signed(dx).zip(cell.y.checked_add_signed(dy));
            let Some((x, y)) = next else { continue };
            if grid.is_open(Cell::new(x, y)) && is_legal(grid, rule, cell, (x, y)) {
                let units = if dx != 0 && dy != 0 { DIAGONAL } else { STRAIGHT };
                queue.push((Reverse(cost + u64::from(units)), Cell::new(x, y)));
            }
        }
    }
    None
}

fn is_legal(grid: &Grid, rule: MoveRule, from: Cell, (x, y): (u16, u16)) -> bool {
    if from.x == x || from.y == y {
        return true;
    }
    let beside = [grid.is_open(Cell::new(x, from.y)), grid.is_open(Cell::new(from.x, y))];
    match rule {
        MoveRule::Orthogonal => false,
        MoveRule::BothFree => beside[0] && beside[1],
        MoveRule::OneFree => beside[0] || beside[1],
        MoveRule::Always => true,
    }
}
