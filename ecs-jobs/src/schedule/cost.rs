//! What systems cost, and whether that is worth other threads.
//!
//! To wake a thread takes some ten microseconds, and so does what it does first. Most systems of
//! most programs take less. So each node has a moving average of its time, and a stage is given to
//! several threads only where the time that they save is worth waking them. Nothing but speed
//! depends on it: in both ways nodes in conflict run in the same order.

use super::node::{Node, Outcome, Plan};
use crate::sync::Ordering;

/// What has to be saved, or to be done, for a thread to be woken: about two wake-ups.
pub(super) const WORTH_NS: usize = 20_000;

/// Whether the systems of a stage are given to several threads.
///
/// ```
/// use ecs_jobs::{Sharing, prelude::*};
/// fn think() {}
/// let builder = Schedule::builder().add(think).sharing(Sharing::Never);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// Where the time that they save is worth waking them, by what the systems have taken before.
    #[default]
    WhereWorthIt,
    /// Always, to look for mistakes.
    Always,
    /// Never: each run goes through the systems in the same order, which is easier to step through.
    /// Parallel loops use all threads all the same.
    Never,
}

/// Whether a run takes the time of each node. A clock costs more than an empty system, so later on
/// only a few do.
pub(super) fn measures(run: u64) -> bool {
    run < 4 || run % 16 == 0
}

impl Node {
    /// How long it takes. What has not had a turn yet may take long.
    pub(super) fn cost_ns(&self) -> usize {
        // Relaxed: a hint.
        match self.cost_ns.load(Ordering::Relaxed) {
            0 => WORTH_NS,
            known => known,
        }
    }

    /// Takes in how long it took this time: a quarter of the new average.
    pub(super) fn took(&self, ns: u64, outcome: Outcome) {
        let new = usize::try_from(ns).unwrap_or(usize::MAX / 2).max(4);
        // Relaxed: only who runs the node writes.
        let updated = match self.cost_ns.load(Ordering::Relaxed) {
            0 => new,
            // It says nothing of what a run takes.
            known if outcome != Outcome::Ran => known,
            known => known - known / 4 + new / 4,
        };
        self.cost_ns.store(updated, Ordering::Relaxed);
    }
}

/// What running a stage would take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StageCost {
    /// On one thread.
    pub(super) sum_ns: usize,
    /// On any number of threads: the longest way through it.
    pub(super) longest_ns: usize,
}

impl StageCost {
    /// Of these nodes, which are in an order that keeps all waits. `ends` is scratch: for each node
    /// of the schedule, when it could end.
    pub(super) fn of(order: &[usize], nodes: &[Node], plan: &Plan, ends: &mut [usize]) -> Self {
        let mut cost = Self::default();
        order.iter().for_each(|&node| ends[node] = 0);
        for &node in order {
            // `ends` is when it can begin, up to here.
            let own = nodes[node].cost_ns();
            let end = ends[node].saturating_add(own);
            cost.sum_ns = cost.sum_ns.saturating_add(own);
            cost.longest_ns = cost.longest_ns.max(end);
            for &successor in &plan.stage_successors[node] {
                ends[successor] = ends[successor].max(end);
            }
        }
        cost
    }

    /// Whether so many threads save enough.
    pub(super) fn is_worth(self, threads: usize, sharing: Sharing) -> bool {
        match sharing {
            Sharing::WhereWorthIt => {}
            Sharing::Always => return true,
            Sharing::Never => return false,
        }
        let together = self.longest_ns.max(self.sum_ns / threads);
        self.sum_ns - together >= WORTH_NS
    }
}

/// How many threads to wake for nodes that wait for one, given what each costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calls {
    heavy: usize,
    light_ns: usize,
}

impl Calls {
    pub(super) fn add(&mut self, cost_ns: usize) {
        if cost_ns >= WORTH_NS {
            self.heavy += 1;
        } else {
            self.light_ns += cost_ns;
        }
    }

    /// One for each that takes long, and for the small ones as many as have enough to do.
    pub(super) fn wanted(self) -> usize {
        self.heavy + self.light_ns / WORTH_NS
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_shared_where_that_saves_more_than_it_costs() {
        let cost = |sum_us: usize, longest_us: usize| StageCost {
            sum_ns: sum_us * 1000,
            longest_ns: longest_us * 1000,
        };
        let measured = Sharing::WhereWorthIt;
        assert!(!cost(30, 0).is_worth(2, measured), "15 us are not worth it");
        assert!(cost(60, 30).is_worth(2, measured));
        assert!(!cost(1000, 990).is_worth(8, measured), "nothing is beside the longest way");
        assert!(cost(1000, 500).is_worth(8, measured));
        assert!(!cost(1000, 0).is_worth(1, measured));
        assert!(cost(0, 0).is_worth(2, Sharing::Always));
        assert!(!cost(1000, 500).is_worth(8, Sharing::Never));
    }

    #[test]
    fn heavy_nodes_are_called_for_one_by_one_and_light_ones_together() {
        let wanted = |costs: &[usize]| {
            let mut calls = Calls::default();
            costs.iter().for_each(|&cost| calls.add(cost));
            calls.wanted()
        };
        assert_eq!(wanted(&[]), 0);
        assert_eq!(wanted(&[100; 50]), 0);
        assert_eq!(wanted(&[1_000; 50]), 2);
        assert_eq!(wanted(&[WORTH_NS, 1_000_000, 5]), 2);
    }

    #[test]
    fn the_first_runs_and_then_some_are_measured() {
        let measured = (0..1600).filter(|&run| measures(run)).count();
        assert_eq!(measured, 3 + 100);
    }
}
