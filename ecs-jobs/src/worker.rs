//! The loops of threads that work for a pool: its own until it closes, and those of the host until a
//! condition holds.

use crate::complete::{help_inside, job_to_help, one_deeper};
use crate::context::WorkerContext;
use crate::handle::JobError;
use crate::panic_slot::{catch, never_unwinding};
use crate::run_job::{
    IN_A_ROW_MAX, has_pinned, run_all_pinned, run_chain, run_only, run_pinned, take_any,
};
use crate::shared::{LocalQueues, Shared};
use crate::sleep::Tag;
use crate::slots::JobId;
use crate::sync::Ordering;
use crate::task_group::HelpScope;
use crate::wait::{Goal, help_once, wait};
use std::panic::resume_unwind;

/// Runs until the pool closes.
///
/// Jobs catch their panics. If a bug of the pool itself panics here, the process aborts: a worker that
/// merely ended would leave a group counting it, and the group's owner waiting for ever.
pub(crate) fn run_worker(shared: &Shared, queues: LocalQueues) {
    never_unwinding(|| {
        WorkerContext::with_worker(shared, queues, |context| {
            // Jobs that are ready when the pool closes still run.
            let has_any = || shared.has_work(HelpScope::All) || !shared.ready.is_empty();
            let is_over = |has_job: bool| !has_job && shared.is_closing() && !has_any();
            work_until(shared, context, (true, false), None, is_over).expect("it is in no wait");
        });
    });
}

/// Makes the calling thread work until `condition` holds: as a worker if the pool has a free place, else
/// as an external thread, which only runs and helps jobs with handles. If the condition is that a job is done,
/// `job` is that job.
pub(crate) fn run_until(shared: &Shared, job: Option<JobId>, mut condition: impl FnMut() -> bool) {
    WorkerContext::with_host(shared, |context| {
        // In the middle of a job or a call, a thread that took arbitrary work could re-enter that same
        // call.
        let is_worker = context.is_free_worker(shared);
        // A panic ends the wait as if the condition held, and is resumed after it.
        let mut panic = None;
        let is_over = |_has_job| {
            catch(&mut condition).unwrap_or_else(|payload| {
                panic = Some(payload);
                true
            })
        };
        let work = || work_until(shared, context, (is_worker, true), job, is_over);
        let pool = (shared.number, &shared.slots);
        or_too_deep(match job {
            None => work(),
            Some(job) => shared.wait_graph.while_waiting(pool, context.job.get(), job, work),
        });
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    });
}

/// Returns when all jobs are done. Those for the main thread are cancelled if no thread will run them.
pub(crate) fn wait_for_all(shared: &Shared, cancels_main_jobs: bool) {
    if !shared.slots.all_ended() {
        WorkerContext::with(shared, |context| {
            context.cancels_main_jobs.set(cancels_main_jobs);
            // This is asked before each job, and the sums cost more than a job.
            let is_over = |has_job: bool| !has_job && shared.slots.all_ended();
            or_too_deep(work_until(shared, context, (false, true), None, is_over));
        });
    }
}

/// Runs one ready job, those for this thread first, and returns whether there was one.
pub(crate) fn run_one(shared: &Shared) -> bool {
    WorkerContext::with(shared, |context| {
        let run_any = || take_any(shared).map(|job| run_only(shared, context, job)).is_some();
        or_too_deep(one_deeper(shared, context, || run_pinned(shared, context) || run_any()))
    })
}

/// Runs the jobs for this thread that are ready by now, and returns their number.
pub(crate) fn run_main_jobs(shared: &Shared) -> usize {
    WorkerContext::with(shared, |context| {
        or_too_deep(one_deeper(shared, context, || run_all_pinned(shared, context, || false)))
    })
}

fn or_too_deep<R>(result: Result<R, JobError>) -> R {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn work_until(
    shared: &Shared,
    context: &WorkerContext,
    (is_worker, is_conditional): (bool, bool),
    job: Option<JobId>,
    condition: impl FnMut(bool) -> bool,
) -> Result<(), JobError> {
    let is_reached = false;
    let mut goal =
        WorkGoal { shared, context, job, is_worker, is_conditional, condition, is_reached };
    one_deeper(shared, context, || wait(shared, context, &mut goal))
}

/// The goal of a thread that works until a condition holds.
struct WorkGoal<'a, C> {
    shared: &'a Shared,
    context: &'a WorkerContext,
    job: Option<JobId>,
    /// Whether this thread does the work of a worker; otherwise it only runs and helps jobs with handles.
    is_worker: bool,
    /// Whether the end of any job may make the condition true.
    is_conditional: bool,
    /// Called with whether this thread has found work that it is about to start.
    condition: C,
    is_reached: bool,
}

