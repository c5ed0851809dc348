//! Lanes: the rows, or the columns, of a grid as words of 64 cells, with the stops of scans along them.
//!
//! Jump points (D. Harabor and A. Grastien, "Online Graph Pruning for Pathfinding on Grid Maps", 2011)
//! are found by scanning along rows and columns, 64 cells at a time ("Improving Jump Point Search",
//! 2014). Where a scan stops is a function of the 3 x 3 cells around, so it is kept as a bit per cell and
//! direction and not recomputed by each scan. So is whether a scan from a cell stops at an open one at
//! all. An edit rewrites the words around its cell, and the results of scans as far along the lane as
//! they change. So there is no preprocessing, and nothing becomes stale.
//!
//! If weights differ, scans stop at every *mixed* cell: an open one with an open cell of another weight
//! around it. So all cells that a scan passes have one weight, and so has everything around them.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::cell::Cell;
use crate::direction::{Direction, MoveRule, members};
use crate::grid::{Grid, count_u32};

/// 64 cells of one lane. Bit `i` is the cell at place `i` of the word.
///
/// ```text
///   where no corner is cut          where corners are cut
///      scan  > > p >                   scan  > > p >
///      side    @ o                     side      @ o
/// ```
///
/// A scan that moves as shown stops at `p`, on whichever side that is, because no path as short reaches
/// the cell marked `o` without `p`. It also stops at solid cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct LaneWord {
    /// The cells that are open.
    open: u64,
    /// The cells at which a scan towards higher places stops.
    forward: u64,
    /// The cells at which a scan towards lower places stops.
    backward: u64,
    /// The cells from which a scan towards higher places stops at an open cell.
    leads_forward: u64,
    /// The same for a scan towards lower places.
    leads_backward: u64,
    /// The cells that are open together with the next one in their lane and with both in the next lane. A
    /// diagonal step between the corners of such a square cuts no corner.
    square: u64,
    /// The open cells with an open cell of another weight around them.
    mixed: u64,
}

/// All rows or all columns of a grid, in a frame of solid cells.
///
/// The numbers of lanes and of places in them include the frame: the cell (x, y) is at place x + 1 of row
/// y + 1, and at place y + 1 of column x + 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    words: Vec<LaneWord>,
    words_per_lane: usize,
    lane_count: usize,
    rule: MoveRule,
}

/// The stop of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// The place in the lane.
    pub(crate) place: u32,
    /// Whether the cell there is open, which makes it a jump point.
    pub(crate) is_open: bool,
}

/// The rows and the columns of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LanePair {
    pub(crate) rows: Lanes,
    pub(crate) columns: Lanes,
    mixed_count: usize,
}

impl LanePair {
    pub(crate) fn new(grid: &Grid, rule: MoveRule) -> Self {
        let mut rows = Lanes::solid(grid.width(), grid.height(), rule);
        let mut columns = Lanes::solid(grid.height(), grid.width(), rule);
        for cell in grid.cells().filter(|&cell| grid.is_open(cell)) {
            rows.set(u32::from(cell.y) + 1, u32::from(cell.x) + 1, true);
            columns.set(u32::from(cell.x) + 1, u32::from(cell.y) + 1, true);
        }
        let mut lanes = Self { rows, columns, mixed_count: 0 };
        let has_weights = grid.weight_range().is_some_and(|(min, max)| min != max);
        for cell in grid.cells().filter(|_| has_weights) {
            lanes.mix(grid, cell);
        }
        lanes.rows.rewrite_all();
        lanes.columns.rewrite_all();
        lanes
    }

    /// Follows the grid after a cell inside it was dug or filled.
    pub(crate) fn edit(&mut self, grid: &Grid, cell: Cell) {
        let (x, y) = (u32::from(cell.x) + 1, u32::from(cell.y) + 1);
        self.rows.edit(y, x, grid.is_open(cell));
        self.columns.edit(x, y, grid.is_open(cell));
        let has_weights = grid.weight_range().is_some_and(|(min, max)| min != max);
        if has_weights || self.mixed_count > 0 {
            self.edit_weight(grid, cell);
        }
    }

