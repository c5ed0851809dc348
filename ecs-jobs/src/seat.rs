//! Seats: what a thread is to a pool while it is inside.
//!
//! A worker sits in its pool for life. An outside thread sits down for the
//! length of a call, with the guest's bench if that is free. Seats of one thread
//! form a list, because a worker of one pool may be a guest of another.
//!
//! All guests have the same slot. It is theirs alone in their own calls, see
//! docs/job-sleep.md, section 5.
#![expect(
    unsafe_code,
    reason = "a thread-local pointer leads to the seats on the thread's own stack"
)]

use crate::deque::Worker;
use crate::group::{Group, Visit};
use crate::shared::{Bench, Shared};
use crate::slots::JobId;
use crate::sync::thread_local;
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// How many jobs a thread keeps in its own deque, which has room for 64 from the
/// start.
const OWN_JOBS_MAX: usize = if cfg!(loom) { 2 } else { 32 };

thread_local! {
    /// The newest seat of this thread.
    ///
    /// Invariant J-5: it and the seats below it are alive, lie on this thread's
    /// stack, and are unlinked, newest first, before they go.
    static NEWEST: Cell<*const Seat> = const { Cell::new(ptr::null()) };
}

/// One thread's place in one pool.
#[derive(Debug)]
pub(crate) struct Seat {
    /// Which pool; compared, never followed.
    pool: *const Shared,
    /// The number of this thread's parker, once it has one.
    parker: Cell<Option<usize>>,
    /// This thread's index among those that run jobs of one call: a worker's
    /// number, or `worker_count` for a guest.
    pub(crate) slot: usize,
    /// Where this thread's joins can be stolen from; guests that found the
    /// guest's bench taken have none.
    bench: Option<Bench>,
    /// The group whose job this thread is running.
    group: Cell<Option<NonNull<Group>>>,
    /// The job with a handle that this thread is running, or helping with.
    job: Cell<Option<JobId>>,
    /// Whether this thread is running queued jobs for want of workers.
    is_draining: Cell<bool>,
    /// How often this thread has slept, so that a sleep inside a host's condition,
    /// which may have used up the wake-up of the outer one, is noticed.
    park_count: Cell<u32>,
    /// Whether this thread is on the list of idle workers, in a call of the host's.
    is_announced: Cell<bool>,
    /// Whether this is a thread of the pool's own, which never leaves.
    is_resident: bool,
    below: *const Seat,
}

impl Seat {
    /// Sits a worker thread down while `run` runs.
    pub(crate) fn with_worker<R>(
        shared: &Shared,
        slot: usize,
        bench: Bench,
        run: impl FnOnce(&Self) -> R,
    ) -> R {
        let seat = Self::new(shared, Some(slot), slot, Some(bench));
        Self::linked(&Self { is_resident: true, ..seat }, run)
    }

    /// Finds this thread's seat in the pool, or sits down for this call as a
    /// worker, in a pool that has seats for the host's threads and a free one
    /// among them, or else as a guest.
    pub(crate) fn with_host<R>(shared: &Shared, run: impl FnOnce(&Self) -> R) -> R {
        struct Host<'a>(&'a Shared, Seat);

