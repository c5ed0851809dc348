//! Calls of a function on each worker.

use crate::handles::{fail, host, payload_of};
use crate::support::{pool, wait_until, within};
use formic_jobs::Pool;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

#[test]
fn each_worker_does_once_what_is_for_all() {
    within(Duration::from_secs(20), || {
        for (pool, count) in [(pool(0), 0), (pool(1), 1), (pool(3), 3), (host(), 0)] {
            let workers: Vec<usize> = (0..count).collect();
            for _ in 0..20 {
                let seen = pool.broadcast(|worker| (worker, std::thread::current().id()));
                assert_eq!(seen.iter().map(|one| one.0).collect::<Vec<_>>(), workers);
                assert_eq!(seen, pool.broadcast(|worker| (worker, std::thread::current().id())));
            }
        }
    });
}

#[test]
fn workers_that_are_never_idle_do_what_is_for_all() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(pool(2));
        let is_over = Arc::new(AtomicBool::new(false));
        // Jobs in a group that spawn the next one, and jobs with handles that do.
        fn spawn_again(scope: &formic_jobs::Scope<'_>, is_over: &Arc<AtomicBool>) {
            let inside = Arc::clone(is_over);
            if !inside.load(Ordering::Relaxed) {
                scope.spawn(move |scope| spawn_again(scope, &inside));
            }
        }
        fn schedule_again(pool: &Arc<Pool>, is_over: &Arc<AtomicBool>) {
            let (inside, over) = (Arc::clone(pool), Arc::clone(is_over));
            if !over.load(Ordering::Relaxed) {
                pool.schedule(move || schedule_again(&inside, &over));
            }
        }
        std::thread::scope(|threads| {
            threads.spawn(|| pool.scope(|scope| (0..4).for_each(|_| spawn_again(scope, &is_over))));
            (0..4).for_each(|_| schedule_again(&pool, &is_over));
            let main = pool.on_main().schedule(|| ());
            let inside = Arc::clone(&pool);
            // A worker that is in a job which waits for this thread.
            pool.schedule(move || inside.complete(main));
            (0..20).for_each(|_| assert_eq!(pool.broadcast(|worker| worker), [0, 1]));
            is_over.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn what_panics_on_several_workers_is_resumed_once_and_a_job_cannot_wait_for_all() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(pool(3));
        let failing = |worker: usize| {
            if worker > 0 {
                resume_unwind(Box::new(worker.to_string()))
            }
        };
        let said = payload_of(|| drop(pool.broadcast(failing)));
        assert_eq!(said.as_deref(), Some("1"));
        pool.flush();
        let inside = Arc::clone(&pool);
        let job = pool.schedule(move || drop(inside.broadcast(|worker| worker)));
        // Not by this thread, which would be in the job as well.
        pool.run_until_done(job);
        let said = payload_of(|| pool.complete(job));
        assert_eq!(said.as_deref(), Some("a worker may wait for the call that this thread is in"));
    });
}

#[test]
fn bodies_on_all_workers_may_wait_for_each_other_whoever_else_broadcasts() {
    within(Duration::from_secs(20), || {
        let pool = pool(3);
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..if cfg!(miri) { 2 } else { 100 } {
                        let all_here = Barrier::new(3);
                        pool.broadcast(move |_worker| all_here.wait().is_leader());
                    }
                });
            }
        });
    });
}

#[test]
fn a_panic_on_one_worker_is_the_one_that_counts_whatever_results_do_when_they_are_dropped() {
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            fail("bomb")();
        }
    }

    within(Duration::from_secs(20), || {
        let pool = pool(4);
        for bad in 0..4 {
            let body = move |worker| {
                if worker == bad {
                    fail("first")();
                }
                Bomb
            };
            assert_eq!(
                payload_of(|| pool.broadcast(body).into_iter().for_each(std::mem::forget))
                    .as_deref(),
                Some("first")
            );
        }
        pool.flush();
    });
}

#[test]
#[cfg_attr(miri, ignore = "about times")]
fn a_worker_in_the_middle_of_a_chain_comes_for_what_is_for_all() {
    within(Duration::from_secs(20), || {
        let pool = pool(2);
        let [begun, told] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let (is_begun, is_told) = (Arc::clone(&begun), Arc::clone(&told));
        // The first one lasts until the other worker was told, and so this one soon after.
        let mut last = pool.schedule(move || {
            is_begun.store(1, Ordering::SeqCst);
            wait_until(|| is_told.load(Ordering::SeqCst) > 0);
            std::thread::sleep(Duration::from_millis(10));
        });
        for _ in 0..60 {
            let begun = Arc::clone(&begun);
            last = pool.after(&[last]).schedule(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
            });
        }
        wait_until(|| begun.load(Ordering::SeqCst) > 0);
        let seen = pool.broadcast(move |_worker| {
            told.fetch_add(1, Ordering::SeqCst);
            begun.load(Ordering::SeqCst)
        });
        assert!(seen.iter().all(|&count| count < 50), "it waited for the whole chain: {seen:?}");
        pool.complete(last);
    });
}

#[test]
fn a_flush_in_the_middle_of_a_call_does_not_wait_for_what_is_for_all_workers() {
    within(Duration::from_secs(20), || {
        let pool = pool(2);
        let [is_begun, is_told] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                pool.scope(|scope| {
                    scope.spawn(|_| {
                        is_begun.store(true, Ordering::SeqCst);
                        // By the other worker. This one does its part only when it has flushed.
                        wait_until(|| is_told.load(Ordering::SeqCst));
                        pool.flush();
                    });
                    // So a worker runs that job, and not this thread.
                    wait_until(|| is_begun.load(Ordering::SeqCst));
                });
            });
            wait_until(|| is_begun.load(Ordering::SeqCst));
            let told = Arc::clone(&is_told);
            let seen = pool.broadcast(move |worker| {
                told.store(true, Ordering::SeqCst);
                worker
            });
            assert_eq!(seen, [0, 1]);
        });
    });
}
