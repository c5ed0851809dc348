//! The measured cost of nodes, and the decision whether to use other threads.
//!
//! Waking a thread takes some ten microseconds, and so does what it does first. Most systems of most
//! programs take less. So each node has a moving average of its time, and a graph is given to several
//! threads only if the time saved is worth waking them. This affects only speed: in both cases a node
//! runs after its dependencies.

use super::StaticGraph;
use crate::shared::Shared;
use crate::sync::Ordering;

/// The time to be saved, or the work to be done, that justifies waking a thread: about two wake-ups.
pub(super) const WORTH_NS: usize = 20_000;
/// The average cost below which a node costs mostly its handover.
const TINY_NS: usize = 1_000;

/// Whether the systems of a [`Schedule`](crate::Schedule), or the jobs of a
/// [`JobGraph`](crate::JobGraph), are given to several threads.
///
/// ```
/// use formic_jobs::{Sharing, prelude::*};
/// fn think() {}
/// let builder = Schedule::builder().add(think).sharing(Sharing::Never);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// If the time saved is worth waking threads, by the measured cost of systems or jobs.
    #[default]
    WhereWorthIt,
    /// Always, to find errors.
    Always,
    /// Never: each run executes all of them in the same order, which is easier to step through. Parallel
    /// loops still use all threads.
    Never,
}

/// Whether this run measures the time of each node. Reading a clock costs more than an empty system, so
/// only a few later runs do.
pub(crate) fn measures(run: u64) -> bool {
    run < 4 || run % 64 == 0
}

impl StaticGraph {
    /// The cost of a node. A node that has not run yet may be expensive.
    pub(super) fn cost_ns(&self, node: usize) -> usize {
        // Relaxed: a hint.
        match self.costs_ns[node].load(Ordering::Relaxed) {
            0 => WORTH_NS,
            known => known,
        }
    }

    /// The share of a wake-up that a node is worth: a whole one if it is expensive.
    pub(super) fn worth_ns(&self, node: usize) -> usize {
        if self.sharing == Sharing::Always { WORTH_NS } else { self.cost_ns(node).min(WORTH_NS) }
    }

    /// Adds the duration of a node to its moving average, with a weight of a quarter. A turn in which the
    /// node has not run says nothing about the cost of a run, and counts only if nothing is known.
    pub(crate) fn record_cost(&self, node: usize, ns: u64, has_run: bool) {
        let new = usize::try_from(ns).unwrap_or(usize::MAX / 2).max(4);
        // Relaxed: only the thread that runs the node writes.
        let updated = match self.costs_ns[node].load(Ordering::Relaxed) {
            0 => new,
            known if !has_run => known,
            known => known - known / 4 + new / 4,
        };
        self.costs_ns[node].store(updated, Ordering::Relaxed);
    }

    /// Whether nodes of unknown cost are given to several threads.
    pub(crate) fn is_worth_a_try(&self) -> bool {
        self.sharing != Sharing::Never
    }

    /// Runs `nodes` by `run`, which is told whether to give them to several threads; a run that measures
    /// records their costs. Decides whether the next one `is_shared`, and returns whether it should
    /// measure, whatever its number.
    pub(crate) fn run(
        &mut self,
        shared: &Shared,
        nodes: &[usize],
        (measures, is_shared): (bool, &mut bool),
        run: impl FnOnce(&Self, bool),
    ) -> bool {
        let start = shared.clock.now_ns();
        let is_alone = measures && self.is_measured_alone(nodes);
        run(self, *is_shared && !is_alone && shared.worker_count > 0);
        if measures {
            *is_shared = self.is_worth(nodes, shared.parallelism());
            return false;
        }
        !*is_shared && self.is_worth_a_look(nodes, shared.clock.elapsed_ns(start))
    }

    /// Whether a measuring run of `nodes` uses one thread, because they take less than a microsecond on
    /// average: such nodes take many times as long in parallel, and once shared they would stay shared
    /// because of that measured cost.
    fn is_measured_alone(&self, nodes: &[usize]) -> bool {
        let costs = nodes.iter().map(|&node| self.cost_ns(node));
        self.sharing != Sharing::Always
            && costs.fold(0, usize::saturating_add) < TINY_NS * nodes.len()
    }

    /// Decides after a measuring run of `nodes`, which are in topological order, whether to give them to
    /// this many threads the next time.
    fn is_worth(&mut self, nodes: &[usize], threads: usize) -> bool {
        match self.sharing {
            Sharing::WhereWorthIt => {}
            Sharing::Always => return true,
            Sharing::Never => return false,
        }
        let mut ends_ns = std::mem::take(&mut self.ends_ns);
        nodes.iter().for_each(|&node| ends_ns[node] = 0);
        // Their time on one thread, and the critical path, which limits any number of threads.
        let (mut sum_ns, mut longest_ns) = (0_usize, 0);
        for &node in nodes {
            // Up to here, `ends_ns` holds the earliest start of the node.
            let own = self.cost_ns(node);
            let end = ends_ns[node].saturating_add(own);
            sum_ns = sum_ns.saturating_add(own);
            longest_ns = longest_ns.max(end);
            for &successor in &self.successors[node] {
                let begin = &mut ends_ns[successor];
                *begin = (*begin).max(end);
            }
        }
        self.ends_ns = ends_ns;
        sum_ns - longest_ns.max(sum_ns / threads) >= WORTH_NS
    }

