//! Groups: what a wait waits for, and the only thing it helps with.
//!
//! A scope, a flat loop and a join each are a [`Group`] in the stack frame of
//! the call that owns it. Scopes and loops are also [`Work`]: they are listed in
//! the pool's [`OpenGroups`], where others find them. Each other thread that
//! visits a group is counted in it, as is each of its unfinished jobs, and the
//! owner leaves its frame only when that count is zero.
//!
//! Groups form a tree through their parents: a group that is opened by a job is
//! a child of the job's group. A waiting owner visits only groups below its
//! own. That is why a lock may be held across a wait (rayon #592): the owner
//! never picks up a stranger's job that wants the same lock. It also bounds the
//! stack, which grows with the nesting of groups only.
#![expect(unsafe_code, reason = "threads visit groups that live in other threads' stack frames")]

use crate::event_count::Parkers;
use crate::panic_slot::{PanicSlot, catch};
use crate::slots::JobId;
use crate::sync::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Mutex, Ordering, needed, needed_fence,
};
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};

/// Set in [`Group::state`] while the owner is about to sleep, or sleeps.
const OWNER_ASLEEP: usize = 1;
/// One unfinished job or visitor in [`Group::state`].
const ONE: usize = 2;

/// The part that scopes, loops and joins have in common.
#[derive(Debug)]
pub(crate) struct Group {
    /// `count * ONE + OWNER_ASLEEP`, in one word, so that the last to finish
    /// learns from its decrement whether it has to wake the owner, and need not
    /// look at the group again.
    state: AtomicUsize,
    /// The number of the owner's parker.
    owner: usize,
    /// Null, or the group whose job opened this one.
    ///
    /// Invariant J-3: a parent outlives its children. The job of the parent that
    /// opened a child waits for it, and runs either on the parent's owner, whose
    /// frame the parent lies in, or on a thread that the parent counts.
    parent: AtomicPtr<Group>,
    /// The bits of the job with a handle in which this group was opened, or in
    /// which its parent was, and so on; or zero.
    job: AtomicU64,
    cancelled: AtomicBool,
    pub(crate) panics: PanicSlot,
}

impl Group {
    /// A group of `count` unfinished jobs, whose owner sleeps on `owner`.
    #[inline]
    pub(crate) fn new(count: usize, owner: usize) -> Self {
        // SAFETY: there is no parent, so J-3 asks for nothing.
        unsafe { Self::below(None, None, count, owner) }
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
        owner: usize,
    ) -> Self {
        Self {
            state: AtomicUsize::new(count * ONE),
            owner,
            parent: AtomicPtr::new(parent.map_or(ptr::null_mut(), NonNull::as_ptr)),
            job: AtomicU64::new(job.map_or(0, JobId::to_bits)),
            cancelled: AtomicBool::new(false),
            panics: PanicSlot::new(),
        }
    }

    /// Makes this group a child of `parent`, before other threads know of it.
    ///
    /// # Safety
    ///
    /// `parent` is the group whose job the calling thread is running, as owner
    /// or as one that is counted, and that job does not end before this group is
    /// done, off the list, and no longer used (J-3).
    #[inline]
    pub(crate) unsafe fn set_parent(&self, parent: Option<NonNull<Self>>) {
        let parent = parent.map_or(ptr::null_mut(), NonNull::as_ptr);
        // Relaxed: the list's lock or the deque publishes the group.
        self.parent.store(parent, Ordering::Relaxed);
    }

