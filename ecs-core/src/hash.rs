//! Hashing: of type ids for lookups, and of states for comparison.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::hash::{BuildHasherDefault, Hasher};
use core::marker::PhantomData;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroIsize, NonZeroU8, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroUsize, Wrapping,
};
use core::ops::{Bound, Range, RangeBounds, RangeInclusive};
use core::time::Duration;

use bytemuck::NoUninit;

use crate::entity::Entity;
use crate::random::RandomStream;

/// A hasher for type ids, small integers and slices of these: one multiplication per word (Fibonacci
/// hashing).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fibonacci(u64);

pub(crate) type BuildFibonacci = BuildHasherDefault<Fibonacci>;
pub(crate) type TypeMap<V> = hashbrown::HashMap<core::any::TypeId, V, BuildFibonacci>;

impl Hasher for Fibonacci {
    fn finish(&self) -> u64 {
        // hashbrown uses the lowest and the uppermost bits: return the well-mixed middle bits there.
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

/// A hasher for comparing states: 64 bits, fed eight bytes at a time.
///
/// Each word is multiplied in and folded down, and the end is mixed once more. Equal states have equal
/// hashes. It is no defence against an attacker who looks for a collision. The result is the same on
/// every platform for the same calls.
#[derive(Clone, Copy, Debug)]
pub struct StateHasher(u64);

impl Default for StateHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl StateHasher {
    /// Creates a hasher that has taken in nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Adds a number to the hash.
    pub fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }

    /// Adds bytes and their number to the hash.
    pub fn write(&mut self, bytes: &[u8]) {
        self.write_u64(bytes.len() as u64);
        for word in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..word.len()].copy_from_slice(word);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    /// Returns the hash of everything added so far; more may follow.
    #[must_use]
    pub const fn finish(&self) -> u64 {
        let z = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 31)
    }
}

/// A field, wrapped for the traits by which the derives hash it, whatever its type implements.
///
/// `(&&&HashProbe(field)).formic_hash_to(hasher)` tries the traits below in turn, the one with most references
/// first: the compiler prefers a method that needs fewer dereferences. Only the last accepts any type, and
/// requires [`HashState`] of it, so the error message names that trait.
#[doc(hidden)]
#[derive(Debug)]
pub struct HashProbe<'a, T: ?Sized>(pub &'a T);

/// Hashes plain data by its bytes.
#[doc(hidden)]
pub trait HashBytes {
    fn formic_hash_to(&self, hasher: &mut StateHasher);
}

impl<T: NoUninit> HashBytes for &&HashProbe<'_, T> {
    fn formic_hash_to(&self, hasher: &mut StateHasher) {
        // bytemuck refuses to cast a zero-sized value to bytes.
        if size_of::<T>() > 0 {
            hasher.write(bytemuck::bytes_of(self.0));
        }
    }
}

/// Hashes a list of plain data, whose elements need not be [`HashState`].
#[doc(hidden)]
pub trait HashElements {
    fn formic_hash_to(&self, hasher: &mut StateHasher);
}

impl<T: NoUninit> HashElements for &HashProbe<'_, Vec<T>> {
    fn formic_hash_to(&self, hasher: &mut StateHasher) {
        hash_elements(self.0, hasher);
    }
}

impl<T: NoUninit> HashElements for &HashProbe<'_, Option<T>> {
    fn formic_hash_to(&self, hasher: &mut StateHasher) {
        hash_elements(self.0.as_slice(), hasher);
    }
}

fn hash_elements<T: NoUninit>(values: &[T], hasher: &mut StateHasher) {
    hasher.write_u64(values.len() as u64);
    if size_of::<T>() > 0 {
        hasher.write(bytemuck::cast_slice(values));
    }
}

/// Hashes a value by its own [`HashState`].
#[doc(hidden)]
pub trait HashByState<T: ?Sized> {
    fn formic_hash_to(&self, hasher: &mut StateHasher)
    where
        T: HashState;
}

