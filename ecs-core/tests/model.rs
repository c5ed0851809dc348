//! The backbone: random programs on a world and on a model of it, which must agree after every
//! operation. The programs are the fuzzer's; see `fuzz/src/ops`.

#[path = "../../fuzz/src/ops/mod.rs"]
mod ops;

/// Says which seed it was, should a program fail.
struct Report {
    seed: u64,
    len: usize,
}

impl Drop for Report {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, len } = self;
            eprintln!("the program was ops::run_bytes(&ops::random_bytes({seed}, {len}))");
        }
    }
}

fn run(seeds: std::ops::Range<u64>, len: usize) {
    for seed in seeds {
        let report = Report { seed, len };
        ops::run_bytes(&ops::random_bytes(seed, len));
        drop(report);
    }
}

#[test]
fn short_programs_agree_with_the_model() {
    run(if cfg!(miri) { 0..4 } else { 0..1200 }, if cfg!(miri) { 64 } else { 160 });
}

#[test]
fn long_programs_agree_with_the_model() {
    run(if cfg!(miri) { 1000..1001 } else { 10_000..10_200 }, if cfg!(miri) { 100 } else { 700 });
}
