//! Query data and filters for values that lie outside the rows: shared ones, and those of chunks.

use core::any::TypeId;
use core::marker::PhantomData;

use super::access::Access;
use super::column::{ChunkDoor, DoorRight, RowRight, RunRight};
use super::data::{ColumnData, QueryData, ReadOnly, Sealed, SealedFilter, SealedReads, TermState};
use super::filter::QueryFilter;
use crate::archetype::Archetype;
use crate::component::{ChunkComponent, ComponentId, IdSource, SharedComponent};
use crate::mask::Rows;
use crate::storage::{Chunks, Moment};

/// The shared value of type `T` of an entity, as `&T`. Entities without one do not match.
///
/// It is looked up once per chunk and is the same for all of its rows.
///
/// ```
/// use formic_ecs::prelude::*;
/// #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)]
/// struct Level(u32);
///
/// let mut world = World::new();
/// let imp = world.spawn(());
/// world.set_shared(imp, Level(7))?;
/// assert_eq!(world.query::<(Entity, Shared<Level>)>().first(), Some((imp, &Level(7))));
/// # Ok::<(), formic_ecs::NotInserted<Level>>(())
/// ```
#[derive(Debug)]
pub struct Shared<T>(PhantomData<fn() -> T>);

/// The value of type `T` of the chunk that an entity is in, as `&T`. Entities whose chunks have
/// none do not match.
///
/// While [`World::update_chunk_values`](crate::World::update_chunk_values) runs, it is the default.
///
/// ```
/// use formic_ecs::prelude::*;
/// #[derive(ChunkComponent, Default, Debug, PartialEq)]
/// struct Reach(u32);
///
/// let mut world = World::new();
/// let imp = world.spawn(());
/// world.add_chunk_component::<Reach>(imp)?;
/// world.chunk_value_mut::<Reach>(imp)?.0 = 7;
/// assert_eq!(world.query::<ChunkValue<Reach>>().first(), Some(&Reach(7)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChunkValue<T>(PhantomData<fn() -> T>);

macro_rules! outer_data {
    ($name:ident, $bound:ident, $slot:ident, $get:ident) => {
        impl<T> Sealed for $name<T> {}
        impl<T> SealedReads for $name<T> {}

        impl<T: $bound> QueryData for $name<T> {
            type Item<'w> = &'w T;
            type State = TermState<$name<T>>;
            type Slots = usize;
            type Fetch<'w> = Option<&'w T>;

            const NARROWS: bool = false;

            super::data::chunk_door!();

            type Run<'w> = Option<&'w T>;

            fn state(_ids: &mut IdSource<'_>) -> Self::State {
                // An archetype is asked by type: a shared type has many ids.
                TermState::new(ComponentId::UNKNOWN)
            }

            fn access(_state: &Self::State, _access: &mut Access) {}

            fn slots(_state: &Self::State, archetype: &Archetype) -> Option<usize> {
                archetype.chunks.outer().$slot(TypeId::of::<T>())
            }

            fn rows(_slots: &usize, _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

            #[inline]
            fn fetch<'w>(
                slot: &usize,
                chunks: &'w Chunks,
                chunk: usize,
                _moment: Moment,
            ) -> Option<&'w T> {
                $get(chunks, *slot, chunk)
            }

            fn nothing<'w>() -> Option<&'w T> {
                None
            }

            #[inline]
            fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, _right: RunRight<'a>) -> Self::Run<'a> {
                *fetch
            }

            #[inline]
            fn with_run<'a, 'w: 'a>(
                _fetch: &Self::Fetch<'w>,
                run: Self::Run<'a>,
                _right: &RunRight<'a>,
            ) -> Self::Fetch<'a> {
                run
            }

            #[inline]
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, _right: RowRight<'a>) -> Self::Item<'a> {
                fetch.expect("an archetype matches only where it has a value")
            }
        }

        impl<T: $bound> ColumnData for $name<T> {
            type Columns<'w> = &'w T;

            #[inline]
            fn columns<'a, 'w: 'a>(
                fetch: &Self::Fetch<'w>,
                _right: RunRight<'a>,
            ) -> Self::Columns<'a> {
                fetch.expect("an archetype matches only where it has a value")
            }
        }

        impl<T: $bound> ReadOnly for $name<T> {}
    };
}

