//! The parallelism of the pool. Leaves sleep instead of computing, so that the figures do not
//! depend on the number of cores, and bounds are generous, for busy machines.

use crate::support::{pool, within};
use formic_jobs::{JobHandle, Pool};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// How many leaves each thread has run.
#[derive(Clone, Default)]
struct Leaves(Arc<Mutex<HashMap<ThreadId, usize>>>);

impl Leaves {
    fn run(&self, milliseconds: u64) {
        pause(milliseconds);
        *self.0.lock().unwrap().entry(std::thread::current().id()).or_default() += 1;
    }

    /// A tree of joins with this many leaves.
    fn tree(&self, pool: &Pool, count: usize, milliseconds: u64) {
        if count == 1 {
            return self.run(milliseconds);
        }
        let left = count / 2;
        pool.join(
            || self.tree(pool, left, milliseconds),
            || self.tree(pool, count - left, milliseconds),
        );
    }

    /// Joins with one leaf each, the next join in the first half of the one before. The first leaf takes
    /// half as long again.
    fn row(&self, pool: &Pool, count: usize, milliseconds: u64) {
        fn rest(leaves: &Leaves, pool: &Pool, count: usize, milliseconds: u64) {
            if count > 0 {
                pool.join(
                    || rest(leaves, pool, count - 1, milliseconds),
                    || leaves.run(milliseconds),
                );
            }
        }
        pool.join(
            || rest(self, pool, count - 1, milliseconds),
            || self.run(milliseconds + milliseconds / 2),
        );
    }

    fn of_this_thread(&self) -> usize {
        self.0.lock().unwrap().get(&std::thread::current().id()).copied().unwrap_or(0)
    }

    fn all(&self) -> usize {
        self.0.lock().unwrap().values().sum()
    }

    fn thread_count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

#[test]
fn a_caller_that_waits_for_a_stolen_half_helps_with_the_joins_inside_it() {
    within(Duration::from_secs(30), || {
        for workers in [1, 3] {
            let (pool, leaves) = (pool(workers), Leaves::default());
            pool.join(|| pause(30), || leaves.tree(&pool, 64, 5));
            assert_eq!(leaves.all(), 64);
            let own = leaves.of_this_thread();
            assert!(own >= 64 / (workers + 1) / 3, "{workers} workers: the caller ran {own} of 64");
        }
    });
}

#[test]
fn the_owner_of_a_scope_helps_with_joins_inside_its_jobs() {
    within(Duration::from_secs(30), || {
        let (pool, leaves) = (pool(1), Leaves::default());
        pool.scope(|scope| {
            scope.spawn(|_| leaves.tree(&pool, 64, 5));
            pause(30);
        });
        let own = leaves.of_this_thread();
        assert!(own >= 10, "the owner ran {own} of 64");
    });
}

#[test]
fn a_thread_that_waits_for_a_job_helps_with_joins_inside_it() {
    const WAITS: [fn(&Pool, JobHandle); 4] = [
        Pool::complete,
        Pool::run_until_done,
        |pool, _job| pool.flush(),
        |pool, job| pool.run_until(|| pool.is_done(job)),
    ];
    within(Duration::from_secs(30), || {
        for (which, wait) in WAITS.into_iter().enumerate() {
            let (pool, leaves) = (Arc::new(pool(1)), Leaves::default());
            let job = {
                let (pool, leaves) = (Arc::clone(&pool), leaves.clone());
                move || leaves.tree(&pool, 64, 5)
            };
            let job = pool.schedule(job);
            pause(30);
            wait(&pool, job);
            let own = leaves.of_this_thread();
            assert!(own >= 10, "in wait {which} the thread ran {own} of 64");
        }
    });
}

/// Schedules a job with a row of joins, which begins when the flag is set, and leaves it to a worker.
fn row_of_joins(pool: &Arc<Pool>, leaves: &Leaves, go: &Arc<AtomicBool>) -> JobHandle {
    let (inside, leaves, go) = (Arc::clone(pool), leaves.clone(), Arc::clone(go));
    let job = pool.schedule(move || {
        while !go.load(Ordering::SeqCst) {
            pause(1);
        }
        leaves.row(&inside, 20, 20);
    });
    pause(30);
    job
}

#[test]
fn a_thread_that_waits_behind_a_job_helps_inside_it_beside_one_that_waits_for_another() {
    within(Duration::from_secs(30), || {
        let (pool, leaves) = (Arc::new(pool(2)), Leaves::default());
        let (go, is_over) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let inside = Arc::clone(&is_over);
        let long = pool.schedule(move || {
            while !inside.load(Ordering::SeqCst) {
                pause(1);
            }
        });
        let behind = [row_of_joins(&pool, &leaves, &go)];
        let behind = pool.after(&behind).schedule(|| ());
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| {
                pool.complete(behind);
                leaves.of_this_thread()
            });
            pause(30);
            // It sleeps when the joins begin, and was the last to do so.
            threads.spawn(|| pool.complete(long));
            pause(30);
            go.store(true, Ordering::SeqCst);
            let own = waiter.join().unwrap();
            is_over.store(true, Ordering::SeqCst);
            assert!(own >= 3, "the waiting thread ran {own} of 20");
        });
    });
}

