//! The traits that a buffer has as a component: those of its elements.

use alloc::format;
use alloc::vec::Vec;
use core::any::type_name;

use super::{
    Buffer, BufferElement, CloneFn, Codec, CodecError, CodecKind, Component, DefaultFn, FieldFns,
    HashRule, MapEntitiesFn, field_text, not_editable,
};
use crate::entity::Entity;
use crate::hash::StateHasher;
use crate::name::Name;

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
        CodecKind::Plain => Codec::custom(write_plain::<T>, read_plain::<T>),
        CodecKind::Custom => Codec::custom(write_elements::<T>, read_elements::<T>),
    };

    const FIELDS: Option<FieldFns<Self>> = Some(FieldFns {
        read: |buffer, see| {
            let length = Some(alloc::format!("{}", buffer.len()));
            see(field_text("length", "usize", (length, false), false));
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
    // Elements without a size have nothing to see, but they have a number.
    hasher.write_u64(buffer.len() as u64);
    T::HASH.hash_all(buffer, hasher);
}

fn map_elements<T: BufferElement>(buffer: &mut Buffer<T>, map: &mut dyn FnMut(Entity) -> Entity) {
    if let Some(map_entities) = T::MAP_ENTITIES {
        buffer.iter_mut().for_each(|element| map_entities(element, map));
    }
}

/// Writes the number of elements and the bytes that they are.
fn write_plain<T: BufferElement>(buffer: &Buffer<T>, out: &mut Vec<u8>) -> Result<(), CodecError> {
    out.extend((buffer.len() as u64).to_le_bytes());
    T::CODEC.write_all(buffer, out)
}

fn read_plain<T: BufferElement>(source: &mut &[u8]) -> Result<Buffer<T>, CodecError> {
    let count = read_number(source)?;
    // Seen to be values, hence to be there, before there is room for them.
    let mut bytes = T::CODEC.take_plain(source, count)?.ok_or(CodecError)?;
    let mut buffer = Buffer::with_capacity(count);
    for _ in 0..count {
        buffer.push(T::CODEC.read(&mut bytes)?);
    }
    Ok(buffer)
}

/// Writes the number of elements, and each of them behind its length in bytes. So an element takes
/// some bytes even if it has nothing in it, and there are not more of them than bytes.
fn write_elements<T: BufferElement>(
    buffer: &Buffer<T>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    out.extend((buffer.len() as u64).to_le_bytes());
    for element in buffer {
        let start = out.len();
        out.extend([0; 8]);
        T::CODEC.write_all(core::slice::from_ref(element), out)?;
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
