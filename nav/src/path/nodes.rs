//! The nodes of A*, which need no clearing between searches.

use crate::cost::DIAGONAL;
use crate::direction::Direction;
use crate::grid::CELL_COUNT_MAX;
use crate::link::UNITS_SUM_MAX;

/// The position of the cost in a node, after the mark.
const COST_SHIFT: u32 = 5;
const COST_BITS: u32 = 48;
const COST_MASK: u64 = (1 << COST_BITS) - 1;
const GENERATION_SHIFT: u32 = COST_SHIFT + COST_BITS;
/// The nodes of all cells are cleared once in this many searches.
const GENERATION_COUNT: u64 = u64::MAX >> GENERATION_SHIFT;

/// The arrival of the cell where a search starts; the others are directions.
const START: u64 = 8;
/// The cell was entered by a link.
const LINKED: u64 = 9;
const ARRIVAL_MASK: u64 = 15;
const QUEUED: u64 = 16;
/// No search has reached the cell.
const UNSEEN: u64 = u64::MAX;

/// A path enters each cell at most once, by a step between the heaviest of cells, or by a link.
const _: () = {
    let steps = CELL_COUNT_MAX as u64 * DIAGONAL as u64 * u8::MAX as u64;
    assert!(steps + UNITS_SUM_MAX < 1 << COST_BITS);
};

/// The nodes of all cells, stamped with the generation of the search that wrote them. So beginning a
/// search clears them all in O(1), except once in two thousand searches.
///
/// ```text
///   generation (11 bits) | cost (48 bits) | is queued (1 bit) | arrival (4 bits)
/// ```
///
/// Generations count down, so nodes of earlier searches cost more than any of this one: one comparison
/// decides whether to enter a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeTable {
    nodes: Vec<u64>,
    generation: u64,
}

impl NodeTable {
    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<u64>()
    }

    /// Clears everything and makes room for `cell_count` cells, for a search that starts from `start`.
    pub(crate) fn begin(&mut self, cell_count: usize, start: usize) {
        if self.nodes.len() < cell_count {
            // Without the spare room that `resize` would take.
            self.nodes.reserve_exact(cell_count - self.nodes.len());
            self.nodes.resize(cell_count, UNSEEN);
        }
        if self.generation == 0 {
            self.nodes.fill(UNSEEN);
            self.generation = GENERATION_COUNT;
        }
        self.generation -= 1;
        self.nodes[start] = self.generation << GENERATION_SHIFT | QUEUED | START;
    }

    /// Whether this search has reached a cell.
    #[inline]
    pub(crate) fn is_reached(&self, index: usize) -> bool {
        self.nodes[index] >> GENERATION_SHIFT == self.generation
    }

    /// Whether this search has reached a cell, and does not have it in its queue.
    #[inline]
    pub(crate) fn is_closed(&self, index: usize) -> bool {
        self.is_reached(index) && self.nodes[index] & QUEUED == 0
    }

    /// The cost of a cell that this search has reached.
    #[inline]
    pub(crate) fn cost(&self, index: usize) -> u64 {
        self.nodes[index] >> COST_SHIFT & COST_MASK
    }

    /// Whether this search entered a cell by a link.
    pub(crate) fn is_linked(&self, index: usize) -> bool {
        self.nodes[index] & ARRIVAL_MASK == LINKED
    }

    /// The direction in which this search entered a cell; `None` at the start and after links.
    #[inline]
    pub(crate) fn arrival(&self, index: usize) -> Option<Direction> {
        Direction::ALL.get((self.nodes[index] & ARRIVAL_MASK) as usize).copied()
    }

    /// Takes a cell out of the queue. Returns false if it is no longer there.
    #[inline]
    pub(crate) fn take(&mut self, index: usize) -> bool {
        let node = &mut self.nodes[index];
        let is_queued = *node & QUEUED != 0;
        *node &= !QUEUED;
        is_queued
    }

    /// Puts a cell back that was just taken out of the queue.
    pub(crate) fn put_back(&mut self, index: usize) {
        self.nodes[index] |= QUEUED;
    }

    /// Enters a cell at a cost and queues it, if it was not entered at that cost or less already; without
    /// a direction, by a link. Returns true if it was entered.
    #[inline]
    pub(crate) fn improve(
        &mut self,
        index: usize,
        cost: u64,
        direction: Option<Direction>,
    ) -> bool {
        let entry = self.generation << GENERATION_SHIFT | cost << COST_SHIFT;
        let node = &mut self.nodes[index];
        let is_better = entry < *node & !(QUEUED | ARRIVAL_MASK);
        if is_better {
            *node = entry | QUEUED | direction.map_or(LINKED, |it| it as u64);
        }
        is_better
    }
}
