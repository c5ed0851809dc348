//! Reachability between regions by links.

use crate::grid::Grid;
use crate::link::Link;
use crate::region::Regions;
use crate::region::event::RegionId;

/// The regions that have ends of links, and for each the regions to which it leads.
///
/// Links have a direction, so this is a relation between regions and not a partition. It is computed when
/// it is first asked for after an edit. Regions that lead to each other are a *set*, which has one row of
/// bits, so thousands of links take milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Sorted, without duplicates.
    regions: Vec<RegionId>,
    /// The set of each region.
    sets: Vec<usize>,
    /// A bit for each pair of sets, row by row.
    leads: Vec<u64>,
    row_words: usize,
}

impl Reach {
    pub(crate) fn new(grid: &Grid, regions: &Regions) -> Self {
        let open = grid.links().all().iter().filter(|link| grid.is_link_open(link));
        let ends = |link: &Link| {
            Some((regions.region_inside(link.from)?, regions.region_inside(link.to)?))
        };
        let pairs: Vec<(RegionId, RegionId)> = open.filter_map(ends).collect();
        let mut all: Vec<RegionId> = pairs.iter().flat_map(|&(from, to)| [from, to]).collect();
        all.sort_unstable();
        all.dedup();
        let place = |region| all.binary_search(&region).expect("it is an end");
        let (mut next, mut before) = (vec![Vec::new(); all.len()], vec![Vec::new(); all.len()]);
        for (from, to) in pairs.into_iter().map(|(from, to)| (place(from), place(to))) {
            next[from].push(to);
            before[to].push(from);
        }
        let (sets, order) = find_sets(&next, &before);
        let count = order.last().map_or(0, |&last| sets[last] + 1);
        let row_words = count.div_ceil(64);
        let mut leads = vec![0; count * row_words];
        for from in order.into_iter().rev() {
            let set = sets[from];
            let (rows, later) = leads.split_at_mut((set + 1) * row_words);
            let row = &mut rows[set * row_words..];
            row[set / 64] |= 1_u64 << (set % 64);
            for to in next[from].iter().map(|&to| sets[to]).filter(|&to| to > set) {
                let other = &later[(to - set - 1) * row_words..];
                row.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
            }
        }
        Self { regions: all, sets, leads, row_words }
    }

    /// Whether links lead from one region to another.
    pub(crate) fn leads(&self, from: RegionId, to: RegionId) -> bool {
        let set = |region| Some(self.sets[self.regions.binary_search(&region).ok()?]);
        set(from).zip(set(to)).is_some_and(|(from, to)| {
            self.leads[from * self.row_words + to / 64] & 1 << (to % 64) != 0
        })
    }
}

/// The number of the set of each node of a graph, and the nodes in the order of these numbers. Edges lead
/// to the same or to a later set (S. Kosaraju's algorithm, in A. Aho, J. Hopcroft and J. Ullman, "Data
/// Structures and Algorithms", 1983).
fn find_sets(next: &[Vec<usize>], before: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    // The nodes in the order in which a depth-first search leaves them.
    let (mut left, mut is_seen) = (Vec::new(), vec![false; next.len()]);
    let mut stack: Vec<(usize, bool)> = (0..next.len()).map(|node| (node, false)).collect();
    while let Some((node, is_leaving)) = stack.pop() {
        if is_leaving {
            left.push(node);
        } else if !std::mem::replace(&mut is_seen[node], true) {
            stack.push((node, true));
            stack.extend(next[node].iter().map(|&to| (to, false)));
        }
    }
    let (mut sets, mut order) = (vec![None; next.len()], Vec::new());
    for root in left.into_iter().rev() {
        let set = order.last().and_then(|&last: &usize| sets[last]).map_or(0, |set: usize| set + 1);
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if sets[node].is_none() {
                sets[node] = Some(set);
                order.push(node);
                stack.extend(&before[node]);
            }
        }
    }
    (sets.into_iter().flatten().collect(), order)
}
