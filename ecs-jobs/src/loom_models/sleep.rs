//! Push against park: no wake-up is lost. A lost one is a deadlock, which loom
//! reports.

use super::explore;
use crate::deque::{Injector, Stealer, Worker};
use crate::event_count::{EventCount, Parkers};
use crate::shared::Shared;
use crate::worker::run_worker;
use loom::sync::Arc;
use loom::thread;

/// The sleep protocol around one queue that all can reach.
pub(super) struct Sleepers {
    pub(super) events: EventCount,
    pub(super) parkers: Parkers,
    pub(super) queue: Injector<u32>,
}

impl Sleepers {
    pub(super) fn new(worker_count: usize) -> Arc<Self> {
        Arc::new(Self {
            events: EventCount::new(worker_count),
            parkers: Parkers::new(worker_count),
            queue: Injector::new(),
        })
    }

    pub(super) fn push(&self, item: u32) {
        self.queue.push(item);
        self.events.notify(1, &self.parkers);
    }

    /// A worker that wants one item, by the steps of `worker.rs`.
    pub(super) fn take_one(&self, worker: usize) -> u32 {
        self.take_from(worker, || self.queue.steal(), || !self.queue.is_empty())
    }

    fn take_from(
        &self,
        worker: usize,
        take: impl Fn() -> Option<u32>,
        has_news: impl Fn() -> bool,
    ) -> u32 {
        loop {
            if let Some(item) = take() {
                return item;
            }
            self.events.announce(worker);
            if !has_news() {
                self.events.sleep(worker, &self.parkers);
            } else if !self.events.cancel(worker) {
                self.events.notify(1, &self.parkers);
            }
        }
    }
}

#[test]
fn a_push_from_outside_is_not_missed_by_a_worker_that_parks() {
    explore("outside push against park", || {
        let pool = Sleepers::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.take_one(0)
        });
        pool.push(7);
        assert_eq!(worker.join().unwrap(), 7);
    });
}

#[test]
fn two_pushes_wake_two_workers() {
    explore("two outside pushes against two parks", || {
        let pool = Sleepers::new(2);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.take_one(0)
        });
        let other = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.take_one(1)
        });
        pool.push(1);
        pool.push(2);
        assert_eq!(worker.join().unwrap() + other.join().unwrap(), 3);
    });
}

#[test]
fn a_push_from_inside_is_not_missed_by_a_thief_that_parks() {
    explore("inside push against park", || {
        let pool = Sleepers::new(1);
        let own: Worker<u32> = Worker::new();
        let stealer: Stealer<u32> = own.stealer();
        let thief = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.take_from(0, || stealer.steal(), || !stealer.is_empty())
        });
        own.push(1);
        pool.events.notify(1, &pool.parkers);
        own.push(2);
        pool.events.notify(1, &pool.parkers);
        // One is for the thief; which one depends on who comes first.
        let popped = own.pop().expect("the thief takes one of two");
        assert_eq!(popped + thief.join().unwrap(), 3);
        assert_eq!(own.pop(), None);
    });
}

#[test]
fn the_last_item_of_a_deque_goes_to_the_owner_or_the_thief() {
    explore("pop against steal", || {
        let own: Worker<u32> = Worker::new();
        let stealer = own.stealer();
        own.push(1);
        let thief = thread::spawn(move || stealer.steal());
        let popped = own.pop();
        let stolen = thief.join().unwrap();
        assert!(popped.is_some() != stolen.is_some());
    });
}

#[test]
fn closing_is_not_missed_by_a_worker_that_parks() {
    explore("shutdown against park", || {
        let (shared, mut benches) = Shared::new(1);
        let shared = Arc::new(shared);
        let worker = thread::spawn({
            let (shared, bench) = (Arc::clone(&shared), benches.remove(0));
            move || run_worker(&shared, 0, bench)
        });
        shared.close();
        worker.join().unwrap();
    });
}
