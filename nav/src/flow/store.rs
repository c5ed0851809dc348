//! The store of a flow field: the data of each cell, sector by sector.

use crate::bytes::{Bytes, Saved, bytes_by_field};
use crate::cell::Cell;
use crate::direction::Direction;
use crate::grid::Grid;
use crate::region::sector::{SECTOR_PLACES, Sectors};

/// The cost of a cell of which nothing is known.
pub(crate) const UNREACHED: u64 = u64::MAX;
/// The slot of a sector without any reached cell.
const NO_SLOT: u32 = u32::MAX;

/// The lowest bits of a mark are a direction, or the number of a link. This bit says that there is a
/// direction.
const HAS_WAY: u8 = 1 << 3;
const WAY_MASK: u8 = HAS_WAY - 1;
/// The number of links of one cell that are told apart.
const LINK_COUNT_MAX: u8 = WAY_MASK;
/// The cell waits in the queue.
const QUEUED: u8 = 1 << 4;
/// The direction was made uncertain by an edit: a forgotten cell keeps it.
const HAD_WAY: u8 = 1 << 5;
/// The cell got its cost by a link.
const LINKED: u8 = 1 << 6;
/// The link was made uncertain by an edit.
const HAD_LINK: u8 = 1 << 7;

/// The way in which a cell got its cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// The cell is a goal.
    None,
    Step(Direction),
    /// By the link of this number among those that begin at the cell.
    Link(u8),
}

/// A cost and a mark for each cell, nine bytes, in sectors that are allocated when the first of their
/// cells is reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct SectorStore {
    /// The index where the cells of each sector begin, in sectors.
    slots: Vec<u32>,
    sectors: Sectors,
    costs: Vec<u64>,
    marks: Vec<u8>,
}

bytes_by_field!(SectorStore { slots, sectors, costs, marks });

impl SectorStore {
    /// Whether the store, read from a save, has memory for each cell of a sector that has any.
    pub(crate) fn is_whole(&self) -> bool {
        let is_there = |&slot: &u32| slot == NO_SLOT || (slot as usize) < self.sector_count();
        (self.slots.len(), self.costs.len()) == (self.sectors.count, self.marks.len())
            && self.marks.len() % SECTOR_PLACES == 0
            && self.slots.iter().all(is_there)
    }

    /// Whether the store is for a grid of this size, and no direction leads out of it.
    pub(crate) fn is_for(&self, grid: &Grid) -> bool {
        let stays = |cell: Cell| {
            let next = self.last_way(cell).map(|way| way.step(cell));
            next.is_none_or(|next| next.is_some_and(|next| grid.contains(next)))
        };
        self.sectors == Sectors::of(grid) && grid.cells().all(stays)
    }

    /// Clears everything and keeps the memory.
    pub(crate) fn begin(&mut self, grid: &Grid) {
        self.sectors = Sectors::of(grid);
        self.slots.clear();
        self.slots.resize(self.sectors.count, NO_SLOT);
        self.costs.clear();
        self.marks.clear();
    }

    /// The number of allocated sectors.
    pub(crate) fn sector_count(&self) -> usize {
        self.marks.len() / SECTOR_PLACES
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
            + self.costs.capacity() * size_of::<u64>()
            + self.marks.capacity()
    }

    /// The index of a cell, or `None` if its sector is not allocated.
    #[inline]
    fn place(&self, cell: Cell) -> Option<usize> {
        let place = self.sectors.place(cell);
        let slot = self.slots[place / SECTOR_PLACES];
        (slot != NO_SLOT).then(|| slot as usize * SECTOR_PLACES + place % SECTOR_PLACES)
    }

    /// The index of a cell. Allocates its sector if necessary.
    fn claim(&mut self, cell: Cell) -> usize {
        let sector = self.sectors.place(cell) / SECTOR_PLACES;
        if self.slots[sector] == NO_SLOT {
            let count = self.sector_count();
            self.slots[sector] = u32::try_from(count).expect("grids have fewer than 2^32 cells");
            let length = (count + 1) * SECTOR_PLACES;
            self.costs.resize(length, UNREACHED);
            self.marks.resize(length, 0);
        }
        self.place(cell).expect("the sector has memory now")
    }

    /// The cost of a cell, or [`UNREACHED`].
    #[inline]
    pub(crate) fn cost(&self, cell: Cell) -> u64 {
        self.place(cell).map_or(UNREACHED, |place| self.costs[place])
    }