    /// Notes in which job this group is opened, before other threads know of it.
    #[inline]
    pub(crate) fn set_job(&self, job: Option<JobId>) {
        // Relaxed: as for the parent.
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

    /// Counts one more unfinished job or visitor, before others can know of it.
    ///
    /// The owner cannot leave its frame while this happens: it is the caller, or
    /// the caller is counted already, or holds the lock of the list that the
    /// group is still on.
    pub(crate) fn add_one(&self) {
        // Relaxed: the job itself is published by the queue it goes into.
        self.state.fetch_add(ONE, Ordering::Relaxed);
    }

    /// Counts one less, from inside [`Work::help`], and wakes nobody.
    ///
    /// The caller is the owner, who is awake, or a visitor: the visit counts
    /// beside the job, so this was not the last, and the visit's end will look
    /// whether the owner sleeps.
    pub(crate) fn finish_job(&self) {
        // Release: the owner's acquire load in `is_done` sees what the job did.
        let before = self.state.fetch_sub(ONE, Ordering::Release);
        debug_assert!(before >= ONE, "a group counts what has not finished");
    }

    /// Counts one less, and wakes the owner if that was the last.
    ///
    /// It takes a pointer because the owner may free the group as soon as the
    /// count is zero (J-2), while this function is still running. A reference
    /// would promise the opposite (rayon #739, rust-lang/rust#146799).
    ///
    /// # Safety
    ///
    /// - `group` is alive and counts one that is the caller's (J-2).
    /// - The caller does not use `group` afterwards.
    pub(crate) unsafe fn finish_one(group: NonNull<Self>, parkers: &Parkers) {
        // SAFETY: the caller's one keeps the group alive until the decrement
        // (J-2).
        let owner = unsafe { (*group.as_ptr()).owner };
        // SAFETY: the caller's one keeps the group alive until the decrement has
        // happened, which is the last access (J-2).
        // Release: the owner's acquire load in `is_done` sees what we did, and
        // what those did who finished before: all changes of the word are
        // read-modify-writes, which hand a release on.
        let before = unsafe {
            (*group.as_ptr()).state.fetch_sub(ONE, needed("finish_one", Ordering::Release))
        };
        debug_assert!(before >= ONE, "a group counts what has not finished");
        // From here on the group may be gone; parkers live as long as the pool.
        if before == ONE | OWNER_ASLEEP {
            parkers.unpark(owner);
        }
    }

    /// Whether all jobs have finished and all visitors have left.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.state.load(needed("group_is_done", Ordering::Acquire)) < ONE
    }

    /// The owner: Waiting -> Announced (docs/job-sleep.md, section 4).
    pub(crate) fn announce_wait(&self) {
        self.state.fetch_or(OWNER_ASLEEP, Ordering::AcqRel);
        // Pairs with the fence in `Shared::announce_work`.
        needed_fence("announce_wait");
    }

    /// The owner: Announced or Asleep -> Waiting.
    pub(crate) fn end_wait(&self) {
        self.state.fetch_and(!OWNER_ASLEEP, Ordering::AcqRel);
    }

    /// Wakes up to `wanted` sleeping owners of the groups around this one, who
    /// may all help here, the nearest first. A sequentially consistent fence
    /// comes before, after the work was made visible.
    pub(crate) fn wake_owners_around(&self, wanted: usize, parkers: &Parkers) {
        let mut woken = 0;
        let mut next = self.parent();
        while let Some(group) = next.filter(|_| woken < wanted) {
            woken += usize::from(group.wake_owner(parkers));
            next = group.parent();
        }
    }

    /// Wakes the owner if it sleeps, and returns whether it did. A fence comes
    /// before, as above.
    pub(crate) fn wake_owner(&self, parkers: &Parkers) -> bool {
        if self.state.load(Ordering::Relaxed) & OWNER_ASLEEP == 0 {
            return false;
        }
        // Of several wakers one clears the flag, and that one rings.
        let asleep = self.state.fetch_and(!OWNER_ASLEEP, Ordering::AcqRel) & OWNER_ASLEEP != 0;
        if asleep {
            parkers.unpark(self.owner);
        }
        asleep
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

    fn is_below(&self, other: NonNull<Self>) -> bool {
        let mut next = self.parent();
        while let Some(group) = next {
            if NonNull::from(group) == other {
                return true;
            }
            next = group.parent();
        }
        false
    }
}

/// A group whose jobs any thread can come and take.
pub(crate) trait Work: Sync {
    fn group(&self) -> &Group;

    /// Whether a visitor would find something to do now.
    fn has_work(&self) -> bool;

    /// Runs jobs of this group until there are none left to take, on a thread
    /// with this slot. Panics of jobs stay inside.
    fn help(&self, slot: usize);
}

/// Which groups somebody looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach {
    /// Any: an idle worker.
    All,
    /// Those below a group: its waiting owner.
    Below(NonNull<Group>),
    /// Those that are part of a job: who waits for it.
    In(JobId),
}

impl Reach {
    fn includes(self, group: &Group) -> bool {
        match self {
            Self::All => true,
            Self::Below(ancestor) => group.is_below(ancestor),
            Self::In(job) => group.job() == Some(job),
        }
    }
}

