//! Data that every row has: the handle of its entity, the claimant of the row, and nothing at all.

use core::marker::PhantomData;

use super::{
    Access, AddressToken, Archetype, ChangeWindow, ChunkAddress, ChunkRef, ColumnParts, IdSource,
    PartsItem, QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows, Term, Values,
};
use crate::entity::Entity;

/// A row in its role as the holder of claims: see [`ExclusiveView`](crate::ExclusiveView).
///
/// A query that asks for a `Claimant` hands it out with the row. It cannot be created, copied, kept for
/// longer than the query, or used by another thread, so it proves that its holder is the row. In a system
/// (a [version slot](crate::WorldCell::version_slot) of a cell) only one query with claimants exists at a
/// time. That query stays on its thread, but its parallel loops hand out rows on all threads.
pub struct Claimant<'w> {
    entity: Entity,
    /// Bound to the query and to this thread.
    marker: PhantomData<(&'w (), *mut ())>,
}

debug_fields!([] Claimant<'_>: entity);

impl Claimant<'_> {
    /// Returns the entity of the row.
    #[inline]
    #[must_use]
    pub fn entity(&self) -> Entity {
        self.entity
    }
}

/// Implements query data that gives the entity of each row, converted by `$make`.
macro_rules! entity_data {
    ($name:ty, $item:ty, $access:expr, $make:expr) => {
        impl QueryData for $name {
            type Item<'w> = $item;

            super::own_parts!(Entity);
        }

        impl Term for $name {
            type State = ();
            type Slots = ();

            const NARROWS: bool = false;

            fn state(_ids: &mut IdSource<'_>, access: &mut Access) {
                ($access)(access);
            }

            fn slots((): &(), _archetype: &Archetype) -> Option<()> {
                Some(())
            }

            #[inline]
            fn rows((): &(), _chunk: &ChunkRef<'_>, _rows: &mut Rows) {}
        }

        impl QueryParts for $name {
            super::read_column!(Entity);

            #[inline]
            fn address((): &(), chunk: &ChunkRef<'_>) -> Self::Address {
                ChunkAddress::of_column(chunk.chunks.entity_column(chunk.chunk))
            }

            #[inline]
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a> {
                ($make)(*fetch.read(token))
            }
        }
    };
}

entity_data!(Entity, Entity, |_: &mut Access| {}, |entity| entity);
// Not `ReadOnly`: two such queries at the same time would hand out the same row twice.
entity_data!(Claimant<'_>, Claimant<'w>, Access::add_claimants, |entity| Claimant {
    entity,
    marker: PhantomData
});

/// Gives nothing for each row.
impl QueryData for () {
    type Item<'w> = ();
    type ReadOnly = ();
    type Parts = Entity;

    #[inline]
    fn from_parts<'w>(_row: PartsItem<'w, Self>) -> Self::Item<'w> {}
}

impl ColumnParts for Entity {}
impl ReadOnlyParts for Entity {}
