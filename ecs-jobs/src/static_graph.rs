//! Static dependency graphs: running the nodes, and measuring their cost.
//!
//! A schedule runs its stages by this, and a [`JobGraph`](crate::JobGraph) its jobs. Each node has a
//! counter of its unfinished dependencies. The thread that decrements it to zero has the node: it runs
//! one of the nodes that become ready itself, and queues the others. All memory is allocated with the
//! graph, so a run allocates nothing.

mod cost;
mod order;

pub use self::cost::Sharing;
pub(crate) use self::cost::measures;
pub(crate) use self::order::{cycle, topological_order};

use self::cost::WORTH_NS;
use crate::context::WorkerContext;
use crate::panic_slot::PanicSlot;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, count_down, needed};
use crate::task_group::{TaskGroup, TaskSource};
use crate::wait::share;
use std::collections::VecDeque;

/// The dependencies between nodes, and the state of a run.
#[derive(Debug)]
pub(crate) struct StaticGraph {
    /// For each node, those that depend on it.
    successors: Vec<Vec<usize>>,
    /// For each node, the number of its dependencies.
    waits: Vec<u32>,
    /// For each node, the number of its dependencies that have not ended in this run.
    waiting_for: Vec<AtomicU32>,
    /// The cost of each node in nanoseconds; zero if unknown. See `cost.rs`.
    costs_ns: Vec<AtomicUsize>,
    /// Scratch memory for deciding whether other threads are worth it: the earliest end of each node.
    ends_ns: Vec<usize>,
    sharing: Sharing,
    /// The ready nodes. Unlike the jobs of a scope they own nothing, so none of them is an allocation,
    /// and the queue is kept between runs.
    queue: Queue<usize>,
}

impl StaticGraph {
    /// Creates a graph from the successors of each node, each listed once and without cycles.
    pub(crate) fn new(successors: Vec<Vec<usize>>, sharing: Sharing) -> Self {
        let count = successors.len();
        let mut waits = vec![0; count];
        successors.iter().flatten().for_each(|&node| waits[node] += 1);
        Self {
            successors,
            waits,
            waiting_for: (0..count).map(|_| AtomicU32::new(0)).collect(),
            costs_ns: (0..count).map(|_| AtomicUsize::new(0)).collect(),
            ends_ns: vec![0; count],
            sharing,
            queue: Queue::new(VecDeque::with_capacity(count)),
        }
    }

    /// Runs `body(slot, node)` for each of `nodes`, on as many threads as are worth it, each as soon as
    /// its dependencies have ended. All dependencies within the run are among `nodes`.
    ///
    /// # Panics
    ///
    /// Panics if `body` does, with the first of its panics, after all started bodies have ended. No
    /// others are started.
    pub(crate) fn run_together(
        &self,
        shared: &Shared,
        nodes: &[usize],
        body: impl Fn(usize, usize) + Sync,
    ) {
        for &node in nodes {
            // Relaxed: the queue publishes it to the other threads.
            self.waiting_for[node].store(self.waits[node], Ordering::Relaxed);
        }
        WorkerContext::with(shared, |context| {
            let (group, panics) = (TaskGroup::new(0), PanicSlot::new());
            let run = GraphRun { shared, graph: self, group, panics, body };
            share(shared, context, &run, || {
                let mut worth_ns = 0;
                let ready = nodes.iter().filter(|&&node| self.waits[node] == 0);
                // This thread runs the first.
                for (place, &node) in ready.enumerate() {
                    run.add(node);
                    if place > 0 {
                        worth_ns += self.worth_ns(node);
                    }
                }
                run.wake_for(worth_ns);
            });
            run.panics.resume_if_any();
        });
    }
}

/// One run of a graph.
struct GraphRun<'run, F> {
    shared: &'run Shared,
    graph: &'run StaticGraph,
    group: TaskGroup,
    panics: PanicSlot,
    body: F,
}

impl<F: Fn(usize, usize) + Sync> GraphRun<'_, F> {
    /// Queues a ready node without waking a thread: a thread that is awake takes it, at the latest the
    /// one that queued it, after its own node.
    fn add(&self, node: usize) {
        self.graph.queue.push(node);
    }

    /// Runs a node, and then the nodes that it makes ready: the one with the lowest cost here, the others
    /// on any thread. After a panic no node is started.
    fn run_from(&self, slot: usize, first: usize) {
        let graph = self.graph;
        let mut next = Some(first);
        while let Some(node) = next.take() {
            if self.panics.has_kept() || self.panics.run(|| (self.body)(slot, node)).is_none() {
                return;
            }
            let mut worth_ns = 0;
            for &successor in &graph.successors[node] {
                // Release: publishes the effects of this node to the successor. Acquire: so are the
                // effects of the successor's other dependencies.
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
                worth_ns += graph.worth_ns(other);
            }
            self.wake_for(worth_ns);
        }
    }

    /// Wakes a thread for each expensive node, and for small ones as many as have enough work. Work for
    /// which no thread is woken is run by threads that are awake.
    fn wake_for(&self, worth_ns: usize) {
        let wanted = worth_ns / WORTH_NS;
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
