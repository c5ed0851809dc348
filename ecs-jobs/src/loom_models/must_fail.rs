//! Twins of the models with a piece omitted. Each must be caught.
//!
//! A deadlock found by loom aborts the process while loom drops its locks, so each twin runs in a child
//! process of its own.

use super::explore;
use super::groups::{Frame, spawn_against_park, wait_for};
use crate::queue::Queue;
use crate::shared::Shared;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::collections::VecDeque;
use std::io::Write;
use std::process::Command;

/// Runs a twin in a child process, in which this very test is the twin, and requires loom to report
/// `complaint`.
fn must_fail(test: &str, complaint: &str, twin: impl Fn() + Sync + Send + 'static) {
    let test = format!("loom_models::must_fail::{test}");
    if std::env::var("FORMIC_TWIN").is_ok_and(|it| it == test) {
        explore(&test, twin);
        return;
    }
    fails_in_child(&test, ("FORMIC_TWIN", &test), complaint);
}

/// Runs a test in a child process with an environment variable, and requires loom to report `complaint`.
fn fails_in_child(test: &str, (variable, value): (&str, &str), complaint: &str) {
    let child = Command::new(std::env::current_exe().expect("the test knows itself"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(variable, value)
        .output()
        .expect("the test can start itself");
    let stdout = String::from_utf8_lossy(&child.stdout);
    let said = format!("{stdout}{}", String::from_utf8_lossy(&child.stderr));
    assert!(said.contains("running 1 test"), "there is no test {test}");
    assert!(!child.status.success(), "loom did not catch {test} with {variable}={value}");
    assert!(said.contains(complaint), "{test} failed for another reason:\n{said}");
}

/// Runs a model without the ordering of `place`, and requires loom to report `complaint`.
fn must_fail_without(place: &str, model: &str, complaint: &str) {
    let model = format!("loom_models::{model}");
    fails_in_child(&model, ("FORMIC_TAKEN_OUT", place), complaint);
    let line = format!("loom: {model} without the ordering of {place}: caught\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
}

#[test]
fn work_needs_the_fences_of_both_sides() {
    let model = "sleep::work_is_not_missed_by_a_worker_that_parks";
    must_fail_without("has_any", model, "deadlock");
    must_fail_without("list", model, "deadlock");
}

#[test]
fn a_wake_up_that_is_kept_by_a_thread_that_leaves_is_caught() {
    let model = "sleep::a_wake_up_spent_on_a_thread_that_leaves_is_passed_on";
    must_fail_without("pass_on", model, "deadlock");
}

#[test]
fn a_wake_up_for_a_job_that_is_kept_by_a_worker_in_a_group_is_caught() {
    let model = "groups::a_wake_up_for_a_job_that_a_worker_spends_on_a_group_is_passed_on";
    must_fail_without("pass_on_work", model, "deadlock");
}

#[test]
fn a_worker_that_finds_something_has_to_look_behind_a_fence_for_what_was_left_to_it() {
    let model = "sleep::work_left_to_a_worker_that_looks_for_some_and_finds_other_wakes_a_sleeper";
    must_fail_without("note_work_found", model, "no thread was woken");
    must_fail_without("pass_on_work", model, "no thread was woken");
}

#[test]
fn the_end_of_a_group_has_to_wake_its_owner() {
    let model = "groups::a_visitor_that_leaves_last_wakes_the_owner_who_frees_the_group";
    must_fail_without("wake_owner", model, "deadlock");
}

#[test]
fn work_in_a_group_has_to_wake_its_owner_besides_a_worker() {
    let model = "groups::a_wake_up_that_a_worker_wastes_does_not_leave_the_owner_asleep";
    must_fail_without("announce_owner", model, "deadlock");
}

#[test]
fn a_half_has_to_wake_the_owners_around_it() {
    let model = "groups::a_half_that_is_opened_below_is_not_missed_by_an_owner_that_parks";
    must_fail_without("announce_owners_around", model, "deadlock");
}

#[test]
fn a_thread_that_has_ended_a_job_has_to_look_for_conditions_behind_a_fence() {
    let model = "handles::a_job_that_makes_a_condition_true_is_not_missed_by_a_thread_of_the_host";
    must_fail_without("tell_conditional", model, "deadlock");
}

#[test]
fn external_threads_in_a_job_need_the_order_of_both_sides() {
    let model = "handles::one_external_thread_at_a_time_is_inside_a_job";
    must_fail_without("external_in", model, "Causality violation");
    must_fail_without("external_out", model, "Causality violation");
    must_fail_without("one_external", model, "Causality violation");
    let model = "handles::an_external_thread_that_runs_a_job_keeps_others_out_of_it";
    must_fail_without("start_as_external", model, "Causality violation");
    let model = "handles::an_external_thread_that_comes_late_lets_no_other_into_the_next_job";
    must_fail_without("external_is_earlier", model, "Causality violation");
}

#[test]
fn a_wake_up_that_is_kept_by_a_thread_that_panics_is_caught() {
    let model = "sleep::a_wake_up_spent_on_a_thread_that_panics_is_passed_on";
    must_fail_without("pass_on", model, "deadlock");
}

#[test]
fn work_inside_a_job_has_to_wake_who_waits_for_the_job() {
    let model = "handles::work_inside_a_job_is_not_missed_by_who_waits_for_the_job";
    must_fail_without("announce_helpers", model, "deadlock");
}

#[test]
fn who_opens_a_gate_has_to_tell_who_waits_behind_it() {
    let model = "handles::a_gate_that_is_opened_is_not_missed_by_who_waits_for_what_is_behind_it";
    must_fail_without("announce_opened", model, "deadlock");
}

#[test]
fn who_brings_a_job_for_one_worker_has_to_wake_it() {
    let model = "handles::a_job_for_one_worker_is_not_missed_by_it";
    must_fail_without("announce_pinned", model, "deadlock");
}

#[test]
fn who_combines_what_has_ended_has_to_tell_who_waits_for_all() {
    let model = "handles::the_end_of_all_jobs_is_not_missed_where_ended_jobs_are_combined";
    must_fail_without("tell_combined", model, "deadlock");
}

#[test]
fn who_turns_to_a_group_has_to_tell_first_of_the_jobs_that_it_has_ended() {
    let model =
        "groups::the_end_of_all_jobs_is_not_missed_while_the_thread_of_the_last_is_in_a_group";
    must_fail_without("tell_before_group", model, "deadlock");
}

#[test]
fn who_goes_on_in_a_long_call_has_to_tell_first_of_the_jobs_that_it_has_ended() {
    for (place, how) in [
        ("tell_after_wait", "runs_the_last_one"),
        ("tell_cancelled", "cancels_the_last_one"),
        ("tell_inline", "schedules_one_without_threads"),
    ] {
        let model = format!("handles::the_end_of_all_jobs_is_not_missed_where_a_long_call_{how}");
        must_fail_without(place, &model, "deadlock");
    }
}

#[test]
fn who_gives_up_has_to_tell_of_the_work_that_is_left() {
    let model =
        "groups::a_node_that_a_helper_leaves_in_a_graph_is_not_missed_by_an_owner_that_parks";
    must_fail_without("announce_given_up", model, "deadlock");
    let model =
        "handles::work_inside_a_job_that_a_thread_gives_up_is_not_missed_by_who_waits_behind_it";
    must_fail_without("announce_room", model, "deadlock");
}

#[test]
fn who_is_woken_for_work_of_no_use_has_to_pass_the_wake_up_on() {
    let model =
        "handles::work_inside_a_job_is_not_missed_beside_a_thread_that_waits_behind_another";
    must_fail_without("pass_on_inside", model, "deadlock");
}

#[test]
fn a_flush_must_not_wait_for_a_broadcast() {
    let model = "handles::a_flush_in_a_group_of_a_worker_ends_while_another_thread_broadcasts";
    must_fail_without("broadcast_is_apart", model, "deadlock");
}

#[test]
fn a_look_at_a_slot_needs_the_order_of_both_sides() {
    let model = "slots::a_job_that_is_seen_ready_is_seen_to_be_for_the_main_thread";
    must_fail_without("state", model, "another thread");
    must_fail_without("publish", model, "another thread");
    let model = "slots::a_dependency_of_a_later_job_is_not_taken_for_one_of_the_former";
    must_fail_without("dependency_load", model, "the later job");
    must_fail_without("dependency_store", model, "the later job");
}

#[test]
fn the_ledger_needs_the_order_of_both_sides() {
    let model = "slots::who_sees_that_all_jobs_have_ended_sees_what_they_did";
    must_fail_without("ledger_end", model, "Causality violation");
    must_fail_without("ledger_is_even", model, "Causality violation");
}

#[test]
fn the_last_decrement_of_a_group_needs_its_release_and_the_owner_its_acquire() {
    let model = "groups::a_visitor_that_leaves_last_wakes_the_owner_who_frees_the_group";
    must_fail_without("finish_one", model, "Causality violation");
    must_fail_without("group_is_done", model, "Causality violation");
}

#[test]
fn a_countdown_to_ready_needs_each_half_of_its_order() {
    let model = "slots::one_of_two_that_end_gets_the_job_after_both_and_sees_what_they_did";
    must_fail_without("countdown acquire", model, "Causality violation");
    must_fail_without("countdown release", model, "Causality violation");
    must_fail_without("countdown_look", model, "Causality violation");
}

#[test]
fn a_countdown_in_a_graph_needs_each_half_of_its_order() {
    let model = "calls::one_of_two_nodes_that_end_runs_the_one_behind_both_and_sees_what_they_did";
    must_fail_without("graph_countdown acquire", model, "Causality violation");
    must_fail_without("graph_countdown release", model, "Causality violation");
    must_fail_without("graph_countdown_look", model, "Causality violation");
}

#[test]
fn the_end_of_a_job_needs_its_release_and_a_look_its_acquire() {
    let model = "slots::who_sees_that_a_job_is_done_sees_what_it_did";
    must_fail_without("end release", model, "Causality violation");
    must_fail_without("job_is_done", model, "Causality violation");
}

#[test]
fn the_end_of_an_unknown_job_needs_its_release() {
    let model = "slots::who_sees_a_later_job_in_its_place_sees_what_a_job_did";
    must_fail_without("end_unknown", model, "Causality violation");
}

#[test]
fn a_link_to_a_job_that_ends_needs_the_order_of_both_sides() {
    let model = "slots::a_job_that_is_added_while_the_one_before_it_ends_is_somebodys";
    must_fail_without("link", model, "Causality violation");
    must_fail_without("end acquire", model, "Causality violation");
}

#[test]
fn a_claim_needs_the_order_of_the_publication_and_its_own() {
    let model = "slots::one_of_two_threads_claims_a_job_and_has_its_closure";
    must_fail_without("publish", model, "Causality violation");
    must_fail_without("claim", model, "Causality violation");
}

#[test]
fn a_job_added_without_a_wake_by_one_who_leaves_is_caught() {
    must_fail("a_job_added_without_a_wake_by_one_who_leaves_is_caught", "deadlock", || {
        spawn_against_park(Shared::new(0).0, Queue::new(VecDeque::new()), |_, _| ());
    });
}

#[test]
fn a_use_of_a_group_after_its_last_decrement_is_caught() {
    let name = "a_use_of_a_group_after_its_last_decrement_is_caught";
    must_fail(name, "Causality violation", || {
        let shared = Arc::new(Shared::new(0).0);
        let frame = Frame::new(1);
        let helper = thread::spawn({
            let (frame, shared) = (Arc::clone(&frame), Arc::clone(&shared));
            move || {
                frame.finish_one(&shared);
                frame.touch();
            }
        });
        wait_for(&shared, &frame.group, None);
        frame.free();
        helper.join().unwrap();
    });
}

#[test]
fn a_counter_without_compare_exchange_is_caught() {
    must_fail("a_counter_without_compare_exchange_is_caught", "Causality violation", || {
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
