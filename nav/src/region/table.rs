//! The regions themselves: which cells each has, and which region each cell has.

use std::num::NonZeroU32;

use formic_ecs::CodecError;

use crate::bytes::{Saved, get_cells, get_count, get_u32, put, put_cells};
use crate::cell::Cell;
use crate::direction::members;
use crate::grid::Grid;
use crate::grid::change::GridVersion;
use crate::region::event::RegionId;

/// The slot of solid cells.
const NONE: u32 = u32::MAX;

/// Where an open cell is listed: `slots[slot].cells[position]` is the cell.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: u32,
    position: u32,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: NonZeroU32,
    /// Empty if and only if the slot is free.
    cells: Vec<Cell>,
    version: GridVersion,
}

/// Regions in slots that are used again, and a place per cell of the grid.
///
/// Invariant: `places` and `slots` are inverse to each other. Every method below
/// keeps that, so removal by swapping needs no search.
#[derive(Clone, Debug)]
pub(crate) struct RegionTable {
    places: Vec<Place>,
    slots: Vec<Slot>,
    /// Free slots, the one freed last on top: that makes ids deterministic.
    free: Vec<u32>,
    region_count: usize,
}

impl RegionTable {
    pub(crate) fn new(cell_count: usize) -> Self {
        let nowhere = Place { slot: NONE, position: 0 };
        let places = vec![nowhere; cell_count];
        Self { places, slots: Vec::new(), free: Vec::new(), region_count: 0 }
    }

    /// The region at a place of the grid, `None` for solid cells.
    pub(crate) fn region_at(&self, index: usize) -> Option<RegionId> {
        let slot = self.places[index].slot;
        (slot != NONE).then(|| self.id(slot))
    }

    /// Whether two open cells have the same region.
    pub(crate) fn is_same(&self, a: usize, b: usize) -> bool {
        let slot = self.places[a].slot;
        slot != NONE && slot == self.places[b].slot
    }

