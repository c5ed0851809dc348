//! Calls of the host in awkward places: conditions that sleep, panic or nest, and
//! hosts in the middle of a job.

use crate::support::{pool, wait_until, within};
use formic_jobs::{JobGraph, Pool, Threads};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

fn flag() -> (Arc<AtomicBool>, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    (Arc::clone(&flag), flag)
}

#[test]
fn a_host_that_sleeps_is_woken_by_a_job_that_makes_its_condition_true() {
    within(LONG, || {
        let pool = pool(1);
        let ((started, inside_started), (is_over, inside)) = (flag(), flag());
        let job = move || {
            inside_started.store(true, SeqCst);
            pause(50);
            inside.store(true, SeqCst);
        };
        let job = pool.schedule(job);
        wait_until(|| started.load(SeqCst));
        pool.run_until(|| is_over.load(SeqCst));
        pool.run_until(|| pool.is_done(job));
    });
}

#[test]
fn a_host_is_told_of_a_job_while_its_worker_goes_on_with_a_long_one() {
    within(LONG, || {
        let pool = pool(1);
        let ((started, inside_started), (is_over, inside)) = (flag(), flag());
        let (has_left, left) = flag();
        let first = pool.schedule(move || {
            inside_started.store(true, SeqCst);
            // The host has lain down by then.
            pause(50);
            inside.store(true, SeqCst);
        });
        let long = pool.after(&[first]).schedule(move || wait_until(|| left.load(SeqCst)));
        wait_until(|| started.load(SeqCst));
        pool.run_until(|| is_over.load(SeqCst));
        has_left.store(true, SeqCst);
        // It fails if it has waited for too long.
        pool.complete(long);
    });
}

#[test]
fn a_condition_that_waits_does_not_use_up_the_wake_up_of_the_sleep_around_it() {
    within(LONG, || {
        let pool = Arc::new(pool(1));
        let (is_over, _) = flag();
        let mut looks = 0;
        pool.run_until(|| {
            looks += 1;
            if looks == 2 && !is_over.load(SeqCst) {
                let (started, inside_started) = flag();
                let (inside, woken) = (Arc::clone(&is_over), Arc::clone(&pool));
                let job = move || {
                    inside_started.store(true, SeqCst);
                    pause(30);
                    inside.store(true, SeqCst);
                    woken.wake_host_threads();
                    pause(30);
                };
                let job = pool.schedule(job);
                wait_until(|| started.load(SeqCst));
                pool.complete(job);
                return false;
            }
            is_over.load(SeqCst)
        });
    });
}

#[test]
fn a_condition_that_panics_passes_the_wake_up_on() {
    within(LONG, || {
        let pool = Pool::new(Threads::Host(2)).expect("no thread is asked for");
        let (is_over, is_bad) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|threads| {
            // The last to fall asleep is the first to be woken.
            threads.spawn(|| pool.run_until(|| is_over.load(SeqCst)));
            pause(50);
            threads.spawn(|| {
                let bad = || if is_bad.load(SeqCst) { resume_unwind(Box::new(1)) } else { false };
                assert!(catch_unwind(AssertUnwindSafe(|| pool.run_until(bad))).is_err());
            });
            pause(50);
            is_bad.store(true, SeqCst);
            let is_seen = AtomicBool::new(false);
            pool.scope(|scope| {
                scope.spawn(|_| is_seen.store(true, SeqCst));
                wait_until(|| is_seen.load(SeqCst));
            });
            is_over.store(true, SeqCst);
            pool.wake_host_threads();
        });
    });
}

#[test]
fn conditions_nest() {
    within(LONG, || {
        let pool = Pool::new(Threads::Host(1)).expect("no thread is asked for");
        let mut looks = 0;
        pool.run_until(|| {
            looks += 1;
            let mut inner = 0;
            pool.run_until(|| {
                inner += 1;
                // The look before the sleep: something wakes the thread at once.
                if inner == 2 {
                    pool.wake_host_threads();
                }
                inner > 2
            });
            looks > 2
        });
    });
}

