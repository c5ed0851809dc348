//! Scopes: all jobs run once, may borrow, and end before the scope does.

use crate::support::{pool, pools, wait_until, within};
use formic_jobs::{Pool, Threads};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn every_job_of_a_scope_has_run_when_it_ends() {
    for pool in pools() {
        let mut values = vec![0; 100];
        pool.scope(|scope| {
            for (index, value) in values.iter_mut().enumerate() {
                scope.spawn(move |_| *value = index);
            }
        });
        assert!(values.iter().enumerate().all(|(index, &value)| value == index));
    }
}

#[test]
fn a_job_can_spawn_into_its_own_scope() {
    for pool in pools() {
        let count = AtomicUsize::new(0);
        pool.scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|scope| {
                    for _ in 0..5 {
                        scope.spawn(|_| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 25);
    }
}

#[test]
fn a_scope_returns_what_its_body_returns() {
    for pool in pools() {
        assert_eq!(pool.scope(|_| "result"), "result");
    }
}

#[test]
fn without_workers_jobs_run_in_spawn_order_on_the_caller() {
    let pool = Pool::new(Threads::None).expect("no thread is asked for");
    let caller = std::thread::current().id();
    let order = Mutex::new(Vec::new());
    pool.scope(|scope| {
        for job in 0..3 {
            let order = &order;
            scope.spawn(move |scope| {
                assert_eq!(std::thread::current().id(), caller);
                order.lock().unwrap().push(job);
                scope.spawn(move |_| order.lock().unwrap().push(job + 10));
            });
        }
        assert!(order.lock().unwrap().is_empty(), "nothing runs before the body has ended");
    });
    assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 10, 11, 12]);
}

#[test]
fn workers_and_the_caller_run_jobs_at_the_same_time() {
    within(Duration::from_secs(20), || {
        let pool = pool(2);
        let started = AtomicUsize::new(0);
        let threads = Mutex::new(BTreeSet::new());
        pool.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|_| {
                    started.fetch_add(1, Ordering::SeqCst);
                    wait_until(|| started.load(Ordering::SeqCst) == 3);
                    let name = format!("{:?}", std::thread::current().id());
                    threads.lock().unwrap().insert(name);
                });
            }
        });
        assert_eq!(threads.into_inner().unwrap().len(), 3);
    });
}

#[test]
fn a_foreign_thread_can_spawn_into_a_scope_whose_owner_sleeps() {
    within(Duration::from_secs(20), || {
        for worker_count in [0, 1] {
            let pool = pool(worker_count);
            let done = AtomicUsize::new(0);
            pool.scope(|scope| {
                scope.spawn(|scope| {
                    std::thread::scope(|threads| {
                        threads.spawn(|| {
                            scope.spawn(|_| {
                                done.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    });
                });
            });
            assert_eq!(done.into_inner(), 1);
        }
    });
}

#[test]
fn many_outside_threads_use_one_pool() {
    within(Duration::from_secs(20), || {
        let rounds = if cfg!(miri) { 2 } else { 50 };
        for pool in pools() {
            let count = AtomicUsize::new(0);
            std::thread::scope(|threads| {
                for _ in 0..4 {
                    threads.spawn(|| {
                        for _ in 0..rounds {
                            pool.scope(|scope| {
                                for _ in 0..4 {
                                    scope.spawn(|_| {
                                        count.fetch_add(1, Ordering::Relaxed);
                                    });
                                }
                            });
                        }
                    });
                }
            });
            assert_eq!(count.into_inner(), 4 * rounds * 4);
        }
    });
}

#[test]
fn jobs_that_never_ran_and_jobs_that_did_drop_what_they_own_once() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for pool in pools() {
        let dropped = AtomicUsize::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.scope(|scope| {
                for job in 0..20 {
                    let owned = Counted(&dropped);
                    scope.spawn(move |_| {
                        let _owned = owned;
                        assert_ne!(job, 3, "one job panics");
                    });
                }
            });
        }));
        assert!(outcome.is_err());
        assert_eq!(dropped.into_inner(), 20);
    }
}
