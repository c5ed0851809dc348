//! Halves of joins, against the sleep of their owner and of thieves.

#![expect(unsafe_code, reason = "ends a group by hand")]

use super::calls::visit;
use super::explore;
use super::groups::wait_for;
use crate::context::WorkerContext;
use crate::join::join;
use crate::shared::Shared;
use crate::task_group::TaskGroup;
use crate::worker::run_worker;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_half_is_opened_to_thieves_before_its_owner_sleeps() {
    explore("private halves against owner's sleep", || {
        let (shared, mut places) = Shared::new(1);
        let shared = Arc::new(shared);
        let thief = thread::spawn({
            let (shared, place) = (Arc::clone(&shared), places.remove(0));
            move || run_worker(&shared, place)
        });
        // The owner waits for the effect of the inner half. The outer half is older, so it is the first
        // to be opened.
        let awaited = TaskGroup::new(1);
        let wait = || wait_for(&shared, &awaited, None);
        // SAFETY: the group counts one for the inner half, which uses it once (J-2).
        let finish = || unsafe { TaskGroup::finish_one(NonNull::from(&awaited), &shared.sleepers) };
        join(&shared, || join(&shared, wait, finish), || ());
        shared.close();
        thief.join().unwrap();
    });
}

#[test]
fn joins_that_are_deeper_than_the_ring_get_all_their_results() {
    // A flag of the standard library: it outlives a schedule, and loom must not see it.
    static WAS_FULL: AtomicBool = AtomicBool::new(false);
    explore("joins deeper than the ring of halves", || {
        let (shared, mut places) = Shared::new(1);
        let shared = Arc::new(shared);
        let thief = thread::spawn({
            let (shared, place) = (Arc::clone(&shared), places.remove(0));
            move || visit(&shared, place)
        });
        // The first half is opened at once, the second fills the ring, and the third makes room.
        let innermost = || {
            let is_full = |context: &WorkerContext| {
                context.queues().is_some_and(|queues| queues.private.is_full())
            };
            WAS_FULL.fetch_or(WorkerContext::with(&shared, is_full), Ordering::Relaxed);
            join(&shared, || 1, || 2)
        };
        let results = join(&shared, || join(&shared, innermost, || 3), || 4);
        assert_eq!(results, (((1, 2), 3), 4));
        thief.join().unwrap();
    });
    assert!(WAS_FULL.load(Ordering::Relaxed), "the ring was never full");
}
