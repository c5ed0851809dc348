//! Regions: the connected components of the open cells, exact under edits.
//!
//! Two cells are mutually reachable if and only if they are of one region, so that question costs a few
//! array reads and no search. An edit does work that is local to it:
//!
//! * Sectors of 32 x 32 cells are divided into *pieces*, the connected components within the sector
//!   (`region/pieces.rs`). Within larger and larger squares pieces form *groups*, and in the whole map
//!   regions (`region/hierarchy.rs`). Pieces, groups and regions are the *nodes* of their levels.
//! * *Digging* a cell merges the nodes of each level around it in its square, by moving the content of
//!   the smaller ones into the largest.
//! * *Filling* a cell first checks on each level whether its neighbours in the square are still connected
//!   through the ring of eight around it (see `region/ring.rs`); if so, nothing can have split there. If
//!   not, flood fills over the nodes of the level below run from each side in lock-step until only one is
//!   left (`region/flood.rs`), and the finished parts become nodes.
//!
//! No edit ever makes a pass over the map. A flood fill visits what a square has at its border and at
//! that of the squares in it. So even a cut through a maze takes work that grows with the side of the map
//! and not with its area.

pub(crate) mod chunks;
pub(crate) mod event;
pub(crate) mod flood;
pub(crate) mod hierarchy;
pub(crate) mod pieces;
pub(crate) mod ring;
pub(crate) mod sector;

use std::fmt;
use std::num::NonZeroU32;

use formic_ecs::RandomStream;

use crate::bytes::{Bytes, Saved, bytes_by_field, ensure};
use crate::cell::Cell;
use crate::direction::{Connectivity, members};
use crate::grid::change::GridVersion;
use crate::grid::{Grid, count_u32};
use crate::region::chunks::Chunks;
use crate::region::event::{EventLog, RegionEvent, RegionId};
use crate::region::flood::Flood;
use crate::region::hierarchy::{Hierarchy, Node};
use crate::region::pieces::Pieces;
use crate::region::ring::representatives;
use crate::region::sector::{SECTOR_PLACES, directions_inside};
use crate::rng::pick;

/// The regions of a grid. [`Terrain`](crate::Terrain) owns them and keeps them consistent.
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
    hierarchy: Hierarchy,
    /// Indexed by the number of the node on the top level.
    slots: Chunks<Slot>,
    count: usize,
    flood: Flood,
    events: EventLog,
}

/// The data of a region beside its node.
#[derive(Clone, Copy, Debug)]
struct Slot {
    generation: NonZeroU32,
    version: GridVersion,
}

bytes_by_field!(Slot { generation, version });

/// The number of random draws of a cell before the cells are counted.
const DRAW_COUNT_MAX: usize = 64;

impl Regions {
    /// Finds the regions of a grid by one flood fill over it. Regions are numbered in reading order of
    /// their first cells.
    pub(crate) fn new(grid: &Grid, connectivity: Connectivity) -> Self {
        let mut regions = Self::empty(grid, connectivity);
        let Self { pieces, hierarchy, .. } = &mut regions;
        pieces.build(grid, hierarchy);
        hierarchy.build(grid.cells().filter_map(|cell| pieces.at(cell)));
        regions.count = hierarchy.number_end(hierarchy.top());
        let slot = Slot { generation: NonZeroU32::MIN, version: grid.version() };
        (0..regions.count).for_each(|_| regions.slots.push(slot));
        regions
    }

    fn empty(grid: &Grid, connectivity: Connectivity) -> Self {
        let pieces = Pieces::new(grid, connectivity);
        let hierarchy = Hierarchy::new(pieces.sectors);
        let (flood, events) = (Flood::default(), EventLog::default());
        Self { pieces, hierarchy, slots: Chunks::default(), count: 0, flood, events }
    }

