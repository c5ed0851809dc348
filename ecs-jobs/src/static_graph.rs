//! Nodes that wait for each other, settled beforehand: running them, and what that costs.
//!
//! A schedule runs its stages by this, and a [`JobGraph`](crate::JobGraph) its jobs. Each node has
//! a counter of those that it waits for. Who brings it down to zero has the node: one of those that
//! become ready is run in place, the others go to the queue. Everything that this needs is made
//! with the graph, so that a run allocates nothing.

mod cost;
mod order;

pub use self::cost::Sharing;
pub(crate) use self::cost::measures;
pub(crate) use self::order::{circle, in_a_row};

use self::cost::Calls;
use crate::graph_run::{GraphRun, IndexQueue, run_indices};
use crate::panic_slot::Payload;
use crate::shared::Shared;
use crate::sync::{AtomicBool, AtomicU32, AtomicUsize, Ordering, needed};
use std::collections::VecDeque;
use std::panic::resume_unwind;

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
    /// Nodes that are ready to run on any thread.
    queue: IndexQueue,
    /// Whether a node has panicked in this run.
    stopped: AtomicBool,
}

impl StaticGraph {
    /// A graph without circles: for each node those that wait for it, each once.
    ///
    /// # Panics
    ///
    /// If there are more than four billion nodes or waits.
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
            queue: IndexQueue::new(VecDeque::with_capacity(count)),
            stopped: AtomicBool::new(false),
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
    /// With the first payload that `body` returns, when all bodies that had started have ended.
    /// Those that had not are not started.
    pub(crate) fn run_together(
        &self,
        shared: &Shared,
        nodes: &[usize],
        body: impl Fn(usize, usize) -> Result<(), Payload> + Sync,
    ) {
        for &node in nodes {
            // Relaxed: the queue hands it to the other threads.
            self.waiting_for[node].store(self.waits[node], Ordering::Relaxed);
        }
        self.stopped.store(false, Ordering::Relaxed);
        let start = |run: &GraphRun<'_>| {
            let mut calls = Calls::default();
            let ready = nodes.iter().filter(|&&node| self.waits[node] == 0);
            // The first is this thread's own.
            for (place, &node) in ready.enumerate() {
                run.add(node);
                if place > 0 {
                    calls.add(self.cost_ns(node));
                }
            }
            self.call(shared, run, calls);
        };
        run_indices(shared, &self.queue, start, |slot, node, run| {
            self.run_from(shared, (slot, node), run, &body);
        });
    }

    /// Runs a node, and then those that waited for nothing else: the one that takes the shortest
    /// time here, the others wherever there is a thread.
    fn run_from(
        &self,
        shared: &Shared,
        (slot, first): (usize, usize),
        run: &GraphRun<'_>,
        body: &impl Fn(usize, usize) -> Result<(), Payload>,
    ) {
        let mut next = Some(first);
        while let Some(node) = next.take() {
            // The pool drops the jobs that have not started; this one has, its node has not.
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            if let Err(payload) = body(slot, node) {
                // Relaxed: it only keeps others from beginning what would be dropped anyway.
                self.stopped.store(true, Ordering::Relaxed);
                resume_unwind(payload);
            }
            let mut calls = Calls::default();
            for &successor in self.successors(node) {
                let successor = successor as usize;
                // Release: what this node did comes before the successor. Acquire: so does what
                // the others did that the successor waited for.
                let order = needed("graph_countdown", Ordering::AcqRel);
                if self.waiting_for[successor].fetch_sub(1, order) > 1 {
                    continue;
                }
                let other = match next.replace(successor) {
                    None => continue,
                    Some(known) if self.cost_ns(known) <= self.cost_ns(successor) => {
                        next = Some(known);
                        successor
                    }
                    Some(known) => known,
                };
                run.add(other);
                calls.add(self.cost_ns(other));
            }
            self.call(shared, run, calls);
        }
    }

    /// Wakes as many threads as there is work for that is worth it. What no thread is woken for is
    /// run by a thread that is awake.
    fn call(&self, shared: &Shared, run: &GraphRun<'_>, calls: Calls) {
        let wanted = match self.sharing {
            Sharing::Always => shared.worker_count.min(calls.count()),
            _ => shared.worker_count.min(calls.wanted()),
        };
        if wanted > 0 {
            run.wake(wanted);
        }
    }
}
