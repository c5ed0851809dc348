//! Task groups: the jobs that one call waits for, and the only ones that its wait helps with.
//!
//! Each scope, flat loop and join is a [`TaskGroup`] in the stack frame of the call that owns it. Scopes
//! and loops are also [`TaskSource`]s: they are listed in the pool's [`OpenGroups`], where other threads
//! find them. The group counts each other thread in it. The owner leaves its frame only when that count
//! is zero and no work is left.
//!
//! Groups form a tree through their parents: a group opened by a job is a child of the job's group. A
//! waiting owner helps with its own group and those below it. So a lock may be held across a wait (rayon
//! #592): the owner never runs an unrelated job that takes the same lock. It also bounds the stack, which
//! grows with the nesting of groups only.
#![expect(
    unsafe_code,
    reason = "threads use groups and run jobs that live in other threads' stack frames"
)]

use crate::queue::Queue;
use crate::sleep::Sleepers;
use crate::slots::{JobId, Slots};
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, is_kept, needed};
use std::collections::VecDeque;
use std::ptr::{self, NonNull};

/// Set in [`TaskGroup::state`] once the owner is about to sleep.
const OWNER_ASLEEP: usize = 1;
/// One helper in [`TaskGroup::state`], or the half of a join.
const ONE: usize = 2;

/// The common part of scopes, loops and joins.
#[derive(Debug)]
pub(crate) struct TaskGroup {
    /// `count * ONE + OWNER_ASLEEP`, in one word. So the last thread to leave learns from its decrement
    /// whether it has to wake the owner, and need not access the group again.
    state: AtomicUsize,
    /// Null, or the group whose job opened this one.
    ///
    /// Invariant J-3: a parent outlives its children. The job of the parent that opened a child
    /// waits for it, and runs either on the parent's owner, whose frame the parent lies in, or on a
    /// thread that the parent counts.
    parent: AtomicPtr<TaskGroup>,
    /// The bits of the job with a handle in which this group was opened, or in which its parent
    /// was, and so on; or zero.
    job: AtomicU64,
}

impl TaskGroup {
    /// Creates a group that counts `count` threads.
    #[inline]
    pub(crate) fn new(count: usize) -> Self {
        // SAFETY: there is no parent, so J-3 asks for nothing.
        unsafe { Self::below(None, None, count) }
    }

    /// Creates a group that is a child of `parent`, in the job `job`.
    ///
    /// # Safety
    ///
    /// The requirements of [`set_parent`](Self::set_parent) (J-3).
    #[inline(always)]
    pub(crate) unsafe fn below(
        parent: Option<NonNull<Self>>,
        job: Option<JobId>,
        count: usize,
    ) -> Self {
        Self {
            state: AtomicUsize::new(count * ONE),
            parent: AtomicPtr::new(parent.map_or(ptr::null_mut(), NonNull::as_ptr)),
            job: AtomicU64::new(job.map_or(0, JobId::to_bits)),
        }
    }

    /// The address under which the owner of this group is listed while it sleeps.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Makes this group a child of `parent`, opened in the job `job`, before other threads know of it.
    ///
    /// # Safety
    ///
    /// `parent` is the group whose job the calling thread is running, as its owner or as a counted
    /// thread. That job does not end before this group is done, off the list, and no longer used (J-3).
    #[inline]
    pub(crate) unsafe fn set_parent(&self, parent: Option<NonNull<Self>>, job: Option<JobId>) {
        let parent = parent.map_or(ptr::null_mut(), NonNull::as_ptr);
        // Relaxed: the list's lock or the deque publishes the group.
        self.parent.store(parent, Ordering::Relaxed);
        self.job.store(job.map_or(0, JobId::to_bits), Ordering::Relaxed);
    }

    /// The job with a handle that this group is part of, if any.
    pub(crate) fn job(&self) -> Option<JobId> {
        JobId::from_bits(self.job.load(Ordering::Relaxed))
    }

    fn parent(&self) -> Option<&Self> {
        let parent = self.parent.load(Ordering::Relaxed);
        // SAFETY: null, or alive for as long as `self` is (J-3).
        unsafe { parent.as_ref() }
    }

