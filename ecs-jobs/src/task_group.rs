//! Task groups: what a wait waits for, and the only thing it helps with.
//!
//! A scope, a flat loop and a join each are a [`TaskGroup`] in the stack frame of the call that
//! owns it. Scopes and loops are also [`TaskSource`]: they are listed in the pool's [`OpenGroups`], where
//! other threads find them. Each other thread that visits a group is counted in it, and the owner
//! leaves its frame only when that count is zero and no work is left.
//!
//! Groups form a tree through their parents: a group that is opened by a job is a child of the
//! job's group. A waiting owner helps with its own group and those below it. That is why a lock may
//! be held across a wait (rayon #592): the owner never picks up a stranger's job that wants the
//! same lock. It also bounds the stack, which grows with the nesting of groups only.
#![expect(
    unsafe_code,
    reason = "threads use groups and run jobs that live in other threads' stack frames"
)]

use crate::panic_slot::{PanicSlot, catch};
use crate::queue::Queue;
use crate::sleep::Sleepers;
use crate::slots::JobId;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, is_kept, needed};
use std::collections::VecDeque;
use std::ptr::{self, NonNull};

/// Set in [`TaskGroup::state`] once the owner is about to sleep.
const OWNER_ASLEEP: usize = 1;
/// One helper in [`TaskGroup::state`], or the half of a join.
const ONE: usize = 2;

/// The part that scopes, loops and joins have in common.
#[derive(Debug)]
pub(crate) struct TaskGroup {
    /// `count * ONE + OWNER_ASLEEP`, in one word, so that the last to leave learns from its
    /// decrement whether it has to wake the owner, and need not look at the group again.
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
    cancelled: AtomicBool,
    pub(crate) panics: PanicSlot,
}

impl TaskGroup {
    /// A group that counts `count` threads.
    #[inline]
    pub(crate) fn new(count: usize) -> Self {
        // SAFETY: there is no parent, so J-3 asks for nothing.
        unsafe { Self::below(None, None, count) }
    }

