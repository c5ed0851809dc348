//! A yardstick of our own: jump points in one file, as one would write them down after the papers.
//!
//! Rows and columns as planes of bits, 64 cells a step, and what a scan stops at is worked out on the
//! way: nothing is prepared, and nothing but the planes is kept (D. Harabor and A. Grastien, 2011 and
//! 2014, without the pruning of intermediate jump points). A table of twelve bytes a cell, stamped with
//! the number of the search, and a heap with four children an entry. It knows one rule, no weights, no
//! budget and no regions, so it has less to do than Formic.

use formic_nav::{Cell, DIAGONAL, STRAIGHT};

use crate::columns::{Column, Solver};
use crate::maps::Problem;

/// `None` over weights, which it does not know.
pub(crate) fn column(problem: &Problem) -> Option<Column> {
    if problem.is_weighted {
        return None;
    }
    let grid = problem.terrain.grid();
    let (width, height) = (u32::from(grid.width()), u32::from(grid.height()));
    let mut peer = Reference {
        rows: Plane::new(width, height),
        columns: Plane::new(height, width),
        width: width + 2,
        nodes: vec![Node::default(); (width as usize + 2) * (height as usize + 2)],
        stamp: 0,
        heap: Vec::new(),
        goal: (0, 0),
        path: Vec::new(),
        cost: None,
    };
    for cell in grid.cells().filter(|&cell| grid.is_open(cell)) {
        let (x, y) = place(cell);
        peer.rows.set(y, x);
        peer.columns.set(x, y);
    }
    Some(Column { name: "reference", solver: Box::new(peer), is_exact: true })
}

/// Lanes of cells in a solid frame, a bit each.
struct Plane {
    words: Vec<u64>,
    stride: usize,
}

impl Plane {
    fn new(length: u32, count: u32) -> Self {
        let stride = (length as usize + 2).div_ceil(64);
        // A word more at either end, so that each word has one before and one after it.
        Self { words: vec![0; stride * (count as usize + 2) + 2], stride }
    }

    #[inline]
    fn word(&self, lane: u32, place: u32) -> usize {
        1 + lane as usize * self.stride + (place >> 6) as usize
    }

    fn set(&mut self, lane: u32, place: u32) {
        let word = self.word(lane, place);
        self.words[word] |= 1 << (place & 63);
    }

    #[inline]
    fn is_open(&self, lane: u32, place: u32) -> bool {
        self.words[self.word(lane, place)] >> (place & 63) & 1 != 0
    }

    /// Where a scan ends, and whether the cell there is open: the first cell that is solid, or that
    /// has an open cell beside it behind a solid one.
    #[inline(always)]
    fn scan<const UP: bool>(&self, lane: u32, from: u32) -> (u32, bool) {
        let (words, stride) = (&self.words[..], self.stride);
        let mut at = self.word(lane, from);
        let mut base = from & !63;
        // What begins at the first cell of a word is known from the word before. The first word
        // needs none, for what is looked for lies behind `from`.
        let (mut left, mut right) = (0, 0);
        let mut mask = if UP { !1 << (from & 63) } else { !(!0 << (from & 63)) };
        loop {
            let (here, before, after) = (words[at], words[at - stride], words[at + stride]);
            let forced = if UP {
                before & !(before << 1 | left >> 63) | after & !(after << 1 | right >> 63)
            } else {
                before & !(before >> 1 | left << 63) | after & !(after >> 1 | right << 63)
            };
            let stops = (!here | forced) & mask;
            if stops != 0 {
                let bit = if UP { stops.trailing_zeros() } else { 63 - stops.leading_zeros() };
                return (base + bit, here >> bit & 1 != 0);
            }
            (left, right, mask) = (before, after, !0);
            if UP {
                (at, base) = (at + 1, base + 64);
            } else {
                (at, base) = (at - 1, base - 64);
            }
        }
    }
}

/// What is known about a cell, as of the search with that number. The lowest bit of the stamp is set
/// once the cell is expanded.
#[derive(Clone, Copy, Default)]
struct Node {
    cost: u32,
    parent: u32,
    stamp: u32,
}

