//! Landmarks: the distances of every cell to a few others, for estimates that know walls, weights and
//! links.
//!
//! A. Goldberg and C. Harrelson, "Computing the Shortest Path: A* Search Meets Graph Theory", 2005 (ALT):
//! a path between two cells costs at least the difference of their distances to a landmark. Estimates
//! require only that no step leads nearer to a landmark than it costs. Edits that make steps dearer
//! preserve that; after others the distances around them are lowered until it holds again.

use std::collections::{BTreeMap, VecDeque};

use crate::bytes::{Bytes, Saved, bytes_by_field, ensure};
use crate::cell::Cell;
use crate::flow::store::UNREACHED;
use crate::flow::wave::{Ground, Wave};
use crate::grid::Grid;
use crate::region::Regions;
use crate::region::event::RegionId;

/// The number of landmarks of each region.
const LANDMARK_COUNT: usize = 8;
/// The maximum number of cells that an edit may lower, so that it takes less than a millisecond.
const LOWERED_COUNT_MAX: usize = 1024;

/// Lower bounds of the units from a cell to each landmark of its region, never negative; the greatest
/// number if there is no path, or a longer one. (Signed numbers are compared faster, many at a time.)
pub(crate) type Distances = [i32; LANDMARK_COUNT];

/// The distances of all cells, in reading order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Landmarks {
    distances: Vec<Distances>,
}

bytes_by_field!(Landmarks { distances });

impl Landmarks {
    /// Chooses the landmarks of each region. Each is the cell that is farthest from those before.
    pub(crate) fn new(ground: Ground<'_>, regions: &Regions) -> Self {
        let grid = ground.grid;
        let mut wave = Wave::default();
        let mut measure = |cells: &[Cell]| -> Vec<i32> {
            wave.begin(grid, cells);
            wave.settle_all(ground);
            let units = grid.cells().map(|cell| wave.final_cost(cell).unwrap_or(UNREACHED));
            units.map(|units| i32::try_from(units).unwrap_or(i32::MAX)).collect()
        };
        let mut nearest = vec![i32::MAX; grid.cell_count()];
        let mut distances = vec![[i32::MAX; LANDMARK_COUNT]; grid.cell_count()];
        // The first one is the farthest cell from any cell.
        let from_any = measure(&farthest(grid, regions, &nearest));
        let mut chosen = farthest(grid, regions, &from_any);
        for place in 0..LANDMARK_COUNT {
            let cells = distances.iter_mut().zip(&mut nearest);
            for ((all, nearest), far) in cells.zip(measure(&chosen)) {
                all[place] = far;
                *nearest = far.min(*nearest);
            }
            chosen = farthest(grid, regions, &nearest);
        }
        Self { distances }
    }

    /// Reads the landmarks of a terrain.
    pub(crate) fn read_for(bytes: &mut &[u8], ground: Ground<'_>) -> Saved<Self> {
        let landmarks = Self::read(bytes)?;
        let all = &landmarks.distances;
        ensure(all.len() == ground.grid.cell_count() && all.iter().flatten().all(|&it| it >= 0))?;
        ensure(landmarks.find_fault(ground).is_none())?;
        Ok(landmarks)
    }

    /// Finds a cell that is farther from a landmark than one beside it by more than the step costs.
    pub(crate) fn find_fault(&self, ground: Ground<'_>) -> Option<Cell> {
        ground.grid.cells().find(|&cell| self.too_far(ground, cell).is_some())
    }

    /// The distances of the cell at an index in reading order.
    #[inline]
    pub(crate) fn of(&self, index: usize) -> &Distances {
        &self.distances[index]
    }

    /// Whether an edit of a cell has made steps around it too cheap for the distances.
    pub(crate) fn is_outdated(&self, ground: Ground<'_>, cell: Cell) -> bool {
        ground.touched(cell).any(|cell| self.too_far(ground, cell).is_some())
    }

    /// Lowers distances after an edit of a cell. Returns false if there are too many of them; the
    /// landmarks are useless then.
    #[must_use]
    pub(crate) fn repair(&mut self, ground: Ground<'_>, cell: Cell) -> bool {
        let mut queue: VecDeque<Cell> = ground.touched(cell).collect();
        let mut lowered_count = 0;
        while let Some(cell) = queue.pop_front() {
            let Some(least) = self.too_far(ground, cell) else { continue };
            lowered_count += 1;
            if lowered_count > LOWERED_COUNT_MAX {
                return false;
            }
            self.distances[ground.grid.index_inside(cell)] = least;
            queue.extend(ground.steps(cell).map(|(next, _)| next));
            queue.extend(ground.links_to(cell).map(|(from, _)| from));
        }
        true
    }

    /// The correct distances of an open cell, if its distances are greater than these.
    fn too_far(&self, ground: Ground<'_>, cell: Cell) -> Option<Distances> {
        let (is_open, own) = (ground.grid.is_open(cell), self.of(ground.grid.index_inside(cell)));
        is_open.then(|| self.least(ground, cell)).filter(|least| least != own)
    }

    /// The distances of an open cell, lowered to what the cells after one step or link allow.
    fn least(&self, ground: Ground<'_>, cell: Cell) -> Distances {
        let own = *self.of(ground.grid.index_inside(cell));
        ground.steps(cell).chain(ground.links(cell)).fold(own, |mut least, (next, units)| {
            let units = i32::try_from(units).unwrap_or(i32::MAX);
            let from_next = self.of(ground.grid.index_inside(next));
            for (least, far) in least.iter_mut().zip(from_next) {
                *least = far.saturating_add(units).min(*least);
            }
            least
        })
    }
}

/// For each region, the cell that is farthest by these distances; of equals the first.
fn farthest(grid: &Grid, regions: &Regions, distances: &[i32]) -> Vec<Cell> {
    let mut best: BTreeMap<RegionId, (i32, Cell)> = BTreeMap::new();
    for (cell, &far) in grid.cells().zip(distances) {
        let Some(region) = regions.region_inside(cell) else { continue };
        let best = best.entry(region).or_insert((far, cell));
        if far > best.0 {
            *best = (far, cell);
        }
    }
    best.into_values().map(|(_, cell)| cell).collect()
}
