//! Programs of snapshots, and hostile ones: see `src/ops/snapshots.rs` and `src/snapshot.rs`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    formic_fuzz::snapshot(bytes);
});

/// Without the fuzzer: tries the files that are named.
#[cfg(not(fuzzing))]
fn main() {
    for path in std::env::args_os().skip(1) {
        formic_fuzz::snapshot(&std::fs::read(path).expect("the file is readable"));
    }
}
