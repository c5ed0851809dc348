//! The end of a group against the owner who frees it, and the counter of loops.

#![expect(unsafe_code, reason = "opening a group and its last decrement are modelled here")]

use super::explore;
use crate::deque::Injector;
use crate::flat_loop::BatchCounter;
use crate::group::{Group, Work};
use crate::locked_queue::LockedQueue;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::wait::wait_until_done;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// A frame with a group in it. Freeing it is a write to `frame`, and using it
/// is a read, so that loom sees a use after free as a race.
pub(super) struct Frame {
    pub(super) group: Group,
    frame: UnsafeCell<()>,
}

impl Frame {
    pub(super) fn new(count: usize, owner: usize) -> Arc<Self> {
        Arc::new(Self { group: Group::new(count, owner), frame: UnsafeCell::new(()) })
    }

    pub(super) fn touch(&self) {
        self.frame.with(|_| ());
    }

    pub(super) fn free(&self) {
        self.frame.with_mut(|_| ());
    }

    pub(super) fn finish_one(&self, shared: &Shared) {
        // SAFETY: the model counts one for the thread that calls this (J-2),
        // and the allocation outlives the model's threads in any case.
        unsafe { Group::finish_one(NonNull::from(&self.group), &shared.parkers) };
    }
}

#[test]
fn a_visitor_that_leaves_last_wakes_the_owner_who_frees_the_group() {
    explore("last of two visitors against owner", || {
        let (shared, _benches) = Shared::new(0);
        let shared = Arc::new(shared);
        Seat::with(&shared, |seat| {
            let frame = Frame::new(2, seat.parker(&shared));
            let visitors = [0, 1].map(|_| {
                let (frame, shared) = (Arc::clone(&frame), Arc::clone(&shared));
                thread::spawn(move || {
                    frame.touch();
                    frame.finish_one(&shared);
                })
            });
            wait_until_done(&shared, seat, &frame.group, None);
            frame.free();
            visitors.into_iter().for_each(|visitor| visitor.join().unwrap());
        });
    });
}

/// A queue of a group.
pub(super) trait Queue: Send + Sync + 'static {
    fn put(&self, task: usize);
    fn take(&self) -> Option<usize>;
    fn has_none(&self) -> bool;
}

/// Brings no order of its own.
impl Queue for Injector<usize> {
    fn put(&self, task: usize) {
        self.push(task);
    }

    fn take(&self) -> Option<usize> {
        self.steal()
    }

    fn has_none(&self) -> bool {
        self.is_empty()
    }
}

/// The queue that scopes and graphs have.
impl Queue for LockedQueue<usize> {
    fn put(&self, task: usize) {
        self.push(task);
    }

    fn take(&self) -> Option<usize> {
        self.pop()
    }

    fn has_none(&self) -> bool {
        self.is_empty()
    }
}

/// A group with a queue, as a scope is.
struct Tasks<Q> {
    group: Group,
    queue: Q,
}

impl<Q: Queue> Work for Tasks<Q> {
    fn group(&self) -> &Group {
        &self.group
    }

    fn has_work(&self) -> bool {
        !self.queue.has_none()
    }

    fn help(&self, _slot: usize) {
        while self.queue.take().is_some() {
            self.group.finish_job();
        }
    }
}

/// Another thread brings a job into a group, which its owner has to run.
pub(super) fn spawn_against_park(shared: Shared, queue: impl Queue, tell: fn(&Shared, &Group)) {
    let shared = Arc::new(shared);
    Seat::with(&shared, |seat| {
        let tasks = Arc::new(Tasks { group: Group::new(1, seat.parker(&shared)), queue });
        let spawner = thread::spawn({
            let (shared, tasks) = (Arc::clone(&shared), Arc::clone(&tasks));
            move || {
                tasks.queue.put(1);
                tell(&shared, &tasks.group);
            }
        });
        wait_until_done(&shared, seat, &tasks.group, Some(&*tasks));
        spawner.join().unwrap();
    });
}

