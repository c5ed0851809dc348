//! Jobs with handles, and the sleep of threads that wait for them.

use super::groups::{open_for_others, with_tasks_for_others};
use super::slots::{Deed, add, claim, published, waiting};
use super::{explore, explore_within};
use crate::complete::{help_inside, wait_for_job};
use crate::context::WorkerContext;
use crate::job_queue::JobQueue;
use crate::run_job::{add_gate, add_job, cancel_job, combine, open_gate, run_job, take_any};
use crate::shared::Shared;
use crate::slots::{JobId, JobKind, Slots};
use crate::sync::Deadline;
use crate::task_group::TaskGroup;
use crate::worker::{run_one, run_until, run_worker, wait_for_all};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::time::Duration;

/// Creates a pool without threads of its own, whose jobs are queued. No thread is its main thread.
pub(super) fn hosted() -> Arc<Shared> {
    let mut shared = hosted_here();
    shared.main_thread = 0;
    Arc::new(shared)
}

/// Like [`hosted`], with this thread as the main thread.
fn hosted_here() -> Shared {
    let (mut shared, places) = Shared::new(0);
    shared.open_to_host(places);
    shared
}

fn run_by_hand(shared: &Shared, job: JobId) {
    WorkerContext::with(shared, |context| {
        let job = claim(&shared.slots, job);
        assert!(run_job(shared, context, job, |_id| false).is_none());
    });
}

/// Adds a ready job that only a thread claiming it by hand runs.
fn on_main(shared: &Shared) -> JobId {
    add(&shared.slots, JobKind::MAIN, &[], || ()).expect("it waits for nothing").publish()
}

#[test]
fn a_job_that_is_cancelled_while_the_one_before_it_ends_is_run_or_dropped_once() {
    explore("cancel against countdown", || {
        let shared = hosted();
        let first = on_main(&shared);
        let ran = Arc::new(AtomicUsize::new(0));
        let inside = Arc::clone(&ran);
        let job = move || _ = inside.fetch_add(1, Ordering::Relaxed);
        let after = add_job(&shared, JobKind::Anywhere, "", &[first], job);
        let last = waiting(&shared.slots, &[after]);
        let runner = thread::spawn({
            let shared = Arc::clone(&shared);
            move || run_by_hand(&shared, first)
        });
        cancel_job(&shared, after);
        wait_for_job(&shared, last, None).unwrap();
        runner.join().unwrap();
        let has_failed = shared.slots.failures.panic_of(after).is_some();
        assert_eq!(ran.load(Ordering::Relaxed), usize::from(!has_failed));
        assert_eq!(shared.slots.failures.panic_of(last).is_some(), has_failed);
        assert!(shared.slots.all_ended());
    });
}

#[test]
fn the_end_of_a_job_is_not_missed_by_who_waits_for_it() {
    explore("end against wait", || {
        let shared = hosted();
        let deed = Deed::new();
        let inside = deed.clone();
        let job = add(&shared.slots, JobKind::MAIN, &[], move || inside.act());
        let job = job.expect("it waits for nothing");
        let id = job.publish();
        let runner = thread::spawn({
            let shared = Arc::clone(&shared);
            move || run_by_hand(&shared, id)
        });
        // The walk finds nothing that this thread may run.
        wait_for_job(&shared, id, None).unwrap();
        deed.see();
        runner.join().unwrap();
    });
}

#[test]
fn a_job_that_gets_ready_is_not_missed_by_who_waits_for_it() {
    explore_within(0..=2, "ready against wait", || {
        let shared = hosted();
        let first = on_main(&shared);
        let after = waiting(&shared.slots, &[first]);
        let runner = thread::spawn({
            let shared = Arc::clone(&shared);
            // It leaves jobs that become ready to other threads.
            move || run_by_hand(&shared, first)
        });
        wait_for_job(&shared, after, None).unwrap();
        runner.join().unwrap();
    });
}

