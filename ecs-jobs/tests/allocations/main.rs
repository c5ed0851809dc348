//! Once warm, neither the pool nor a schedule allocates.

#[path = "../../../ecs-core/tests/support/allocator.rs"]
mod allocator;
mod pool;
mod schedule;

use allocator::Watched;
use std::sync::atomic::{AtomicUsize, Ordering};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Watched = Watched {
    grants: |_| {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        true
    },
    freed: |_| (),
};

/// How often memory was asked for so far, by all threads.
fn allocations() -> usize {
    ALLOCATIONS.load(Ordering::Relaxed)
}

// The only test here, one after the other: others would allocate meanwhile.
#[test]
fn warm_pools_and_schedules_do_not_allocate() {
    pool::warm_loops_joins_and_jobs_do_not_allocate();
    schedule::warm_runs_do_not_allocate();
}
