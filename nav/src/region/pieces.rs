//! Pieces: what hangs together within a sector, and which pieces touch across sectors.

use formic_ecs::CodecError;

use crate::bytes::{Saved, get, get_count, get_u32, put};
use crate::cell::Cell;
use crate::direction::{Connectivity, members};
use crate::grid::{Grid, count_u32};
use crate::region::ring::representatives;
use crate::region::sector::{Rows, SECTOR_PLACES, Sectors, directions_inside};

/// The label of solid cells.
const NONE: u32 = u32::MAX;

/// The open cells of a sector that hang together within it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    sector: u32,
    /// Zero if and only if the number of the piece is free.
    cell_count: u32,
    /// The pieces of other sectors that this one touches, by number.
    edges: Vec<Edge>,
}

/// One piece touches another one, by so many pairs of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    to: u32,
    pair_count: u32,
}

impl Piece {
    /// Changes by how many pairs of cells this piece touches another one.
    fn change_edge(&mut self, to: u32, by: i64) {
        match self.edges.binary_search_by_key(&to, |edge| edge.to) {
            Ok(at) => {
                let left = i64::from(self.edges[at].pair_count) + by;
                self.edges[at].pair_count =
                    u32::try_from(left).expect("no more pairs than there are");
                if left == 0 {
                    self.edges.remove(at);
                }
            }
            Err(at) => {
                let pair_count = u32::try_from(by).expect("no more pairs than there are");
                self.edges.insert(at, Edge { to, pair_count });
            }
        }
    }
}

/// The pieces of a grid, and the piece of each cell.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pub(crate) connectivity: Connectivity,
    sectors: Sectors,
    /// The pieces of all places, sector by sector.
    labels: Vec<u32>,
    pieces: Vec<Piece>,
    /// Numbers to use again, the one freed last on top: that makes pieces deterministic.
    free: Vec<u32>,
}

impl Pieces {
    fn empty(grid: &Grid, connectivity: Connectivity) -> Self {
        let sectors = Sectors::of(grid);
        let labels = vec![NONE; sectors.place_count()];
        Self { connectivity, sectors, labels, pieces: Vec::new(), free: Vec::new() }
    }

    /// The pieces of a grid, sector by sector.
    pub(crate) fn new(grid: &Grid, connectivity: Connectivity) -> Self {
        let mut pieces = Self::empty(grid, connectivity);
        for sector in 0..pieces.sectors.count {
            let mut rest = pieces.sectors.open_rows(grid, sector);
            while let Some(first) = rest.places().next() {
                let part = rest.part_at(first, connectivity);
                let number = pieces.create(sector);
                pieces.label(number, part);
                rest = rest.without(&part);
            }
        }
        pieces.link_all(grid);
        pieces
    }

    fn link_all(&mut self, grid: &Grid) {
        for number in 0..self.pieces.len() {
            self.pieces[number].edges.clear();
        }
        for cell in grid.cells().filter(|&cell| grid.is_open(cell)) {
            let number = self.labels[self.sectors.place(cell)];
            for other in self.outside(grid, cell) {
                self.pieces[number as usize].change_edge(other, 1);
            }
        }
    }

    /// The piece of a cell inside the grid, `None` if it is solid.
    #[inline]
    pub(crate) fn at(&self, cell: Cell) -> Option<u32> {
        let number = self.labels[self.sectors.place(cell)];
        (number != NONE).then_some(number)
    }

    pub(crate) fn cell_count(&self, piece: u32) -> u32 {
        self.pieces[piece as usize].cell_count
    }

