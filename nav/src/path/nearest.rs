//! The cell of a region that is nearest to a goal outside of it.

use crate::cell::Cell;
use crate::cost::{STRAIGHT, distance_units};
use crate::region::Regions;
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
        // Links lead to regions that are not among these sectors: then squares may cost the whole grid.
        let left = match terrain.links().is_empty() {
            true => place_count(terrain.regions(), region),
            false => terrain.grid().cell_count(),
        };
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
                    // All cells were looked at.
                    None => break,
                }
            }
        }
        if self.is_sweeping {
            let (regions, mut piece) = (terrain.regions(), None);
            while self.done < place_count(regions, self.region) {
                if count == count_max {
                    return (None, count);
                }
                let cell = cell_at(regions, self.region, self.done, &mut piece);
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

/// The number of places of the sectors that a region has a piece in.
fn place_count(regions: &Regions, region: RegionId) -> usize {
    regions.piece_count(region) * SECTOR_PLACES
}

/// The cell at a place of the sectors of a region, if it is one of the region. `piece` is that of the place
/// before.
fn cell_at(
    regions: &Regions,
    region: RegionId,
    place: usize,
    piece: &mut Option<u32>,
) -> Option<Cell> {
    let inner = place % SECTOR_PLACES;
    if inner == 0 {
        *piece = None;
    }
    let piece = piece.get_or_insert_with(|| regions.piece_at(region, place / SECTOR_PLACES));
    regions.cell_at(*piece, inner)
}
