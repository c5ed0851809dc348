//! Reachability between regions by links.

use crate::grid::Grid;
use crate::link::Link;
use crate::region::Regions;
use crate::region::event::RegionId;

/// The regions that have ends of links, and for each the regions to which it leads.
///
/// Links have a direction, so this is a relation between regions and not a partition. It is computed when
/// it is first asked for after an edit, by a search over the links from each such region.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Sorted, without duplicates.
    regions: Vec<RegionId>,
    /// A bit for each pair, row by row.
    leads: Vec<u64>,
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
        let mut next = vec![Vec::new(); all.len()];
        pairs.iter().for_each(|&(from, to)| next[place(from)].push(place(to)));
        let mut reach = Self { leads: vec![0; all.len() * all.len().div_ceil(64)], regions: all };
        let mut stack = Vec::new();
        for from in 0..next.len() {
            stack.push(from);
            while let Some(at) = stack.pop() {
                stack.extend(next[at].iter().filter(|&&to| reach.mark(from, to)));
            }
        }
        reach
    }

    /// The word and the bit of a pair.
    fn bit(&self, from: usize, to: usize) -> (usize, u64) {
        (from * self.regions.len().div_ceil(64) + to / 64, 1 << (to % 64))
    }

    /// Notes that one region leads to the other. Returns false if that was known.
    fn mark(&mut self, from: usize, to: usize) -> bool {
        let (word, bit) = self.bit(from, to);
        let is_new = self.leads[word] & bit == 0;
        self.leads[word] |= bit;
        is_new
    }

    /// Whether links lead from one region to another.
    pub(crate) fn leads(&self, from: RegionId, to: RegionId) -> bool {
        let place = |region| self.regions.binary_search(&region).ok();
        place(from).zip(place(to)).is_some_and(|(from, to)| {
            let (word, bit) = self.bit(from, to);
            self.leads[word] & bit != 0
        })
    }
}