impl<T: ?Sized> HashByState<T> for HashProbe<'_, T> {
    fn formic_hash_to(&self, hasher: &mut StateHasher)
    where
        T: HashState,
    {
        self.0.hash_state(hasher);
    }
}

/// Returns a function that views a packed type, whose fields cannot be referenced, as bytes.
#[doc(hidden)]
#[must_use]
pub const fn bytes_of_packed<T: NoUninit>() -> fn(&[T]) -> &[u8] {
    bytemuck::cast_slice::<T, u8>
}

/// A value that the state hash covers: all of it is hashed, and nothing else.
///
/// `#[derive(Component)]` hashes a component field by field, so the types of its fields must be
/// `HashState` or plain data (`bytemuck::NoUninit`). Derive it for your own types. Numbers, text, tuples
/// and the ordered collections implement it. A float is hashed by its bits: `0.0` and `-0.0` differ,
/// since they can lead to different futures.
///
/// Unlike [`core::hash::Hash`] it never leaves anything out, supports floats, and is the same on every
/// platform. Only what the derives hash as bytes is other where bytes are: a field `usize` on 32 bits.
/// `HashMap` does not implement it, because its order differs from run to run: use a `BTreeMap`.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::HashState;
///
/// #[derive(HashState)]
/// enum Mood {
///     Calm,
///     Angry { at: Entity, since: f32 },
/// }
///
/// #[derive(Component)]
/// struct Mind {
///     mood: Mood,
///     memories: Vec<String>,
/// }
///
/// let play = |mood: Mood| {
///     let mut world = World::new();
///     world.spawn(Mind { mood, memories: vec!["a wolf".into()] });
///     world.state_hash()
/// };
/// assert_eq!(play(Mood::Calm), play(Mood::Calm));
/// let someone = World::new().spawn(());
/// assert_ne!(play(Mood::Calm), play(Mood::Angry { at: someone, since: 0.5 }));
/// ```
#[diagnostic::on_unimplemented(
    message = "the state hash cannot see into `{Self}`",
    label = "part of a component, and not seen",
    note = "derive `HashState` for it, or make it plain data (`bytemuck::NoUninit`)",
    note = "a component can be hashed as it is saved, `#[component(serde)]`, or be left out, `#[component(unhashed)]`",
    note = "a `HashMap` has another order in every run: a `BTreeMap` can be seen"
)]
pub trait HashState {
    /// Adds the whole value to the hash.
    fn hash_state(&self, hasher: &mut StateHasher);
}

/// Implements `HashState` by a number of at most 64 bits, which differs for different values.
macro_rules! by_number {
    ($($type:ty => |$value:ident| $number:expr;)*) => {
        $(impl HashState for $type {
            fn hash_state(&self, hasher: &mut StateHasher) {
                let $value = *self;
                hasher.write_u64($number);
            }
        })*
    };
}

by_number! {
    u8 => |it| it.into();
    u16 => |it| it.into();
    u32 => |it| it.into();
    u64 => |it| it;
    usize => |it| it as u64;
    i8 => |it| it as u64;
    i16 => |it| it as u64;
    i32 => |it| it as u64;
    i64 => |it| it as u64;
    isize => |it| it as u64;
    bool => |it| it.into();
    char => |it| u32::from(it).into();
    f32 => |it| it.to_bits().into();
    f64 => |it| it.to_bits();
    Ordering => |it| it as i64 as u64;
    Entity => |it| it.to_bits();
    RandomStream => |it| it.state();
}

/// Implements `HashState` by the part or view that the expression returns.
macro_rules! as_part {
    ($($({$($generics:tt)*})? $type:ty => |$value:ident| $part:expr;)*) => {
        $(impl $(<$($generics)*>)? HashState for $type {
            fn hash_state(&self, hasher: &mut StateHasher) {
                let $value = self;
                $part.hash_state(hasher);
            }
        })*
    };
}

