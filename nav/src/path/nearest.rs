//! The cell of a region that is nearest to a goal outside of it.

use crate::cell::Cell;
use crate::cost::{DIAGONAL, STRAIGHT};
use crate::direction::MoveRule;
use crate::region::event::RegionId;
use crate::terrain::Terrain;

/// The cell of a region, which must be alive, that is nearest to `goal` by the
/// steps of the rule; of equals the first in reading order.
///
/// Squares around the goal are looked at, each larger by one. Once that has been
/// more work than going through the region, the rest is done by going through it:
/// either way no more than twice the cells of the region are touched. How many were is
/// returned as well.
pub(crate) fn nearest(terrain: &Terrain, region: RegionId, goal: Cell) -> (Cell, u64) {
    let cells = terrain.regions().cells(region);
    let mut best = Nearest { terrain, goal, found: None };
    let mut left = cells.len();
    let mut radius = Square::distance(terrain, goal);
    while best.found.is_none_or(|(units, _)| units >= u64::from(radius) * u64::from(STRAIGHT)) {
        for cell in Square::new(terrain, goal, radius).cells() {
            if left == 0 {
                cells.iter().for_each(|&cell| best.meet(cell));
                return (best.cell(), 2 * cells.len() as u64);
            }
            left -= 1;
            if terrain.region(cell) == Some(region) {
                best.meet(cell);
            }
        }
        let Some(next) = radius.checked_add(1) else { break };
        radius = next;
    }
    if best.found.is_none() {
        // Coordinates end before the region begins.
        cells.iter().for_each(|&cell| best.meet(cell));
    }
    (best.cell(), (cells.len() - left) as u64)
}

/// The least units between two cells, of which one may lie far outside of any grid.
fn distance_units(rule: MoveRule, from: Cell, to: Cell) -> u64 {
    let (dx, dy) = (u64::from(from.x.abs_diff(to.x)), u64::from(from.y.abs_diff(to.y)));
    match rule {
        MoveRule::Orthogonal => u64::from(STRAIGHT) * (dx + dy),
        _ => u64::from(STRAIGHT) * dx.max(dy) + u64::from(DIAGONAL - STRAIGHT) * dx.min(dy),
    }
}

/// The best cell so far.
struct Nearest<'a> {
    terrain: &'a Terrain,
    goal: Cell,
    found: Option<(u64, Cell)>,
}

impl Nearest<'_> {
    fn meet(&mut self, cell: Cell) {
        let candidate = (distance_units(self.terrain.rule(), cell, self.goal), cell);
        if self.found.is_none_or(|found| candidate < found) {
            self.found = Some(candidate);
        }
    }

    fn cell(&self) -> Cell {
        self.found.expect("a region has cells").1
    }
}

/// The cells at a certain distance in rows or columns around a goal, as far as
/// they are on the grid.
struct Square {
    goal: (i32, i32),
    radius: i32,
    width: i32,
    height: i32,
}

impl Square {
    fn new(terrain: &Terrain, goal: Cell, radius: u16) -> Self {
        let (width, height) = (terrain.grid().width().into(), terrain.grid().height().into());
        Self { goal: (goal.x.into(), goal.y.into()), radius: radius.into(), width, height }
    }

    /// The distance of the first square that has cells on the grid.
    fn distance(terrain: &Terrain, goal: Cell) -> u16 {
        let beyond = |place: u16, side: u16| place.saturating_sub(side - 1);
        beyond(goal.x, terrain.grid().width()).max(beyond(goal.y, terrain.grid().height()))
    }

    fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let Self { goal: (x, y), radius, width, height } = *self;
        let columns = (x - radius).max(0)..(x + radius + 1).min(width);
        // The corners are of the rows.
        let rows = (y - radius + 1).max(0)..(y + radius).min(height);
        let ends = |place: i32| {
            [place - radius, place + radius].into_iter().take(if radius == 0 { 1 } else { 2 })
        };
        let in_rows = ends(y)
            .filter(move |y| (0..height).contains(y))
            .flat_map(move |y| columns.clone().map(move |x| (x, y)));
        let in_columns = ends(x)
            .filter(move |x| (0..width).contains(x))
            .flat_map(move |x| rows.clone().map(move |y| (x, y)));
        let cell = |(x, y)| Some(Cell::new(u16::try_from(x).ok()?, u16::try_from(y).ok()?));
        in_rows.chain(in_columns).filter_map(cell)
    }
}
