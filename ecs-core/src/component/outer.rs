//! The values outside the rows, whose types are looked at when they are used, and how they are saved.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

use super::{ChunkComponent, Codec, CodecError, CodecKind, SharedComponent};

/// A value of some type, kept in one place and referred to from several.
pub(crate) type SharedAny = Arc<dyn Any + Send + Sync>;

/// A value of some type that one chunk owns.
pub(crate) type OwnedAny = Box<dyn Any + Send + Sync>;

/// One value of a shared component.
#[derive(Clone, Debug)]
pub(crate) struct SharedValue {
    pub(crate) of: TypeId,
    pub(crate) value: SharedAny,
    /// What its `Hash` said when it came.
    pub(crate) hash: u64,
    pub(crate) codec: OuterCodec,
}

/// The type of a chunk component, and the value that a chunk has to which none was set.
#[derive(Clone, Debug)]
pub(crate) struct ChunkDefault {
    pub(crate) of: TypeId,
    pub(crate) value: SharedAny,
    pub(crate) codec: OuterCodec,
}

/// A [`Codec`] whose type is forgotten. Values know their own type, so nothing here is unsafe: a
/// value of another type is an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OuterCodec {
    pub(crate) kind: CodecKind,
    /// The size of a value in bytes.
    pub(crate) size: usize,
    pub(crate) write: fn(&(dyn Any + Send + Sync), &mut Vec<u8>) -> Result<(), CodecError>,
    pub(crate) read: fn(&mut &[u8]) -> Result<OwnedAny, CodecError>,
}

impl OuterCodec {
    pub(crate) fn of_shared<T: SharedComponent>() -> Self {
        Self::new::<T, AsShared>()
    }

    pub(crate) fn of_chunk<T: ChunkComponent>() -> Self {
        Self::new::<T, AsChunk>()
    }

    fn new<T: Send + Sync + 'static, W: Way<T>>() -> Self {
        Self {
            kind: W::CODEC.kind(),
            size: size_of::<T>(),
            write: |value, out| {
                let value = value.downcast_ref::<T>().ok_or(CodecError)?;
                W::CODEC.write_all(core::slice::from_ref(value), out)
            },
            read: |source| Ok(Box::new(W::CODEC.read(source)?)),
        }
    }
}

/// Which of its codecs a type goes by: it may be shared here and a chunk's there.
trait Way<T> {
    const CODEC: Codec<T>;
}

struct AsShared;

impl<T: SharedComponent> Way<T> for AsShared {
    const CODEC: Codec<T> = T::CODEC;
}

struct AsChunk;

impl<T: ChunkComponent> Way<T> for AsChunk {
    const CODEC: Codec<T> = T::CODEC;
}