as_part! {
    u128 => |it| it.to_le_bytes();
    i128 => |it| it.to_le_bytes();
    NonZeroU8 => |it| it.get();
    NonZeroU16 => |it| it.get();
    NonZeroU32 => |it| it.get();
    NonZeroU64 => |it| it.get();
    NonZeroUsize => |it| it.get();
    NonZeroI8 => |it| it.get();
    NonZeroI16 => |it| it.get();
    NonZeroI32 => |it| it.get();
    NonZeroI64 => |it| it.get();
    NonZeroIsize => |it| it.get();
    Duration => |it| (it.as_secs(), it.subsec_nanos());
    String => |it| **it;
    {T: HashState + ?Sized} &T => |it| **it;
    {T: HashState + ?Sized} Box<T> => |it| **it;
    {T: HashState + ?Sized} Rc<T> => |it| **it;
    {T: HashState + ?Sized} Arc<T> => |it| **it;
    {T: HashState + ToOwned + ?Sized} Cow<'_, T> => |it| **it;
    {T: HashState} Wrapping<T> => |it| it.0;
    {T: HashState} Reverse<T> => |it| it.0;
    {T: HashState} Range<T> => |it| (&it.start, &it.end);
}

/// A range that an iteration has exhausted is empty, although its ends are the same as before the last
/// step.
impl<T: HashState> HashState for RangeInclusive<T> {
    fn hash_state(&self, hasher: &mut StateHasher) {
        let is_exhausted = matches!(self.end_bound(), Bound::Excluded(_));
        (self.start(), self.end(), is_exhausted).hash_state(hasher);
    }
}

impl HashState for str {
    fn hash_state(&self, hasher: &mut StateHasher) {
        hasher.write(self.as_bytes());
    }
}

impl HashState for () {
    fn hash_state(&self, _: &mut StateHasher) {}
}

impl<T: ?Sized> HashState for PhantomData<T> {
    fn hash_state(&self, _: &mut StateHasher) {}
}

impl<T: HashState> HashState for Option<T> {
    fn hash_state(&self, hasher: &mut StateHasher) {
        self.is_some().hash_state(hasher);
        self.iter().for_each(|value| value.hash_state(hasher));
    }
}

impl<T: HashState, E: HashState> HashState for Result<T, E> {
    fn hash_state(&self, hasher: &mut StateHasher) {
        self.is_ok().hash_state(hasher);
        match self {
            Ok(value) => value.hash_state(hasher),
            Err(error) => error.hash_state(hasher),
        }
    }
}

/// Hashes the number of values, and each of them.
fn hash_all<T: HashState>(values: impl ExactSizeIterator<Item = T>, hasher: &mut StateHasher) {
    values.len().hash_state(hasher);
    values.for_each(|value| value.hash_state(hasher));
}

macro_rules! by_elements {
    ($({$($generics:tt)*} $type:ty;)*) => {
        $(impl<$($generics)*> HashState for $type {
            fn hash_state(&self, hasher: &mut StateHasher) {
                hash_all(self.iter(), hasher);
            }
        })*
    };
}

by_elements! {
    {T: HashState} [T];
    {T: HashState, const N: usize} [T; N];
    {T: HashState} Vec<T>;
    {T: HashState} VecDeque<T>;
    {T: HashState} BTreeSet<T>;
    {K: HashState, V: HashState} BTreeMap<K, V>;
}

/// Hashed as a sum over the elements, so the order in the heap does not matter.
impl<T: HashState> HashState for BinaryHeap<T> {
    fn hash_state(&self, hasher: &mut StateHasher) {
        let of_one = |value: &T| {
            let mut hasher = StateHasher::new();
            value.hash_state(&mut hasher);
            hasher.finish()
        };
        let sum = self.iter().map(of_one).fold(0_u64, u64::wrapping_add);
        (self.len(), sum).hash_state(hasher);
    }
}

macro_rules! by_parts {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: HashState),*> HashState for ($($name,)*) {
            fn hash_state(&self, hasher: &mut StateHasher) {
                let ($($var,)*) = self;
                $($var.hash_state(hasher);)*
            }
        }
    };
}

for_each_tuple!(by_parts);
