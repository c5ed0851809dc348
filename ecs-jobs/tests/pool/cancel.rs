//! Cancelled jobs, waits with a limit, and failures without a waiter.

use crate::handles::host;
use crate::support::{pool, within};
use formic_jobs::{JobError, JobHandle, Pool, Threads};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn a_cancelled_job_is_dropped_with_those_after_it_unless_it_has_begun() {
    for pool in [host(), pool(0), pool(2)] {
        let done = pool.schedule(|| ());
        pool.complete(done);
        let owned = Arc::new(());
        let job = || {
            let owned = Arc::clone(&owned);
            move || assert_eq!(Arc::strong_count(&owned), 0, "it is not to run")
        };
        let gate = pool.on_main().schedule(|| ());
        let waiting = pool.after(&[gate]).schedule(job());
        let after = pool.after(&[waiting]).schedule(job());
        let ready = pool.on_main().schedule(job());
        [waiting, ready, done].into_iter().for_each(|job| pool.cancel(job));
        assert!(pool.is_done(ready) && !pool.is_done(waiting));
        pool.complete(gate);
        for job in [waiting, after, ready] {
            let Err(JobError::Failed(panic)) = pool.try_complete(job) else {
                panic!("it was cancelled")
            };
            assert!(panic.take_payload().is_none());
        }
        assert_eq!(Arc::strong_count(&owned), 1, "all closures are dropped");
        assert!(pool.try_complete(done).is_ok(), "that one had run");
        pool.flush();
    }
}

#[test]
fn a_job_of_the_background_has_its_turn_also_where_there_are_no_threads() {
    fn lap(pool: &Arc<Pool>, is_over: &Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            let (weak, is_over) = (Arc::downgrade(pool), Arc::clone(is_over));
            pool.schedule(move || lap(&weak.upgrade().expect("it runs"), &is_over));
        }
    }
    within(Duration::from_secs(20), || {
        let (pool, is_over) = (Arc::new(pool(0)), Arc::new(AtomicBool::new(false)));
        let (inside, end) = (Arc::clone(&pool), Arc::clone(&is_over));
        pool.schedule(move || {
            lap(&inside, &end);
            inside.in_background().schedule(move || end.store(true, Ordering::Relaxed));
        });
        assert!(is_over.load(Ordering::Relaxed));
    });
}

#[test]
fn what_the_drop_of_a_cancelled_job_schedules_runs_behind_that_drop_where_there_are_no_threads() {
    struct OnDrop<F: FnMut()>(F);
    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let pool = Arc::new(pool(0));
    let said = Arc::new(Mutex::new(Vec::new()));
    let say = |text| {
        let said = Arc::clone(&said);
        move || said.lock().unwrap().push(text)
    };
    let (begin, inside, end) = (say("drop begins"), say("other job"), say("drop ends"));
    let weak = Arc::downgrade(&pool);
    let guard = OnDrop(move || {
        begin();
        weak.upgrade().expect("it cancels").schedule(inside.clone());
        end();
    });
    let job = pool.on_main().schedule(move || drop(guard));
    pool.cancel(job);
    assert_eq!(*said.lock().unwrap(), ["drop begins", "drop ends", "other job"]);
}

#[test]
fn a_cancel_by_an_old_handle_does_not_reach_the_job_that_has_its_slot_now() {
    let pool = host();
    for _ in 0..100 {
        let old = pool.schedule(|| ());
        pool.complete(old);
        let new = pool.schedule(|| ());
        pool.cancel(old);
        pool.complete(new);
    }
}

#[test]
fn a_wait_with_a_limit_gives_up_in_time_and_the_job_goes_on() {
    let pool = pool(1);
    let (open, gate) = std::sync::mpsc::channel();
    let (tell, begun) = std::sync::mpsc::channel();
    let slow = pool.schedule(move || {
        tell.send(()).unwrap();
        gate.recv().unwrap();
    });
    let after = pool.after(&[slow]).schedule(|| ());
    // On the worker: this thread would run it, and wait for itself.
    begun.recv().unwrap();
    let (start, limit) = (Instant::now(), Duration::from_millis(20));
    assert!(matches!(pool.complete_for(after, limit), Err(JobError::TimedOut)));
    assert!(start.elapsed() >= limit && !pool.is_done(after));
    open.send(()).unwrap();
    within(Duration::from_secs(10), move || {
        pool.complete_for(after, Duration::MAX).unwrap();
        assert!(pool.is_done(after));
    });
}

#[test]
fn a_wait_with_a_limit_helps_and_tells_of_failures() {
    let pool = Pool::new(Threads::Host(0)).unwrap();
    let fine = pool.schedule(|| ());
    assert!(pool.complete_for(fine, Duration::from_secs(60)).is_ok());
    let bad = pool.schedule(|| resume_unwind(Box::new("on purpose")));
    let outcome = pool.complete_for(bad, Duration::from_secs(60));
    assert!(matches!(outcome, Err(JobError::Failed(_))));
    // No time at all: what is ready is left to others.
    let left = pool.schedule(|| ());
    assert!(matches!(pool.complete_for(left, Duration::ZERO), Err(JobError::TimedOut)));
    pool.complete(left);
}

/// More failures than there are payloads kept: the oldest have none, and have failed all the same.
#[test]
fn the_last_1024_payloads_are_kept_and_no_failure_is_forgotten() {
    struct Payload(usize, Arc<AtomicUsize>);
    impl Drop for Payload {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    const KEPT: usize = 1024;
    const COUNT: usize = KEPT + 3;
    let pool = pool(0);
    let dropped = Arc::new(AtomicUsize::new(0));
    let jobs: Vec<JobHandle> = (0..COUNT)
        .map(|number| {
            let payload = Payload(number, Arc::clone(&dropped));
            pool.schedule(move || resume_unwind(Box::new(payload)))
        })
        .collect();
    assert_eq!(dropped.load(Ordering::Relaxed), COUNT - KEPT, "no more are kept");
    for (number, &job) in jobs.iter().enumerate() {
        let Err(JobError::Failed(panic)) = pool.try_complete(job) else { panic!("{number}") };
        let payload = panic.take_payload();
        assert_eq!(payload.is_some(), number >= COUNT - KEPT, "job {number}");
        let found = payload.map(|payload| payload.downcast_ref::<Payload>().expect("its own").0);
        assert!(found.is_none_or(|found| found == number), "job {number} has that of {found:?}");
    }
    for &job in &jobs {
        let Err(JobError::Failed(panic)) = pool.try_complete(job) else { panic!("it failed") };
        assert!(panic.take_payload().is_none(), "it was taken");
    }
    assert_eq!(dropped.load(Ordering::Relaxed), COUNT);
    pool.flush();
    assert!(pool.try_complete(pool.schedule(|| ())).is_ok());
}
