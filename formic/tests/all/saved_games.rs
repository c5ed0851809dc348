//! Games of systems of every kind that are saved at random moments: the fuzzer's program, on seeds.

#[path = "../../../fuzz/src/games.rs"]
mod games;

use formic::prelude::RandomStream;

#[test]
fn games_that_are_saved_at_random_moments_go_on_the_same() {
    for seed in 0..40 {
        let mut random = RandomStream::new(seed);
        let bytes: Vec<u8> = (0..16).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        games::run(&bytes);
    }
}
