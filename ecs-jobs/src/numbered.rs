//! Jobs that are only numbers, for work whose parts are known beforehand.
//!
//! A schedule runs its systems as these. Unlike the jobs of a scope they own nothing: none of them
//! is an allocation, and the queue is kept from run to run.

use crate::group::{Group, Work};
use crate::locked_queue::LockedQueue;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::wait::share;

/// Where numbers wait for a thread.
pub(crate) type NumberQueue = LockedQueue<usize>;

/// The threads that work on one run, as its jobs see them.
#[derive(Debug)]
pub(crate) struct Crew<'run> {
    shared: &'run Shared,
    queue: &'run NumberQueue,
    group: Group,
}

impl Crew<'_> {
    /// Adds a job, and wakes nobody for it: a thread that is awake takes it, at the latest the one
    /// that added it, when it has ended its own job.
    pub(crate) fn add(&self, number: usize) {
        self.group.add_one();
        self.queue.push(number);
    }

    /// Wakes up to this many threads, after jobs were added that are worth it.
    pub(crate) fn call(&self, wanted: usize) {
        self.shared.announce_work(&self.group, wanted);
    }
}

struct NumberedRun<'run, F> {
    crew: Crew<'run>,
    body: F,
}

impl<F: Fn(usize, usize, &Crew<'_>) + Sync> Work for NumberedRun<'_, F> {
    fn group(&self) -> &Group {
        &self.crew.group
    }

    fn has_work(&self) -> bool {
        !self.crew.queue.is_empty()
    }

    fn help(&self, slot: usize) {
        let group = &self.crew.group;
        while let Some(number) = self.crew.queue.pop() {
            // After a panic the jobs that have not started are dropped.
            if !group.is_cancelled() {
                group.run(|| (self.body)(slot, number, &self.crew));
            }
            group.finish_job();
        }
    }
}

/// Runs `body(slot, number, crew)` for every number that `start` and then the jobs themselves add.
///
/// Panics with the first panic of a job, when all have ended.
pub(crate) fn run_numbered(
    shared: &Shared,
    queue: &NumberQueue,
    start: impl FnOnce(&Crew<'_>),
    body: impl Fn(usize, usize, &Crew<'_>) + Sync,
) {
    Seat::with(shared, |seat| {
        let crew = Crew { shared, queue, group: Group::new(0, seat.parker(shared)) };
        let run = NumberedRun { crew, body };
        share(shared, seat, &run, || _ = run.crew.group.run(|| start(&run.crew)));
        run.crew.group.panics.resume_if_any();
    });
}
