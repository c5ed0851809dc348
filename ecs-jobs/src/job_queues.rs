//! Where jobs with handles wait for a thread, and threads for such jobs.

use crate::deque::{Stealer, Worker};
use crate::event_count::Parkers;
use crate::slots::JobId;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;

/// The most jobs that a thread takes over at once.
const SHARE_MAX: usize = 16;

/// The jobs that are ready, as far as they are not in a thread's own deque.
///
/// A queue holds ids, and an id is a hint: a thread that waits for a job may
/// have claimed it without coming by here. Whoever takes an id out tries to
/// claim the job, and forgets the id if that fails.
#[derive(Debug)]
pub(crate) struct JobQueues {
    /// Set with the first job of the pool: no search looks in here before.
    in_use: AtomicBool,
    /// From threads that are not workers.
    injected: Queue,
    /// The thieves' ends of the benches' deques of jobs.
    stealers: Box<[Stealer<JobId>]>,
    /// The jobs that only the thread that made the pool runs.
    main: Queue,
    pub(crate) waiters: Waiters,
}

impl JobQueues {
    pub(crate) fn new(stealers: Box<[Stealer<JobId>]>) -> Self {
        Self {
            in_use: AtomicBool::new(false),
            injected: Queue::new(),
            stealers,
            main: Queue::new(),
            waiters: Waiters::new(),
        }
    }

