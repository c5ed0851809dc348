//! A worker thread: it searches, works, and sleeps until there is more.

use crate::context::WorkerContext;
use crate::panic_slot::never_unwinding;
use crate::run_job::{run_chain, take_any};
use crate::shared::{LocalQueues, Shared};
use crate::sleep::{Tag, Takes};
use crate::task_group::Reach;
use crate::wait::{Goal, help_once, wait};

/// Runs until the pool closes.
///
/// Jobs keep their panics inside. If the pool itself has a bug and panics here, that is a crash: a
/// worker that merely ended would leave a group counting it, and the group's owner waiting for ever.
pub(crate) fn run_worker(shared: &Shared, queues: LocalQueues) {
    never_unwinding(|| {
        WorkerContext::with_worker(shared, queues, |context| {
            wait(shared, context, &mut WorkerGoal { shared, context });
        });
    });
}

/// A worker waits for the end of the pool.
struct WorkerGoal<'a> {
    shared: &'a Shared,
    context: &'a WorkerContext,
}

impl Goal for WorkerGoal<'_> {
    fn is_reached(&mut self) -> bool {
        // What is ready when the pool closes is not left behind.
        let shared = self.shared;
        shared.is_closing() && !shared.has_work(Reach::All) && shared.ready.is_empty()
    }

    fn help(&mut self) -> bool {
        work_once(self.shared, self.context, &mut || false)
    }

    fn has_news(&mut self) -> bool {
        self.shared.has_news()
    }

    fn tag(&self) -> Tag {
        Tag { takes: Takes::Anything, ..Tag::default() }
    }
}

/// Takes on whatever there is, groups first, since more threads are wanted there. Returns whether
/// there was anything.
pub(crate) fn work_once(
    shared: &Shared,
    context: &WorkerContext,
    stop: &mut dyn FnMut() -> bool,
) -> bool {
    if help_once(shared, context, |_| true, stop) {
        return true;
    }
    let Some(job) = take_any(shared) else {
        context.note_hungry(shared);
        return false;
    };
    run_chain(shared, context, job, stop);
    true
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::run_job::add_job;
    use crate::scope::scope;
    use crate::slots::{JobId, Kind};
    use std::process::Command;

    #[test]
    fn a_wake_up_for_a_job_that_is_spent_on_work_of_a_group_is_passed_on() {
        let (shared, mut places) = Shared::new(2);
        scope(&shared, |scope| {
            scope.spawn(|_| assert!(!shared.sleepers.has_any(), "the other one is woken first"));
            add_job::<JobId>(&shared, Kind::Anywhere, &[], || ());
            let other = shared.sleepers.list(Tag { takes: Takes::Anything, ..Tag::default() });
            let place = places.remove(0);
            std::thread::scope(|threads| {
                let work = || {
                    WorkerContext::with_worker(&shared, place, |context| {
                        context.is_woken.set(true);
                        assert!(work_once(&shared, context, &mut || false));
                    });
                };
                threads.spawn(work).join().expect("it ends well");
            });
            assert!(!other.leave(), "the job in the queue is for the other one");
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn a_bug_in_the_pool_crashes_a_worker_and_does_not_end_it() {
        const CHILD: &str = "FORMIC_WORKER_BUG_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let (shared, _places) = Shared::new(1);
            // A place of another, larger pool: there is none of this number here.
            let (_larger, mut places) = Shared::new(100);
            run_worker(&shared, places.remove(99));
        }
        let name = "worker::tests::a_bug_in_the_pool_crashes_a_worker_and_does_not_end_it";
        let child = Command::new(std::env::current_exe().expect("the test knows itself"))
            .args(["--exact", name])
            .env(CHILD, "1")
            .output()
            .expect("the test can start itself");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(said.contains("running 1 test"), "there is no test {name}");
        assert!(!child.status.success());
        // A panic that came through would be a failed test with a result.
        assert!(!said.contains("test result"), "{said}");
    }
}
