//! Nodes that wait for each other, settled beforehand: running them, and what that costs.
//!
//! A schedule runs its stages by this, and a [`JobGraph`](crate::JobGraph) its jobs. Each node has
//! a counter of those that it waits for. Who counts down the last of them has the node: one of those that
//! become ready is run in place, the others go to the queue. Everything that this needs is made
//! with the graph, so that a run allocates nothing.

mod cost;
mod order;

pub use self::cost::Sharing;
pub(crate) use self::cost::measures;
pub(crate) use self::order::{cycle, topological_order};

use self::cost::Calls;
use crate::context::WorkerContext;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, count_down, needed};
use crate::task_group::{TaskGroup, TaskSource};
use crate::wait::share;
use std::collections::VecDeque;

/// Which node waits for which, and what a run of them needs.
#[derive(Debug)]
pub(crate) struct StaticGraph {
    /// Where the successors of each node begin in `successors`; and the end of the last.
    starts: Vec<u32>,
    successors: Vec<u32>,
    /// For each node, how many it waits for.
    waits: Vec<u32>,
    /// The same, of those that have not ended in this run.
    waiting_for: Vec<AtomicU32>,
    /// How long each node takes, in nanoseconds; zero where unknown. See `cost.rs`.
    costs_ns: Vec<AtomicUsize>,
    /// Scratch for the decision whether other threads are worth it: when each node could end.
    ends_ns: Vec<usize>,
    sharing: Sharing,
    /// Nodes that are ready to run on any thread. Unlike the jobs of a scope they own nothing: none
    /// of them is an allocation, and the queue is kept from run to run.
    queue: Queue<usize>,
}

impl StaticGraph {
    /// A graph without cycles: for each node those that wait for it, each once.
    ///
    /// # Panics
    ///
    /// Panics if there are more than four billion nodes or waits.
    pub(crate) fn new(successors: &[Vec<usize>], sharing: Sharing) -> Self {
        let count = successors.len();
        let small =
            |number: usize| u32::try_from(number).expect("a graph has less than 2^32 parts");
        let mut waits = vec![0; count];
        let mut starts = Vec::with_capacity(count + 1);
        let mut all = Vec::new();
        for to in successors {
            starts.push(small(all.len()));
            all.extend(to.iter().map(|&node| small(node)));
            to.iter().for_each(|&node| waits[node] += 1);
        }
        starts.push(small(all.len()));
        Self {
            starts,
            successors: all,
            waits,
            waiting_for: (0..count).map(|_| AtomicU32::new(0)).collect(),
            costs_ns: (0..count).map(|_| AtomicUsize::new(0)).collect(),
            ends_ns: vec![0; count],
            sharing,
            queue: Queue::new(VecDeque::with_capacity(count)),
        }
    }

    /// Those that wait for a node.
    fn successors(&self, node: usize) -> &[u32] {
        &self.successors[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Runs `body(slot, node)` for each of `nodes`, on all threads that are worth it: each as soon
    /// as those that it waits for have ended. None of the `nodes` waits for one that is not among
    /// them.
    ///
    /// # Panics
    ///
    /// Panics if `body` does, with the first of its panics, when all bodies that had started have ended.
    /// Those that had not are not started.
    pub(crate) fn run_together(
        &self,
        shared: &Shared,
        nodes: &[usize],
        body: impl Fn(usize, usize) + Sync,
    ) {
        for &node in nodes {
            // Relaxed: the queue hands it to the other threads.
            self.waiting_for[node].store(self.waits[node], Ordering::Relaxed);
        }
        WorkerContext::with(shared, |context| {
            let run = GraphRun { shared, graph: self, group: TaskGroup::new(0), body };
            share(shared, context, &run, || {
                let mut calls = Calls::default();
                let ready = nodes.iter().filter(|&&node| self.waits[node] == 0);
                // The first is this thread's own.
                for (place, &node) in ready.enumerate() {
                    run.add(node);
                    if place > 0 {
                        calls.add(self.worth_ns(node));
                    }
                }
                run.call(calls);
            });
            run.group.panics.resume_if_any();
        });
    }
}

/// One run of a graph.
struct GraphRun<'run, F> {
    shared: &'run Shared,
    graph: &'run StaticGraph,
    group: TaskGroup,
    body: F,
}

impl<F: Fn(usize, usize) + Sync> GraphRun<'_, F> {
    /// Adds a node that is ready, and wakes no thread for it: one that is awake takes it, at the
    /// latest the one that added it, when it has ended its own.
    fn add(&self, node: usize) {
        self.graph.queue.push(node);
    }

    /// Runs a node, and then those that waited for nothing else: the one that takes the shortest
    /// time here, the others wherever there is a thread. After a panic no node is begun.
    fn run_from(&self, slot: usize, first: usize) {
        let graph = self.graph;
        let mut next = Some(first);
        while let Some(node) = next.take() {
            if self.group.is_cancelled() || self.group.run(|| (self.body)(slot, node)).is_none() {
                return;
            }
            let mut calls = Calls::default();
            for &successor in graph.successors(node) {
                let successor = successor as usize;
                // Release: what this node did comes before the successor. Acquire: so does what
                // the others did that the successor waited for.
                let look = needed("graph_countdown_look", Ordering::Acquire);
                let order = needed("graph_countdown", Ordering::AcqRel);
                if !count_down(&graph.waiting_for[successor], 1, look, order) {
                    continue;
                }
                let other = match next.replace(successor) {
                    None => continue,
                    Some(known) if graph.cost_ns(known) <= graph.cost_ns(successor) => {
                        next = Some(known);
                        successor
                    }
                    Some(known) => known,
                };
                self.add(other);
                calls.add(graph.worth_ns(other));
            }
            self.call(calls);
        }
    }

    /// Wakes as many threads as there is work for that is worth it. What no thread is woken for is
    /// run by a thread that is awake.
    fn call(&self, calls: Calls) {
        let wanted = calls.wanted();
        if wanted > 0 {
            self.shared.announce_work(&self.group, wanted.min(self.shared.worker_count));
        }
    }
}

impl<F: Fn(usize, usize) + Sync> TaskSource for GraphRun<'_, F> {
    fn group(&self) -> &TaskGroup {
        &self.group
    }

    fn left(&self) -> usize {
        self.graph.queue.len()
    }

    fn run_one(&self, slot: usize) -> bool {
        let Some(node) = self.graph.queue.pop() else { return false };
        self.run_from(slot, node);
        true
    }
}
