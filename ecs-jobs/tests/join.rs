//! Joins: both halves run, results come back, halves may be stolen.

mod support;

use ecs_jobs::Pool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{pool, pools, wait_until, within};

fn fibonacci(pool: &Pool, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (left, right) = pool.join(|| fibonacci(pool, n - 1), || fibonacci(pool, n - 2));
    left + right
}

#[test]
fn a_recursion_of_joins_gives_the_serial_result() {
    let n = if cfg!(miri) { 7 } else { 20 };
    let expected = if cfg!(miri) { 13 } else { 6765 };
    for pool in pools() {
        assert_eq!(fibonacci(&pool, n), expected);
    }
}

#[test]
fn both_halves_borrow_mutably_from_the_caller() {
    for pool in pools() {
        let mut numbers = [1, 2, 3, 4];
        let (left, right) = numbers.split_at_mut(2);
        pool.join(|| left[0] = 10, || right[0] = 30);
        assert_eq!(numbers, [10, 2, 30, 4]);
    }
}

#[test]
fn a_worker_takes_the_second_half_while_the_first_runs() {
    within(Duration::from_secs(20), || {
        let pool = pool(1);
        let (first, second) = (AtomicBool::new(false), AtomicBool::new(false));
        pool.join(
            || {
                first.store(true, Ordering::SeqCst);
                wait_until(|| second.load(Ordering::SeqCst));
            },
            || {
                second.store(true, Ordering::SeqCst);
                wait_until(|| first.load(Ordering::SeqCst));
            },
        );
    });
}

#[test]
fn without_workers_the_first_half_ends_before_the_second_starts() {
    let pool = pool(0);
    let first_ended = AtomicBool::new(false);
    pool.join(
        || first_ended.store(true, Ordering::Relaxed),
        || assert!(first_ended.load(Ordering::Relaxed)),
    );
}

#[test]
fn an_older_half_is_opened_to_others_while_its_owner_sleeps_in_a_scope() {
    within(Duration::from_secs(20), || {
        let pool = pool(2);
        let reached = AtomicBool::new(false);
        // The owner ends up waiting for a job that waits for the second half.
        pool.join(
            || {
                pool.join(
                    || {
                        pool.scope(|scope| {
                            scope.spawn(|_| wait_until(|| reached.load(Ordering::SeqCst)));
                            std::thread::sleep(Duration::from_millis(20));
                        });
                    },
                    || (),
                )
            },
            || reached.store(true, Ordering::SeqCst),
        );
        assert!(reached.into_inner());
    });
}

#[test]
fn joins_of_many_outside_threads_do_not_disturb_each_other() {
    within(Duration::from_secs(20), || {
        let pool = pool(2);
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| assert_eq!(fibonacci(&pool, 12), 144));
            }
        });
    });
}
