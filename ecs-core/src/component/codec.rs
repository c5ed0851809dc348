//! Codecs of component values: as their bytes, or by custom functions.

use alloc::vec::Vec;
use core::fmt;

use bytemuck::{CheckedBitPattern, NoUninit};

use super::BytesFn;

/// A codec: writes the values of a component into a snapshot and reads them from it.
///
/// The derive chooses one: [`plain`](Self::plain) if the type is plain data, [`tag`](Self::tag) if it has
/// no fields, and otherwise the one that its options request. In an implementation by hand it is the
/// constant [`Component::CODEC`](super::Component::CODEC).
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{Codec, CodecError, HashRule};
///
/// #[derive(PartialEq, Debug)]
/// struct Name(String);
///
/// impl Component for Name {
///     const HASH: HashRule<Self> = HashRule::Codec(Self::CODEC);
///     const CODEC: Codec<Self> = Codec::custom(
///         |name, bytes| {
///             let len = u8::try_from(name.0.len()).map_err(|_| CodecError)?;
///             bytes.push(len);
///             bytes.extend(name.0.as_bytes());
///             Ok(())
///         },
///         |bytes| {
///             let (&len, rest) = bytes.split_first().ok_or(CodecError)?;
///             let (text, rest) = rest.split_at_checked(len.into()).ok_or(CodecError)?;
///             *bytes = rest;
///             Ok(Name(std::str::from_utf8(text).map_err(|_| CodecError)?.into()))
///         },
///     );
/// }
///
/// let mut world = World::new();
/// let ada = world.spawn(Name("Ada".into()));
/// let saved = world.snapshot()?;
/// world.clear();
/// world.restore(&saved)?;
/// assert_eq!(world.get::<Name>(ada)?, &Name("Ada".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Codec<T>(Way<T>);

/// A function that appends one value to the bytes. If it fails, what it has written is discarded.
pub type WriteFn<T> = fn(&T, &mut Vec<u8>) -> Result<(), CodecError>;
/// A function that reads one value from the start of the bytes and advances past it. If it fails it may
/// have advanced by any amount: no reader continues after that.
pub type ReadFn<T> = fn(&mut &[u8]) -> Result<T, CodecError>;

/// An error: the value cannot be written, or the bytes do not encode a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodecError;

error_text! { CodecError:
    Self => "the value cannot be written, or the bytes are not those of a value";
}

enum Way<T> {
    Unsaved,
    /// Created only in this file: that the bytes which `is_valid` accepts are values is a guarantee of
    /// bytemuck (I-20).
    Plain {
        bytes: BytesFn<T>,
        is_valid: fn(&[u8]) -> bool,
        read: fn(&[u8]) -> Option<T>,
    },
    Custom {
        write: WriteFn<T>,
        read: ReadFn<T>,
    },
}

/// The kind of a codec. Snapshots record its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodecKind {
    Unsaved,
    Plain,
    Custom,
}

copied!([T] Codec<T>);

copied!([T] Way<T>);

impl<T> fmt::Debug for Codec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Codec").field(&self.kind()).finish()
    }
}

impl<T> Codec<T> {
    /// Does not save values: a world with such a component cannot be saved in a snapshot.
    pub const UNSAVED: Self = Self(Way::Unsaved);

    /// Saves values as their bytes, in whole columns. The bytes of a snapshot are checked before they
    /// become values: a `bool` is 0 or 1, an enum has a variant, an [`Entity`](crate::Entity) has a
    /// generation.
    #[must_use]
    pub const fn plain() -> Self
    where
        T: NoUninit + CheckedBitPattern,
    {
        if size_of::<T>() == 0 {
            // There are no bytes to see, but there is a value to make.
            return Self::custom(
                |_, _| Ok(()),
                |_| bytemuck::checked::try_pod_read_unaligned(&[]).map_err(|_| CodecError),
            );
        }
        Self(Way::Plain {
            bytes: bytemuck::cast_slice::<T, u8>,
            is_valid: |bytes| {
                for value in bytes.chunks_exact(size_of::<T>()) {
                    if bytemuck::checked::try_pod_read_unaligned::<T>(value).is_err() {
                        return false;
                    }
                }
                true
            },
            read: |bytes| bytemuck::checked::try_pod_read_unaligned(bytes).ok(),
        })
    }

    /// Saves values by these functions. `read` must consume exactly what `write` has written.
    #[must_use]
    pub const fn custom(write: WriteFn<T>, read: ReadFn<T>) -> Self {
        Self(Way::Custom { write, read })
    }

    /// Saves values without contents: the function creates one, as in `Codec::tag(|_| Ok(Awake))`. For
    /// types without fields.
    #[must_use]
    pub const fn tag(make: ReadFn<T>) -> Self {
        Self::custom(|_, _| Ok(()), make)
    }

    /// Does not save values. An entity that had one gets the default value on restoring, so the rows and
    /// their order do not change.
    #[must_use]
    pub const fn transient() -> Self
    where
        T: Default,
    {
        Self::custom(|_, _| Ok(()), |_| Ok(T::default()))
    }

