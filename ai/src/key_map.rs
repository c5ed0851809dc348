//! Hash maps for small numeric keys, with a fast hash that is the same in every run.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use formic_ecs::StateHasher;

/// A hash map whose iteration order is the same in every run, but has no meaning for the game.
pub(crate) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// The hasher of [`KeyMap`], for keys that consist of a few numbers.
#[derive(Clone, Copy, Default)]
pub(crate) struct KeyHasher(StateHasher);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn write_u32(&mut self, number: u32) {
        self.0.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0.write_u64(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.0.write_u64(number as u64);
    }
}
