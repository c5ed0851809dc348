//! Prints what the pool costs on this machine:
//! `cargo run --release -p formic-jobs --example figures`.
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use formic_jobs::{Pool, Threads};
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;

fn main() {
    for worker_count in [0, 1, 3] {
        let pool = Pool::new(Threads::Own(worker_count)).expect("a few threads are granted");
        println!("{worker_count} workers and the caller");
        loops(&pool);
        report("  scope of 1000 empty jobs, per job", 1_000, || {
            pool.scope(|scope| (0..1_000).for_each(|_| scope.spawn(|_| ())));
        });
        report("  scope of one empty job", 1, || pool.scope(|scope| scope.spawn(|_| ())));
        report("  loop of 10 empty indices, per loop", 1, || {
            pool.for_each_index(10, |index| {
                black_box(index);
            });
        });
        report("  join, per join of fib(20)", 10_945, || {
            black_box(fibonacci(&pool, 20));
        });
        if worker_count > 0 {
            wake(&pool);
        }
    }
}

/// Prints the best of many rounds, divided by `per`.
fn report(what: &str, per: u128, round: impl Fn()) {
    let best = (0..ROUNDS).map(|_| time(&round)).min().expect("there are rounds");
    println!("{what}: {:.1} ns", best.as_nanos() as f64 / per as f64);
}

fn time(round: impl FnOnce()) -> Duration {
    let start = Instant::now();
    round();
    start.elapsed()
}

/// A loop with tiny bodies, against the plain loop.
fn loops(pool: &Pool) {
    let values: Vec<AtomicU32> = (0..1_000_000).map(AtomicU32::new).collect();
    let touch = |value: &AtomicU32| {
        let next = value.load(Ordering::Relaxed).wrapping_mul(3);
        value.store(next, Ordering::Relaxed);
    };
    report("  plain loop over 1 M values, per value", 1_000_000, || values.iter().for_each(touch));
    report("  for_each_index, per value", 1_000_000, || {
        pool.for_each_index(values.len(), |index| touch(&values[index]));
    });
    report("  for_each_range, per value", 1_000_000, || {
        pool.for_each_range(values.len(), |range| values[range].iter().for_each(touch));
    });
    let batch_count = AtomicUsize::new(0);
    pool.for_each_range(values.len(), |range| {
        batch_count.fetch_add(1, Ordering::Relaxed);
        values[range].iter().for_each(touch);
    });
    println!("  batches of that loop: {batch_count:?}");
    report("  64 values per index, per index", 15_625, || {
        pool.for_each_index(values.len() / 64, |index| {
            values[index * 64..][..64].iter().for_each(touch);
        });
    });
}

fn fibonacci(pool: &Pool, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (left, right) = pool.join(|| fibonacci(pool, n - 1), || fibonacci(pool, n - 2));
    left + right
}

/// From a spawn until a sleeping worker has started the job.
fn wake(pool: &Pool) {
    let mut latencies: Vec<Duration> = (0..ROUNDS).map(|_| wake_once(pool)).collect();
    latencies.sort_unstable();
    let at = |percent: usize| latencies[latencies.len() * percent / 100];
    println!("  wake from sleep: p10 {:?}, p50 {:?}, p95 {:?}", at(10), at(50), at(95));
}

fn wake_once(pool: &Pool) -> Duration {
    std::thread::sleep(Duration::from_millis(2));
    let started = AtomicUsize::new(0);
    let start = Instant::now();
    pool.scope(|scope| {
        scope.spawn(|_| started.store(1, Ordering::Release));
        while started.load(Ordering::Acquire) == 0 {
            std::hint::spin_loop();
        }
        start.elapsed()
    })
}
