//! The state that the threads of one pool share.

use crate::body_costs::BodyCosts;
use crate::clock::Clock;
use crate::job_queue::JobQueue;
use crate::join_deque::{DequeIndex, JoinDeque};
use crate::queue::Queue;
use crate::sleep::Sleepers;
use crate::slots::{JobId, Slots, State};
use crate::spans::Spans;
use crate::stored_job::StoredJob;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, is_kept, needed, unique_number};
use crate::task_group::{HelpScope, Helper, JobRef, OpenGroups, TaskGroup};
use crate::thread_number::thread_id;
use crate::wait_graph::WaitGraph;
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;

/// The maximum number of external threads at a time that have queues for the halves of their joins. Other
/// external threads run both halves themselves.
const EXTERNAL_COUNT_MAX: usize = if cfg!(loom) { 1 } else { 32 };

/// The open halves of joins of one thread, each with the number of joins around it.
type OpenHalves = Queue<(usize, JobRef)>;

/// The second halves of joins that a thread has not started, oldest first.
///
/// ```text
///             oldest                                     newest
///   open     [ h0 ]        any thread takes, behind a lock
///   private           [ h1   h2   h3 ]                   the owner's alone
/// ```
///
/// A join pushes its second half into the private part, which is nearly free. At each push, and before it
/// helps in a group, the owner checks whether it has more open halves than there are workers without work.
/// If not, it opens the older half of the private part, so that thieves find work, the largest pieces
/// first. A large piece of work that makes no call into the pool may come next, so there is one more.
#[derive(Debug)]
pub(crate) struct LocalQueues {
    /// The index of the open part in [`Shared::open_halves`].
    pub(crate) index: usize,
    pub(crate) private: JoinDeque,
    /// The open part itself: each join reads its length twice.
    open: Arc<OpenHalves>,
}

impl LocalQueues {
    fn new(index: usize, open: &Arc<OpenHalves>) -> Self {
        Self { index, private: JoinDeque::new(), open: Arc::clone(open) }
    }

    /// Whether there is a half that this thread has not started.
    pub(crate) fn has_any(&self) -> bool {
        !self.private.is_empty() || !self.open.is_empty()
    }

    /// Opens the older half of the private part to thieves if they have nothing to take.
    ///
    /// Not just the oldest: if the pieces do not divide further, one at a time would feed only one thief
    /// while the owner is busy. Each round but the first requires a theft before it, which pays for it.
    #[inline]
    pub(crate) fn open_for_thieves(&self, shared: &Shared, group: Option<&TaskGroup>) {
        if !self.private.is_empty() && self.wants_more(shared) {
            self.open_oldest(shared, self.private.len().div_ceil(2), group);
        }
    }

    /// Whether thieves have too little to take.
    #[inline]
    fn wants_more(&self, shared: &Shared) -> bool {
        // In this order: a thread that takes a half between the two reads counts as inactive in the first,
        // and its half is open in neither.
        let inactive_count = shared.inactive_count();
        self.open.len() <= inactive_count
    }

    /// Pushes a half of a join of this group into the private part, and feeds the thieves.
    #[inline]
    pub(crate) fn push(&self, shared: &Shared, half: JobRef, group: &TaskGroup) -> DequeIndex {
        if self.private.is_full() {
            self.open_oldest(shared, self.private.len().div_ceil(2), Some(group));
        }
        let index = self.private.push(half);
        if self.wants_more(shared) {
            self.open_oldest(shared, self.private.len().div_ceil(2), Some(group));
        }
        index
    }

    /// Takes back the newest half, at `index` and with this group, unless it was stolen, and feeds the
    /// thieves: the half that was taken back may take long to run.
    ///
    /// Later halves have been taken back or stolen; in the latter case all older ones were stolen as
    /// well.
    #[inline]
    pub(crate) fn take_back(&self, shared: &Shared, index: DequeIndex, group: &TaskGroup) -> bool {
        let is_private = self.private.take_back(index);
        if is_private {
            self.open_for_thieves(shared, Some(group));
        }
        is_private || self.take_back_open(index, group)
    }

