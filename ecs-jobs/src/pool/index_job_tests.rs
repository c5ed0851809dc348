//! Index jobs, which only a pool with threads can show.

use super::{Pool, Threads};
use crate::graph_run::{IndexQueue, run_indices};
use crate::panic_slot::catch;
use crate::sync::{AtomicUsize, Ordering};
use std::collections::VecDeque;

fn run_tree(pool: &Pool, queue: &IndexQueue, limit: usize, bad: usize) -> (usize, bool) {
    let count = AtomicUsize::new(0);
    let ended = catch(|| {
        run_indices(
            &pool.shared,
            queue,
            |run| run.add(1),
            |slot, index, run| {
                assert!(slot < pool.parallelism());
                if index == bad {
                    std::panic::resume_unwind(Box::new(()));
                }
                count.fetch_add(1, Ordering::Relaxed);
                // A binary tree.
                for child in [2 * index, 2 * index + 1] {
                    if child < limit {
                        run.add(child);
                    }
                }
                run.wake(1);
            },
        );
    });
    (count.into_inner(), ended.is_ok())
}

#[test]
fn every_index_that_is_added_runs_once() {
    for workers in [0, 1, 3] {
        let pool = Pool::new(Threads::Own(workers)).expect("a few threads are granted");
        let queue = IndexQueue::new(VecDeque::with_capacity(4));
        for limit in [2, 3, 100, 1_000] {
            assert_eq!(run_tree(&pool, &queue, limit, usize::MAX), (limit - 1, true));
        }
    }
}

#[test]
fn a_panic_drops_the_rest_and_leaves_the_queue_empty() {
    for workers in [0, 1, 3] {
        let pool = Pool::new(Threads::Own(workers)).expect("a few threads are granted");
        let queue = IndexQueue::new(VecDeque::with_capacity(4));
        let (count, whole) = run_tree(&pool, &queue, 1_000, 5);
        assert!(count < 999 && !whole);
        assert!(queue.is_empty(), "what was not run was dropped");
        assert_eq!(run_tree(&pool, &queue, 100, usize::MAX), (99, true));
    }
}
