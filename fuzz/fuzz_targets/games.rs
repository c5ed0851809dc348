//! Games that are saved at random moments and loaded with another number of threads: see
//! `src/games.rs`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    formic_fuzz::games(bytes);
});

/// Without the fuzzer: plays the games in the files that are named.
#[cfg(not(fuzzing))]
fn main() {
    for path in std::env::args_os().skip(1) {
        formic_fuzz::games(&std::fs::read(path).expect("the file is readable"));
    }
}
