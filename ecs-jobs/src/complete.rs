//! Waiting for a job with a handle (docs/job-sleep.md, section 7).

use crate::context::WorkerContext;
use crate::handle::JobError;
use crate::run_job::{has_pinned, run_all_pinned, run_job};
use crate::shared::Shared;
use crate::sleep::Tag;
use crate::slots::{Claimed, JobId};
use crate::sync::{Deadline, is_kept};
use crate::task_group::HelpScope;
use crate::wait::{Goal, help_once, wait};
use crate::walk::{Found, Walk};

/// The maximum number of nested waits for jobs of one thread, each inside a job that it runs in the wait
/// around it. It keeps the stack from overflowing.
const DEPTH_MAX: usize = 128;

/// Runs `wait` inside the other waits of this thread, unless there are too many. `wait` catches panics.
pub(crate) fn one_deeper<R>(
    shared: &Shared,
    context: &WorkerContext,
    wait: impl FnOnce() -> R,
) -> Result<R, JobError> {
    let outer = context.wait_depth.get();
    if outer == DEPTH_MAX {
        return Err(JobError::TooDeep);
    }
    context.wait_depth.set(outer + 1);
    let result = wait();
    context.wait_depth.set(outer);
    context.tell_conditional(shared, "tell_after_wait");
    Ok(result)
}

/// Returns when the job `id` is done, or an error if this thread is in too many nested waits, or if the
/// job is not done before the deadline. This thread finishes a job that it has started to help with by
/// then.
pub(crate) fn wait_for_job(
    shared: &Shared,
    id: JobId,
    deadline: Option<&Deadline>,
) -> Result<(), JobError> {
    if shared.slots.is_done(id) {
        return Ok(());
    }
    WorkerContext::with(shared, |context| {
        let wait = || {
            let walk = Walk::new(shared, id, context.pinned(shared));
            let mut goal = JobGoal { shared, context, id, walk, deadline };
            one_deeper(shared, context, || wait(shared, context, &mut goal))
        };
        let slots = (shared.number, &shared.slots);
        shared.wait_graph.while_waiting(slots, context.job.get(), id, wait)?;
        if shared.slots.is_done(id) { Ok(()) } else { Err(JobError::TimedOut) }
    })
}

/// Helps with loops and joins inside the job `id`, which another thread is running. It leaves a loop
/// between two batches once `stop` returns true.
///
/// A job does not help with its own loops from inside: the thread that opened them does.
pub(crate) fn help_inside(
    shared: &Shared,
    context: &WorkerContext,
    id: JobId,
    stop: &mut dyn FnMut() -> bool,
) -> bool {
    let (slot, scope) = (shared.slots.get(id), HelpScope::InJob(id));
    // All external threads have the same slot, so only one at a time is let in.
    let is_external = context.is_external(shared);
    if is_external && !(shared.has_work(scope) && slot.let_external_in(id)) {
        return false;
    }
    let has_helped = help_once(shared, context, scope, stop);
    if is_external {
        slot.let_external_out(id);
        // Another thread may help now that this one gives up.
        if stop() && shared.has_work(scope) && shared.sleepers.has_any() && is_kept("announce_room")
        {
            shared.wake_inside(1, id);
        }
    }
    has_helped
}

/// A job that `is_wanted`, with loops or joins inside it that this thread would be let in to help with.
pub(crate) fn job_to_help(
    shared: &Shared,
    context: &WorkerContext,
    is_wanted: impl Fn(JobId) -> bool,
) -> Option<JobId> {
    let is_external = context.is_external(shared);
    let has_room = |id| !(is_external && shared.slots.get(id).has_external(id));
    shared.find_work(|group| group.job().filter(|&id| is_wanted(id) && has_room(id)))
}

struct JobGoal<'pool> {
    shared: &'pool Shared,
    context: &'pool WorkerContext,
    id: JobId,
    walk: Walk<'pool>,
    deadline: Option<&'pool Deadline>,
}

impl<'pool> JobGoal<'pool> {
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline.left().is_none())
    }

    /// Runs a job, and then the jobs on the walk that become ready through it.
    fn run_up(&mut self, job: Claimed<'pool>) {
        let mut next = Some(job);
        while let Some(job) = next {
            // The other jobs that become ready are left to other threads.
            let waiting = self.walk.waiting().filter(|_| !self.is_late());
            next = run_job(self.shared, self.context, job, |id| waiting == Some(id));
            if next.is_some() {
                self.walk.leave();
            }
        }
    }

    /// Runs the jobs pinned to this thread, until the deadline.
    fn run_pinned(&self) -> bool {
        run_all_pinned(self.shared, self.context, || self.is_late()) > 0
    }

    /// Walks until it finds something to help with.
    fn finds_any(&mut self) -> bool {
        self.walk.restart();
        while let Some(found) = self.walk.next() {
            match found {
                Found::Running(id)
                    if job_to_help(self.shared, self.context, |job| job == id).is_none() => {}
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

    /// Helps as long as there is work.
    fn help(&mut self) -> bool {
        let mut has_helped = self.run_pinned();
        self.walk.restart();
        while !self.is_late() {
            let Some(found) = self.walk.next() else { break };
            has_helped |= match found {
                Found::Ready(id) => {
                    let job = self.shared.slots.claim(id);
                    job.map(|job| self.run_up(job)).is_some()
                }
                Found::Running(id) => {
                    help_inside(self.shared, self.context, id, &mut || self.is_late())
                }
            };
            // Other threads may wait inside a job for one of these, and the walk may be long.
            has_helped |= self.run_pinned();
        }
        has_helped
    }

    fn is_worth_a_look(&mut self) -> bool {
        self.is_reached()
    }

    fn has_news(&mut self) -> bool {
        self.is_reached() || has_pinned(self.shared, self.context) || self.finds_any()
    }

    fn tag(&self) -> Tag {
        Tag {
            job: self.id.to_bits(),
            helps_inside: true,
            pinned: self.context.pinned(self.shared),
            ..Tag::default()
        }
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

    /// Makes a thread wait for a job of its own, with another one in the queue.
    fn with_goal(look: impl FnOnce(&mut JobGoal<'_>, &AtomicUsize)) {
        let (mut shared, places) = Shared::new(1);
        shared.open_to_host(places);
        let shared = &shared;
        let ran = Arc::new(AtomicUsize::new(0));
        let job = || {
            let ran = Arc::clone(&ran);
            move || _ = ran.fetch_add(1, Ordering::Relaxed)
        };
        let id = add_job::<JobId>(shared, JobKind::Anywhere, "", &[], job());
        add_job::<JobId>(shared, JobKind::Anywhere, "", &[], job());
        WorkerContext::with(shared, |context| {
            let walk = Walk::new(shared, id, None);
            let mut goal = JobGoal { shared, context, id, walk, deadline: None };
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
