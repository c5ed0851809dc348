//! Random programs of watchers that change the world while they are told: see `src/ops/wild.rs`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    formic_fuzz::wild(bytes);
});

/// Without the fuzzer: runs the programs in the files that are named.
#[cfg(not(fuzzing))]
fn main() {
    for path in std::env::args_os().skip(1) {
        formic_fuzz::wild(&std::fs::read(path).expect("the file is readable"));
    }
}
