//! Hashing: of type ids for lookups, and of states for comparison.

mod state;

use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};

use bytemuck::NoUninit;

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

/// A field, for the traits by which the derives hash it, whatever its type implements.
///
/// `(&&&See(field)).see(hasher)` asks the traits below in turn, the one with most references first:
/// the compiler prefers a method that needs fewer of them removed. Only the last takes any type,
/// and demands [`HashState`] of it, so that what is missing is said in those words.
#[doc(hidden)]
#[derive(Debug)]
pub struct See<'a, T: ?Sized>(pub &'a T);

/// Plain data, by its bytes.
#[doc(hidden)]
pub trait SeeBytes {
    fn see(&self, hasher: &mut StateHasher);
}

impl<T: NoUninit> SeeBytes for &&See<'_, T> {
    fn see(&self, hasher: &mut StateHasher) {
        // bytemuck refuses to see a value without a size as bytes.
        if size_of::<T>() > 0 {
            hasher.write(bytemuck::bytes_of(self.0));
        }
    }
}

/// A list of plain data, whose elements need not be [`HashState`].
#[doc(hidden)]
pub trait SeeElements {
    fn see(&self, hasher: &mut StateHasher);
}

impl<T: NoUninit> SeeElements for &See<'_, Vec<T>> {
    fn see(&self, hasher: &mut StateHasher) {
        see_elements(self.0, hasher);
    }
}

impl<T: NoUninit> SeeElements for &See<'_, Option<T>> {
    fn see(&self, hasher: &mut StateHasher) {
        see_elements(self.0.as_slice(), hasher);
    }
}

fn see_elements<T: NoUninit>(values: &[T], hasher: &mut StateHasher) {
    hasher.write_u64(values.len() as u64);
    if size_of::<T>() > 0 {
        hasher.write(bytemuck::cast_slice(values));
    }
}

/// What says for itself how it is seen.
#[doc(hidden)]
pub trait SeeState<T: ?Sized> {
    fn see(&self, hasher: &mut StateHasher)
    where
        T: HashState;
}

impl<T: ?Sized> SeeState<T> for See<'_, T> {
    fn see(&self, hasher: &mut StateHasher)
    where
        T: HashState,
    {
        self.0.hash_state(hasher);
    }
}

/// How to see a packed type as bytes, whose fields there are no references to.
#[doc(hidden)]
#[must_use]
pub const fn bytes_of_packed<T: NoUninit>() -> fn(&[T]) -> &[u8] {
    bytemuck::cast_slice::<T, u8>
}
