//! What the threads of one pool share.

use crate::body_costs::BodyCosts;
use crate::clock::Clock;
use crate::deque::{Stealer, Worker};
use crate::event_count::{EventCount, Parkers};
use crate::group::{Group, OpenGroups, Reach, Visit};
use crate::halves::{Halves, Place};
use crate::job::JobRef;
use crate::job_queues::JobQueues;
use crate::slots::{JobId, Slots};
use crate::stored_job::StoredJob;
use crate::sync::{AtomicBool, Mutex, Ordering, unique_number};
use crate::thread_number::thread_id;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// The halves of joins that a thread has not started yet, oldest first.
///
/// ```text
///             oldest                                     newest
///   deque    [ h0 ]        open to thieves
///   private           [ h1   h2   h3 ]                   owner's alone, no fences
/// ```
///
/// A join puts its second half into the private part, which costs nothing to
/// speak of. Whenever the owner comes by, at each push and pop and before it
/// helps in a group, and finds the deque empty, it moves the older half of the
/// private part across: so thieves find something, and the largest pieces first.
/// If the private part is empty, the newest half is the newest of the deque.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) deque: Worker<JobRef>,
    pub(crate) private: Halves,
    /// Jobs with handles that this thread has made ready, open to thieves.
    pub(crate) jobs: Worker<JobId>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { deque: Worker::new(), private: Halves::new(), jobs: Worker::new() }
    }

    /// Opens the older half of the private part to thieves if they have nothing
    /// to take.
    ///
    /// Not just the oldest: if the pieces do not divide any further, one at a
    /// time would feed one thief only for as long as the owner is busy. Each
    /// round but the first needs a theft before, so it is paid for.
    #[inline]
    pub(crate) fn feed_thieves(&self, shared: &Shared) {
        if !self.private.is_empty() && self.deque.is_empty() {
            self.share_oldest(shared, self.private.len().div_ceil(2));
        }
    }

    /// Puts a half of a join into the private part, and feeds the thieves.
    #[inline]
    pub(crate) fn push(&self, shared: &Shared, half: JobRef) -> Place {
        if self.private.is_full() {
            self.share_oldest(shared, self.private.len().div_ceil(2));
        }
        let place = self.private.push(half);
        if self.deque.is_empty() {
            self.share_oldest(shared, self.private.len().div_ceil(2));
        }
        place
    }

    /// Takes back the newest half, `half` from `place`, unless it was stolen, and
    /// feeds the thieves: what comes now, the half that was taken back, may take
    /// long.
    ///
    /// What was pushed later has been taken back, or stolen, and then all that is
    /// older was stolen as well.
    #[inline]
    pub(crate) fn take_back(&self, shared: &Shared, place: Place, half: NonNull<()>) -> bool {
        let is_private = self.private.take_back(place);
        if is_private {
            self.feed_thieves(shared);
        }
        is_private || self.take_back_shared(half)
    }

    #[cold]
    #[inline(never)]
    fn take_back_shared(&self, half: NonNull<()>) -> bool {
        let newest = self.deque.pop();
        let is_half = |own: &JobRef| own.is_for(half);
        assert!(newest.as_ref().is_none_or(is_half), "joins end in order");
        newest.is_some()
    }

    /// Moves the `count` oldest of the private part into the deque.
    #[cold]
    #[inline(never)]
    pub(crate) fn share_oldest(&self, shared: &Shared, count: usize) {
        let oldest = (0..count).filter_map(|_| self.private.pop_oldest());
        oldest.for_each(|half| self.deque.push(half));
        if count > 0 {
            shared.announce_jobs(count);
        }
    }
}

/// How many lists of the jobs of earlier scopes are kept, and the most jobs that such a list has
/// room for.
const SPARE_LISTS_MAX: usize = 16;
const SPARE_LIST_LEN_MAX: usize = 4_096;

