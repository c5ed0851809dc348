//! The entity handle.

use core::fmt;
use core::num::NonZeroU32;

/// A handle to one entity: an index into the world's entity table and a generation.
///
/// Handles are plain numbers. A handle is valid until its entity is despawned, and is recognised as stale
/// afterwards: a reused slot has another generation, and a slot whose generations are exhausted is
/// retired. `Option<Entity>` has the same size as `Entity`.
///
/// ```
/// use formic_ecs::Entity;
/// assert_eq!(size_of::<Option<Entity>>(), size_of::<Entity>());
/// ```
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    bytemuck::NoUninit,
    bytemuck::CheckedBitPattern,
)]
#[repr(C, align(8))]
pub struct Entity {
    index: u32,
    generation: NonZeroU32,
}

/// The largest generation of a slot of a world. The next higher bit marks deferred handles.
pub(crate) const GENERATION_MAX: u32 = 0x7FFF_FFFF;
const DEFERRED: u32 = 0x8000_0000;

const _: () = assert!(size_of::<Entity>() == 8 && align_of::<Entity>() == 8);

impl Entity {
    /// Creates a handle from its two numbers, as the entity table issues them.
    pub(crate) fn new(index: u32, generation: NonZeroU32) -> Self {
        debug_assert!(generation.get() <= GENERATION_MAX);
        Self { index, generation }
    }

    /// Creates the placeholder of the `index`-th entity that the command buffer with this tag will spawn.
    pub(crate) fn deferred(tag: u32, index: u32) -> Self {
        let generation = NonZeroU32::MIN | (DEFERRED | (tag << 1));
        Self { index, generation }
    }

    /// Returns the index of the entity's slot in the world's entity table. The slot is reused after a
    /// despawn.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// Returns how often the slot has been used, up to and including this entity.
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.generation.get()
    }

    /// Returns whether this handle is a placeholder for an entity that a command buffer has yet to spawn.
    ///
    /// No world has an entity with such a handle; playback replaces it.
    #[must_use]
    pub const fn is_deferred(self) -> bool {
        self.generation.get() & DEFERRED != 0
    }

    /// Returns the tag of the command buffer that created this deferred handle.
    pub(crate) fn deferred_tag(self) -> Option<u32> {
        self.is_deferred().then_some((self.generation.get() & !DEFERRED) >> 1)
    }

    /// Returns the handle as one number: the generation in the upper half, the index in the lower.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        ((self.generation.get() as u64) << 32) | self.index as u64
    }

    /// Returns the handle with these bits, as [`to_bits`](Self::to_bits) returns them, or `None` if no
    /// handle has them.
    ///
    /// All other numbers are handles. One that no world issued is stale in every world.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the number is cut into its two halves")]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match NonZeroU32::new((bits >> 32) as u32) {
            Some(generation) => Some(Self { index: bits as u32, generation }),
            None => None,
        }
    }
}

impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_deferred() {
            write!(f, "deferred#{}", self.index)
        } else {
            write!(f, "{}v{}", self.index, self.generation)
        }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Serializes the handle as the number that [`Entity::to_bits`] returns.
#[cfg(feature = "serde")]
impl serde::Serialize for Entity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.to_bits())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Entity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bits = u64::deserialize(deserializer)?;
        Self::from_bits(bits).ok_or_else(|| serde::de::Error::custom("no handle has these bits"))
    }
}
