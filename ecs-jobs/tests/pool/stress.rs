//! Random nested calls against a sequential oracle, under a watchdog.

use crate::support::{pool, within};
use formic_jobs::Pool;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// SplitMix64: small, and good enough to draw graphs from.
#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A tree of calls.
enum Node {
    Leaf(u64),
    Panic,
    Scope(Vec<Node>),
    Loop(Vec<Node>),
    LoopWithSlot(Vec<Node>),
    Join(Box<(Node, Node)>),
    /// Panics below end here.
    Catch(Box<Node>),
}

fn draw(random: &mut Random, depth: u64, panics: bool) -> Node {
    let kind = random.below(12);
    if depth == 0 || kind < 2 {
        let bad = panics && random.below(100) == 0;
        return if bad { Node::Panic } else { Node::Leaf(random.below(1_000)) };
    }
    let children = |random: &mut Random, limit| {
        (0..random.below(limit)).map(|_| draw(random, depth - 1, panics)).collect()
    };
    match kind {
        2..=4 => Node::Scope(children(random, 6)),
        5 | 6 => Node::Loop(children(random, 8)),
        7 => Node::LoopWithSlot(children(random, 8)),
        8 => Node::Catch(Box::new(draw(random, depth - 1, panics))),
        _ => {
            let first = draw(random, depth - 1, panics);
            Node::Join(Box::new((first, draw(random, depth - 1, panics))))
        }
    }
}

/// The sum of the leaves, or None if a panic comes out.
fn oracle(node: &Node) -> Option<u64> {
    match node {
        Node::Leaf(value) => Some(*value),
        Node::Panic => None,
        Node::Scope(nodes) | Node::Loop(nodes) | Node::LoopWithSlot(nodes) => {
            nodes.iter().map(oracle).sum()
        }
        Node::Join(halves) => Some(oracle(&halves.0)? + oracle(&halves.1)?),
        Node::Catch(node) => Some(oracle(node).unwrap_or(0)),
    }
}

fn run(pool: &Pool, node: &Node) -> u64 {
    let sum = AtomicU64::new(0);
    let add = |node: &Node| {
        sum.fetch_add(run(pool, node), Ordering::Relaxed);
    };
    match node {
        Node::Leaf(value) => {
            // Some leaves take long enough for others to join in.
            (0..value % 7 * 100).for_each(|_| std::hint::spin_loop());
            return *value;
        }
        // Not `panic!`, whose hook would print thousands of lines.
        Node::Panic => resume_unwind(Box::new("a node panics")),
        Node::Scope(nodes) => pool.scope(|scope| {
            nodes.iter().for_each(|node| scope.spawn(|_| add(node)));
        }),
        Node::Loop(nodes) => pool.for_each_index(nodes.len(), |index| add(&nodes[index])),
        Node::LoopWithSlot(nodes) => pool.for_each_range_with_slot(nodes.len(), |slot, range| {
            assert!(slot < pool.parallelism());
            nodes[range].iter().for_each(add);
        }),
        Node::Join(halves) => {
            let (first, second) = pool.join(|| run(pool, &halves.0), || run(pool, &halves.1));
            return first + second;
        }
        Node::Catch(node) => {
            return catch_unwind(AssertUnwindSafe(|| run(pool, node))).unwrap_or(0);
        }
    }
    sum.into_inner()
}

fn graphs_agree_with_the_oracle(worker_count: usize, panics: bool) {
    let graph_count = if cfg!(miri) { 2 } else { 120 };
    let depth = if cfg!(miri) { 3 } else { 9 };
    let pool = pool(worker_count);
    for seed in 0..graph_count {
        let graph = draw(&mut Random(seed), depth, panics);
        let result = catch_unwind(AssertUnwindSafe(|| run(&pool, &graph))).ok();
        assert_eq!(result, oracle(&graph), "seed {seed}, {worker_count} workers");
    }
}

#[test]
fn random_graphs_give_the_sequential_sum() {
    within(Duration::from_secs(120), || {
        [0, 1, 2, 4, 7].into_iter().for_each(|count| graphs_agree_with_the_oracle(count, false));
    });
}

#[test]
fn random_graphs_with_panics_panic_when_the_oracle_does() {
    within(Duration::from_secs(120), || {
        [0, 1, 2, 4, 7].into_iter().for_each(|count| graphs_agree_with_the_oracle(count, true));
    });
}

#[test]
fn random_graphs_from_several_outside_threads_at_once_end() {
    within(Duration::from_secs(120), || {
        let pool = pool(2);
        let graph_count = if cfg!(miri) { 1 } else { 40 };
        std::thread::scope(|threads| {
            for outside in 0..3 {
                let pool = &pool;
                threads.spawn(move || {
                    for seed in 0..graph_count {
                        let graph = draw(&mut Random(seed + 1_000 * outside), 5, false);
                        assert_eq!(Some(run(pool, &graph)), oracle(&graph));
                    }
                });
            }
        });
    });
}
