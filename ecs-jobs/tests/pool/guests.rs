//! Outside threads: any number may call at once, and none waits for a stranger.

use crate::support::{pool, wait_until, within};
use formic_jobs::Scope;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Waits until `count` threads have come here.
fn meet(here: &AtomicUsize, count: usize) {
    here.fetch_add(1, Ordering::SeqCst);
    wait_until(|| here.load(Ordering::SeqCst) >= count);
}

#[test]
fn a_lock_may_be_held_across_a_loop_with_slots_beside_a_job_that_wants_it() {
    within(Duration::from_secs(20), || {
        // The only worker waits for the lock, whose holder runs a loop.
        let pool = pool(1);
        let lock = Mutex::new(());
        let (held, wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                pool.scope(|scope| {
                    scope.spawn(|_| {
                        wait_until(|| held.load(Ordering::SeqCst));
                        wanted.store(true, Ordering::SeqCst);
                        drop(lock.lock().unwrap());
                    });
                    wait_until(|| wanted.load(Ordering::SeqCst));
                });
            });
            let guard = lock.lock().unwrap();
            held.store(true, Ordering::SeqCst);
            wait_until(|| wanted.load(Ordering::SeqCst));
            pool.for_each_range_with_slot(1, |_, _| ());
            drop(guard);
        });
    });
}

#[test]
fn two_pools_may_run_loops_with_slots_in_each_other() {
    within(Duration::from_secs(20), || {
        let (left, right) = (pool(1), pool(1));
        let here = AtomicUsize::new(0);
        left.scope(|scope| {
            scope.spawn(|_| {
                meet(&here, 2);
                right.for_each_range_with_slot(1, |_, _| ());
            });
            wait_until(|| here.load(Ordering::SeqCst) >= 1);
            right.scope(|scope| {
                scope.spawn(|_| {
                    meet(&here, 2);
                    left.for_each_range_with_slot(1, |_, _| ());
                });
                wait_until(|| here.load(Ordering::SeqCst) >= 2);
            });
        });
    });
}

#[test]
fn two_pools_without_workers_may_run_loops_with_slots_in_each_other() {
    within(Duration::from_secs(20), || {
        let (left, right) = (pool(0), pool(0));
        let here = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                left.for_each_range_with_slot(1, |_, _| {
                    meet(&here, 2);
                    right.for_each_range_with_slot(1, |_, _| ());
                });
            });
            threads.spawn(|| {
                right.for_each_range_with_slot(1, |_, _| {
                    meet(&here, 2);
                    left.for_each_range_with_slot(1, |_, _| ());
                });
            });
        });
    });
}

#[test]
fn a_loop_with_slots_ends_while_a_stranger_keeps_all_workers() {
    within(Duration::from_secs(20), || {
        let pool = pool(1);
        let (here, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                pool.scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|_| {
                            meet(&here, 2);
                            wait_until(|| ended.load(Ordering::SeqCst));
                        });
                    }
                });
            });
            // The worker and the other outside thread are both in its scope.
            wait_until(|| here.load(Ordering::SeqCst) == 2);
            pool.for_each_range_with_slot(3, |_, _| std::thread::sleep(Duration::from_millis(1)));
            ended.store(true, Ordering::SeqCst);
        });
    });
}

#[test]
fn a_loop_with_slots_ends_beside_a_scope_that_has_always_another_job() {
    fn again<'scope>(stop: &'scope AtomicBool, began: &'scope AtomicUsize, scope: &Scope<'scope>) {
        began.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(100));
        if !stop.load(Ordering::Relaxed) {
            scope.spawn(move |scope| again(stop, began, scope));
        }
    }
    within(Duration::from_secs(20), || {
        let pool = pool(1);
        let (stop, began) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                pool.scope(|scope| {
                    (0..4).for_each(|_| scope.spawn(|scope| again(&stop, &began, scope)));
                });
            });
            wait_until(|| began.load(Ordering::Relaxed) > 10);
            pool.for_each_range_with_slot(1, |_, _| ());
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn a_batch_may_wait_for_a_thread_that_runs_a_loop_with_slots() {
    within(Duration::from_secs(20), || {
        for worker_count in [0, 1, 3] {
            let pool = pool(worker_count);
            pool.for_each_range_with_slot(1, |_, _| {
                std::thread::scope(|threads| {
                    threads.spawn(|| pool.for_each_range_with_slot(1, |_, _| ()));
                });
            });
        }
    });
}
