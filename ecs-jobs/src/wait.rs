//! The one loop in which threads of a pool wait, and its use by owners of task groups.
#![expect(unsafe_code, reason = "opens groups in the caller's frame, and outwaits their helpers")]

use crate::context::WorkerContext;
use crate::panic_slot::never_unwinding;
use crate::shared::Shared;
use crate::sleep::{Tag, Takes};
use crate::sync::{Deadline, is_kept, spin_until};
use crate::task_group::{HelpScope, TaskGroup, TaskSource};

/// What a thread waits for, and what it does meanwhile.
pub(crate) trait Goal {
    fn is_reached(&mut self) -> bool;

    /// Does some work, and returns whether there was any.
    fn help(&mut self) -> bool;

    /// A look between two short pauses, which is cheap.
    fn is_worth_a_look(&mut self) -> bool {
        self.has_news()
    }

    /// Whether there is news, for a thread that is about to sleep: the goal is reached, or there is
    /// something to help with. This only looks: the thread is listed meanwhile, and a wake-up that
    /// is spent on it waits until it has looked.
    fn has_news(&mut self) -> bool;

    /// What wakes the thread.
    fn tag(&self) -> Tag;

    /// When it gives up, if it does: then the goal is reached.
    fn deadline(&self) -> Option<&Deadline> {
        None
    }

    /// Notes, when the thread is listed, that it is about to sleep: where the goal is reached
    /// without a fence, in the word by which it is.
    fn note_asleep(&self) {}
}

/// Returns when the goal is reached (docs/job-sleep.md, section 2). Goals keep panics inside.
pub(crate) fn wait(shared: &Shared, context: &WorkerContext, goal: &mut impl Goal) {
    while !goal.is_reached() {
        // What this thread helps with may take long.
        context.feed_thieves(shared);
        let has_helped = goal.help();
        // The wake-up was for this, or for nothing.
        context.is_woken.set(false);
        // The rest is often a matter of a microsecond, less than a sleep costs.
        if has_helped || spin_until(|| goal.is_worth_a_look()) {
            continue;
        }
        context.open_all(shared);
        let listed = shared.sleepers.list(goal.tag());
        if is_kept("note_asleep") {
            goal.note_asleep();
        }
        context.tell_watching(shared);
        if !goal.has_news() {
            listed.sleep(goal.deadline());
        }
        context.is_woken.set(!listed.leave() && goal.tag().takes != Takes::Nothing);
    }
    context.tell_watching(shared);
    context.pass_on_wake_up(shared);
}

/// Visits a group within scope, or else takes an open half, and returns whether there was either.
/// Leaves a group between two jobs when it is to `stop`.
pub(crate) fn help_once(
    shared: &Shared,
    context: &WorkerContext,
    scope: HelpScope,
    stop: &mut dyn FnMut() -> bool,
) -> bool {
    if let Some(visit) = shared.enter(scope) {
        let work = visit.work();
        context.note_fed(shared, 1, Some(work.group()));
        while context.inside(work.group(), || work.run_one(context.slot)) {
            if stop() {
                // Jobs of a graph that this thread has made ready wake no thread, and the owner may
                // sleep.
                if work.has_work() {
                    shared.announce_work(work.group(), 1);
                }
                break;
            }
        }
        return true;
    }
    // The half itself notes which group its thief is now working for.
    let Some(half) = shared.steal(context.queue_index(), scope) else { return false };
    context.note_fed(shared, 0, Some(half.group()));
    half.run();
    true
}

/// An owner that waits for its group.
struct GroupGoal<'a> {
    shared: &'a Shared,
    context: &'a WorkerContext,
    group: &'a TaskGroup,
    /// The work of the group itself, if it is more than one half of a join.
    own: Option<&'a dyn TaskSource>,
}

impl GroupGoal<'_> {
    fn scope(&self) -> HelpScope {
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

/// Returns when no thread is in `group` and its `own` work is done. Helps with that and with what is
/// below the group.
pub(crate) fn wait_until_done(
    shared: &Shared,
    context: &WorkerContext,
    group: &TaskGroup,
    own: Option<&dyn TaskSource>,
) {
    wait(shared, context, &mut GroupGoal { shared, context, group, own });
}

/// Lists `work` while `body` runs, helps with it, and returns when all its jobs have finished and
/// all helpers have left. `body` keeps panics inside.
pub(crate) fn share(
    shared: &Shared,
    context: &WorkerContext,
    work: &dyn TaskSource,
    body: impl FnOnce(),
) {
    never_unwinding(|| {
        // SAFETY: this thread runs that job, which ends after this function does, and then the
        // group is done and off the list (J-3).
        unsafe { work.group().set_parent(context.group.get(), context.job.get()) };
        // SAFETY: closed below, before `work` can go, which the caller's borrow keeps until this
        // function ends. It does not unwind in between (J-1, J-2).
        unsafe { shared.open_groups.open(work) };
        body();
        wait_until_done(shared, context, work.group(), Some(work));
        // A helper may have come meanwhile, and its job may bring more work.
        while !shared.open_groups.close(work) {
            wait_until_done(shared, context, work.group(), Some(work));
        }
    });
}
