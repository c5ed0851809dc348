//! Pieces: the connected components within a sector.

use smallvec::SmallVec;

use crate::bytes::{Bytes, Saved, ensure};
use crate::cell::Cell;
use crate::direction::{Connectivity, members};
use crate::grid::Grid;
use crate::region::hierarchy::Hierarchy;
use crate::region::ring::representatives;
use crate::region::sector::{Rows, SECTOR_PLACES, Sectors, directions_inside};

/// The label of solid cells.
const NONE: u32 = u32::MAX;
/// Instead of the piece of a sector that may have several.
const SEVERAL: u32 = u32::MAX - 1;

/// The piece of each cell.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pub(crate) connectivity: Connectivity,
    pub(crate) sectors: Sectors,
    /// The pieces of all places, sector by sector.
    labels: Vec<u32>,
    /// The piece of all open cells of each sector, [`NONE`] if there never was one, or [`SEVERAL`]. Most
    /// sectors of most maps have one, so most look-ups need a few kilobytes for the whole map.
    only: Vec<u32>,
}

impl Pieces {
    /// Creates the pieces of a grid whose cells are all solid.
    pub(crate) fn new(grid: &Grid, connectivity: Connectivity) -> Self {
        let sectors = Sectors::of(grid);
        let (labels, only) = (vec![NONE; sectors.place_count()], vec![NONE; sectors.count]);
        Self { connectivity, sectors, labels, only }
    }

    /// Finds the pieces of a grid, sector by sector.
    pub(crate) fn build(&mut self, grid: &Grid, hierarchy: &mut Hierarchy) {
        for sector in 0..self.sectors.count {
            let mut rest = self.sectors.open_rows(grid, sector);
            while let Some(first) = rest.places().next() {
                let part = rest.part_at(first, self.connectivity);
                let piece = hierarchy.push_piece(sector, part.cell_count());
                self.label(sector, piece, part);
                rest = rest.without(&part);
            }
        }
        self.link(grid, hierarchy);
    }

    /// Counts all pairs of cells of different sectors that touch.
    fn link(&self, grid: &Grid, hierarchy: &mut Hierarchy) {
        for cell in grid.cells().filter(|&cell| grid.is_open(cell)) {
            let piece = self.labels[self.sectors.place(cell)];
            // Each pair occurs once for each of its cells.
            let others = self.outside(grid, cell).filter(|&other| piece < other);
            others.for_each(|other| hierarchy.change_edges(piece, other, 1));
        }
    }

    /// The piece of a cell inside the grid, `None` if it is solid.
    #[inline]
    pub(crate) fn at(&self, cell: Cell) -> Option<u32> {
        let piece = self.labels[self.sectors.place(cell)];
        (piece != NONE).then_some(piece)
    }

    /// Like `at`, for a cell that is known to be open, in less time.
    #[inline]
    pub(crate) fn of_open(&self, cell: Cell) -> u32 {
        let place = self.sectors.place(cell);
        match self.only[place / SECTOR_PLACES] {
            SEVERAL => self.labels[place],
            only => only,
        }
    }

    /// The cell of a piece at an index in its sector, if it has one there.
    pub(crate) fn cell_at(&self, sector: usize, piece: u32, inner: usize) -> Option<Cell> {
        let place = sector * SECTOR_PLACES + inner;
        (self.labels[place] == piece).then(|| self.sectors.cell(place))
    }

    /// Labels a cell, with `None` if it is solid, and returns the previous label.
    pub(crate) fn set(&mut self, cell: Cell, piece: Option<u32>) -> Option<u32> {
        let place = self.sectors.place(cell);
        piece.into_iter().for_each(|piece| self.note(place / SECTOR_PLACES, piece));
        let before = std::mem::replace(&mut self.labels[place], piece.unwrap_or(NONE));
        (before != NONE).then_some(before)
    }

    /// Notes that a sector has a piece.
    fn note(&mut self, sector: usize, piece: u32) {
        let only = &mut self.only[sector];
        *only = if *only == NONE || *only == piece { piece } else { SEVERAL };
    }

    /// Gives cells of a sector to a piece.
    pub(crate) fn label(&mut self, sector: usize, piece: u32, rows: Rows) {
        self.note(sector, piece);
        let base = sector * SECTOR_PLACES;
        rows.places().for_each(|inner| self.labels[base + inner] = piece);
    }

