//! A cell whose contents are reachable only through `&mut`, which makes it `Sync`.
#![expect(unsafe_code, reason = "says that what cannot be reached shared may be shared")]

/// A value that is moved in and moved out, and cannot be reached through `&Exclusive`.
pub(super) struct Exclusive<T>(T);

// SAFETY: `&Exclusive<T>` gives no way to the `T` (the field is private to this file, and the only
// method takes the value itself), so that sharing it between threads shares nothing.
unsafe impl<T> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(value)
    }

    pub(super) fn into_inner(self) -> T {
        self.0
    }
}
