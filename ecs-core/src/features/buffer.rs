//! Dynamic buffers: a list per entity, the first elements of it in the chunk.

mod abilities;
mod element;
mod into_iter;

use core::fmt;
use core::iter::FusedIterator;
use core::ops::{Deref, DerefMut, RangeBounds};

use smallvec::SmallVec;

use crate::capacity::expected_of;
use crate::component::{
    CloneFn, Codec, CodecError, CodecKind, Component, DefaultFn, FieldFns, HashRule, MapEntities,
    MapEntitiesFn, field_text, not_editable,
};
use crate::entity::Entity;

pub use element::BufferElement;
pub use into_iter::BufferIntoIter;

/// A list as a component: its first elements lie in the chunk, and all of them on the heap once
/// they are more than fit there.
///
/// How many fit is said with the element type. Reading is reading a slice, wherever the elements
/// are. A buffer that has moved to the heap stays there, so that it does not go to and fro;
/// [`shrink_to_fit`](Self::shrink_to_fit) takes it back.
///
/// To clone it, hash it, save it, and remap entities in it is to do so with each element.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::Buffer;
///
/// #[derive(Component, Clone, Debug, PartialEq)]
/// #[component(buffer = 4)]
/// struct Step(u32, u32);
///
/// let mut world = World::new();
/// let scout = world.spawn(Buffer::from_iter([Step(0, 0), Step(0, 1)]));
/// let path = world.get_mut::<Buffer<Step>>(scout)?;
/// assert!(path.is_inline());
/// path.extend((2..9).map(|y| Step(0, y)));
/// assert!(!path.is_inline());
/// path.truncate(3);
/// path.shrink_to_fit();
/// assert!(path.is_inline());
/// assert_eq!(world.get::<Buffer<Step>>(scout)?.last(), Some(&Step(0, 2)));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
pub struct Buffer<T: BufferElement>(SmallVec<T::Inline>);

impl<T: BufferElement> Buffer<T> {
    /// A buffer without elements.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// assert!(Buffer::<Step>::new().is_empty());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self(SmallVec::new())
    }

    /// A buffer without elements and with room for `capacity` of them; on the heap at once if they
    /// do not fit the chunk.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// assert!(Buffer::<Step>::with_capacity(100).capacity() >= 100);
    /// ```
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(SmallVec::with_capacity(capacity))
    }

    /// How many elements there is room for where they are now.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// assert_eq!(Buffer::<Step>::new().capacity(), 4);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Whether the elements lie in the row itself rather than on the heap.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..4).map(Step).collect();
    /// assert!(steps.is_inline());
    /// steps.push(Step(4));
    /// assert!(!steps.is_inline());
    /// ```
    #[must_use]
    pub fn is_inline(&self) -> bool {
        !self.0.spilled()
    }

    /// Makes room for more elements.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps = Buffer::<Step>::new();
    /// steps.reserve(50);
    /// assert!(steps.capacity() >= 50);
    /// ```
    ///
    /// # Panics
    /// Panics if they would be more than memory can hold.
    pub fn reserve(&mut self, additional: usize) {
        self.0.reserve(additional);
    }

    /// Adds an element at the end.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps = Buffer::new();
    /// steps.push(Step(7));
    /// assert_eq!(steps[..], [Step(7)]);
    /// ```
    pub fn push(&mut self, element: T) {
        self.0.push(element);
    }

    /// Takes the last element.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..3).map(Step).collect();
    /// assert_eq!(steps.pop(), Some(Step(2)));
    /// ```
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Puts an element before the one at `index`, or at the end.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..2).map(Step).collect();
    /// steps.insert(1, Step(9));
    /// assert_eq!(steps[..], [Step(0), Step(9), Step(1)]);
    /// ```
    ///
    /// # Panics
    /// Panics if `index` is more than the number of elements.
    pub fn insert(&mut self, index: usize, element: T) {
        assert!(index <= self.len(), "index {index} of {} in {}", self.len(), T::name());
        self.0.insert(index, element);
    }

    /// Takes the element at `index`; those behind it move up.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..3).map(Step).collect();
    /// assert_eq!(steps.remove(0), Step(0));
    /// assert_eq!(steps[..], [Step(1), Step(2)]);
    /// ```
    ///
    /// # Panics
    /// Panics if there is no such element.
    pub fn remove(&mut self, index: usize) -> T {
        assert!(index < self.len(), "index {index} of {} in {}", self.len(), T::name());
        self.0.remove(index)
    }

    /// Takes the element at `index`; the last one moves into its place.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..3).map(Step).collect();
    /// assert_eq!(steps.swap_remove(0), Step(0));
    /// assert_eq!(steps[..], [Step(2), Step(1)]);
    /// ```
    ///
    /// # Panics
    /// Panics if there is no such element.
    pub fn swap_remove(&mut self, index: usize) -> T {
        assert!(index < self.len(), "index {index} of {} in {}", self.len(), T::name());
        self.0.swap_remove(index)
    }

    /// Drops the elements from `len` on, if there are any.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..9).map(Step).collect();
    /// steps.truncate(2);
    /// assert_eq!(steps[..], [Step(0), Step(1)]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Drops all elements. The memory is kept.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..9).map(Step).collect();
    /// steps.clear();
    /// assert!(steps.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the elements for which `keep` says so, in their order, and drops the others.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..5).map(Step).collect();
    /// steps.retain(|step| step.0 % 2 == 0);
    /// assert_eq!(steps[..], [Step(0), Step(2), Step(4)]);
    /// ```
    pub fn retain(&mut self, keep: impl FnMut(&mut T) -> bool) {
        self.0.retain(keep);
    }

    /// Takes the elements in `range`, also those that the iterator is not asked for.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..5).map(Step).collect();
    /// assert!(steps.drain(1..4).eq([Step(1), Step(2), Step(3)]));
    /// assert_eq!(steps[..], [Step(0), Step(4)]);
    /// ```
    ///
    /// # Panics
    /// Panics if the range ends behind the last element, or before it starts.
    pub fn drain(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + FusedIterator + '_ {
        self.0.drain(range)
    }

    /// Gives back the memory that is not needed: the elements come back into the row if they fit.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] #[component(buffer = 4)] struct Step(u32);
    /// let mut steps: Buffer<Step> = (0..5).map(Step).collect();
    /// steps.pop();
    /// assert!(!steps.is_inline(), "it does not go to and fro");
    /// steps.shrink_to_fit();
    /// assert!(steps.is_inline());
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }
}

impl<T: BufferElement> Default for Buffer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: BufferElement> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: BufferElement> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: BufferElement> Extend<T> for Buffer<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        let elements = elements.into_iter();
        self.0.reserve(expected_of(&elements));
        elements.for_each(|element| self.0.push(element));
    }
}

impl<T: BufferElement> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut buffer = Self::new();
        buffer.extend(elements);
        buffer
    }
}

impl<'a, T: BufferElement> IntoIterator for &'a Buffer<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: BufferElement> IntoIterator for &'a mut Buffer<T> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: BufferElement + Clone> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl<T: BufferElement + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: BufferElement + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: BufferElement + Eq> Eq for Buffer<T> {}

impl<T: BufferElement + MapEntities> MapEntities for Buffer<T> {
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        self[..].map_entities(map);
    }
}
