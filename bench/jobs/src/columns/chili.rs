//! chili 0.2, which has joins and nothing else; loops halve down to one batch.

use std::num::NonZero;
use std::ops::Range;

use chili::{Config, Scope, ThreadPool};

use crate::harness::Cell;
use crate::model::{self, Imbalanced, JoinTree};
use crate::rows::{Kind, Row};
use crate::scaling::Heavy;

/// The calling thread is one of the threads.
pub(crate) fn pool(threads: usize) -> ThreadPool {
    ThreadPool::with_config(Config { thread_count: NonZero::new(threads), ..Config::default() })
}

pub(crate) fn cell(row: &Row) -> Option<Cell> {
    let pool = pool(row.threads);
    Some(match row.kind {
        Kind::Join { n } | Kind::OutsideJoin { n } => Cell::new(
            (pool, 0),
            move |(pool, result)| *result = fib(&mut pool.scope(), std::hint::black_box(n)),
            |(_, result)| *result,
        ),
        Kind::For { batch } => {
            // Without a batch there is no way but to choose one: 1024 is its best here.
            let batch = batch.unwrap_or(1_024);
            Cell::new(
                (pool, model::items()),
                move |(pool, items)| halve(&mut pool.scope(), items, batch),
                |(_, items)| model::sum_items(items.iter().copied()),
            )
        }
        Kind::Imbalanced => Cell::new(
            (pool, Imbalanced::new()),
            |(pool, heavy)| {
                visit(&mut pool.scope(), 0..Imbalanced::LEN, &|index| heavy.visit(index));
            },
            |(_, heavy)| heavy.sum(),
        ),
        Kind::Heavy => Cell::new(
            (pool, Heavy::new()),
            |(pool, heavy)| visit(&mut pool.scope(), 0..Heavy::LEN, &|index| heavy.visit(index)),
            |(_, heavy)| heavy.sum(),
        ),
        Kind::Tree(tree) => Cell::new(
            (pool, 0),
            move |(pool, sum): &mut (ThreadPool, u64)| {
                *sum = sum.wrapping_add(run_tree(&mut pool.scope(), tree));
            },
            |(_, sum)| *sum,
        ),
        _ => return None,
    })
}

fn run_tree(scope: &mut Scope<'_>, tree: JoinTree) -> u64 {
    let Some((left, right)) = tree.halves() else { return tree.run() };
    let (left, right) = scope.join(|scope| run_tree(scope, left), |scope| run_tree(scope, right));
    left.wrapping_add(right)
}

fn fib(scope: &mut Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (left, right) = scope.join(|scope| fib(scope, n - 1), |scope| fib(scope, n - 2));
    left + right
}

pub(crate) fn halve(scope: &mut Scope<'_>, items: &mut [u32], batch: usize) {
    if items.len() <= batch {
        return model::step_all(items);
    }
    let middle = (items.len() / 2).next_multiple_of(batch).min(items.len() - 1);
    let (left, right) = items.split_at_mut(middle);
    scope.join(|scope| halve(scope, left, batch), |scope| halve(scope, right, batch));
}

fn visit(scope: &mut Scope<'_>, indices: Range<usize>, body: &(impl Fn(usize) + Sync)) {
    if indices.len() == 1 {
        return body(indices.start);
    }
    let middle = indices.start + indices.len() / 2;
    let (left, right) = (indices.start..middle, middle..indices.end);
    scope.join(|scope| visit(scope, left, body), |scope| visit(scope, right, body));
}
