//! Promises under load: that nothing starves, that a thread may leave, that costs end, and
//! that no failure is forgotten.

use crate::support::{pool, wait_until, within};
use formic_jobs::{JobError, JobHandle, Pool, Scope};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// A chain of jobs, each after the one before, the first of which sets the flag.
fn chain(pool: &Pool, flag: &Arc<AtomicBool>, ran: &Arc<AtomicUsize>) -> JobHandle {
    let gate = pool.on_main().schedule(|| ());
    let (flag, inside) = (Arc::clone(flag), Arc::clone(ran));
    let first = move || {
        inside.fetch_add(1, Ordering::SeqCst);
        flag.store(true, Ordering::SeqCst);
    };
    let first = pool.after(&[gate]).schedule(first);
    let mut last = first;
    for _ in 0..50 {
        let ran = Arc::clone(ran);
        let job = move || {
            pause(10);
            ran.fetch_add(1, Ordering::SeqCst);
        };
        last = pool.after(&[last]).schedule(job);
    }
    first
}

fn hosted() -> Pool {
    Pool::new(formic_jobs::Threads::Host(1)).expect("it has no threads")
}

#[test]
fn a_thread_in_run_until_looks_at_its_condition_before_each_job_of_a_chain() {
    within(Duration::from_secs(30), || {
        let pool = hosted();
        let (flag, ran) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
        chain(&pool, &flag, &ran);
        pool.run_until(|| flag.load(Ordering::SeqCst));
        let count = ran.load(Ordering::SeqCst);
        assert!(count <= 2, "{count} jobs of the chain were run");
        pool.flush();
        assert_eq!(ran.load(Ordering::SeqCst), 51);
    });
}

#[test]
fn a_thread_in_run_until_done_leaves_when_its_job_of_a_chain_is_done() {
    within(Duration::from_secs(30), || {
        let pool = hosted();
        let (flag, ran) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
        let first = chain(&pool, &flag, &ran);
        pool.run_until_done(first);
        let count = ran.load(Ordering::SeqCst);
        assert!(count <= 2, "{count} jobs of the chain were run");
        pool.flush();
        assert_eq!(ran.load(Ordering::SeqCst), 51);
    });
}

#[test]
fn a_thread_in_run_until_looks_at_its_condition_between_the_jobs_of_a_scope() {
    within(Duration::from_secs(30), || {
        let pool = hosted();
        let (ran, by_host) = <(AtomicUsize, AtomicUsize)>::default();
        let owner_goes_on = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let host = threads.spawn(|| {
                pool.run_until(|| by_host.load(Ordering::SeqCst) > 0);
                owner_goes_on.store(true, Ordering::SeqCst);
            });
            let id = std::thread::current().id();
            pool.scope(|scope| {
                for _ in 0..40 {
                    scope.spawn(|_| {
                        ran.fetch_add(1, Ordering::SeqCst);
                        pause(5);
                        by_host.fetch_add(
                            usize::from(std::thread::current().id() != id),
                            Ordering::SeqCst,
                        );
                    });
                }
                while !owner_goes_on.load(Ordering::SeqCst) {
                    pause(1);
                }
                assert!(by_host.load(Ordering::SeqCst) <= 2, "the host stayed");
            });
            host.join().expect("it ends well");
        });
        assert_eq!(ran.load(Ordering::SeqCst), 40);
    });
}

/// A job that schedules itself again until the flag is set.
fn again(pool: &Arc<Pool>, stop: &Arc<AtomicBool>) {
    let (inside, stop) = (Arc::clone(pool), Arc::clone(stop));
    let job = move || {
        if !stop.load(Ordering::SeqCst) {
            again(&inside, &stop);
        }
    };
    pool.schedule(job);
}