        impl Drop for Host<'_> {
            fn drop(&mut self) {
                let bench = self.1.bench.take().expect("a worker has a bench");
                self.0.give_back_spare_bench(self.1.slot, bench);
            }
        }

        Self::with_any(shared, |seat| match seat {
            Some(seat) => run(seat),
            None => match shared.take_spare_bench() {
                Some((slot, bench)) => {
                    let host = Host(shared, Self::new(shared, Some(slot), slot, Some(bench)));
                    Self::linked(&host.1, run)
                }
                None => Self::with_guest(shared, run),
            },
        })
    }

    /// Finds this thread's seat in the pool, or sits down for this call.
    #[inline]
    pub(crate) fn with<R>(shared: &Shared, run: impl FnOnce(&Self) -> R) -> R {
        Self::with_any(shared, |seat| match seat {
            Some(seat) => run(seat),
            None => Self::with_guest(shared, run),
        })
    }

    /// Finds this thread's seat in the pool, if it has one.
    #[inline]
    pub(crate) fn with_any<R>(shared: &Shared, run: impl FnOnce(Option<&Self>) -> R) -> R {
        let mut next = NEWEST.with(Cell::get);
        // SAFETY: what `NEWEST` leads to is alive, and stays so during this
        // call, because newer seats are unlinked before older ones (J-5).
        while let Some(seat) = unsafe { next.as_ref() } {
            if ptr::eq(seat.pool, shared) {
                return run(Some(seat));
            }
            next = seat.below;
        }
        run(None)
    }

    /// Sits this thread down for this call; it has no seat in the pool yet.
    pub(crate) fn with_guest<R>(shared: &Shared, run: impl FnOnce(&Self) -> R) -> R {
        struct Guest<'a>(&'a Shared, Seat);

        impl Drop for Guest<'_> {
            fn drop(&mut self) {
                match self.1.bench.take() {
                    Some(bench) => self.0.give_back_guest_bench(bench),
                    None => _ = self.1.parker.get().map(|own| self.0.parkers.give_back(own)),
                }
            }
        }

        let slot = shared.worker_count;
        let bench = shared.take_guest_bench();
        // The guest's bench comes with a parker of its own, see `Parkers`. Others
        // borrow one when they need it.
        let parker = bench.is_some().then_some(slot);
        let guest = Guest(shared, Self::new(shared, parker, slot, bench));
        Self::linked(&guest.1, run)
    }

    fn new(shared: &Shared, parker: Option<usize>, slot: usize, bench: Option<Bench>) -> Self {
        let below = NEWEST.with(Cell::get);
        Self {
            pool: ptr::from_ref(shared),
            parker: Cell::new(parker),
            slot,
            bench,
            group: Cell::new(None),
            job: Cell::new(None),
            is_draining: Cell::new(false),
            park_count: Cell::new(0),
            is_announced: Cell::new(false),
            is_resident: false,
            below,
        }
    }

    /// Links `seat` while `run` runs, unwinding included (J-5).
    fn linked<R>(seat: &Self, run: impl FnOnce(&Self) -> R) -> R {
        struct Unlink(*const Seat);

        impl Drop for Unlink {
            fn drop(&mut self) {
                NEWEST.with(|newest| newest.set(self.0));
            }
        }

        NEWEST.with(|newest| newest.set(ptr::from_ref(seat)));
        let _unlink = Unlink(seat.below);
        run(seat)
    }

    /// The number of the parker that this thread sleeps on in this pool.
    #[inline]
    pub(crate) fn parker(&self, shared: &Shared) -> usize {
        self.parker.get().unwrap_or_else(|| self.borrow_parker(shared))
    }

    /// The same for a seat with a bench, which comes with a parker of the same number.
    #[inline]
    pub(crate) fn bench_parker(&self) -> usize {
        debug_assert_eq!(self.parker.get(), Some(self.slot), "a bench comes with a parker");
        self.slot
    }

    #[cold]
    #[inline(never)]
    fn borrow_parker(&self, shared: &Shared) -> usize {
        let borrowed = shared.parkers.borrow_number();
        self.parker.set(Some(borrowed));
        borrowed
    }

    /// Sleeps until somebody unparks this thread.
    pub(crate) fn park(&self, shared: &Shared) {
        self.park_count.set(self.park_count.get().wrapping_add(1));
        shared.parkers.park(self.parker(shared));
    }

    /// How often this thread has slept, modulo a large number.
    pub(crate) fn park_count(&self) -> u32 {
        self.park_count.get()
    }

    /// Whether this is a thread of the pool's own.
    pub(crate) fn is_resident(&self) -> bool {
        self.is_resident
    }

    /// Notes whether this thread is on the list of idle workers.
    pub(crate) fn set_announced(&self, is_announced: bool) {
        self.is_announced.set(is_announced);
    }

    /// Whether this thread is a worker that is in the middle of nothing, so that it
    /// may take on whatever there is.
    pub(crate) fn is_free_worker(&self, shared: &Shared) -> bool {
        let has_halves = || {
            let bench = self.bench.as_ref();
            bench.is_some_and(|bench| !bench.private.is_empty() || !bench.deque.is_empty())
        };
        !self.is_guest(shared)
            && self.group.get().is_none()
            && self.job.get().is_none()
            && !self.is_announced.get()
            && !has_halves()
    }

    /// The group whose job this thread is running.
    #[inline]
    pub(crate) fn group(&self) -> Option<NonNull<Group>> {
        self.group.get()
    }

    /// Runs a job of `group`, so that groups which it opens are children of it.
    /// The job keeps its panics inside.
    pub(crate) fn inside<R>(&self, group: &Group, job: impl FnOnce() -> R) -> R {
        let outer = self.group.replace(Some(NonNull::from(group)));
        let outer_job = self.job.replace(group.job());
        let result = job();
        self.group.set(outer);
        self.job.set(outer_job);
        result
    }

    /// Runs the job `id`, so that groups which it opens are part of it and below
    /// no other. The job keeps its panics inside.
    pub(crate) fn inside_job<R>(&self, id: JobId, job: impl FnOnce() -> R) -> R {
        let outer = self.group.take();
        let outer_job = self.job.replace(Some(id));
        let result = job();
        self.group.set(outer);
        self.job.set(outer_job);
        result
    }

    /// The job with a handle that this thread is running, or helping with.
    #[inline]
    pub(crate) fn job(&self) -> Option<JobId> {
        self.job.get()
    }

    /// Whether all guests have this thread's slot.
    pub(crate) fn is_guest(&self, shared: &Shared) -> bool {
        self.slot == shared.worker_count
    }

    /// Notes whether this thread is running queued jobs for want of workers, and
    /// returns whether it was.
    pub(crate) fn set_draining(&self, is_draining: bool) -> bool {
        self.is_draining.replace(is_draining)
    }

    /// Helps the visited group, then leaves it.
    pub(crate) fn help(&self, visit: &Visit<'_>) {
        let work = visit.work();
        self.inside(work.group(), || work.help(self.slot));
    }

    /// Where this thread's joins can be stolen from, if anywhere.
    #[inline]
    pub(crate) fn bench(&self) -> Option<&Bench> {
        self.bench.as_ref()
    }

    /// The deque of jobs of this thread, if it has one: a guest has none, because
    /// it leaves.
    pub(crate) fn own_jobs(&self, shared: &Shared) -> Option<&Worker<JobId>> {
        self.bench.as_ref().filter(|_| !self.is_guest(shared)).map(|bench| &bench.jobs)
    }

    /// Queues a job that is ready, where thieves find it as well. The caller tells
    /// the sleepers.
    pub(crate) fn queue(&self, shared: &Shared, job: JobId) {
        // A deque that grows allocates, and again when it shrinks.
        match self.own_jobs(shared).filter(|own| own.len() < OWN_JOBS_MAX) {
            Some(own) => own.push(job),
            None => shared.inject(job),
        }
    }

    /// Takes the newest of the jobs that this thread has made ready.
    pub(crate) fn take_own(&self) -> Option<JobId> {
        self.bench.as_ref()?.jobs.pop()
    }

    /// Opens some halves to thieves if they have none to take.
    pub(crate) fn feed_thieves(&self, shared: &Shared) {
        if let Some(bench) = &self.bench {
            bench.feed_thieves(shared);
        }
    }

    /// Opens all halves to thieves, for the time that this thread sleeps.
    pub(crate) fn share_all(&self, shared: &Shared) {
        if let Some(bench) = &self.bench {
            bench.share_oldest(shared, bench.private.len());
        }
    }
}