    /// Decrements the count, and wakes the owner if it reaches zero.
    ///
    /// It takes a pointer because the owner may free the group as soon as the count is zero (J-2),
    /// while this function is still running. A reference would promise the opposite (rayon #739,
    /// rust-lang/rust#146799).
    ///
    /// # Safety
    ///
    /// - `group` is alive, and the caller owns one of its counts (J-2).
    /// - The caller does not use `group` afterwards.
    pub(crate) unsafe fn finish_one(group: NonNull<Self>, sleepers: &Sleepers) {
        // SAFETY: the caller's count keeps the group alive until the decrement has happened, which is the
        // last access (J-2). Release: the owner's acquire load in `is_done` sees the effects of this
        // thread, and those of threads that finished before: all changes of the word are
        // read-modify-writes, which continue a release sequence.
        let before = unsafe {
            (*group.as_ptr()).state.fetch_sub(ONE, needed("finish_one", Ordering::Release))
        };
        debug_assert!(before >= ONE, "a group counts what has not finished");
        // From here on the group may be gone, and another one be at its address: then that one's owner
        // checks once in vain.
        if before == ONE | OWNER_ASLEEP && is_kept("wake_owner") {
            sleepers.wake(1, |tag| tag.group == group.addr().get());
        }
    }

    /// Whether no thread is in the group. If so, the effects of the threads that have left are visible.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.state.load(needed("group_is_done", Ordering::Acquire)) < ONE
    }

    /// Notes that the owner, which is listed, is about to sleep. The flag shares a word with the count,
    /// so either the last thread to finish sees it, or the owner sees that the group is done.
    pub(crate) fn note_owner_asleep(&self) {
        // Relaxed: one word has one modification order; `is_done` acquires the effects of finished
        // threads.
        self.state.fetch_or(OWNER_ASLEEP, Ordering::Relaxed);
    }

    /// Whether this group is the group with this address, or is below it.
    pub(crate) fn is_in(&self, address: usize) -> bool {
        let mut next = Some(self);
        while let Some(group) = next {
            if group.address() == address {
                return true;
            }
            next = group.parent();
        }
        false
    }
}

/// A reference to a job that lies in a stack frame of its owner.
///
/// Invariant J-4: a job reference is used up exactly once, by running it or by its owner taking it back.
/// The owner does not leave the frame of the job before that. If the job was run, the owner does not
/// leave before the run has used the job for the last time, which ends the job's group (J-2).
#[derive(Debug)]
pub(crate) struct JobRef(NonNull<JobHead>);

/// The beginning of a job that lies in a stack frame.
#[derive(Debug)]
pub(crate) struct JobHead {
    pub(crate) group: TaskGroup,
    /// Runs the job that begins with this head.
    pub(crate) run: unsafe fn(NonNull<JobHead>),
}

// SAFETY: `JobRef::new` requires a job that may run on any thread, and it is run once (J-4).
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    ///
    /// - The `run` of `job` may be called with it, once, on any thread.
    /// - The caller does not leave the frame of `job` before the reference is used up and, if it was run,
    ///   `run` has used `job` for the last time (J-4).
    #[inline]
    pub(crate) unsafe fn new(job: NonNull<JobHead>) -> Self {
        Self(job)
    }

    /// A reference for tests.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn of_nothing(head: &'static JobHead) -> Self {
        Self(NonNull::from(head))
    }

    /// Whether this refers to the job with this group.
    #[inline]
    pub(crate) fn is_in(&self, group: &TaskGroup) -> bool {
        ptr::eq(self.group(), group)
    }

    fn head(&self) -> &JobHead {
        // SAFETY: the reference is not used up, so the frame is still there (J-4).
        unsafe { self.0.as_ref() }
    }

    /// The group of the job.
    pub(crate) fn group(&self) -> &TaskGroup {
        &self.head().group
    }

    /// Runs the job and uses up the reference.
    pub(crate) fn run(self) {
        let run = self.head().run;
        // SAFETY: references are made only by `new`, whose caller granted this one call. It happens only
        // once, because it consumes `self` (J-4).
        unsafe { run(self.0) }
    }
}

/// A group whose jobs any thread can take.
pub(crate) trait TaskSource: Sync {
    fn group(&self) -> &TaskGroup;

    /// The approximate number of jobs, or batches, that a helper would find now; zero if there is none.
    fn left(&self) -> usize;

    fn has_work(&self) -> bool {
        self.left() > 0
    }

    /// Takes one job of this group and runs it, on a thread with this slot. Returns false if none was
    /// left. Panics of jobs are caught.
    ///
    /// The caller is the owner, or is counted. So once there is no work and no thread is counted, no job
    /// is unfinished.
    fn run_one(&self, slot: usize) -> bool;
}

/// The groups from which a thread takes work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HelpScope<'a> {
    /// All groups: for an idle worker.
    All,
    /// All groups but those opened in background jobs: for an idle worker, first.
    Frame(&'a Slots),
    /// The group with this address and those below it: for its waiting owner.
    Below(usize),
    /// The groups opened in this job: for a thread that waits for it.
    InJob(JobId),
}