    #[cold]
    #[inline(never)]
    fn take_back_open(&self, index: DequeIndex, group: &TaskGroup) -> bool {
        self.private.leave(index);
        self.open.pop_newest(|(_, newest)| newest.is_in(group)).is_some()
    }

    /// Opens the `count` oldest of the private part, and wakes one sleeper, which wakes the next if it
    /// finds more. `group` is the innermost group that this thread is in.
    #[cold]
    #[inline(never)]
    pub(crate) fn open_oldest(&self, shared: &Shared, count: usize, group: Option<&TaskGroup>) {
        if count == 0 {
            return;
        }
        let oldest = (0..count).map_while(|_| self.private.pop_oldest());
        let were_none = self.open.extend(oldest);
        // If some were open already, the thread woken for those passes the wake-up on.
        if shared.sleepers.has_any() && is_kept("announce_half") {
            shared.wake_for(usize::from(were_none), group);
        }
    }
}

/// The maximum number of threads that one thread wakes at a time: a wake-up costs it some microseconds,
/// and the woken threads wake others.
const WAKES_AT_ONCE: usize = 4;

/// The maximum number of spare lists kept from earlier scopes, and the maximum capacity of such a list in
/// jobs.
const SPARE_LISTS_MAX: usize = 16;
const SPARE_LIST_LEN_MAX: usize = 4_096;

/// The state of a pool; the handle and every worker thread hold a reference to it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) worker_count: usize,
    pub(crate) sleepers: Sleepers,
    pub(crate) open_groups: OpenGroups,
    /// The open halves of joins: those of the workers, then those of the external threads.
    open_halves: Box<[Arc<OpenHalves>]>,
    /// The number of these that have ever been in use.
    used_count: AtomicUsize,
    /// The number of workers that have looked for work and found none since, or have not started.
    inactive_count: CachePadded<AtomicUsize>,
    /// The number of these that have not started: a hook of the host may delay them.
    absent_count: AtomicUsize,
    /// The queues for external threads that are not in use.
    free_external_queues: Mutex<Vec<LocalQueues>>,
    /// The queues of workers that are not in use, in a pool of the host's threads.
    free_worker_queues: Mutex<Vec<LocalQueues>>,
    /// The jobs with handles.
    pub(crate) slots: Slots,
    /// The jobs that are ready.
    pub(crate) ready: JobQueue,
    /// The number of background jobs that run.
    pub(crate) background_count: AtomicUsize,
    /// The ready jobs that are pinned to one thread: the main thread, then each worker.
    pub(crate) pinned: Box<[JobQueue]>,
    /// The waits of jobs for one another.
    pub(crate) wait_graph: WaitGraph,
    /// The number of this pool, unique in the process.
    pub(crate) number: u64,
    /// The id of the thread that created the pool.
    pub(crate) main_thread: u64,
    /// Spare lists for the jobs of scopes.
    spare_lists: Mutex<Vec<VecDeque<StoredJob<'static>>>>,
    /// Whether jobs run only on the thread that queues them.
    pub(crate) is_inline: bool,
    /// Whether the workers are threads of the host, which check conditions of their own.
    pub(crate) is_hosted: bool,
    pub(crate) clock: Clock,
    /// The hooks of the host around each job and system.
    pub(crate) spans: Option<Arc<Spans>>,
    /// The measured costs of loop bodies.
    pub(crate) body_costs: BodyCosts,
    /// Whether a thread drops the pool, and waits for its jobs.
    pub(crate) is_dropped: AtomicBool,
    closing: AtomicBool,
}

impl Shared {
    /// Creates the state of a pool with the system's clock, and the queues of the workers.
    #[cfg(test)]
    pub(crate) fn new(worker_count: usize) -> (Self, Vec<LocalQueues>) {
        Self::with_clock(worker_count, Clock::new(None))
    }