    /// Follows the grid after the weight of a cell inside it changed.
    pub(crate) fn edit_weight(&mut self, grid: &Grid, cell: Cell) {
        let around = Direction::ALL.into_iter().filter_map(|direction| direction.step(cell));
        for cell in around.chain([cell]).filter(|&cell| grid.contains(cell)) {
            if self.mix(grid, cell) {
                let (x, y) = (u32::from(cell.x) + 1, u32::from(cell.y) + 1);
                self.rows.rewrite(y, x, x, false);
                self.columns.rewrite(x, y, y, false);
            }
        }
    }

    /// Computes whether a cell is mixed. Returns true if that has changed.
    fn mix(&mut self, grid: &Grid, cell: Cell) -> bool {
        let weight = grid.weight_inside(cell);
        let mut around = members(grid.ring(cell)).map(|direction| direction.step_inside(cell));
        let is_mixed =
            grid.is_open(cell) && around.any(|other| grid.weight_inside(other) != weight);
        let (x, y) = (u32::from(cell.x) + 1, u32::from(cell.y) + 1);
        if self.rows.is_mixed(y, x) == is_mixed {
            return false;
        }
        self.rows.set_mixed(y, x, is_mixed);
        self.columns.set_mixed(x, y, is_mixed);
        if is_mixed {
            self.mixed_count += 1;
        } else {
            self.mixed_count -= 1;
        }
        true
    }

    /// Whether a cell inside the grid is mixed.
    #[inline]
    pub(crate) fn is_mixed(&self, cell: Cell) -> bool {
        self.rows.is_mixed(u32::from(cell.y) + 1, u32::from(cell.x) + 1)
    }

    /// The number of mixed cells. If there are none, all cells of a region have one weight.
    pub(crate) const fn mixed_count(&self) -> usize {
        self.mixed_count
    }
}

impl Lanes {
    fn solid(length: u16, count: u16, rule: MoveRule) -> Self {
        let words_per_lane = (usize::from(length) + 2).div_ceil(64);
        let lane_count = usize::from(count) + 2;
        let words = vec![LaneWord::SOLID; words_per_lane * lane_count];
        Self { words, words_per_lane, lane_count, rule }
    }

    fn set(&mut self, lane: u32, place: u32, is_open: bool) {
        let word = lane as usize * self.words_per_lane + (place >> 6) as usize;
        let mask = 1 << (place & 63);
        let open = &mut self.words[word].open;
        *open = if is_open { *open | mask } else { *open & !mask };
    }

    fn edit(&mut self, lane: u32, place: u32, is_open: bool) {
        self.set(lane, place, is_open);
        // The cell is inside the frame, so its neighbours exist.
        let inner = self.inner_lanes();
        for near in (lane - 1..=lane + 1).filter(|near| inner.contains(near)) {
            self.rewrite(near, place - 1, place + 1, near == lane);
        }
    }

    fn rewrite_all(&mut self) {
        let last = count_u32(self.words_per_lane * 64 - 1);
        self.inner_lanes().for_each(|lane| self.rewrite(lane, 0, last, true));
    }

    /// All lanes except the two of the frame, which never change.
    fn inner_lanes(&self) -> Range<u32> {
        1..count_u32(self.lane_count) - 1
    }

    /// Follows an edit of the cells from one place to another, or of cells beside these.
    fn rewrite(&mut self, lane: u32, low: u32, high: u32, is_edited: bool) {
        let words = self.word(lane, low)..self.word(lane, high) + 1;
        let mut has_changed = is_edited;
        for word in words.clone() {
            has_changed |= self.rewrite_stops(word);
        }
        if has_changed {
            self.rewrite_leads::<true>(&words);
            self.rewrite_leads::<false>(&words);
        }
    }

