//! The frontier of a jump point search: the jump points that it has reached, and the order in which to
//! expand them.

use std::collections::BinaryHeap;

use crate::cell::Cell;
use crate::cost::{DIAGONAL, JUMP_COST_END};
use crate::direction::Direction;
use crate::grid::{CELL_COUNT_MAX, SIDE_MAX, count_u32};

/// Slots that a search begins with: few searches need more, and these stay in
/// the nearest cache.
const SLOT_BITS_MIN: u32 = 10;

/// The number of slots from which on memory counts more than speed, as a power of two.
const SLOT_BITS_LARGE: u32 = 15;

/// A cell by column and row, which both include the frame of solid cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) x: u32,
    pub(crate) y: u32,
}

impl Place {
    pub(crate) fn of(cell: Cell) -> Self {
        Self { x: u32::from(cell.x) + 1, y: u32::from(cell.y) + 1 }
    }

    #[expect(clippy::cast_possible_truncation, reason = "sides are at most SIDE_MAX")]
    pub(crate) const fn cell(self) -> Cell {
        Cell::new((self.x - 1) as u16, (self.y - 1) as u16)
    }

    const fn to_bits(self) -> u32 {
        self.y << 16 | self.x
    }

    const fn from_bits(bits: u32) -> Self {
        Self { x: bits & 0xFFFF, y: bits >> 16 }
    }
}

/// A cell that the search has reached, its cost and its arrival. Sixteen bytes.
///
/// ```text
///   cost (40 bits) . parent (24 bits) | place | slot (27 bits) . is closed (1 bit) . arrival (4 bits)
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct JumpNode {
    cost_and_parent: u64,
    place: u32,
    tag: u32,
}

const NUMBER_BITS: u32 = CELL_COUNT_MAX.ilog2();
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;
/// Over ground of one weight all costs and estimates fit: a node that is expanded costs no more than a
/// path over all cells, and what a look adds to that and the estimate are together at most three sides of
/// diagonals (see `Terrain::jump_cost_max`).
const _: () = {
    assert!(JUMP_COST_END <= 1 << (u64::BITS - NUMBER_BITS));
    assert!((CELL_COUNT_MAX + 3 * SIDE_MAX) as u64 * (DIAGONAL as u64) < JUMP_COST_END);
};

const ARRIVAL_MASK: u32 = 15;
const CLOSED: u32 = 16;
const SLOT_SHIFT: u32 = 5;
/// The arrival of the start; the others are directions.
const START: u32 = 8;

impl JumpNode {
    pub(crate) fn new(place: Place, cost: u64, parent: u32, arrival: Option<Direction>) -> Self {
        let tag = arrival.map_or(START, |direction| direction as u32);
        let cost_and_parent = cost << NUMBER_BITS | u64::from(parent);
        Self { cost_and_parent, place: place.to_bits(), tag }
    }

    /// The units from the start.
    pub(crate) const fn cost(&self) -> u64 {
        self.cost_and_parent >> NUMBER_BITS
    }

    /// The number of the node from which this one was reached; its own number at the start.
    pub(crate) const fn parent(&self) -> u32 {
        number_of(self.cost_and_parent)
    }

    pub(crate) const fn place(&self) -> Place {
        Place::from_bits(self.place)
    }

    /// The direction of the last step; `None` at the start.
    pub(crate) fn arrival(&self) -> Option<Direction> {
        Direction::ALL.get((self.tag & ARRIVAL_MASK) as usize).copied()
    }

    const fn slot(&self) -> u32 {
        self.tag >> SLOT_SHIFT
    }

    const fn is_closed(&self) -> bool {
        self.tag & CLOSED != 0
    }
}

/// The nodes of one search, by cell and in their order.
///
/// Nodes lie in the order in which they were reached. A table of slots leads from cells to them, by
/// hashing with linear probing. Slots are never cleared: a slot is taken if the node that it leads to
/// exists and says that this is its slot (P. Briggs and L. Torczon, "An Efficient Representation for
/// Sparse Sets", 1993). So a search begins by clearing two lists, and its data lie together however large
/// the map is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frontier {
    slots: Vec<u32>,
    slot_bits: u32,
    /// The number of nodes from which on there should be more slots.
    crowd: usize,
    nodes: Vec<JumpNode>,
    /// Estimates in the upper 40 bits, inverted, since the greatest comes first, and in the lower ones
    /// numbers of nodes: of equals, the one that was reached last comes first.
    heap: BinaryHeap<u64>,
    /// The estimate of the start.
    pub(crate) first_estimate: u64,
}

impl Frontier {
    /// Clears the frontier, for a start with this estimate.
    pub(crate) fn begin(&mut self, first_estimate: u64) {
        self.first_estimate = first_estimate;
        self.nodes.clear();
        self.heap.clear();
        self.set_slot_bits(SLOT_BITS_MIN);
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
            + self.nodes.capacity() * size_of::<JumpNode>()
            + self.heap.capacity() * size_of::<u64>()
    }

