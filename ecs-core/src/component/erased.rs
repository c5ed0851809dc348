//! The operations of a component type behind untyped pointers.
#![expect(unsafe_code, reason = "calls a type's functions through pointers to its rows")]

use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::fmt;
use core::mem::needs_drop;
use core::ptr::{self, NonNull};

use super::{CodecError, CodecKind, Component, FieldText, HashRule};
use crate::entity::Entity;
use crate::hash::StateHasher;

pub(crate) type CloneFn = unsafe fn(NonNull<u8>, NonNull<u8>, usize);
pub(super) type HashFn = unsafe fn(NonNull<u8>, usize, &mut StateHasher);
pub(crate) type DebugFn = unsafe fn(NonNull<u8>, &mut fmt::Formatter<'_>) -> fmt::Result;
/// Creates a default value and stores it in the row. If the row has a value already, as the `bool` says,
/// the old value is dropped last.
pub(crate) type DefaultFn = unsafe fn(NonNull<u8>, bool);
type BytesFn = unsafe fn(NonNull<u8>, usize, usize) -> NonNull<[u8]>;
type SaveFn = unsafe fn(NonNull<u8>, usize, usize, &mut Vec<u8>) -> Result<(), CodecError>;
type LoadFn = unsafe fn(&mut &[u8], NonNull<u8>, usize, usize) -> Result<(), CodecError>;
pub(crate) type MapFn = unsafe fn(NonNull<u8>, &mut dyn FnMut(Entity) -> Entity);

/// The operations on a value of a component type that is known only by a pointer.
///
/// Every function requires that the pointer was made for the very type that `of` was called with (I-9),
/// and is aligned for it; or, for a component registered at run time, for the very component whose
/// descriptor has the functions (I-16).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErasedFns {
    /// Drops the value in place. `None` if there is nothing to drop.
    pub(crate) drop: Option<DropFn>,
    /// Clones the value at the first pointer into the uninitialised row at the second. The number is the
    /// size of a value.
    pub(crate) clone: Option<CloneFn>,
    /// Adds the value to the state hash, by the rule of its type. The number is the size of a value.
    pub(crate) hash: HashFn,
    /// Whether the state hash covers the whole value.
    pub(crate) is_hashed: bool,
    /// Formats the value for a person to read.
    pub(crate) debug: Option<DebugFn>,
    /// Formats and sets the fields, if they are known.
    pub(crate) fields: Option<ErasedFields>,
    /// Creates the default value in a row.
    pub(crate) default: Option<DefaultFn>,
    /// Returns the bytes of adjacent values. They are valid for as long as the values may be read. The
    /// numbers are the count of values and the size of each.
    pub(crate) bytes: Option<BytesFn>,
    /// Replaces the entities inside the value.
    pub(crate) map_entities: Option<MapFn>,
    /// Saves and loads values.
    pub(crate) codec: ErasedCodec,
}

/// A function that drops the value at the second pointer in place. The first pointer is the user data
/// that was given to [`ComponentDescriptor`](crate::ComponentDescriptor) with the function.
///
/// It has the C calling convention, so that a host in another language can provide it. It may be called
/// on any thread that drops the value or the world. The pointer to a value is aligned and not null. The
/// pointer to a zero-sized value refers to no memory.
pub type DropValueFn = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// The operation that drops a value known only by its pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropFn {
    pub(crate) function: DropValueFn,
    pub(crate) user_data: *mut c_void,
}

// SAFETY: only the function uses the user data, and it may be called on any thread (I-22).
unsafe impl Send for DropFn {}
// SAFETY: as above.
unsafe impl Sync for DropFn {}

impl DropFn {
    pub(crate) const fn of<T>() -> Self {
        Self { function: drop_value::<T>, user_data: ptr::null_mut() }
    }

    /// # Safety
    /// `value` points to an initialised value (I-2) of the component that the function is for (I-9,
    /// I-16), which has no other user and is not used afterwards.
    #[inline]
    pub(crate) unsafe fn call(self, value: NonNull<u8>) {
        // SAFETY: the caller guarantees the value; the user data is the one that belongs to the function.
        unsafe { (self.function)(self.user_data, value.as_ptr().cast()) };
    }
}

