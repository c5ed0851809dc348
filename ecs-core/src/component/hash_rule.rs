//! The rule by which the state hash covers the values of a component.

use alloc::vec::Vec;
use core::any::type_name;
use core::fmt;

use super::{BytesFn, Codec, HashFn};
use crate::hash::StateHasher;

/// The rule by which the [state hash](crate::World::state_hash) covers the values of a component.
///
/// The derive chooses the rule: the bytes for plain data, what `HashRule::serde` writes for
/// `#[component(serde)]`, nothing for `#[component(unhashed)]`, and otherwise each field. In an
/// implementation by hand it is the constant [`Component::HASH`](super::Component::HASH). That has no
/// default, so a component that the hash leaves out says so.
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
    /// Hashes the bytes of a value.
    Bytes(BytesFn<T>),
    /// Hashes by a function that covers the whole value.
    Fields(HashFn<T>),
    /// Hashes what the codec writes.
    Codec(Codec<T>),
    /// Hashes by a function that covers a part of the value. The component is listed among those that the
    /// hash does [not cover](crate::StateHash::uncovered).
    Partly(HashFn<T>),
    /// Hashes nothing. The component is listed among those that the hash does
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
    /// Returns a rule that hashes what serde writes, in the format of the crate postcard.
    ///
    /// [`Codec::serde`] saves values in another format: the hash needs no names of fields, and
    /// distinguishes values that CBOR does not. The order of a `HashMap` is part of the hash and differs
    /// between two runs: use a `BTreeMap`. A type whose length serde does not know in advance, such as
    /// one with `#[serde(flatten)]`, cannot be hashed this way.
    ///
    /// # Panics
    /// Panics if the format cannot write a value, when that value is hashed.
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

    /// Returns whether the hash covers the whole value.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        !matches!(self, Self::Partly(_) | Self::Unhashed)
    }

    /// Adds what the rule covers of a value to the hash. For the rule of a type that contains the value.
    ///
    /// # Panics
    /// Panics if the codec fails to write the value.
    pub fn hash(&self, value: &T, hasher: &mut StateHasher) {
        let Self::Codec(codec) = self else { return self.hash_directly(value, hasher) };
        let mut bytes = Vec::new();
        if codec.write(value, &mut bytes).is_err() {
            panic!("the codec of {} cannot write a value", type_name::<T>());
        }
        hasher.write(&bytes);
    }

    /// Does the same for a rule without a codec, whose code the types that need none do without.
    pub(super) fn hash_directly(&self, value: &T, hasher: &mut StateHasher) {
        match self {
            // A zero-sized value has no bytes, and bytemuck refuses to cast it.
            Self::Bytes(_) if size_of::<T>() == 0 => {}
            Self::Bytes(bytes) => hasher.write(bytes(core::slice::from_ref(value))),
            Self::Fields(hash) | Self::Partly(hash) => hash(value, hasher),
            Self::Codec(_) | Self::Unhashed => {}
        }
    }

    /// Adds several values to the hash.
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
