//! The presence of a thread in a pool: its slot, its queues, and the job that it runs.
//!
//! A worker keeps its context for its lifetime. An external thread gets one for the duration of a call.
//! The contexts of one thread form a list, because a worker of one pool may be an external thread of
//! another.
//!
//! All external threads have the same slot. Within its own call, each has it alone; see
//! docs/job-sleep.md, section 4.
#![expect(
    unsafe_code,
    reason = "a thread-local pointer leads to the contexts on the thread's own stack"
)]

use crate::queue::contention_count;
use crate::shared::{LocalQueues, Shared};
use crate::slots::{JobId, JobKind};
use crate::sync::{is_kept, needed_fence, thread_local};
use crate::task_group::TaskGroup;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::thread;
use std::time::Duration;

/// The number of jobs in a row with a contended queue after which a worker backs off. That takes about as
/// long as a wake-up would.
const CONTENDED_IN_A_ROW_MAX: u32 = 4;
const BACK_OFF: Duration = Duration::from_micros(50);

thread_local! {
    /// The newest context of this thread.
    ///
    /// Invariant J-5: it and the older contexts below it are alive, lie on this thread's stack, and are
    /// unlinked, newest first, before they are dropped.
    static NEWEST: Cell<*const WorkerContext> = const { Cell::new(ptr::null()) };
}

/// One thread's presence in one pool.
#[derive(Debug)]
pub(crate) struct WorkerContext {
    /// The address of the pool; compared, never dereferenced.
    pool: *const Shared,
    /// This thread's index among those that run jobs of one call: the number of a worker, or
    /// `worker_count` for all external threads.
    pub(crate) slot: usize,
    /// The queues that this thread's joins can be stolen from, if it has any.
    queues: Option<LocalQueues>,
    /// The group whose job this thread is running.
    pub(crate) group: Cell<Option<NonNull<TaskGroup>>>,
    /// The job with a handle that this thread runs or helps with.
    pub(crate) job: Cell<Option<JobId>>,
    /// The number of nested waits for jobs with handles that this thread is in.
    pub(crate) wait_depth: Cell<usize>,
    /// Whether this thread cancels the jobs for the main thread: the pool is dropped here, so no thread
    /// will run them.
    pub(crate) cancels_main_jobs: Cell<bool>,
    /// Whether this thread runs queued jobs because the pool has no workers.
    pub(crate) is_draining: Cell<bool>,
    /// Whether this is a worker that has looked for work and found none since.
    is_inactive: Cell<bool>,
    /// Whether a wake-up for any work was spent on this thread, and it has started no work since.
    pub(crate) is_woken: Cell<bool>,
    /// The number of group jobs that this thread, a worker, has run since it last looked for other work.
    pub(crate) group_jobs_in_a_row: Cell<usize>,
    /// The contention count of this thread's queue locks at the last check, and the number of checks in a
    /// row that found it increased.
    contention_count: Cell<u32>,
    contended_in_a_row: Cell<u32>,
    /// Whether this thread has ended a job since it last checked, behind a fence, for sleepers with
    /// conditions.
    has_ended_job: Cell<bool>,
    below: *const WorkerContext,
}

impl WorkerContext {
    /// Registers a worker thread of the pool's own while `run` runs.
    pub(crate) fn with_worker<R>(
        shared: &Shared,
        queues: LocalQueues,
        run: impl FnOnce(&Self) -> R,
    ) -> R {
        assert!(queues.index < shared.worker_count, "a worker has the queues of one");
        let context = Self::new(shared, queues.index, Some(queues));
        // A worker counts as inactive from the start, so that others expect it before it arrives.
        context.is_inactive.set(true);
        shared.begin_worker();
        context.stay(shared, run)
    }

    /// Finds this thread's context in the pool, or registers it for this call: as a worker, if the pool
    /// leaves its workers' queues to the host's threads and has free ones, or else as an external thread.
    pub(crate) fn with_host<R>(shared: &Shared, run: impl FnOnce(&Self) -> R) -> R {
        Self::with_any(shared, |context| match context {
            Some(context) => run(context),
            None => match shared.take_worker_queues() {
                Some(queues) => Self::new(shared, queues.index, Some(queues)).stay(shared, run),
                None => Self::with_external(shared, run),
            },
        })
    }

    /// Finds this thread's context in the pool, or registers it for this call.
    #[inline]
    pub(crate) fn with<R>(shared: &Shared, run: impl FnOnce(&Self) -> R) -> R {
        Self::with_any(shared, |context| match context {
            Some(context) => run(context),
            None => Self::with_external(shared, run),
        })
    }