    /// The same as a child of `parent`, in the job `job`.
    ///
    /// # Safety
    ///
    /// What [`set_parent`](Self::set_parent) asks for (J-3).
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
            cancelled: AtomicBool::new(false),
            panics: PanicSlot::new(),
        }
    }

    /// What the owner of this group is listed under while it sleeps.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Makes this group a child of `parent`, opened in the job `job`, before other threads know of it.
    ///
    /// # Safety
    ///
    /// `parent` is the group whose job the calling thread is running, as owner
    /// or as one that is counted, and that job does not end before this group is
    /// done, off the list, and no longer used (J-3).
    #[inline]
    pub(crate) unsafe fn set_parent(&self, parent: Option<NonNull<Self>>, job: Option<JobId>) {
        let parent = parent.map_or(ptr::null_mut(), NonNull::as_ptr);
        // Relaxed: the list's lock or the deque publishes the group.
        self.parent.store(parent, Ordering::Relaxed);
        self.job.store(job.map_or(0, JobId::to_bits), Ordering::Relaxed);
    }

    /// The job with a handle that this group is part of, if it is.
    pub(crate) fn job(&self) -> Option<JobId> {
        JobId::from_bits(self.job.load(Ordering::Relaxed))
    }

    fn parent(&self) -> Option<&Self> {
        let parent = self.parent.load(Ordering::Relaxed);
        // SAFETY: null, or alive for as long as `self` is (J-3).
        unsafe { parent.as_ref() }
    }

    /// Counts one less, and wakes the owner if that was the last.
    ///
    /// It takes a pointer because the owner may free the group as soon as the count is zero (J-2),
    /// while this function is still running. A reference would promise the opposite (rayon #739,
    /// rust-lang/rust#146799).
    ///
    /// # Safety
    ///
    /// - `group` is alive and counts one that is the caller's (J-2).
    /// - The caller does not use `group` afterwards.
    pub(crate) unsafe fn finish_one(group: NonNull<Self>, sleepers: &Sleepers) {
        // SAFETY: the caller's one keeps the group alive until the decrement has happened, which
        // is the last access (J-2).
        // Release: the owner's acquire load in `is_done` sees what we did, and what those did who
        // finished before: all changes of the word are read-modify-writes, which hand a release on.
        let before = unsafe {
            (*group.as_ptr()).state.fetch_sub(ONE, needed("finish_one", Ordering::Release))
        };
        debug_assert!(before >= ONE, "a group counts what has not finished");
        // From here on the group may be gone, and another one be in its place: then that one's
        // owner looks once for nothing.
        if before == ONE | OWNER_ASLEEP && is_kept("wake_owner") {
            sleepers.wake(1, |tag| tag.group == group.addr().get());
        }
    }

    /// Whether no thread is in the group. What those did that have left is visible then.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.state.load(needed("group_is_done", Ordering::Acquire)) < ONE
    }

    /// Notes, once it is listed, that the owner is about to sleep. In one word with the count, so
    /// that either the last to finish sees it, or the owner sees that the group is done.
    pub(crate) fn note_owner_asleep(&self) {
        // Relaxed: there is one order on one word; what finished is acquired by `is_done`.
        self.state.fetch_or(OWNER_ASLEEP, Ordering::Relaxed);
    }

    /// Runs a job of this group; a panic is kept and cancels the group.
    pub(crate) fn run<R>(&self, job: impl FnOnce() -> R) -> Option<R> {
        match catch(job) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.panics.keep(payload);
                self.cancelled.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Whether jobs that have not started are not to start any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        // Relaxed: a job that misses the flag runs, as it might have anyway.
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether the group with this address is around this one, or is this one.
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
/// Invariant J-4: a job reference is used up once, either by running it or by its owner taking it
/// back. The owner does not leave the frame of the job before that, and if it was run, not before
/// the run has told so by its last use of the job (the end of the job's group, J-2).
#[derive(Debug)]
pub(crate) struct JobRef {
    job: NonNull<()>,
    group: NonNull<TaskGroup>,
    run: unsafe fn(NonNull<()>),
}

// SAFETY: `JobRef::new` demands a job that may be run on any thread, and is run once (J-4).
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    ///
    /// - `run` may be called with `job`, once, on any thread.
    /// - The caller does not leave the frame of `job`, in which `group` lies as well, before the
    ///   reference is used up and, if it was run, `run` has used `job` for the last time (J-4).
    #[inline]
    pub(crate) unsafe fn new(
        job: NonNull<()>,
        group: NonNull<TaskGroup>,
        run: unsafe fn(NonNull<()>),
    ) -> Self {
        Self { job, group, run }
    }

    /// A reference for tests, to a job that does not use what it is given, of a group that the
    /// test keeps.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn of_nothing(
        job: NonNull<()>,
        group: &'static TaskGroup,
        run: fn(NonNull<()>),
    ) -> Self {
        Self { job, group: NonNull::from(group), run }
    }

    /// Whether this refers to `job`.
    #[inline]
    pub(crate) fn is_for(&self, job: NonNull<()>) -> bool {
        self.job == job
    }

    /// The group of the job.
    pub(crate) fn group(&self) -> &TaskGroup {
        // SAFETY: the reference is not used up, so the frame is still there (J-4).
        unsafe { self.group.as_ref() }
    }

    /// Runs the job and uses up the reference.
    pub(crate) fn run(self) {
        // SAFETY: references are made only by `new`, whose caller granted this one call; there is
        // one, because `self` is gone afterwards (J-4).
        unsafe { (self.run)(self.job) }
    }
}

/// A group whose jobs any thread can come and take.
pub(crate) trait TaskSource: Sync {
    fn group(&self) -> &TaskGroup;

    /// How many jobs, or batches, a helper would find now, about; zero if there is none.
    fn left(&self) -> usize;

    fn has_work(&self) -> bool {
        self.left() > 0
    }