struct Reference {
    rows: Plane,
    columns: Plane,
    width: u32,
    nodes: Vec<Node>,
    stamp: u32,
    /// Estimate, inverted cost, and the cell: of equals, the farthest comes first.
    heap: Vec<(u64, u32)>,
    goal: (u32, u32),
    path: Vec<Cell>,
    cost: Option<u32>,
}

const fn place(cell: Cell) -> (u32, u32) {
    (cell.x as u32 + 1, cell.y as u32 + 1)
}

impl Reference {
    fn reach(&mut self, x: u32, y: u32, cost: u32, parent: u32) {
        let node = &mut self.nodes[(y * self.width + x) as usize];
        if node.stamp >= self.stamp && (node.stamp & 1 != 0 || node.cost <= cost) {
            return;
        }
        *node = Node { cost, parent, stamp: self.stamp };
        let (dx, dy) = (x.abs_diff(self.goal.0), y.abs_diff(self.goal.1));
        let rest = STRAIGHT * dx.max(dy) + (DIAGONAL - STRAIGHT) * dx.min(dy);
        self.push((u64::from(cost + rest) << 32 | u64::from(!cost), y << 16 | x));
    }

    fn push(&mut self, entry: (u64, u32)) {
        let mut at = self.heap.len();
        self.heap.push(entry);
        while at > 0 && self.heap[(at - 1) / 4].0 > entry.0 {
            self.heap[at] = self.heap[(at - 1) / 4];
            at = (at - 1) / 4;
        }
        self.heap[at] = entry;
    }

