//! Dynamic buffers: a list per entity, whose first elements are stored in the chunk.

use alloc::format;
use alloc::vec::Vec;
use core::any::type_name;
use core::fmt;
use core::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use crate::component::{
    BytesFn, CloneFn, Codec, CodecError, CodecKind, Component, DefaultFn, FieldFns, HashRule,
    MapEntities, MapEntitiesFn, field_text, not_editable,
};
use crate::entity::Entity;
use crate::hash::StateHasher;
use crate::name::Name;
use crate::user_code::expected_of;

/// A list as a component. Its elements are stored in the chunk as long as they fit there, and all of them
/// on the heap once they do not.
///
/// The element type determines how many fit. Reading is reading a slice, wherever the elements are. A
/// buffer that has moved to the heap stays there, so that it does not move to and fro;
/// [`shrink_to_fit`](SmallVec::shrink_to_fit) moves it back. It has all operations of a [`SmallVec`].
///
/// Cloning, hashing and saving it, and remapping its entities, is done element by element.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::Buffer;
///
/// #[derive(Component, Clone, Debug, PartialEq)]
/// #[component(buffer = 4)]
/// struct Step(u32, u32);
///
/// let mut world = World::new();
/// let scout = world.spawn(Buffer::from_iter([Step(0, 0), Step(0, 1)]));
/// let path = world.get_mut::<Buffer<Step>>(scout)?;
/// assert!(path.is_inline());
/// path.extend((2..9).map(|y| Step(0, y)));
/// assert!(!path.is_inline());
/// path.truncate(3);
/// path.shrink_to_fit();
/// assert!(path.is_inline());
/// assert_eq!(world.get::<Buffer<Step>>(scout)?.last(), Some(&Step(0, 2)));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Buffer<T: BufferElement>(SmallVec<T::Inline>);

impl<T: BufferElement> Buffer<T> {
    /// Creates a buffer without elements.
    #[must_use]
    pub fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Creates a buffer without elements and with room for `capacity` of them. It is on the heap from the
    /// start if they do not fit in the chunk.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(SmallVec::with_capacity(capacity))
    }

    /// Whether the elements are stored in the row itself rather than on the heap.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        !self.0.spilled()
    }
}

impl<T: BufferElement> Default for Buffer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: BufferElement> Deref for Buffer<T> {
    type Target = SmallVec<T::Inline>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: BufferElement> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T: BufferElement> Extend<T> for Buffer<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        let elements = elements.into_iter();
        self.0.reserve(expected_of(&elements));
        elements.for_each(|element| self.0.push(element));
    }
}

impl<T: BufferElement> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut buffer = Self::new();
        buffer.extend(elements);
        buffer
    }
}

impl<'a, T: BufferElement> IntoIterator for &'a Buffer<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: BufferElement> IntoIterator for &'a mut Buffer<T> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: BufferElement + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: BufferElement + MapEntities> MapEntities for Buffer<T> {
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        self[..].map_entities(map);
    }
}

/// An element of a [`Buffer`]. It determines how many elements are stored in the chunk.
///
/// It is derived by `#[derive(Component)]` with `#[component(buffer = N)]`, which makes the type an
/// element instead of a component; the component is the buffer. An implementation by hand takes two
/// lines, and the constants mean what those of [`Component`](trait@crate::Component) mean.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{Buffer, BufferElement, HashRule};
///
/// struct Callback(Box<dyn Fn() + Send + Sync>);
/// impl BufferElement for Callback {
///     type Inline = [Self; 2];
///     const HASH: HashRule<Self> = HashRule::Unhashed;
/// }
///
/// // One that says all that there is to say.
/// use formic_ecs::{BytesFn, CloneFn, Codec, MapEntitiesFn};
/// struct Friend(Entity);
/// impl BufferElement for Friend {
///     type Inline = [Self; 4];
///     const ENABLEABLE: bool = true;
///     const TRACKED: bool = true;
///     const CLONE: Option<CloneFn<Self>> = Some(|friend| Self(friend.0));
///     const BYTES: Option<BytesFn<Self>> = None;
///     const HASH: HashRule<Self> =
///         HashRule::Fields(|friend, hasher| hasher.write_u64(friend.0.to_bits()));
///     const MAP_ENTITIES: Option<MapEntitiesFn<Self>> = Some(|friend, map| friend.0 = map(friend.0));
///     const CODEC: Codec<Self> = Codec::UNSAVED;
///
///     fn name() -> &'static str {
///         "game.friends"
///     }
/// }
///
/// let mut world = World::new();
/// let imp = world.spawn(Buffer::from_iter([Callback(Box::new(|| ()))]));
/// world.insert(imp, Buffer::from_iter([Friend(imp)])).expect("alive");
/// assert!(world.component_by_name("game.friends").is_some());
/// ```
pub trait BufferElement: Send + Sync + Sized + 'static {
    /// An array of as many elements as are stored in the chunk.
    type Inline: smallvec::Array<Item = Self> + Send + Sync + 'static;

    /// Whether the buffer can be enabled and disabled per entity.
    const ENABLEABLE: bool = false;
    /// Whether versions per row record when the buffer was changed and added.
    const TRACKED: bool = false;
    /// The function that clones an element, for instantiation.
    const CLONE: Option<CloneFn<Self>> = None;
    /// The function that views elements as bytes, which a derived `HASH` uses.
    const BYTES: Option<BytesFn<Self>> = None;
    /// The rule by which the state hash covers elements.
    const HASH: HashRule<Self>;
    /// The function that replaces the entities that an element refers to.
    const MAP_ENTITIES: Option<MapEntitiesFn<Self>> = None;
    /// The codec that saves elements in a snapshot.
    const CODEC: Codec<Self> = Codec::UNSAVED;
    /// The names that the buffer had in earlier versions of the program.
    const WAS: &'static [&'static str] = &[];

    /// Returns the name of the buffer in messages, in the state hash and in snapshots.
    #[must_use]
    fn name() -> &'static str {
        type_name::<Buffer<Self>>()
    }

    /// Returns the fields of an element as text, as [`Component::fields`] does.
    #[must_use]
    fn fields() -> Name {
        Name::from("")
    }
}

