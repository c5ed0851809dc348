//! Twins of the models with a piece taken out. Each must be caught.
//!
//! A found deadlock aborts the process while loom takes its locks down, and so
//! each twin runs in a child process of its own.

use super::explore;
use super::groups::Frame;
use super::halves::two_jobs_for_two_workers;
use super::sleep::Sleepers;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::wait::wait_until_done;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::process::Command;

/// Runs one of the ignored twins and demands that loom says `complaint`.
fn must_fail(twin: &str, complaint: &str) {
    let twin = format!("loom_models::must_fail::{twin}");
    let child = Command::new(std::env::current_exe().expect("the test knows itself"))
        .args(["--exact", &twin, "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .expect("the test can start itself");
    let stdout = String::from_utf8_lossy(&child.stdout);
    let said = format!("{stdout}{}", String::from_utf8_lossy(&child.stderr));
    assert!(said.contains("running 1 test"), "there is no twin {twin}");
    assert!(!child.status.success(), "loom did not catch {twin}");
    assert!(said.contains(complaint), "{twin} failed for another reason:\n{said}");
}

#[test]
fn a_notify_without_its_fence_is_caught() {
    must_fail("notify_without_fence", "deadlock");
}

#[test]
#[ignore = "must fail: run by its twin"]
fn notify_without_fence() {
    explore("twin: notify without fence", || {
        let pool = Sleepers::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.take_one(0)
        });
        pool.queue.push(7);
        pool.events.notify_after_fence(1, &pool.parkers);
        assert_eq!(worker.join().unwrap(), 7);
    });
}

#[test]
fn a_push_without_notify_is_caught() {
    must_fail("push_without_notify", "deadlock");
}

#[test]
#[ignore = "must fail: run by its twin"]
fn push_without_notify() {
    explore("twin: push without notify", || {
        let pool = Sleepers::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.take_one(0)
        });
        pool.queue.push(7);
        assert_eq!(worker.join().unwrap(), 7);
    });
}

#[test]
fn a_wake_up_that_is_not_passed_on_is_caught() {
    must_fail("wake_up_kept", "deadlock");
}

#[test]
#[ignore = "must fail: run by its twin"]
fn wake_up_kept() {
    two_jobs_for_two_workers("twin: wake-up kept", |shared, worker| {
        shared.idle.announce(worker);
        if shared.has_news() {
            let _spent = shared.idle.cancel(worker);
        } else {
            shared.idle.sleep(worker, &shared.parkers);
        }
    });
}

#[test]
fn a_use_of_a_group_after_its_last_decrement_is_caught() {
    must_fail("use_after_finish", "Causality violation");
}

#[test]
#[ignore = "must fail: run by its twin"]
fn use_after_finish() {
    explore("twin: group used after the last decrement", || {
        let (shared, _benches) = Shared::new(0);
        let shared = Arc::new(shared);
        Seat::with(&shared, |seat| {
            let frame = Frame::new(1, seat.parker);
            let visitor = thread::spawn({
                let (frame, shared) = (Arc::clone(&frame), Arc::clone(&shared));
                move || {
                    frame.finish_one(&shared);
                    frame.touch();
                }
            });
            wait_until_done(&shared, seat, &frame.group, None);
            frame.free();
            visitor.join().unwrap();
        });
    });
}

#[test]
fn a_counter_without_compare_exchange_is_caught() {
    must_fail("counter_without_compare_exchange", "Causality violation");
}

#[test]
#[ignore = "must fail: run by its twin"]
fn counter_without_compare_exchange() {
    explore("twin: counter by load and store", || {
        let next = Arc::new(AtomicUsize::new(0));
        let taken: Arc<[UnsafeCell<()>; 2]> =
            Arc::new(std::array::from_fn(|_| UnsafeCell::new(())));
        let work = move || {
            let index = next.load(Ordering::Acquire);
            next.store(index + 1, Ordering::Release);
            taken[index].with_mut(|_| ());
        };
        let other = thread::spawn(work.clone());
        work();
        other.join().unwrap();
    });
}
