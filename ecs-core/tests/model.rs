//! The backbone: random programs on a world and on a model of it, which must agree after every
//! operation. The programs are the fuzzer's; see `fuzz/src/ops`.

#[path = "../../fuzz/src/ops/mod.rs"]
mod ops;

/// Says which seed it was, should a program fail.
struct Report {
    what: &'static str,
    seed: u64,
    len: usize,
}

impl Drop for Report {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { what, seed, len } = self;
            eprintln!("the program was ops::{what}(&ops::random_bytes({seed}, {len}))");
        }
    }
}

fn run(seeds: std::ops::Range<u64>, len: usize) {
    for seed in seeds {
        let report = Report { what: "run_bytes", seed, len };
        ops::run_bytes(&ops::random_bytes(seed, len));
        drop(report);
    }
}

#[test]
fn short_programs_agree_with_the_model() {
    run(if cfg!(miri) { 0..4 } else { 0..800 }, if cfg!(miri) { 64 } else { 160 });
}

#[test]
fn long_programs_agree_with_the_model() {
    run(if cfg!(miri) { 1000..1001 } else { 10_000..10_120 }, if cfg!(miri) { 100 } else { 700 });
}

/// Merged moves and runs on the one side, commands one by one on the other.
#[test]
fn commands_played_together_agree_with_the_model() {
    for seed in if cfg!(miri) { 0..3 } else { 20_000..20_600 } {
        let len = if cfg!(miri) { 100 } else { 400 };
        let report = Report { what: "run_command_bytes", seed, len };
        ops::run_command_bytes(&ops::random_bytes(seed, len));
        drop(report);
    }
}

/// Relations, hooks and observers, cleanup, shared and chunk components.
#[test]
fn what_entities_are_to_each_other_agrees_with_the_model() {
    for seed in if cfg!(miri) { 0..3 } else { 40_000..40_600 } {
        let len = if cfg!(miri) { 80 } else { 400 };
        let report = Report { what: "run_society_bytes", seed, len };
        ops::run_society_bytes(&ops::random_bytes(seed, len));
        drop(report);
    }
}

/// Queries of any shape, by type and by id.
#[test]
fn queries_agree_with_the_model() {
    for seed in if cfg!(miri) { 0..3 } else { 30_000..30_600 } {
        let len = if cfg!(miri) { 100 } else { 400 };
        let report = Report { what: "run_query_bytes", seed, len };
        ops::run_query_bytes(&ops::random_bytes(seed, len));
        drop(report);
    }
}
