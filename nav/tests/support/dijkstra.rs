//! The oracle of searches: Dijkstra's algorithm with the library's rules written
//! a second time, cell by cell, with no tables and no estimates.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use formic_nav::{Cell, DIAGONAL, Grid, MoveRule, STRAIGHT};

/// The units of the cheapest paths from `start` to each cell in reading order.
pub(crate) fn distances(grid: &Grid, rule: MoveRule, start: Cell) -> Vec<Option<u64>> {
    let mut best = vec![None; grid.cell_count()];
    let mut queue = BinaryHeap::from([(Reverse(0), start)]);
    while let Some((Reverse(cost), cell)) = queue.pop() {
        let place = &mut best[grid.index(cell).unwrap()];
        if place.is_some() {
            continue;
        }
        *place = Some(cost);
        for dy in -1..=1 {
            for dx in -1..=1 {
                if let Some((next, units)) = step(grid, rule, cell, dx, dy) {
                    queue.push((Reverse(cost + units), next));
                }
            }
        }
    }
    best
}

fn step(grid: &Grid, rule: MoveRule, from: Cell, dx: i16, dy: i16) -> Option<(Cell, u64)> {
    let to = Cell::new(from.x.checked_add_signed(dx)?, from.y.checked_add_signed(dy)?);
    if !grid.is_open(to) || to == from {
        return None;
    }
    let weight = grid.weight(from)?.get().max(grid.weight(to)?.get());
    if dx == 0 || dy == 0 {
        return Some((to, u64::from(STRAIGHT) * u64::from(weight)));
    }
    let beside = (grid.is_open(Cell::new(to.x, from.y)), grid.is_open(Cell::new(from.x, to.y)));
    let is_legal = match rule {
        MoveRule::Orthogonal => false,
        MoveRule::BothFree => beside.0 && beside.1,
        MoveRule::OneFree => beside.0 || beside.1,
        MoveRule::Always => true,
    };
    is_legal.then_some((to, u64::from(DIAGONAL) * u64::from(weight)))
}