/// The operations on the fields of a value known only by its pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErasedFields {
    /// Calls the function with every field.
    pub(crate) read: unsafe fn(NonNull<u8>, &mut dyn FnMut(FieldText)),
    /// Sets the field with this index from a text.
    pub(crate) write: unsafe fn(NonNull<u8>, usize, &str) -> Result<(), String>,
}

/// The operations that save and load values known only by their pointers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErasedCodec {
    pub(crate) kind: CodecKind,
    /// Writes values that lie one row after the other from the pointer on. The numbers are their count
    /// and the size of each.
    pub(crate) save: SaveFn,
    /// Reads values into uninitialised rows from the pointer on. The numbers are their count and the size
    /// of each. If it fails or panics, the rows are uninitialised again.
    pub(crate) load: LoadFn,
}

impl ErasedFns {
    /// Returns the functions of a type. It is evaluated at compile time, so that a function is compiled
    /// only for the types that use it.
    pub(crate) const fn of<T: Component>() -> Self {
        Self {
            drop: if needs_drop::<T>() { Some(DropFn::of::<T>()) } else { None },
            clone: if T::CLONE.is_some() { Some(clone_value::<T>) } else { None },
            hash: match T::HASH {
                HashRule::Unhashed => Self::NONE.hash,
                _ => hash_value::<T>,
            },
            is_hashed: T::HASH.is_whole(),
            debug: if T::DEBUG.is_some() { Some(debug_value::<T>) } else { None },
            fields: if T::FIELDS.is_some() {
                Some(ErasedFields { read: read_fields::<T>, write: write_field::<T> })
            } else {
                None
            },
            default: if T::DEFAULT.is_some() { Some(put_default::<T>) } else { None },
            bytes: if T::BYTES.is_some() { Some(bytes_of::<T>) } else { None },
            map_entities: if T::MAP_ENTITIES.is_some() { Some(map_value::<T>) } else { None },
            codec: match T::CODEC.kind() {
                kind @ CodecKind::Unsaved => ErasedCodec { kind, ..Self::NONE.codec },
                // The values are bytes, all initialised: bytemuck guarantees that (I-20).
                kind @ CodecKind::Plain => {
                    ErasedCodec { kind, save: save_plain, load: load_checked::<T> }
                }
                kind @ CodecKind::Custom => {
                    ErasedCodec { kind, save: save_values::<T>, load: load_values::<T> }
                }
            },
        }
    }

    /// The functions of values that can only be moved.
    pub(crate) const NONE: Self = Self {
        drop: None,
        clone: None,
        hash: |_, _, _| {},
        is_hashed: false,
        debug: None,
        fields: None,
        default: None,
        bytes: None,
        map_entities: None,
        codec: ErasedCodec {
            kind: CodecKind::Unsaved,
            save: |_, _, _, _| Err(CodecError),
            load: |_, _, _, _| Err(CodecError),
        },
    };

    /// The functions of values that are plain bytes, or zero-sized.
    pub(crate) const PLAIN: Self = Self {
        clone: Some(copy_plain),
        hash: hash_plain,
        is_hashed: true,
        bytes: Some(plain_bytes),
        codec: ErasedCodec { kind: CodecKind::Plain, save: save_plain, load: load_plain },
        ..Self::NONE
    };
}

/// # Safety
/// `value` points to an initialised `T` (I-2, I-9) that has no other user and is not used afterwards.
unsafe extern "C-unwind" fn drop_value<T>(_: *mut c_void, value: *mut c_void) {
    // SAFETY: the caller guarantees a `T` (I-9) that is initialised (I-2) and has no other user.
    unsafe { value.cast::<T>().drop_in_place() }
}

/// # Safety
/// `source` points to an initialised `T` (I-2, I-9) that no thread writes, and `target` to room for
/// another (I-3) that is unowned.
unsafe fn clone_value<T: Component>(source: NonNull<u8>, target: NonNull<u8>, _size: usize) {
    // SAFETY: the caller guarantees a `T` (I-9) that is initialised (I-2) and that no thread writes.
    let source = unsafe { source.cast::<T>().as_ref() };
    let clone = T::CLONE.expect("`of` makes this function only for types that have one");
    let copy = clone(source);
    // SAFETY: the caller guarantees room for a `T` (I-3, I-9) that is unowned (I-2).
    unsafe { target.cast::<T>().write(copy) };
}

