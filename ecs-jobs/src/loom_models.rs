//! Models of the pool's protocols under loom, which explores the schedules one by one.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=2 \
//!     cargo test -p formic-jobs --release --lib loom_models -- --nocapture
//! ```
//!
//! Every model prints the number of schedules and requires more than one, since a model that loom cannot
//! see into passes as well. The twins in [`must_fail`] omit a piece of the protocol, and must be caught.
//!
//! Loom does not cover `parking_lot` itself and std's `park`, which are assumed correct; more than three
//! threads at a time; and a load that returns a value stored later in the program (load buffering).

mod calls;
mod futures;
mod groups;
mod handles;
mod joins;
mod must_fail;
mod sleep;
mod slots;

use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Explores a model, and prints and checks the number of schedules.
fn explore(name: &str, model: impl Fn() + Sync + Send + 'static) {
    explore_within(0..=usize::MAX, name, model);
}

/// Like `explore`, with fixed bounds on preemptions, whatever the environment sets.
fn explore_within(
    preemptions: RangeInclusive<usize>,
    name: &str,
    model: impl Fn() + Sync + Send + 'static,
) {
    let mut builder = loom::model::Builder::new();
    let wanted = builder.preemption_bound.unwrap_or(2);
    builder.preemption_bound = Some(wanted.clamp(*preemptions.start(), *preemptions.end()));
    builder.max_branches = 10_000;
    // A counter of the standard library: loom must not see it.
    let schedules = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&schedules);
    let start = Instant::now();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let schedules = schedules.load(Ordering::Relaxed);
    // Not `println`, whose output the test harness captures.
    let line = format!("loom: {name}: {schedules} schedules in {:?}\n", start.elapsed());
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    assert!(schedules > 1, "loom saw one schedule only: it cannot see into the model");
}
