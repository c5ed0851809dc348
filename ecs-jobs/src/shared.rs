//! What the threads of one pool share.

use crate::deque::{Stealer, Worker};
use crate::event_count::{EventCount, Parkers};
use crate::group::{Group, OpenGroups, Reach, Visit};
use crate::job::JobRef;
use crate::sync::{AtomicBool, Mutex, Ordering};
use std::cell::RefCell;
use std::collections::VecDeque;

/// The halves of joins that a thread has not started yet, oldest first.
///
/// ```text
///             oldest                                     newest
///   deque    [ h0 ]        open to thieves
///   private           [ h1   h2   h3 ]                   owner's alone, no fences
/// ```
///
/// A join puts its second half into the private part, which costs nothing to
/// speak of, and moves the oldest into the deque when that has run empty: there
/// is always something to steal, and it is always the largest piece. If the
/// private part is empty, the newest half is the newest of the deque.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) deque: Worker<JobRef>,
    pub(crate) private: RefCell<VecDeque<JobRef>>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { deque: Worker::new(), private: RefCell::new(VecDeque::with_capacity(64)) }
    }
}

/// The state of a pool; the handle and every worker thread hold it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) worker_count: usize,
    pub(crate) idle: EventCount,
    pub(crate) parkers: Parkers,
    pub(crate) open: OpenGroups,
    /// The thieves' ends of the workers' benches, then that of the guest's.
    stealers: Box<[Stealer<JobRef>]>,
    /// The bench of the one outside thread that takes part like a worker, with
    /// slot `worker_count`. Empty while somebody sits there, and
    /// always in a pool without workers, where nobody steals.
    guest_bench: Mutex<Option<Bench>>,
    /// Held by the outside thread whose loop with slots runs in a pool without
    /// workers: there is one slot, so such loops take turns.
    pub(crate) inline_turn: Mutex<()>,
    closing: AtomicBool,
}

impl Shared {
    /// The state, and the benches of the workers.
    pub(crate) fn new(worker_count: usize) -> (Self, Vec<Bench>) {
        // Without workers there are no thieves, and the guest needs no bench.
        let bench_count = if worker_count == 0 { 0 } else { worker_count + 1 };
        let mut benches: Vec<Bench> = (0..bench_count).map(|_| Bench::new()).collect();
        let stealers = benches.iter().map(|bench| bench.deque.stealer()).collect();
        let shared = Self {
            worker_count,
            idle: EventCount::new(worker_count),
            parkers: Parkers::new(worker_count + 1),
            open: OpenGroups::new(),
            stealers,
            guest_bench: Mutex::new(benches.pop()),
            inline_turn: Mutex::new(()),
            closing: AtomicBool::new(false),
        };
        (shared, benches)
    }

    /// Workers and the caller who waits.
    pub(crate) fn parallelism(&self) -> usize {
        self.worker_count + 1
    }

    /// Tells up to `wanted` threads that there is work in `group`: idle workers
    /// first, then sleeping owners of `group` and of the groups around it. The
    /// work is visible already (docs/job-sleep.md, sections 3 and 4).
    pub(crate) fn announce_work(&self, group: &Group, wanted: usize) {
        // `notify` has the fence that `wake_owners` asks for.
        let woken = self.idle.notify(wanted, &self.parkers);
        group.wake_owners(wanted - woken, &self.parkers);
    }

    /// Tells an idle worker that there is a job in a deque.
    pub(crate) fn announce_job(&self) {
        self.idle.notify(1, &self.parkers);
    }

    pub(crate) fn enter(&self, reach: Reach, slot: Option<usize>) -> Option<Visit<'_>> {
        self.open.enter(reach, slot, &self.parkers)
    }

    /// Steals the oldest job of the first thread that has one, beginning after
    /// `own`, so that thieves spread out.
    pub(crate) fn steal(&self, own: usize) -> Option<JobRef> {
        let (before, after) = self.stealers.split_at(own + 1);
        after.iter().chain(&before[..own]).find_map(Stealer::steal)
    }

    /// Whether a worker would find anything to do, or is to end.
    pub(crate) fn has_news(&self, slot: usize) -> bool {
        self.is_closing()
            || self.open.has_work(Reach::All, Some(slot))
            || self.stealers.iter().any(|stealer| !stealer.is_empty())
    }

    /// Tells the workers to end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.idle.notify(self.worker_count, &self.parkers);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(crate) fn take_guest_bench(&self) -> Option<Bench> {
        self.guest_bench.lock().take()
    }

    pub(crate) fn give_back_guest_bench(&self, bench: Bench) {
        debug_assert!(bench.private.borrow().is_empty(), "a guest leaves nothing behind");
        *self.guest_bench.lock() = Some(bench);
    }
}