/// The state of a pool; the handle and every worker thread hold it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) worker_count: usize,
    pub(crate) idle: EventCount,
    pub(crate) parkers: Parkers,
    pub(crate) open: OpenGroups,
    /// The thieves' ends of the workers' benches, then that of the guest's.
    stealers: Box<[Stealer<JobRef>]>,
    /// The jobs with handles.
    pub(crate) slots: Slots,
    /// Those of them that are ready, and the threads that wait for them.
    pub(crate) queues: JobQueues,
    /// Which pool this is, among all of the process.
    pub(crate) number: u64,
    /// The id of the thread that made the pool.
    main_thread: u64,
    /// The bench of the one outside thread whose joins can be stolen from.
    /// Empty while somebody sits there, and always in a pool without workers,
    /// where nobody steals.
    guest_bench: Mutex<Option<Bench>>,
    /// The memory of the queues of earlier scopes.
    spare_lists: Mutex<Vec<VecDeque<StoredJob<'static>>>>,
    /// The benches of a pool of the host's threads that nobody sits at.
    spare_benches: Mutex<Vec<(usize, Bench)>>,
    /// Whether nobody runs queued jobs but the thread that queues them.
    pub(crate) is_inline: bool,
    pub(crate) clock: Clock,
    /// What the bodies of loops have cost.
    pub(crate) body_costs: BodyCosts,
    closing: AtomicBool,
}

impl Shared {
    /// The state of a pool with the system's clock, and the benches of the workers.
    #[cfg(test)]
    pub(crate) fn new(worker_count: usize) -> (Self, Vec<Bench>) {
        Self::with_clock(worker_count, Clock::new(None))
    }

    /// The state, and the benches of the workers.
    pub(crate) fn with_clock(worker_count: usize, clock: Clock) -> (Self, Vec<Bench>) {
        // Without workers there are no thieves, and the guest needs no bench.
        let bench_count = if worker_count == 0 { 0 } else { worker_count + 1 };
        let mut benches: Vec<Bench> = (0..bench_count).map(|_| Bench::new()).collect();
        let stealers = benches.iter().map(|bench| bench.deque.stealer()).collect();
        // The guest's bench has no jobs: a guest leaves, and injects them.
        let job_stealers =
            benches.iter().take(worker_count).map(|bench| bench.jobs.stealer()).collect();
        let shared = Self {
            worker_count,
            idle: EventCount::new(worker_count),
            parkers: Parkers::new(worker_count + 1),
            open: OpenGroups::new(),
            stealers,
            slots: Slots::new(),
            queues: JobQueues::new(job_stealers),
            number: unique_number(),
            main_thread: thread_id(),
            guest_bench: Mutex::new(benches.pop()),
            spare_lists: Mutex::new(Vec::with_capacity(SPARE_LISTS_MAX)),
            spare_benches: Mutex::new(Vec::new()),
            is_inline: worker_count == 0,
            clock,
            body_costs: BodyCosts::new(),
            closing: AtomicBool::new(false),
        };
        (shared, benches)
    }

    /// Whether the calling thread is the one that made the pool.
    pub(crate) fn is_main_thread(&self) -> bool {
        thread_id() == self.main_thread
    }

    /// Workers and the caller who waits.
    pub(crate) fn parallelism(&self) -> usize {
        self.worker_count + 1
    }

    /// Tells that there is work for `wanted` threads in `group`: the group's own
    /// owner in any case, and besides as many idle workers or, for want of
    /// these, owners of the groups around it. The work is visible already
    /// (docs/job-sleep.md, sections 3 and 4).
    pub(crate) fn announce_work(&self, group: &Group, wanted: usize) {
        // `notify` has the fence that waking owners asks for.
        let woken = self.idle.notify(wanted, &self.parkers);
        // Not only for want of workers: a woken worker may take something else,
        // and stay away for long. The owner takes this, if it is still there.
        let woken = woken + usize::from(group.wake_owner(&self.parkers));
        group.wake_owners_around(wanted.saturating_sub(woken), &self.parkers);
        if group.job().is_some() {
            self.queues.waiters.wake_all(&self.parkers);
        }
    }

