//! The elements of a buffer, by value.

use core::fmt;
use core::iter::FusedIterator;

use super::{Buffer, BufferElement};

impl<T: BufferElement> IntoIterator for Buffer<T> {
    type Item = T;
    type IntoIter = BufferIntoIter<T>;

    fn into_iter(self) -> BufferIntoIter<T> {
        BufferIntoIter(self.0.into_iter())
    }
}

/// The elements of a [`Buffer`], by value.
///
/// ```
/// # use formic_ecs::prelude::*;
/// # use formic_ecs::Buffer;
/// # #[derive(Component)] #[component(buffer = 2)] struct Step(u32);
/// let path = Buffer::from_iter([Step(1), Step(2), Step(3)]);
/// assert_eq!(path.into_iter().map(|Step(number)| number).sum::<u32>(), 6);
/// ```
pub struct BufferIntoIter<T: BufferElement>(smallvec::IntoIter<T::Inline>);

impl<T: BufferElement> Iterator for BufferIntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T: BufferElement> DoubleEndedIterator for BufferIntoIter<T> {
    fn next_back(&mut self) -> Option<T> {
        self.0.next_back()
    }
}

impl<T: BufferElement> ExactSizeIterator for BufferIntoIter<T> {}
impl<T: BufferElement> FusedIterator for BufferIntoIter<T> {}

impl<T: BufferElement + fmt::Debug> fmt::Debug for BufferIntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BufferIntoIter").field(&self.0.as_slice()).finish()
    }
}