    /// Takes one job of this group and runs it, on a thread with this slot. False if there was
    /// none left. Panics of jobs stay inside.
    ///
    /// The caller is the owner, or is counted: so no job is unfinished once there is no work, and no
    /// thread is counted.
    fn run_one(&self, slot: usize) -> bool;
}

/// The groups whose work a thread takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HelpScope {
    /// Any: an idle worker.
    All,
    /// The group with this address and those below it: its waiting owner.
    Below(usize),
    /// Those that were opened in this job: a thread that waits for it.
    InJob(JobId),
}

impl HelpScope {
    pub(crate) fn includes(self, group: &TaskGroup) -> bool {
        match self {
            Self::All => true,
            Self::Below(address) => group.is_in(address),
            Self::InJob(job) => group.job() == Some(job),
        }
    }
}

/// The groups that have room for helpers, the oldest first.
#[derive(Debug)]
pub(crate) struct OpenGroups(Queue<OpenGroup>);

/// Invariant J-1: a listed group is alive; its owner takes it off the list, under the list's lock,
/// before it leaves the frame, when no thread is in the group and none would find anything to do.
struct OpenGroup(NonNull<dyn TaskSource>);

impl std::fmt::Debug for OpenGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenGroup({:p})", self.0)
    }
}

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
    /// `work` stays until [`close`](Self::close) has taken it off again (J-1, J-2).
    pub(crate) unsafe fn open(&self, work: &dyn TaskSource) {
        let work: NonNull<dyn TaskSource + '_> = NonNull::from(work);
        // SAFETY: only the lifetime changes. The list's use of the pointer ends at `close` (J-1), a
        // helper's when it is no longer counted (J-2), which is before, and the caller outwaits both.
        let work: NonNull<dyn TaskSource + 'static> = unsafe { std::mem::transmute(work) };
        self.0.push(OpenGroup(work));
    }

    /// Takes `work` off the list if no thread is in it and no work is left, and returns whether it has.
    /// Under the lock no thread can enter: so none is in there afterwards either.
    pub(crate) fn close(&self, work: &dyn TaskSource) -> bool {
        let address = NonNull::from(work).cast::<()>();
        // In this order: a thread that has left may have added work before.
        let is_over = || work.group().is_done() && !work.has_work() || !is_kept("close_when_over");
        self.0.take_where(|open| open.0.cast() == address && is_over()).is_some()
    }

    /// Whether there is work in a group within scope.
    pub(crate) fn has_work(&self, scope: HelpScope) -> bool {
        let offers = |open: &OpenGroup| {
            let work = open.work();
            (scope.includes(work.group()) && work.has_work()).then_some(())
        };
        self.0.find_map(offers).is_some()
    }

    /// How many jobs are left in all groups, about.
    pub(crate) fn left(&self) -> usize {
        let mut left = 0_usize;
        _ = self.0.find_map(|open| {
            left = left.saturating_add(open.work().left());
            None::<()>
        });
        left
    }

    /// Finds the oldest group within scope that has work, and counts the caller as its helper until
    /// the visit is dropped.
    pub(crate) fn enter<'pool>(
        &self,
        sleepers: &'pool Sleepers,
        scope: HelpScope,
    ) -> Option<Helper<'pool>> {
        self.0.find_map(|open| {
            let work = open.work();
            if !work.has_work() || !scope.includes(work.group()) {
                return None;
            }
            // Relaxed: the list's lock brings it to the owner, who closes the group under it.
            work.group().state.fetch_add(ONE, Ordering::Relaxed);
            Some(Helper { work: open.0, sleepers })
        })
    }
}

/// A thread's stay in a group.
///
/// Invariant J-2: a group is alive while it counts a thread; that thread may use it, and uses it
/// last in [`TaskGroup::finish_one`].
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
        // SAFETY: `enter` counted one for this visit, which ends here; nothing in what is left of
        // `self` uses the group (J-2).
        unsafe { TaskGroup::finish_one(group, self.sleepers) };
    }
}