    /// Tells that `count` jobs with handles are ready and queued: as many idle
    /// workers, and all who wait for such a job, since any may be what they wait
    /// for (docs/job-sleep.md, section 7).
    pub(crate) fn announce_ready(&self, count: usize) {
        // `notify` has the fence that waking waiters asks for.
        self.idle.notify(count, &self.parkers);
        self.queues.waiters.wake_all(&self.parkers);
    }

    /// Tells as many idle workers that there are jobs in a deque.
    pub(crate) fn announce_jobs(&self, count: usize) {
        self.idle.notify(count, &self.parkers);
    }

    /// Queues a job that any thread may run. The caller announces it.
    pub(crate) fn inject(&self, id: JobId) {
        self.queues.inject(id, |id| self.slots.is_ready(id));
    }

    /// Queues a job for the main thread. The caller announces it.
    pub(crate) fn push_main(&self, id: JobId) {
        self.queues.push_main(id, |id| self.slots.is_ready(id));
    }

    pub(crate) fn enter(&self, reach: Reach) -> Option<Visit<'_>> {
        self.open.enter(reach, &self.parkers)
    }

    /// Steals the oldest job of the first thread that has one, beginning after
    /// `own`, so that thieves spread out.
    pub(crate) fn steal(&self, own: usize) -> Option<JobRef> {
        let (before, after) = self.stealers.split_at(own + 1);
        after.iter().chain(&before[..own]).find_map(Stealer::steal)
    }

    /// Whether a worker would find anything to do, or is to end.
    pub(crate) fn has_news(&self) -> bool {
        self.is_closing()
            || self.open.has_work(Reach::All)
            || self.stealers.iter().any(|stealer| !stealer.is_empty())
            || self.queues.has_work()
    }

    /// Tells the workers to end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.idle.notify(self.worker_count, &self.parkers);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Leaves the seats of the workers to threads of the host.
    pub(crate) fn open_to_host(&mut self, benches: Vec<Bench>) {
        let benches = benches.into_iter().enumerate();
        // The last is taken first.
        self.spare_benches = Mutex::new(benches.rev().collect());
        self.is_inline = false;
    }

    pub(crate) fn take_spare_bench(&self) -> Option<(usize, Bench)> {
        self.spare_benches.lock().pop()
    }

    pub(crate) fn give_back_spare_bench(&self, slot: usize, bench: Bench) {
        debug_assert!(bench.private.is_empty(), "a host leaves no halves behind");
        self.spare_benches.lock().push((slot, bench));
    }

    /// An empty list for the jobs of a scope.
    pub(crate) fn take_spare_list(&self) -> VecDeque<StoredJob<'static>> {
        self.spare_lists.lock().pop().unwrap_or_default()
    }

    /// Keeps the memory of a scope's queue, unless there is enough.
    pub(crate) fn give_back_spare_list(&self, list: VecDeque<StoredJob<'static>>) {
        if list.capacity() > SPARE_LIST_LEN_MAX {
            return;
        }
        let mut lists = self.spare_lists.lock();
        if lists.len() < SPARE_LISTS_MAX {
            lists.push(list);
        }
    }

    pub(crate) fn take_guest_bench(&self) -> Option<Bench> {
        // Where nobody steals there is none.
        if self.worker_count == 0 { None } else { self.guest_bench.lock().take() }
    }

    pub(crate) fn give_back_guest_bench(&self, bench: Bench) {
        debug_assert!(bench.private.is_empty(), "a guest leaves nothing behind");
        *self.guest_bench.lock() = Some(bench);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn new_work_wakes_the_sleeping_owner_of_its_group_besides_a_worker() {
        let (shared, _benches) = Shared::new(1);
        let group = Group::new(1, 1);
        // The worker is listed, but may be about to find something else.
        shared.idle.announce(0);
        group.announce_wait();
        shared.announce_work(&group, 1);
        assert!(!shared.idle.cancel(0), "a wake-up was spent on the worker");
        assert!(!group.wake_owner(&shared.parkers), "the owner was woken already");
    }
}
