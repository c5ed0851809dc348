//! Calls inside jobs, and the promise that a wait helps only its own group.

use crate::support::{pool, pools, wait_until, within};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn scopes_loops_and_joins_nest_in_each_other() {
    within(Duration::from_secs(30), || {
        for pool in pools() {
            let count = AtomicUsize::new(0);
            pool.for_each_index(4, |_| {
                pool.scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|_| {
                            let add = |_| {
                                count.fetch_add(1, Ordering::Relaxed);
                            };
                            pool.join(|| pool.for_each_index(5, add), || add(0));
                        });
                    }
                });
            });
            assert_eq!(count.into_inner(), 4 * 3 * 6);
        }
    });
}

#[test]
fn a_lock_may_be_held_across_a_wait() {
    // With a wait that helps with any job, the holder of the lock picks up another
    // job of the outer scope, which wants the lock (rayon #592).
    within(Duration::from_secs(30), || {
        for pool in pools() {
            let lock = Mutex::new(0);
            let rounds = if cfg!(miri) { 3 } else { 40 };
            pool.scope(|scope| {
                for _ in 0..rounds {
                    scope.spawn(|_| {
                        let mut total = lock.lock().unwrap();
                        let part = AtomicUsize::new(0);
                        let add = |_: usize| {
                            std::thread::sleep(Duration::from_micros(20));
                            part.fetch_add(1, Ordering::Relaxed);
                        };
                        pool.for_each_index(4, add);
                        pool.scope(|scope| scope.spawn(|_| add(0)));
                        pool.join(|| add(0), || add(0));
                        *total += part.into_inner();
                    });
                }
            });
            assert_eq!(lock.into_inner().unwrap(), 7 * rounds);
        }
    });
}

#[test]
fn a_waiting_owner_helps_with_a_loop_inside_its_own_job() {
    within(Duration::from_secs(20), || {
        // One worker runs the job; the second index of its loop can only be run
        // by the owner of the scope, which waits, and which is asleep by then.
        let pool = pool(1);
        let caller = std::thread::current().id();
        let helped = AtomicBool::new(false);
        let started = AtomicBool::new(false);
        pool.scope(|scope| {
            scope.spawn(|_| {
                started.store(true, Ordering::SeqCst);
                assert_ne!(std::thread::current().id(), caller);
                std::thread::sleep(Duration::from_millis(20));
                pool.for_each_index(3, |index| {
                    if index == 0 {
                        // Long enough to make the rest worth sharing.
                        std::thread::sleep(Duration::from_millis(1));
                    } else if std::thread::current().id() == caller {
                        helped.store(true, Ordering::SeqCst);
                    } else {
                        wait_until(|| helped.load(Ordering::SeqCst));
                    }
                });
            });
            // Keep away from the job until the worker has it.
            wait_until(|| started.load(Ordering::SeqCst));
        });
        assert!(helped.into_inner());
    });
}

#[test]
fn a_waiting_owner_leaves_jobs_of_other_groups_alone() {
    within(Duration::from_secs(20), || {
        // While the caller waits for its inner scope, the outer scope has a job
        // that no other thread is free to take: it stays until the inner one ends.
        let pool = pool(1);
        let caller = std::thread::current().id();
        let (taken, inner_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        pool.scope(|outer| {
            pool.scope(|inner| {
                inner.spawn(|_| {
                    taken.store(true, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(50));
                });
                wait_until(|| taken.load(Ordering::SeqCst));
                outer.spawn(|_| {
                    let stranger = std::thread::current().id() == caller;
                    assert!(!stranger || inner_ended.load(Ordering::SeqCst));
                });
            });
            inner_ended.store(true, Ordering::SeqCst);
        });
    });
}

#[test]
fn deep_nesting_ends() {
    fn descend(pool: &formic_jobs::Pool, depth: usize, leaves: &AtomicUsize) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        pool.scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|_| descend(pool, depth - 1, leaves));
            }
        });
    }
    within(Duration::from_secs(30), || {
        let depth = if cfg!(miri) { 3 } else { 9 };
        for pool in pools() {
            let leaves = AtomicUsize::new(0);
            descend(&pool, depth, &leaves);
            assert_eq!(leaves.into_inner(), 1 << depth);
        }
    });
}

#[test]
fn a_worker_of_one_pool_is_a_guest_of_another() {
    within(Duration::from_secs(20), || {
        let (outer, inner) = (pool(2), pool(1));
        let count = AtomicUsize::new(0);
        outer.for_each_index(8, |_| {
            std::thread::sleep(Duration::from_micros(100));
            inner.scope(|scope| {
                scope.spawn(|_| {
                    outer.join(
                        || count.fetch_add(1, Ordering::Relaxed),
                        || count.fetch_add(1, Ordering::Relaxed),
                    );
                });
            });
        });
        assert_eq!(count.into_inner(), 16);
    });
}