    /// The pieces that a piece touches.
    pub(crate) fn touched(&self, piece: u32) -> impl Iterator<Item = u32> + '_ {
        self.pieces[piece as usize].edges.iter().map(|edge| edge.to)
    }

    /// How many pieces there are.
    pub(crate) fn count(&self) -> usize {
        self.pieces.len() - self.free.len()
    }

    /// All numbers below are those of pieces or free.
    pub(crate) fn number_end(&self) -> usize {
        self.pieces.len()
    }

    /// A cell of a piece, if the place in its sector is one.
    pub(crate) fn cell_at(&self, piece: u32, inner: usize) -> Option<Cell> {
        let place = self.pieces[piece as usize].sector as usize * SECTOR_PLACES + inner;
        (self.labels[place] == piece).then(|| self.sectors.cell(place))
    }

    /// The pieces around a solid cell in its own sector, one for each part of the ring.
    pub(crate) fn around(&self, grid: &Grid, cell: Cell) -> [Option<u32>; 4] {
        let mut around = [None; 4];
        for (piece, direction) in around.iter_mut().zip(members(self.contacts(grid, cell))) {
            *piece = self.at(direction.step_inside(cell));
        }
        around
    }

    /// One direction for each part of the ring around a cell in its own sector.
    fn contacts(&self, grid: &Grid, cell: Cell) -> u8 {
        representatives(self.connectivity, grid.ring(cell) & directions_inside(cell))
    }

    /// A piece without cells, to be given some at once.
    fn create(&mut self, sector: usize) -> u32 {
        let sector = count_u32(sector);
        if let Some(number) = self.free.pop() {
            self.pieces[number as usize].sector = sector;
            return number;
        }
        self.pieces.push(Piece { sector, cell_count: 0, edges: Vec::new() });
        count_u32(self.pieces.len() - 1)
    }

    /// A piece for a cell that touches no other one in its sector.
    pub(crate) fn create_at(&mut self, cell: Cell) -> u32 {
        self.create(self.sectors.place(cell) / SECTOR_PLACES)
    }

    /// Gives solid cells, or those of another piece, to a piece.
    fn label(&mut self, number: u32, rows: Rows) {
        let piece = &mut self.pieces[number as usize];
        piece.cell_count += rows.cell_count();
        let base = piece.sector as usize * SECTOR_PLACES;
        rows.places().for_each(|inner| self.labels[base + inner] = number);
    }

    /// Adds a cell that was dug to a piece that it touches, or to one without cells.
    pub(crate) fn add(&mut self, grid: &Grid, number: u32, cell: Cell) {
        self.labels[self.sectors.place(cell)] = number;
        self.pieces[number as usize].cell_count += 1;
        self.change_edges(grid, number, cell, 1);
    }

    /// Takes a cell that was filled out of its piece and returns which that was.
    pub(crate) fn take(&mut self, grid: &Grid, cell: Cell) -> u32 {
        let number = std::mem::replace(&mut self.labels[self.sectors.place(cell)], NONE);
        self.change_edges(grid, number, cell, -1);
        let piece = &mut self.pieces[number as usize];
        piece.cell_count -= 1;
        if piece.cell_count == 0 {
            self.free.push(number);
        }
        number
    }

    /// Joins two pieces of one sector.
    pub(crate) fn absorb(&mut self, into: u32, from: u32) {
        let base = self.pieces[from as usize].sector as usize * SECTOR_PLACES;
        for label in &mut self.labels[base..base + SECTOR_PLACES] {
            *label = if *label == from { into } else { *label };
        }
        let cell_count = std::mem::take(&mut self.pieces[from as usize].cell_count);
        self.pieces[into as usize].cell_count += cell_count;
        let mut edges = std::mem::take(&mut self.pieces[from as usize].edges);
        for Edge { to, pair_count } in edges.drain(..) {
            let count = i64::from(pair_count);
            self.pieces[into as usize].change_edge(to, count);
            self.pieces[to as usize].change_edge(from, -count);
            self.pieces[to as usize].change_edge(into, count);
        }
        // The emptied list goes back, so that its memory serves the number's next piece.
        self.pieces[from as usize].edges = edges;
        self.free.push(from);
    }

    /// Makes pieces of what a filled cell has cut off its piece within the sector. The largest
    /// part, of equals the first, keeps the number.
    pub(crate) fn split(&mut self, grid: &Grid, number: u32, cell: Cell) -> [Option<u32>; 3] {
        let mut created = [None; 3];
        let contacts = self.contacts(grid, cell);
        if contacts.count_ones() < 2 {
            return created;
        }
        let sector = self.sectors.place(cell) / SECTOR_PLACES;
        let mut rest = self.sectors.open_rows(grid, sector);
        let mut largest: Option<Rows> = None;
        let mut free = created.iter_mut();
        for direction in members(contacts) {
            let seed = self.sectors.place(direction.step_inside(cell)) % SECTOR_PLACES;
            if !rest.contains(seed) {
                continue;
            }
            let part = rest.part_at(seed, self.connectivity);
            rest = rest.without(&part);
            let Some(other) = largest.replace(part) else { continue };
            let smaller = if part.cell_count() > other.cell_count() {
                other
            } else {
                largest.replace(other).expect("it was put there")
            };
            if let Some(place) = free.next() {
                *place = Some(self.cut(grid, number, smaller));
            }
        }
        created
    }

    /// Makes a piece of some cells of another one.
    fn cut(&mut self, grid: &Grid, from: u32, part: Rows) -> u32 {
        let sector = self.pieces[from as usize].sector as usize;
        let into = self.create(sector);
        self.pieces[from as usize].cell_count -= part.cell_count();
        self.label(into, part);
        for inner in part.places() {
            let cell = self.sectors.cell(sector * SECTOR_PLACES + inner);
            if directions_inside(cell) != u8::MAX {
                self.change_edges(grid, from, cell, -1);
                self.change_edges(grid, into, cell, 1);
            }
        }
        into
    }

    /// Counts the pairs that a cell makes with those of other sectors as more, or less, of a piece.
    fn change_edges(&mut self, grid: &Grid, number: u32, cell: Cell, by: i64) {
        let outside = !directions_inside(cell) & self.connectivity.directions();
        for direction in members(grid.ring(cell) & outside) {
            let other = self.labels[self.sectors.place(direction.step_inside(cell))];
            self.pieces[number as usize].change_edge(other, by);
            self.pieces[other as usize].change_edge(number, by);
        }
    }

    /// The pieces of the open cells of other sectors that a cell touches.
    fn outside(&self, grid: &Grid, cell: Cell) -> impl Iterator<Item = u32> + use<> {
        let outside = !directions_inside(cell) & self.connectivity.directions();
        let mut others = [NONE; 8];
        for (other, direction) in others.iter_mut().zip(members(grid.ring(cell) & outside)) {
            *other = self.labels[self.sectors.place(direction.step_inside(cell))];
        }
        others.into_iter().take_while(|&other| other != NONE)
    }

    /// Compares with the pieces of the grid anew. Returns the first cell that is wrong.
    pub(crate) fn check(&self, grid: &Grid, fresh: &Self) -> Result<(), Cell> {
        let mut twins = vec![NONE; fresh.pieces.len()];
        for cell in grid.cells() {
            let (kept, fresh) = (self.at(cell), fresh.at(cell));
            let is_same = match (kept, fresh) {
                (Some(kept), Some(fresh)) => {
                    let twin = &mut twins[fresh as usize];
                    *twin = if *twin == NONE { kept } else { *twin };
                    *twin == kept
                }
                (kept, fresh) => kept == fresh,
            };
            if !is_same {
                return Err(cell);
            }
        }
        for (piece, &twin) in fresh.pieces.iter().zip(&twins) {
            let mut piece = piece.clone();
            piece.edges.iter_mut().for_each(|edge| edge.to = twins[edge.to as usize]);
            piece.edges.sort_unstable_by_key(|edge| edge.to);
            if self.pieces[twin as usize] != piece {
                return Err(self.sectors.cell(piece.sector as usize * SECTOR_PLACES));
            }
        }
        let live_count = self.pieces.iter().filter(|piece| piece.cell_count > 0).count();
        let is_whole = live_count == fresh.count() && live_count == self.count();
        if is_whole { Ok(()) } else { Err(Cell::new(0, 0)) }
    }

    /// The free numbers, the one freed last at the end; of each number the place of the first
    /// cell, counted from one, or zero if it is free.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut firsts = vec![0; self.pieces.len()];
        for (place, &number) in self.labels.iter().enumerate().rev().filter(|(_, n)| **n != NONE) {
            firsts[number as usize] = place as u64 + 1;
        }
        put(out, self.free.len() as u64);
        self.free.iter().for_each(|&number| put(out, number.into()));
        put(out, firsts.len() as u64);
        firsts.iter().for_each(|&first| put(out, first));
    }

    /// The pieces of a grid.
    pub(crate) fn read(bytes: &mut &[u8], grid: &Grid, connectivity: Connectivity) -> Saved<Self> {
        let mut pieces = Self::empty(grid, connectivity);
        for _ in 0..get_count(bytes, 8)? {
            pieces.free.push(get_u32(bytes)?);
        }
        let is_unlabelled = |pieces: &Self, cell| grid.is_open(cell) && pieces.at(cell).is_none();
        for number in 0..get_count(bytes, 8)? {
            let first = usize::try_from(get(bytes)?).map_err(|_| CodecError)?;
            pieces.pieces.push(Piece { sector: 0, cell_count: 0, edges: Vec::new() });
            let Some(place) = first.checked_sub(1) else { continue };
            let is_new =
                place < pieces.labels.len() && is_unlabelled(&pieces, pieces.sectors.cell(place));
            if !is_new {
                return Err(CodecError);
            }
            let sector = place / SECTOR_PLACES;
            pieces.pieces[number].sector = count_u32(sector);
            let part = pieces.sectors.open_rows(grid, sector).part_at(place, connectivity);
            pieces.label(count_u32(number), part);
        }
        let is_whole = grid.cells().all(|cell| !is_unlabelled(&pieces, cell));
        let mut free = pieces.free.clone();
        free.sort_unstable();
        let dead = pieces.pieces.iter().enumerate().filter(|(_, piece)| piece.cell_count == 0);
        if !is_whole || !free.into_iter().eq(dead.map(|(number, _)| count_u32(number))) {
            return Err(CodecError);
        }
        pieces.link_all(grid);
        Ok(pieces)
    }
}
