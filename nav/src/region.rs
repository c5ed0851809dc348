//! Regions: the connected components of the open cells, exact under edits.
//!
//! Two cells are mutually reachable if and only if they are of one region, so
//! that the question costs two array reads and no search. An edit does work that
//! is local to it:
//!
//! * Sectors of 32 x 32 cells are in *pieces*: what hangs together within the sector
//!   (`region/pieces.rs`). An edit joins or splits pieces of its own sector alone.
//! * Regions are sets of pieces (`region/table.rs`). *Digging* a cell merges the regions
//!   around it, by moving the pieces of the smaller ones into the largest.
//! * *Filling* a cell first asks whether its neighbours still hang together
//!   through the ring of eight around it (see `region/ring.rs`); if so, nothing
//!   can have split. If not, floods over pieces from each side run in lock-step until only
//!   one is left (`region/flood.rs`), and the finished parts become regions.
//!
//! No edit ever makes a pass over the map.

pub(crate) mod event;
pub(crate) mod flood;
pub(crate) mod pieces;
pub(crate) mod ring;
pub(crate) mod sector;
pub(crate) mod table;

use std::fmt;

use formic_ecs::{CodecError, RandomStream};

use crate::bytes::Saved;
use crate::cell::Cell;
use crate::direction::{Connectivity, members};
use crate::grid::Grid;
use crate::grid::change::GridVersion;
use crate::region::event::{EventLog, RegionEvent, RegionId};
use crate::region::flood::Flood;
use crate::region::pieces::Pieces;
use crate::region::ring::representatives;
use crate::region::sector::SECTOR_PLACES;
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
/// assert_eq!(regions.cell_count(east), 2);
/// assert!(regions.cells(east).eq([Cell::new(3, 0), Cell::new(4, 0)]));
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Regions {
    pieces: Pieces,
    table: RegionTable,
    flood: Flood,
    events: EventLog,
}

/// How often a cell is drawn at random before the cells are counted.
const DRAW_COUNT_MAX: usize = 64;

impl Regions {
    /// The regions of a grid, by one flood over it. Regions are numbered in
    /// reading order of their first cells.
    pub(crate) fn new(grid: &Grid, connectivity: Connectivity) -> Self {
        let pieces = Pieces::new(grid, connectivity);
        let mut table = RegionTable::default();
        for piece in grid.cells().filter_map(|cell| pieces.at(cell)) {
            if table.region_of(piece).is_none() {
                let region = table.create(grid.version());
                table.insert(region, piece);
                table.flood(region, &pieces);
            }
        }
        Self { pieces, table, flood: Flood::default(), events: EventLog::default() }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.pieces.write(out);
        self.table.write(out);
        self.events.write(out);
    }

    /// The regions of a grid.
    pub(crate) fn read(bytes: &mut &[u8], grid: &Grid, connectivity: Connectivity) -> Saved<Self> {
        let pieces = Pieces::read(bytes, grid, connectivity)?;
        let (table, events) = (RegionTable::read(bytes, &pieces)?, EventLog::read(bytes)?);
        let regions = Self { pieces, table, flood: Flood::default(), events };
        regions.check(grid).map_err(|_| CodecError)?;
        Ok(regions)
    }

    /// How the cells of a region hang together.
    #[must_use]
    pub const fn connectivity(&self) -> Connectivity {
        self.pieces.connectivity
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
    /// the region is no more. Reads the sectors that the region is in.
    pub fn cells(&self, region: RegionId) -> impl Iterator<Item = Cell> + '_ {
        (0..self.place_count(region)).filter_map(move |place| self.cell_at(region, place))
    }

    /// How many cells a region has; none if the region is no more.
    #[must_use]
    pub fn cell_count(&self, region: RegionId) -> usize {
        self.table.cell_count(region) as usize
    }

    /// All cells of a region are at places below this.
    pub(crate) fn place_count(&self, region: RegionId) -> usize {
        self.table.pieces(region).len() * SECTOR_PLACES
    }

    /// The cell of a region at a place, if there is one.
    pub(crate) fn cell_at(&self, region: RegionId, place: usize) -> Option<Cell> {
        let piece = self.table.pieces(region)[place / SECTOR_PLACES];
        self.pieces.cell_at(piece, place % SECTOR_PLACES)
    }

