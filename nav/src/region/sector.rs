//! Sectors: squares of 32 x 32 cells, flood-filled a row at a time.

use crate::bytes::{Bytes, Saved, bytes_by_field};
use crate::cell::Cell;
use crate::direction::Connectivity;
use crate::grid::Grid;

const SIDE: u16 = 32;
/// The number of places of a sector. At the edges of a grid some places have no cell.
pub(crate) const SECTOR_PLACES: usize = 1024;

/// The sectors of a grid, and the place of each cell: sector by sector, and in each in reading
/// order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sectors {
    pub(crate) per_row: usize,
    pub(crate) count: usize,
}

bytes_by_field!(Sectors { per_row, count });

impl Sectors {
    pub(crate) fn of(grid: &Grid) -> Self {
        let per_row = usize::from(grid.width().div_ceil(SIDE));
        Self { per_row, count: per_row * usize::from(grid.height().div_ceil(SIDE)) }
    }

    /// The number of places.
    pub(crate) const fn place_count(self) -> usize {
        self.count * SECTOR_PLACES
    }

    #[inline]
    pub(crate) fn place(self, cell: Cell) -> usize {
        let (x, y) = (usize::from(cell.x), usize::from(cell.y));
        ((y >> 5) * self.per_row + (x >> 5)) << 10 | (y & 31) << 5 | x & 31
    }

    pub(crate) fn sector(self, cell: Cell) -> usize {
        self.place(cell) / SECTOR_PLACES
    }

    /// The cell at a place of a sector.
    pub(crate) const fn cell_in(self, sector: usize, inner: usize) -> Cell {
        self.cell(sector * SECTOR_PLACES + inner)
    }

    /// The cell at a place, which may lie outside of the grid.
    #[expect(clippy::cast_possible_truncation, reason = "sides are at most 16,384")]
    pub(crate) const fn cell(self, place: usize) -> Cell {
        let (sector, inner) = (place / SECTOR_PLACES, place % SECTOR_PLACES);
        let (x, y) =
            (sector % self.per_row * 32 + inner % 32, sector / self.per_row * 32 + inner / 32);
        Cell::new(x as u16, y as u16)
    }

    /// The open cells of a sector.
    pub(crate) fn open_rows(self, grid: &Grid, sector: usize) -> Rows {
        let Cell { x, y } = self.cell(sector * SECTOR_PLACES);
        let mut rows = Rows([0; 32]);
        for (row, y) in rows.0.iter_mut().zip(y..grid.height()) {
            *row = grid.open_row(x, y);
        }
        rows
    }
}

/// The directions from a cell that stay in its square, which has `1 << shift` sectors along a side.
pub(crate) const fn directions_inside(cell: Cell, shift: usize) -> u8 {
    let last = ((SIDE as u32) << shift) - 1;
    let (x, y) = (cell.x as u32 & last, cell.y as u32 & last);
    let mut inside = u8::MAX;
    if x == 0 {
        inside &= !0b0010_1001;
    }
    if x == last {
        inside &= !0b1001_0100;
    }
    if y == 0 {
        inside &= !0b0000_0111;
    }
    if y == last {
        inside &= !0b1110_0000;
    }
    inside
}

/// A set of cells of a sector, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rows(pub(crate) [u32; 32]);

impl Rows {
    /// The cells connected to the one at a place, which has to be one of these.
    pub(crate) fn part_at(&self, place: usize, connectivity: Connectivity) -> Self {
        let mut part = Self([0; 32]);
        let row = place / 32 % 32;
        part.0[row] = along(1 << (place % 32), self.0[row]);
        // The rows to look at again: those beside one that has grown.
        let beside = |row: usize| (5_u64 << row >> 1) & u64::from(u32::MAX);
        let mut pending = beside(row);
        while pending != 0 {
            let row = pending.trailing_zeros() as usize;
            pending &= pending - 1;
            let above = if row == 0 { 0 } else { part.0[row - 1] };
            let near = above | part.0.get(row + 1).copied().unwrap_or(0);
            let near = match connectivity {
                Connectivity::Four => near,
                Connectivity::Eight => near | near << 1 | near >> 1,
            };
            let grown = (part.0[row] | near) & self.0[row];
            if grown != part.0[row] {
                part.0[row] = along(grown, self.0[row]);
                pending |= beside(row);
            }
        }
        part
    }

    pub(crate) fn contains(&self, place: usize) -> bool {
        self.0[place / 32 % 32] >> (place % 32) & 1 != 0
    }

    pub(crate) fn cell_count(&self) -> u32 {
        self.0.iter().map(|row| row.count_ones()).sum()
    }

    /// The cells of `self` that are not in `other`.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(row, other)| *row &= !other);
        self
    }

    /// The places, counted in the sector, in reading order.
    pub(crate) fn places(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(row, bits)| {
            let rests = std::iter::successors(Some(bits), |rest| Some(rest & rest.wrapping_sub(1)));
            let rests = rests.take_while(|&rest| rest != 0);
            rests.map(move |rest| row * 32 + rest.trailing_zeros() as usize)
        })
    }

    /// Those at the border of the sector.
    pub(crate) fn at_border(mut self) -> Self {
        self.0[1..31].iter_mut().for_each(|row| *row &= 1 | 1 << 31);
        self
    }
}

/// All cells in `open` that are connected to `seeds` along the row, by doubling.
const fn along(seeds: u32, open: u32) -> u32 {
    let (mut up, mut down) = (seeds, seeds);
    let (mut open_up, mut open_down) = (open, open);
    let mut shift = 1;
    while shift < 32 {
        up |= open_up & up << shift;
        down |= open_down & down >> shift;
        open_up &= open_up << shift;
        open_down &= open_down >> shift;
        shift *= 2;
    }
    up | down
}