    /// Computes the results of scans that begin in edited words, or pass them. They never leave their
    /// lane, because it ends in solid cells.
    fn rewrite_leads<const FORWARD: bool>(&mut self, edited: &Range<usize>) {
        let (mut word, behind) = match FORWARD {
            true => (edited.end - 1, edited.end),
            false => (edited.start, edited.start - 1),
        };
        // Whether a scan that leaves the word stops at an open cell.
        let mut leads_on = self.leads_through::<FORWARD>(behind);
        loop {
            let [open, solid] = self.words[word].stops::<FORWARD>();
            let known = self.words[word].leads_mut::<FORWARD>();
            if edited.contains(&word) {
                *known = look::<FORWARD>([open, solid], leads_on);
            } else {
                // The cells from which scans leave the word.
                let passed = match (open | solid, FORWARD) {
                    (0, _) => u64::MAX,
                    (stops, true) => u64::MAX << (63 - stops.leading_zeros()),
                    (stops, false) => u64::MAX >> (63 - stops.trailing_zeros()),
                };
                let seen = if leads_on { *known | passed } else { *known & !passed };
                if std::mem::replace(known, seen) == seen || passed != u64::MAX {
                    return;
                }
            }
            leads_on = self.leads_through::<FORWARD>(word);
            word = if FORWARD { word - 1 } else { word + 1 };
        }
    }

    /// Whether a scan that enters a word stops at an open cell.
    fn leads_through<const FORWARD: bool>(&self, word: usize) -> bool {
        let [open, solid] = self.words[word].stops::<FORWARD>();
        let leads = open | !solid & self.words[word].leads::<FORWARD>();
        leads >> if FORWARD { 0 } else { 63 } & 1 != 0
    }

    /// Computes the stops of one word from the open cells around it. Returns true if they have changed.
    fn rewrite_stops(&mut self, word: usize) -> bool {
        let here = self.strip(word);
        let before = self.strip(word - self.words_per_lane);
        let after = self.strip(word + self.words_per_lane);
        let (forward, backward) = match self.rule {
            MoveRule::Orthogonal | MoveRule::BothFree => {
                (before.begins() | after.begins(), before.ends() | after.ends())
            }
            // The cell behind the corner must be reached by a diagonal, which requires an open cell ahead
            // if the rule requires one open cell.
            MoveRule::OneFree => (
                (before.ends_ahead() | after.ends_ahead()) & here.higher,
                (before.begins_ahead() | after.begins_ahead()) & here.lower,
            ),
            MoveRule::Always => (
                before.ends_ahead() | after.ends_ahead(),
                before.begins_ahead() | after.begins_ahead(),
            ),
        };
        let words = &mut self.words[word];
        let stops = [forward, backward].map(|corners| !here.open | corners | words.mixed);
        let has_changed = stops != [words.forward, words.backward];
        [words.forward, words.backward] = stops;
        words.square = here.open & here.higher & after.open & after.higher;
        has_changed
    }

    /// The open cells of a word, and the same moved by one place to each side. Cells beyond the ends of a
    /// lane are solid, whatever the lane.
    fn strip(&self, word: usize) -> Strip {
        let at = |word: usize| self.words.get(word).map_or(0, |word| word.open);
        let open = at(word);
        let lower = open << 1 | at(word.wrapping_sub(1)) >> 63;
        let higher = open >> 1 | at(word + 1) << 63;
        Strip { open, lower, higher }
    }

    /// The word that contains a place of a lane.
    #[inline]
    const fn word(&self, lane: u32, place: u32) -> usize {
        lane as usize * self.words_per_lane + (place >> 6) as usize
    }

    fn set_mixed(&mut self, lane: u32, place: u32, is_mixed: bool) {
        let word = self.word(lane, place);
        let mask = 1 << (place & 63);
        let mixed = &mut self.words[word].mixed;
        *mixed = if is_mixed { *mixed | mask } else { *mixed & !mask };
    }

    /// Whether a cell is mixed.
    #[inline]
    pub(crate) fn is_mixed(&self, lane: u32, place: u32) -> bool {
        self.words[self.word(lane, place)].mixed >> (place & 63) & 1 != 0
    }

    /// Whether a cell is open.
    #[inline]
    pub(crate) fn is_open(&self, lane: u32, place: u32) -> bool {
        self.words[self.word(lane, place)].open >> (place & 63) & 1 != 0
    }

    /// Whether the square of four cells that begins here is open.
    #[inline]
    pub(crate) fn is_square_open(&self, lane: u32, place: u32) -> bool {
        self.words[self.word(lane, place)].square >> (place & 63) & 1 != 0
    }