    /// Writes for each level the free numbers, and the members of each number; for regions, their
    /// generations and versions as well.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (hierarchy, top) = (&self.hierarchy, self.hierarchy.top());
        hierarchy.levels[0].free.write(out);
        self.pieces.write(hierarchy.number_end(0), out);
        for level in 1..=top {
            hierarchy.levels[level].free.write(out);
            let number_end = hierarchy.number_end(level);
            number_end.write(out);
            for number in 0..count_u32(number_end) {
                if level == top {
                    self.slots[number as usize].write(out);
                }
                hierarchy.node(level, number).members.write(out);
            }
        }
        self.events.write(out);
    }

    /// Reads the regions of a grid.
    pub(crate) fn read(bytes: &mut &[u8], grid: &Grid, connectivity: Connectivity) -> Saved<Self> {
        let mut regions = Self::empty(grid, connectivity);
        let Self { pieces, hierarchy, slots, .. } = &mut regions;
        hierarchy.levels[0].free = Vec::read(bytes)?;
        pieces.read(bytes, grid, hierarchy)?;
        let top = hierarchy.top();
        for level in 1..=top {
            hierarchy.levels[level].free = Vec::read(bytes)?;
            for _ in 0..usize::read(bytes)? {
                if level == top {
                    slots.push(Slot::read(bytes)?);
                }
                hierarchy.push_node(level, Vec::read(bytes)?)?;
            }
            hierarchy.finish(level)?;
        }
        regions.count = regions.ids().count();
        regions.events = EventLog::read_short(bytes)?;
        ensure(regions.check(grid).is_ok())?;
        Ok(regions)
    }

    /// The connectivity of the cells of a region.
    #[must_use]
    pub const fn connectivity(&self) -> Connectivity {
        self.pieces.connectivity
    }

    /// The number of regions.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// All regions, in the order of their slots.
    pub fn ids(&self) -> impl Iterator<Item = RegionId> + '_ {
        let all = (0..count_u32(self.slots.len())).map(|slot| self.id(slot));
        all.filter(|&region| self.node(region).is_some())
    }

    /// The cells of a region in no particular (but deterministic) order; none if the region no longer
    /// exists. Reads the sectors that the region is in.
    pub fn cells(&self, region: RegionId) -> impl Iterator<Item = Cell> + '_ {
        (0..self.piece_count(region)).map(move |rank| self.piece_at(region, rank)).flat_map(
            move |piece| (0..SECTOR_PLACES).filter_map(move |place| self.cell_at(piece, place)),
        )
    }

    /// The number of cells of a region; zero if the region no longer exists.
    #[must_use]
    pub fn cell_count(&self, region: RegionId) -> usize {
        self.node(region).map_or(0, |node| node.cell_count as usize)
    }

    /// The number of pieces of a region; zero if the region no longer exists.
    pub(crate) fn piece_count(&self, region: RegionId) -> usize {
        self.node(region).map_or(0, |node| node.piece_count as usize)
    }

    /// The piece of a region with this rank.
    pub(crate) fn piece_at(&self, region: RegionId, rank: usize) -> u32 {
        self.hierarchy.piece_at(region.slot, rank)
    }

    /// The cell of a piece at an index in its sector, if there is one.
    pub(crate) fn cell_at(&self, piece: u32, place: usize) -> Option<Cell> {
        self.pieces.cell_at(self.hierarchy.node(0, piece).sector as usize, piece, place)
    }

    /// A cell of a region, chosen by 64 random bits, or `None` if the region no longer exists. All cells
    /// are equally likely.
    ///
    /// The cell is found by counting cells down from the region to a piece. On maps of up to 1,024 cells
    /// along a side, random cells of the sectors that the region is in are drawn first until one is of
    /// the region, at most 64 times: once or twice in wide regions.
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
        let cell_count = self.cell_count(region);
        if cell_count == 0 {
            return None;
        }
        let mut stream = RandomStream::new(random);
        // With groups in between, finding a piece takes as long as finding the exact cell.
        if self.hierarchy.top() == 1 {
            let place_count = self.piece_count(region) * SECTOR_PLACES;
            for _ in 0..DRAW_COUNT_MAX {
                let place = pick(stream.next_u64(), place_count);
                let piece = self.piece_at(region, place / SECTOR_PLACES);
                let cell = self.cell_at(piece, place % SECTOR_PLACES);
                if cell.is_some() {
                    return cell;
                }
            }
        }
        let rank = pick(stream.next_u64(), cell_count);
        let (piece, rank) = self.hierarchy.piece_of_cell(region.slot, rank);
        (0..SECTOR_PLACES).filter_map(|place| self.cell_at(piece, place)).nth(rank)
    }

    /// The version of the grid when a region last gained or lost a cell, or `None` if the region no
    /// longer exists.
    ///
    /// On a terrain without links an unreachable goal stays unreachable while the versions of the two
    /// regions stay the same, so there is no point in asking again.
    #[must_use]
    pub fn version(&self, region: RegionId) -> Option<GridVersion> {
        self.node(region).map(|_| self.slots[region.slot()].version)
    }

    /// The number of events that were dropped because they were not drained in time.
    #[must_use]
    pub const fn lost_event_count(&self) -> u64 {
        self.events.lost_count()
    }

    pub(crate) fn drain_events(&mut self) -> impl Iterator<Item = RegionEvent> + '_ {
        self.events.drain()
    }

    /// The region of a cell inside the grid.
    pub(crate) fn region_inside(&self, cell: Cell) -> Option<RegionId> {
        Some(self.id(self.hierarchy.ancestor(self.pieces.at(cell)?, self.hierarchy.top())))
    }

    /// Whether two open cells are of one region.
    #[inline]
    pub(crate) fn is_same(&self, a: Cell, b: Cell) -> bool {
        self.hierarchy.is_same(self.pieces.of_open(a), self.pieces.of_open(b))
    }

    fn id(&self, slot: u32) -> RegionId {
        RegionId { slot, generation: self.slots[slot as usize].generation }
    }

    /// The node of a region, or `None` if the region no longer exists.
    fn node(&self, region: RegionId) -> Option<&Node> {
        self.slots.get(region.slot()).filter(|slot| slot.generation == region.generation)?;
        let node = self.hierarchy.node(self.hierarchy.top(), region.slot);
        (node.cell_count > 0).then_some(node)
    }

    /// Creates a node of the top level, which the caller gives cells at once.
    fn create(&mut self, sector: u32, version: GridVersion) -> RegionId {
        self.count += 1;
        let slot = self.hierarchy.create(self.hierarchy.top(), sector);
        if slot as usize == self.slots.len() {
            self.slots.push(Slot { generation: NonZeroU32::MIN, version });
        }
        self.slots[slot as usize].version = version;
        self.id(slot)
    }

    /// Frees the number of a node that has lost all its members.
    fn remove(&mut self, level: usize, node: u32) {
        if level < self.hierarchy.top() {
            self.hierarchy.take(level, node);
            return self.hierarchy.remove(level, node, true);
        }
        self.count -= 1;
        // A slot whose generations are used up is retired, never wrapped.
        let generation = &mut self.slots[node as usize].generation;
        let next = generation.checked_add(1);
        *generation = next.unwrap_or(*generation);
        self.hierarchy.remove(level, node, next.is_some());
    }

    /// The node on a level for each part of the ring around a cell, as far as the part is in the cell's
    /// `square`, a level too.
    fn around(&self, grid: &Grid, cell: Cell, square: usize, level: usize) -> [Option<u32>; 4] {
        let inside = grid.ring(cell) & directions_inside(cell, self.hierarchy.square_shift(square));
        let sides = members(representatives(self.connectivity(), inside));
        let mut around = [None; 4];
        for (node, side) in around.iter_mut().zip(sides) {
            let piece = self.pieces.at(side.step_inside(cell));
            *node = piece.map(|piece| self.hierarchy.ancestor(piece, level));
        }
        around
    }

    /// Follows the grid after `cell` was dug.
    pub(crate) fn dug(&mut self, grid: &Grid, cell: Cell) {
        let (top, sector) = (self.hierarchy.top(), count_u32(self.pieces.sectors.sector(cell)));
        let slot = self.merge_around(grid, top, cell).unwrap_or_else(|| {
            let region = self.create(sector, grid.version());
            self.events.push(RegionEvent::Created { region });
            region.slot
        });
        self.slots[slot as usize].version = grid.version();
        let mut node = slot;
        for level in (0..top).rev() {
            node = self.merge_around(grid, level, cell).unwrap_or_else(|| {
                let created = self.hierarchy.create(level, sector);
                self.hierarchy.insert(level, created, node);
                if level == 0 {
                    self.hierarchy.count_pieces(node, 1);
                }
                created
            });
        }
        self.pieces.set(cell, Some(node));
        self.hierarchy.resize(node, 1);
        let others = self.pieces.outside(grid, cell);
        others.for_each(|other| self.hierarchy.change_edges(node, other, 1));
    }

    /// Follows the grid after `cell` was filled.
    pub(crate) fn filled(&mut self, grid: &Grid, cell: Cell) {
        let piece = self.pieces.set(cell, None).expect("an open cell is of a piece");
        let others = self.pieces.outside(grid, cell);
        others.for_each(|other| self.hierarchy.change_edges(piece, other, -1));
        self.hierarchy.resize(piece, -1);
        let top = self.hierarchy.top();
        let region = self.id(self.hierarchy.ancestor(piece, top));
        self.slots[region.slot()].version = grid.version();
        let mut node = piece;
        for level in 0..=top {
            let parent = self.hierarchy.node(level, node).parent;
            if self.hierarchy.node(level, node).cell_count == 0 {
                if level == 0 {
                    self.hierarchy.count_pieces(parent, -1);
                }
                self.remove(level, node);
                if level == top {
                    self.events.push(RegionEvent::Removed { region });
                }
            } else if level == 0 {
                self.split_piece(grid, node, cell);
            } else {
                self.split(grid, level, node, cell);
            }
            node = parent;
        }
    }

    /// Merges the nodes of a level around a cell, in its square, and returns the result. They merge into
    /// the node with the most members, of equals the one with the most cells.
    fn merge_around(&mut self, grid: &Grid, level: usize, cell: Cell) -> Option<u32> {
        let around = self.around(grid, cell, level, level);
        let size = |hierarchy: &Hierarchy, node| {
            let node = hierarchy.node(level, node);
            (node.members.len(), node.cell_count)
        };
        let mut into = around[0]?;
        for node in around.into_iter().flatten() {
            if size(&self.hierarchy, node) > size(&self.hierarchy, into) {
                into = node;
            }
        }
        for from in around.into_iter().flatten() {
            let cell_count = self.hierarchy.node(level, from).cell_count;
            // The same node can be in several directions, and is gone after the first.
            if from == into || cell_count == 0 {
                continue;
            }
            if level == self.hierarchy.top() {
                let (into, from) = (self.id(into), self.id(from));
                self.events.push(RegionEvent::Merged { into, from, cell_count });
            }
            if level == 0 {
                self.pieces.relabel(self.hierarchy.node(0, from).sector as usize, from, into);
                self.hierarchy.count_pieces(self.hierarchy.node(0, from).parent, -1);
            }
            self.hierarchy.absorb(level, into, from);
            self.remove(level, from);
        }
        Some(into)
    }

    /// Makes pieces of the parts that a filled cell has cut off its piece within the sector.
    fn split_piece(&mut self, grid: &Grid, piece: u32, cell: Cell) {
        let sector = self.pieces.sectors.sector(cell);
        for part in self.pieces.parts(grid, cell).into_iter().skip(1) {
            let into = self.hierarchy.create(0, count_u32(sector));
            self.pieces.label(sector, into, part);
            self.hierarchy.move_cells(piece, into, part.cell_count());
            for inner in part.at_border().places() {
                let others = self.pieces.outside(grid, self.pieces.sectors.cell_in(sector, inner));
                others.for_each(|other| self.hierarchy.move_edge(piece, into, other));
            }
        }
    }

    /// Makes nodes of the parts that a filled cell has cut off a node within its square.
    fn split(&mut self, grid: &Grid, level: usize, node: u32, cell: Cell) {
        let seeds = self.around(grid, cell, level, level - 1);
        if seeds[1].is_none()
            || !self.flood.run(&mut self.hierarchy, level - 1, seeds.into_iter().flatten())
        {
            return;
        }
        let kept = self.flood.kept_part(&self.hierarchy, level - 1);
        let sector = count_u32(self.pieces.sectors.sector(cell));
        // Taken out of `self` while its parts are read.
        let flood = std::mem::take(&mut self.flood);
        for part in flood.cut_off(kept) {
            if level == self.hierarchy.top() {
                let (from, into) = (self.id(node), self.create(sector, grid.version()));
                let cell_count = self.hierarchy.move_members(level, node, into.slot, part);
                self.events.push(RegionEvent::Split { from, into, cell_count });
            } else {
                let into = self.hierarchy.create(level, sector);
                self.hierarchy.insert(level, into, self.hierarchy.node(level, node).parent);
                self.hierarchy.move_members(level, node, into, part);
            }
        }
        self.flood = flood;
    }

    /// Compares everything with a fresh flood fill of the grid, which takes a pass over it.
    pub(crate) fn check(&self, grid: &Grid) -> Result<(), RegionFault> {
        let fresh = Self::new(grid, self.connectivity());
        let piece_count = fresh.hierarchy.number_end(0);
        let twins = self.pieces.twins(grid, &fresh.pieces, piece_count);
        let twins = twins.map_err(|cell| RegionFault { cell })?;
        let fault = |sector: u32| {
            let cell = self.pieces.sectors.cell_in(sector as usize, 0);
            RegionFault { cell }
        };
        self.hierarchy.check(&fresh.hierarchy, twins).map_err(fault)?;
        if self.ids().count() == self.count { Ok(()) } else { Err(fault(0)) }
    }
}

/// A difference between the regions and those of a fresh flood fill: a bug of this crate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionFault {
    /// The first wrong cell; the origin if the number of regions differs.
    pub cell: Cell,
}

impl fmt::Display for RegionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the region of cell {} is not that of a fresh flood", self.cell)
    }
}

impl std::error::Error for RegionFault {}
