//! Once warm, loops, joins, jobs with handles and graphs of jobs allocate nothing.

#[path = "../../ecs-core/tests/support/allocator.rs"]
mod allocator;

use allocator::Watched;
use ecs_jobs::{JobGraph, Pool, Sharing, Threads};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Watched = Watched {
    grants: |_| {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        true
    },
    freed: |_| (),
};

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
            *job = pool.schedule(add, &[before]);
        }
    }
    let loops = pool.parallel_for(0..50, |_| _ = COUNT.fetch_add(1, Ordering::Relaxed), &layer);
    let shown = pool.schedule_on_main(|| (), &[loops]);
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
    builder.build().expect("there is no circle")
}

// The only test of this file: others would allocate meanwhile.
#[test]
fn warm_loops_joins_and_jobs_do_not_allocate() {
    let pool = Pool::new(Threads::Own(2)).expect("two threads are granted");
    let mut graph = graph();
    for _ in 0..40 {
        use_the_pool(&pool);
        graph.run(&pool);
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..20 {
        use_the_pool(&pool);
        graph.run(&pool);
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}
