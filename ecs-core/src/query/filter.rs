//! Filters: conditions of a query that are not handed out.

use core::marker::PhantomData;

use super::access::{Access, Use};
use super::column::ChunkRef;
use super::data::{MarkSlot, Present, SealedFilter, TermSlot, TermState, WrapState};
use crate::archetype::Archetype;
use crate::component::{Component, IdSource};
use crate::mask::Rows;

/// What a query asks of a row beside its data: [`With`], [`Without`], [`Present`], [`Disabled`],
/// [`Changed`], [`Added`], [`Or`] and [`Not`] of these, and tuples, all members of which have to
/// hold.
///
/// It is sealed, and what unsafe code relies on: `State` is of this filter alone; `state` only
/// looks ids up or registers types, `access` only adds reads of bits and versions, `slots` says
/// where the components are in this very archetype, and `rows` only narrows.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::QueryFilter;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// fn count<F: QueryFilter>(world: &mut World) -> usize {
///     world.query_filtered::<(), F>().count()
/// }
///
/// let mut world = World::new();
/// world.spawn((Gold(1), Lamp));
/// world.spawn(Lamp);
/// assert_eq!(count::<With<Lamp>>(&mut world), 2);
/// assert_eq!(count::<(With<Lamp>, Without<Gold>)>(&mut world), 1);
/// assert_eq!(count::<Or<(With<Gold>, Disabled<Lamp>)>>(&mut world), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query filter",
    label = "not a filter",
    note = "filters are `With<T>`, `Without<T>`, `Changed<T>`, `Added<T>`, `Present<T>`, `Disabled<T>`, `Or<(..)>`, `Not<F>`, or a tuple of such"
)]
pub trait QueryFilter: SealedFilter {
    /// The component ids in one world. Also names the filter in the plan cache.
    #[doc(hidden)]
    type State: Copy + Send + Sync + 'static;
    /// Where the components are in one archetype.
    #[doc(hidden)]
    type Slots: Copy + Send + Sync + 'static;

