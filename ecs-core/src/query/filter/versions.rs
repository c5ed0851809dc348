//! The filters `Changed` and `Added`.

use core::marker::PhantomData;

use super::{
    Access, Archetype, Chunks, IdSource, QueryFilter, Rows, SealedFilter, TermSlot, TermState,
};
use crate::component::Component;

/// The entity has `T`, enabled, and it was changed: handed out to be written, replaced or added,
/// after the version that the query asks about (see [`Query::since`](crate::Query::since)).
///
/// Exact for each entity where `T` is declared `#[component(tracked)]`. Else it goes by chunks: one
/// change, or one row that comes or goes, and all rows of the chunk pass.
///
/// It looks at versions only, never at values: it goes together with `&mut T` in one query.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] #[component(tracked)] struct Health(u32);
/// let mut world = World::new();
/// let imps = world.spawn_batch((0..1000).map(Health));
/// let before = world.version();
/// world.get_mut::<Health>(imps[7])?.0 = 0;
/// let hurt = world.query_filtered::<Entity, Changed<Health>>().since(before);
/// assert!(hurt.into_iter().eq([imps[7]]));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
#[derive(Debug)]
pub struct Changed<T>(PhantomData<fn() -> T>);

/// The entity has `T`, enabled, and got it after the version that the query asks about (see
/// [`Query::since`](crate::Query::since)). To replace a value adds nothing.
///
/// Exact for each entity where `T` is declared `#[component(tracked)]`, else chunk by chunk.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] #[component(tracked)] struct Poisoned;
/// # let mut world = World::new();
/// # let imps = world.spawn_batch((0..1000).map(|_| ()));
/// let before = world.version();
/// world.insert(imps[7], Poisoned)?;
/// let poisoned = world.query_filtered::<Entity, Added<Poisoned>>().since(before);
/// assert!(poisoned.into_iter().eq([imps[7]]));
/// # Ok::<(), formic_ecs::NotInserted<Poisoned>>(())
/// ```
#[derive(Debug)]
pub struct Added<T>(PhantomData<fn() -> T>);

impl<T> SealedFilter for Changed<T> {}
impl<T> SealedFilter for Added<T> {}

macro_rules! version_filter {
    ($name:ident, $stamp:ident, $is_stamped_by_writers:expr) => {
        impl<T: Component> QueryFilter for $name<T> {
            type State = TermState<$name<T>>;
            type Slots = TermSlot;

            const NARROWS: bool = true;

            fn state(ids: &mut IdSource<'_>) -> Self::State {
                TermState::new(ids.id::<T>())
            }

            fn access(state: &Self::State, access: &mut Access) {
                access.add_name(state.0);
                if $is_stamped_by_writers {
                    access.add_version_read(state.0);
                }
                if T::ENABLEABLE {
                    access.add_bit_read(state.0);
                }
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<TermSlot> {
                TermSlot::find(state.0, archetype)
            }

            #[inline]
            fn rows(slots: &TermSlot, chunks: &Chunks, chunk: usize, since: u64, rows: &mut Rows) {
                // The chunk's stamp is no older than that of any row.
                if chunks.stamps(chunk, slots.column()).$stamp() <= since {
                    *rows = Rows::None;
                    return;
                }
                if let Some(versions) = slots.row_versions(chunks, chunk) {
                    versions.$stamp.keep_after(since, chunks.len(chunk), rows);
                }
                slots.bits.keep_enabled(chunks, chunk, rows);
            }
        }
    };
}

version_filter!(Changed, changed, true);
// When components came is written by structural changes only, which no query runs beside.
version_filter!(Added, added, false);
