//! Flood fills in lock-step, which find out whether a node is still connected, at the cost of the smaller
//! sides.
//!
//! One flood fill over the members of the node starts on each side of a filled cell, and they take turns
//! of a few members. Flood fills that meet are of one part. A part whose flood fills cannot go on is
//! complete. Once all but one part are complete, the last needs no more work: the cost is that of the
//! smaller sides. The idea is that of decremental connectivity by Even and Shiloach (1981); here every
//! region stays exact under digging as well.

use crate::grid::count_u32;
use crate::region::hierarchy::{Flooded, Hierarchy};

/// A neighbourhood falls into at most four parts: one per side, or per corner.
const PART_COUNT_MAX: usize = 4;

/// The maximum number of nodes that a flood fill takes in a turn. Turns begin at one node, because most
/// cut-off parts are tiny, and get longer, because switching costs as well.
const TURN_LENGTH_MAX: usize = 16;

/// The memory of flood fills, which is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flood {
    /// A multiple of [`PART_COUNT_MAX`], greater than every mark of an older run. Flood `i` of the
    /// current one marks nodes with `stamp + i`.
    stamp: u32,
    fronts: [Front; PART_COUNT_MAX],
    front_count: usize,
}

/// One flood fill: the nodes that it has reached. Those before `head` are explored.
#[derive(Clone, Debug, Default)]
struct Front {
    nodes: Vec<u32>,
    head: usize,
    /// The lowest flood fill that is known to be of one part with this one.
    part: usize,
}

impl Flood {
    /// Runs flood fills from some nodes of a level with one parent, over the nodes of this parent, until
    /// it is known which of them are connected.
    ///
    /// Returns true if there is more than one part; [`Flood::cut_off`] then returns them.
    pub(crate) fn run(
        &mut self,
        hierarchy: &mut Hierarchy,
        level: usize,
        seeds: impl Iterator<Item = u32>,
    ) -> bool {
        self.advance_stamp(hierarchy);
        let mut nodes = hierarchy.flooded(level);
        self.start(&mut nodes, seeds);
        let mut turn_length = 0;
        while !self.is_settled() {
            turn_length = (turn_length + 1).min(TURN_LENGTH_MAX);
            for i in 0..self.front_count {
                if self.turn(&mut nodes, i, turn_length) {
                    return self.parts().count() > 1;
                }
            }
        }
        self.parts().count() > 1
    }

    /// Lets one flood fill take `count` nodes. Returns true if the question is settled.
    fn turn(&mut self, nodes: &mut Flooded<'_>, i: usize, count: usize) -> bool {
        for _ in 0..count {
            let Some(&node) = self.fronts[i].nodes.get(self.fronts[i].head) else { return false };
            self.fronts[i].head += 1;
            let mut met = false;
            nodes.for_each_touched(node, |next, mark| met |= self.reach(i, next, mark));
            let is_exhausted = self.fronts[i].head == self.fronts[i].nodes.len();
            if (met || is_exhausted) && self.is_settled() {
                return true;
            }
        }
        false
    }

    /// All parts except the one that is kept, in a deterministic order: the nodes of each.
    pub(crate) fn cut_off(
        &self,
        kept: usize,
    ) -> impl Iterator<Item = impl Iterator<Item = &u32> + Clone> {
        self.parts().filter(move |&part| part != kept).map(|part| {
            let fronts = self.fronts[..self.front_count].iter();
            fronts.filter(move |front| front.part == part).flat_map(|front| &front.nodes)
        })
    }

    fn start(&mut self, nodes: &mut Flooded<'_>, seeds: impl Iterator<Item = u32>) {
        self.front_count = 0;
        for seed in seeds {
            let i = self.front_count;
            let mark = nodes.mark(seed);
            // Several seeds can be of one node.
            if *mark < self.stamp {
                *mark = self.stamp + count_u32(i);
                let front = &mut self.fronts[i];
                front.nodes.clear();
                front.nodes.push(seed);
                (front.head, front.part) = (0, i);
                self.front_count += 1;
            }
        }
    }

    fn advance_stamp(&mut self, hierarchy: &mut Hierarchy) {
        let step = count_u32(PART_COUNT_MAX);
        // The marks of a stamp must not overflow either.
        self.stamp = match self.stamp.checked_add(2 * step) {
            Some(end) => end - step,
            None => {
                hierarchy.clear_marks();
                step
            }
        };
    }

    /// Adds a node to flood fill `i`. Returns true if that met another flood fill that was not known to
    /// be of the same part.
    #[inline]
    fn reach(&mut self, i: usize, next: u32, mark: &mut u32) -> bool {
        if *mark < self.stamp {
            *mark = self.stamp + count_u32(i);
            self.fronts[i].nodes.push(next);
            return false;
        }
        let other = (*mark - self.stamp) as usize;
        other != i && self.join(i, other)
    }

    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.fronts[a].part, self.fronts[b].part);
        for front in &mut self.fronts[..self.front_count] {
            if front.part == a.max(b) {
                front.part = a.min(b);
            }
        }
        a != b
    }

    /// Whether at most one part is incomplete.
    fn is_settled(&self) -> bool {
        self.parts().count() == 1 || self.parts().filter(|&p| !self.is_complete(p)).count() <= 1
    }

    fn is_complete(&self, part: usize) -> bool {
        let mut fronts = self.fronts[..self.front_count].iter();
        fronts.all(|front| front.part != part || front.head == front.nodes.len())
    }

    /// The part that has not been flooded completely, or else the one of the most cells, of equals the
    /// first.
    pub(crate) fn kept_part(&self, hierarchy: &Hierarchy, level: usize) -> usize {
        let size = |part| {
            let fronts = self.fronts[..self.front_count].iter();
            let all = fronts.filter(|front| front.part == part).flat_map(|front| &front.nodes);
            all.map(|&node| hierarchy.node(level, node).cell_count).sum()
        };
        let rank = |part: usize| {
            let size: u32 = if self.is_complete(part) { size(part) } else { u32::MAX };
            (size, std::cmp::Reverse(part))
        };
        self.parts().max_by_key(|&part| rank(part)).unwrap_or(0)
    }

    /// The known parts, each by its lowest flood fill.
    fn parts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.front_count).filter(|&i| self.fronts[i].part == i)
    }
}