#[test]
fn a_job_that_schedules_itself_again_keeps_no_other_waiting() {
    within(Duration::from_secs(30), || {
        let pool = Arc::new(pool(1));
        let stop = Arc::new(AtomicBool::new(false));
        let ran = Arc::new(AtomicUsize::new(0));
        again(&pool, &stop);
        pause(20);
        for _ in 0..10 {
            let ran = Arc::clone(&ran);
            pool.schedule(move || _ = ran.fetch_add(1, Ordering::SeqCst));
        }
        let began = Instant::now();
        while ran.load(Ordering::SeqCst) < 10 && began.elapsed() < Duration::from_secs(3) {
            pause(5);
        }
        stop.store(true, Ordering::SeqCst);
        assert_eq!(ran.load(Ordering::SeqCst), 10, "others waited for three seconds");
        pool.flush();
    });
}

#[test]
fn a_chain_in_the_background_gives_way_to_frame_work_between_its_jobs() {
    let pool = Arc::new(pool(1));
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |number: u32| {
        let order = Arc::clone(&order);
        move || order.lock().expect("no test panics with it").push(number)
    };
    let (go, gone) = mpsc::channel();
    let (inside, frame, begin) = (Arc::clone(&pool), note(2), note(1));
    // All are there before the first ends.
    let first = pool.in_background().schedule(move || {
        gone.recv().expect("the test goes on");
        begin();
        inside.schedule(frame);
    });
    let second = pool.in_background().after(&[first]).schedule(note(3));
    pool.in_background().after(&[second]).schedule(note(4));
    go.send(()).expect("the job waits");
    wait_until(|| order.lock().expect("no test panics with it").len() == 4);
    assert_eq!(*order.lock().expect("no test panics with it"), [1, 2, 3, 4]);
}

fn fail() {
    resume_unwind(Box::new("on purpose"));
}

const MANY: usize = 70_000;

#[test]
#[cfg_attr(miri, ignore = "too many jobs")]
fn a_failed_job_never_reports_success_however_many_have_failed_since() {
    within(Duration::from_secs(60), || {
        let pool = pool(0);
        let failed = pool.schedule(fail);
        let cancelled = pool.after(&[failed]).schedule(|| unreachable!());
        for _ in 0..MANY {
            pool.schedule(fail);
        }
        assert!(pool.try_complete(failed).is_err());
        assert!(pool.try_complete(cancelled).is_err());
        let ran = Arc::new(AtomicBool::new(false));
        let inside = Arc::clone(&ran);
        let after = pool.after(&[cancelled]).schedule(move || inside.store(true, Ordering::SeqCst));
        assert!(pool.try_complete(after).is_err());
        assert!(!ran.load(Ordering::SeqCst));
        let fine = pool.schedule(|| ());
        assert!(pool.try_complete(fine).is_ok());
    });
}

#[test]
#[cfg_attr(miri, ignore = "too many jobs")]
fn payloads_of_many_failures_are_dropped_and_a_flush_costs_nothing_after_them() {
    within(Duration::from_secs(60), || {
        let pool = pool(0);
        let payload = Arc::new(());
        for _ in 0..MANY {
            let payload = Arc::clone(&payload);
            pool.schedule(move || resume_unwind(Box::new(payload)));
        }
        let kept = Arc::strong_count(&payload) - 1;
        assert!(kept <= 2_000, "{kept} payloads are kept");
        let mut last = None;
        // Each flush resumes one panic, as long as there are any.
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| pool.flush())) {
            last = Some(payload);
        }
        assert!(last.is_some());
        assert_flush_costs_nothing(&pool);
    });
}

fn time_of(times: usize, call: impl Fn()) -> Duration {
    let began = Instant::now();
    (0..times).for_each(|_| call());
    began.elapsed()
}

/// Of five times, the least, since the machine may be busy.
fn assert_flush_costs_nothing(pool: &Pool) {
    let took = (0..5).map(|_| time_of(100, || pool.flush())).min();
    assert!(took < Some(Duration::from_millis(20)), "100 idle flushes took {took:?}");
}

#[test]
#[cfg_attr(miri, ignore = "too many jobs")]
fn a_flush_costs_nothing_after_a_burst_of_pending_jobs() {
    within(Duration::from_secs(60), || {
        let pool = hosted();
        for _ in 0..200_000 {
            pool.schedule(|| ());
        }
        pool.flush();
        assert_flush_costs_nothing(&pool);
    });
}

