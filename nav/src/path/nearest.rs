//! The cell of a region that is nearest to a goal outside of it.

use crate::cell::Cell;
use crate::cost::{STRAIGHT, distance_units};
use crate::region::event::RegionId;
use crate::region::sector::SECTOR_PLACES;
use crate::terrain::Terrain;

/// Looks for the cell of a region that is nearest to a goal by the steps of the rule; of equals the first
/// in reading order. It can be halted anywhere.
///
/// It looks at squares around the goal, each larger by one. Once that has been more work than a pass over
/// the sectors of the region, it does the rest by such a pass. Either way it touches no more than twice
/// the cells of these sectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nearest {
    region: RegionId,
    goal: Cell,
    /// The number of cells that squares may still cost.
    left: usize,
    radius: u16,
    /// The number of cells of this square, or later of the sectors, that were looked at.
    done: usize,
    is_sweeping: bool,
    best: Option<(u64, Cell)>,
}

impl Nearest {
    /// Begins to look for a cell of a region, which must be alive.
    pub(crate) fn new(terrain: &Terrain, region: RegionId, goal: Cell) -> Self {
        let left = place_count(terrain, region);
        // The side of the first square that has cells inside the grid.
        let beyond = |place: u16, side: u16| place.saturating_sub(side - 1);
        let (width, height) = (terrain.grid().width(), terrain.grid().height());
        let radius = beyond(goal.x, width).max(beyond(goal.y, height));
        Self { region, goal, left, radius, done: 0, is_sweeping: false, best: None }
    }

    /// Looks at up to `count_max` more cells, until the nearest cell is found. Returns that cell, and the
    /// number of cells looked at.
    pub(crate) fn run(&mut self, terrain: &Terrain, count_max: u64) -> (Option<Cell>, u64) {
        let mut count = 0;
        while !self.is_sweeping && self.goes_on() {
            for cell in terrain.grid().square(self.goal, self.radius).skip(self.done) {
                if self.left == 0 {
                    self.sweep();
                    break;
                }
                if count == count_max {
                    return (None, count);
                }
                (self.left, self.done, count) = (self.left - 1, self.done + 1, count + 1);
                if terrain.region(cell).is_some_and(|region| terrain.leads(self.region, region)) {
                    self.meet(terrain, cell);
                }
            }
            if !self.is_sweeping {
                match self.radius.checked_add(1) {
                    Some(next) => (self.radius, self.done) = (next, 0),
                    // Coordinates end before the region begins.
                    None if self.best.is_none() => self.sweep(),
                    None => break,
                }
            }
        }
        if self.is_sweeping {
            let mut piece = None;
            while self.done < place_count(terrain, self.region) {
                if count == count_max {
                    return (None, count);
                }
                let cell = cell_at(terrain, self.region, self.done, &mut piece);
                (self.done, count) = (self.done + 1, count + 1);
                cell.into_iter().for_each(|cell| self.meet(terrain, cell));
            }
        }
        let (_, cell) = self.best.expect("a region has cells");
        (Some(cell), count)
    }

    /// Whether a larger square may contain a nearer cell.
    fn goes_on(&self) -> bool {
        self.best.is_none_or(|(units, _)| units >= u64::from(self.radius) * u64::from(STRAIGHT))
    }

    fn sweep(&mut self) {
        (self.is_sweeping, self.done) = (true, 0);
    }

    fn meet(&mut self, terrain: &Terrain, cell: Cell) {
        let candidate = (distance_units(terrain.rule(), cell, self.goal), cell);
        if self.best.is_none_or(|best| candidate < best) {
            self.best = Some(candidate);
        }
    }
}

/// The exclusive upper bound of the places of all cells to which a region leads.
fn place_count(terrain: &Terrain, region: RegionId) -> usize {
    let has_links = !terrain.links().is_empty();
    let piece_count = || terrain.regions().piece_count(region);
    if has_links { terrain.grid().cell_count() } else { piece_count() * SECTOR_PLACES }
}

/// The cell at a place, if the region leads to it. `piece` is that of the place before.
fn cell_at(
    terrain: &Terrain,
    region: RegionId,
    place: usize,
    piece: &mut Option<u32>,
) -> Option<Cell> {
    if terrain.links().is_empty() {
        let (regions, inner) = (terrain.regions(), place % SECTOR_PLACES);
        if inner == 0 {
            *piece = None;
        }
        let piece = piece.get_or_insert_with(|| regions.piece_at(region, place / SECTOR_PLACES));
        return regions.cell_at(*piece, inner);
    }
    let cell = terrain.grid().cell_at(place);
    terrain.region(cell).filter(|&other| terrain.leads(region, other)).map(|_| cell)
}
