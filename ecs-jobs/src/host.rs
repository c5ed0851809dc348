//! Threads of the host that work for the pool until a condition holds.

use crate::complete::WaitDepth;
use crate::context::WorkerContext;
use crate::run_job::{Main, run_chain, take_any};
use crate::shared::Shared;
use crate::sleep::{Tag, Takes};
use crate::slots::JobId;
use crate::wait::{Goal, wait};
use crate::worker::work_once;

/// Has the calling thread work until `condition` holds: as a worker if the pool has a place for it,
/// else as an external thread, which runs jobs with handles only. If the condition is that a job is
/// done, `job` is that one.
pub(crate) fn run_until(shared: &Shared, job: Option<JobId>, mut condition: impl FnMut() -> bool) {
    WorkerContext::with_host(shared, |context| {
        // In the middle of a job or of a call a thread that took on whatever there is could get
        // into that same call again.
        let is_worker = context.is_free_worker(shared);
        let main = Main::of_this_thread(shared);
        work_until(shared, context, (is_worker, main), job, |_has_job| condition());
    });
}

/// Returns when no job is unfinished.
pub(crate) fn wait_for_all(shared: &Shared, main: Main) {
    if !shared.slots.all_ended() {
        WorkerContext::with(shared, |context| {
            // The sums cost more than a job, before each of which this is asked.
            let is_over = |has_job: bool| !has_job && shared.slots.all_ended();
            work_until(shared, context, (false, main), None, is_over);
        });
    }
}

fn work_until(
    shared: &Shared,
    context: &WorkerContext,
    (is_worker, main): (bool, Main),
    job: Option<JobId>,
    condition: impl FnMut(bool) -> bool,
) {
    let _depth = WaitDepth::enter(context).unwrap_or_else(|error| panic!("{error}"));
    let is_reached = false;
    wait(
        shared,
        context,
        &mut HostGoal { shared, context, job, is_worker, main, condition, is_reached },
    );
}

struct HostGoal<'a, C> {
    shared: &'a Shared,
    context: &'a WorkerContext,
    job: Option<JobId>,
    /// Whether this thread takes on what any worker does; else it runs jobs with handles only.
    is_worker: bool,
    main: Main,
    /// Told whether this thread has come upon work that it is about to begin.
    condition: C,
    is_reached: bool,
}

impl<C: FnMut(bool) -> bool> HostGoal<'_, C> {
    fn look(&mut self, has_job: bool) -> bool {
        self.is_reached = self.is_reached || (self.condition)(has_job);
        self.is_reached
    }
}

impl<C: FnMut(bool) -> bool> Goal for HostGoal<'_, C> {
    fn is_reached(&mut self) -> bool {
        self.look(!self.shared.ready.is_empty())
    }

    fn help(&mut self) -> bool {
        let Self { shared, context, .. } = *self;
        if self.main.run_one(shared, context) {
            return true;
        }
        let mut stop = || {
            self.is_reached = self.is_reached || (self.condition)(true);
            self.is_reached
        };
        if self.is_worker {
            return work_once(shared, context, &mut stop);
        }
        let job = take_any(shared);
        job.map(|job| run_chain(shared, context, job, &mut stop)).is_some()
    }

    fn is_worth_a_look(&mut self) -> bool {
        self.main != Main::Leave && !self.shared.main.is_empty()
            || !self.shared.ready.is_empty()
            || self.is_worker && self.shared.has_news()
    }

    fn has_news(&mut self) -> bool {
        // What is in the queue may be an id of no use, and taken out by a thread that tells no other.
        self.is_worth_a_look() || self.look(false)
    }

    fn tag(&self) -> Tag {
        Tag {
            takes: if self.is_worker { Takes::Anything } else { Takes::Jobs },
            group: 0,
            job: self.job.map_or(0, JobId::to_bits),
            watches: true,
            runs_main: self.main != Main::Leave,
        }
    }

    fn note_asleep(&self) {
        if let Some(job) = self.job {
            self.shared.slots.get(job).note_awaited(job);
        }
    }
}