#[test]
fn jobs_wait_for_each_other_in_a_cycle_and_are_told_so() {
    if !cfg!(debug_assertions) {
        return;
    }
    let waits: [fn(&Pool, JobHandle); 2] = [Pool::complete, Pool::run_until_done];
    within(Duration::from_secs(30), move || waits.into_iter().for_each(wait_in_a_cycle));
}

fn wait_in_a_cycle(wait: fn(&Pool, JobHandle)) {
    let pool = Arc::new(pool(2));
    let handles = Arc::new(Mutex::new(Vec::new()));
    let errors = Arc::new(Mutex::new(Vec::new()));
    let wait_for = |other: usize| {
        let (pool, handles, errors) =
            (Arc::clone(&pool), Arc::clone(&handles), Arc::clone(&errors));
        move || {
            let handle = loop {
                if let Some(&handle) = handles.lock().unwrap().get(other) {
                    break handle;
                }
                pause(1);
            };
            let wait = AssertUnwindSafe(|| wait(&pool, handle));
            if let Err(payload) = catch_unwind(wait) {
                let text = payload.downcast_ref::<String>().cloned();
                errors.lock().unwrap().push(text.unwrap_or_default());
            }
        }
    };
    let jobs = [pool.named("bake").schedule(wait_for(1)), pool.schedule(wait_for(0))];
    pause(50);
    handles.lock().unwrap().extend(jobs);
    jobs.iter().for_each(|&job| drop(pool.try_complete(job)));
    let errors = errors.lock().unwrap();
    assert_eq!(errors.len(), 1, "one of the two is told: {errors:?}");
    let text = &errors[0];
    let [begin, baker, other] =
        ["a wait without an end: ", "`bake`, JobHandle(", "wait_in_a_cycle"];
    assert!(text.starts_with(begin) && text.contains(baker) && text.contains(other), "{text}");
}

/// The main thread runs what is for it in each of its waits, also in that of a job.
#[test]
fn a_job_for_the_main_thread_that_waits_for_the_one_below_it_is_told_so() {
    if !cfg!(debug_assertions) {
        return;
    }
    within(Duration::from_secs(30), || {
        let pool = Arc::new(pool(1));
        let below = Arc::new(OnceLock::<JobHandle>::new());
        let (begin, begun) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let both = Arc::new(Barrier::new(2));
        let (host, handle, met) = (Arc::clone(&pool), Arc::clone(&below), Arc::clone(&both));
        // On the worker, which runs nothing else till the other one waits for it.
        let load = pool.schedule(move || {
            met.wait();
            begun.recv().expect("the other one begins");
            let pool = Arc::clone(&host);
            let (begin, begun) = mpsc::channel();
            host.on_main().schedule(move || {
                begin.send(()).expect("the job below waits for it");
                let below = *handle.get().expect("it is set");
                let wait = AssertUnwindSafe(|| pool.complete(below));
                tell.send(catch_unwind(wait)).expect("the test waits for it");
            });
            begun.recv().expect("it begins");
        });
        let host = Arc::clone(&pool);
        let parse = pool.schedule(move || {
            begin.send(()).expect("the other one waits");
            host.complete(load);
        });
        below.set(parse).expect("nothing else sets it");
        both.wait();
        pool.complete(parse);
        let payload = told.recv().expect("it has run").expect_err("it would wait for itself");
        let text = payload.downcast_ref::<String>().expect("it says why");
        assert!(text.contains("a wait without an end"), "{text}");
    });
}

/// Its first batches would take more than a second each, if they were cut as for light bodies.
#[test]
fn a_thread_in_run_until_leaves_a_long_loop_of_heavy_bodies_in_time() {
    within(Duration::from_secs(60), || {
        let (pool, is_over) = (pool(1), Arc::new(AtomicBool::new(false)));
        let inside = Arc::clone(&is_over);
        let job = pool.parallel_for(0..4_000, move |_| {
            if !inside.load(Ordering::SeqCst) {
                pause(5);
            }
        });
        pause(100);
        let (began, mut looks) = (Instant::now(), 0);
        pool.run_until(|| {
            looks += 1;
            looks > 3
        });
        let took = began.elapsed();
        is_over.store(true, Ordering::SeqCst);
        pool.complete(job);
        assert!(took < Duration::from_secs(2), "three batches took {took:?}");
    });
}

