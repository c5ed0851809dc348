//! Terms: conditions on archetypes and rows. Filters consist of terms. The data of a query is a term as
//! well, which says which entities have it.

use core::marker::PhantomData;

use super::access::Access;
use super::column::ChunkRef;
use crate::archetype::Archetype;
use crate::component::{ComponentId, IdSource};
use crate::mask::Rows;
use crate::storage::ChunkVersions;

/// A condition on archetypes and rows. No other crate can name this trait: a crate could implement it for
/// `&T` and `&mut T` of its own types, which count as local to it. `state` calls user code, if a type that is
/// new to the world says its name; the other functions call none.
///
/// Unsafe code relies on this trait. `State` belongs to this term alone, or to terms that ask for the
/// same. `state` only looks up ids or registers types, and adds to the access. `slots` gives the
/// positions of the components in this very archetype. `rows` only narrows.
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait Term {
    /// The component ids in one world. The type also identifies the term in the plan cache.
    type State: Copy + Send + Sync + 'static;
    /// The positions of the components in one archetype.
    type Slots: Copy + Send + Sync + 'static;

    /// Whether enabled bits or versions decide which rows match, or which of them have an optional part:
    /// then the time at which a chunk is opened matters. If this is false, `rows` lets all rows pass.
    const NARROWS: bool;

    fn state(ids: &mut IdSource<'_>, access: &mut Access) -> Self::State;

    /// Returns `None` if no row of the archetype can match.
    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots>;

    /// Narrows the rows of a chunk to those that match. Stamps after the `since` of the chunk's window
    /// are new.
    fn rows(slots: &Self::Slots, chunk: &ChunkRef<'_>, rows: &mut Rows);
}

/// Makes `$of` a term about a component of type `T`. The arguments say how it uses the component, whether
/// the enabled bits matter, whether anything narrows the rows, and what does. The macro uses names that
/// must be in scope.
macro_rules! term {
    // Data of the rows that have the component.
    ($of:ty as $state:ty, $use:ident, narrows: $narrows:expr $(, $may:expr, $why_not:literal)?) => {
        term!(
            $of as $state, [$use], bits: $narrows, narrows: $narrows, TermSlot, |slot| slot,
            |slot: &TermSlot, chunk, rows| slot.bits.keep_enabled(chunk, rows)
            $(, $may, $why_not)?
        );
    };
    (
        $of:ty as $state:ty, [$($use:ident),*], bits: $bits:expr, narrows: $narrows:expr, $slots:ty,
        $find:expr, $rows:expr $(, $may:expr, $why_not:literal)?
    ) => {
        impl<T: Component> Term for $of {
            type State = TermState<$state>;
            type Slots = $slots;

            const NARROWS: bool = $narrows;

            fn state(ids: &mut IdSource<'_>, access: &mut Access) -> Self::State {
                $(const { assert!($may, $why_not) };)?
                let id = ids.id::<T>();
                $(access.add(Use::$use, id);)*
                if const { T::ENABLEABLE && $bits } {
                    access.add_narrowing(id);
                }
                (id, PhantomData)
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<$slots> {
                ($find)(TermSlot::find(state.0, archetype))
            }

            #[inline]
            fn rows(slots: &$slots, chunk: &ChunkRef<'_>, rows: &mut Rows) {
                if Self::NARROWS {
                    ($rows)(slots, chunk, rows);
                }
            }
        }
    };
}

pub(super) use term;

macro_rules! tuple_term {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: Term),*> Term for ($($name,)*) {
            type State = ($($name::State,)*);
            type Slots = ($($name::Slots,)*);

            const NARROWS: bool = false $(|| $name::NARROWS)*;

            fn state(ids: &mut IdSource<'_>, access: &mut Access) -> Self::State {
                ($($name::state(ids, access),)*)
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
                let ($($var,)*) = state;
                Some(($($name::slots($var, archetype)?,)*))
            }

            #[inline]
            fn rows(slots: &Self::Slots, chunk: &ChunkRef<'_>, rows: &mut Rows) {
                let ($($var,)*) = slots;
                $($name::rows($var, chunk, rows);)*
            }
        }
    };
}

for_each_tuple!(tuple_term);

/// The id of a component. The marker keeps the plans of different types and different uses apart.
#[doc(hidden)]
pub type TermState<Use> = (ComponentId, PhantomData<fn() -> Use>);

/// The state of a wrapped term. The marker keeps the plans of different wrappers apart.
#[doc(hidden)]
pub type WrapState<Wrapper, S> = (S, PhantomData<fn() -> Wrapper>);

/// The positions of a component in an archetype: its column, and its enabled bits and row versions if it
/// has any.
// Small, because a plan has one for each term and archetype: a query of many archetypes costs as much as
// it brings into the cache.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermSlot {
    column: u32,
    pub(crate) bits: MarkSlot,
    track: MarkSlot,
}

/// The position of a component among the enabled bits of an archetype, or among its row versions, if it
/// has one.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkSlot(u32);

impl MarkSlot {
    pub(crate) const NONE: Self = Self(u32::MAX);

    fn new(place: Option<usize>) -> Self {
        let slot = |at| Self(u32::try_from(at).expect("fewer than 2^32 components"));
        place.map_or(Self::NONE, slot)
    }

    #[inline]
    pub(crate) fn get(self) -> Option<usize> {
        (self.0 != u32::MAX).then_some(self.0 as usize)
    }

    /// Narrows to the rows whose bits are set.
    #[inline]
    pub(crate) fn keep_enabled(self, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        if let Some(slot) = self.get() {
            rows.keep(chunk.words(slot), chunk.len());
        }
    }

    /// Narrows to the rows whose bits are not set.
    #[inline]
    pub(crate) fn keep_disabled(self, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        if let Some(slot) = self.get() {
            rows.drop_set(chunk.words(slot), chunk.len());
        }
    }
}

impl TermSlot {
    pub(crate) fn find(id: ComponentId, archetype: &Archetype) -> Option<Self> {
        let column = archetype.column_of(id)?;
        let found = &archetype.columns[column];
        let bits = MarkSlot::new(found.enable_slot);
        let column = u32::try_from(column).expect("fewer than 2^32 components");
        Some(Self { column, bits, track: MarkSlot::new(found.track_slot) })
    }

    #[inline]
    pub(crate) fn column(&self) -> usize {
        self.column as usize
    }

    /// Keeps the rows in which the component was changed, or added, after the `since` of the chunk's
    /// window.
    #[inline]
    pub(crate) fn keep_later(&self, added: bool, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        let since = chunk.window.since;
        let stamps = chunk.record(self.column()).stamps();
        // The stamp of the chunk is at least as new as that of each row.
        if (if added { stamps.added() } else { stamps.changed() }) <= since {
            *rows = Rows::None;
        } else if let Some(versions) = self.row_versions(chunk) {
            let of_rows = if added { &versions.added } else { &versions.changed };
            of_rows.keep_after(since, chunk.len(), rows);
        }
    }

    /// Returns the versions of the rows of a chunk, if the component is tracked.
    #[inline]
    pub(crate) fn row_versions<'w>(&self, chunk: &ChunkRef<'w>) -> Option<&'w ChunkVersions> {
        Some(&chunk.chunks.marks(chunk.chunk).versions[self.track.get()?])
    }
}
