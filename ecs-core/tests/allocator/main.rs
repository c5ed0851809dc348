//! The store's use of the allocator: how often, how much, and what happens when there is none.

mod allocations;
#[cfg(all(unix, not(miri)))]
mod failing;
mod memory;
#[path = "../support/allocator.rs"]
mod watched;

use std::cell::Cell;

use watched::Watched;

// Of each thread by itself: the tests run beside one another.
thread_local! {
    /// How often this thread has allocated.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// The bytes that this thread has allocated and not freed.
    static BYTES: Cell<isize> = const { Cell::new(0) };
    /// How many more allocations of this thread go well; `None` for all of them.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

#[global_allocator]
static WATCHED: Watched = Watched {
    grants: |layout| {
        let granted = !fails();
        if granted {
            count(layout.size(), 1);
        }
        granted
    },
    freed: |layout| count(layout.size(), -1),
};

// In the next two, a thread that ends frees memory when its counters are gone already.

fn count(bytes: usize, sign: isize) {
    _ = BYTES
        .try_with(|count| count.set(count.get() + sign * isize::try_from(bytes).expect("fits")));
    if sign > 0 {
        _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    }
}

fn fails() -> bool {
    let next = |left: &Cell<Option<usize>>| {
        let now = left.get();
        left.set(now.and_then(|count| count.checked_sub(1)));
        now == Some(0)
    };
    LEFT.try_with(next).unwrap_or(false)
}
