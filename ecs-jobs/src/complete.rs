//! Waiting for a job with a handle (docs/job-sleep.md, section 7).

use crate::group::Reach;
use crate::run_job::{Main, Next, run_chain, run_job, take_any};
use crate::seat::Seat;
use crate::shared::Shared;
use crate::slots::{Claimed, JobId};
use crate::sync::{needed_fence, spin_until};
use crate::walk::{Found, Walk};

/// What a waiting thread helps with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Help {
    /// The job, and those that it waits for.
    Own,
    /// Any job with a handle.
    Any,
}

/// Returns when the job `id` is done.
pub(crate) fn wait_for_job(shared: &Shared, id: JobId, help: Help, main: Main) {
    if shared.slots.is_done(id) {
        return;
    }
    Seat::with(shared, |seat| {
        let mut wait =
            Wait { shared, seat, id, help, main, walk: Walk::new(shared, id, main == Main::Run) };
        while !shared.slots.is_done(id) {
            // What this thread helps with may take long.
            seat.feed_thieves(shared);
            // The rest is often a matter of a microsecond.
            if !wait.help_once() && !spin_until(|| shared.slots.is_done(id)) {
                wait.sleep();
            }
        }
    });
}

struct Wait<'pool> {
    shared: &'pool Shared,
    seat: &'pool Seat,
    id: JobId,
    help: Help,
    main: Main,
    walk: Walk<'pool>,
}

impl<'pool> Wait<'pool> {
    /// Helps as long as there is anything to do, and returns whether there was.
    fn help_once(&mut self) -> bool {
        if self.main.run_all(self.shared, self.seat) {
            return true;
        }
        self.walk.restart();
        let mut has_helped = false;
        while let Some(found) = self.walk.next() {
            has_helped |= match found {
                Found::Job(job) => {
                    self.run_up(job);
                    true
                }
                Found::Running(id) => self.visit(id),
            };
            // Others may wait inside a job for one of these.
            has_helped |= self.main.run_all(self.shared, self.seat);
        }
        has_helped || self.help == Help::Any && self.run_any()
    }

    /// Runs a job, and those on the way that are ready for it.
    fn run_up(&mut self, job: Claimed<'pool>) {
        let mut next = Some(job);
        while let Some(job) = next {
            let waiting = self.walk.waiting();
            next = run_job(self.shared, self.seat, job, Next::Only(waiting));
            if next.is_some() {
                self.walk.leave();
            }
        }
    }

    /// Helps with a loop of the job `id`, which somebody is running.
    fn visit(&self, id: JobId) -> bool {
        // A job does not help with its own loops from inside: who opened them
        // does so.
        let Some(visit) = self.shared.enter(Reach::In(id)) else { return false };
        // All outside threads have the same slot, so one at a time is let in.
        let is_guest = self.seat.is_guest(self.shared);
        let slot = self.shared.slots.get(id);
        if is_guest && !slot.let_guest_in(id) {
            return false;
        }
        self.seat.help(&visit);
        if is_guest {
            // Still counted as a visitor, so the job has not ended.
            slot.let_guest_out();
        }
        true
    }

    fn run_any(&self) -> bool {
        let job = take_any(self.shared, self.seat);
        job.map(|job| run_chain(self.shared, self.seat, job)).is_some()
    }

    /// Waiting -> Announced -> Asleep -> Waiting.
    fn sleep(&mut self) {
        let (shared, seat) = (self.shared, self.seat);
        seat.share_all(shared);
        let waiters = &shared.queues.waiters;
        waiters.add(Some(self.id), seat.parker(shared));
        // In one word with the end of the job, so one of the two sees the other.
        if shared.slots.get(self.id).note_awaited(self.id) {
            // Pairs with the fence in `Shared::announce_ready`.
            needed_fence("announce_waiter");
            waiters.wake_watching(&shared.parkers);
            if !self.help_once() {
                seat.park(shared);
            }
        }
        waiters.remove(Some(self.id), seat.parker(shared));
    }
}

/// Returns when no job is unfinished. The calling thread is in no job.
pub(crate) fn wait_for_all(shared: &Shared, main: Main) {
    loop {
        let mut were_all_done = true;
        for id in shared.slots.unfinished() {
            were_all_done = false;
            wait_for_job(shared, id, Help::Any, main);
        }
        // Jobs that came meanwhile may have got the slot of one looked at before.
        if were_all_done {
            return;
        }
    }
}
