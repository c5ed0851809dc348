//! Jobs for the main thread: they run on it alone, and no wait of it hangs for them.

use crate::handles::Diary;
use crate::support::{pool, pools, wait_until, within};
use formic_jobs::{JobError, Pool, Threads};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn jobs_for_the_main_thread_run_on_it_whoever_waits() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let main = std::thread::current().id();
            let count = Arc::new(AtomicUsize::new(0));
            let on_main = || {
                let count = Arc::clone(&count);
                move || {
                    assert_eq!(std::thread::current().id(), main);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            };
            let before = pool.schedule(|| ());
            let shown = pool.on_main().after(&[before]).schedule(on_main());
            let after = pool.after(&[shown]).schedule(|| ());
            pool.complete(after);
            assert_eq!(count.load(Ordering::Relaxed), 1);

            let job = pool.on_main().schedule(on_main());
            std::thread::scope(|threads| {
                threads.spawn(|| assert_eq!(pool.run_main_thread_jobs(), 0));
                let waiter = threads.spawn(|| pool.complete(job));
                wait_until(|| pool.run_main_thread_jobs() > 0 || pool.is_done(job));
                waiter.join().unwrap();
            });
            assert_eq!(count.load(Ordering::Relaxed), 2);
        }
    });
}

#[test]
fn a_job_for_the_main_thread_that_schedules_itself_again_keeps_no_call_from_its_end() {
    fn again(pool: &Arc<Pool>, is_over: &Arc<AtomicBool>) {
        let (weak, is_over) = (Arc::downgrade(pool), Arc::clone(is_over));
        pool.on_main().schedule(move || {
            if let (Some(pool), false) = (weak.upgrade(), is_over.load(Ordering::Relaxed)) {
                again(&pool, &is_over);
            }
        });
    }
    within(Duration::from_secs(60), || {
        for threads in [Threads::None, Threads::Host(0), Threads::Own(2)] {
            let pool = Arc::new(Pool::new(threads).unwrap());
            let is_over = Arc::new(AtomicBool::new(false));
            again(&pool, &is_over);
            let first = pool.schedule(|| ());
            pool.complete(pool.after(&[first]).schedule(|| ()));
            pool.run_until_done(pool.in_background().schedule(|| ()));
            let has_run = Arc::new(AtomicBool::new(false));
            let job = Arc::clone(&has_run);
            pool.schedule(move || job.store(true, Ordering::Relaxed));
            pool.run_until(|| has_run.load(Ordering::Relaxed));
            assert_eq!(pool.run_main_thread_jobs(), 1);
            is_over.store(true, Ordering::Relaxed);
            pool.flush();
        }
    });
}

#[test]
fn a_wait_that_is_over_runs_no_other_job_for_the_main_thread() {
    for threads in [Threads::None, Threads::Host(1), Threads::Own(1)] {
        let pool = Pool::new(threads).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let schedule = |pause| {
            let count = Arc::clone(&count);
            pool.on_main().schedule(move || {
                std::thread::sleep(pause);
                count.fetch_add(1, Ordering::Relaxed);
            })
        };
        let all: Vec<_> = (0..4).map(|_| schedule(Duration::ZERO)).collect();
        for wanted in 1..=3 {
            pool.run_until(|| count.load(Ordering::Relaxed) >= wanted);
            assert_eq!(count.load(Ordering::Relaxed), wanted);
        }
        pool.complete(all[3]);
        let all: Vec<_> = (0..4).map(|_| schedule(Duration::from_millis(5))).collect();
        let late = pool.complete_for(pool.combine(&all), Duration::from_millis(1));
        assert!(matches!(late, Err(JobError::TimedOut)));
        assert!(count.load(Ordering::Relaxed) <= 5, "the job that had begun");
        pool.flush();
        assert_eq!(count.load(Ordering::Relaxed), 8);
    }
}

/// Another thread may wait for such a job inside one that the main thread waits for.
#[test]
fn a_job_for_the_main_thread_does_not_wait_for_all_that_this_thread_helps_with() {
    let pool = Arc::new(Pool::new(Threads::Host(0)).unwrap());
    let diary = Diary::default();
    let (inside, shown) = (Arc::clone(&pool), diary.entry(1));
    let first = pool.schedule(move || _ = inside.on_main().schedule(shown));
    let second = pool.schedule(diary.entry(2));
    pool.complete(pool.combine(&[first, second]));
    assert_eq!(diary.read(), [1, 2]);
}

#[test]
fn the_main_thread_runs_its_jobs_while_it_waits_for_one_that_waits_for_them() {
    within(Duration::from_secs(20), || {
        let pool = Arc::new(pool(1));
        let inside = Arc::clone(&pool);
        let job = pool.schedule(move || {
            let shown = inside.on_main().schedule(|| ());
            inside.complete(shown);
        });
        wait_until(|| !pool.is_done(job));
        pool.complete(job);
    });
}

#[test]
fn a_pool_that_is_dropped_elsewhere_cancels_the_jobs_of_the_main_thread() {
    within(Duration::from_secs(20), || {
        for pool in pools() {
            let owned = Arc::new(());
            let inside = Arc::clone(&owned);
            let shown = pool.on_main().schedule(move || drop(inside));
            let after = Arc::clone(&owned);
            pool.after(&[shown]).schedule(move || unreachable!("{after:?}"));
            std::thread::spawn(move || drop(pool)).join().unwrap();
            assert_eq!(Arc::strong_count(&owned), 1);
        }
    });
}
