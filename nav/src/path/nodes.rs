//! The nodes of A*, which need no clearing between searches.

use crate::direction::Direction;

/// Six bytes a cell; the cost is in halves, or it would take eight.
///
/// ```text
///   cost, lower 32 bits | generation (11 bits) . is queued (1 bit) . arrival (4 bits)
/// ```
#[derive(Clone, Copy, Debug)]
struct Node {
    cost: [u16; 2],
    mark: u16,
}

impl Node {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken apart")]
    const fn new(cost: u32, mark: u16) -> Self {
        Self { cost: [cost as u16, (cost >> 16) as u16], mark }
    }

    #[inline]
    fn cost(self) -> u32 {
        u32::from(self.cost[0]) | u32::from(self.cost[1]) << 16
    }
}

/// Marks of no search yet.
const UNSEEN: Node = Node::new(0, 0);
/// The arrival of the cell where a search starts; the others are directions.
const START: u16 = 8;
/// The cell was entered by a link.
const LINKED: u16 = 9;
const ARRIVAL_MASK: u16 = 15;
const QUEUED: u16 = 16;
const STATE_BITS: u32 = 5;
/// Once in so many searches the marks of all cells are cleared.
const GENERATION_MAX: u16 = u16::MAX >> STATE_BITS;

/// The nodes of all cells, stamped with the generation of the search that wrote
/// them: beginning a search forgets them all in O(1), but for one in two thousand.
///
/// Costs are `WIDE` or not. Where they are not, they fit 32 bits, which is so on
/// all but the longest and heaviest of ways; where they are, their upper halves
/// lie in an array of their own, which does not exist before it is needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeTable {
    nodes: Vec<Node>,
    high: Vec<u32>,
    generation: u16,
}

impl NodeTable {
    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.high.capacity() * size_of::<u32>()
    }

    /// Forgets everything and makes room for `cell_count` cells.
    pub(crate) fn begin<const WIDE: bool>(&mut self, cell_count: usize) {
        grow(&mut self.nodes, cell_count, UNSEEN);
        if WIDE {
            grow(&mut self.high, cell_count, 0);
        }
        if self.generation == GENERATION_MAX {
            self.nodes.fill(UNSEEN);
            self.generation = 0;
        }
        self.generation += 1;
    }

    /// Writes the cell that the search starts from.
    pub(crate) fn start<const WIDE: bool>(&mut self, index: usize) {
        self.nodes[index] = Node::new(0, self.generation << STATE_BITS | QUEUED | START);
        if WIDE {
            self.high[index] = 0;
        }
    }

    /// Whether this search has reached a cell.
    #[inline]
    pub(crate) fn is_reached(&self, index: usize) -> bool {
        self.nodes[index].mark >> STATE_BITS == self.generation
    }

    /// The cost of a cell that this search has reached.
    #[inline]
    pub(crate) fn cost<const WIDE: bool>(&self, index: usize) -> u64 {
        let high = if WIDE { self.high[index] } else { 0 };
        u64::from(high) << 32 | u64::from(self.nodes[index].cost())
    }

    /// Whether this search entered a cell by a link.
    pub(crate) fn is_linked(&self, index: usize) -> bool {
        self.nodes[index].mark & ARRIVAL_MASK == LINKED
    }

    /// The direction in which this search entered a cell, `None` at the start and behind links.
    #[inline]
    pub(crate) fn arrival(&self, index: usize) -> Option<Direction> {
        let arrival = self.nodes[index].mark & ARRIVAL_MASK;
        Direction::ALL.get(usize::from(arrival)).copied()
    }

    /// Takes a cell out of the queue. False if it is not in there any longer.
    #[inline]
    pub(crate) fn take(&mut self, index: usize) -> bool {
        let mark = &mut self.nodes[index].mark;
        let is_queued = *mark & QUEUED != 0;
        *mark &= !QUEUED;
        is_queued
    }

    /// Puts a cell back that was just taken out of the queue.
    pub(crate) fn put_back(&mut self, index: usize) {
        self.nodes[index].mark |= QUEUED;
    }

    /// Enters a cell at a cost and queues it, if it was not entered at that cost
    /// or less already; without a direction by a link. True if it was entered.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken apart")]
    pub(crate) fn improve<const WIDE: bool>(
        &mut self,
        index: usize,
        cost: u64,
        direction: Option<Direction>,
    ) -> bool {
        if self.is_reached(index) && self.cost::<WIDE>(index) <= cost {
            return false;
        }
        let mark =
            self.generation << STATE_BITS | QUEUED | direction.map_or(LINKED, |it| it as u16);
        self.nodes[index] = Node::new(cost as u32, mark);
        if WIDE {
            self.high[index] = (cost >> 32) as u32;
        }
        true
    }
}

/// Lengthens a list, without the room for more that `resize` would take.
fn grow<T: Clone>(list: &mut Vec<T>, length: usize, value: T) {
    if list.len() < length {
        list.reserve_exact(length - list.len());
        list.resize(length, value);
    }
}