    /// Creates the state with this clock, and the queues of the workers.
    pub(crate) fn with_clock(worker_count: usize, clock: Clock) -> (Self, Vec<LocalQueues>) {
        // Without workers there are no thieves.
        let count = if worker_count == 0 { 0 } else { worker_count + EXTERNAL_COUNT_MAX };
        let shared = Self {
            worker_count,
            sleepers: Sleepers::new(worker_count),
            open_groups: OpenGroups::new(),
            open_halves: (0..count).map(|_| Arc::new(Queue::new(VecDeque::new()))).collect(),
            used_count: AtomicUsize::new(worker_count),
            inactive_count: CachePadded::new(AtomicUsize::new(worker_count)),
            absent_count: AtomicUsize::new(worker_count),
            free_external_queues: Mutex::new(Vec::new()),
            free_worker_queues: Mutex::new(Vec::new()),
            slots: Slots::new(),
            ready: JobQueue::new(),
            background_count: AtomicUsize::new(0),
            pinned: (0..=worker_count).map(|_| JobQueue::new()).collect(),
            wait_graph: WaitGraph::new(),
            number: unique_number(),
            main_thread: thread_id(),
            spare_lists: Mutex::new(Vec::with_capacity(SPARE_LISTS_MAX)),
            is_inline: worker_count == 0,
            is_hosted: false,
            clock,
            spans: None,
            body_costs: BodyCosts::new(),
            is_dropped: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        };
        let open = shared.open_halves.iter().take(worker_count).enumerate();
        let queues = open.map(|(index, open)| LocalQueues::new(index, open)).collect();
        (shared, queues)
    }

    /// Whether the calling thread is the one that created the pool.
    pub(crate) fn is_main_thread(&self) -> bool {
        thread_id() == self.main_thread
    }

    /// The number of workers, plus the waiting caller.
    pub(crate) fn parallelism(&self) -> usize {
        self.worker_count + 1
    }

    /// Announces work for `wanted` threads in `group`: wakes the group's owner in any case, and as many
    /// other threads. The work is visible already (docs/job-sleep.md, sections 3 and 4).
    pub(crate) fn announce_work(&self, group: &TaskGroup, wanted: usize) {
        if !self.sleepers.has_any() {
            return;
        }
        // Not only if workers are lacking: a woken worker may take other work that lasts long. The owner
        // takes this work, if it is still there.
        let mut owner_count = 0;
        if is_kept("announce_owner") {
            owner_count = self.sleepers.wake(1, |tag| tag.group == group.address());
        }
        self.wake_for(wanted.saturating_sub(owner_count), Some(group));
    }

    /// Wakes up to `wanted` idle workers, less those that already search for work. If none is left idle,
    /// it wakes other threads that help in `group`. Otherwise a worker that starts its work wakes those.
    fn wake_for(&self, mut wanted: usize, group: Option<&TaskGroup>) {
        if self.sleepers.idle_count() > 0 && is_kept("announce_workers") {
            let woken = self.sleepers.wake(self.left_to_wake(wanted), |tag| tag.is_worker);
            if self.sleepers.idle_count() > 0 {
                return;
            }
            wanted -= woken;
        }
        // A worker that searches may find other work, and there is no other worker.
        if let Some(group) = group {
            self.wake_around(wanted, group);
        }
    }

    /// Wakes up to `wanted` owners of the groups around `group`; if there are too few, threads that wait
    /// for jobs, if the group is in one.
    fn wake_around(&self, mut wanted: usize, group: &TaskGroup) {
        if is_kept("announce_owners_around") {
            wanted -= self.sleepers.wake(wanted, |tag| tag.group != 0 && group.is_in(tag.group));
        }
        if let Some(id) = group.job().filter(|_| is_kept("announce_helpers")) {
            self.wake_inside(wanted, id);
        }
    }

    /// Wakes up to `wanted` threads that may help inside the job `id`. One that may not passes the wake-up
    /// on.
    pub(crate) fn wake_inside(&self, wanted: usize, id: JobId) {
        self.wake_inside_before(u64::MAX, wanted, id);
    }