#[test]
fn work_that_a_foreign_thread_brings_is_not_missed_by_an_owner_that_parks() {
    explore("spawn against owner's park", || {
        spawn_against_park(Shared::new(0).0, Injector::new(), announce);
    });
}

fn announce(shared: &Shared, group: &Group) {
    shared.announce_work(group, 1);
}

#[test]
fn work_in_a_queue_with_a_lock_is_not_missed_by_an_owner_that_parks() {
    explore("spawn behind a lock against owner's park", || {
        spawn_against_park(Shared::new(0).0, LockedQueue::new(VecDeque::new()), announce);
    });
}

#[test]
fn a_wake_up_that_a_worker_wastes_does_not_leave_the_owner_asleep() {
    explore("spawn against owner's park beside a busy worker", || {
        let (shared, _benches) = Shared::new(1);
        // This worker will be woken, and take something else, without an end.
        shared.idle.announce(0);
        spawn_against_park(shared, Injector::new(), announce);
    });
}

#[test]
fn work_in_a_group_below_is_not_missed_by_an_owner_that_parks() {
    explore("group opened below against owner's park", || {
        let (shared, _benches) = Shared::new(0);
        let shared = Arc::new(shared);
        Seat::with(&shared, |seat| {
            let above = Frame::new(1, seat.parker(&shared));
            let opener = thread::spawn({
                let (above, shared) = (Arc::clone(&above), Arc::clone(&shared));
                move || {
                    open_below(&above.group, &shared);
                    above.finish_one(&shared);
                }
            });
            wait_until_done(&shared, seat, &above.group, None);
            above.free();
            opener.join().unwrap();
        });
    });
}

/// A job of `above` that opens a group with a task in it. It does not help, so
/// that it ends only if the owner of `above` comes.
fn open_below(above: &Group, shared: &Shared) {
    Seat::with(shared, |seat| {
        let below = Tasks { group: Group::new(1, seat.parker(shared)), queue: Injector::new() };
        // SAFETY: `above` counts the job that runs this function (J-3).
        unsafe { below.group.set_parent(Some(NonNull::from(above))) };
        // SAFETY: closed and outwaited below (J-1, J-2).
        unsafe { shared.open.open(&below) };
        below.queue.put(1);
        shared.announce_work(&below.group, 1);
        wait_until_done(shared, seat, &below.group, None);
        shared.open.close(&below);
        wait_until_done(shared, seat, &below.group, None);
    });
}

#[test]
fn batches_are_disjoint_and_cover_the_loop_and_one_is_the_last() {
    const LEN: usize = 3;
    explore("batch counter", || {
        let counter = Arc::new(BatchCounter::new(0..LEN, 1, 1));
        // Each index may be taken once: a second access would be a race.
        let taken: Arc<[UnsafeCell<()>; LEN]> =
            Arc::new(std::array::from_fn(|_| UnsafeCell::new(())));
        let work = move || {
            let (mut count, mut last_count) = (0, 0);
            while let Some(batch) = counter.claim() {
                last_count += usize::from(counter.is_last(&batch));
                for index in batch {
                    count += 1;
                    taken[index].with_mut(|_| ());
                }
            }
            (count, last_count)
        };
        let other = thread::spawn(work.clone());
        let (count, last_count) = work();
        let (other_count, other_last_count) = other.join().unwrap();
        assert_eq!(count + other_count, LEN);
        assert_eq!(last_count + other_last_count, 1);
    });
}

#[test]
fn a_cancel_ends_a_loop_as_often_as_a_last_batch_does() {
    explore("batch counter, cancelled", || {
        let counter = Arc::new(BatchCounter::new(0..2, 1, 1));
        let other = thread::spawn({
            let counter = Arc::clone(&counter);
            move || usize::from(counter.cancel())
        });
        let mut ends = 0;
        while let Some(batch) = counter.claim() {
            ends += usize::from(counter.is_last(&batch));
        }
        assert_eq!(ends + other.join().unwrap(), 1);
    });
}
