//! Hashing: of type ids for lookups, and of states for comparison.

mod see;
mod state;

use core::hash::{BuildHasherDefault, Hasher};

pub use see::{See, SeeBytes, SeeElements, SeeState, bytes_of_packed};
pub use state::HashState;

/// For keys that are random already, such as `TypeId`: takes their bits as the hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassThrough(u64);

pub(crate) type BuildPassThrough = BuildHasherDefault<PassThrough>;
pub(crate) type TypeMap<V> = hashbrown::HashMap<core::any::TypeId, V, BuildPassThrough>;

impl Hasher for PassThrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number;
    }
}

/// For small integer keys and slices of them: one multiplication per word (Fibonacci hashing).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fibonacci(u64);

pub(crate) type BuildFibonacci = BuildHasherDefault<Fibonacci>;

impl Hasher for Fibonacci {
    fn finish(&self) -> u64 {
        // hashbrown takes the lowest and the uppermost bits: give it the well-mixed middle.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// The hash that states are compared by: 64 bits, eight bytes taken in at a time.
///
/// Each word is multiplied in and folded down, and the end is mixed once more. Two runs that agree have the same; it is no defence against an attacker who looks for a pair.
/// The same on every platform for the same calls.
///
/// ```
/// use formic_ecs::StateHasher;
/// let mut hasher = StateHasher::new();
/// hasher.write(b"gold");
/// hasher.write_u64(5);
/// let first = hasher.finish();
/// hasher.write_u64(6);
/// assert_ne!(first, hasher.finish());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StateHasher(u64);

impl Default for StateHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl StateHasher {
    /// The hash of nothing so far.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Takes in a number.
    pub fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }

    /// Takes in bytes and their number.
    pub fn write(&mut self, bytes: &[u8]) {
        self.write_u64(bytes.len() as u64);
        for word in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..word.len()].copy_from_slice(word);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    /// The hash of all that was taken in; more may follow.
    #[must_use]
    pub const fn finish(&self) -> u64 {
        let z = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 31)
    }
}
