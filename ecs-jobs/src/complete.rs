//! Waiting for a job with a handle (docs/job-sleep.md, section 7).

use crate::context::WorkerContext;
use crate::handle::JobError;
use crate::run_job::run_job;
use crate::shared::Shared;
use crate::sleep::{Pinned, Tag};
use crate::slots::{Claimed, JobId};
use crate::sync::Deadline;
use crate::task_group::HelpScope;
use crate::wait::{Goal, help_once, wait};
use crate::walk::{Found, Walk};

/// How deep a thread may be in waits for jobs, each inside of a job that it runs in the one around
/// it: so deep that no stack overflows.
const DEPTH_MAX: usize = 128;

/// Runs `wait` inside of other waits of the same thread, unless there are too many. It keeps panics inside.
pub(crate) fn one_deeper(context: &WorkerContext, wait: impl FnOnce()) -> Result<(), JobError> {
    let outer = context.wait_depth.get();
    if outer == DEPTH_MAX {
        return Err(JobError::TooDeep);
    }
    context.wait_depth.set(outer + 1);
    wait();
    context.wait_depth.set(outer);
    Ok(())
}

/// Returns when the job `id` is done, or an error if this thread is too deep in waits already, or the
/// job is not done before the deadline. A job that this thread has begun to help with then is brought
/// to its end.
pub(crate) fn wait_for_job(
    shared: &Shared,
    id: JobId,
    pinned: Pinned,
    deadline: Option<&Deadline>,
) -> Result<(), JobError> {
    if shared.slots.is_done(id) {
        return Ok(());
    }
    WorkerContext::with(shared, |context| {
        let wait = || {
            let walk = Walk::new(shared, id, pinned);
            let mut goal = JobGoal { shared, context, id, pinned, walk, deadline };
            one_deeper(context, || wait(shared, context, &mut goal))
        };
        let slots = (shared.number, &shared.slots);
        shared.wait_graph.while_waiting(slots, context.job.get(), id, wait)?;
        if shared.slots.is_done(id) { Ok(()) } else { Err(JobError::TimedOut) }
    })
}

struct JobGoal<'pool> {
    shared: &'pool Shared,
    context: &'pool WorkerContext,
    id: JobId,
    pinned: Pinned,
    walk: Walk<'pool>,
    deadline: Option<&'pool Deadline>,
}

impl<'pool> JobGoal<'pool> {
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline.left().is_none())
    }

    /// Runs a job, and those on the way that are ready for it.
    fn run_up(&mut self, job: Claimed<'pool>) {
        let mut next = Some(job);
        while let Some(job) = next {
            // What is left is for others.
            let waiting = self.walk.waiting().filter(|_| !self.is_late());
            next = run_job(self.shared, self.context, job, |id| waiting == Some(id));
            if next.is_some() {
                self.walk.leave();
            }
        }
    }

    /// Helps with loops and joins inside of the job `id`, which another thread is running.
    ///
    /// A job does not help with its own from inside: the thread that opened them does so.
    fn help_inside(&self, id: JobId) -> bool {
        // All external threads have the same slot, so one at a time is let in.
        let is_external = self.context.is_external(self.shared);
        let slot = self.shared.slots.get(id);
        if is_external && !(self.has_work_inside(id) && slot.let_external_in(id)) {
            return false;
        }
        let mut stop = || self.is_late();
        let has_helped = help_once(self.shared, self.context, HelpScope::InJob(id), &mut stop);
        if is_external {
            slot.let_external_out(id);
            // Another one may help now that this one gives up.
            if self.is_late() && self.shared.has_work(HelpScope::InJob(id)) {
                self.shared.sleepers.tell(1, |tag| tag.job == id.to_bits() && !tag.watches);
            }
        }
        has_helped
    }

    /// Whether there is anything inside of the job `id` that this thread would help with.
    fn has_work_inside(&self, id: JobId) -> bool {
        let is_full =
            || self.context.is_external(self.shared) && self.shared.slots.get(id).has_external(id);
        self.shared.has_work(HelpScope::InJob(id)) && !is_full()
    }

    /// Runs what is for this thread alone, as far as the time goes.
    fn run_pinned(&self) -> bool {
        let mut has_run = false;
        while self.pinned.run_one(self.shared, self.context) {
            has_run = true;
            if self.is_late() {
                break;
            }
        }
        has_run
    }

    /// Walks until there is something to help with.
    fn finds_any(&mut self) -> bool {
        self.walk.restart();
        while let Some(found) = self.walk.next() {
            match found {
                Found::Running(id) if !self.has_work_inside(id) => {}
                Found::Running(_) | Found::Ready(_) => return true,
            }
        }
        false
    }
}

impl Goal for JobGoal<'_> {
    fn is_reached(&mut self) -> bool {
        self.shared.slots.is_done(self.id) || self.is_late()
    }

    /// Helps as long as there is anything to do.
    fn help(&mut self) -> bool {
        if self.run_pinned() {
            return true;
        }
        let mut has_helped = false;
        self.walk.restart();
        while !self.is_late() {
            let Some(found) = self.walk.next() else { break };
            has_helped |= match found {
                Found::Ready(id) => {
                    let job = self.shared.slots.claim(id);
                    job.map(|job| self.run_up(job)).is_some()
                }
                Found::Running(id) => self.help_inside(id),
            };
            // Others may wait inside a job for one of these.
            has_helped |= self.run_pinned();
        }
        has_helped
    }

    fn is_worth_a_look(&mut self) -> bool {
        self.is_reached()
    }

    fn has_news(&mut self) -> bool {
        self.is_reached() || self.pinned.has_any(self.shared) || self.finds_any()
    }

    fn tag(&self) -> Tag {
        Tag { job: self.id.to_bits(), pinned: self.pinned, ..Tag::default() }
    }

    fn deadline(&self) -> Option<&Deadline> {
        self.deadline
    }

    fn note_asleep(&self) {
        self.shared.slots.get(self.id).note_awaited(self.id);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::run_job::add_job;
    use crate::slots::JobKind;
    use crate::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Has a thread wait for a job of its own, with another one in the queue.
    fn with_goal(look: impl FnOnce(&mut JobGoal<'_>, &AtomicUsize)) {
        let (mut shared, places) = Shared::new(1);
        shared.open_to_host(places);
        let shared = &shared;
        let ran = Arc::new(AtomicUsize::new(0));
        let job = || {
            let ran = Arc::clone(&ran);
            move || _ = ran.fetch_add(1, Ordering::Relaxed)
        };
        let id = add_job::<JobId>(shared, JobKind::Anywhere, &[], job());
        add_job::<JobId>(shared, JobKind::Anywhere, &[], job());
        WorkerContext::with(shared, |context| {
            let pinned = Pinned::Leave;
            let walk = Walk::new(shared, id, pinned);
            let mut goal = JobGoal { shared, context, id, pinned, walk, deadline: None };
            look(&mut goal, &ran);
        });
    }

    #[test]
    fn a_look_before_a_sleep_runs_nothing() {
        with_goal(|goal, ran| {
            assert!(goal.has_news() && !goal.is_reached());
            assert_eq!(ran.load(Ordering::Relaxed), 0);
            assert!(goal.help(), "what was found is run");
            assert!(goal.is_reached());
            assert_eq!(ran.load(Ordering::Relaxed), 1);
        });
    }
}
