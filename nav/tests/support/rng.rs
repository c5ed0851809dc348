//! Random numbers for tests, with the seed in the test.

use formic_ecs::RandomStream;

pub(crate) struct Rng(RandomStream);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(RandomStream::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}