#[test]
fn a_wait_that_gives_up_loses_neither_a_job_that_it_has_come_upon_nor_its_end() {
    explore_within(0..=2, "deadline against ready", || {
        let shared = hosted();
        let first = on_main(&shared);
        let after = waiting(&shared.slots, &[first]);
        let runner = thread::spawn({
            let shared = Arc::clone(&shared);
            // It leaves jobs that become ready to other threads.
            move || run_by_hand(&shared, first)
        });
        let deadline = Deadline::after(Duration::ZERO);
        let outcome = wait_for_job(&shared, after, Some(&deadline));
        assert_eq!(outcome.is_ok(), shared.slots.is_done(after));
        wait_for_job(&shared, after, None).unwrap();
        runner.join().unwrap();
    });
}

#[test]
fn a_job_for_the_main_thread_is_not_missed_by_it_and_its_end_not_by_who_waits() {
    explore_within(0..=2, "main thread's job against its sleep", || {
        let shared = Arc::new(hosted_here());
        let flag = Arc::new(AtomicUsize::new(0));
        let other = thread::spawn({
            let (shared, flag) = (Arc::clone(&shared), Arc::clone(&flag));
            move || {
                let shown = add_job::<JobId>(&shared, JobKind::MAIN, "", &[], || ());
                wait_for_job(&shared, shown, None).unwrap();
                flag.store(1, Ordering::Relaxed);
                shared.announce_condition();
            }
        });
        run_until(&shared, None, || flag.load(Ordering::Relaxed) == 1);
        other.join().unwrap();
    });
}

#[test]
fn a_gate_that_is_opened_is_not_missed_by_who_waits_for_what_is_behind_it() {
    explore("gate against wait", || {
        let shared = hosted();
        let (gate, deed) = (add_gate(&shared), Deed::new());
        let inside = deed.clone();
        let last = add_job(&shared, JobKind::Anywhere, "", &[gate], move || inside.act());
        let opener = thread::spawn({
            let shared = Arc::clone(&shared);
            // Only the waiting thread runs what this one opens.
            move || open_gate::<JobId>(&shared, gate, &[])
        });
        wait_for_job(&shared, last, None).unwrap();
        deed.see();
        opener.join().unwrap();
    });
}

#[test]
fn a_gate_that_is_opened_while_what_it_waits_for_ends_is_not_missed() {
    explore("gate against the end of what it is opened after", || {
        let shared = hosted();
        let (gate, deed) = (add_gate(&shared), Deed::new());
        let inside = deed.clone();
        let first = on_main(&shared);
        let last = add_job(&shared, JobKind::Anywhere, "", &[gate], move || inside.act());
        let opener = thread::spawn({
            let shared = Arc::clone(&shared);
            move || open_gate(&shared, gate, &[first])
        });
        let runner = thread::spawn({
            let shared = Arc::clone(&shared);
            move || run_by_hand(&shared, first)
        });
        wait_for_job(&shared, last, None).unwrap();
        deed.see();
        [opener, runner].into_iter().for_each(|other| other.join().unwrap());
        assert!(shared.slots.all_ended());
    });
}

#[test]
fn what_is_behind_a_gate_runs_if_it_was_opened_before_it_was_cancelled() {
    explore("gate against a call that cancels it and a wait", || {
        let shared = hosted();
        let (gate, ran) = (add_gate(&shared), Arc::new(AtomicUsize::new(0)));
        let inside = Arc::clone(&ran);
        let job = move || _ = inside.fetch_add(1, Ordering::Relaxed);
        let last = add_job(&shared, JobKind::Anywhere, "", &[gate], job);
        let opener = thread::spawn({
            let shared = Arc::clone(&shared);
            move || open_gate::<JobId>(&shared, gate, &[])
        });
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || cancel_job(&shared, gate)
        });
        wait_for_job(&shared, last, None).unwrap();
        let has_failed = |job| shared.slots.failures.panic_of(job).is_some();
        assert_eq!(has_failed(last), has_failed(gate));
        assert_eq!(ran.load(Ordering::Relaxed), usize::from(!has_failed(last)));
        [opener, other].into_iter().for_each(|other| other.join().unwrap());
        assert!(shared.slots.all_ended());
    });
}

#[test]
fn a_gate_is_opened_or_cancelled_once() {
    explore("gate against cancel", || {
        let shared = hosted();
        let gate = add_gate(&shared);
        let first = on_main(&shared);
        let last = waiting(&shared.slots, &[gate]);
        let opener = thread::spawn({
            let shared = Arc::clone(&shared);
            move || open_gate(&shared, gate, &[first])
        });
        cancel_job(&shared, gate);
        run_by_hand(&shared, first);
        wait_for_job(&shared, last, None).unwrap();
        opener.join().unwrap();
        assert!(shared.slots.failures.panic_of(last).is_some(), "what is behind it is cancelled");
        assert!(shared.slots.all_ended());
    });
}