impl<C: FnMut(bool) -> bool> WorkGoal<'_, C> {
    fn look(&mut self, has_job: bool) -> bool {
        self.is_reached = self.is_reached || (self.condition)(has_job);
        self.is_reached
    }
}

impl<C: FnMut(bool) -> bool> Goal for WorkGoal<'_, C> {
    fn is_reached(&mut self) -> bool {
        self.look(!self.shared.ready.is_empty())
    }

    fn help(&mut self) -> bool {
        let Self { shared, context, is_worker, .. } = *self;
        let has_helped = run_all_pinned(shared, context, || self.look(true)) > 0;
        if self.is_reached {
            return true;
        }
        let mut stop = || self.look(true) || has_pinned(shared, context);
        if is_worker {
            return work_once(shared, context, &mut stop) || has_helped;
        }
        let job = take_any(shared).map(|job| run_chain(shared, context, job, &mut stop));
        // Jobs come first, and another thread may help inside this one meanwhile.
        let mut stop = || stop() || !shared.ready.is_empty();
        let inside = |id| help_inside(shared, context, id, &mut stop);
        job.is_some() || inside_any(shared, context).is_some_and(inside) || has_helped
    }

    fn is_worth_a_look(&mut self) -> bool {
        has_pinned(self.shared, self.context)
            || !self.shared.ready.is_empty()
            || if self.is_worker {
                self.shared.has_news()
            } else {
                inside_any(self.shared, self.context).is_some()
            }
    }

    fn has_news(&mut self) -> bool {
        // The queue may hold a stale id, which another thread may remove without telling any other.
        self.is_worth_a_look() || self.look(false)
    }

    fn tag(&self) -> Tag {
        Tag {
            is_worker: self.is_worker,
            group: 0,
            job: self.job.map_or(0, JobId::to_bits),
            is_conditional: self.is_conditional,
            helps_inside: !self.is_worker && helps_inside_any(self.context),
            pinned: self.context.pinned(self.shared),
        }
    }

    fn note_asleep(&self) {
        if let Some(job) = self.job {
            self.shared.slots.get(job).note_awaited(job);
        }
    }
}

/// A job that this thread, which waits for any job, can help with from inside.
fn inside_any(shared: &Shared, context: &WorkerContext) -> Option<JobId> {
    if helps_inside_any(context) { job_to_help(shared, context, |_id| true) } else { None }
}

/// Whether this thread may help inside any job. Inside a job it could come into that same job again.
fn helps_inside_any(context: &WorkerContext) -> bool {
    context.job.get().is_none()
}

