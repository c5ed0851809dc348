//! Once warm, neither the pool nor a schedule allocates.

#[path = "../../../ecs-core/tests/support/allocator.rs"]
mod allocator;
mod pool;
mod schedule;

use allocator::Watched;
use std::sync::atomic::{AtomicUsize, Ordering};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Watched = Watched {
    grants: |layout| {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        true
    },
    freed: |layout| _ = BYTES.fetch_sub(layout.size(), Ordering::Relaxed),
};

/// How often memory was asked for so far, by all threads.
fn allocations() -> usize {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// How many bytes are in use, by all threads.
fn bytes() -> usize {
    BYTES.load(Ordering::Relaxed)
}

/// Runs a frame until thirty in a row were without an allocation, and demands that there are such.
///
/// Queues, free lists and the buffers of threads grow to the most that ever waits in them, which is up
/// to the threads: on a busy machine that may come late. Then nothing grows any more, while anything
/// that allocates for its own sake does so in every one of these frames.
fn ceases_to_allocate(mut frame: impl FnMut()) {
    let mut quiet_count = 0;
    let mut seen = Vec::with_capacity(40);
    while quiet_count < 3 {
        assert!(seen.len() < 40, "no thirty frames in a row were without an allocation: {seen:?}");
        let before = allocations();
        (0..10).for_each(|_| frame());
        let allocated = allocations() - before;
        seen.push(allocated);
        quiet_count = if allocated == 0 { quiet_count + 1 } else { 0 };
    }
}

// The only test here, one after the other: others would allocate meanwhile.
#[test]
fn warm_pools_and_schedules_do_not_allocate() {
    pool::warm_loops_joins_and_jobs_do_not_allocate();
    schedule::warm_runs_do_not_allocate();
    pool::a_burst_of_jobs_gives_its_memory_back();
}