    /// Whether `nodes`, which ran on one thread in this time, should be measured again: they took twice
    /// as long as before.
    fn is_worth_a_look(&self, nodes: &[usize], took_ns: u64) -> bool {
        if self.sharing == Sharing::Never || took_ns <= WORTH_NS as u64 {
            return false;
        }
        let costs = nodes.iter().map(|&node| self.cost_ns(node) as u64);
        took_ns / 2 > costs.fold(0, u64::saturating_add)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Whether nodes of a microsecond each, some in a chain and some independent, are worth this many
    /// threads.
    fn is_worth(chained: usize, alone: usize, threads: usize, sharing: Sharing) -> bool {
        let chain = (1..chained).map(|next| vec![next]);
        let ends = std::iter::repeat_n(vec![], usize::from(chained > 0) + alone);
        let successors: Vec<Vec<usize>> = chain.chain(ends).collect();
        let nodes: Vec<usize> = (0..successors.len()).collect();
        let mut graph = StaticGraph::new(successors, sharing);
        nodes.iter().for_each(|&node| graph.record_cost(node, 1_000, true));
        graph.is_worth(&nodes, threads)
    }

    #[test]
    fn a_stage_is_shared_where_that_saves_more_than_it_costs() {
        let measured = Sharing::WhereWorthIt;
        assert!(!is_worth(0, 30, 2, measured), "15 us are not worth it");
        assert!(is_worth(30, 30, 2, measured));
        assert!(!is_worth(990, 10, 8, measured), "nothing is beside the longest path");
        assert!(is_worth(500, 500, 8, measured));
        assert!(!is_worth(0, 1_000, 1, measured));
        assert!(is_worth(0, 0, 2, Sharing::Always));
        assert!(!is_worth(500, 500, 8, Sharing::Never));
    }

    #[test]
    fn tiny_nodes_that_were_dear_side_by_side_do_not_stay_shared() {
        let nodes: Vec<usize> = (0..1_000).collect();
        let mut graph = StaticGraph::new(vec![vec![]; 1_000], Sharing::WhereWorthIt);
        assert!(!graph.is_measured_alone(&nodes), "nothing is known");
        // Ten times the cost of each on one thread.
        let took = |graph: &StaticGraph, ns| {
            nodes.iter().for_each(|&node| graph.record_cost(node, ns, true));
        };
        took(&graph, 100);
        assert!(graph.is_worth(&nodes, 2));
        for _ in 0..5 {
            let ns = if graph.is_measured_alone(&nodes) { 10 } else { 100 };
            took(&graph, ns);
        }
        assert!(!graph.is_worth(&nodes, 2));
        // Expensive nodes are measured in shared runs.
        took(&graph, 1_000_000);
        assert!(!graph.is_measured_alone(&nodes));
    }

    #[test]
    fn heavy_nodes_are_called_for_one_by_one_and_light_ones_together() {
        let wanted = |costs: &[u64]| {
            let graph = StaticGraph::new(vec![vec![]; costs.len()], Sharing::WhereWorthIt);
            costs.iter().enumerate().for_each(|(node, &cost)| graph.record_cost(node, cost, true));
            (0..costs.len()).map(|node| graph.worth_ns(node)).sum::<usize>() / WORTH_NS
        };
        assert_eq!(wanted(&[]), 0);
        assert_eq!(wanted(&[100; 50]), 0);
        assert_eq!(wanted(&[1_000; 50]), 2);
        assert_eq!(wanted(&[WORTH_NS as u64, 1_000_000, 5]), 2);
    }

    #[test]
    fn costs_that_are_too_large_to_be_added_up_are_compared_all_the_same() {
        let mut graph = StaticGraph::new(vec![vec![], vec![], vec![]], Sharing::WhereWorthIt);
        (0..3).for_each(|node| graph.record_cost(node, u64::MAX, true));
        assert!(!graph.is_worth_a_look(&[0, 1, 2], u64::MAX));
        assert!(!graph.is_worth(&[0, 1, 2], 1));
        assert!(graph.is_worth_a_look(&[], u64::MAX));
    }

    #[test]
    fn the_first_runs_and_then_some_are_measured() {
        let measured = (0..6400).filter(|&run| measures(run)).count();
        assert_eq!(measured, 3 + 100);
    }
}
