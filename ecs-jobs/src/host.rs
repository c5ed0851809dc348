//! Threads of the host that work for the pool for a while.

use crate::run_job::{Main, run_chain, take_any};
use crate::seat::Seat;
use crate::shared::Shared;
use crate::slots::JobId;
use crate::sync::{needed_fence, spin_until};
use crate::worker::work_once;
use std::cell::Cell;

/// Has the calling thread work until `condition` holds: as a worker if the pool
/// has a seat for it, else as an outside thread, which runs jobs with handles
/// only. If the condition is that a job is done, `job` is that one.
pub(crate) fn run_until(shared: &Shared, job: Option<JobId>, mut condition: impl FnMut() -> bool) {
    Seat::with_host(shared, |seat| {
        // Decided once: in the middle of a job or of a call a thread that took on
        // whatever there is could get into that same call again.
        let is_worker = seat.is_free_worker(shared);
        let stay = Stay { shared, seat, job, is_worker, main: Main::of_this_thread(shared) };
        let owing = Owing { shared, is_owing: Cell::new(false) };
        while !condition() {
            if stay.work_once() {
                owing.is_owing.set(false);
            } else {
                // The last wake-up brought nothing, so nothing is owed for it.
                owing.is_owing.set(false);
                owing.is_owing.set(stay.pause(&mut condition));
            }
        }
    });
}

/// Passes a wake-up on that was spent on a thread which leaves, be it by a panic.
struct Owing<'pool> {
    shared: &'pool Shared,
    is_owing: Cell<bool>,
}

impl Drop for Owing<'_> {
    fn drop(&mut self) {
        if self.is_owing.get() {
            self.shared.announce_jobs(1);
        }
    }
}

struct Stay<'pool> {
    shared: &'pool Shared,
    seat: &'pool Seat,
    job: Option<JobId>,
    /// Whether this thread takes on what any worker does; else it runs jobs with
    /// handles only.
    is_worker: bool,
    main: Main,
}

impl Stay<'_> {
    fn work_once(&self) -> bool {
        if self.main.run_one(self.shared, self.seat) {
            return true;
        }
        if self.is_worker {
            return work_once(self.shared, self.seat);
        }
        let job = take_any(self.shared, self.seat);
        job.map(|job| run_chain(self.shared, self.seat, job)).is_some()
    }

    fn has_news(&self) -> bool {
        self.main == Main::Run && self.shared.queues.has_main()
            || self.shared.queues.has_work()
            || self.is_worker && self.shared.has_news()
    }

    /// Searching -> Announced -> Asleep -> Searching, on both lists: the workers'
    /// for what any worker can do, and the waiters' for the main thread's jobs and
    /// for the condition (docs/job-sleep.md, sections 2 and 7). Returns whether a
    /// wake-up was spent on this thread as a worker.
    fn pause(&self, condition: &mut impl FnMut() -> bool) -> bool {
        if spin_until(|| self.has_news()) {
            return false;
        }
        self.seat.share_all(self.shared);
        // The condition is the host's, and may panic: the drop takes this thread
        // off the lists.
        let park_count = self.seat.park_count();
        let listed = Listed::new(self);
        let is_done = self.job.is_some_and(|job| !self.shared.slots.get(job).note_awaited(job));
        // Pairs with the fence in `EventCount::notify`.
        needed_fence("announce_host");
        // A condition that sleeps itself may use up a wake-up that was for this sleep.
        let is_fresh = |seat: &Seat| seat.park_count() == park_count;
        if !is_done && !condition() && !self.has_news() && is_fresh(self.seat) {
            self.seat.park(self.shared);
        }
        listed.leave()
    }
}

/// A thread's stay on the lists of those that sleep.
struct Listed<'stay>(&'stay Stay<'stay>);

impl<'stay> Listed<'stay> {
    fn new(stay: &'stay Stay<'stay>) -> Self {
        let Stay { shared, seat, job, .. } = stay;
        shared.queues.waiters.add(*job, seat.parker(shared));
        let listed = Self(stay);
        if stay.is_worker {
            seat.set_announced(true);
            shared.idle.announce(seat.slot);
        }
        listed
    }

    /// Returns whether a wake-up was spent on this thread as a worker.
    fn leave(self) -> bool {
        let is_spent = self.unlist();
        std::mem::forget(self);
        is_spent
    }

    fn unlist(&self) -> bool {
        let Stay { shared, seat, job, .. } = self.0;
        shared.queues.waiters.remove(*job, seat.parker(shared));
        if !self.0.is_worker {
            return false;
        }
        seat.set_announced(false);
        !shared.idle.cancel(seat.slot)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        if self.unlist() {
            self.0.shared.announce_jobs(1);
        }
    }
}