#[test]
fn all_workers_that_wait_for_a_job_and_a_thread_from_outside_help_inside_it() {
    within(Duration::from_secs(30), || {
        for (workers, outside, threads_wanted) in [(4, 0, 4), (2, 2, 3)] {
            let (pool, leaves) = (Arc::new(pool(workers)), Leaves::default());
            let go = Arc::new(AtomicBool::new(false));
            let job = row_of_joins(&pool, &leaves, &go);
            for _ in 1..workers {
                let inside = Arc::clone(&pool);
                pool.schedule(move || inside.complete(job));
            }
            pause(30);
            std::thread::scope(|threads| {
                for _ in 0..outside {
                    threads.spawn(|| pool.complete(job));
                }
                // They sleep when the joins begin; the last ones are woken first.
                pause(30);
                go.store(true, Ordering::SeqCst);
            });
            pool.flush();
            let count = leaves.thread_count();
            assert!(count >= threads_wanted, "{workers} and {outside}: {count} threads");
        }
    });
}

#[test]
fn a_thread_that_turns_from_a_job_to_another_leaves_room_inside_it() {
    within(Duration::from_secs(30), || {
        let (pool, leaves) = (Arc::new(pool(1)), Leaves::default());
        let (go, is_over) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let job = row_of_joins(&pool, &leaves, &go);
        std::thread::scope(|threads| {
            threads.spawn(|| pool.run_until(|| is_over.load(Ordering::SeqCst)));
            pause(30);
            go.store(true, Ordering::SeqCst);
            pause(10);
            // It helps with the first leaf, and takes this job next.
            let inside = Arc::clone(&is_over);
            pool.schedule(move || {
                while !inside.load(Ordering::SeqCst) {
                    pause(1);
                }
            });
            pool.complete(job);
            is_over.store(true, Ordering::SeqCst);
            pool.wake_host_threads();
            let own = leaves.of_this_thread();
            assert!(own >= 3, "the waiting thread ran {own} of 20");
        });
    });
}

#[test]
fn a_thread_in_a_job_that_works_for_others_does_not_come_into_that_job_again() {
    within(Duration::from_secs(30), || {
        let pool = Arc::new(pool(1));
        let job = {
            let pool = Arc::clone(&pool);
            move || {
                let (this, is_inside) = (std::thread::current().id(), AtomicBool::new(false));
                pool.for_each_index(64, |_| {
                    pause(2);
                    if std::thread::current().id() == this {
                        assert!(!is_inside.swap(true, Ordering::Relaxed), "two at a time");
                        let mut looks = 0;
                        pool.run_until(|| {
                            looks += 1;
                            looks == 2
                        });
                        is_inside.store(false, Ordering::Relaxed);
                    }
                });
            }
        };
        let job = pool.schedule(job);
        // The worker begins it.
        pause(30);
        pool.complete(job);
    });
}

