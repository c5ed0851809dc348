//! Values that the state hash can see into.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::marker::PhantomData;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroIsize, NonZeroU8, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroUsize, Wrapping,
};
use core::ops::{Range, RangeInclusive};
use core::time::Duration;

use super::StateHasher;
use crate::entity::Entity;
use crate::random::RandomStream;

/// A value that the state hash can see into: all of it goes into the hash, and nothing else.
///
/// `#[derive(Component)]` takes in a component field by field, so the types of its fields have to be
/// `HashState` or plain data (`bytemuck::NoUninit`). Derive it for types of your own; numbers, text,
/// tuples and the ordered collections have it. A float is its bits: `0.0` and `-0.0` differ, since
/// they can lead to different futures.
///
/// Unlike [`core::hash::Hash`] it never leaves anything out, knows floats, and is the same on every
/// platform. A `HashMap` does not have it, because its order differs from run to run: use a
/// `BTreeMap`.
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
    /// Takes in the whole value.
    fn hash_state(&self, hasher: &mut StateHasher);
}

/// By a number of at most 64 bits that is another one for another value.
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

/// As what `get` makes of the value.
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
    {T: HashState} RangeInclusive<T> => |it| (it.start(), it.end());
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

/// How many there are, and each of them.
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

/// A sum over the elements: what lies where in a heap does not matter.
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