fn shared_value<T: 'static>(chunks: &Chunks, slot: usize, _chunk: usize) -> Option<&T> {
    chunks.outer().shared(slot)
}

fn chunk_value<T: 'static>(chunks: &Chunks, slot: usize, chunk: usize) -> Option<&T> {
    chunks.outer().chunk_value(slot, chunk)
}

outer_data!(Shared, SharedComponent, shared_slot, shared_value);
outer_data!(ChunkValue, ChunkComponent, chunk_slot, chunk_value);

/// The entity has a shared value of type `T`, whichever.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{WithShared, WithoutShared};
/// #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)]
/// struct Level(u32);
///
/// let mut world = World::new();
/// let [imp, ghost] = [world.spawn(()), world.spawn(())];
/// world.set_shared(imp, Level(7))?;
/// assert_eq!(world.query_filtered::<Entity, WithShared<Level>>().single(), Ok(imp));
/// assert_eq!(world.query_filtered::<Entity, WithoutShared<Level>>().single(), Ok(ghost));
/// # Ok::<(), formic_ecs::NotInserted<Level>>(())
/// ```
#[derive(Debug)]
pub struct WithShared<T>(PhantomData<fn() -> T>);

/// The entity has no shared value of type `T`.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::WithoutShared;
/// #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)]
/// struct Level(u32);
///
/// let mut world = World::new();
/// let [imp, ghost] = [world.spawn(()), world.spawn(())];
/// world.set_shared(imp, Level(7))?;
/// assert_eq!(world.query_filtered::<Entity, WithoutShared<Level>>().single(), Ok(ghost));
/// # Ok::<(), formic_ecs::NotInserted<Level>>(())
/// ```
#[derive(Debug)]
pub struct WithoutShared<T>(PhantomData<fn() -> T>);

/// The entity's chunk has a value of type `T`.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::WithChunkValue;
/// #[derive(ChunkComponent, Default)]
/// struct Reach(u32);
///
/// let mut world = World::new();
/// let [imp, _ghost] = [world.spawn(()), world.spawn(())];
/// world.add_chunk_component::<Reach>(imp)?;
/// assert_eq!(world.query_filtered::<Entity, WithChunkValue<Reach>>().single(), Ok(imp));
/// # Ok::<(), formic_ecs::NoSuchEntity>(())
/// ```
#[derive(Debug)]
pub struct WithChunkValue<T>(PhantomData<fn() -> T>);

macro_rules! outer_filter {
    ($name:ident, $bound:ident, $slot:ident, $wanted:expr) => {
        impl<T> SealedFilter for $name<T> {}

        impl<T: $bound> QueryFilter for $name<T> {
            type State = TermState<$name<T>>;
            type Slots = ();

            const NARROWS: bool = false;

            fn state(_ids: &mut IdSource<'_>) -> Self::State {
                TermState::new(ComponentId::UNKNOWN)
            }

            fn access(_state: &Self::State, _access: &mut Access) {}

            fn slots(_state: &Self::State, archetype: &Archetype) -> Option<()> {
                let there = archetype.chunks.outer().$slot(TypeId::of::<T>()).is_some();
                (there == $wanted).then_some(())
            }

            fn rows((): &(), _chunks: &Chunks, _chunk: usize, _since: u64, _rows: &mut Rows) {}
        }
    };
}

outer_filter!(WithShared, SharedComponent, shared_slot, true);
outer_filter!(WithoutShared, SharedComponent, shared_slot, false);
outer_filter!(WithChunkValue, ChunkComponent, chunk_slot, true);