    /// Gives all cells of a piece to another one of its sector.
    pub(crate) fn relabel(&mut self, sector: usize, from: u32, into: u32) {
        let base = sector * SECTOR_PLACES;
        let mut is_only = true;
        for label in &mut self.labels[base..base + SECTOR_PLACES] {
            *label = if *label == from { into } else { *label };
            is_only &= *label == into || *label == NONE;
        }
        self.only[sector] = if is_only { into } else { SEVERAL };
    }

    /// The parts into which a filled cell has cut its piece within the sector, if there are several: first
    /// the largest, of equals the first.
    pub(crate) fn parts(&self, grid: &Grid, cell: Cell) -> SmallVec<[Rows; 4]> {
        let mut parts = SmallVec::<[Rows; 4]>::new();
        let contacts =
            representatives(self.connectivity, grid.ring(cell) & directions_inside(cell, 0));
        if contacts.count_ones() < 2 {
            return parts;
        }
        let mut rest = self.sectors.open_rows(grid, self.sectors.sector(cell));
        for direction in members(contacts) {
            let seed = self.sectors.place(direction.step_inside(cell)) % SECTOR_PLACES;
            if rest.contains(seed) {
                parts.push(rest.part_at(seed, self.connectivity));
                let last = parts.len() - 1;
                rest = rest.without(&parts[last]);
                if parts[last].cell_count() > parts[0].cell_count() {
                    parts.swap(0, last);
                }
            }
        }
        parts
    }

    /// The pieces of the open cells of other sectors that a cell touches.
    pub(crate) fn outside(&self, grid: &Grid, cell: Cell) -> impl Iterator<Item = u32> + use<> {
        let outside = !directions_inside(cell, 0) & self.connectivity.directions();
        let mut others = [NONE; 8];
        if outside != 0 {
            for (other, direction) in others.iter_mut().zip(members(grid.ring(cell) & outside)) {
                *other = self.labels[self.sectors.place(direction.step_inside(cell))];
            }
        }
        others.into_iter().take_while(|&other| other != NONE)
    }

    /// The piece of this one for each of the `count` pieces of `fresh`, or the first cell whose piece is
    /// wrong.
    pub(crate) fn twins(&self, grid: &Grid, fresh: &Self, count: usize) -> Result<Vec<u32>, Cell> {
        let mut twins = vec![NONE; count];
        for cell in grid.cells() {
            let is_same = match (self.at(cell), fresh.at(cell)) {
                (Some(kept), Some(fresh)) => {
                    let twin = &mut twins[fresh as usize];
                    *twin = if *twin == NONE { kept } else { *twin };
                    *twin == kept && self.of_open(cell) == kept
                }
                (kept, fresh) => kept == fresh,
            };
            if !is_same {
                return Err(cell);
            }
        }
        Ok(twins)
    }

    /// Writes for each number the place of its first cell, counted from one, or zero if it is free.
    pub(crate) fn write(&self, number_end: usize, out: &mut Vec<u8>) {
        let mut firsts = vec![0_usize; number_end];
        for (place, &number) in self.labels.iter().enumerate().rev().filter(|(_, n)| **n != NONE) {
            firsts[number as usize] = place + 1;
        }
        firsts.write(out);
    }

    /// Reads the pieces of a grid.
    pub(crate) fn read(
        &mut self,
        bytes: &mut &[u8],
        grid: &Grid,
        hierarchy: &mut Hierarchy,
    ) -> Saved<()> {
        let is_unlabelled = |pieces: &Self, cell| grid.is_open(cell) && pieces.at(cell).is_none();
        for first in Vec::<usize>::read(bytes)? {
            let Some(place) = first.checked_sub(1) else {
                hierarchy.push_piece(0, 0);
                continue;
            };
            let is_new = place < self.labels.len() && is_unlabelled(self, self.sectors.cell(place));
            ensure(is_new)?;
            let sector = place / SECTOR_PLACES;
            let part = self.sectors.open_rows(grid, sector).part_at(place, self.connectivity);
            let piece = hierarchy.push_piece(sector, part.cell_count());
            self.label(sector, piece, part);
        }
        ensure(!grid.cells().any(|cell| is_unlabelled(self, cell)))?;
        hierarchy.finish(0)?;
        self.link(grid, hierarchy);
        Ok(())
    }
}
