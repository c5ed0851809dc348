//! The slots that hold jobs with handles.
//!
//! A slot is reused; its generation, which increases when a job ends, tells its jobs apart. So a job is
//! done as soon as its slot has another generation than its id, and an id needs no owner and no count.
//!
//! Slots come in segments that never move. The first segments stay until the pool is dropped. The others
//! hold bursts of jobs, and are freed after these. An id may lead to a slot that has a later job, or to
//! none; in both cases its job has ended. All that other threads read of a slot is atomic. The closure is
//! accessed by one thread at a time, the one that holds the job's [`Claimed`].
#![expect(unsafe_code, reason = "the closure of a job belongs to the thread that has claimed it")]

mod burst;
mod failures;
mod ledger;
mod links;
mod slot;

#[cfg(all(test, loom))]
pub(crate) use self::ledger::Ledger;
pub(crate) use self::slot::{JobId, JobKind, JobSlot, State};

use self::burst::BurstSlots;
use self::failures::Failures;
#[cfg(not(all(test, loom)))]
use self::ledger::Ledger;
use self::ledger::THREAD_COUNT;
use crate::stored_job::StoredJob;
use crate::sync::{OnceLock, Ordering};
use crate::thread_number::thread_index;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// The length of a kept segment, the number of kept segments, and the length of a burst segment. Small in
/// models, and small enough for Miri to see bursts.
const COUNTS: (u32, u32, u32) = if cfg!(loom) {
    (4, 1, 2)
} else if cfg!(miri) {
    (16, 3, 16)
} else {
    (64, 255, 1 << 14)
};
const SEGMENT_LEN: usize = COUNTS.0 as usize;
/// The number of slots that are kept. Slots with larger indices are for bursts.
const KEPT_COUNT: u32 = COUNTS.0 * COUNTS.1;

/// All slots of a pool.
///
/// Invariant J-8: the cell of a slot's job belongs to one thread at a time, the one that holds the slot's
/// [`Claimed`]. At most one exists: it is created when a free slot is taken, given up when the job is
/// published, and created again for the thread that wins the job by a compare-exchange or decrements its
/// count of dependencies to zero.
#[derive(Debug)]
pub(crate) struct Slots {
    segments: Box<[OnceLock<Box<[JobSlot]>>]>,
    burst: BurstSlots,
    /// Stands for all freed slots. It has no job.
    gone: JobSlot,
    ledger: Ledger,
    pub(crate) failures: Failures,
}

/// A reference to a slot.
#[derive(Clone, Debug)]
pub(crate) enum SlotRef<'slots> {
    Kept(&'slots JobSlot),
    /// A slot of a burst segment, which stays for as long as this does.
    Burst(burst::Shared, usize),
}

impl Deref for SlotRef<'_> {
    type Target = JobSlot;

    #[inline]
    fn deref(&self) -> &JobSlot {
        match self {
            Self::Kept(slot) => slot,
            Self::Burst(segment, place) => &segment[*place],
        }
    }
}

/// Exclusive access to a job that is not published, or that no other thread can claim.
///
/// Only this module creates these (J-8). It is two words, which are passed in registers: a processor that
/// loads a wide value just after narrow stores to it stalls on store forwarding.
#[derive(Debug)]
#[must_use = "a job that is claimed and not ended is never done"]
pub(crate) struct Claimed<'slots> {
    id: JobId,
    /// The slot of the job. It stays taken, and so allocated, until the job ends.
    slot: NonNull<JobSlot>,
    slots: PhantomData<&'slots Slots>,
}

impl Claimed<'_> {
    /// Creates the `Claimed` of the job in this slot, for the thread that has won or created it.
    fn new(id: JobId, slot: &JobSlot) -> Self {
        Self { id, slot: NonNull::from(slot), slots: PhantomData }
    }

    pub(crate) fn id(&self) -> JobId {
        self.id
    }

    pub(crate) fn slot(&self) -> &JobSlot {
        // SAFETY: the slots of the first segments stay for `'slots`. A burst segment stays as long as one
        // of its slots is taken, and this one is while its `Claimed` exists (J-8). A thread that gives
        // the `Claimed` up, by a store or a decrement, does not access the slot afterwards.
        unsafe { self.slot.as_ref() }
    }

    /// Calls `access` with the job, to store, run or drop the closure.
    pub(crate) fn with_job<R>(&mut self, access: impl FnOnce(&mut StoredJob<'static>) -> R) -> R {
        self.slot().job.with_mut(|job| {
            // SAFETY: the cell belongs to the caller, who has the `Claimed`, and borrows it until this
            // call ends (J-8).
            access(unsafe { &mut *job })
        })
    }

    /// Marks the job as running, for threads that look for its loops.
    pub(crate) fn start(&self) {
        self.slot().set_state(self.id, State::Running);
    }

    /// Lets any thread claim the job.
    pub(crate) fn publish(self) -> JobId {
        self.slot().set_state(self.id, State::Ready);
        self.id
    }
}