    fn wake_inside_before(&self, ticket: u64, wanted: usize, id: JobId) {
        // A job that runs does not wait for this one. Of others, only the walks of their threads tell.
        let may_wait = |job| job == id || self.slots.get(job).state(job) == Some(State::Waiting);
        self.sleepers.wake_before(ticket, wanted, |tag| {
            let may_help = || JobId::from_bits(tag.job).is_some_and(may_wait);
            tag.helps_inside && (tag.is_conditional || may_help())
        });
    }

    /// Wakes another thread that was listed before the one with this ticket, which was woken and has found
    /// nothing to do, if there is work inside a job.
    pub(crate) fn pass_on_inside(&self, ticket: u64) {
        if self.sleepers.has_any() && is_kept("pass_on_inside") {
            if let Some(id) = self.find_work(TaskGroup::job) {
                self.wake_inside_before(ticket, 1, id);
            }
        }
    }

    /// Announces that `count` jobs with handles are ready and queued. If they became ready because others
    /// ended, this wakes all threads that wait for a job, since any of these may be what it waits for
    /// (docs/job-sleep.md, section 3).
    pub(crate) fn announce_ready(&self, count: usize, were_awaited: bool) {
        if self.sleepers.has_any() {
            if is_kept("announce_takers") {
                self.wake_takers(count);
            }
            if were_awaited && is_kept("announce_waiters") {
                self.sleepers.wake(usize::MAX, |tag| tag.job != 0);
            }
        }
    }

    /// Announces a job to the only thread that may run it.
    pub(crate) fn announce_pinned(&self, thread: u32) {
        self.sleepers.tell(1, |tag| tag.pinned == Some(thread) && is_kept("announce_pinned"));
    }

    /// Makes the threads that sleep until a condition of their own holds check it.
    pub(crate) fn announce_condition(&self) {
        self.sleepers.tell(usize::MAX, |tag| tag.is_conditional && is_kept("announce_condition"));
    }

    /// Wakes other threads for the remaining work, if there is any. The caller was woken and leaves, or
    /// was counted as searching and has found work, in `group` if it belongs to one.
    pub(crate) fn announce_more(&self, count: usize, group: Option<&TaskGroup>) {
        if count == 0 || !self.sleepers.has_any() {
            return;
        }
        self.wake_takers(count);
        // If the last idle worker has been woken, no worker would announce the work to others.
        if self.sleepers.idle_count() > 0 {
            return;
        }
        match group {
            Some(group) => {
                self.wake_around(count.saturating_sub(self.searching_count()), group);
            }
            None => self.pass_on_inside(u64::MAX),
        }
    }

    /// Wakes up to `count` idle workers, less those that already search for work. If there are too few,
    /// it wakes other threads that take jobs, which may be listed but awake, checking a condition.
    fn wake_takers(&self, count: usize) {
        let count = self.left_to_wake(count);
        let woken = self.sleepers.wake(count, |tag| tag.is_worker);
        self.sleepers.wake(count - woken, |tag| tag.is_conditional);
    }

    /// The number of the `wanted` threads still to be woken, for a caller that has made work visible and
    /// then executed a fence (docs/job-sleep.md, section 3).
    fn left_to_wake(&self, wanted: usize) -> usize {
        // A thread of the host checks its condition first, which may take long, and wakes no other until
        // then.
        if self.is_hosted {
            return wanted;
        }
        wanted.saturating_sub(self.searching_count()).min(WAKES_AT_ONCE)
    }

    /// The number of workers that are awake and search for work, or are about to. It includes woken
    /// workers, but not those that have not started.
    fn searching_count(&self) -> usize {
        let others = self.sleepers.idle_count() + self.absent_count.load(Ordering::Relaxed);
        self.inactive_count().saturating_sub(others)
    }