/// Takes any work. Groups come first, since more threads are wanted there, but after a number of group
/// jobs in a row it takes a job with a handle. While a background job runs, its groups come last. Returns
/// whether there was work.
pub(crate) fn work_once(
    shared: &Shared,
    context: &WorkerContext,
    stop: &mut dyn FnMut() -> bool,
) -> bool {
    let in_a_row = &context.group_jobs_in_a_row;
    let is_turn = || in_a_row.get() >= IN_A_ROW_MAX && !shared.ready.is_empty();
    let mut leaves = || {
        in_a_row.set(in_a_row.get().saturating_add(1));
        context.note_contention();
        let is_superfluous = context.is_superfluous(shared);
        if is_superfluous {
            // Before it leaves the group, so that no other thread is woken in its place.
            context.note_inactive(shared);
        }
        is_superfluous || is_turn() || stop()
    };
    let frame = HelpScope::Frame(&shared.slots);
    let has_background = || shared.background_count.load(Ordering::Relaxed) > 0;
    let before = in_a_row.get();
    let has_helped = !is_turn() && {
        let is_split = has_background();
        let is_for_frame = is_split && help_once(shared, context, frame, &mut leaves);
        is_for_frame
            || !(is_split && shared.ready.has_frame()) && {
                let has_frame = || shared.ready.has_frame() || shared.has_work(frame);
                let mut leaves = || leaves() || is_split && has_background() && has_frame();
                help_once(shared, context, HelpScope::All, &mut leaves)
            }
    };
    if has_helped {
        // The half of a join counts as well.
        in_a_row.set(in_a_row.get().max(before.saturating_add(1)));
    } else {
        in_a_row.set(0);
        let Some(job) = take_any(shared) else {
            context.note_inactive(shared);
            return false;
        };
        run_chain(shared, context, job, stop);
        context.note_contention();
    }
    if context.is_superfluous(shared) {
        context.back_off(shared);
    }
    true
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::join::join;
    use crate::run_job::{add_job, run_job};
    use crate::scope::{Scope, scope};
    use crate::sleep::Listed;
    use crate::slots::JobKind;
    use crate::sync::{Arc, Mutex};
    use crate::task_group::TaskSource;
    use std::process::Command;

    #[test]
    fn a_wake_up_for_a_job_that_is_spent_on_work_of_a_group_is_passed_on() {
        let (shared, mut places) = Shared::new(2);
        scope(&shared, |scope| {
            scope.spawn(|_| assert!(!shared.sleepers.has_any(), "the other one is woken first"));
            add_job::<JobId>(&shared, JobKind::Anywhere, "", &[], || ());
            let other = shared.sleepers.list(Tag::IDLE);
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
    fn a_wake_up_that_is_not_used_is_passed_on_only_where_work_waits() {
        let (mut shared, places) = Shared::new(1);
        shared.open_to_host(places);
        let idle = shared.sleepers.list(Tag::IDLE);
        let leave = || {
            WorkerContext::with(&shared, |context| {
                context.is_woken.set(true);
                context.pass_on_wake_up(&shared);
            });
        };
        leave();
        assert!(
            idle.is_listed(),
            "as by a thread of the host that was told to look at its condition"
        );
        assert!(idle.leave());
        add_job::<JobId>(&shared, JobKind::Anywhere, "", &[], || ());
        let idle = shared.sleepers.list(Tag::IDLE);
        leave();
        assert!(!idle.leave(), "there is a job for it");
    }

    #[test]
    fn the_last_idle_worker_that_begins_wakes_the_owner_around() {
        let (shared, places) = Shared::new(3);
        let list = |tag| shared.sleepers.list(tag);
        (0..2).for_each(|_| shared.begin_worker());
        scope(&shared, |outer| {
            outer.spawn(|outer| {
                scope(&shared, |inner| {
                    let owner_around =
                        list(Tag { group: outer.group().address(), ..Tag::default() });
                    let idle = [list(Tag::IDLE), list(Tag::IDLE)];
                    (0..4).for_each(|_| inner.spawn(|_| ()));
                    assert_eq!(idle.each_ref().map(Listed::is_listed), [true, false]);
                    let work = |place| {
                        WorkerContext::with_worker(&shared, place, |context| {
                            assert!(work_once(&shared, context, &mut || false));
                        });
                    };
                    std::thread::scope(|threads| {
                        let place = places.into_iter().next_back().expect("there are three");
                        threads.spawn(move || work(place)).join().expect("it ends well");
                    });
                    assert!(!idle[0].is_listed(), "three jobs are left");
                    assert!(!owner_around.leave(), "and two workers for them");
                });
            });
        });
    }

    #[test]
    fn a_worker_that_always_finds_halves_of_joins_leaves_turns_to_jobs_with_handles() {
        let (shared, mut places) = Shared::new(2);
        /// Calls `look` inside this many joins.
        fn inside_joins(shared: &Shared, count: usize, look: impl FnOnce() + Send) {
            if count == 0 {
                return look();
            }
            let look: Box<dyn FnOnce() + Send> = Box::new(look);
            join(shared, || inside_joins(shared, count - 1, look), || ());
        }
        inside_joins(&shared, 2 * IN_A_ROW_MAX, || {
            WorkerContext::with(&shared, |context| context.open_all(&shared));
            let job = add_job::<JobId>(&shared, JobKind::Anywhere, "", &[], || ());
            let place = places.remove(0);
            let work = || {
                WorkerContext::with_worker(&shared, place, |context| {
                    for _ in 0..=IN_A_ROW_MAX {
                        assert!(work_once(&shared, context, &mut || false), "there is work");
                    }
                });
            };
            std::thread::scope(|threads| threads.spawn(work).join().expect("it ends well"));
            assert!(shared.slots.is_done(job), "halves were taken all the time");
        });
    }

    #[test]
    fn groups_and_jobs_of_the_frame_come_before_groups_of_a_background_job() {
        let (shared, mut places) = Shared::new(1);
        let (shared, place) = (Arc::new(shared), places.remove(0));
        let ran = Arc::new(Mutex::new(String::new()));
        let note = |letter| {
            let ran = Arc::clone(&ran);
            move || ran.lock().push(letter)
        };
        let (background, in_frame, job) = (note('b'), note('f'), note('j'));
        let body = {
            let (shared, ran) = (Arc::clone(&shared), Arc::clone(&ran));
            move || {
                let shared = &*shared;
                scope(shared, |around| {
                    (0..2).for_each(|_| around.spawn(|_| background()));
                    let of_another_thread = || {
                        scope(shared, |frame| {
                            frame.spawn(|_| in_frame());
                            add_job::<JobId>(shared, JobKind::Anywhere, "", &[], job);
                            WorkerContext::with_worker(shared, place, |context| {
                                // Inside the group of the background job it looks after each job of it.
                                while ran.lock().len() < 4 {
                                    work_once(shared, context, &mut || false);
                                }
                            });
                        });
                    };
                    std::thread::scope(|threads| {
                        threads.spawn(of_another_thread).join().expect("it ends well");
                    });
                });
            }
        };
        let id = add_job::<JobId>(&shared, JobKind::Background, "", &[], body);
        let claimed = shared.slots.claim(id).expect("no other thread takes jobs");
        WorkerContext::with(&shared, |context| run_job(&shared, context, claimed, |_id| false));
        assert_eq!(*ran.lock(), "fjbb");
    }

    #[test]
    fn work_inside_a_job_wakes_those_who_may_help_one_after_the_other() {
        let (shared, _places) = Shared::new(1);
        let add = |after: &[JobId]| add_job(&shared, JobKind::Anywhere, "", after, || ());
        let [this, strange] = [(); 2].map(|()| {
            let claimed = shared.slots.claim(add(&[])).expect("no other thread takes jobs");
            claimed.start();
            claimed.id()
        });
        let other = add(&[strange]);
        let list = |job: JobId| Tag { job: job.to_bits(), helps_inside: true, ..Tag::default() };
        let flush = Tag { is_conditional: true, helps_inside: true, ..Tag::default() };
        let look = |scope: &Scope<'_>| {
            // A thread in `run_until_done` and one in `flush` that are in jobs themselves.
            let in_jobs = [this.to_bits(), 0]
                .map(|job| shared.sleepers.list(Tag { job, helps_inside: false, ..flush }));
            let waits_for_all = shared.sleepers.list(flush);
            let waits_behind = shared.sleepers.list(list(other));
            let waits_for_this = shared.sleepers.list(list(this));
            let waits_for_group = shared.sleepers.list(Tag { group: 1, ..Tag::default() });
            let waits_for_strange = shared.sleepers.list(list(strange));
            shared.announce_work(scope.group(), 1);
            assert!(!waits_for_this.leave() && waits_behind.is_listed());
            scope.spawn(|_| ());
            assert!(!waits_behind.leave() && waits_for_all.is_listed());
            // It is behind `strange`, or another external thread is in the job.
            shared.pass_on_inside(waits_behind.ticket);
            assert!(!waits_for_all.leave());
            assert!(waits_for_strange.leave(), "the job runs, so it does not wait for this one");
            assert!(waits_for_group.leave(), "the group of another tree");
            assert!(in_jobs.iter().all(Listed::leave), "they would find nothing");
        };
        WorkerContext::with(&shared, |context| context.inside_job(this, || scope(&shared, look)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn a_bug_in_the_pool_crashes_a_worker_and_does_not_end_it() {
        const CHILD: &str = "FORMIC_WORKER_BUG_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let (shared, _places) = Shared::new(1);
            // Queues from a larger pool: this pool has none of that number.
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
        // A panic that was not caught would show as a failed test with a result.
        assert!(!said.contains("test result"), "{said}");
    }
}
