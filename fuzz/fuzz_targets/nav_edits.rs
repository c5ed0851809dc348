//! Regions under edits: see `src/nav/edits.rs`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    formic_fuzz::nav_edits(bytes);
});

/// Without the fuzzer: tries the files that are named.
#[cfg(not(fuzzing))]
fn main() {
    for path in std::env::args_os().skip(1) {
        formic_fuzz::nav_edits(&std::fs::read(path).expect("the file is readable"));
    }
}
