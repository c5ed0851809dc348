//! No pool: a plain loop, and for what has to do with sleeping a thread that parks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use super::Outside;
use crate::effects;
use crate::harness::Cell;
use crate::model::{self, Countdown, Graph, Imbalanced, JoinTree};
use crate::rows::{Kind, Row};
use crate::scaling::Heavy;
use crate::signal::Signal;

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    Some(match row.kind {
        Kind::Join { n } | Kind::OutsideJoin { n } => {
            Cell::new(0, move |result| *result = fib(std::hint::black_box(n)), |result| *result)
        }
        Kind::Graph | Kind::GraphPrebuilt { .. } | Kind::GraphScope => graph(),
        Kind::For { batch } => {
            let batch = batch.unwrap_or(model::ITEMS);
            Cell::new(
                model::items(),
                move |items| items.chunks_mut(batch).for_each(model::step_all),
                |items| model::sum_items(items.iter().copied()),
            )
        }
        Kind::Imbalanced => Cell::new(
            Imbalanced::new(),
            |heavy| (0..Imbalanced::LEN).for_each(|index| heavy.visit(index)),
            |heavy| heavy.sum(),
        ),
        Kind::Heavy => Cell::new(
            Heavy::new(),
            |heavy| (0..Heavy::LEN).for_each(|index| heavy.visit(index)),
            |heavy| heavy.sum(),
        ),
        Kind::Tree(tree) => {
            Cell::new(0_u64, move |sum| *sum = sum.wrapping_add(run_tree(tree)), |sum| *sum)
        }
        Kind::Effects { targets } => {
            let mut world = effects::world(targets);
            let plans = (world.plan(), world.view_plan());
            Cell::new(
                (world, plans),
                |(world, plans)| effects::one_by_one(world, plans),
                |(world, _)| effects::sum(world),
            )
        }
        _ => return None,
    })
}

fn run_tree(tree: JoinTree) -> u64 {
    let Some((left, right)) = tree.halves() else { return tree.run() };
    run_tree(left).wrapping_add(run_tree(right))
}

#[inline(never)]
fn fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { fib(n - 1) + fib(n - 2) }
}

/// Each job when the last one that it waits for has ended, from a stack.
fn graph() -> Cell {
    Cell::new(
        (Graph::new(), Countdown::new(), Vec::new()),
        |(graph, countdown, ready)| {
            countdown.reset(graph);
            ready.extend(graph.roots());
            while let Some(job) = ready.pop() {
                graph.run(job);
                let after = graph.after[job].iter().copied();
                ready.extend(after.filter(|&after| countdown.is_ready(after)));
            }
        },
        |(graph, ..)| graph.sum(),
    )
}

/// A thread of the standard library that parks until a job comes.
struct Parked {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    pushed: AtomicUsize,
    signal: std::sync::Mutex<Option<&'static Signal>>,
    is_closing: AtomicBool,
}

pub(crate) fn outside(_threads: usize) -> Option<Box<dyn Outside>> {
    let shared = Arc::new(Shared::default());
    let thread = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let mut done = 0;
            while !shared.is_closing.load(Ordering::Acquire) {
                if shared.pushed.load(Ordering::Acquire) == done {
                    thread::park();
                    continue;
                }
                done += 1;
                let signal = *shared.signal.lock().expect("nobody panics under the lock");
                signal.expect("it was set before the push").ring();
            }
        }
    });
    Some(Box::new(Parked { shared, thread: Some(thread) }))
}

impl Outside for Parked {
    fn push(&self, signal: &'static Signal, meanwhile: &dyn Fn()) {
        *self.shared.signal.lock().expect("nobody panics under the lock") = Some(signal);
        self.shared.pushed.fetch_add(1, Ordering::Release);
        self.thread.as_ref().expect("it runs until the drop").thread().unpark();
        meanwhile();
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::Release);
        let thread = self.thread.take().expect("it runs until the drop");
        thread.thread().unpark();
        drop(thread.join());
    }
}