    /// Whether a scan from here stops at an open cell.
    #[inline]
    pub(crate) fn leads_on<const FORWARD: bool>(&self, lane: u32, place: u32) -> bool {
        self.words[self.word(lane, place)].leads::<FORWARD>() >> (place & 63) & 1 != 0
    }

    /// Whether all cells from one place to another, both included, are open.
    #[inline]
    pub(crate) fn is_run_open(&self, lane: u32, from: u32, to: u32) -> bool {
        let (low, high) = (from.min(to), from.max(to));
        let (first, last) = (self.word(lane, low), self.word(lane, high));
        let mut mask = u64::MAX << (low & 63);
        for word in &self.words[first..last] {
            if !word.open & mask != 0 {
                return false;
            }
            mask = u64::MAX;
        }
        !self.words[last].open & mask & u64::MAX >> (63 - (high & 63)) == 0
    }

    /// The first stop after `place`, towards higher or towards lower places.
    ///
    /// There always is one, because the frame is solid. The scan has to begin inside the frame.
    #[inline(always)]
    pub(crate) fn scan<const FORWARD: bool>(&self, lane: u32, place: u32) -> Stop {
        let from = if FORWARD { place + 1 } else { place - 1 };
        let mut number = self.word(lane, from);
        let mut word = &self.words[number];
        let mut base = from & !63;
        let stops = |word: &LaneWord| if FORWARD { word.forward } else { word.backward };
        let ahead = if FORWARD { u64::MAX << (from & 63) } else { u64::MAX >> (63 - (from & 63)) };
        let mut bits = stops(word) & ahead;
        while bits == 0 {
            number = if FORWARD { number + 1 } else { number - 1 };
            base = if FORWARD { base + 64 } else { base - 64 };
            word = &self.words[number];
            bits = stops(word);
        }
        let place = if FORWARD { bits.trailing_zeros() } else { 63 - bits.leading_zeros() };
        Stop { place: base + place, is_open: word.open >> place & 1 != 0 }
    }
}

impl LaneWord {
    const SOLID: Self = Self {
        open: 0,
        forward: u64::MAX,
        backward: u64::MAX,
        leads_forward: 0,
        leads_backward: 0,
        square: 0,
        mixed: 0,
    };

    /// The open and the solid cells at which a scan stops.
    const fn stops<const FORWARD: bool>(&self) -> [u64; 2] {
        let stops = if FORWARD { self.forward } else { self.backward };
        [stops & self.open, stops & !self.open]
    }

    /// The cells from which a scan stops at an open cell.
    #[inline]
    const fn leads<const FORWARD: bool>(&self) -> u64 {
        if FORWARD { self.leads_forward } else { self.leads_backward }
    }

    const fn leads_mut<const FORWARD: bool>(&mut self) -> &mut u64 {
        if FORWARD { &mut self.leads_forward } else { &mut self.leads_backward }
    }
}

/// The cells of a word from which a scan stops at an open cell, given the word's open and solid stops.
/// `leads_on` is the answer for scans that leave the word.
const fn look<const FORWARD: bool>([open, solid]: [u64; 2], leads_on: bool) -> u64 {
    if FORWARD {
        let stops = [open.reverse_bits(), solid.reverse_bits()];
        return look::<false>(stops, leads_on).reverse_bits();
    }
    // The carries of a sum run from each open stop up to the next stop, and into it.
    let passed = !solid;
    passed.wrapping_add(open).wrapping_add(leads_on as u64) ^ passed ^ open
}

/// 64 cells, and the same cells moved by one place to either side.
#[derive(Clone, Copy, Default)]
struct Strip {
    open: u64,
    lower: u64,
    higher: u64,
}

impl Strip {
    /// The open cells next above a solid one.
    const fn begins(self) -> u64 {
        self.open & !self.lower
    }

    /// The open cells next below a solid one.
    const fn ends(self) -> u64 {
        self.open & !self.higher
    }

    /// The solid cells next below an open one.
    const fn ends_ahead(self) -> u64 {
        !self.open & self.higher
    }

    /// The solid cells next above an open one.
    const fn begins_ahead(self) -> u64 {
        !self.open & self.lower
    }
}
