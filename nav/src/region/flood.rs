//! Floods in lock-step: is a region still in one piece, for the price of the
//! smaller one?
//!
//! One flood starts on each side of a filled cell, and they take turns of a
//! few cells. Floods that meet are of one piece. A piece whose floods have nowhere to
//! go is complete, and once all but one piece are, the last needs no more work:
//! the cost is that of the smaller sides. The idea is that of decremental
//! connectivity by Even and Shiloach (1981); here every region stays exact under
//! digging as well.

use crate::cell::Cell;
use crate::direction::{Direction, members};
use crate::grid::Grid;

/// A neighbourhood falls into four pieces at most: one per side, or per corner.
const PIECE_COUNT_MAX: usize = 4;

/// The most cells that a flood takes in a turn. Turns begin at one cell, for most
/// cut-off pieces are tiny, and get longer, for changing over costs as well.
const TURN_CELLS_MAX: usize = 16;

/// The memory of floods, used again and again.
#[derive(Clone, Debug)]
pub(crate) struct Flood {
    /// Per cell of the grid, `stamp + i` if flood `i` of the current run was there.
    marks: Vec<u32>,
    /// A multiple of [`PIECE_COUNT_MAX`], greater than every older mark.
    stamp: u32,
    fronts: [Front; PIECE_COUNT_MAX],
    front_count: usize,
}

/// One flood: the cells it has reached, those before `head` explored.
#[derive(Clone, Debug, Default)]
struct Front {
    cells: Vec<Cell>,
    head: usize,
    /// The lowest flood that this one is known to be of one piece with.
    piece: usize,
}

impl Flood {
    pub(crate) fn new(cell_count: usize) -> Self {
        Self { marks: vec![0; cell_count], stamp: 0, fronts: Default::default(), front_count: 0 }
    }

    /// Floods from the neighbours of `cell` in the directions of `seeds`, through
    /// `directions`, until it is known which of them hang together.
    ///
    /// True if there is more than one piece; [`Flood::cut_off`] then tells them.
    pub(crate) fn run(&mut self, grid: &Grid, cell: Cell, seeds: u8, directions: u8) -> bool {
        self.start(grid, cell, seeds);
        let mut turn_cells = 0;
        loop {
            turn_cells = (turn_cells + 1).min(TURN_CELLS_MAX);
            for i in 0..self.front_count {
                if self.turn(grid, i, turn_cells, directions) {
                    return self.pieces().count() > 1;
                }
            }
        }
    }

    /// Lets one flood take so many cells. True if the question is settled.
    fn turn(&mut self, grid: &Grid, i: usize, cell_count: usize, directions: u8) -> bool {
        for _ in 0..cell_count {
            let Some(&cell) = self.fronts[i].cells.get(self.fronts[i].head) else { return false };
            self.fronts[i].head += 1;
            let met = self.explore(grid, i, cell, directions);
            let is_exhausted = self.fronts[i].head == self.fronts[i].cells.len();
            if (met || is_exhausted) && self.is_settled() {
                return true;
            }
        }
        false
    }

    /// The completed pieces, all but the one that keeps its region, in a
    /// deterministic order: each as the lists of its floods.
    pub(crate) fn cut_off(&self) -> impl Iterator<Item = impl Iterator<Item = &[Cell]>> {
        let kept = self.kept_piece();
        self.pieces().filter(move |&piece| piece != kept).map(|piece| {
            let fronts = self.fronts[..self.front_count].iter();
            fronts.filter(move |front| front.piece == piece).map(|front| &front.cells[..])
        })
    }

    fn start(&mut self, grid: &Grid, cell: Cell, seeds: u8) {
        self.advance_stamp();
        self.front_count = 0;
        for (i, direction) in members(seeds).enumerate() {
            let seed = direction.step_inside(cell);
            let front = &mut self.fronts[i];
            front.cells.clear();
            front.cells.push(seed);
            front.head = 0;
            front.piece = i;
            self.marks[grid.index_inside(seed)] = self.stamp + index_u32(i);
            self.front_count = i + 1;
        }
    }

    fn advance_stamp(&mut self) {
        let step = index_u32(PIECE_COUNT_MAX);
        // The marks of a stamp must not overflow either.
        self.stamp = match self.stamp.checked_add(2 * step) {
            Some(end) => end - step,
            None => {
                self.marks.fill(0);
                step
            }
        };
    }

    /// Takes one cell further in flood `i`. True if it met another flood that was
    /// not known to be of the same piece.
    fn explore(&mut self, grid: &Grid, i: usize, cell: Cell, directions: u8) -> bool {
        let mut met = false;
        for direction in members(grid.open_around(cell, directions)) {
            met |= self.reach(grid, i, cell, direction);
        }
        met
    }

    fn reach(&mut self, grid: &Grid, i: usize, cell: Cell, direction: Direction) -> bool {
        let next = direction.step_inside(cell);
        let mark = &mut self.marks[grid.index_inside(next)];
        if *mark < self.stamp {
            *mark = self.stamp + index_u32(i);
            self.fronts[i].cells.push(next);
            return false;
        }
        let other = (*mark - self.stamp) as usize;
        other != i && self.join(i, other)
    }

    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.fronts[a].piece, self.fronts[b].piece);
        for front in &mut self.fronts[..self.front_count] {
            if front.piece == a.max(b) {
                front.piece = a.min(b);
            }
        }
        a != b
    }

    /// Whether at most one piece is incomplete.
    fn is_settled(&self) -> bool {
        self.pieces().count() == 1 || self.pieces().filter(|&p| !self.is_complete(p)).count() <= 1
    }

    fn is_complete(&self, piece: usize) -> bool {
        let mut fronts = self.fronts[..self.front_count].iter();
        fronts.all(|front| front.piece != piece || front.head == front.cells.len())
    }

    /// The piece that has not been counted to its end, or else the largest one,
    /// of equals the first.
    fn kept_piece(&self) -> usize {
        let size = |piece| {
            let fronts = self.fronts[..self.front_count].iter();
            fronts.filter(|front| front.piece == piece).map(|front| front.cells.len()).sum()
        };
        let rank = |piece: usize| {
            let size: usize = if self.is_complete(piece) { size(piece) } else { usize::MAX };
            (size, std::cmp::Reverse(piece))
        };
        self.pieces().max_by_key(|&piece| rank(piece)).unwrap_or(0)
    }

    /// The pieces that are known to be, each by its lowest flood.
    fn pieces(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.front_count).filter(|&i| self.fronts[i].piece == i)
    }
}

/// An index of floods, of which there are four, as part of a mark.
#[expect(clippy::cast_possible_truncation, reason = "at most PIECE_COUNT_MAX")]
const fn index_u32(i: usize) -> u32 {
    i as u32
}
