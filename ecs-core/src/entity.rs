//! The entity handle.

use core::fmt;
use core::num::NonZeroU32;

/// A handle to one entity: an index into the world's entity table and a generation.
///
/// Handles are plain numbers. They stay valid until the entity is despawned, and are recognised
/// as stale from then on: a slot that is used again has another generation, and a slot whose
/// generations are exhausted is retired rather than reused. `Option<Entity>` is as small as
/// `Entity`.
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

/// The largest generation a slot of a world can have; the bit above marks deferred handles.
pub(crate) const GENERATION_MAX: u32 = 0x7FFF_FFFF;
const DEFERRED: u32 = 0x8000_0000;

const _: () = assert!(size_of::<Entity>() == 8 && align_of::<Entity>() == 8);

impl Entity {
    /// A handle from its two numbers, as the entity table issues them.
    pub(crate) fn new(index: u32, generation: NonZeroU32) -> Self {
        debug_assert!(generation.get() <= GENERATION_MAX);
        Self { index, generation }
    }

    /// The stand-in for the `index`-th entity that the command buffer with this tag will spawn.
    pub(crate) fn deferred(tag: u32, index: u32) -> Self {
        let generation = NonZeroU32::MIN | (DEFERRED | (tag << 1));
        Self { index, generation }
    }

    /// The place of this entity in the world's entity table. It is used again after a despawn.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many times the slot had been used when this handle was issued, counted from one.
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.generation.get()
    }

    /// Whether this handle stands for an entity that a command buffer has yet to spawn.
    ///
    /// No world knows such a handle; playback replaces it.
    #[must_use]
    pub const fn is_deferred(self) -> bool {
        self.generation.get() & DEFERRED != 0
    }

    /// The tag of the command buffer that made this deferred handle.
    pub(crate) fn deferred_tag(self) -> Option<u32> {
        self.is_deferred().then_some((self.generation.get() & !DEFERRED) >> 1)
    }

    /// The handle as one number: the generation in the upper half, the index in the lower.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        ((self.generation.get() as u64) << 32) | self.index as u64
    }

    /// The inverse of [`to_bits`](Self::to_bits), or `None` where no handle has these bits.
    ///
    /// Any other number gives a handle; one that no world issued is stale everywhere.
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

/// As the number that [`Entity::to_bits`] gives.
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
