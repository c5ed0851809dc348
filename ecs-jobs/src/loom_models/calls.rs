//! Models of whole calls of the pool, with one worker thread: the shipped code, from the first push to
//! the joined thread.

use super::slots::Deed;
use super::{explore, explore_within};
use crate::context::WorkerContext;
use crate::flat_loop;
use crate::join::join;
use crate::scope::scope;
use crate::shared::{LocalQueues, Shared};
use crate::static_graph::{Sharing, StaticGraph};
use crate::worker::{run_worker, work_once};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `call` in a pool with one worker, then closes the pool.
fn with_worker(call: impl FnOnce(&Shared)) {
    let (shared, mut places) = Shared::new(1);
    let shared = Arc::new(shared);
    let worker = thread::spawn({
        let (shared, place) = (Arc::clone(&shared), places.remove(0));
        move || run_worker(&shared, place)
    });
    call(&shared);
    shared.close();
    worker.join().unwrap();
}

#[test]
fn a_scope_with_a_panicking_job_ends_after_all_its_jobs_and_resumes_the_panic() {
    // One preemption: with two this alone takes ten seconds.
    explore_within(0..=1, "scope with a panicking job", || {
        with_worker(|shared| {
            let ended = AtomicUsize::new(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                scope(shared, |scope| {
                    // Not `panic!`, whose hook would print once per schedule.
                    scope.spawn(|_| resume_unwind(Box::new("the job's own")));
                    scope.spawn(|_| {
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }));
            let payload = outcome.expect_err("the panic is resumed");
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"the job's own"));
            assert!(ended.load(Ordering::Relaxed) <= 1);
        });
    });
}

#[test]
fn a_scope_ends_after_its_only_job_whoever_runs_it() {
    explore("scope with one job", || {
        with_worker(|shared| {
            let ended = AtomicUsize::new(0);
            scope(shared, |scope| {
                scope.spawn(|_| {
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            });
            assert_eq!(ended.load(Ordering::Relaxed), 1);
        });
    });
}

#[test]
fn a_loop_runs_each_index_once_and_ends_after_its_visitor_has_left() {
    explore("loop of three with a helper", || {
        with_worker(|shared| {
            let count = AtomicUsize::new(0);
            flat_loop::for_each_range(shared, 3, &|_slot, range: std::ops::Range<usize>| {
                count.fetch_add(range.len(), Ordering::Relaxed);
            });
            assert_eq!(count.load(Ordering::Relaxed), 3);
        });
    });
}

#[test]
fn a_join_gets_both_results_whether_the_half_is_stolen_or_not() {
    explore("join with a thief", || {
        with_worker(|shared| assert_eq!(join(shared, || 1, || 2), (1, 2)));
    });
}

/// Looks for work once, as a worker.
pub(super) fn visit(shared: &Shared, place: LocalQueues) {
    WorkerContext::with_worker(shared, place, |context| {
        work_once(shared, context, &mut || false);
    });
}

/// Runs `call` in a pool whose only worker looks for work once, and leaves when it finds none: the models
/// of what happens inside a call need no sleep.
fn with_visitor(call: impl FnOnce(&Shared)) {
    let (shared, mut places) = Shared::new(1);
    let shared = Arc::new(shared);
    let helper = thread::spawn({
        let (shared, place) = (Arc::clone(&shared), places.remove(0));
        move || visit(&shared, place)
    });
    call(&shared);
    helper.join().unwrap();
}

/// A graph in which the third node depends on the other two.
fn two_before_one() -> StaticGraph {
    StaticGraph::new(vec![vec![2], vec![2], vec![]], Sharing::Always)
}

#[test]
fn one_of_two_nodes_that_end_runs_the_one_behind_both_and_sees_what_they_did() {
    explore("graph: countdown to ready", || {
        with_visitor(|shared| {
            let deeds = [Deed::new(), Deed::new(), Deed::new()];
            two_before_one().run_together(shared, &[0, 1, 2], |_slot, node| {
                if node == 2 {
                    deeds[..2].iter().for_each(Deed::see);
                }
                deeds[node].act();
            });
            deeds.iter().for_each(Deed::see);
        });
    });
}

/// Runs a graph in which all nodes depend on the first, with these `costs`. Of any two that become ready
/// together, the more expensive one is queued, whatever their order.
fn one_before_all<const COUNT: usize>(sharing: Sharing, costs: [u64; COUNT]) {
    with_visitor(|shared| {
        let mut successors = vec![Vec::new(); COUNT];
        successors[0] = (1..COUNT).collect();
        let graph = StaticGraph::new(successors, sharing);
        for (node, ns) in costs.into_iter().enumerate() {
            graph.record_cost(node, ns, true);
        }
        let deeds = [(); COUNT].map(|()| Deed::new());
        let counts = [(); COUNT].map(|()| AtomicUsize::new(0));
        let nodes: [usize; COUNT] = std::array::from_fn(|node| node);
        graph.run_together(shared, &nodes, |_slot, node| {
            if node > 0 {
                deeds[0].see();
            }
            deeds[node].act();
            counts[node].fetch_add(1, Ordering::Relaxed);
        });
        deeds.iter().for_each(Deed::see);
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    });
}

#[test]
fn nodes_that_are_added_without_a_wake_are_run_by_who_added_them_or_the_owner() {
    // No node here is worth a wake-up, so no thread is woken at all.
    explore("graph: two behind one, without a wake", || {
        one_before_all(Sharing::WhereWorthIt, [10, 9, 8]);
    });
}

#[test]
fn nodes_that_become_ready_together_run_once_each_wherever_there_is_a_thread() {
    // One preemption: with two this alone takes five seconds.
    explore_within(0..=1, "graph: three behind one, called for", || {
        one_before_all(Sharing::Always, [10, 9, 8, 9]);
    });
}

#[test]
fn a_node_that_panics_keeps_the_one_behind_it_from_running_and_the_graph_runs_again() {
    explore("graph: a node that panics", || {
        with_visitor(|shared| {
            let graph = two_before_one();
            let last = AtomicUsize::new(0);
            let run = |bad: usize| {
                graph.run_together(shared, &[0, 1, 2], |_slot, node| {
                    if node == 2 {
                        last.fetch_add(1, Ordering::Relaxed);
                    }
                    if node == bad {
                        resume_unwind(Box::new("the node's own"));
                    }
                });
            };
            let payload = catch_unwind(AssertUnwindSafe(|| run(0))).expect_err("it goes on");
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"the node's own"));
            assert_eq!(last.load(Ordering::Relaxed), 0);
            run(usize::MAX);
            assert_eq!(last.load(Ordering::Relaxed), 1);
        });
    });
}