    #[doc(hidden)]
    fn state(ids: &mut IdSource<'_>) -> Self::State;

    #[doc(hidden)]
    fn access(state: &Self::State, access: &mut Access);

    /// `None` where no row of the archetype can pass.
    #[doc(hidden)]
    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots>;

    /// Whether bits or versions have a say. Where it is false, `rows` lets all rows pass.
    #[doc(hidden)]
    const NARROWS: bool;

    /// Narrows the rows of a chunk to those that pass; what was stamped after the chunk's `since` is
    /// new.
    #[doc(hidden)]
    fn rows(slots: &Self::Slots, chunk: &ChunkRef<'_>, rows: &mut Rows);
}

/// The entity has `T`, and it is enabled.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// let mut world = World::new();
/// let [lit, dark] = [world.spawn((Gold(1), Lamp)), world.spawn((Gold(2), Lamp))];
/// world.set_enabled::<Lamp>(dark, false)?;
/// assert_eq!(world.query_filtered::<&Gold, With<Lamp>>().single(), Ok(&Gold(1)));
/// # assert!(world.contains(lit));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
#[derive(Debug)]
pub struct With<T>(PhantomData<fn() -> T>);

/// The entity does not have `T`, or has it disabled.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// let mut world = World::new();
/// let [lit, dark] = [world.spawn((Gold(1), Lamp)), world.spawn((Gold(2), Lamp))];
/// let bare = world.spawn(Gold(3));
/// world.set_enabled::<Lamp>(dark, false)?;
/// let found = world.query_filtered::<Entity, Without<Lamp>>();
/// assert_eq!(found.into_iter().filter(|&entity| entity != lit).count(), 2);
/// # assert!(world.contains(bare));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
#[derive(Debug)]
pub struct Without<T>(PhantomData<fn() -> T>);

/// The entity has `T`, and it is disabled.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// let mut world = World::new();
/// let [_lit, dark, _bare] = [world.spawn(Lamp), world.spawn(Lamp), world.spawn(())];
/// world.set_enabled::<Lamp>(dark, false)?;
/// assert_eq!(world.query_filtered::<Entity, Disabled<Lamp>>().single(), Ok(dark));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
#[derive(Debug)]
pub struct Disabled<T>(PhantomData<fn() -> T>);

impl<T> SealedFilter for With<T> {}
impl<T> SealedFilter for Without<T> {}
impl<T> SealedFilter for Disabled<T> {}
impl<T> SealedFilter for Present<T> {}
impl SealedFilter for () {}

macro_rules! filter {
    ($name:ident, $slots:ty, bits: $bits:literal, narrows: $narrows:expr, [$($use:ident)?], $find:expr, $rows:expr) => {
        impl<T: Component> QueryFilter for $name<T> {
            type State = TermState<$name<T>>;
            type Slots = $slots;

            const NARROWS: bool = $narrows;

            fn state(ids: &mut IdSource<'_>) -> Self::State {
                (ids.id::<T>(), PhantomData)
            }

            fn access(state: &Self::State, access: &mut Access) {
                access.add(Use::Name, state.0);
                $(access.add(Use::$use, state.0);)?
                if T::ENABLEABLE && $bits {
                    access.add(Use::BitRead, state.0);
                }
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<$slots> {
                ($find)(TermSlot::find(state.0, archetype))
            }

            #[inline]
            fn rows(slots: &$slots, chunk: &ChunkRef<'_>, rows: &mut Rows) {
                if $narrows {
                    ($rows)(slots, chunk, rows);
                }
            }
        }
    };
}

/// The bits of a component, where it has some.
fn switchable(slot: TermSlot) -> Option<MarkSlot> {
    slot.bits.get().is_some().then_some(slot.bits)
}

/// The bits of a component, where it is there.
fn there(slot: Option<TermSlot>) -> Option<MarkSlot> {
    slot.map(|slot| slot.bits)
}

filter!(
    With, MarkSlot, bits: true, narrows: T::ENABLEABLE, [], there,
    |slot: &MarkSlot, chunk, rows| slot.keep_enabled(chunk, rows)
);
filter!(
    Present, MarkSlot, bits: false, narrows: false, [], there,
    |_, _, _: &mut Rows| {}
);
// One that is there and cannot be disabled is there for good.
filter!(
    Without, MarkSlot, bits: true, narrows: T::ENABLEABLE, [],
    |slot: Option<TermSlot>| slot.map_or(Some(MarkSlot::NONE), switchable),
    |slot: &MarkSlot, chunk, rows| slot.keep_disabled(chunk, rows)
);
filter!(
    Disabled, MarkSlot, bits: true, narrows: T::ENABLEABLE, [],
    |slot: Option<TermSlot>| slot.and_then(switchable),
    |slot: &MarkSlot, chunk, rows| slot.keep_disabled(chunk, rows)
);
filter!(
    Changed, TermSlot, bits: true, narrows: true, [VersionRead], |slot| slot,
    |slot: &TermSlot, chunk, rows: &mut Rows| {
        slot.keep_later(false, chunk, rows);
        slot.bits.keep_enabled(chunk, rows);
    }
);
// When components came is written by structural changes only, which no query runs beside.
filter!(
    Added, TermSlot, bits: true, narrows: true, [], |slot| slot,
    |slot: &TermSlot, chunk, rows: &mut Rows| {
        slot.keep_later(true, chunk, rows);
        slot.bits.keep_enabled(chunk, rows);
    }
);

impl QueryFilter for () {
    type State = ();
    type Slots = ();

    const NARROWS: bool = false;

    fn state(_ids: &mut IdSource<'_>) {}

    fn access((): &(), _access: &mut Access) {}

    fn slots((): &(), _archetype: &Archetype) -> Option<()> {
        Some(())
    }

    #[inline]
    fn rows((): &(), _chunk: &ChunkRef<'_>, _rows: &mut Rows) {}
}

macro_rules! tuple_filter {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: SealedFilter),*> SealedFilter for ($($name,)*) {}

        impl<$($name: QueryFilter),*> QueryFilter for ($($name,)*) {
            type State = ($($name::State,)*);
            type Slots = ($($name::Slots,)*);

            const NARROWS: bool = false $(|| $name::NARROWS)*;

            fn state(ids: &mut IdSource<'_>) -> Self::State {
                ($($name::state(ids),)*)
            }

            fn access(state: &Self::State, access: &mut Access) {
                let ($($var,)*) = state;
                $($name::access($var, access);)*
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

for_each_tuple!(tuple_filter);

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
#[derive(Debug)]
pub struct Added<T>(PhantomData<fn() -> T>);

impl<T> SealedFilter for Changed<T> {}
impl<T> SealedFilter for Added<T> {}

/// At least one of a tuple of filters holds.
#[derive(Debug)]
pub struct Or<F>(PhantomData<fn() -> F>);

/// A filter does not hold.
///
/// `Not<With<T>>` is [`Without<T>`](crate::Without).
#[derive(Debug)]
pub struct Not<F>(PhantomData<fn() -> F>);

impl<F> SealedFilter for Or<F> {}
impl<F> SealedFilter for Not<F> {}

impl<F: QueryFilter> QueryFilter for Not<F> {
    type State = WrapState<Not<()>, F::State>;
    /// `None` where no row can pass the filter, and so all pass this one.
    type Slots = Option<F::Slots>;

    const NARROWS: bool = true;

    fn state(ids: &mut IdSource<'_>) -> Self::State {
        (F::state(ids), PhantomData)
    }

    fn access(state: &Self::State, access: &mut Access) {
        F::access(&state.0, access);
    }

    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
        Some(F::slots(&state.0, archetype))
    }

    fn rows(slots: &Self::Slots, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        let Some(slots) = slots else { return };
        let mut passing = Rows::All;
        F::rows(slots, chunk, &mut passing);
        let len = chunk.len();
        rows.intersect(passing.inverted(len), len);
    }
}

macro_rules! or_filter {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: QueryFilter),*> QueryFilter for Or<($($name,)*)> {
            type State = WrapState<Or<()>, ($($name::State,)*)>;
            /// Of each, whether any row can pass it.
            type Slots = ($(Option<$name::Slots>,)*);

            const NARROWS: bool = false $(|| $name::NARROWS)*;

            fn state(ids: &mut IdSource<'_>) -> Self::State {
                (($($name::state(ids),)*), PhantomData)
            }

            fn access(state: &Self::State, access: &mut Access) {
                let ($($var,)*) = &state.0;
                $($name::access($var, access);)*
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
                let ($($var,)*) = &state.0;
                $(let $var = $name::slots($var, archetype);)*
                let any = false $(|| $var.is_some())*;
                any.then_some(($($var,)*))
            }

            fn rows(slots: &Self::Slots, chunk: &ChunkRef<'_>, rows: &mut Rows) {
                let ($($var,)*) = slots;
                let mut any = Rows::None;
                $(
                    if let Some(slots) = $var {
                        let mut passing = Rows::All;
                        $name::rows(slots, chunk, &mut passing);
                        any.unite(passing);
                    }
                )*
                rows.intersect(any, chunk.len());
            }
        }
    };
}

for_each_tuple!(or_filter);
