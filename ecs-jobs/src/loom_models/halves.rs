//! Jobs in deques, against the sleep of their owner and of those who look for
//! them.

#![expect(unsafe_code, reason = "makes job references to nothing, and ends a group by hand")]

use super::{explore, explore_within};
use crate::group::Group;
use crate::job::JobRef;
use crate::join::join;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::wait::wait_until_done;
use crate::worker::{sleep_until_news, work_once};
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

fn empty_job() -> JobRef {
    // SAFETY: the function may be called with anything, at any time, and there
    // is no frame to be left (J-4).
    unsafe { JobRef::new(NonNull::dangling(), |_| ()) }
}

/// A worker that has found nothing so far, and ends when it has got a job.
fn steal_after(sleep: impl Fn(&Shared, usize), shared: &Shared, worker: usize) -> JobRef {
    loop {
        sleep(shared, worker);
        if let Some(job) = shared.steal(worker) {
            return job;
        }
    }
}

#[test]
fn a_half_is_opened_to_thieves_before_its_owner_sleeps() {
    explore("private halves against owner's sleep", || {
        let (shared, _benches) = Shared::new(1);
        let shared = Arc::new(shared);
        let thief = thread::spawn({
            let shared = Arc::clone(&shared);
            move || (0..2).for_each(|_| steal_after(sleep_until_news, &shared, 0).run())
        });
        // The owner waits for what the inner half does, and the outer half is
        // older, so that one is the first to be opened.
        let awaited = Group::new(1, 1);
        let wait = || Seat::with(&shared, |seat| wait_until_done(&shared, seat, &awaited, None));
        // SAFETY: counts one for the inner half, which uses it once (J-2).
        let finish = || unsafe { Group::finish_one(NonNull::from(&awaited), &shared.parkers) };
        join(&shared, || join(&shared, wait, finish), || ());
        thief.join().unwrap();
    });
}

#[test]
fn joins_that_are_deeper_than_the_ring_get_all_their_results() {
    // The standard library's: it lives longer than one schedule, and is none of loom's business.
    static WAS_FULL: AtomicBool = AtomicBool::new(false);
    explore("joins deeper than the ring of halves", || {
        let (shared, mut benches) = Shared::new(1);
        let shared = Arc::new(shared);
        let thief = thread::spawn({
            let (shared, bench) = (Arc::clone(&shared), benches.remove(0));
            move || Seat::with_worker(&shared, 0, bench, |seat| _ = work_once(&shared, seat))
        });
        // The first half is opened at once, the second fills the ring, and the third makes room.
        let innermost = || {
            let is_full = |seat: &Seat| seat.bench().is_some_and(|bench| bench.private.is_full());
            WAS_FULL.fetch_or(Seat::with(&shared, is_full), Ordering::Relaxed);
            join(&shared, || 1, || 2)
        };
        let results = join(&shared, || join(&shared, innermost, || 3), || 4);
        assert_eq!(results, (((1, 2), 3), 4));
        thief.join().unwrap();
    });
    assert!(WAS_FULL.load(Ordering::Relaxed), "the ring was never full");
}

#[test]
fn a_wake_up_spent_on_a_worker_that_found_another_job_is_passed_on() {
    two_jobs_for_two_workers("two jobs, two workers, one wake-up", sleep_until_news);
}

pub(super) fn two_jobs_for_two_workers(name: &str, sleep: fn(&Shared, usize)) {
    // With fewer preemptions loom does not come upon the lost wake-up.
    explore_within(4..=usize::MAX, name, move || {
        let (shared, mut benches) = Shared::new(3);
        let shared = Arc::new(shared);
        // A job that was brought while nobody slept, in the last deque.
        let guest = shared.take_guest_bench().expect("the bench is free");
        guest.deque.push(empty_job());
        shared.announce_jobs(1);
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || steal_after(sleep, &shared, 1).run()
        });
        // Worker 0 brings another in the first deque, where this thread has
        // looked perhaps, while worker 1 has seen the one above.
        let bringer = thread::spawn({
            let (shared, bench) = (Arc::clone(&shared), benches.remove(0));
            move || {
                bench.deque.push(empty_job());
                shared.announce_jobs(1);
            }
        });
        steal_after(sleep, &shared, 2).run();
        other.join().unwrap();
        bringer.join().unwrap();
    });
}
