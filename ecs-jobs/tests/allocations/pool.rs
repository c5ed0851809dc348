//! Once warm, scopes, loops, joins, jobs with handles and graphs of jobs allocate nothing.

use crate::{bytes, ceases_to_allocate};
use formic_jobs::{JobGraph, Pool, Sharing, Threads};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn use_the_pool(pool: &Pool) {
    let sum = AtomicUsize::new(0);
    // Slow enough that the workers come.
    pool.for_each_range_with_slot(40, |_, range| {
        std::thread::sleep(Duration::from_micros(20));
        pool.for_each_index(range.len(), |index| {
            std::thread::sleep(Duration::from_micros(5));
            sum.fetch_add(index, Ordering::Relaxed);
        });
    });
    pool.join(|| sum.load(Ordering::Relaxed), || pool.join(|| (), || ()));
    use_handles(pool);
    use_scopes(pool);
}

/// Scopes one within the other, of jobs that borrow and are as large as fits in place.
fn use_scopes(pool: &Pool) {
    let count = AtomicUsize::new(0);
    let (count, inside) = (&count, [1_usize; 6]);
    pool.scope(|scope| {
        for _ in 0..30 {
            scope.spawn(move |_| {
                pool.scope(|inner| {
                    for _ in 0..3 {
                        inner.spawn(move |_| _ = count.fetch_add(inside[5], Ordering::Relaxed));
                    }
                });
            });
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 90);
}

/// A frame of jobs: three layers, each after all of the one before.
fn use_handles(pool: &Pool) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let mut layer = [pool.combine(&[]); 30];
    for _ in 0..3 {
        let before = pool.combine(&layer);
        for job in &mut layer {
            // As large as a closure may be to lie in its slot.
            let inside = [1_usize; 8];
            let add = move || _ = COUNT.fetch_add(inside[7], Ordering::Relaxed);
            *job = pool.after(&[before]).schedule(add);
        }
    }
    let loops =
        pool.after(&layer).parallel_for(0..50, |_| _ = COUNT.fetch_add(1, Ordering::Relaxed));
    let shown = pool.on_main().after(&[loops]).schedule(|| ());
    pool.complete(shown);
}

/// A graph of jobs that all threads are called for.
fn graph() -> JobGraph<'static> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let mut builder = JobGraph::builder().sharing(Sharing::Always);
    let mut layer = Vec::new();
    for _ in 0..3 {
        let add = |_: &Pool| _ = COUNT.fetch_add(1, Ordering::Relaxed);
        layer = (0..30).map(|_| builder.add("add", &layer, add)).collect();
    }
    builder.build().expect("there is no cycle")
}

pub(crate) fn warm_loops_joins_and_jobs_do_not_allocate() {
    let pool = Pool::new(Threads::Own(2)).expect("two threads are granted");
    let mut graph = graph();
    for _ in 0..40 {
        use_the_pool(&pool);
        graph.run(&pool);
    }
    ceases_to_allocate(|| {
        use_the_pool(&pool);
        graph.run(&pool);
    });
    let with_spans = Pool::builder().threads(Threads::Own(1)).on_span(|_| (), |_| ());
    let pool = with_spans.build().expect("a thread is granted");
    ceases_to_allocate(|| {
        let inside = [1_usize; 5];
        pool.complete(pool.schedule(move || assert_eq!(inside[4], 1)));
    });
}

pub(crate) fn a_burst_of_jobs_gives_its_memory_back() {
    const COUNT: usize = 200_000;
    const MEGABYTE: usize = 1 << 20;
    let pool = Pool::new(Threads::Host(0)).expect("it has no threads");
    let before = bytes();
    for _ in 0..3 {
        (0..COUNT).for_each(|_| _ = pool.schedule(|| ()));
        let used = bytes() - before;
        assert!(used > 30 * MEGABYTE, "{used} bytes for {COUNT} jobs");
        pool.flush();
        let kept = bytes() - before;
        assert!(kept < 8 * MEGABYTE, "{kept} of {used} bytes are kept");
    }
}