    /// The approximate number of threads that would find work: one per job in groups; at most two for
    /// jobs with handles, since those two wake others; and one for halves of joins, since a thread that
    /// takes one opens more.
    pub(crate) fn waiting_count(&self) -> usize {
        let halves = usize::from(self.open_halves().iter().any(|queue| !queue.is_empty()));
        self.open_groups.left().saturating_add(self.ready.len().min(2) + halves)
    }

    /// Tells the workers to end.
    pub(crate) fn close(&self) {
        self.closing.store(true, needed("close", Ordering::Release));
        self.sleepers.tell(usize::MAX, |tag| tag.is_worker && is_kept("announce_closing"));
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(needed("is_closing", Ordering::Acquire))
    }

    /// The number of workers that search for work, or sleep because there is none.
    #[inline]
    pub(crate) fn inactive_count(&self) -> usize {
        // Relaxed: a hint.
        self.inactive_count.load(Ordering::Relaxed)
    }

    /// Counts a worker that starts to search for work.
    pub(crate) fn begin_worker(&self) {
        self.absent_count.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn count_inactive(&self, is_inactive: bool) {
        let step = if is_inactive { 1 } else { usize::MAX };
        self.inactive_count.fetch_add(step, Ordering::Relaxed);
    }

    /// Counts the caller as a helper of the oldest group within scope that has work.
    pub(crate) fn enter(&self, scope: HelpScope<'_>) -> Option<Helper<'_>> {
        self.open_groups.enter(&self.sleepers, scope)
    }

    /// The open halves of the queues that have ever been in use.
    fn open_halves(&self) -> &[Arc<OpenHalves>] {
        // Relaxed: as for the counts of the queues themselves.
        &self.open_halves[..self.used_count.load(Ordering::Relaxed).min(self.open_halves.len())]
    }

    /// Takes an open half within scope with the fewest joins around it, since that is the largest piece of
    /// a balanced tree, and of several such the first after the caller's own queue.
    pub(crate) fn steal(&self, own: usize, scope: HelpScope<'_>) -> Option<(usize, JobRef)> {
        let all = self.open_halves();
        let (before, after) = all.split_at((own + 1).min(all.len()));
        let is_within = |(_, half): &(usize, JobRef)| scope.includes(half.group());
        loop {
            let depth = |queue: &OpenHalves| queue.find_map(|it| is_within(it).then_some(it.0));
            let offers =
                after.iter().chain(before).filter_map(|queue| Some((depth(queue)?, queue)));
            let (_, queue) = offers.min_by_key(|(depth, _)| *depth)?;
            // Another thread may have taken it.
            if let Some(half) = queue.take_where(is_within) {
                return Some(half);
            }
        }
    }

    /// The result of `find` for the first open group or half that has work for which it returns one.
    pub(crate) fn find_work<R>(&self, mut find: impl FnMut(&TaskGroup) -> Option<R>) -> Option<R> {
        let in_group = self.open_groups.find_work(&mut find);
        let mut in_half = |queue: &OpenHalves| queue.find_map(|(_, half)| find(half.group()));
        in_group.or_else(|| self.open_halves().iter().find_map(|queue| in_half(queue)))
    }

    /// Whether a thread that helps within this scope would find work.
    pub(crate) fn has_work(&self, scope: HelpScope<'_>) -> bool {
        self.find_work(|group| scope.includes(group).then_some(())).is_some()
    }

    /// Whether a worker would find work, or has to end.
    pub(crate) fn has_news(&self) -> bool {
        self.is_closing() || self.has_work(HelpScope::All) || !self.ready.is_empty()
    }

    /// Makes the queues of the workers available to threads of the host.
    pub(crate) fn open_to_host(&mut self, queues: Vec<LocalQueues>) {
        // The last one is taken first.
        self.free_worker_queues = Mutex::new(queues.into_iter().rev().collect());
        self.inactive_count = CachePadded::new(AtomicUsize::new(0));
        (self.is_inline, self.is_hosted) = (false, true);
    }

    pub(crate) fn take_worker_queues(&self) -> Option<LocalQueues> {
        self.free_worker_queues.lock().pop()
    }

    /// Returns queues for an external thread, unless too many are in use.
    pub(crate) fn take_external_queues(&self) -> Option<LocalQueues> {
        // Without thieves there are no queues.
        if self.worker_count == 0 {
            return None;
        }
        let mut free = self.free_external_queues.lock();
        free.pop().or_else(|| {
            let next = self.used_count.load(Ordering::Relaxed);
            self.open_halves.get(next).map(|open| {
                self.used_count.store(next + 1, Ordering::Relaxed);
                LocalQueues::new(next, open)
            })
        })
    }

    /// Takes back the queues of a thread that leaves the pool.
    pub(crate) fn give_back_queues(&self, queues: LocalQueues) {
        debug_assert!(!queues.has_any(), "a thread leaves no halves behind");
        let is_worker = queues.index < self.worker_count;
        let free = if is_worker { &self.free_worker_queues } else { &self.free_external_queues };
        free.lock().push(queues);
    }

    /// An empty list for the jobs of a scope.
    pub(crate) fn take_spare_list(&self) -> VecDeque<StoredJob<'static>> {
        self.spare_lists.lock().pop().unwrap_or_default()
    }

    /// Keeps the memory of a scope's list, unless enough is kept.
    pub(crate) fn give_back_spare_list(&self, list: VecDeque<StoredJob<'static>>) {
        if list.capacity() > SPARE_LIST_LEN_MAX {
            return;
        }
        let mut lists = self.spare_lists.lock();
        if lists.len() < SPARE_LISTS_MAX {
            lists.push(list);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sleep::{Listed, Tag};

    fn owner_of(group: &TaskGroup) -> Tag {
        Tag { group: group.address(), ..Tag::default() }
    }

    #[test]
    fn new_work_wakes_the_sleeping_owner_of_its_group_besides_a_worker() {
        let (shared, _places) = Shared::new(1);
        let group = TaskGroup::new(1);
        // The worker is listed, but may be about to find something else.
        let (worker, owner) =
            (shared.sleepers.list(Tag::IDLE), shared.sleepers.list(owner_of(&group)));
        shared.announce_work(&group, 2);
        assert!(!worker.leave(), "a wake-up was spent on the worker");
        assert!(!owner.leave(), "the owner was woken");
    }

    #[test]
    fn a_job_that_is_scheduled_wakes_none_that_wait_for_others() {
        let (shared, _places) = Shared::new(1);
        let waiter = shared.sleepers.list(Tag { job: 7, ..Tag::default() });
        shared.announce_ready(1, false);
        assert!(waiter.leave(), "nothing that it waits for comes after the new job");
    }

    #[test]
    fn no_worker_is_woken_for_what_those_will_find_who_look_and_at_most_four_at_a_time() {
        let (shared, _places) = Shared::new(7);
        let list = || shared.sleepers.list(Tag::IDLE);
        // The seventh has not begun.
        (0..6).for_each(|_| shared.begin_worker());
        let five: Vec<_> = (0..5).map(|_| list()).collect();
        shared.announce_ready(1, false);
        assert!(five.iter().all(Listed::is_listed), "the sixth has not lain down");
        let sixth = list();
        shared.announce_ready(10, false);
        let is_asleep: Vec<_> = five.iter().map(Listed::is_listed).collect();
        assert_eq!(is_asleep, [true, true, false, false, false], "they wake others");
        assert!(!sixth.is_listed());
        shared.announce_ready(4, false);
        assert!(five[0].is_listed(), "those who were woken look for work");
        shared.announce_ready(5, false);
        assert!(!five[1].is_listed(), "who has not begun is not counted upon");
    }

    #[test]
    fn one_external_thread_after_another_has_the_same_queues_and_two_have_two() {
        let (shared, _places) = Shared::new(1);
        let first = shared.take_external_queues().expect("there are some");
        let second = shared.take_external_queues().expect("there are some");
        assert_eq!((first.index, second.index), (1, 2));
        shared.give_back_queues(second);
        assert_eq!(shared.take_external_queues().map(|own| own.index), Some(2));
    }
}