/// # Safety
/// `value` points to an initialised `T` (I-2, I-9) that no thread writes.
unsafe fn hash_value<T: Component>(value: NonNull<u8>, _size: usize, hasher: &mut StateHasher) {
    // SAFETY: the caller guarantees a `T` (I-9) that is initialised (I-2) and that no thread writes.
    let value = unsafe { value.cast::<T>().as_ref() };
    if const { matches!(T::HASH, HashRule::Codec(_)) } {
        T::HASH.hash(value, hasher);
    } else {
        T::HASH.hash_directly(value, hasher);
    }
}

/// # Safety
/// `value` points to an initialised `T` (I-2, I-9) that no thread writes.
unsafe fn debug_value<T: Component>(value: NonNull<u8>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // SAFETY: the caller guarantees a `T` (I-9) that is initialised (I-2) and that no thread writes.
    let value = unsafe { value.cast::<T>().as_ref() };
    let debug = T::DEBUG.expect("`of` makes this function only for types that have one");
    debug(value, f)
}

/// # Safety
/// `value` points to an initialised `T` (I-2, I-9) that no thread writes.
unsafe fn read_fields<T: Component>(value: NonNull<u8>, see: &mut dyn FnMut(FieldText)) {
    // SAFETY: the caller guarantees a `T` (I-9) that is initialised (I-2) and that no thread writes.
    let value = unsafe { value.cast::<T>().as_ref() };
    let fields = T::FIELDS.expect("`of` makes this function only for types that have one");
    (fields.read)(value, see);
}

/// # Safety
/// `value` points to an initialised `T` (I-2, I-9) that has no other user.
unsafe fn write_field<T: Component>(
    value: NonNull<u8>,
    field: usize,
    text: &str,
) -> Result<(), String> {
    // SAFETY: the caller guarantees a `T` (I-9) that is initialised (I-2) and has no other user.
    let value = unsafe { value.cast::<T>().as_mut() };
    let fields = T::FIELDS.expect("`of` makes this function only for types that have one");
    (fields.write)(value, field, text)
}

/// # Safety
/// `row` has room for a `T` and is aligned for it (I-3, I-9). If `replaces` is set, it holds an
/// initialised `T` (I-2) that has no other user; otherwise it is unowned.
unsafe fn put_default<T: Component>(row: NonNull<u8>, replaces: bool) {
    let make = T::DEFAULT.expect("`of` makes this function only for types that have one");
    let (row, value) = (row.cast::<T>(), make());
    if replaces {
        // SAFETY: the caller guarantees a `T` that is initialised (I-2) and has no other user.
        drop(unsafe { row.replace(value) });
    } else {
        // SAFETY: the caller guarantees room for a `T` (I-3, I-9) that is unowned (I-2).
        unsafe { row.write(value) };
    }
}

/// # Safety
/// `value` points to `size` initialised bytes (I-2, I-16) that no thread writes.
unsafe fn hash_plain(value: NonNull<u8>, size: usize, hasher: &mut StateHasher) {
    // SAFETY: the caller guarantees this many initialised bytes (I-16) that no thread writes.
    hasher.write(unsafe { core::slice::from_raw_parts(value.as_ptr(), size) });
}

/// # Safety
/// `values` points to `count` initialised values of `T` (I-2, I-9) that no thread writes while the bytes
/// are used.
unsafe fn bytes_of<T: Component>(values: NonNull<u8>, count: usize, _size: usize) -> NonNull<[u8]> {
    // SAFETY: the caller guarantees this many values of `T` (I-9) that are initialised (I-2) and that no
    // thread writes.
    let values = unsafe { core::slice::from_raw_parts(values.cast::<T>().as_ptr(), count) };
    match T::BYTES {
        // A zero-sized value has no bytes, and bytemuck refuses to cast it.
        Some(bytes) if size_of::<T>() > 0 => NonNull::from(bytes(values)),
        _ => NonNull::from(&[]),
    }
}

/// # Safety
/// `values` points to `count` values of `size` initialised bytes each (I-2, I-16).
unsafe fn plain_bytes(values: NonNull<u8>, count: usize, size: usize) -> NonNull<[u8]> {
    NonNull::slice_from_raw_parts(values, count * size)
}

