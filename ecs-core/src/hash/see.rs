//! The traits by which the derives hash a field, whatever its type implements.
//!
//! `(&&&See(field)).see(hasher)` asks the traits below in turn, the one with most references first:
//! the compiler prefers a method that needs fewer of them removed. Only the last takes any type,
//! and demands [`HashState`] of it, so that what is missing is said in those words.

use alloc::vec::Vec;

use bytemuck::NoUninit;

use super::{HashState, StateHasher};

#[doc(hidden)]
#[derive(Debug)]
pub struct See<'a, T: ?Sized>(pub &'a T);

/// Plain data, by its bytes.
#[doc(hidden)]
pub trait SeeBytes {
    fn see(&self, hasher: &mut StateHasher);
}

impl<T: NoUninit> SeeBytes for &&See<'_, T> {
    fn see(&self, hasher: &mut StateHasher) {
        // bytemuck refuses to see a value without a size as bytes.
        if size_of::<T>() > 0 {
            hasher.write(bytemuck::bytes_of(self.0));
        }
    }
}

/// A list of plain data, whose elements need not be [`HashState`].
#[doc(hidden)]
pub trait SeeElements {
    fn see(&self, hasher: &mut StateHasher);
}

impl<T: NoUninit> SeeElements for &See<'_, Vec<T>> {
    fn see(&self, hasher: &mut StateHasher) {
        see_elements(self.0, hasher);
    }
}

impl<T: NoUninit> SeeElements for &See<'_, Option<T>> {
    fn see(&self, hasher: &mut StateHasher) {
        see_elements(self.0.as_slice(), hasher);
    }
}

fn see_elements<T: NoUninit>(values: &[T], hasher: &mut StateHasher) {
    hasher.write_u64(values.len() as u64);
    if size_of::<T>() > 0 {
        hasher.write(bytemuck::cast_slice(values));
    }
}

/// What says for itself how it is seen.
#[doc(hidden)]
pub trait SeeState<T: ?Sized> {
    fn see(&self, hasher: &mut StateHasher)
    where
        T: HashState;
}

impl<T: ?Sized> SeeState<T> for See<'_, T> {
    fn see(&self, hasher: &mut StateHasher)
    where
        T: HashState,
    {
        self.0.hash_state(hasher);
    }
}

/// How to see a packed type as bytes, whose fields there are no references to.
#[doc(hidden)]
#[must_use]
pub const fn bytes_of_packed<T: NoUninit>() -> fn(&[T]) -> &[u8] {
    bytemuck::cast_slice::<T, u8>
}