    /// All regions, by slot.
    pub(crate) fn ids(&self) -> impl Iterator<Item = RegionId> + '_ {
        (0_u32..)
            .zip(&self.slots)
            .filter(|(_, slot)| !slot.cells.is_empty())
            .map(|(i, slot)| RegionId { slot: i, generation: slot.generation })
    }

    pub(crate) const fn region_count(&self) -> usize {
        self.region_count
    }

    /// The cells of a region; none if the id is stale.
    pub(crate) fn cells(&self, region: RegionId) -> &[Cell] {
        self.live(region).map_or(&[], |slot| &slot.cells)
    }

    /// The version of the grid when the region last changed.
    pub(crate) fn version(&self, region: RegionId) -> Option<GridVersion> {
        self.live(region).map(|slot| slot.version)
    }

    pub(crate) fn touch(&mut self, region: RegionId, version: GridVersion) {
        self.slots[region.slot()].version = version;
    }

    /// A region without cells, to be given some at once.
    pub(crate) fn create(&mut self, version: GridVersion) -> RegionId {
        self.region_count += 1;
        if let Some(slot) = self.free.pop() {
            self.touch(self.id(slot), version);
            return self.id(slot);
        }
        let slot = u32::try_from(self.slots.len()).expect("there are fewer regions than cells");
        self.slots.push(Slot { generation: NonZeroU32::MIN, cells: Vec::new(), version });
        self.id(slot)
    }

    /// Frees the slot of a region that has lost its last cell.
    pub(crate) fn remove(&mut self, region: RegionId) {
        let slot = &mut self.slots[region.slot()];
        debug_assert!(slot.cells.is_empty(), "region {region} still has cells");
        self.region_count -= 1;
        // A slot whose generations are used up is retired, never wrapped.
        if let Some(generation) = slot.generation.checked_add(1) {
            slot.generation = generation;
            self.free.push(region.slot);
        }
    }

    /// Adds a solid cell's place to a region.
    pub(crate) fn insert(&mut self, grid: &Grid, region: RegionId, cell: Cell) {
        let cells = &mut self.slots[region.slot()].cells;
        let position = count_u32(cells.len());
        cells.push(cell);
        self.places[grid.index_inside(cell)] = Place { slot: region.slot, position };
    }

    /// Takes a cell out of its region and returns which that was.
    pub(crate) fn take(&mut self, grid: &Grid, cell: Cell) -> RegionId {
        let index = grid.index_inside(cell);
        let Place { slot, position } = self.places[index];
        let cells = &mut self.slots[slot as usize].cells;
        cells.swap_remove(position as usize);
        // The last cell has moved into the gap, unless it was the gap.
        if let Some(&moved) = cells.get(position as usize) {
            self.places[grid.index_inside(moved)].position = position;
        }
        self.places[index].slot = NONE;
        self.id(slot)
    }

    /// Moves all cells of one region into another and frees its slot.
    pub(crate) fn absorb(&mut self, grid: &Grid, into: RegionId, from: RegionId) {
        // The emptied list goes back, so that its memory serves the slot's next
        // region.
        let mut cells = std::mem::take(&mut self.slots[from.slot()].cells);
        let target = &mut self.slots[into.slot()].cells;
        for (position, &cell) in (count_u32(target.len())..).zip(&cells) {
            self.places[grid.index_inside(cell)] = Place { slot: into.slot, position };
        }
        target.append(&mut cells);
        self.slots[from.slot()].cells = cells;
        self.remove(from);
    }

    /// Moves some cells of one region into another.
    pub(crate) fn cut<'a>(
        &mut self,
        grid: &Grid,
        from: RegionId,
        into: RegionId,
        piece: impl Iterator<Item = &'a Cell>,
    ) {
        let mut rest = std::mem::take(&mut self.slots[from.slot()].cells);
        let target = &mut self.slots[into.slot()].cells;
        for &cell in piece {
            let index = grid.index_inside(cell);
            let position = self.places[index].position;
            rest.swap_remove(position as usize);
            // The last cell has moved into the gap, unless it was the gap. It may be of
            // the piece itself, and is moved on from there in its turn.
            if let Some(&moved) = rest.get(position as usize) {
                self.places[grid.index_inside(moved)].position = position;
            }
            self.places[index] = Place { slot: into.slot, position: count_u32(target.len()) };
            target.push(cell);
        }
        self.slots[from.slot()].cells = rest;
    }

    /// Fills a region that has one cell with all that it connects to. The list
    /// of the region is the queue of the flood.
    pub(crate) fn flood(&mut self, grid: &Grid, region: RegionId, directions: u8) {
        let mut head = 0;
        while let Some(&cell) = self.slots[region.slot()].cells.get(head) {
            head += 1;
            for direction in members(grid.open_around(cell, directions)) {
                let next = direction.step_inside(cell);
                if self.places[grid.index_inside(next)].slot == NONE {
                    self.insert(grid, region, next);
                }
            }
        }
    }

    /// Verifies that places and slots are inverse, and that solid cells have no
    /// region. Returns the first cell for which that fails.
    pub(crate) fn check(&self, grid: &Grid) -> Result<(), Cell> {
        for cell in grid.cells() {
            let place = self.places[grid.index_inside(cell)];
            let listed = self.slots.get(place.slot as usize);
            let listed = listed.and_then(|slot| slot.cells.get(place.position as usize));
            if listed.copied() != grid.is_open(cell).then_some(cell) {
                return Err(cell);
            }
        }
        // As many listed cells as open ones, so none is listed twice.
        let listed_count: usize = self.slots.iter().map(|slot| slot.cells.len()).sum();
        let counts_agree =
            listed_count == grid.open_count() && self.ids().count() == self.region_count;
        if counts_agree { Ok(()) } else { Err(Cell::new(0, 0)) }
    }

    /// The slots that are free, the one freed last at the end; of each slot its generation, its
    /// version, and its cells in their order.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.free.len() as u64);
        self.free.iter().for_each(|&slot| put(out, slot.into()));
        put(out, self.slots.len() as u64);
        for slot in &self.slots {
            put(out, slot.generation.get().into());
            slot.version.write(out);
            put_cells(out, &slot.cells);
        }
    }

    /// The regions of a grid; whether they are, is looked at where cells are listed.
    pub(crate) fn read(bytes: &mut &[u8], grid: &Grid) -> Saved<Self> {
        let mut table = Self::new(grid.cell_count());
        for _ in 0..get_count(bytes, 8)? {
            table.free.push(get_u32(bytes)?);
        }
        for number in 0..count_u32_checked(get_count(bytes, 32)?)? {
            let generation = NonZeroU32::new(get_u32(bytes)?).ok_or(CodecError)?;
            let version = GridVersion::read(bytes)?;
            table.slots.push(Slot { generation, cells: Vec::new(), version });
            let cells = get_cells(bytes)?;
            table.region_count += usize::from(!cells.is_empty());
            for cell in cells {
                let is_new =
                    grid.is_open(cell) && table.places[grid.index_inside(cell)].slot == NONE;
                if !is_new {
                    return Err(CodecError);
                }
                let id = table.id(number);
                table.insert(grid, id, cell);
            }
        }
        let mut free = table.free.clone();
        free.sort_unstable();
        let is_free =
            |&slot: &u32| table.slots.get(slot as usize).is_some_and(|slot| slot.cells.is_empty());
        let is_set = free.windows(2).all(|pair| pair[0] != pair[1]);
        if is_set && free.iter().all(is_free) { Ok(table) } else { Err(CodecError) }
    }

    fn id(&self, slot: u32) -> RegionId {
        RegionId { slot, generation: self.slots[slot as usize].generation }
    }

    fn live(&self, region: RegionId) -> Option<&Slot> {
        let slot = self.slots.get(region.slot())?;
        (slot.generation == region.generation && !slot.cells.is_empty()).then_some(slot)
    }
}

fn count_u32(count: usize) -> u32 {
    u32::try_from(count).expect("grids have fewer than 2^32 cells")
}

fn count_u32_checked(count: usize) -> Saved<u32> {
    u32::try_from(count).map_err(|_| CodecError)
}