/// # Safety
/// `source` points to `size` bytes (I-16) that no thread writes, and `target` to room for as many that
/// does not overlap.
unsafe fn copy_plain(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    // SAFETY: the caller guarantees `size` bytes (I-16) that no thread writes, and room that does not
    // overlap them.
    unsafe { target.copy_from_nonoverlapping(source, size) };
}

/// # Safety
/// `value` points to an initialised `T` (I-2, I-9) that has no other user.
unsafe fn map_value<T: Component>(value: NonNull<u8>, map: &mut dyn FnMut(Entity) -> Entity) {
    // SAFETY: the caller guarantees a `T` (I-9) that is initialised (I-2) and has no other user.
    let value = unsafe { value.cast::<T>().as_mut() };
    if let Some(map_entities) = T::MAP_ENTITIES {
        map_entities(value, map);
    }
}

/// # Safety
/// From `first` on there are `count` initialised values of `T` (I-2, I-9) that no thread writes.
unsafe fn save_values<T: Component>(
    first: NonNull<u8>,
    count: usize,
    _size: usize,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    // SAFETY: the caller guarantees this many values of `T` (I-9) that are initialised (I-2) and that no
    // thread writes.
    let values = unsafe { core::slice::from_raw_parts(first.cast::<T>().as_ptr(), count) };
    T::CODEC.write_all(values, out)
}

/// # Safety
/// From `first` on there is room for `count` values of `T` (I-3, I-9), which is unowned (I-2).
unsafe fn load_checked<T: Component>(
    source: &mut &[u8],
    first: NonNull<u8>,
    count: usize,
    _size: usize,
) -> Result<(), CodecError> {
    let bytes = T::CODEC.take_plain(source, count)?.ok_or(CodecError)?;
    // SAFETY: the caller guarantees room for `count` values, which take exactly these bytes; they were
    // just checked to be values of this type (I-20).
    unsafe { first.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    Ok(())
}

/// # Safety
/// From `first` on there is room for `count` values of `T` (I-3, I-9), which is unowned (I-2).
unsafe fn load_values<T: Component>(
    source: &mut &[u8],
    first: NonNull<u8>,
    count: usize,
    _size: usize,
) -> Result<(), CodecError> {
    let mut loaded = Loaded { first: first.cast::<T>(), count: 0 };
    while loaded.count < count {
        let value = T::CODEC.read(source)?;
        // SAFETY: fewer than `count` rows from `first` on; the caller guarantees room for `count` values
        // of `T` (I-3, I-9).
        let target = unsafe { loaded.first.add(loaded.count) };
        // SAFETY: inside the same room; the caller guarantees that it is unowned (I-2).
        unsafe { target.write(value) };
        loaded.count += 1;
    }
    // They belong to the caller now.
    core::mem::forget(loaded);
    Ok(())
}

/// Values that were loaded, which are dropped if a later one fails to load.
struct Loaded<T> {
    first: NonNull<T>,
    count: usize,
}

impl<T> Drop for Loaded<T> {
    fn drop(&mut self) {
        let values = NonNull::slice_from_raw_parts(self.first, self.count);
        // SAFETY: created only by `load_values`, which wrote this many values of `T` into unowned room
        // (I-2), and does not give them to its caller without forgetting this.
        unsafe { values.drop_in_place() };
    }
}

/// # Safety
/// From `first` on there are `count` values of `size` initialised bytes each (I-16, I-20) that no thread
/// writes.
unsafe fn save_plain(
    first: NonNull<u8>,
    count: usize,
    size: usize,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    // SAFETY: the caller guarantees this many initialised bytes (I-16, I-20) that no thread writes.
    out.extend_from_slice(unsafe { core::slice::from_raw_parts(first.as_ptr(), count * size) });
    Ok(())
}

/// # Safety
/// From `first` on there is room for `count` values of `size` bytes (I-3, I-16), which is unowned.
unsafe fn load_plain(
    source: &mut &[u8],
    first: NonNull<u8>,
    count: usize,
    size: usize,
) -> Result<(), CodecError> {
    let (bytes, rest) = source.split_at_checked(count * size).ok_or(CodecError)?;
    *source = rest;
    // SAFETY: the caller guarantees room for this many bytes; any bytes are values (I-16).
    unsafe { first.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    Ok(())
}