    /// A cell of a region, chosen by 64 random bits, or `None` if the region is no more. Every
    /// cell is as likely as any other.
    ///
    /// Draws places of the sectors that the region is in until one is of the region: once or
    /// twice in wide ones. Only where 64 draws in a row fail, the cells are counted.
    ///
    /// ```
    /// # use formic_nav::{Cell, Grid, MoveRule, Terrain};
    /// # let terrain = Terrain::new(Grid::from_fn(2, 1, |_| true)?, MoveRule::BothFree);
    /// let region = terrain.region(Cell::new(0, 0)).unwrap();
    /// let cell = terrain.regions().random_cell(region, 7).unwrap();
    /// assert_eq!(terrain.region(cell), Some(region));
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    #[must_use]
    pub fn random_cell(&self, region: RegionId, random: u64) -> Option<Cell> {
        let (place_count, cell_count) = (self.place_count(region), self.cell_count(region));
        if cell_count == 0 {
            return None;
        }
        let mut stream = RandomStream::new(random);
        for _ in 0..DRAW_COUNT_MAX {
            let cell = self.cell_at(region, pick(stream.next_u64(), place_count));
            if cell.is_some() {
                return cell;
            }
        }
        self.cells(region).nth(pick(stream.next_u64(), cell_count))
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
    pub(crate) fn region_inside(&self, cell: Cell) -> Option<RegionId> {
        self.table.region_of(self.pieces.at(cell)?)
    }

    /// Whether two cells inside the grid are open and of one region.
    #[inline]
    pub(crate) fn is_same(&self, a: Cell, b: Cell) -> bool {
        let pieces = self.pieces.at(a).zip(self.pieces.at(b));
        pieces.is_some_and(|(a, b)| a == b || self.table.is_same(a, b))
    }

    /// Follows the grid after `cell` was dug.
    pub(crate) fn dug(&mut self, grid: &Grid, cell: Cell) {
        let region = self.merge_around(grid, cell).unwrap_or_else(|| {
            let region = self.table.create(grid.version());
            self.events.push(RegionEvent::Created { region });
            region
        });
        let piece = self.join_around(grid, cell).unwrap_or_else(|| {
            let piece = self.pieces.create_at(cell);
            self.table.insert(region, piece);
            piece
        });
        self.pieces.add(grid, piece, cell);
        self.table.resize(region, 1, grid.version());
    }

    /// Follows the grid after `cell` was filled.
    pub(crate) fn filled(&mut self, grid: &Grid, cell: Cell) {
        let piece = self.pieces.take(grid, cell);
        let region = self.table.region_of(piece).expect("every piece is of a region");
        self.table.resize(region, -1, grid.version());
        if self.pieces.cell_count(piece) == 0 {
            self.table.take(piece);
            if self.table.pieces(region).is_empty() {
                self.table.remove(region);
                self.events.push(RegionEvent::Removed { region });
                return;
            }
        } else {
            for part in self.pieces.split(grid, piece, cell).into_iter().flatten() {
                self.table.insert(region, part);
            }
        }
        let seeds = representatives(self.connectivity(), grid.ring(cell));
        let seeds = members(seeds).filter_map(|side| self.pieces.at(side.step_inside(cell)));
        if self.flood.run(&self.pieces, seeds) {
            self.split(region, grid.version());
        }
    }

    /// Merges the regions around a cell into the one of the most pieces, of equals the one of the
    /// most cells, and returns it.
    fn merge_around(&mut self, grid: &Grid, cell: Cell) -> Option<RegionId> {
        let contacts = representatives(self.connectivity(), grid.ring(cell));
        let mut regions = [None; 4];
        for (region, side) in regions.iter_mut().zip(members(contacts)) {
            *region = self.region_inside(side.step_inside(cell));
        }
        let size =
            |table: &RegionTable, region| (table.pieces(region).len(), table.cell_count(region));
        let mut into = regions[0]?;
        for region in regions.into_iter().flatten() {
            if size(&self.table, region) > size(&self.table, into) {
                into = region;
            }
        }
        for from in regions.into_iter().flatten() {
            let cell_count = self.table.cell_count(from);
            // The same region can be in several directions, and is gone after
            // the first.
            if from != into && cell_count > 0 {
                self.table.absorb(into, from);
                self.events.push(RegionEvent::Merged { into, from, cell_count });
            }
        }
        Some(into)
    }

    /// Joins the pieces around a cell in its sector, which are of one region, into the largest,
    /// of equals the first, and returns it.
    fn join_around(&mut self, grid: &Grid, cell: Cell) -> Option<u32> {
        let around = self.pieces.around(grid, cell);
        let mut into = around[0]?;
        for piece in around.into_iter().flatten() {
            if self.pieces.cell_count(piece) > self.pieces.cell_count(into) {
                into = piece;
            }
        }
        for from in around.into_iter().flatten() {
            if from != into && self.pieces.cell_count(from) > 0 {
                self.table.take(from);
                self.pieces.absorb(into, from);
            }
        }
        Some(into)
    }

    /// Makes a region of each part that the flood has found cut off.
    fn split(&mut self, from: RegionId, version: GridVersion) {
        for part in self.flood.cut_off(&self.pieces) {
            let into = self.table.create(version);
            let mut cell_count = 0;
            for &piece in part.flatten() {
                cell_count += self.pieces.cell_count(piece);
                self.table.take(piece);
                self.table.insert(into, piece);
            }
            self.table.recount(from, into, cell_count);
            self.events.push(RegionEvent::Split { from, into, cell_count });
        }
    }

    /// Compares everything with a fresh flood of the grid; takes a pass over it.
    pub(crate) fn check(&self, grid: &Grid) -> Result<(), RegionFault> {
        let fresh = Self::new(grid, self.connectivity());
        self.pieces.check(grid, &fresh.pieces).map_err(|cell| RegionFault { cell })?;
        // Equal partitions: the map from fresh regions to kept ones is a
        // function, and there are as many of the one as of the other.
        let mut twins = vec![None; fresh.count()];
        for cell in grid.cells() {
            if let Some(region) = fresh.region_inside(cell) {
                let kept = self.region_inside(cell);
                if *twins[region.slot()].get_or_insert(kept) != kept {
                    return Err(RegionFault { cell });
                }
            }
        }
        if fresh.count() == self.count() && self.table.is_sound(&self.pieces) {
            Ok(())
        } else {
            Err(RegionFault { cell: Cell::new(0, 0) })
        }
    }
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