/// The groups that have room for visitors.
#[derive(Debug)]
pub(crate) struct OpenGroups {
    /// `list.len()`, readable without the lock.
    count: CachePadded<AtomicUsize>,
    list: Mutex<Vec<Listed>>,
}

/// Invariant J-1: a listed group is alive; its owner takes it off the list,
/// under the list's lock, before it leaves the frame.
struct Listed(NonNull<dyn Work>);

impl std::fmt::Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Listed({:p})", self.0)
    }
}

// SAFETY: `Work` is `Sync`, and J-1 keeps it alive for whoever finds it here.
unsafe impl Send for Listed {}

impl Listed {
    fn work(&self) -> &dyn Work {
        // SAFETY: the group is listed and the borrow ends under the lock (J-1).
        unsafe { self.0.as_ref() }
    }

    fn offers(&self, reach: Reach) -> bool {
        let work = self.work();
        reach.includes(work.group()) && work.has_work()
    }
}

impl OpenGroups {
    pub(crate) fn new() -> Self {
        Self {
            count: CachePadded::new(AtomicUsize::new(0)),
            list: Mutex::new(Vec::with_capacity(16)),
        }
    }

    /// Lists `work`. The caller tells the sleepers.
    ///
    /// # Safety
    ///
    /// The caller calls [`close`](Self::close), and then waits until the group
    /// is done, before `work` goes (J-1, J-2).
    pub(crate) unsafe fn open(&self, work: &dyn Work) {
        let work: NonNull<dyn Work + '_> = NonNull::from(work);
        // SAFETY: only the lifetime changes. The list's use of the pointer ends
        // at `close` (J-1), a visitor's when it is no longer counted (J-2), and
        // the caller outwaits both.
        let work: NonNull<dyn Work + 'static> = unsafe { std::mem::transmute(work) };
        let mut list = self.list.lock();
        list.push(Listed(work));
        self.count.store(list.len(), Ordering::Relaxed);
    }

    /// Takes `work` off the list: nobody visits it any more who has not yet.
    pub(crate) fn close(&self, work: &dyn Work) {
        let address = NonNull::from(work).cast::<()>();
        let mut list = self.list.lock();
        let place = list.iter().position(|listed| listed.0.cast() == address);
        // Order is kept: the oldest group is visited first.
        list.remove(place.expect("a group is closed once, by who opened it"));
        self.count.store(list.len(), Ordering::Relaxed);
    }

    /// Whether [`enter`](Self::enter) would find a group now.
    pub(crate) fn has_work(&self, reach: Reach) -> bool {
        !self.is_empty() && self.list.lock().iter().any(|listed| listed.offers(reach))
    }

    /// Finds the oldest group that is within reach and has work, and counts the
    /// caller as its visitor until the visit is dropped.
    pub(crate) fn enter<'pool>(
        &self,
        reach: Reach,
        parkers: &'pool Parkers,
    ) -> Option<Visit<'pool>> {
        if self.is_empty() {
            return None;
        }
        let list = self.list.lock();
        let listed = list.iter().find(|listed| listed.offers(reach))?;
        // Under the lock the owner has not closed the group, so it does not yet
        // wait for the last visitor.
        listed.work().group().add_one();
        Some(Visit { work: listed.0, parkers })
    }

    fn is_empty(&self) -> bool {
        // Relaxed: a thread that goes to sleep has a fence before it looks.
        self.count.load(Ordering::Relaxed) == 0
    }
}

/// A thread's stay in a group.
///
/// Invariant J-2: a group is alive while it counts somebody; whoever is counted
/// may use it, and uses it last in [`Group::finish_one`].
pub(crate) struct Visit<'pool> {
    work: NonNull<dyn Work>,
    parkers: &'pool Parkers,
}

impl Visit<'_> {
    pub(crate) fn work(&self) -> &dyn Work {
        // SAFETY: the visitor is counted from `enter` until the drop (J-2).
        unsafe { self.work.as_ref() }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let group = NonNull::from(self.work().group());
        // SAFETY: `enter` counted one for this visit, which ends here; nothing
        // in what is left of `self` uses the group (J-2).
        unsafe { Group::finish_one(group, self.parkers) };
    }
}