    fn pop(&mut self) -> Option<u32> {
        let last = self.heap.pop()?;
        let Some(&least) = self.heap.first() else { return Some(last.1) };
        let mut at = 0;
        loop {
            let children = 4 * at + 1..(4 * at + 5).min(self.heap.len());
            let Some(child) = children.min_by_key(|&child| self.heap[child].0) else { break };
            if last.0 <= self.heap[child].0 {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = last;
        Some(least.1)
    }

    /// The end of a straight scan that is worth a node, if there is one.
    #[inline(always)]
    fn jump<const ROW: bool, const UP: bool>(&self, x: u32, y: u32) -> Option<u32> {
        let (lanes, lane, from, goal_lane, goal) = if ROW {
            (&self.rows, y, x, self.goal.1, self.goal.0)
        } else {
            (&self.columns, x, y, self.goal.0, self.goal.1)
        };
        let (end, is_open) = lanes.scan::<UP>(lane, from);
        let is_between = if UP { from < goal && goal <= end } else { end <= goal && goal < from };
        if lane == goal_lane && is_between { Some(goal) } else { is_open.then_some(end) }
    }

    fn straight<const ROW: bool, const UP: bool>(&mut self, x: u32, y: u32, cost: u32) {
        if let Some(end) = self.jump::<ROW, UP>(x, y) {
            let cost = cost + end.abs_diff(if ROW { x } else { y }) * STRAIGHT;
            let (to_x, to_y) = if ROW { (end, y) } else { (x, end) };
            self.reach(to_x, to_y, cost, y << 16 | x);
        }
    }

    #[inline(never)]
    fn diagonal<const EAST: bool, const SOUTH: bool>(&mut self, x: u32, y: u32, cost: u32) {
        let (mut to_x, mut to_y, mut cost) = (x, y, cost);
        loop {
            let next_x = if EAST { to_x + 1 } else { to_x - 1 };
            let next_y = if SOUTH { to_y + 1 } else { to_y - 1 };
            let rows = &self.rows;
            if !(rows.is_open(to_y, next_x)
                && rows.is_open(next_y, to_x)
                && rows.is_open(next_y, next_x))
            {
                return;
            }
            (to_x, to_y, cost) = (next_x, next_y, cost + DIAGONAL);
            if (to_x, to_y) == self.goal
                || self.jump::<true, EAST>(to_x, to_y).is_some()
                || self.jump::<false, SOUTH>(to_x, to_y).is_some()
            {
                return self.reach(to_x, to_y, cost, y << 16 | x);
            }
        }
    }

    /// Expands a cell that was entered in a direction, each part of it -1, 0 or 1; no direction at the start.
    fn expand(&mut self, x: u32, y: u32, cost: u32, (dx, dy): (i32, i32)) {
        let rows = &self.rows;
        let is_start = dx == 0 && dy == 0;
        let is_open =
            |dx: i32, dy: i32| rows.is_open(y.wrapping_add_signed(dy), x.wrapping_add_signed(dx));
        // What a straight step forces: the sides that open here.
        let north = dx != 0 && dy == 0 && is_open(0, -1) && !is_open(-dx, -1);
        let south = dx != 0 && dy == 0 && is_open(0, 1) && !is_open(-dx, 1);
        let west = dy != 0 && dx == 0 && is_open(-1, 0) && !is_open(-1, -dy);
        let east = dy != 0 && dx == 0 && is_open(1, 0) && !is_open(1, -dy);
        let (goes_north, goes_south) = (is_start || dy < 0 || north, is_start || dy > 0 || south);
        let (goes_west, goes_east) = (is_start || dx < 0 || west, is_start || dx > 0 || east);
        // A diagonal goes on as it came, or off to a side that opens.
        let turns = is_start || dx * dy != 0 || north || south || west || east;
        if goes_north {
            self.straight::<false, false>(x, y, cost);
        }
        if goes_south {
            self.straight::<false, true>(x, y, cost);
        }
        if goes_west {
            self.straight::<true, false>(x, y, cost);
        }
        if goes_east {
            self.straight::<true, true>(x, y, cost);
        }
        if turns && goes_north && goes_west {
            self.diagonal::<false, false>(x, y, cost);
        }
        if turns && goes_north && goes_east {
            self.diagonal::<true, false>(x, y, cost);
        }
        if turns && goes_south && goes_west {
            self.diagonal::<false, true>(x, y, cost);
        }
        if turns && goes_south && goes_east {
            self.diagonal::<true, true>(x, y, cost);
        }
    }

    fn search(&mut self, start: (u32, u32)) -> Option<u32> {
        self.heap.clear();
        self.stamp += 2;
        self.reach(start.0, start.1, 0, start.1 << 16 | start.0);
        while let Some(bits) = self.pop() {
            let (x, y) = (bits & 0xFFFF, bits >> 16);
            let node = &mut self.nodes[(y * self.width + x) as usize];
            if node.stamp & 1 != 0 {
                continue;
            }
            node.stamp |= 1;
            let Node { cost, parent, .. } = *node;
            if (x, y) == self.goal {
                return Some(cost);
            }
            let sign = |from: u32, to: u32| (to as i32 - from as i32).signum();
            self.expand(x, y, cost, (sign(parent & 0xFFFF, x), sign(parent >> 16, y)));
        }
        None
    }

    /// Writes down the path, cell by cell.
    fn trace(&mut self, start: (u32, u32)) {
        let (mut x, mut y) = self.goal;
        self.path.clear();
        while (x, y) != start {
            let parent = self.nodes[(y * self.width + x) as usize].parent;
            let (to_x, to_y) = (parent & 0xFFFF, parent >> 16);
            let (dx, dy) = ((to_x as i32 - x as i32).signum(), (to_y as i32 - y as i32).signum());
            while (x, y) != (to_x, to_y) {
                self.path.push(Cell::new(x as u16 - 1, y as u16 - 1));
                (x, y) = (x.wrapping_add_signed(dx), y.wrapping_add_signed(dy));
            }
        }
        self.path.push(Cell::new(x as u16 - 1, y as u16 - 1));
        self.path.reverse();
    }
}

impl Solver for Reference {
    fn solve(&mut self, start: Cell, goal: Cell) {
        self.goal = place(goal);
        self.cost = self.search(place(start));
        if self.cost.is_some() {
            self.trace(place(start));
        }
    }

    fn length(&self) -> Option<f64> {
        self.cost.map(|cost| f64::from(cost) / f64::from(STRAIGHT))
    }
}