#[test]
fn a_host_inside_a_batch_does_not_get_into_the_same_loop() {
    within(LONG, || {
        let pool = pool(1);
        let buffers: Vec<_> = (0..pool.parallelism()).map(|_| Mutex::new(())).collect();
        pool.for_each_range_with_slot(8, |slot, _| {
            let _held = buffers[slot].try_lock().expect("nobody else has this slot");
            let mut looks = 0;
            pool.run_until(|| {
                looks += 1;
                looks > 1
            });
        });
    });
}

#[test]
fn a_host_inside_a_join_sleeps() {
    within(LONG, || {
        let pool = Arc::new(pool(1));
        let (is_over, inside) = flag();
        let looks = Arc::new(AtomicUsize::new(0));
        let (inner, counted) = (Arc::clone(&pool), Arc::clone(&looks));
        let look = move || {
            counted.fetch_add(1, SeqCst);
            inside.load(SeqCst)
        };
        let job = pool.schedule(move || _ = inner.join(|| inner.run_until(look), || ()));
        pause(100);
        assert!(looks.load(SeqCst) < 1_000, "it looks and looks");
        is_over.store(true, SeqCst);
        pool.wake_host_threads();
        pool.complete(job);
    });
}

#[test]
fn the_closure_of_a_cancelled_job_is_dropped_inside_the_job() {
    struct FlushOnDrop(Arc<Pool>);

    impl Drop for FlushOnDrop {
        fn drop(&mut self) {
            // It panics: a job that waits for all jobs would wait for itself.
            self.0.flush();
        }
    }

    within(LONG, || {
        let pool = Arc::new(pool(1));
        let bad = pool.schedule(|| resume_unwind(Box::new(1)));
        let owned = FlushOnDrop(Arc::clone(&pool));
        let cancelled = pool.after(&[bad]).schedule(move || {
            let _owned = &owned;
        });
        assert!(pool.try_complete(cancelled).is_err());
    });
}

#[test]
fn a_payload_that_panics_when_dropped_does_not_come_out_of_the_end_of_the_pool() {
    struct Bad;

    impl Drop for Bad {
        fn drop(&mut self) {
            panic_any("on purpose");
        }
    }

    let pool = pool(1);
    pool.schedule(|| resume_unwind(Box::new(Bad)));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(pool))).is_ok());
}

/// Jobs of a graph that get ready wake no thread if they take next to nothing: the thread that made
/// them ready is to run them, and has other things to do by then.
#[test]
fn a_host_that_leaves_a_graph_tells_its_caller_of_the_jobs_that_it_has_made_ready() {
    within(LONG, || {
        let time = Arc::new(AtomicU64::new(0));
        let look = Arc::clone(&time);
        let clock = move || Duration::from_nanos(look.load(SeqCst));
        let pool = Pool::builder().threads(Threads::Host(1)).clock(clock).build().unwrap();
        let [is_last, is_over, is_taken, has_ended] = [(); 4].map(|()| AtomicBool::new(false));
        let (caller, ran) = (std::thread::current().id(), AtomicUsize::new(0));
        let mut graph = JobGraph::builder();
        let heavy = ["heavy", "as heavy"].map(|name| {
            graph.add(name, &[], |_| {
                time.fetch_add(1_000_000, SeqCst);
                match (is_last.load(SeqCst), std::thread::current().id() == caller) {
                    (false, _) => {}
                    (true, true) => wait_until(|| is_taken.load(SeqCst)),
                    (true, false) => {
                        is_taken.store(true, SeqCst);
                        // Until the caller sleeps.
                        pause(100);
                    }
                }
            })
        });
        for name in ["light", "as light"] {
            graph.add(name, &heavy, |_| {
                ran.fetch_add(1, SeqCst);
                is_over.store(is_last.load(SeqCst), SeqCst);
            });
        }
        let mut graph = graph.build().unwrap();
        std::thread::scope(|threads| {
            // In these it is learned what the jobs take.
            (0..4).for_each(|_| graph.run(&pool));
            is_last.store(true, SeqCst);
            threads.spawn(|| {
                pool.run_until(|| is_over.load(SeqCst));
                wait_until(|| has_ended.load(SeqCst));
            });
            graph.run(&pool);
            has_ended.store(true, SeqCst);
        });
        assert_eq!(ran.load(SeqCst), 10);
    });
}