    /// Has searches look in here from now on. Before the first job is queued.
    pub(crate) fn use_from_now_on(&self) {
        // Relaxed: whoever queues a job has a fence behind it, and this before.
        if !self.in_use.load(Ordering::Relaxed) {
            self.in_use.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_in_use(&self) -> bool {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Queues a job that any thread may run. The caller tells the sleepers.
    ///
    /// Where nobody comes to take jobs, because all that there are are run by who
    /// waits for them, the ids would pile up: so from time to time those that are
    /// not `ready` any more are thrown out.
    pub(crate) fn inject(&self, id: JobId, is_ready: impl Fn(JobId) -> bool) {
        self.injected.push(id, is_ready);
    }

    /// Takes the oldest job that came from outside, and moves a fair share of the
    /// others into `own`, so that the lock is not taken for each of them.
    pub(crate) fn take_injected(&self, own: Option<&Worker<JobId>>) -> Option<JobId> {
        self.injected.take_first(|rest| {
            let Some(own) = own else { return };
            let share = (rest.len() / self.stealers.len().max(1)).min(SHARE_MAX);
            // The newest first: the owner takes what it pushed last.
            rest.drain(..share).rev().for_each(|id| own.push(id));
        })
    }

    /// Takes the oldest job of the first bench that has one, beginning after
    /// `own`.
    pub(crate) fn steal(&self, own: usize) -> Option<JobId> {
        let (before, after) = self.stealers.split_at((own + 1).min(self.stealers.len()));
        after.iter().chain(before).find_map(Stealer::steal)
    }

    /// Whether there is anything to take for any thread.
    pub(crate) fn has_work(&self) -> bool {
        self.is_in_use()
            && (!self.injected.is_empty()
                || self.stealers.iter().any(|stealer| !stealer.is_empty()))
    }

    /// Queues a job for the main thread. The caller tells the sleepers.
    pub(crate) fn push_main(&self, id: JobId, is_ready: impl Fn(JobId) -> bool) {
        self.main.push(id, is_ready);
    }

    /// Whether there is a job for the main thread.
    pub(crate) fn has_main(&self) -> bool {
        !self.main.is_empty()
    }

    /// Takes the oldest job of the main thread's.
    pub(crate) fn take_main(&self) -> Option<JobId> {
        self.main.take_first(|_| ())
    }
}

/// Ids in the order in which they came.
///
/// Behind a lock, unlike the deques: an unlocked queue allocates a block for
/// every so many ids, and a lock that nobody else wants costs no more than its
/// compare-exchange.
#[derive(Debug)]
struct Queue {
    /// `list.len()`, readable without the lock.
    count: CachePadded<AtomicUsize>,
    list: Mutex<Ids>,
}

#[derive(Debug)]
struct Ids {
    list: VecDeque<JobId>,
    /// At which length to look for ids that are of no use any more.
    sift_len: usize,
}

/// The least length at which that is worth it.
const SIFT_LEN_MIN: usize = 64;

impl Queue {
    fn new() -> Self {
        // Ids of no use lie here until there are so many: in a pool with little to do that may
        // be long after it has become warm.
        let list = VecDeque::with_capacity(2 * SIFT_LEN_MIN);
        let ids = Ids { list, sift_len: SIFT_LEN_MIN };
        Self { count: CachePadded::new(AtomicUsize::new(0)), list: Mutex::new(ids) }
    }

    fn is_empty(&self) -> bool {
        // Acquire: whoever sees that the others were taken away sees where they are
        // now, see `take_first`. A thread that goes to sleep also has a fence before.
        self.count.load(Ordering::Acquire) == 0
    }

    fn push(&self, id: JobId, is_ready: impl Fn(JobId) -> bool) {
        let mut ids = self.list.lock();
        if ids.list.len() >= ids.sift_len {
            ids.list.retain(|&id| is_ready(id));
            ids.sift_len = SIFT_LEN_MIN.max(ids.list.len() * 2);
        }
        ids.list.push_back(id);
        self.count.store(ids.list.len(), Ordering::Relaxed);
    }

    /// Takes the oldest, and lets `look` at the others.
    fn take_first(&self, look: impl FnOnce(&mut VecDeque<JobId>)) -> Option<JobId> {
        if self.is_empty() {
            return None;
        }
        let list = &mut self.list.lock().list;
        let id = list.pop_front();
        look(list);
        // Release: what `look` has moved elsewhere is there before it is gone here.
        self.count.store(list.len(), Ordering::Release);
        id
    }
}

/// The threads that sleep until a job is done, or until they can help with it.
#[derive(Debug)]
pub(crate) struct Waiters {
    /// `list.len()`, readable without the lock.
    count: CachePadded<AtomicUsize>,
    /// How many of them wait for a condition of their own, readable without the lock.
    watching_count: CachePadded<AtomicUsize>,
    list: Mutex<Vec<Waiter>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiter {
    /// `None` for a thread that waits for whatever comes.
    job: Option<JobId>,
    parker: usize,
}

impl Waiters {
    fn new() -> Self {
        let list = Mutex::new(Vec::with_capacity(16));
        let none = || CachePadded::new(AtomicUsize::new(0));
        Self { count: none(), watching_count: none(), list }
    }

    /// Writes down the counts of a list that has changed.
    fn count(&self, list: &[Waiter]) {
        self.count.store(list.len(), Ordering::Relaxed);
        let watching_count = list.iter().filter(|waiter| waiter.job.is_none()).count();
        self.watching_count.store(watching_count, Ordering::Relaxed);
    }

    /// Waiting -> Announced (docs/job-sleep.md, section 7). A fence follows, and
    /// another look.
    pub(crate) fn add(&self, job: Option<JobId>, parker: usize) {
        let mut list = self.list.lock();
        list.push(Waiter { job, parker });
        self.count(&list);
    }

    /// Announced or Asleep -> Waiting.
    pub(crate) fn remove(&self, job: Option<JobId>, parker: usize) {
        let mut list = self.list.lock();
        let waiter = Waiter { job, parker };
        let place = list.iter().position(|&other| other == waiter);
        list.swap_remove(place.expect("a waiter takes itself off the list, and nobody else does"));
        self.count(&list);
    }

    /// Wakes those that wait for `job`, which is done.
    pub(crate) fn wake_for(&self, job: JobId, parkers: &Parkers) {
        let list = self.list.lock();
        let those = list.iter().filter(|waiter| waiter.job == Some(job));
        those.for_each(|waiter| parkers.unpark(waiter.parker));
    }

    /// Has those look again who wait for a condition of their own: a job has ended,
    /// which may have made it true. Free of cost where nobody does.
    ///
    /// Without a fence between the job and this call it may miss somebody who is
    /// just going to sleep; so every thread calls it again behind a fence, before
    /// it sleeps, or before it leaves the pool (docs/job-sleep.md, section 7).
    pub(crate) fn wake_watching(&self, parkers: &Parkers) {
        if self.watching_count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let list = self.list.lock();
        let those = list.iter().filter(|waiter| waiter.job.is_none());
        those.for_each(|waiter| parkers.unpark(waiter.parker));
    }

    /// Wakes all, because there may be something for them to do. A sequentially
    /// consistent fence comes before, after the work was made visible.
    pub(crate) fn wake_all(&self, parkers: &Parkers) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let list = self.list.lock();
        list.iter().for_each(|waiter| parkers.unpark(waiter.parker));
    }
}
