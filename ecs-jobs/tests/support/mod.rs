//! Helpers of several test files.
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file is a crate of its own and uses some of it"
)]

use formic_jobs::{Pool, Threads};
use std::sync::mpsc;
use std::time::Duration;

/// The pools that every promise is tested with.
pub(crate) fn pools() -> impl Iterator<Item = Pool> {
    [0, 1, 3].into_iter().map(pool)
}

pub(crate) fn pool(worker_count: usize) -> Pool {
    Pool::new(Threads::Own(worker_count)).expect("the system grants a few threads")
}

/// Runs `test` on a thread of its own and fails if it has not ended in time: a
/// lost wake-up then is a failure with a name, and not a run without an end.
pub(crate) fn within(limit: Duration, test: impl FnOnce() + Send + 'static) {
    let limit = limit * patience();
    let (ended, end) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        // A test that panics drops the sender, which wakes the receiver too.
        ended.send(()).expect("the watchdog waits");
    });
    let timed_out = matches!(end.recv_timeout(limit), Err(mpsc::RecvTimeoutError::Timeout));
    assert!(!timed_out, "the test hangs: nothing came within {limit:?}");
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}

/// How many times as long everything may take: under Miri, or where `FORMIC_PATIENCE` says so, as
/// under a sanitizer.
fn patience() -> u32 {
    let told = std::env::var("FORMIC_PATIENCE").ok().and_then(|times| times.parse().ok());
    told.unwrap_or(if cfg!(miri) { 30 } else { 1 })
}

/// Waits, and fails rather than waiting for ever.
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    for _ in 0..10_000 * patience() {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the condition did not come true in time");
}
