//! Data that every row has: the handle of its entity, the row itself as the one that claims entities,
//! and nothing at all.

use core::marker::PhantomData;

use super::{
    Access, Archetype, CacheToken, CachedPlace, ChangeWindow, ChunkRef, ColumnParts, IdSource,
    QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows,
};
use crate::entity::Entity;

/// A row as the one that claims entities, see [`ExclusiveView`](crate::ExclusiveView).
///
/// A query that asks for it hands it out with the row. It cannot be made, copied, kept for longer than
/// the query, or used by another thread: who has it is the row. One query with claimants lives at a
/// time in a system (in a [turn](crate::WorldCell::turn) of a cell), and stays on its thread; the rows
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

/// Query data that every archetype has.
macro_rules! data_of_all {
    ($name:ty, $item:ty, $read_only:ty, $access:expr, $fetch:ty, $open:expr, $make:expr) => {
        impl QueryData for $name {
            type Item<'w> = $item;

            super::own_parts!($read_only);
        }

        impl QueryParts for $name {
            type State = ();
            type Slots = ();
            type Fetch<'w> = $fetch;

            super::cached_place!();
            super::own_run!();

            const NARROWS: bool = false;

            fn state(_ids: &mut IdSource<'_>) {}

            fn access((): &(), access: &mut Access) {
                ($access)(access);
            }

            fn slots((): &(), _archetype: &Archetype) -> Option<()> {
                Some(())
            }

            #[inline]
            fn rows((): &(), _chunk: &ChunkRef<'_>, _rows: &mut Rows) {}

            #[inline]
            fn fetch<'w>((): &(), chunk: &ChunkRef<'w>) -> Self::Fetch<'w> {
                ($open)(chunk)
            }

            #[inline]
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
                ($make)(fetch, right)
            }
        }
    };
}

data_of_all!(
    Entity,
    Entity,
    Entity,
    |_: &mut Access| {},
    &'w [Entity],
    ChunkRef::entities,
    |fetch: &&[Entity], right: RowToken<'_>| fetch[right.row()]
);
// Not `ReadOnly`: two queries that are asked at the same time would hand out the same row twice.
data_of_all!(
    Claimant<'_>,
    Claimant<'w>,
    Entity,
    Access::add_claimants,
    &'w [Entity],
    ChunkRef::entities,
    |fetch: &&[Entity], right: RowToken<'_>| Claimant {
        entity: fetch[right.row()],
        marker: PhantomData
    }
);
data_of_all!((), (), (), |_: &mut Access| {}, (), |_| (), |&(), _| ());

impl ColumnParts for Entity {
    type Columns<'w> = &'w [Self];

    #[inline]
    fn columns<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> Self::Columns<'a> {
        &fetch[right.rows()]
    }
}

impl ReadOnlyParts for Entity {}
impl ReadOnlyParts for () {}
