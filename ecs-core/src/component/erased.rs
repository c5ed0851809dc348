//! The operations of a component type behind untyped pointers.
#![expect(
    unsafe_code,
    reason = "calls a type's drop, clone and map functions through pointers to its rows"
)]

use core::ptr::NonNull;

use super::Component;
use crate::entity::Entity;
use crate::hash::StateHasher;

pub(crate) type CloneFn = unsafe fn(NonNull<u8>, NonNull<u8>, usize);
type HashFn = unsafe fn(NonNull<u8>, &mut StateHasher);
type BytesFn = unsafe fn(NonNull<u8>, usize, usize) -> NonNull<[u8]>;
pub(crate) type MapFn = unsafe fn(NonNull<u8>, &mut dyn FnMut(Entity) -> Entity);

/// What can be done with a value of a component type that is known only by its pointer.
///
/// Every function asks that the pointer was made for the very type that `of` was called with
/// (I-9) and is aligned for it; or, for a component that was registered at run time, for the very
/// component whose descriptor has the functions (I-16).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErasedFns {
    /// Drops the value in place. `None` where there is nothing to drop.
    pub(crate) drop: Option<unsafe fn(NonNull<u8>)>,
    /// Clones the value at the first pointer into the uninitialised row at the second. The number
    /// is the size of a value.
    pub(crate) clone: Option<CloneFn>,
    /// Takes the value into the state hash, where that is done otherwise than by its bytes.
    pub(crate) hash: Option<HashFn>,
    /// The bytes of some values, one after the other, for as long as the values may be read. The
    /// numbers are how many there are, and the size of each.
    pub(crate) bytes: Option<BytesFn>,
    /// Maps the entities inside the value.
    pub(crate) map_entities: Option<MapFn>,
}

impl ErasedFns {
    pub(crate) fn of<T: Component>() -> Self {
        Self {
            drop: core::mem::needs_drop::<T>().then_some(drop_value::<T> as unsafe fn(_)),
            clone: T::CLONE.map(|_| clone_value::<T> as CloneFn),
            hash: T::HASH.map(|_| hash_value::<T> as HashFn),
            bytes: T::BYTES.map(|_| bytes_of::<T> as BytesFn),
            map_entities: T::MAP_ENTITIES.map(|_| map_value::<T> as MapFn),
        }
    }

    /// Of values that are plain bytes, or nothing.
    pub(crate) fn plain() -> Self {
        Self {
            drop: None,
            clone: Some(copy_plain),
            hash: None,
            bytes: Some(plain_bytes),
            map_entities: None,
        }
    }
}

/// # Safety
/// `value` points at an initialised `T` that nobody else uses, and that is not used afterwards.
unsafe fn drop_value<T>(value: NonNull<u8>) {
    // SAFETY: the caller ensures an initialised, unshared `T`.
    unsafe { value.cast::<T>().drop_in_place() }
}

/// # Safety
/// `source` points at an initialised `T` that nobody writes, `target` at room for another.
unsafe fn clone_value<T: Component>(source: NonNull<u8>, target: NonNull<u8>, _size: usize) {
    // SAFETY: the caller ensures an initialised `T` that nobody writes meanwhile.
    let source = unsafe { source.cast::<T>().as_ref() };
    let clone = T::CLONE.expect("`of` makes this function only for types that have one");
    let copy = clone(source);
    // SAFETY: the caller ensures that there is room for a `T`.
    unsafe { target.cast::<T>().write(copy) };
}

/// # Safety
/// `value` points at an initialised `T` that nobody writes.
unsafe fn hash_value<T: Component>(value: NonNull<u8>, hasher: &mut StateHasher) {
    // SAFETY: the caller ensures an initialised `T` that nobody writes meanwhile.
    let value = unsafe { value.cast::<T>().as_ref() };
    let hash = T::HASH.expect("`of` makes this function only for types that have one");
    hash(value, hasher);
}

/// # Safety
/// `values` points at `count` initialised values of `T` that nobody writes while the bytes are used.
unsafe fn bytes_of<T: Component>(values: NonNull<u8>, count: usize, _size: usize) -> NonNull<[u8]> {
    // SAFETY: the caller ensures initialised values of `T` that nobody writes meanwhile.
    let values = unsafe { core::slice::from_raw_parts(values.cast::<T>().as_ptr(), count) };
    match T::BYTES {
        // A zero-sized value has no bytes, and bytemuck refuses to cast to none.
        Some(bytes) if size_of::<T>() > 0 => NonNull::from(bytes(values)),
        _ => NonNull::from(&[]),
    }
}

/// # Safety
/// `values` points at `count` values of `size` initialised bytes each.
unsafe fn plain_bytes(values: NonNull<u8>, count: usize, size: usize) -> NonNull<[u8]> {
    NonNull::slice_from_raw_parts(values, count * size)
}

/// # Safety
/// `source` points at `size` bytes that nobody writes, `target` at room for as many elsewhere.
unsafe fn copy_plain(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    // SAFETY: the caller's word is what this asks for.
    unsafe { target.copy_from_nonoverlapping(source, size) };
}

/// # Safety
/// `value` points at an initialised `T` that nobody else uses.
unsafe fn map_value<T: Component>(value: NonNull<u8>, map: &mut dyn FnMut(Entity) -> Entity) {
    // SAFETY: the caller ensures an initialised, unshared `T`.
    let value = unsafe { value.cast::<T>().as_mut() };
    if let Some(map_entities) = T::MAP_ENTITIES {
        map_entities(value, map);
    }
}