    /// The cost of a cell that does not wait in the queue, or [`UNREACHED`].
    pub(crate) fn told_cost(&self, cell: Cell) -> u64 {
        let place = self.place(cell).filter(|&place| self.marks[place] & QUEUED == 0);
        place.map_or(UNREACHED, |place| self.costs[place])
    }

    /// The direction in which a cell got its cost. `None` for goals and unreached cells, and if it got
    /// its cost by a link.
    pub(crate) fn way(&self, cell: Cell) -> Option<Direction> {
        let mark = self.marks[self.place(cell)?];
        (mark & HAS_WAY != 0).then(|| Direction::ALL[usize::from(mark & WAY_MASK)])
    }

    /// Whether a cell got its cost by a link.
    pub(crate) fn is_linked(&self, cell: Cell) -> bool {
        self.place(cell).is_some_and(|place| self.marks[place] & LINKED != 0)
    }

    /// The direction in which a cell last got its cost, even if it was forgotten since.
    pub(crate) fn last_way(&self, cell: Cell) -> Option<Direction> {
        let mark = self.marks[self.place(cell)?];
        (mark & (HAS_WAY | HAD_WAY) != 0).then(|| Direction::ALL[usize::from(mark & WAY_MASK)])
    }

    /// The number of the link by which a cell last got its cost, even if it was forgotten since.
    pub(crate) fn last_link(&self, cell: Cell) -> Option<usize> {
        let mark = self.marks[self.place(cell)?];
        let number = mark & WAY_MASK;
        let is_known = mark & (LINKED | HAD_LINK) != 0 && number < LINK_COUNT_MAX;
        is_known.then_some(number.into())
    }

    /// Gives a cell a cost and marks it as queued. Returns false if it was queued before.
    #[inline]
    pub(crate) fn enter(&mut self, cell: Cell, cost: u64, way: Way) -> bool {
        let place = self.claim(cell);
        let was_queued = self.marks[place] & QUEUED != 0;
        self.costs[place] = cost;
        self.marks[place] = QUEUED
            | match way {
                Way::None => 0,
                Way::Step(way) => HAS_WAY | way as u8,
                Way::Link(number) => LINKED | number.min(LINK_COUNT_MAX),
            };
        !was_queued
    }

    /// Makes a cell use a step of the same cost instead of its current one, if the step comes first in
    /// the order of all directions. Goals stay goals.
    pub(crate) fn prefer(&mut self, cell: Cell, way: Way) {
        let (Some(place), Way::Step(way)) = (self.place(cell), way) else { return };
        let mark = self.marks[place];
        let is_later = mark & LINKED != 0 || mark & HAS_WAY != 0 && mark & WAY_MASK > way as u8;
        if is_later {
            self.marks[place] = mark & QUEUED | HAS_WAY | way as u8;
        }
    }

    /// Removes the queued mark from a cell, if it has that mark, at this cost.
    #[inline]
    pub(crate) fn take(&mut self, cell: Cell, cost: u64) -> bool {
        let Some(place) = self.place(cell) else { return false };
        let is_queued = self.marks[place] & QUEUED != 0 && self.costs[place] == cost;
        if is_queued {
            self.marks[place] &= !QUEUED;
        }
        is_queued
    }

    /// Marks a cell that has a cost as queued again.
    pub(crate) fn put_back(&mut self, cell: Cell) {
        if let Some(place) = self.place(cell) {
            self.marks[place] |= QUEUED;
        }
    }

    /// The number of cells that are marked as queued.
    pub(crate) fn queued_count(&self) -> usize {
        self.marks.iter().filter(|&&mark| mark & QUEUED != 0).count()
    }

    /// Makes a cell unreached. Returns true if it was queued.
    pub(crate) fn forget(&mut self, cell: Cell) -> bool {
        let Some(place) = self.place(cell) else { return false };
        self.costs[place] = UNREACHED;
        let mark = self.marks[place];
        let had = match mark & (HAS_WAY | LINKED) {
            HAS_WAY => HAD_WAY,
            LINKED => HAD_LINK,
            _ => mark & (HAD_WAY | HAD_LINK),
        };
        self.marks[place] = had | mark & WAY_MASK;
        mark & QUEUED != 0
    }
}
