//! The values that lie outside the rows: one for all rows of an archetype, or of a chunk.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

use crate::component::{ChunkDefault, OwnedAny, SharedValue};

/// The values of an archetype's chunks that are not in rows.
#[derive(Debug, Default)]
pub(crate) struct OuterValues {
    /// One of each type at most (I-17).
    shared: Box<[SharedValue]>,
    columns: Box<[ValueColumn]>,
}

/// The values of one chunk component.
#[derive(Debug)]
struct ValueColumn {
    /// What a chunk has to which nothing was set.
    unset: ChunkDefault,
    /// One per chunk; those of chunks without rows are not there.
    values: Vec<Option<OwnedAny>>,
}

/// The values of chunks that have emptied, for whoever emptied them to drop when all books are in
/// order.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct EmptiedValues(
    // `None` where there are none, so that to see that takes one look.
    Option<Box<[OwnedAny]>>,
);

impl EmptiedValues {
    /// Drops them. Where there are none, as a rule, that is seen without a call.
    #[inline]
    pub(crate) fn drop_now(self) {
        if let Some(values) = self.0 {
            drop(values);
        }
    }

    fn of(values: impl Iterator<Item = OwnedAny>) -> Self {
        let values: Box<[OwnedAny]> = values.collect();
        Self((!values.is_empty()).then_some(values))
    }
}

impl OuterValues {
    pub(crate) fn new(shared: Vec<SharedValue>, chunk_types: Vec<ChunkDefault>) -> Self {
        let column = |unset| ValueColumn { unset, values: Vec::new() };
        Self { shared: shared.into(), columns: chunk_types.into_iter().map(column).collect() }
    }

    /// Where the shared value of this type is.
    pub(crate) fn shared_slot(&self, of: TypeId) -> Option<usize> {
        self.shared.iter().position(|value| value.of == of)
    }

    /// A shared value.
    pub(crate) fn shared<T: 'static>(&self, slot: usize) -> Option<&T> {
        self.shared.get(slot)?.value.downcast_ref()
    }

    /// Whether there are values per chunk.
    pub(crate) fn has_chunk_values(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Where the chunk values of this type are.
    pub(crate) fn chunk_slot(&self, of: TypeId) -> Option<usize> {
        self.columns.iter().position(|column| column.unset.of == of)
    }

    /// The value of a chunk.
    pub(crate) fn chunk_value<T: 'static>(&self, slot: usize, chunk: usize) -> Option<&T> {
        let column = self.columns.get(slot)?;
        let set = column.values.get(chunk).and_then(Option::as_deref);
        set.unwrap_or(&*column.unset.value as &(dyn Any + Send + Sync)).downcast_ref()
    }

    /// The value of a chunk, if one was set.
    pub(crate) fn set_value(&self, slot: usize, chunk: usize) -> Option<&(dyn Any + Send + Sync)> {
        self.columns.get(slot)?.values.get(chunk)?.as_deref()
    }

    /// The values of all chunks, to be set.
    pub(crate) fn chunk_values_mut(&mut self, slot: usize) -> &mut Vec<Option<OwnedAny>> {
        &mut self.columns[slot].values
    }

    /// Makes sure that the next [`push_chunk`](Self::push_chunk) needs no memory.
    pub(crate) fn reserve_chunk(&mut self) {
        self.columns.iter_mut().for_each(|column| column.values.reserve(1));
    }

    /// One more chunk, to which nothing was set.
    pub(crate) fn push_chunk(&mut self) {
        self.columns.iter_mut().for_each(|column| column.values.push(None));
    }

    /// One chunk less, which had no rows and so no values.
    pub(crate) fn pop_chunk(&mut self) {
        for column in &mut self.columns {
            let value = column.values.pop().flatten();
            debug_assert!(value.is_none(), "an emptied chunk has given up its value");
        }
    }

    /// Gives back memory that no chunk needs.
    pub(crate) fn shrink(&mut self) {
        self.columns.iter_mut().for_each(|column| column.values.shrink_to_fit());
    }

    /// Takes the values of a chunk that has emptied.
    pub(crate) fn empty_chunk(&mut self, chunk: usize) -> EmptiedValues {
        let columns = self.columns.iter_mut();
        EmptiedValues::of(columns.filter_map(|column| column.values.get_mut(chunk)?.take()))
    }

    /// Takes the values of all chunks.
    pub(crate) fn empty_all(&mut self) -> EmptiedValues {
        let values = self.columns.iter_mut().flat_map(|column| &mut column.values);
        EmptiedValues::of(values.filter_map(Option::take))
    }

    /// Looks for what breaks I-17, of an archetype with so many chunks, the first `used` of which
    /// have rows.
    pub(crate) fn check(&self, chunks: usize, used: usize) -> Result<(), &'static str> {
        let twice = |(place, value): (usize, &SharedValue)| {
            self.shared_slot(value.of).is_none_or(|first| first != place)
        };
        if self.shared.iter().enumerate().any(twice) {
            return Err("there are two shared values of one type");
        }
        if self.shared.iter().any(|value| (*value.value).type_id() != value.of) {
            return Err("a shared value is of another type");
        }
        for column in &self.columns {
            let values = &column.values;
            if values.len() != chunks {
                return Err("a chunk component has more or fewer values than there are chunks");
            }
            if values[used..].iter().any(Option::is_some) {
                return Err("a chunk without rows has a value");
            }
            let of_another = |value: &OwnedAny| (**value).type_id() != column.unset.of;
            if values.iter().flatten().any(of_another) {
                return Err("a chunk value is of another type");
            }
        }
        Ok(())
    }
}
