//! Resources: values of which a world has at most one of each type.
#![expect(unsafe_code, reason = "hands out references to values behind run-time checked borrows")]

use alloc::boxed::Box;
use core::any::{Any, TypeId, type_name};
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::World;
use crate::error::AccessConflict;
use crate::hash::TypeMap;
use crate::query::{leave_read, leave_write, take_read, take_write, unused_word};
use crate::sync::{AtomicU64, Ordering, ProtocolU64};

/// The resources of one world.
#[derive(Debug, Default)]
pub(crate) struct Resources(TypeMap<Slot>);

/// One resource. Without the access that `word` grants, `value` is used only through `&mut`, or read
/// through `&World` while no cell exists (I-13).
struct Slot {
    name: &'static str,
    word: ProtocolU64,
    /// The version of the last change.
    changed: AtomicU64,
    value: UnsafeCell<Box<dyn Any + Send + Sync>>,
}

debug_fields!([] Slot:);

// SAFETY: the value is `Send + Sync`, and access to it through a shared slot follows the word, as in a
// read-write lock (I-13).
unsafe impl Sync for Slot {}

/// An error: the world has no resource of this type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MissingResource(pub &'static str);

error_text! { MissingResource:
    Self(name) => "the world has no resource {name}: `insert_resource` puts one in";
}

/// The reason why a [`WorldCell`](crate::WorldCell) did not give access to a resource.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceError {
    /// There is no resource of this type.
    Missing(MissingResource),
    /// Another user holds the resource.
    Conflict(AccessConflict),
}

error_text! { ResourceError:
    Self::Missing(error) => "{error}";
    Self::Conflict(error) => "{error}";
}

/// Resources: values of which the world has at most one of each type.
impl World {
    /// Inserts a resource into the world, and returns the previous one of this type.
    #[doc(alias = "init_resource")]
    pub fn insert_resource<T: Send + Sync + 'static>(&mut self, value: T) -> Option<T> {
        let version = self.next_version();
        self.place_resource(value, version)
    }

    /// Restores a resource as it was when the world had this [`version`](Self::version), for loading a
    /// saved game: it does not count as changed. Returns the previous one of this type.
    ///
    /// A version beyond the world's is treated as the world's.
    pub fn restore_resource<T: Send + Sync + 'static>(
        &mut self,
        value: T,
        version: u64,
    ) -> Option<T> {
        let version = version.min(self.last_version());
        self.place_resource(value, version)
    }

    fn place_resource<T: Send + Sync + 'static>(&mut self, value: T, version: u64) -> Option<T> {
        let slot = Slot {
            name: type_name::<T>(),
            word: unused_word(true),
            changed: AtomicU64::new(version),
            value: UnsafeCell::new(Box::new(value)),
        };
        unboxed(self.resources.0.insert(TypeId::of::<T>(), slot)?)
    }

    /// Iterates over all resources, in no particular order: the type, its name, and the version of the
    /// last change.
    pub fn resource_types(&self) -> impl Iterator<Item = (TypeId, &'static str, u64)> + '_ {
        // Relaxed: as in `Resources::version`.
        let version = |slot: &Slot| slot.changed.load(Ordering::Relaxed);
        self.resources.0.iter().map(move |(&id, slot)| (id, slot.name, version(slot)))
    }

    /// Removes a resource from the world and returns it.
    pub fn remove_resource<T: Send + Sync + 'static>(&mut self) -> Option<T> {
        unboxed(self.resources.0.remove(&TypeId::of::<T>())?)
    }

    /// Returns a resource.
    ///
    /// # Errors
    /// Returns an error if there is none of this type.
    #[doc(alias("get_resource", "contains_resource"))]
    pub fn resource<T: Send + Sync + 'static>(&self) -> Result<&T, MissingResource> {
        let slot =
            self.resources.0.get(&TypeId::of::<T>()).ok_or(MissingResource(type_name::<T>()))?;
        // SAFETY: the world is borrowed shared and not through a cell, which would have borrowed it
        // exclusively, so no thread writes (I-13).
        let value = unsafe { &*slot.value.get() };
        value.downcast_ref().ok_or(MissingResource(type_name::<T>()))
    }

    /// Returns a resource for writing.
    ///
    /// # Errors
    /// Returns an error if there is none of this type.
    pub fn resource_mut<T: Send + Sync + 'static>(&mut self) -> Result<&mut T, MissingResource> {
        let version = self.next_version();
        let slot = self.resources.0.get_mut(&TypeId::of::<T>());
        let value = slot.and_then(|slot| {
            *slot.changed.get_mut() = version;
            slot.value.get_mut().downcast_mut()
        });
        value.ok_or(MissingResource(type_name::<T>()))
    }

    /// Returns the version at which a resource last changed: it was inserted, borrowed by
    /// [`resource_mut`](Self::resource_mut), or written through a [`ResMut`]. Returns `None` if there is
    /// none.
    #[must_use]
    pub fn resource_version<T: Send + Sync + 'static>(&self) -> Option<u64> {
        self.resources.version::<T>()
    }
}

fn unboxed<T: 'static>(slot: Slot) -> Option<T> {
    slot.value.into_inner().downcast().ok().map(|value| *value)
}

impl Resources {
    /// Clears all borrows: no user is left, except perhaps a leaked guard. The next users write only the
    /// resources in `written`, or any if it is `None`.
    pub(crate) fn reset(&mut self, written: Option<impl Iterator<Item = TypeId>>) {
        let is_written = written.is_none();
        self.0.values_mut().for_each(|slot| slot.word = unused_word(is_written));
        for id in written.into_iter().flatten() {
            if let Some(slot) = self.0.get_mut(&id) {
                slot.word = unused_word(true);
            }
        }
    }

