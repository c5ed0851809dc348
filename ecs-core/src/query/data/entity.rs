//! Data that every row has: the handle of its entity, the row itself as the one that claims entities,
//! and nothing at all.

use core::marker::PhantomData;

use super::{
    Access, AddressToken, Archetype, ChangeWindow, ChunkAddress, ChunkRef, ColumnParts, IdSource,
    PartsItem, QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows, Term, Values,
};
use crate::entity::Entity;

/// A row as the one that claims entities, see [`ExclusiveView`](crate::ExclusiveView).
///
/// A query that asks for it hands it out with the row. It cannot be made, copied, kept for longer than
/// the query, or used by another thread: who has it is the row. One query with claimants lives at a
/// time in a system (in a [version slot](crate::WorldCell::version_slot) of a cell), and stays on its thread; the rows
/// of its parallel loops are on all of them.
pub struct Claimant<'w> {
    entity: Entity,
    /// Of the query, and of this thread alone.
    marker: PhantomData<(&'w (), *mut ())>,
}

debug_fields!([] Claimant<'_>: entity);

impl Claimant<'_> {
    /// The entity of the row.
    #[inline]
    #[must_use]
    pub fn entity(&self) -> Entity {
        self.entity
    }
}

/// The entity of each row, of which `$make` makes what is handed out.
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
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
                ($make)(*fetch.read(right))
            }
        }
    };
}

entity_data!(Entity, Entity, |_: &mut Access| {}, |entity| entity);
// Not `ReadOnly`: two queries that are asked at the same time would hand out the same row twice.
entity_data!(Claimant<'_>, Claimant<'w>, Access::add_claimants, |entity| Claimant {
    entity,
    marker: PhantomData
});

/// Nothing of any row.
impl QueryData for () {
    type Item<'w> = ();
    type ReadOnly = ();
    type Parts = Entity;

    #[inline]
    fn from_parts<'w>(_row: PartsItem<'w, Self>) -> Self::Item<'w> {}
}

impl ColumnParts for Entity {}
impl ReadOnlyParts for Entity {}
