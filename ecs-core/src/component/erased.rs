//! The operations of a component type behind untyped pointers.
#![expect(
    unsafe_code,
    reason = "calls a type's drop, clone and map functions through pointers to its rows"
)]

use core::ptr::NonNull;

use super::Component;
use crate::entity::Entity;
use crate::hash::StateHasher;

type CloneFn = unsafe fn(NonNull<u8>, NonNull<u8>);
type HashFn = unsafe fn(NonNull<u8>, &mut StateHasher);
type MapFn = unsafe fn(NonNull<u8>, &mut dyn FnMut(Entity) -> Entity);

/// What can be done with a value of a component type that is known only by its pointer.
///
/// Every function asks that the pointer was made for the very type that `of` was called with
/// (I-9) and is aligned for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErasedFns {
    /// Drops the value in place. `None` where there is nothing to drop.
    pub(crate) drop: Option<unsafe fn(NonNull<u8>)>,
    /// Clones the value at the first pointer into the uninitialised row at the second.
    pub(crate) clone: Option<CloneFn>,
    /// Takes the value into the state hash.
    pub(crate) hash: Option<HashFn>,
    /// Maps the entities inside the value.
    pub(crate) map_entities: Option<MapFn>,
}

impl ErasedFns {
    pub(crate) fn of<T: Component>() -> Self {
        Self {
            drop: core::mem::needs_drop::<T>().then_some(drop_value::<T> as unsafe fn(_)),
            clone: T::CLONE.map(|_| clone_value::<T> as CloneFn),
            hash: (T::HASH.is_some() || T::BYTES.is_some()).then_some(hash_value::<T> as HashFn),
            map_entities: T::MAP_ENTITIES.map(|_| map_value::<T> as MapFn),
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
unsafe fn clone_value<T: Component>(source: NonNull<u8>, target: NonNull<u8>) {
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
    match (T::HASH, T::BYTES) {
        (Some(hash), _) => hash(value, hasher),
        // A zero-sized value has no bytes, and bytemuck refuses to cast to none.
        (None, Some(bytes)) if size_of::<T>() > 0 => {
            hasher.write(bytes(core::slice::from_ref(value)));
        }
        _ => hasher.write(&[]),
    }
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
