//! What a search knows about each cell, without clearing it between searches.

use crate::direction::Direction;

/// Twelve bytes, aligned to four: a plain `u64` would pad them to sixteen.
///
/// ```text
///   cost, lower half | cost, upper half | generation (28 bits) . arrival (4 bits)
/// ```
#[derive(Clone, Copy, Debug)]
struct Node {
    cost: [u32; 2],
    mark: u32,
}

/// Marks of no search yet.
const UNSEEN: Node = Node { cost: [0; 2], mark: 0 };
/// The arrival of the cell where a search starts; the others are directions.
const START: u32 = 8;
const ARRIVAL_BITS: u32 = 4;
const GENERATION_MAX: u32 = u32::MAX >> ARRIVAL_BITS;

/// The nodes of all cells, stamped with the generation of the search that wrote
/// them: beginning a search forgets them all in O(1).
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeTable {
    nodes: Vec<Node>,
    generation: u32,
}

impl NodeTable {
    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    /// Forgets everything and makes room for `cell_count` cells.
    pub(crate) fn begin(&mut self, cell_count: usize) {
        if self.nodes.len() < cell_count {
            // Not `resize`, which would take up to twice the memory.
            self.nodes.reserve_exact(cell_count - self.nodes.len());
            self.nodes.resize(cell_count, UNSEEN);
        }
        if self.generation == GENERATION_MAX {
            self.nodes.fill(UNSEEN);
            self.generation = 0;
        }
        self.generation += 1;
    }

    /// Writes the cell that the search starts from.
    pub(crate) fn start(&mut self, index: usize) {
        self.nodes[index] = Node { cost: [0; 2], mark: self.generation << ARRIVAL_BITS | START };
    }

    /// The cost of a cell that this search has reached.
    #[inline]
    pub(crate) fn cost(&self, index: usize) -> u64 {
        join(self.nodes[index].cost)
    }

    /// The direction in which this search entered a cell, `None` at the start.
    #[inline]
    pub(crate) fn arrival(&self, index: usize) -> Option<Direction> {
        let arrival = self.nodes[index].mark & ((1 << ARRIVAL_BITS) - 1);
        Direction::ALL.get(arrival as usize).copied()
    }

    /// Enters a cell at a cost, if it was not entered at that cost or less
    /// already. True if it was entered.
    #[inline]
    pub(crate) fn improve(&mut self, index: usize, cost: u64, direction: Direction) -> bool {
        let node = &mut self.nodes[index];
        if node.mark >> ARRIVAL_BITS == self.generation && join(node.cost) <= cost {
            return false;
        }
        let mark = self.generation << ARRIVAL_BITS | direction as u32;
        *node = Node { cost: halves(cost), mark };
        true
    }
}

fn join([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves are taken apart")]
const fn halves(cost: u64) -> [u32; 2] {
    [cost as u32, (cost >> 32) as u32]
}