impl HelpScope<'_> {
    pub(crate) fn includes(self, group: &TaskGroup) -> bool {
        match self {
            Self::All => true,
            Self::Frame(slots) => !group.job().is_some_and(|id| slots.get(id).is_background()),
            Self::Below(address) => group.is_in(address),
            Self::InJob(job) => group.job() == Some(job),
        }
    }
}

/// The groups that may have work for helpers, oldest first.
#[derive(Debug)]
pub(crate) struct OpenGroups(Queue<OpenGroup>);

/// Invariant J-1: a listed group is alive. Its owner removes it from the list, under the list's lock,
/// before it leaves its frame, and only when no thread is in the group and none would find work there.
#[derive(Debug)]
struct OpenGroup(NonNull<dyn TaskSource>);

// SAFETY: `TaskSource` is `Sync`, and J-1 keeps it alive for a thread that finds it here.
unsafe impl Send for OpenGroup {}

impl OpenGroup {
    fn work(&self) -> &dyn TaskSource {
        // SAFETY: the group is listed and the borrow ends under the lock (J-1).
        unsafe { self.0.as_ref() }
    }
}

impl OpenGroups {
    pub(crate) fn new() -> Self {
        Self(Queue::new(VecDeque::with_capacity(16)))
    }

    /// Lists `work`. The caller tells the sleepers.
    ///
    /// # Safety
    ///
    /// `work` stays alive until [`close`](Self::close) has removed it (J-1, J-2).
    pub(crate) unsafe fn open(&self, work: &dyn TaskSource) {
        let work: NonNull<dyn TaskSource + '_> = NonNull::from(work);
        // SAFETY: only the lifetime changes. The list uses the pointer until `close` (J-1), and a helper
        // until it is no longer counted (J-2), which is earlier. The caller outlives both.
        let work: NonNull<dyn TaskSource + 'static> = unsafe { std::mem::transmute(work) };
        self.0.push(OpenGroup(work));
    }

    /// Removes `work` from the list if no thread is in it and no work is left, and returns whether it
    /// did. No thread can enter under the lock, so none is in the group afterwards either.
    pub(crate) fn close(&self, work: &dyn TaskSource) -> bool {
        let address = NonNull::from(work).cast::<()>();
        // In this order: a thread that has left may have added work before.
        let is_empty = || !work.has_work() || !is_kept("close_when_empty");
        let is_over = || work.group().is_done() && is_empty() || !is_kept("close_when_over");
        self.0.take_where(|open| open.0.cast() == address && is_over()).is_some()
    }

    /// The result of `find` for the first group that has work for which it returns one.
    pub(crate) fn find_work<R>(&self, mut find: impl FnMut(&TaskGroup) -> Option<R>) -> Option<R> {
        self.0
            .find_map(|open| if open.work().has_work() { find(open.work().group()) } else { None })
    }

    /// The approximate number of jobs left in all groups.
    pub(crate) fn left(&self) -> usize {
        let mut left = 0_usize;
        _ = self.0.find_map(|open| {
            left = left.saturating_add(open.work().left());
            None::<()>
        });
        left
    }

    /// Finds the oldest group within scope that has work, and counts the caller as its helper until the
    /// result is dropped.
    pub(crate) fn enter<'pool>(
        &self,
        sleepers: &'pool Sleepers,
        scope: HelpScope<'_>,
    ) -> Option<Helper<'pool>> {
        self.0.find_map(|open| {
            let work = open.work();
            if !work.has_work() || !scope.includes(work.group()) {
                return None;
            }
            // Relaxed: the list's lock makes it visible to the owner, who closes the group under that
            // lock.
            work.group().state.fetch_add(ONE, Ordering::Relaxed);
            Some(Helper { work: open.0, sleepers })
        })
    }
}

/// A thread's participation in a group.
///
/// Invariant J-2: a group is alive while it counts a thread. That thread may use it; its last use is in
/// [`TaskGroup::finish_one`].
pub(crate) struct Helper<'pool> {
    work: NonNull<dyn TaskSource>,
    sleepers: &'pool Sleepers,
}

impl Helper<'_> {
    pub(crate) fn work(&self) -> &dyn TaskSource {
        // SAFETY: the helper is counted from `enter` until the drop (J-2).
        unsafe { self.work.as_ref() }
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        let group = NonNull::from(self.work().group());
        // SAFETY: `enter` added the count that ends here, and nothing in the rest of `self` uses the
        // group (J-2).
        unsafe { TaskGroup::finish_one(group, self.sleepers) };
    }
}
