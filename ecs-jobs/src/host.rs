//! Threads of the host that work for the pool for a while.

use crate::run_job::{Main, run_chain, take_any};
use crate::seat::Seat;
use crate::shared::Shared;
use crate::slots::JobId;
use crate::sync::{needed_fence, spin_until};
use crate::worker::work_once;

/// Has the calling thread work until `condition` holds: as a worker if the pool
/// has a seat for it, else as an outside thread, which runs jobs with handles
/// only. If the condition is that a job is done, `job` is that one.
pub(crate) fn run_until(shared: &Shared, job: Option<JobId>, mut condition: impl FnMut() -> bool) {
    Seat::with_host(shared, |seat| {
        let stay = Stay { shared, seat, job, main: Main::of_this_thread(shared) };
        let mut is_owing = false;
        while !condition() {
            if stay.work_once() {
                is_owing = false;
            } else {
                // The last wake-up brought nothing, so nothing is owed for it.
                is_owing = stay.pause(&mut condition);
            }
        }
        if is_owing {
            // A wake-up was spent on this thread, which leaves: it is passed on.
            shared.announce_jobs(1);
        }
    });
}

struct Stay<'pool> {
    shared: &'pool Shared,
    seat: &'pool Seat,
    job: Option<JobId>,
    main: Main,
}

impl Stay<'_> {
    fn is_worker(&self) -> bool {
        !self.seat.is_guest(self.shared)
    }

    fn work_once(&self) -> bool {
        if self.main.run_one(self.shared, self.seat) {
            return true;
        }
        if self.is_worker() {
            return work_once(self.shared, self.seat);
        }
        let job = take_any(self.shared, self.seat);
        job.map(|job| run_chain(self.shared, self.seat, job)).is_some()
    }

    fn has_news(&self) -> bool {
        self.main == Main::Run && self.shared.queues.has_main()
            || self.shared.queues.has_work()
            || self.is_worker() && self.shared.has_news()
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
        let listed = Listed::new(self);
        let is_done = self.job.is_some_and(|job| !self.shared.slots.get(job).note_awaited(job));
        // Pairs with the fence in `EventCount::notify`.
        needed_fence("announce_host");
        if !is_done && !condition() && !self.has_news() {
            self.shared.parkers.park(self.seat.parker(self.shared));
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
        if stay.is_worker() {
            shared.idle.announce(seat.slot);
        }
        Self(stay)
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
        self.0.is_worker() && !shared.idle.cancel(seat.slot)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        if self.unlist() {
            self.0.shared.announce_jobs(1);
        }
    }
}