    /// Saves values by serde, as CBOR. Fields and variants are identified by their names, so a type can
    /// change between two versions of a program.
    ///
    /// A removed field is skipped, and fields may be reordered. A new field is read by
    /// `#[serde(default)]`, and a renamed one by `#[serde(alias = "...")]`. The fields of a tuple have no
    /// names, so their number must not change.
    ///
    /// As in JSON, an `Option` inside an `Option` is ambiguous: `Some(None)` is read back as `None`.
    ///
    /// Reading recurses as deep as the type does. Use types that contain themselves only with bytes from
    /// a trusted source.
    ///
    /// ```
    /// use formic_ecs::{Codec, CodecError};
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Song {
    ///     words: Vec<String>,
    ///     key: char,
    /// }
    ///
    /// /// The next version of the program has other fields.
    /// #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    /// struct Tune {
    ///     #[serde(default)]
    ///     tempo: u32,
    ///     #[serde(alias = "words")]
    ///     lyrics: Vec<String>,
    /// }
    ///
    /// let mut bytes = Vec::new();
    /// Codec::serde().write(&Song { words: vec!["la".into()], key: 'g' }, &mut bytes)?;
    /// let tune: Tune = Codec::serde().read(&mut bytes.as_slice())?;
    /// assert_eq!(tune, Tune { tempo: 0, lyrics: vec!["la".into()] });
    /// # Ok::<(), CodecError>(())
    /// ```
    #[cfg(feature = "serde")]
    #[must_use]
    pub const fn serde() -> Self
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        Self::custom(
            |value, bytes| {
                let mut serializer = minicbor_serde::Serializer::new(bytes);
                value.serialize(&mut serializer).map_err(|_| CodecError)
            },
            |bytes| {
                let mut deserializer = minicbor_serde::Deserializer::new(bytes);
                let value = T::deserialize(&mut deserializer).map_err(|_| CodecError)?;
                let read = deserializer.decoder().position();
                *bytes = bytes.get(read..).ok_or(CodecError)?;
                Ok(value)
            },
        )
    }

    /// Whether values are saved at all. The codec of a generic component queries it for its parts.
    #[must_use]
    pub const fn is_saved(&self) -> bool {
        !matches!(self.0, Way::Unsaved)
    }

    /// Appends one value to the bytes, for the codec of a type that contains the value.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::{Codec, HashRule};
    /// struct Twice<T>(T, T);
    /// trait Part: Send + Sync + Sized + 'static {
    ///     const CODEC: Codec<Self>;
    /// }
    /// impl Part for u16 {
    ///     const CODEC: Codec<u16> = Codec::plain();
    /// }
    /// impl<T: Part> Component for Twice<T> {
    ///     const HASH: HashRule<Self> = HashRule::Codec(Self::CODEC);
    ///     const CODEC: Codec<Self> = Codec::custom(
    ///         |twice, bytes| {
    ///             T::CODEC.write(&twice.0, bytes)?;
    ///             T::CODEC.write(&twice.1, bytes)
    ///         },
    ///         |bytes| Ok(Twice(T::CODEC.read(bytes)?, T::CODEC.read(bytes)?)),
    ///     );
    /// }
    /// let mut world = World::new();
    /// let pair = world.spawn(Twice(3_u16, 4));
    /// let saved = world.snapshot()?;
    /// world.clear();
    /// world.restore(&saved)?;
    /// assert_eq!(world.get::<Twice<u16>>(pair)?.1, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns a [`CodecError`] if values are not saved, or the codec's function fails. What that
    /// function has written stays at the end of the bytes. The codec of a containing type passes the
    /// error on, and an unfinished snapshot is discarded as a whole.
    pub fn write(&self, value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.0 {
            Way::Unsaved => return Err(CodecError),
            Way::Plain { bytes, .. } => out.extend_from_slice(bytes(core::slice::from_ref(value))),
            Way::Custom { write, .. } => write(value, out)?,
        }
        Ok(())
    }

    pub(crate) const fn kind(&self) -> CodecKind {
        match self.0 {
            Way::Unsaved => CodecKind::Unsaved,
            Way::Plain { .. } => CodecKind::Plain,
            Way::Custom { .. } => CodecKind::Custom,
        }
    }

    /// Appends the values, one after the other.
    pub(crate) fn write_all(&self, values: &[T], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if let Way::Plain { bytes, .. } = self.0 {
            out.extend_from_slice(bytes(values));
            return Ok(());
        }
        for value in values {
            self.write(value, out)?;
        }
        Ok(())
    }

    /// Reads one value and advances past it.
    ///
    /// # Errors
    /// Returns a [`CodecError`] if values are not saved, or the bytes do not encode a value. How far the
    /// bytes have advanced then is unspecified: not at all if there are too few for plain data, otherwise
    /// past what was examined.
    pub fn read(&self, source: &mut &[u8]) -> Result<T, CodecError> {
        match self.0 {
            Way::Unsaved => Err(CodecError),
            Way::Plain { read, .. } => {
                take(source, size_of::<T>(), 1).and_then(read).ok_or(CodecError)
            }
            Way::Custom { read, .. } => read(source),
        }
    }

    /// Takes the bytes of this many values, if values are saved as their bytes. They have been checked to
    /// be values (I-20).
    pub(crate) fn take_plain<'a>(
        &self,
        source: &mut &'a [u8],
        count: usize,
    ) -> Result<Option<&'a [u8]>, CodecError> {
        let Way::Plain { is_valid, .. } = self.0 else { return Ok(None) };
        let bytes = take(source, size_of::<T>(), count).ok_or(CodecError)?;
        if is_valid(bytes) { Ok(Some(bytes)) } else { Err(CodecError) }
    }
}

/// Takes the bytes of `count` values of `size` bytes.
fn take<'a>(source: &mut &'a [u8], size: usize, count: usize) -> Option<&'a [u8]> {
    let (bytes, rest) = source.split_at_checked(size.checked_mul(count)?)?;
    *source = rest;
    Some(bytes)
}