impl Slots {
    /// The maximum number of unfinished jobs.
    pub(crate) const COUNT_MAX: u32 = KEPT_COUNT + burst::COUNT_MAX;

    pub(crate) fn new() -> Self {
        Self {
            segments: (0..COUNTS.1).map(|_| OnceLock::new()).collect(),
            burst: BurstSlots::new(),
            gone: JobSlot::of_generation(u32::MAX),
            ledger: Ledger::new(THREAD_COUNT),
            failures: Failures::new(),
        }
    }

    /// The slot that `id` leads to, whatever job it holds now.
    #[inline]
    pub(crate) fn get(&self, id: JobId) -> SlotRef<'_> {
        self.at(id.index())
    }

    #[inline]
    fn at(&self, index: u32) -> SlotRef<'_> {
        match index.checked_sub(KEPT_COUNT) {
            None => SlotRef::Kept(self.kept_at(index)),
            Some(index) => self.burst_at(index),
        }
    }

    fn kept_at(&self, index: u32) -> &JobSlot {
        let (segment, place) = (index as usize / SEGMENT_LEN, index as usize % SEGMENT_LEN);
        &self.segments[segment].get().expect("an index leads to a slot that was made")[place]
    }

    #[cold]
    fn burst_at(&self, index: u32) -> SlotRef<'_> {
        match self.burst.get(index) {
            Some(segment) => SlotRef::Burst(segment, (index % burst::LEN) as usize),
            None => SlotRef::Kept(&self.gone),
        }
    }

    /// Takes a slot for a job of this kind that no other thread knows yet.
    ///
    /// # Panics
    ///
    /// Panics if there are [`COUNT_MAX`](Self::COUNT_MAX) unfinished jobs. Nothing has changed then.
    pub(crate) fn take(&self, kind: JobKind) -> Claimed<'_> {
        let own = self.ledger.own(thread_index());
        let (index, slot) = match self.ledger.take(own) {
            Some(index) => {
                let slots = || (0..SEGMENT_LEN).map(|_| JobSlot::new()).collect();
                let segment = self.segments[index as usize / SEGMENT_LEN].get_or_init(slots);
                (index, SlotRef::Kept(&segment[index as usize % SEGMENT_LEN]))
            }
            None => self.take_burst(),
        };
        if JobKind::is_flushed(kind.number()) {
            self.ledger.add_one(own);
        }
        // The slot was free and is on no stack any more, so no other thread has its `Claimed` (J-8, J-9).
        Claimed::new(slot.id(index), &slot)
    }

    #[cold]
    fn take_burst(&self) -> (u32, SlotRef<'_>) {
        let taken = self.burst.take();
        let most = Self::COUNT_MAX;
        let (index, segment) =
            taken.unwrap_or_else(|| panic!("{most} jobs are unfinished, and a pool has no more"));
        (KEPT_COUNT + index, SlotRef::Burst(segment, (index % burst::LEN) as usize))
    }

    /// Claims a ready job, unless another thread already has.
    pub(crate) fn claim(&self, id: JobId) -> Option<Claimed<'_>> {
        let slot = self.get(id);
        slot.claim(id).then(|| Claimed::new(id, &slot))
    }

    /// Whether the job is ready and not yet claimed.
    pub(crate) fn is_ready(&self, id: JobId) -> bool {
        self.get(id).state(id) == Some(State::Ready)
    }

    /// Whether the job has ended. If so, its effects are visible.
    pub(crate) fn is_done(&self, id: JobId) -> bool {
        if id.index() < KEPT_COUNT {
            return self.kept_at(id.index()).is_done(id);
        }
        self.get(id).is_done(id)
    }

    /// Frees the slot of a job that has ended.
    ///
    /// A slot that has used up all its generations is never reused, so that an old id can never refer to
    /// a new job.
    fn give_back(&self, claimed: Claimed<'_>) {
        let id = claimed.id;
        let own = self.ledger.own(thread_index());
        // Relaxed: the caller has the job.
        if JobKind::is_flushed(claimed.slot().kind.load(Ordering::Relaxed)) {
            self.ledger.end_one(own);
        }
        if id.generation() == JobId::GENERATION_MAX {
            return;
        }
        match id.index().checked_sub(KEPT_COUNT) {
            None => self.ledger.give_back(own, id.index()),
            Some(index) => drop(self.burst.give_back(index, id.generation())),
        }
    }

    /// Whether all jobs added before this call have ended, but those of broadcasts. If so, their effects are
    /// visible.
    pub(crate) fn all_ended(&self) -> bool {
        self.ledger.is_even()
    }
}

// SAFETY: only the thread that holds the `Claimed` accesses the cell (J-8), and a job is `Send`.
// Everything else in a slot is atomic.
unsafe impl Sync for JobSlot {}

#[cfg(all(test, not(loom)))]
mod tests;