impl<T: BufferElement> IntoIterator for Buffer<T> {
    type Item = T;
    type IntoIter = smallvec::IntoIter<T::Inline>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T: BufferElement> Component for Buffer<T> {
    const ENABLEABLE: bool = T::ENABLEABLE;
    const TRACKED: bool = T::TRACKED;
    const CLONE: Option<CloneFn<Self>> =
        if T::CLONE.is_some() { Some(clone_elements::<T>) } else { None };
    const HASH: HashRule<Self> = match T::HASH {
        HashRule::Unhashed => HashRule::Unhashed,
        HashRule::Partly(_) => HashRule::Partly(hash_elements::<T>),
        _ => HashRule::Fields(hash_elements::<T>),
    };
    const MAP_ENTITIES: Option<MapEntitiesFn<Self>> =
        if T::MAP_ENTITIES.is_some() { Some(map_elements::<T>) } else { None };
    const CODEC: Codec<Self> = match T::CODEC.kind() {
        CodecKind::Unsaved => Codec::UNSAVED,
        CodecKind::Plain => Codec::custom(
            |buffer, out| write_plain(T::CODEC, buffer, out),
            |source| Ok(Self(read_plain(T::CODEC, source)?)),
        ),
        CodecKind::Custom => Codec::custom(write_elements::<T>, read_elements::<T>),
    };

    const FIELDS: Option<FieldFns<Self>> = Some(FieldFns {
        read: |buffer, emit| {
            let length = Some(format!("{}", buffer.len()));
            emit(field_text("length", "usize", None, (length, false), false));
        },
        write: |_, _, text| not_editable(text),
    });
    const DEFAULT: Option<DefaultFn<Self>> = Some(Self::new);

    const WAS: &'static [&'static str] = T::WAS;

    fn name() -> &'static str {
        T::name()
    }

    fn lasting_name() -> Name {
        if T::name() == type_name::<Self>() {
            return Name::from(format!(
                "formic_ecs::component::buffer::Buffer<{}>",
                type_name::<T>()
            ));
        }
        Name::from(T::name())
    }

    fn fields() -> Name {
        T::fields()
    }
}

fn clone_elements<T: BufferElement>(buffer: &Buffer<T>) -> Buffer<T> {
    let clone = T::CLONE.expect("made a component's function only for elements that have it");
    buffer.iter().map(clone).collect()
}

fn hash_elements<T: BufferElement>(buffer: &Buffer<T>, hasher: &mut StateHasher) {
    // Elements without a size have no contents to hash, but they have a number.
    hasher.write_u64(buffer.len() as u64);
    T::HASH.hash_all(buffer, hasher);
}

fn map_elements<T: BufferElement>(buffer: &mut Buffer<T>, map: &mut dyn FnMut(Entity) -> Entity) {
    if let Some(map_entities) = T::MAP_ENTITIES {
        buffer.iter_mut().for_each(|element| map_entities(element, map));
    }
}

/// Writes the number of values, which are plain data, and their bytes.
pub(super) fn write_plain<T>(
    codec: Codec<T>,
    values: &[T],
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    out.extend((values.len() as u64).to_le_bytes());
    codec.write_all(values, out)
}

/// Reads what [`write_plain`] has written.
pub(super) fn read_plain<A: smallvec::Array>(
    codec: Codec<A::Item>,
    source: &mut &[u8],
) -> Result<SmallVec<A>, CodecError> {
    let count = read_number(source)?;
    // The bytes are checked to be values, and so to exist, before memory is reserved for the values.
    let mut bytes = codec.take_plain(source, count)?.ok_or(CodecError)?;
    let mut values = SmallVec::with_capacity(count);
    for _ in 0..count {
        values.push(codec.read(&mut bytes)?);
    }
    Ok(values)
}

/// Writes the number of elements, and each of them after its length in bytes. So an element takes some
/// bytes even if it is empty, and there cannot be more elements than bytes.
fn write_elements<T: BufferElement>(
    buffer: &Buffer<T>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    out.extend((buffer.len() as u64).to_le_bytes());
    for element in buffer {
        let start = out.len();
        out.extend([0; 8]);
        T::CODEC.write(element, out)?;
        let len = (out.len() - start - 8) as u64;
        out[start..start + 8].copy_from_slice(&len.to_le_bytes());
    }
    Ok(())
}

fn read_elements<T: BufferElement>(source: &mut &[u8]) -> Result<Buffer<T>, CodecError> {
    let mut buffer = Buffer::new();
    for _ in 0..read_number(source)? {
        let len = read_number(source)?;
        let (mut element, rest) = source.split_at_checked(len).ok_or(CodecError)?;
        *source = rest;
        buffer.push(T::CODEC.read(&mut element)?);
        if !element.is_empty() {
            return Err(CodecError);
        }
    }
    Ok(buffer)
}

fn read_number(source: &mut &[u8]) -> Result<usize, CodecError> {
    let (bytes, rest) = source.split_first_chunk().ok_or(CodecError)?;
    *source = rest;
    usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| CodecError)
}