    /// Finds this thread's context in the pool, if it has one.
    #[inline]
    pub(crate) fn with_any<R>(shared: &Shared, run: impl FnOnce(Option<&Self>) -> R) -> R {
        let mut next = NEWEST.with(Cell::get);
        // SAFETY: the contexts reachable from `NEWEST` are alive, and stay so during this call, because
        // newer contexts are unlinked before older ones (J-5).
        while let Some(context) = unsafe { next.as_ref() } {
            if ptr::eq(context.pool, shared) {
                return run(Some(context));
            }
            next = context.below;
        }
        run(None)
    }

    /// Registers this thread for this call; it has no context in the pool yet.
    pub(crate) fn with_external<R>(shared: &Shared, run: impl FnOnce(&Self) -> R) -> R {
        let queues = shared.take_external_queues();
        Self::new(shared, shared.worker_count, queues).stay(shared, run)
    }

    /// The slot of this thread in the pool, whether or not it has a context there.
    #[inline]
    pub(crate) fn slot_in(shared: &Shared) -> usize {
        Self::with_any(shared, |context| {
            context.map_or(shared.worker_count, |context| context.slot)
        })
    }

    fn new(shared: &Shared, slot: usize, queues: Option<LocalQueues>) -> Self {
        Self {
            pool: ptr::from_ref(shared),
            slot,
            queues,
            group: Cell::new(None),
            job: Cell::new(None),
            wait_depth: Cell::new(0),
            cancels_main_jobs: Cell::new(false),
            is_draining: Cell::new(false),
            is_inactive: Cell::new(false),
            is_woken: Cell::new(false),
            group_jobs_in_a_row: Cell::new(0),
            contention_count: Cell::new(contention_count()),
            contended_in_a_row: Cell::new(0),
            has_ended_job: Cell::new(false),
            below: NEWEST.with(Cell::get),
        }
    }

    /// Links this context while `run` runs, and unlinks it also on unwinding (J-5).
    fn stay<R>(self, shared: &Shared, run: impl FnOnce(&Self) -> R) -> R {
        struct Stay<'a>(&'a Shared, WorkerContext);