/// A scope whose jobs go on for ever, on all workers.
#[test]
fn a_scope_that_never_runs_dry_leaves_turns_to_jobs_with_handles() {
    fn again<'scope>(scope: &Scope<'scope>, is_over: &'scope AtomicBool) {
        if !is_over.load(Ordering::SeqCst) {
            scope.spawn(|scope| again(scope, is_over));
        }
    }
    within(Duration::from_secs(60), || {
        let (pool, is_over) = (pool(2), AtomicBool::new(false));
        let started = Barrier::new(2);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                pool.scope(|scope| {
                    (0..8).for_each(|_| scope.spawn(|scope| again(scope, &is_over)));
                    started.wait();
                });
            });
            started.wait();
            let job = pool.schedule(|| ());
            while !pool.is_done(job) {
                pause(1);
            }
            is_over.store(true, Ordering::SeqCst);
        });
    });
}

/// Waits for a job that waits for a job, and so on.
fn deep(pool: &Arc<Pool>, left: usize) -> Result<(), JobError> {
    if left == 0 {
        return Ok(());
    }
    let (inside, result) = (Arc::clone(pool), Arc::new(Mutex::new(None)));
    let told = Arc::clone(&result);
    let job = pool.schedule(move || *told.lock().unwrap() = Some(deep(&inside, left - 1).is_ok()));
    pool.try_complete(job)
}

/// The same where each wait runs any job.
fn deep_in_any(pool: &Arc<Pool>, left: usize) -> Result<(), JobError> {
    let inside = Arc::clone(pool);
    let job = pool.schedule(move || {
        if left > 0 {
            drop(deep_in_any(&inside, left - 1));
        }
    });
    pool.run_until_done(job);
    pool.try_complete(job)
}

#[test]
#[cfg_attr(miri, ignore = "deep")]
fn waits_inside_of_waits_end_with_an_error_before_the_stack_does() {
    within(Duration::from_secs(60), || {
        let pool = Arc::new(pool(1));
        drop(deep(&pool, 100_000));
        pool.complete(pool.schedule(|| ()));
        drop(deep_in_any(&pool, 100_000));
        pool.complete(pool.schedule(|| ()));
        let work: [fn(&Pool); 2] =
            [|pool| _ = pool.try_run_one(), |pool| _ = pool.run_main_thread_jobs()];
        for work in work {
            deep_in_single_jobs(&pool, 100_000, work);
            while catch_unwind(AssertUnwindSafe(|| pool.flush())).is_err() {}
        }
    });
}

/// Runs a job inside of a job, and so on, without waiting for it.
fn deep_in_single_jobs(pool: &Arc<Pool>, left: usize, work: fn(&Pool)) {
    let inside = Arc::clone(pool);
    pool.on_main().schedule(move || {
        if left > 0 {
            deep_in_single_jobs(&inside, left - 1, work);
        }
    });
    work(pool);
}

#[test]
#[cfg_attr(miri, ignore = "takes times")]
fn a_flush_costs_each_job_that_it_runs_next_to_nothing() {
    const COUNT: usize = 500;
    let pool = hosted();
    let ran = Arc::new(AtomicUsize::new(0));
    let schedule = || {
        ran.store(0, Ordering::Relaxed);
        for _ in 0..COUNT {
            let ran = Arc::clone(&ran);
            pool.schedule(move || _ = ran.fetch_add(1, Ordering::Relaxed));
        }
    };
    let least_of = |wait: &dyn Fn()| {
        let times = (0..20).map(|_| {
            schedule();
            time_of(1, wait)
        });
        times.min().expect("there are some")
    };
    let flushed = least_of(&|| pool.flush());
    let counted = least_of(&|| pool.run_until(|| ran.load(Ordering::Relaxed) == COUNT));
    assert!(flushed < 2 * counted, "{flushed:?}, and {counted:?} where the jobs are counted");
}