    /// Caps the versions of all resources: the world has gone back to this version, so nothing was
    /// changed later.
    pub(crate) fn bound_versions(&mut self, version: u64) {
        for slot in self.0.values_mut() {
            let changed = slot.changed.get_mut();
            *changed = version.min(*changed);
        }
    }

    fn slot<T: 'static>(&self) -> Result<&Slot, ResourceError> {
        let missing = ResourceError::Missing(MissingResource(type_name::<T>()));
        self.0.get(&TypeId::of::<T>()).ok_or(missing)
    }

    /// Returns the version of the last change of a resource.
    pub(crate) fn version<T: 'static>(&self) -> Option<u64> {
        // Relaxed: a number, which publishes nothing. A reader is ordered with the writers by other
        // means.
        Some(self.0.get(&TypeId::of::<T>())?.changed.load(Ordering::Relaxed))
    }

    /// Borrows a resource for reading, together with other readers.
    ///
    /// # Safety
    /// As long as `self` is borrowed, the resources are accessed only through cells (I-13).
    pub(crate) unsafe fn read<T: Send + Sync + 'static>(
        &self,
    ) -> Result<Res<'_, T>, ResourceError> {
        let slot = self.slot::<T>()?;
        if !take_read(&slot.word) {
            return Err(conflict::<T>(false));
        }
        let guard = ReadGuard(&slot.word);
        // SAFETY: the word, just taken, keeps writers out until the guard is dropped (I-13); the caller
        // ensures that all other users take the word, too.
        let value = unsafe { &*slot.value.get() };
        let value: &T = downcast::<T, _>(value.downcast_ref())?;
        Ok(Res { value: NonNull::from(value), _borrow: PhantomData, _guard: guard })
    }

    /// Borrows a resource exclusively for writing. Writes through the result stamp it with this version.
    ///
    /// # Safety
    /// As long as `self` is borrowed, the resources are accessed only through cells (I-13).
    pub(crate) unsafe fn write<T: Send + Sync + 'static>(
        &self,
        version: u64,
    ) -> Result<ResMut<'_, T>, ResourceError> {
        let slot = self.slot::<T>()?;
        if !take_write(&slot.word) {
            return Err(conflict::<T>(true));
        }
        let guard = WriteGuard(&slot.word);
        // SAFETY: the word, just taken, keeps all others out until the guard is dropped (I-13); the
        // caller ensures that all other users take the word, too.
        let value = unsafe { &mut *slot.value.get() };
        let value: &mut T = downcast::<T, _>(value.downcast_mut())?;
        let (value, changed) = (NonNull::from(value), &slot.changed);
        Ok(ResMut { value, changed, version, _borrow: PhantomData, _guard: guard })
    }
}

fn downcast<T, R>(value: Option<R>) -> Result<R, ResourceError> {
    value.ok_or(ResourceError::Missing(MissingResource(type_name::<T>())))
}

fn conflict<T>(wanted_write: bool) -> ResourceError {
    ResourceError::Conflict(AccessConflict { name: type_name::<T>().into(), wanted_write })
}

struct ReadGuard<'w>(&'w ProtocolU64);

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        leave_read(self.0);
    }
}

struct WriteGuard<'w>(&'w ProtocolU64);

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        leave_write(self.0);
    }
}

/// A guard that reads a resource through a [`WorldCell`](crate::WorldCell).
pub struct Res<'w, T> {
    // Not a reference: a reference in an argument counts as used until the function returns, but the
    // guard beside it can be dropped, and the resource taken by another user, before that.
    value: NonNull<T>,
    _borrow: PhantomData<&'w T>,
    _guard: ReadGuard<'w>,
}

/// A guard that writes a resource through a [`WorldCell`](crate::WorldCell).
pub struct ResMut<'w, T> {
    // Not a reference, as in `Res`.
    value: NonNull<T>,
    changed: &'w AtomicU64,
    version: u64,
    _borrow: PhantomData<&'w mut T>,
    _guard: WriteGuard<'w>,
}

// SAFETY: it gives out `&T` and nothing else, as `&T` does. The borrow moves with it, and its word is an
// atomic (I-13).
unsafe impl<T: Sync> Send for Res<'_, T> {}
// SAFETY: it gives out `&T` and nothing else, as `&T` does, under the borrow of its word (I-13).
unsafe impl<T: Sync> Sync for Res<'_, T> {}
// SAFETY: it gives out `&mut T` to its holder, as `&mut T` does. The borrow moves with it, and its word
// is an atomic (I-13).
unsafe impl<T: Send> Send for ResMut<'_, T> {}
// SAFETY: when shared it gives out `&T`, under the borrow of its word (I-13).
unsafe impl<T: Sync> Sync for ResMut<'_, T> {}

impl<T> Deref for Res<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: created from a reference in `read`; the guard keeps writers out (I-13).
        unsafe { self.value.as_ref() }
    }
}

impl<T> Deref for ResMut<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: created from a reference in `write`; the guard keeps all others out (I-13).
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for ResMut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // Relaxed: as in `Resources::version`.
        self.changed.store(self.version, Ordering::Relaxed);
        // SAFETY: created from a reference in `write`; the guard keeps all others out (I-13).
        unsafe { self.value.as_mut() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Res<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for ResMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
