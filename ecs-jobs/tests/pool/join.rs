//! Joins: both halves run, results come back, halves may be stolen.

use crate::support::{pool, pools, wait_until, within};
use formic_jobs::Pool;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

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
fn a_half_that_is_stolen_may_have_any_alignment() {
    #[repr(align(256))]
    struct Wide([usize; 3]);
    within(Duration::from_secs(20), || {
        let pool = pool(1);
        let (started, given) = (AtomicBool::new(false), Wide([1, 2, 3]));
        let first = || wait_until(|| started.load(Ordering::SeqCst));
        let second = || {
            started.store(true, Ordering::SeqCst);
            // The whole of it, not a field alone.
            let given = given;
            Wide(given.0.map(|number| number * 2))
        };
        let ((), back) = pool.join(first, second);
        assert_eq!((back.0, (&raw const back).addr() % 256), ([2, 4, 6], 0));
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

#[test]
fn halves_that_an_owner_comes_back_to_are_shared_with_idle_workers() {
    const HALVES: usize = 24;

    fn descend(pool: &Pool, depth: usize, heavy: &(dyn Fn() + Sync)) {
        if depth > 0 {
            pool.join(|| descend(pool, depth - 1, heavy), heavy);
        }
    }
    within(Duration::from_secs(20), || {
        // The owner is down at the end before the first worker is awake, so all
        // halves but one are still private when it begins to run them.
        let pool = pool(3);
        let caller = std::thread::current().id();
        let stolen = AtomicUsize::new(0);
        descend(&pool, HALVES, &|| {
            std::thread::sleep(Duration::from_millis(4));
            let here = std::thread::current().id() == caller;
            stolen.fetch_add(usize::from(!here), Ordering::Relaxed);
        });
        let stolen = stolen.into_inner();
        assert!(stolen >= HALVES / 2, "three workers ran {stolen} of {HALVES} halves");
    });
}

#[test]
fn halves_are_shared_while_their_owner_helps_in_a_scope() {
    within(Duration::from_secs(20), || {
        // One worker is kept by the older half. The caller has one more, and runs
        // a job that waits until the other worker has run that.
        let pool = pool(2);
        let (older_began, newest_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let (jobs_began, all_ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let caller = std::thread::current().id();
        let job = || {
            jobs_began.fetch_add(1, Ordering::SeqCst);
            wait_until(|| jobs_began.load(Ordering::SeqCst) == 2);
            if std::thread::current().id() == caller {
                wait_until(|| newest_ended.load(Ordering::SeqCst));
            }
        };
        let first = || {
            wait_until(|| older_began.load(Ordering::SeqCst));
            pool.scope(|scope| (0..2).for_each(|_| scope.spawn(|_| job())));
            all_ended.store(true, Ordering::SeqCst);
        };
        let older = || {
            older_began.store(true, Ordering::SeqCst);
            wait_until(|| all_ended.load(Ordering::SeqCst));
        };
        pool.join(|| pool.join(first, || newest_ended.store(true, Ordering::SeqCst)), older);
    });
}

/// One worker runs a half and opens a smaller one inside it; the caller has opened one that is smaller
/// still. The other worker takes the former, whichever of the two queues it comes to first.
#[test]
fn of_the_open_halves_of_several_threads_a_thief_takes_the_largest() {
    within(Duration::from_secs(20), || {
        for round in 0..10 {
            let pool = pool(2);
            let all = [(); 5].map(|()| AtomicBool::new(false));
            let [middle_began, caller_began, worker_began, small, large] = &all;
            let reach = |here: &AtomicBool| here.store(true, Ordering::SeqCst);
            let wait = |there: &AtomicBool| wait_until(|| there.load(Ordering::SeqCst));
            let until_both = |here| {
                reach(here);
                wait(small);
            };
            let middle = || {
                reach(middle_began);
                wait(caller_began);
                wait(worker_began);
            };
            let of_caller = || {
                let has_come = || {
                    assert!(large.load(Ordering::SeqCst), "the small half, in round {round}");
                    reach(small);
                };
                pool.join(|| pool.join(|| until_both(caller_began), has_come), middle)
            };
            let of_worker = || {
                wait(middle_began);
                pool.join(|| until_both(worker_began), || reach(large))
            };
            pool.join(of_caller, of_worker);
        }
    });
}

#[test]
fn joins_nest_deeper_than_a_thread_has_room_for_halves() {
    fn descend(pool: &Pool, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (below, own) = pool.join(|| descend(pool, depth - 1), || 1);
        below + own
    }
    for pool in pools() {
        for depth in [63, 64, 65, 500] {
            assert_eq!(descend(&pool, depth), depth);
        }
    }
}