#[test]
fn a_job_for_one_worker_is_not_missed_by_it() {
    explore_within(0..=2, "worker's own job against its sleep", || {
        let ran = Arc::new(AtomicUsize::new(0));
        with_worker(|shared| {
            let inside = Arc::clone(&ran);
            let kind = JobKind::Pinned(JobKind::thread_of(0));
            let job = move || _ = inside.fetch_add(1, Ordering::Relaxed);
            let own = add_job::<JobId>(shared, kind, "", &[], job);
            // The host leaves the job to the worker.
            wait_for_job(shared, own, None).unwrap();
            assert_eq!(ran.load(Ordering::Relaxed), 1);
        });
    });
}

/// Runs `call` in a pool with one worker, which drains its queues and ends.
fn with_worker(call: impl FnOnce(&Shared)) {
    let (shared, mut places) = Shared::new(1);
    let shared = Arc::new(shared);
    let worker = thread::spawn({
        let (shared, place) = (Arc::clone(&shared), places.remove(0));
        move || run_worker(&shared, place)
    });
    call(&shared);
    shared.close();
    worker.join().unwrap();
}

#[test]
fn no_job_is_lost_when_the_pool_closes() {
    explore("injected job against close", || {
        let count = Arc::new(AtomicUsize::new(0));
        with_worker(|shared| {
            let inside = Arc::clone(&count);
            let job = move || _ = inside.fetch_add(1, Ordering::Relaxed);
            add_job::<JobId>(shared, JobKind::Anywhere, "", &[], job);
        });
        assert_eq!(count.load(Ordering::Relaxed), 1);
    });
}

/// In models every second job is one of the background.
#[test]
fn jobs_of_the_background_get_their_share_and_no_more_when_two_threads_take_jobs() {
    explore("two that take jobs of the frame and the background", || {
        let queue = Arc::new(JobQueue::new());
        let is_background = |id: JobId| id.index() >= 10;
        for index in 0..6 {
            queue.push(JobId::new(index, 1), false, |_| true);
            queue.push(JobId::new(10 + index, 1), true, |_| true);
        }
        let take = move |queue: &JobQueue| {
            (0..3).filter(|_| queue.pop().is_some_and(is_background)).count()
        };
        let other = thread::spawn({
            let queue = Arc::clone(&queue);
            move || take(&queue)
        });
        let count = take(&queue) + other.join().unwrap();
        // Two may take one each in a turn, and one may lose the count of the other.
        assert!((1..=4).contains(&count), "{count} of 6 are of the background");
    });
}

#[test]
fn two_jobs_in_a_row_are_run_by_the_worker_or_by_who_waits() {
    explore_within(0..=1, "two jobs in a row with a worker", || {
        with_worker(|shared| {
            let deed = Deed::new();
            let (first, second) = (deed.clone(), deed.clone());
            let first = add_job::<JobId>(shared, JobKind::Anywhere, "", &[], move || first.act());
            let second = add_job(shared, JobKind::Anywhere, "", &[first], move || second.act());
            wait_for_job(shared, second, None).unwrap();
            deed.see();
            wait_for_all(shared, false);
        });
    });
}

/// A thread that takes an id out of the queue whose job a waiting thread has already run notifies no
/// other thread of it.
#[test]
fn the_end_of_all_jobs_is_not_missed_for_an_id_of_no_use_in_the_queue() {
    explore_within(3..=3, "flush against an id of no use", || {
        let shared = hosted();
        let (job, old) = (on_main(&shared), on_main(&shared));
        run_by_hand(&shared, old);
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                // It was published, and run before its id was pushed onto the queue.
                shared.ready.push(old, false, |_| true);
                run_by_hand(&shared, job);
                assert!(take_any(&shared).is_none(), "nothing is ready");
            }
        });
        wait_for_all(&shared, false);
        other.join().unwrap();
    });
}

