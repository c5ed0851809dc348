//! The rule by which the state hash sees the values of a component.

use alloc::vec::Vec;
use core::any::type_name;
use core::fmt;

use super::{BytesFn, Codec, HashFn};
use crate::hash::StateHasher;

/// How the [state hash](crate::World::state_hash) sees the values of a component.
///
/// The derive chooses one: their bytes for plain data, what `HashRule::serde` writes for
/// `#[component(serde)]`, nothing for `#[component(unhashed)]`, and otherwise each field. By hand it is the constant
/// [`Component::HASH`](super::Component::HASH), which has no default: a component that the hash does
/// not see is one that says so.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::HashRule;
///
/// struct Callback(Box<dyn Fn() + Send + Sync>);
/// impl Component for Callback {
///     const HASH: HashRule<Self> = HashRule::Unhashed;
/// }
///
/// let mut world = World::new();
/// world.spawn(Callback(Box::new(|| ())));
/// assert!(world.state_hash().uncovered()[0].ends_with("Callback"));
/// ```
pub enum HashRule<T> {
    /// By their bytes.
    Bytes(BytesFn<T>),
    /// By a function that takes in the whole value.
    Fields(HashFn<T>),
    /// By what the codec writes.
    Codec(Codec<T>),
    /// By a function that takes in a part of the value. The component is among those that the hash
    /// does [not cover](crate::StateHash::uncovered).
    Partly(HashFn<T>),
    /// Not at all. The component is among those that the hash does
    /// [not cover](crate::StateHash::uncovered).
    Unhashed,
}

copied!([T] HashRule<T>);

impl<T> fmt::Debug for HashRule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes(_) => "Bytes",
            Self::Fields(_) => "Fields",
            Self::Codec(_) => "Codec",
            Self::Partly(_) => "Partly",
            Self::Unhashed => "Unhashed",
        })
    }
}

impl<T> HashRule<T> {
    /// By what serde writes, in the format of the crate postcard.
    ///
    /// That is not how [`Codec::serde`] saves values: the hash needs no names of fields, and tells
    /// apart what CBOR does not. The order of a `HashMap` is part of the hash, and differs between
    /// two runs: use a `BTreeMap`. A type whose length serde learns late, such as one with
    /// `#[serde(flatten)]`, has no such hash.
    ///
    /// # Panics
    /// Panics if the format cannot write a value, when that is hashed.
    #[cfg(feature = "serde")]
    #[must_use]
    pub const fn serde() -> Self
    where
        T: serde::Serialize,
    {
        Self::Fields(|value, hasher| match postcard::to_allocvec(value) {
            Ok(bytes) => hasher.write(&bytes),
            Err(error) => panic!("the state hash cannot see {}: {error}", type_name::<T>()),
        })
    }

    /// Whether the hash sees the whole value.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        !matches!(self, Self::Partly(_) | Self::Unhashed)
    }

    /// Takes in what it sees of a value, for the rule of what the value is a part of.
    ///
    /// # Panics
    /// Panics if the codec fails to write the value.
    pub fn hash(&self, value: &T, hasher: &mut StateHasher) {
        match self {
            // A value without a size has no bytes, and bytemuck refuses to cast to none.
            Self::Bytes(_) if size_of::<T>() == 0 => {}
            Self::Bytes(bytes) => hasher.write(bytes(core::slice::from_ref(value))),
            Self::Fields(hash) | Self::Partly(hash) => hash(value, hasher),
            Self::Codec(codec) => {
                let mut bytes = Vec::new();
                if codec.write(value, &mut bytes).is_err() {
                    panic!("the codec of {} cannot write a value", type_name::<T>());
                }
                hasher.write(&bytes);
            }
            Self::Unhashed => {}
        }
    }

    /// Takes in several values.
    pub(crate) fn hash_all(&self, values: &[T], hasher: &mut StateHasher) {
        match self {
            Self::Bytes(bytes) if size_of::<T>() > 0 => hasher.write(bytes(values)),
            rule => {
                for value in values {
                    rule.hash(value, hasher);
                }
            }
        }
    }
}
