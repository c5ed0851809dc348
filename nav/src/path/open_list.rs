//! The open list of a search: which cell to expand next.

use crate::cell::Cell;

/// Children per entry of the heap. Four keep a node's children within a cache
/// line or two and halve the depth (A. `LaMarca` and R. Ladner, 1996).
const ARITY: usize = 4;

/// A cell with the cost estimates it was pushed with.
///
/// Entries order by total estimate, then by nearness to the goal, then by cell:
/// a total order, so what a search expands does not depend on how the heap is
/// built.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct OpenEntry {
    /// Units from the start through the cell to the goal, at least.
    pub(crate) estimate: u64,
    /// Units from the cell to the goal at weight one in the upper half, the cell
    /// in the lower.
    rest: u64,
}

impl OpenEntry {
    pub(crate) fn new(estimate: u64, distance: u32, cell: Cell) -> Self {
        Self { estimate, rest: u64::from(distance) << 32 | u64::from(cell.to_bits()) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the cell")]
    pub(crate) const fn cell(self) -> Cell {
        Cell::from_bits(self.rest as u32)
    }

    pub(crate) const fn distance(self) -> u64 {
        self.rest >> 32
    }
}

/// A d-ary min-heap of entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenList {
    entries: Vec<OpenEntry>,
}

impl OpenList {
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<OpenEntry>()
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: OpenEntry) {
        let mut i = self.entries.len();
        self.entries.push(entry);
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[i] = self.entries[parent];
            i = parent;
        }
        self.entries[i] = entry;
    }

    /// Takes the least entry out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<OpenEntry> {
        let last = self.entries.pop()?;
        let Some(&least) = self.entries.first() else { return Some(last) };
        self.sift_down(last);
        Some(least)
    }

    /// Puts an entry in from the root downwards, in place of the least one.
    fn sift_down(&mut self, entry: OpenEntry) {
        let mut i = 0;
        loop {
            let first = ARITY * i + 1;
            let end = (first + ARITY).min(self.entries.len());
            let Some(child) = (first..end).min_by_key(|&child| self.entries[child]) else { break };
            if entry <= self.entries[child] {
                break;
            }
            self.entries[i] = self.entries[child];
            i = child;
        }
        self.entries[i] = entry;
    }
}
