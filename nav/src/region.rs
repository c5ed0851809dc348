//! Regions: the connected components of the open cells, exact under edits.
//!
//! Two cells are mutually reachable if and only if they are of one region, so
//! that the question costs two array reads and no search. An edit does work that
//! is local to it:
//!
//! * *Digging* a cell merges the regions around it, by moving the cells of the
//!   smaller ones into the largest.
//! * *Filling* a cell first asks whether its neighbours still hang together
//!   through the ring of eight around it (see `region/pieces.rs`); if so, nothing
//!   can have split. If not, floods from each side run in lock-step until only
//!   one is left (`region/flood.rs`), and the finished pieces become regions.
//!
//! No edit ever makes a pass over the map.

pub(crate) mod event;
pub(crate) mod flood;
pub(crate) mod pieces;
pub(crate) mod table;

use std::fmt;

use formic_ecs::CodecError;

use crate::bytes::Saved;
use crate::cell::Cell;
use crate::direction::{Connectivity, members};
use crate::grid::Grid;
use crate::grid::change::GridVersion;
use crate::region::event::{EventLog, RegionEvent, RegionId};
use crate::region::flood::Flood;
use crate::region::pieces::representatives;
use crate::region::table::RegionTable;
use crate::rng::pick;

/// The regions of a grid. Owned and kept in step by [`Terrain`](crate::Terrain),
/// from which it is read.
///
/// ```
/// use formic_nav::{Cell, Grid, MoveRule, Terrain};
/// let grid = Grid::from_fn(5, 1, |cell| cell.x != 2)?;
/// let terrain = Terrain::new(grid, MoveRule::BothFree);
/// let regions = terrain.regions();
/// assert_eq!(regions.count(), 2);
/// let east = terrain.region(Cell::new(4, 0)).unwrap();
/// assert_eq!(regions.cells(east), [Cell::new(3, 0), Cell::new(4, 0)]);
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Regions {
    connectivity: Connectivity,
    table: RegionTable,
    flood: Flood,
    events: EventLog,
}

impl Regions {
    /// The regions of a grid, by one flood over it. Regions are numbered in
    /// reading order of their first cells.
    pub(crate) fn new(grid: &Grid, connectivity: Connectivity) -> Self {
        let mut table = RegionTable::new(grid.cell_count());
        for cell in grid.cells().filter(|&cell| grid.is_open(cell)) {
            if table.region_at(grid.index_inside(cell)).is_none() {
                let region = table.create(grid.version());
                table.insert(grid, region, cell);
                table.flood(grid, region, connectivity.directions());
            }
        }
        let flood = Flood::new(grid.cell_count());
        Self { connectivity, table, flood, events: EventLog::default() }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.table.write(out);
        self.events.write(out);
    }

    /// The regions of a grid.
    pub(crate) fn read(bytes: &mut &[u8], grid: &Grid, connectivity: Connectivity) -> Saved<Self> {
        let (table, events) = (RegionTable::read(bytes, grid)?, EventLog::read(bytes)?);
        let flood = Flood::new(grid.cell_count());
        let regions = Self { connectivity, table, flood, events };
        regions.check(grid).map_err(|_| CodecError)?;
        Ok(regions)
    }

    /// How the cells of a region hang together.
    #[must_use]
    pub const fn connectivity(&self) -> Connectivity {
        self.connectivity
    }

