//! The one loop in which threads of a pool wait, and its use by owners of task groups.
#![expect(unsafe_code, reason = "opens groups in the caller's frame, and outwaits their helpers")]

use crate::context::WorkerContext;
use crate::panic_slot::never_unwinding;
use crate::shared::Shared;
use crate::sleep::Tag;
use crate::sync::{Deadline, is_kept, spin_until};
use crate::task_group::{HelpScope, TaskGroup, TaskSource};

/// The condition that a thread waits for, and the work that it does meanwhile.
pub(crate) trait Goal {
    fn is_reached(&mut self) -> bool;

    /// Does some work, and returns whether there was any.
    fn help(&mut self) -> bool;

    /// A cheap check between two short pauses.
    fn is_worth_a_look(&mut self) -> bool {
        self.has_news()
    }

    /// Whether a thread that is about to sleep should not: the goal is reached, or there is work to help
    /// with. This only checks: the thread is listed meanwhile, and a wake-up spent on it takes effect
    /// only after the check.
    fn has_news(&mut self) -> bool;

    /// What wakes the thread.
    fn tag(&self) -> Tag;

    /// The time at which it gives up, if any; the goal counts as reached then.
    fn deadline(&self) -> Option<&Deadline> {
        None
    }

    /// Notes that the thread, which is listed, is about to sleep. A goal that is reached without a fence
    /// notes it in the word by which it is reached.
    fn note_asleep(&self) {}
}

/// Returns when the goal is reached (docs/job-sleep.md, section 2). Goals catch panics.
pub(crate) fn wait(shared: &Shared, context: &WorkerContext, goal: &mut impl Goal) {
    let (mut ticket, mut takes_any) = (1, true);
    while !goal.is_reached() {
        // The work that this thread helps with may take long.
        context.open_for_thieves(shared);
        let has_helped = goal.help();
        // The wake-up was for this work, for work that this thread may not do, or for none.
        if context.is_woken.replace(false) && !has_helped {
            shared.pass_on_inside(ticket);
        }
        // The remaining wait is often about a microsecond, less than a sleep costs.
        if has_helped || spin_until(|| goal.is_worth_a_look()) {
            continue;
        }
        if is_kept("open_all") {
            context.open_all(shared);
        }
        let tag = goal.tag();
        let listed = shared.sleepers.list(tag);
        (ticket, takes_any) = (listed.ticket, tag.is_worker || tag.is_conditional);
        if is_kept("note_asleep") {
            goal.note_asleep();
        }
        context.tell_conditional(shared, "tell_before_sleep");
        if !(is_kept("last_look") && goal.has_news()) {
            listed.sleep(goal.deadline());
        }
        context.is_woken.set(!listed.leave());
    }
    if takes_any {
        context.pass_on_wake_up(shared);
    } else if context.is_woken.replace(false) {
        shared.pass_on_inside(ticket);
    }
}

/// Helps in a group within scope, or else runs an open half, and returns whether there was either. It
/// leaves a group between two jobs once `stop` returns true.
pub(crate) fn help_once(
    shared: &Shared,
    context: &WorkerContext,
    scope: HelpScope<'_>,
    stop: &mut dyn FnMut() -> bool,
) -> bool {
    if let Some(visit) = shared.enter(scope) {
        let work = visit.work();
        context.note_work_found(shared, 1, Some(work.group()));
        while context.inside(work.group(), || work.run_one(context.slot)) {
            if stop() {
                // Graph jobs that this thread has made ready wake no thread, and the owner may be asleep.
                if work.has_work() && is_kept("announce_given_up") {
                    shared.announce_work(work.group(), 1);
                }
                break;
            }
        }
        return true;
    }
    // The half itself records the group that its thief now works for.
    let Some((depth, half)) = shared.steal(context.queue_index(), scope) else { return false };
    context.note_work_found(shared, 0, Some(half.group()));
    match context.queues() {
        Some(queues) => queues.private.at_depth(depth + 1, || half.run()),
        None => half.run(),
    }
    true
}

/// The goal of an owner that waits for its group.
struct GroupGoal<'a> {
    shared: &'a Shared,
    context: &'a WorkerContext,
    group: &'a TaskGroup,
    /// The work of the group itself, unless the group is the half of a join.
    own: Option<&'a dyn TaskSource>,
}

impl GroupGoal<'_> {
    fn scope(&self) -> HelpScope<'static> {
        HelpScope::Below(self.group.address())
    }

    fn has_own_work(&self) -> bool {
        self.own.is_some_and(TaskSource::has_work)
    }
}

impl Goal for GroupGoal<'_> {
    fn is_reached(&mut self) -> bool {
        self.group.is_done() && !self.has_own_work()
    }

    fn help(&mut self) -> bool {
        if let Some(work) = self.own {
            let mut has_run = false;
            self.context.inside(self.group, || {
                while work.run_one(self.context.slot) {
                    has_run = true;
                }
            });
            if has_run {
                return true;
            }
        }
        help_once(self.shared, self.context, self.scope(), &mut || false)
    }

    fn has_news(&mut self) -> bool {
        self.group.is_done() || self.has_own_work() || self.shared.has_work(self.scope())
    }

    fn tag(&self) -> Tag {
        Tag { group: self.group.address(), ..Tag::default() }
    }

    fn note_asleep(&self) {
        self.group.note_owner_asleep();
    }
}

/// Returns when no thread is in `group` and its `own` work is done. Helps with that work and with groups
/// below.
pub(crate) fn wait_until_done(
    shared: &Shared,
    context: &WorkerContext,
    group: &TaskGroup,
    own: Option<&dyn TaskSource>,
) {
    wait(shared, context, &mut GroupGoal { shared, context, group, own });
}

/// Lists `work` while `body` runs, helps with it, and returns when all its jobs have finished and all
/// helpers have left. `body` catches panics.
pub(crate) fn share(
    shared: &Shared,
    context: &WorkerContext,
    work: &dyn TaskSource,
    body: impl FnOnce(),
) {
    never_unwinding(|| {
        // SAFETY: this thread runs that job, which ends after this function does; by then the group is
        // done and off the list (J-3).
        unsafe { work.group().set_parent(context.group.get(), context.job.get()) };
        // SAFETY: closed below, before `work` can be dropped, which the caller borrows until this
        // function ends. It does not unwind in between (J-1, J-2).
        unsafe { shared.open_groups.open(work) };
        body();
        wait_until_done(shared, context, work.group(), Some(work));
        // A helper may have entered meanwhile, and its job may add work.
        while !shared.open_groups.close(work) {
            wait_until_done(shared, context, work.group(), Some(work));
        }
    });
}
