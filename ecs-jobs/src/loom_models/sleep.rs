//! Work against sleep: no wake-up is lost. A lost one is a deadlock, which loom reports.

use super::explore;
use crate::context::WorkerContext;
use crate::run_job::{add_job, take_any};
use crate::shared::Shared;
use crate::sleep::Tag;
use crate::slots::{JobId, JobKind};
use crate::stored_job::StoredJob;
use crate::wait::{Goal, wait};
use crate::worker::{run_until, run_worker};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// A pool whose pieces of work are ready jobs. A thread that takes one drops it.
pub(super) struct Sleepers {
    pub(super) shared: Shared,
    /// A condition that some threads wait for.
    flag: AtomicUsize,
}

impl Sleepers {
    pub(super) fn new() -> Arc<Self> {
        Self::with(Shared::new(0).0)
    }

    fn with(shared: Shared) -> Arc<Self> {
        Arc::new(Self { shared, flag: AtomicUsize::new(0) })
    }

    pub(super) fn push(&self) {
        add_job::<JobId>(&self.shared, JobKind::Poll, "", &[], || ());
    }

    /// Returns when it has taken a piece of work.
    pub(super) fn take_one(&self) {
        self.wait(Taker { pool: self, has_taken: false, sees_flag: false });
    }

    /// Returns when the flag is set or it has taken a piece of work; true if it has taken one.
    fn take_one_or_see_flag(&self) -> bool {
        self.wait(Taker { pool: self, has_taken: false, sees_flag: true })
    }

    fn wait(&self, mut goal: Taker<'_>) -> bool {
        WorkerContext::with(&self.shared, |context| wait(&self.shared, context, &mut goal));
        goal.has_taken
    }
}

struct Taker<'a> {
    pool: &'a Sleepers,
    has_taken: bool,
    sees_flag: bool,
}

impl Goal for Taker<'_> {
    fn is_reached(&mut self) -> bool {
        self.has_taken || self.sees_flag && self.pool.flag.load(Ordering::Relaxed) == 1
    }

    fn help(&mut self) -> bool {
        let shared = &self.pool.shared;
        let Some(mut job) = take_any(shared) else { return false };
        job.with_job(StoredJob::clear);
        shared.slots.end(job, false, |_| unreachable!("nothing comes after it"), |_| ());
        self.has_taken = true;
        true
    }

    fn has_news(&mut self) -> bool {
        self.is_reached() || !self.pool.shared.ready.is_empty()
    }

    fn tag(&self) -> Tag {
        Tag { is_worker: true, is_conditional: self.sees_flag, ..Tag::default() }
    }
}

fn taker(pool: &Arc<Sleepers>) -> thread::JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || pool.take_one())
}

#[test]
fn work_is_not_missed_by_a_worker_that_parks() {
    explore("work against park", || {
        let pool = Sleepers::new();
        let worker = taker(&pool);
        pool.push();
        worker.join().unwrap();
    });
}

#[test]
fn two_pieces_of_work_wake_two_workers() {
    explore("two pieces of work against two parks", || {
        let pool = Sleepers::new();
        let workers = [taker(&pool), taker(&pool)];
        pool.push();
        pool.push();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn a_wake_up_spent_on_a_thread_that_leaves_is_passed_on() {
    explore("work and a condition against two parks", || {
        let pool = Sleepers::new();
        let worker = taker(&pool);
        let bringer = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                pool.push();
                pool.flag.store(1, Ordering::Relaxed);
                pool.shared.announce_condition();
            }
        });
        if pool.take_one_or_see_flag() {
            // That piece was the worker's.
            pool.push();
        }
        worker.join().unwrap();
        bringer.join().unwrap();
    });
}

#[test]
fn a_wake_up_spent_on_a_thread_that_panics_is_passed_on() {
    explore("work against park beside a thread that panics", || {
        // The host is a worker like the other one.
        let (mut shared, places) = Shared::new(1);
        shared.open_to_host(places);
        let pool = Sleepers::with(shared);
        let worker = taker(&pool);
        let bringer = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                let host = Arc::clone(&pool);
                let job = move || host.flag.store(1, Ordering::Relaxed);
                add_job::<JobId>(&pool.shared, JobKind::Poll, "", &[], job);
            }
        });
        let mut looks = 0;
        let condition = || {
            looks += 1;
            if looks > 1 {
                // The host is listed. Not `panic!`, whose hook would print once per schedule.
                std::panic::resume_unwind(Box::new("on purpose"));
            }
            false
        };
        let run = std::panic::AssertUnwindSafe(|| run_until(&pool.shared, None, condition));
        let outcome = std::panic::catch_unwind(run);
        assert!(outcome.is_err());
        if pool.flag.load(Ordering::Relaxed) == 1 {
            // The host has taken the piece that was the worker's.
            pool.push();
        }
        worker.join().unwrap();
        bringer.join().unwrap();
    });
}

#[test]
fn closing_is_not_missed_by_a_worker_that_parks() {
    explore("shutdown against park", || {
        let (shared, mut places) = Shared::new(1);
        let shared = Arc::new(shared);
        let worker = thread::spawn({
            let (shared, place) = (Arc::clone(&shared), places.remove(0));
            move || run_worker(&shared, place)
        });
        shared.close();
        worker.join().unwrap();
    });
}

#[test]
fn work_left_to_a_worker_that_looks_for_some_and_finds_other_wakes_a_sleeper() {
    explore("job against a worker that begins something else", || {
        let (shared, mut places) = Shared::new(2);
        let (shared, place) = (Arc::new(shared), places.remove(0));
        // The other worker.
        let sleeper = shared.sleepers.list(Tag::IDLE);
        shared.begin_worker();
        let worker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                WorkerContext::with_worker(&shared, place, |context| {
                    context.note_work_found(&shared, 0, None)
                });
            }
        });
        add_job::<JobId>(&shared, JobKind::Anywhere, "", &[], || ());
        worker.join().unwrap();
        assert!(!sleeper.leave(), "no thread was woken");
    });
}