    /// How many regions there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.region_count()
    }

    /// All regions, in the order of their slots.
    pub fn ids(&self) -> impl Iterator<Item = RegionId> + '_ {
        self.table.ids()
    }

    /// The cells of a region in no particular (but deterministic) order; none if
    /// the region is no more.
    #[must_use]
    pub fn cells(&self, region: RegionId) -> &[Cell] {
        self.table.cells(region)
    }

    /// A cell of a region, chosen by 64 random bits in constant time, or `None`
    /// if the region is no more. Every cell is as likely as any other.
    ///
    /// ```
    /// # use formic_nav::{Cell, Grid, MoveRule, Terrain};
    /// # let terrain = Terrain::new(Grid::from_fn(2, 1, |_| true)?, MoveRule::BothFree);
    /// let region = terrain.region(Cell::new(0, 0)).unwrap();
    /// assert_eq!(terrain.regions().random_cell(region, 0), Some(Cell::new(0, 0)));
    /// assert_eq!(terrain.regions().random_cell(region, u64::MAX), Some(Cell::new(1, 0)));
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    #[must_use]
    pub fn random_cell(&self, region: RegionId, random: u64) -> Option<Cell> {
        let cells = self.table.cells(region);
        cells.get(pick(random, cells.len())).copied()
    }

    /// The version of the grid when a region last gained or lost a cell, or
    /// `None` if the region is no more.
    ///
    /// While the versions of two regions stand still, an unreachable goal stays
    /// unreachable: there is no point in asking again.
    #[must_use]
    pub fn version(&self, region: RegionId) -> Option<GridVersion> {
        self.table.version(region)
    }

    /// How many events were forgotten because they were not drained in time.
    #[must_use]
    pub const fn lost_event_count(&self) -> u64 {
        self.events.lost_count()
    }

    pub(crate) fn drain_events(&mut self) -> impl Iterator<Item = RegionEvent> + '_ {
        self.events.drain()
    }

    /// The region of a cell inside the grid.
    pub(crate) fn region_inside(&self, grid: &Grid, cell: Cell) -> Option<RegionId> {
        self.table.region_at(grid.index_inside(cell))
    }

    /// Whether two cells inside the grid are open and of one region.
    pub(crate) fn is_same(&self, grid: &Grid, a: Cell, b: Cell) -> bool {
        self.table.is_same(grid.index_inside(a), grid.index_inside(b))
    }

    /// Follows the grid after `cell` was dug.
    pub(crate) fn dug(&mut self, grid: &Grid, cell: Cell) {
        let contacts = representatives(self.connectivity, grid.ring(cell));
        let region = self.merge_around(grid, cell, contacts).unwrap_or_else(|| {
            let region = self.table.create(grid.version());
            self.events.push(RegionEvent::Created { region });
            region
        });
        self.table.insert(grid, region, cell);
        self.table.touch(region, grid.version());
    }

    /// Follows the grid after `cell` was filled.
    pub(crate) fn filled(&mut self, grid: &Grid, cell: Cell) {
        let region = self.table.take(grid, cell);
        if self.table.cells(region).is_empty() {
            self.table.remove(region);
            self.events.push(RegionEvent::Removed { region });
            return;
        }
        self.table.touch(region, grid.version());
        let seeds = representatives(self.connectivity, grid.ring(cell));
        let directions = self.connectivity.directions();
        if seeds.count_ones() > 1 && self.flood.run(grid, cell, seeds, directions) {
            self.split(grid, region);
        }
    }

    /// Merges the regions in the directions of `contacts` into the largest, of
    /// equals the first, and returns it.
    fn merge_around(&mut self, grid: &Grid, cell: Cell, contacts: u8) -> Option<RegionId> {
        let around = |table: &RegionTable| {
            let mut regions = [None; 4];
            for (place, direction) in regions.iter_mut().zip(members(contacts)) {
                *place = table.region_at(grid.index_inside(direction.step_inside(cell)));
            }
            regions
        };
        let regions = around(&self.table);
        let mut into = regions[0]?;
        for region in regions.into_iter().flatten() {
            if self.table.cells(region).len() > self.table.cells(into).len() {
                into = region;
            }
        }
        for from in regions.into_iter().flatten() {
            let cell_count = count_u32(self.table.cells(from));
            // The same region can be in several directions, and is gone after
            // the first.
            if from != into && cell_count > 0 {
                self.table.absorb(grid, into, from);
                self.events.push(RegionEvent::Merged { into, from, cell_count });
            }
        }
        Some(into)
    }

    /// Makes a region of each piece that the flood has found cut off.
    fn split(&mut self, grid: &Grid, from: RegionId) {
        for piece in self.flood.cut_off() {
            let into = self.table.create(grid.version());
            self.table.cut(grid, from, into, piece.flatten());
            let cell_count = count_u32(self.table.cells(into));
            self.events.push(RegionEvent::Split { from, into, cell_count });
        }
    }

    /// Compares everything with a fresh flood of the grid; takes a pass over it.
    pub(crate) fn check(&self, grid: &Grid) -> Result<(), RegionFault> {
        self.table.check(grid).map_err(|cell| RegionFault { cell })?;
        let fresh = Self::new(grid, self.connectivity);
        // Equal partitions: the map from fresh regions to kept ones is a
        // function, and there are as many of the one as of the other.
        let mut twins = vec![None; fresh.table.region_count()];
        for cell in grid.cells() {
            if let Some(region) = fresh.region_inside(grid, cell) {
                let kept = self.region_inside(grid, cell);
                if *twins[region.slot()].get_or_insert(kept) != kept {
                    return Err(RegionFault { cell });
                }
            }
        }
        if fresh.count() == self.count() {
            Ok(())
        } else {
            Err(RegionFault { cell: Cell::new(0, 0) })
        }
    }
}

fn count_u32(cells: &[Cell]) -> u32 {
    u32::try_from(cells.len()).expect("grids have fewer than 2^32 cells")
}

/// The regions differ from those of a fresh flood: a bug of this crate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionFault {
    /// The first cell that is wrong; the origin if it is a count that differs.
    pub cell: Cell,
}

impl fmt::Display for RegionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the region of cell {} is not that of a fresh flood", self.cell)
    }
}

impl std::error::Error for RegionFault {}