/// A job that waits for others ends without a thread that runs it, if those have ended.
#[test]
fn the_end_of_all_jobs_is_not_missed_where_ended_jobs_are_combined() {
    explore("flush against combine", || {
        let shared = hosted();
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || combine::<JobId>(&shared, &[])
        });
        wait_for_all(&shared, false);
        assert!(shared.slots.is_done(other.join().unwrap()));
    });
}

/// A thread in the middle of a call, as in the body of a scope, ends the last job by `end`, and goes on in
/// that call until a flush of another thread has returned.
fn explore_flush_against_a_long_call(
    name: &str,
    shared: fn() -> Arc<Shared>,
    end: fn(&Shared, JobId),
) {
    explore(name, move || {
        let shared = shared();
        let id = add_job::<JobId>(&shared, JobKind::Anywhere, "", &[], || ());
        let has_seen = Arc::new((Mutex::new(false), Condvar::new()));
        let other = thread::spawn({
            let (shared, has_seen) = (Arc::clone(&shared), Arc::clone(&has_seen));
            move || {
                WorkerContext::with(&shared, |_context| {
                    end(&shared, id);
                    let mut seen = has_seen.0.lock().unwrap();
                    while !*seen {
                        seen = has_seen.1.wait(seen).unwrap();
                    }
                });
            }
        });
        wait_for_all(&shared, false);
        *has_seen.0.lock().unwrap() = true;
        has_seen.1.notify_one();
        other.join().unwrap();
    });
}

#[test]
fn the_end_of_all_jobs_is_not_missed_where_a_long_call_runs_the_last_one() {
    explore_flush_against_a_long_call("flush against a single job", hosted, |shared, _id| {
        run_one(shared);
    });
}

#[test]
fn the_end_of_all_jobs_is_not_missed_where_a_long_call_cancels_the_last_one() {
    explore_flush_against_a_long_call("flush against cancel", hosted, cancel_job);
}

#[test]
fn the_end_of_all_jobs_is_not_missed_where_a_long_call_schedules_one_without_threads() {
    let inline = || Arc::new(Shared::new(0).0);
    explore_flush_against_a_long_call("flush against an inline job", inline, |shared, _id| {
        add_job::<JobId>(shared, JobKind::Anywhere, "", &[], || ());
    });
}

/// A worker that is in a group, as in a scope, does not come to its job of the broadcast until the flush
/// that it is in returns.
#[test]
fn a_flush_in_a_group_of_a_worker_ends_while_another_thread_broadcasts() {
    explore_within(0..=2, "flush against broadcast", || {
        let (shared, mut places) = Shared::new(1);
        let (shared, deed) = (Arc::new(shared), Deed::new());
        let ran = Arc::new(AtomicUsize::new(0));
        let worker = thread::spawn({
            let (shared, place) = (Arc::clone(&shared), places.remove(0));
            let ran = Arc::clone(&ran);
            move || {
                WorkerContext::with_worker(&shared, place, |context| {
                    let group = TaskGroup::new(0);
                    context.inside(&group, || wait_for_all(&shared, false));
                    run_until(&shared, None, || ran.load(Ordering::Relaxed) == 1);
                });
            }
        });
        let kind = JobKind::Pinned(JobKind::thread_of(0));
        let (inside, ran) = (deed.clone(), Arc::clone(&ran));
        let own = add_job::<JobId>(&shared, kind, "", &[], move || {
            inside.act();
            ran.store(1, Ordering::Relaxed);
        });
        wait_for_job(&shared, own, None).unwrap();
        deed.see();
        worker.join().unwrap();
    });
}

