//! The same as the other tests, with other programs each second: a few seconds as a rule, and as long
//! as `SOAK_SECONDS` says. `SOAK_SEED` is where the seeds start.

use std::env;
use std::time::{Duration, Instant};

use crate::ops;

/// A number from the environment.
fn asked(name: &str, otherwise: u64) -> u64 {
    let value = env::var(name).ok();
    value.map_or(otherwise, |value| value.parse().expect("a number"))
}

/// Says which program it was, should one fail.
struct Report {
    seed: u64,
    len: usize,
}

impl Drop for Report {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}, the length {}", self.seed, self.len);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it goes by the clock")]
fn one_program_after_the_other_agrees_with_the_model() {
    let lasts = Duration::from_secs(asked("SOAK_SECONDS", 3));
    let start = Instant::now();
    let first = asked("SOAK_SEED", 1_000_000);
    let mut seed = first;
    while start.elapsed() < lasts {
        // From a few operations up to as many as a program can have.
        let len = [60, 300, 1500, 6000][usize::try_from(seed % 4).expect("small")];
        let report = Report { seed, len };
        let bytes = ops::random_bytes(seed, len);
        ops::run_bytes(&bytes);
        ops::run_command_bytes(&bytes);
        ops::run_query_bytes(&bytes);
        ops::run_society_bytes(&bytes);
        ops::run_snapshot_bytes(&bytes);
        ops::run_wild_bytes(&bytes);
        drop(report);
        seed += 1;
    }
    eprintln!("{} programs, from seed {first} on", (seed - first) * 6);
}