        impl Drop for Stay<'_> {
            fn drop(&mut self) {
                let Self(shared, context) = self;
                NEWEST.with(|newest| newest.set(context.below));
                if context.is_inactive.get() {
                    shared.count_inactive(false);
                }
                context.tell_conditional(shared, "tell_on_leaving");
                if let Some(queues) = context.queues.take() {
                    shared.give_back_queues(queues);
                }
            }
        }

        let stay = Stay(shared, self);
        NEWEST.with(|newest| newest.set(&raw const stay.1));
        run(&stay.1)
    }

    /// Whether this thread is a worker that is in no job or call, so that it may take any work.
    pub(crate) fn is_free_worker(&self, shared: &Shared) -> bool {
        let has_halves = || self.queues.as_ref().is_some_and(LocalQueues::has_any);
        !self.is_external(shared)
            && self.group.get().is_none()
            && self.job.get().is_none()
            && !has_halves()
    }

    /// The number of the thread whose pinned jobs this one runs, if it runs any. A worker runs its own only
    /// between other jobs.
    pub(crate) fn pinned(&self, shared: &Shared) -> Option<u32> {
        if self.cancels_main_jobs.get() || shared.is_main_thread() {
            return Some(0);
        }
        let is_between_jobs = self.group.get().is_none() && self.job.get().is_none();
        (is_between_jobs && !self.is_external(shared)).then(|| JobKind::thread_of(self.slot))
    }

    /// Whether this thread has the slot of all external threads.
    pub(crate) fn is_external(&self, shared: &Shared) -> bool {
        self.slot == shared.worker_count
    }

    /// Runs a job of `group`, so that groups opened by it are children of `group`. The job catches its
    /// own panics.
    pub(crate) fn inside<R>(&self, group: &TaskGroup, job: impl FnOnce() -> R) -> R {
        self.in_place_of(Some(NonNull::from(group)), group.job(), job)
    }

    /// Runs the job `id`, so that groups opened by it are part of it and have no parent. The job catches
    /// its own panics.
    pub(crate) fn inside_job<R>(&self, id: JobId, job: impl FnOnce() -> R) -> R {
        self.in_place_of(None, Some(id), job)
    }

    fn in_place_of<R>(
        &self,
        group: Option<NonNull<TaskGroup>>,
        id: Option<JobId>,
        job: impl FnOnce() -> R,
    ) -> R {
        let outer = self.group.replace(group);
        let outer_job = self.job.replace(id);
        let result = job();
        self.group.set(outer);
        self.job.set(outer_job);
        result
    }

    /// Notes that this thread, a worker, has found no work, so that others share theirs.
    pub(crate) fn note_inactive(&self, shared: &Shared) {
        if !self.is_inactive.replace(true) {
            shared.count_inactive(true);
        }
    }

    /// Passes on a wake-up that was spent on this thread, because it no longer looks for work.
    pub(crate) fn pass_on_wake_up(&self, shared: &Shared) {
        if self.is_woken.replace(false) && is_kept("pass_on") {
            shared.announce_more(shared.waiting_count(), None);
        }
    }

    /// Notes that this thread has found work, in `group` if it belongs to one, and is about to start it;
    /// `still_waiting` pieces of it still wait.
    ///
    /// The wake-up that was spent on this thread may have been for other work: one of several open
    /// halves, or a job that is still in the queue. In that case it wakes another thread for that.
    #[inline]
    pub(crate) fn note_work_found(
        &self,
        shared: &Shared,
        still_waiting: usize,
        group: Option<&TaskGroup>,
    ) {
        if group.is_some() {
            // Work of a group may take long, and ends no job with a handle.
            self.tell_conditional(shared, "tell_before_group");
        }
        let (was_inactive, was_woken) =
            (self.is_inactive.replace(false), self.is_woken.replace(false));
        if was_inactive {
            shared.count_inactive(false);
            // Pairs with the fence in `Sleepers::has_any`: if a thread made work visible before that and
            // woke no thread because this one was searching, that work is visible here.
            needed_fence("note_work_found");
        }
        if (was_inactive || was_woken) && is_kept("pass_on_work") {
            shared.announce_more(shared.waiting_count().saturating_sub(still_waiting), group);
        }
    }

    /// Notes, after a job, whether another thread held the lock of the queue that the job came from.
    pub(crate) fn note_contention(&self) {
        let count = contention_count();
        let is_contended = self.contention_count.replace(count) != count;
        let in_a_row =
            if is_contended { self.contended_in_a_row.get().saturating_add(1) } else { 0 };
        self.contended_in_a_row.set(in_a_row);
    }

    /// Whether this worker is one too many: the queue was contended before each of the last few jobs, so
    /// a job takes less time than handing it out.
    pub(crate) fn is_superfluous(&self, shared: &Shared) -> bool {
        self.contended_in_a_row.get() >= CONTENDED_IN_A_ROW_MAX && !shared.is_hosted
    }

    /// Makes a superfluous worker sleep for a short while before it searches again. It counts as
    /// searching meanwhile, so no other worker is woken in its place.
    pub(crate) fn back_off(&self, shared: &Shared) {
        self.note_inactive(shared);
        // Not `park_timeout`, which is only as precise as the timer of the system.
        thread::sleep(BACK_OFF);
        self.contended_in_a_row.set(CONTENDED_IN_A_ROW_MAX / 2);
    }

    /// Notes that this thread has ended a job with a handle, and wakes the sleepers with conditions of
    /// their own, if it sees any. There is no fence here, to keep jobs cheap;
    /// [`tell_conditional`](Self::tell_conditional) follows before this thread sleeps, or goes on with
    /// anything but jobs with handles.
    pub(crate) fn note_ended_job(&self, shared: &Shared) {
        self.has_ended_job.set(true);
        shared.sleepers.wake_conditional();
    }

    /// Wakes the sleepers with conditions of their own, if this thread has ended a job since it last did
    /// so. `place` is a step as of [`is_kept`].
    pub(crate) fn tell_conditional(&self, shared: &Shared, place: &str) {
        if is_kept(place) && self.has_ended_job.replace(false) {
            // Pairs with the fence in `Sleepers::list`: either the sleeper sees the effects of the jobs,
            // or this thread sees it listed.
            needed_fence("tell_conditional");
            shared.sleepers.wake_conditional();
        }
    }

    /// The queues that this thread's joins can be stolen from, if it has any.
    #[inline]
    pub(crate) fn queues(&self) -> Option<&LocalQueues> {
        self.queues.as_ref()
    }

    /// The index at which a search for jobs to steal begins; it differs between threads, so that thieves
    /// spread out.
    pub(crate) fn queue_index(&self) -> usize {
        self.queues.as_ref().map_or(self.slot, |queues| queues.index)
    }

    /// Opens some of the private halves to thieves if they have too few to take.
    pub(crate) fn open_for_thieves(&self, shared: &Shared) {
        if let Some(queues) = &self.queues {
            self.with_group(|group| queues.open_for_thieves(shared, group));
        }
    }

    /// Opens all private halves to thieves, before this thread sleeps.
    pub(crate) fn open_all(&self, shared: &Shared) {
        if let Some(queues) = &self.queues {
            let count = queues.private.len();
            self.with_group(|group| queues.open_oldest(shared, count, group));
        }
    }

    /// Calls `look` with the group whose job this thread is running, if any.
    fn with_group<R>(&self, look: impl FnOnce(Option<&TaskGroup>) -> R) -> R {
        // SAFETY: a group outlives its jobs (J-2), and this thread is in one of them, which it does not
        // leave while this runs.
        look(self.group.get().map(|group| unsafe { group.as_ref() }))
    }
}