    #[inline]
    pub(crate) fn node(&self, number: u32) -> &JumpNode {
        &self.nodes[number as usize]
    }

    /// Enters a cell, unless it was entered at that cost or less already. `rest` is the estimate of the
    /// rest of the path.
    #[inline]
    pub(crate) fn reach(&mut self, node: JumpNode, rest: u64) {
        let mask = (1 << self.slot_bits) - 1;
        let mut slot = self.home(node.place);
        let number = loop {
            let number = self.slots[slot & mask];
            let Some(known) = self.nodes.get_mut(number as usize) else { break None };
            if known.slot() as usize != slot & mask {
                break None;
            }
            if known.place == node.place {
                if known.is_closed() || known.cost() <= node.cost() {
                    return;
                }
                *known = JumpNode { tag: node.tag | known.slot() << SLOT_SHIFT, ..node };
                break Some(number);
            }
            slot += 1;
        };
        let number = number.unwrap_or_else(|| self.add(node, slot & mask));
        self.heap.push(entry(node.cost() + rest, number));
    }

    /// Adds the goal as the last node and returns its number. No cell may be reached after it.
    pub(crate) fn finish(&mut self, place: Place, cost: u64, parent: u32) -> u32 {
        self.nodes.push(JumpNode::new(place, cost, parent, None));
        count_u32(self.nodes.len() - 1)
    }

    /// Closes the node with the least estimate and returns its number.
    #[inline]
    pub(crate) fn close_next(&mut self) -> Option<u32> {
        loop {
            let number = number_of(self.heap.pop()?);
            let node = &mut self.nodes[number as usize];
            // A node is pushed again when a cheaper path to it turns up, and the older entries come
            // later.
            if !node.is_closed() {
                node.tag |= CLOSED;
                return Some(number);
            }
        }
    }

    /// Puts back the node that was closed last, so that it is the next again. `rest` is its estimate of
    /// the rest of the path.
    pub(crate) fn put_back(&mut self, number: u32, rest: u64) {
        let node = &mut self.nodes[number as usize];
        node.tag &= !CLOSED;
        let estimate = node.cost() + rest;
        self.heap.push(entry(estimate, number));
    }

    /// Adds a node, to which a free slot leads from now on.
    fn add(&mut self, node: JumpNode, slot: usize) -> u32 {
        let number = count_u32(self.nodes.len());
        self.slots[slot] = number;
        if self.nodes.len() == self.nodes.capacity() {
            // Grows by a quarter: memory counts more here than a few copies.
            self.nodes.reserve_exact(self.nodes.len() / 4 + 256);
        }
        self.nodes.push(JumpNode { tag: node.tag | count_u32(slot) << SLOT_SHIFT, ..node });
        if self.nodes.len() > self.crowd {
            let step = if self.slot_bits < SLOT_BITS_LARGE { 2 } else { 1 };
            self.set_slot_bits(self.slot_bits + step);
            self.place_all();
        }
        number
    }

    /// Changes the number of slots in use: existing slots stay, whatever they hold. Small tables are kept
    /// half empty for the sake of speed, large ones a quarter for the sake of memory.
    fn set_slot_bits(&mut self, bits: u32) {
        let count = 1 << bits;
        self.slot_bits = bits;
        self.crowd = if bits < SLOT_BITS_LARGE { count / 2 } else { count / 4 * 3 };
        if self.slots.len() < count {
            self.slots.reserve_exact(count - self.slots.len());
            self.slots.resize(count, 0);
        }
    }

    /// Gives all nodes new slots.
    fn place_all(&mut self) {
        let mask = (1 << self.slot_bits) - 1;
        for number in 0..self.nodes.len() {
            let mut slot = self.home(self.nodes[number].place) & mask;
            // Taken by a node before this one; nodes behind it are placed later.
            while self.nodes[..number]
                .get(self.slots[slot] as usize)
                .is_some_and(|other| other.slot() as usize == slot)
            {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = count_u32(number);
            let node = &mut self.nodes[number];
            node.tag = node.tag & ((1 << SLOT_SHIFT) - 1) | count_u32(slot) << SLOT_SHIFT;
        }
    }

    /// The first slot to look at, by Fibonacci hashing.
    #[inline]
    const fn home(&self, place: u32) -> usize {
        (place.wrapping_mul(0x9E37_79B9) >> (32 - self.slot_bits)) as usize
    }
}

/// An entry of the heap.
const fn entry(estimate: u64, number: u32) -> u64 {
    !estimate << NUMBER_BITS | number as u64
}

const fn number_of(bits: u64) -> u32 {
    (bits & NUMBER_MASK) as u32
}

#[cfg(test)]
mod tests;