/// The next job of a chain is kept by the thread that made it ready, until that thread has to leave.
#[test]
fn a_job_of_a_chain_that_a_thread_leaves_is_not_missed_by_who_waits_for_it() {
    explore("run_until_done in a chain against complete", || {
        let shared = hosted();
        let add = |after: &[JobId]| add_job(&shared, JobKind::Anywhere, "", after, || ());
        let first = add(&[]);
        let second = add(&[first]);
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || run_until(&shared, Some(first), || shared.slots.is_done(first))
        });
        wait_for_job(&shared, second, None).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_condition_that_comes_true_is_not_missed_by_a_thread_of_the_host() {
    explore("condition against run_until", || {
        let shared = hosted();
        let flag = Arc::new(AtomicUsize::new(0));
        let setter = thread::spawn({
            let (shared, flag) = (Arc::clone(&shared), Arc::clone(&flag));
            move || {
                flag.store(1, Ordering::Relaxed);
                shared.announce_condition();
            }
        });
        run_until(&shared, None, || flag.load(Ordering::Relaxed) == 1);
        setter.join().unwrap();
    });
}

#[test]
fn a_job_that_makes_a_condition_true_is_not_missed_by_a_thread_of_the_host() {
    explore("job that makes a condition true against run_until", || {
        let shared = hosted();
        let flag = Arc::new(AtomicUsize::new(0));
        let inside = Arc::clone(&flag);
        // Only a thread that claims it by hand runs it, and then leaves the pool.
        let job =
            add(&shared.slots, JobKind::MAIN, &[], move || inside.store(1, Ordering::Relaxed));
        let job = job.expect("it waits for nothing");
        let id = job.publish();
        let runner = thread::spawn({
            let shared = Arc::clone(&shared);
            move || run_by_hand(&shared, id)
        });
        run_until(&shared, None, || flag.load(Ordering::Relaxed) == 1);
        runner.join().unwrap();
    });
}

#[test]
fn a_job_that_ran_in_a_wait_is_not_missed_by_a_thread_of_the_host_while_its_waiter_goes_on() {
    explore("job that ran in a wait, with a long body behind it, against run_until", || {
        let shared = hosted();
        let flag = Arc::new(AtomicUsize::new(0));
        let inside = Arc::clone(&flag);
        let job = move || inside.store(1, Ordering::Relaxed);
        let id = add_job::<JobId>(&shared, JobKind::Anywhere, "", &[], job);
        let has_seen = Arc::new((Mutex::new(false), Condvar::new()));
        let waiter = thread::spawn({
            let (shared, has_seen) = (Arc::clone(&shared), Arc::clone(&has_seen));
            move || {
                // It stays in the pool, and neither runs another job nor sleeps in it.
                WorkerContext::with(&shared, |_context| {
                    wait_for_job(&shared, id, None).unwrap();
                    let mut seen = has_seen.0.lock().unwrap();
                    while !*seen {
                        seen = has_seen.1.wait(seen).unwrap();
                    }
                });
            }
        });
        run_until(&shared, None, || flag.load(Ordering::Relaxed) == 1);
        *has_seen.0.lock().unwrap() = true;
        has_seen.1.notify_one();
        waiter.join().unwrap();
    });
}

#[test]
fn a_job_of_a_worker_makes_a_condition_true_for_a_thread_of_the_host() {
    explore_within(0..=2, "job of a worker against run_until", || {
        with_worker(|shared| {
            let flag = Arc::new(AtomicUsize::new(0));
            let inside = Arc::clone(&flag);
            let job = move || inside.store(1, Ordering::Relaxed);
            add_job::<JobId>(shared, JobKind::Anywhere, "", &[], job);
            run_until(shared, None, || flag.load(Ordering::Relaxed) == 1);
        });
    });
}

#[test]
fn one_external_thread_at_a_time_is_inside_a_job() {
    explore("two external threads and one job", || {
        let slots = Arc::new(Slots::new());
        let (id, deed) = (published(&slots), Deed::new());
        let help = {
            let (slots, deed) = (Arc::clone(&slots), deed.clone());
            move || {
                let slot = slots.get(id);
                if slot.let_external_in(id) {
                    deed.act();
                    slot.let_external_out(id);
                }
            }
        };
        let other = thread::spawn(help.clone());
        help();
        other.join().unwrap();
    });
}

#[test]
fn an_external_thread_that_runs_a_job_keeps_others_out_of_it() {
    explore("an external thread that runs a job, and another one", || {
        let slots = Arc::new(Slots::new());
        let (id, deed) = (published(&slots), Deed::new());
        let is_running = Arc::new(AtomicUsize::new(0));
        let other = thread::spawn({
            let (slots, deed) = (Arc::clone(&slots), deed.clone());
            let is_running = Arc::clone(&is_running);
            move || {
                let slot = slots.get(id);
                if is_running.load(Ordering::Acquire) == 1 && slot.let_external_in(id) {
                    deed.act();
                    slot.let_external_out(id);
                }
            }
        });
        slots.get(id).start_as_external(id);
        is_running.store(1, Ordering::Release);
        deed.act();
        slots.get(id).let_external_out(id);
        other.join().unwrap();
    });
}

#[test]
fn an_external_thread_that_comes_late_lets_no_other_into_the_next_job() {
    explore("external threads of two jobs in one slot", || {
        let slots = Arc::new(Slots::new());
        let (ended, deed) = (published(&slots), Deed::new());
        let next = JobId::new(ended.index(), ended.generation() + 1);
        // Done before there are other threads: loom lets a store beside a compare-exchange happen in any
        // order.
        slots.get(next).start_as_external(next);
        let help = |id: JobId, act: fn(&Deed)| {
            let (slots, deed) = (Arc::clone(&slots), deed.clone());
            thread::spawn(move || {
                let slot = slots.get(id);
                if slot.let_external_in(id) {
                    act(&deed);
                    slot.let_external_out(id);
                }
            })
        };
        let others = [help(ended, |_| ()), help(next, Deed::act)];
        deed.act();
        slots.get(next).let_external_out(next);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn work_inside_a_job_is_not_missed_by_who_waits_for_the_job() {
    work_inside_a_job("group opened inside a job against wait", |shared, id| {
        wait_for_job(shared, id, None).unwrap();
    });
}

#[test]
fn work_inside_a_job_is_not_missed_by_who_waits_for_all() {
    work_inside_a_job("group opened inside a job against flush", |shared, _id| {
        wait_for_all(shared, false);
    });
}

/// A thread that opens a group inside a job, and ends it. It does not help with what it opens, so it ends only
/// if a waiting thread comes.
fn open_inside(shared: &Arc<Shared>, id: JobId) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let job = claim(&shared.slots, id);
        job.start();
        open_for_others(&shared, None, Some(id));
        WorkerContext::with(&shared, |context| {
            assert!(run_job(&shared, context, job, |_id| false).is_none());
        });
    })
}

fn work_inside_a_job(name: &str, wait: fn(&Shared, JobId)) {
    explore(name, move || {
        let shared = hosted();
        let id = on_main(&shared);
        let runner = open_inside(&shared, id);
        wait(&shared, id);
        runner.join().unwrap();
    });
}

/// An external thread that gives up lets another one in, which waits behind the job.
#[test]
fn work_inside_a_job_that_a_thread_gives_up_is_not_missed_by_who_waits_behind_it() {
    // One preemption: with two this alone takes nine seconds.
    explore_within(0..=1, "helper that gives up inside a job against wait", || {
        let shared = hosted();
        let id = on_main(&shared);
        let behind = waiting(&shared.slots, &[id]);
        let runner = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let job = claim(&shared.slots, id);
                job.start();
                WorkerContext::with(&shared, |context| {
                    // It helps with the first task only, so it ends only if the waiting thread comes.
                    with_tasks_for_others(&shared, 2, (None, Some(id)), |_group| {
                        help_inside(&shared, context, id, &mut || true);
                    });
                    assert!(run_job(&shared, context, job, |_id| false).is_none());
                });
            }
        });
        wait_for_job(&shared, behind, None).unwrap();
        runner.join().unwrap();
    });
}

#[test]
fn the_end_of_all_jobs_is_not_missed_where_a_job_without_threads_cancels_the_last_one() {
    let inline = || Arc::new(Shared::new(0).0);
    explore_flush_against_a_long_call("flush against cancel in a job", inline, |shared, _id| {
        let id = add_gate(shared);
        WorkerContext::with(shared, |context| {
            context.is_draining.set(true);
            cancel_job(shared, id);
            context.is_draining.set(false);
        });
    });
}

/// A wake-up that is spent on a thread for which the work is of no use.
#[test]
fn work_inside_a_job_is_not_missed_beside_a_thread_that_waits_behind_another() {
    explore_within(0..=1, "group opened inside a job against two waits", || {
        let shared = hosted();
        let (id, strange) = (on_main(&shared), on_main(&shared));
        let behind = waiting(&shared.slots, &[strange]);
        let runner = open_inside(&shared, id);
        let waiter = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                wait_for_job(&shared, id, None).unwrap();
                run_by_hand(&shared, strange);
            }
        });
        wait_for_job(&shared, behind, None).unwrap();
        [runner, waiter].into_iter().for_each(|thread| thread.join().unwrap());
    });
}
