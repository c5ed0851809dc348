//! Fields of view, and paths.

use std::collections::{HashMap, VecDeque};

use formic_ai::turn::Situation;
use formic_ecs::prelude::*;

use super::level::Level;
use super::things::{Cell, Opaque, Position};

/// The range of sight of all actors, in cells.
pub(super) const SIGHT: i32 = 9;
/// The maximum number of cells that a path search visits.
const SEARCHED_MAX: usize = 4_000;

/// Returns the level of a situation.
pub(super) fn level<'a>(now: &Situation<'a, Cell>) -> &'a Level {
    now.world().resource().expect("inserted with the world, and nobody takes it out")
}

fn blocks_sight(now: &Situation<Cell>, cell: Cell) -> bool {
    !level(now).is_open(cell) || now.cell(cell).any::<Opaque>()
}

/// Whether an actor in one cell sees the other. Sight is symmetric.
pub(super) fn sees(now: &Situation<Cell>, from: Cell, to: Cell) -> bool {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let is_near = dx * dx + dy * dy <= SIGHT * SIGHT;
    is_near && (is_clear(now, from, to) || is_clear(now, to, from))
}

/// Whether nothing blocks the line between two cells (Bresenham's; the line back may differ, so both
/// directions are checked).
fn is_clear(now: &Situation<Cell>, from: Cell, to: Cell) -> bool {
    let (dx, dy) = ((to.0 - from.0).abs(), -(to.1 - from.1).abs());
    let step = ((to.0 - from.0).signum(), (to.1 - from.1).signum());
    let (mut cell, mut error) = (from, dx + dy);
    loop {
        let doubled = 2 * error;
        if doubled >= dy {
            error += dy;
            cell.0 += step.0;
        }
        if doubled <= dx {
            error += dx;
            cell.1 += step.1;
        }
        if cell == to || from == to {
            return true;
        }
        if blocks_sight(now, cell) {
            return false;
        }
    }
}

/// Returns all cells that an actor in a cell sees, row by row.
pub(super) fn field(now: &Situation<Cell>, from: Cell) -> Vec<Cell> {
    let rows = from.1 - SIGHT..=from.1 + SIGHT;
    let cells = rows.flat_map(|y| (from.0 - SIGHT..=from.0 + SIGHT).map(move |x| (x, y)));
    cells.filter(|&cell| sees(now, from, cell)).collect()
}

/// The eight directions, straight ones first.
pub(super) const WAYS: [Cell; 8] =
    [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)];

/// Returns the first step of a shortest path to a wanted cell, around rock and other avoided cells;
/// `None` if a search of the neighbourhood finds none.
pub(super) fn first_step(
    now: &Situation<Cell>,
    from: Cell,
    is_wanted: impl Fn(Cell) -> bool,
    avoids: impl Fn(Cell) -> bool,
) -> Option<Cell> {
    let level = level(now);
    let mut first: HashMap<Cell, Cell> = HashMap::from([(from, (0, 0))]);
    let mut open = VecDeque::from([from]);
    while let Some(cell) = open.pop_front() {
        for way in WAYS {
            let next = (cell.0 + way.0, cell.1 + way.1);
            if !level.is_open(next) || first.contains_key(&next) {
                continue;
            }
            let step = if cell == from { way } else { first[&cell] };
            if is_wanted(next) {
                return Some(step);
            }
            first.insert(next, step);
            if !avoids(next) && first.len() < SEARCHED_MAX {
                open.push_back(next);
            }
        }
    }
    None
}

/// Returns the cell of an actor.
pub(super) fn cell_of(now: &Situation<Cell>, who: Entity) -> Option<Cell> {
    now.get::<Position>(who).ok().map(|position| (position.x, position.y))
}