#[test]
fn a_thread_that_helps_with_joins_takes_none_that_it_does_not_wait_for() {
    within(Duration::from_secs(30), || {
        let pool = pool(2);
        let (own, strange) = (Leaves::default(), Leaves::default());
        let start = Barrier::new(2);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                start.wait();
                strange.tree(&pool, 128, 2);
            });
            start.wait();
            pool.join(|| pause(10), || own.tree(&pool, 32, 3));
            assert_eq!(strange.of_this_thread(), 0);
        });
        assert_eq!((own.all(), strange.all()), (32, 128));
    });
}

/// The time that two levels of joins over four leaves take.
fn coarse(pool: &Pool) -> Duration {
    let start = Instant::now();
    let leaf = || pause(200);
    pool.join(|| pool.join(leaf, leaf), || pool.join(leaf, leaf));
    start.elapsed()
}

#[test]
fn all_leaves_of_a_coarse_join_run_at_the_same_time() {
    within(Duration::from_secs(30), || {
        for workers in [3, 7] {
            let pool = pool(workers);
            for _ in 0..3 {
                let took = coarse(&pool);
                assert!(took < Duration::from_millis(330), "{workers} workers: {took:?}");
            }
        }
    });
}

/// Two rounds for each thread. A thread that takes a single leaf while there are larger pieces leaves
/// their owners with nothing to help with, and a third round to the others.
#[test]
fn equal_leaves_run_in_as_many_rounds_as_there_are_leaves_for_each_thread() {
    within(Duration::from_secs(30), || {
        for (workers, count) in [(3, 8), (7, 16)] {
            let pool = pool(workers);
            let took = |_| {
                let began = Instant::now();
                Leaves::default().tree(&pool, count, 50);
                began.elapsed()
            };
            let mut times: Vec<_> = (0..5).map(took).collect();
            times.sort();
            assert!(times[2] < Duration::from_millis(140), "{workers} workers: {times:?}");
        }
    });
}

#[test]
fn joins_of_two_outside_threads_run_at_the_same_time() {
    within(Duration::from_secs(30), || {
        let pool = pool(2);
        let start = Barrier::new(2);
        std::thread::scope(|threads| {
            let calls = [(); 2].map(|()| {
                threads.spawn(|| {
                    start.wait();
                    let began = Instant::now();
                    pool.join(|| pause(200), || pause(200));
                    began.elapsed()
                })
            });
            for call in calls {
                let took = call.join().expect("it ends well");
                assert!(took < Duration::from_millis(330), "{took:?}");
            }
        });
    });
}

#[test]
fn a_thread_that_lives_in_run_until_does_not_keep_others_from_sharing_their_joins() {
    within(Duration::from_secs(30), || {
        let pool = pool(2);
        let ended = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            threads.spawn(|| pool.run_until(|| ended.load(Ordering::Acquire) == 1));
            pause(50);
            let began = Instant::now();
            pool.join(|| pause(200), || pause(200));
            let took = began.elapsed();
            ended.store(1, Ordering::Release);
            pool.wake_host_threads();
            assert!(took < Duration::from_millis(330), "{took:?}");
        });
    });
}

#[test]
fn a_body_that_is_light_and_heavy_in_turn_is_shared_when_it_is_heavy() {
    within(Duration::from_secs(30), || {
        let pool = pool(1);
        let mut slow_count = 0;
        for round in 0..10 {
            let is_heavy = round % 2 == 1;
            let began = Instant::now();
            // One body, for both.
            pool.for_each_index(2, |_| {
                if is_heavy {
                    pause(60);
                }
            });
            slow_count += usize::from(began.elapsed() > Duration::from_millis(100));
        }
        assert!(slow_count <= 2, "{slow_count} of five heavy loops ran on one thread");
    });
}

#[test]
fn several_threads_take_part_in_a_tree_of_joins() {
    within(Duration::from_secs(30), || {
        let (pool, leaves) = (pool(3), Leaves::default());
        leaves.tree(&pool, 64, 5);
        assert_eq!(leaves.all(), 64);
        assert_eq!(leaves.thread_count(), 4, "three workers and the caller");
    });
}
