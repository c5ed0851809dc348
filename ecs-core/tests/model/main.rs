//! The backbone: random programs on a world and on a model of it, which must agree after every
//! operation. The programs are the fuzzer's; see `fuzz/src/ops`.

#[path = "../../../fuzz/src/ops/mod.rs"]
mod ops;
mod soak;

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

/// How many programs of a kind: so many, or as many times that as `MODEL_TIMES` says, for a night.
fn seeds(first: u64, count: u64) -> std::ops::Range<u64> {
    let times = std::env::var("MODEL_TIMES").ok();
    let times: u64 = times.map_or(1, |times| times.parse().expect("a number"));
    first..first + count * times
}

/// Runs programs of one kind. Where one fails, says which it was.
fn run(what: &'static str, program: fn(&[u8]), seeds: std::ops::Range<u64>, len: usize) {
    for seed in seeds {
        let report = Report { what, seed, len };
        program(&ops::random_bytes(seed, len));
        drop(report);
    }
}

#[test]
fn short_programs_agree_with_the_model() {
    let (count, len) = if cfg!(miri) { (4, 64) } else { (800, 160) };
    run("run_bytes", ops::run_bytes, seeds(0, count), len);
}

#[test]
fn long_programs_agree_with_the_model() {
    let (count, len) = if cfg!(miri) { (1, 100) } else { (120, 700) };
    run("run_bytes", ops::run_bytes, seeds(10_000, count), len);
}

/// Runs on the one side, commands one by one on the other.
#[test]
fn commands_played_together_agree_with_the_model() {
    let (count, len) = if cfg!(miri) { (3, 100) } else { (600, 400) };
    run("run_command_bytes", ops::run_command_bytes, seeds(20_000, count), len);
}

/// Relations, hooks and observers, cleanup. Fewer than of the others:
/// families grow, and each operation on them is followed by a look at all of them.
#[test]
fn what_entities_are_to_each_other_agrees_with_the_model() {
    let (count, len) = if cfg!(miri) { (3, 80) } else { (300, 400) };
    run("run_society_bytes", ops::run_society_bytes, seeds(40_000, count), len);
}

/// Watchers that change the world while they are told of a change, or panic. There is no model of that:
/// the world is in order, and no value is lost.
#[test]
fn worlds_that_wild_watchers_change_are_in_order() {
    let (count, len) = if cfg!(miri) { (4, 100) } else { (1500, 300) };
    run("run_wild_bytes", ops::run_wild_bytes, seeds(60_000, count), len);
}

/// Queries of any shape, by type and by id.
#[test]
fn queries_agree_with_the_model() {
    let (count, len) = if cfg!(miri) { (3, 100) } else { (600, 400) };
    run("run_query_bytes", ops::run_query_bytes, seeds(30_000, count), len);
}

/// Going back, and going on in another world: the one that stays is the model of the one that moves.
#[test]
fn worlds_that_were_loaded_go_on_as_the_saved_ones_would() {
    let (count, len) = if cfg!(miri) { (3, 80) } else { (300, 400) };
    run("run_snapshot_bytes", ops::run_snapshot_bytes, seeds(50_000, count), len);
}
