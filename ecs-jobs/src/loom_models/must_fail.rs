//! Twins of the models with a piece taken out. Each must be caught.
//!
//! A found deadlock aborts the process while loom takes its locks down, and so
//! each twin runs in a child process of its own.

use super::explore;
use super::groups::{Frame, spawn_against_park};
use super::halves::two_jobs_for_two_workers;
use super::sleep::Sleepers;
use crate::locked_queue::LockedQueue;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::wait::wait_until_done;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::collections::VecDeque;
use std::io::Write;
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

/// Runs a model without the ordering of `place`, and demands that loom says
/// `complaint`.
fn must_fail_without(place: &str, model: &str, complaint: &str) {
    let model = format!("loom_models::{model}");
    let child = Command::new(std::env::current_exe().expect("the test knows itself"))
        .args(["--exact", &model, "--nocapture", "--test-threads=1"])
        .env("FORMIC_TAKEN_OUT", place)
        .output()
        .expect("the test can start itself");
    let stdout = String::from_utf8_lossy(&child.stdout);
    let said = format!("{stdout}{}", String::from_utf8_lossy(&child.stderr));
    assert!(said.contains("running 1 test"), "there is no model {model}");
    assert!(!child.status.success(), "loom did not miss the ordering of {place} in {model}");
    assert!(said.contains(complaint), "{model} failed for another reason:\n{said}");
    let line = format!("loom: {model} without the ordering of {place}: caught\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
}

#[test]
fn a_push_from_outside_needs_the_fences_of_both_sides() {
    let model = "sleep::a_push_from_outside_is_not_missed_by_a_worker_that_parks";
    must_fail_without("notify", model, "deadlock");
    must_fail_without("announce", model, "deadlock");
}

#[test]
fn a_push_from_inside_needs_the_fence_of_its_side() {
    // The look into a deque has a fence of its own, so the other side's is one
    // more than needed here.
    let model = "sleep::a_push_from_inside_is_not_missed_by_a_thief_that_parks";
    must_fail_without("notify", model, "deadlock");
}

#[test]
fn a_thread_that_waits_for_a_job_needs_the_fences_of_both_sides() {
    let model = "handles::a_job_that_gets_ready_is_not_missed_by_who_waits_for_it";
    must_fail_without("notify", model, "deadlock");
    must_fail_without("announce_waiter", model, "deadlock");
}

#[test]
fn a_thread_of_the_host_needs_the_fences_of_both_sides() {
    let model = "handles::a_condition_that_comes_true_is_not_missed_by_a_thread_of_the_host";
    must_fail_without("notify", model, "deadlock");
    must_fail_without("announce_host", model, "deadlock");
}

#[test]
fn an_owner_that_parks_needs_the_fences_of_both_sides() {
    let model = "groups::work_that_a_foreign_thread_brings_is_not_missed_by_an_owner_that_parks";
    must_fail_without("notify", model, "deadlock");
    must_fail_without("announce_wait", model, "deadlock");
}

#[test]
fn an_owner_that_parks_beside_a_queue_with_a_lock_needs_the_fences_of_both_sides() {
    let model = "groups::work_in_a_queue_with_a_lock_is_not_missed_by_an_owner_that_parks";
    must_fail_without("notify", model, "deadlock");
    must_fail_without("announce_wait", model, "deadlock");
}

#[test]
fn the_last_decrement_of_a_group_needs_its_release_and_the_owner_its_acquire() {
    let model = "groups::a_visitor_that_leaves_last_wakes_the_owner_who_frees_the_group";
    must_fail_without("finish_one", model, "Causality violation");
    must_fail_without("group_is_done", model, "Causality violation");
}

#[test]
fn a_countdown_to_ready_needs_each_half_of_its_order() {
    let model = "handles::one_of_two_that_end_gets_the_job_after_both_and_sees_what_they_did";
    must_fail_without("countdown acquire", model, "Causality violation");
    must_fail_without("countdown release", model, "Causality violation");
}

#[test]
fn a_countdown_in_a_graph_needs_each_half_of_its_order() {
    let model = "calls::one_of_two_nodes_that_end_runs_the_one_behind_both_and_sees_what_they_did";
    must_fail_without("graph_countdown acquire", model, "Causality violation");
    must_fail_without("graph_countdown release", model, "Causality violation");
}

#[test]
fn the_end_of_a_job_needs_its_release_and_a_look_its_acquire() {
    let model = "handles::who_sees_that_a_job_is_done_sees_what_it_did";
    must_fail_without("end release", model, "Causality violation");
    must_fail_without("job_is_done", model, "Causality violation");
}

#[test]
fn a_link_to_a_job_that_ends_needs_the_order_of_both_sides() {
    let model = "handles::a_job_that_is_added_while_the_one_before_it_ends_is_somebodys";
    must_fail_without("link", model, "Causality violation");
    must_fail_without("end acquire", model, "Causality violation");
}

#[test]
fn a_claim_needs_the_order_of_the_publication_and_its_own() {
    let model = "handles::one_of_two_threads_claims_a_job_and_has_its_closure";
    must_fail_without("publish", model, "Causality violation");
    must_fail_without("claim", model, "Causality violation");
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
fn a_job_added_without_a_wake_by_one_who_leaves_is_caught() {
    must_fail("added_without_a_wake_and_left", "deadlock");
}

#[test]
#[ignore = "must fail: run by its twin"]
fn added_without_a_wake_and_left() {
    explore("twin: added without a wake, and left", || {
        spawn_against_park(Shared::new(0).0, LockedQueue::new(VecDeque::new()), |_, _| ());
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
            let frame = Frame::new(1, seat.parker(&shared));
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
