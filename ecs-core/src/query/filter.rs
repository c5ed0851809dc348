//! Filters: conditions of a query that give no data.

use core::marker::PhantomData;

use super::access::{Access, Use};
use super::column::ChunkRef;
use super::data::Present;
use super::term::{MarkSlot, Term, TermSlot, TermState, WrapState, term};
use crate::archetype::Archetype;
use crate::component::{Component, IdSource};
use crate::entity::Entity;
use crate::mask::Rows;

/// The conditions of a query on a row beside its data: [`With`], [`Without`], [`Present`], [`Disabled`],
/// [`Changed`], [`Added`], [`Or`] and [`Not`] of these, and tuples, all members of which must hold.
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
pub trait QueryFilter {
    /// The parts that this filter consists of: terms of this crate.
    #[doc(hidden)]
    type Terms: Term;
}

/// Passes the entities that have `T` enabled.
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

/// Passes the entities that do not have `T`, or have it disabled.
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

/// Passes the entities that have `T` disabled.
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

/// Implements a filter that is a term by itself.
macro_rules! filter {
    ($name:ident, $slots:ty, narrows: $narrows:expr, [$($use:ident),*], $find:expr, $rows:expr) => {
        term!(
            $name<T> as $name<T>, [$($use),*], bits: true, narrows: $narrows, $slots, $find, $rows
        );

        impl<T: Component> QueryFilter for $name<T> {
            type Terms = Self;
        }
    };
}

/// The position of the bits of a component, or `None` if it has no bits.
fn bits_if_enableable(slot: TermSlot) -> Option<MarkSlot> {
    slot.bits.get().is_some().then_some(slot.bits)
}

/// The position of the bits of a component, or `None` if the archetype does not have the component.
fn bits_if_present(slot: Option<TermSlot>) -> Option<MarkSlot> {
    slot.map(|slot| slot.bits)
}

filter!(
    With, MarkSlot, narrows: T::ENABLEABLE, [Name], bits_if_present,
    |slot: &MarkSlot, chunk, rows| slot.keep_enabled(chunk, rows)
);
// A component that is present and cannot be disabled excludes the whole archetype.
filter!(
    Without, MarkSlot, narrows: T::ENABLEABLE, [Name],
    |slot: Option<TermSlot>| slot.map_or(Some(MarkSlot::NONE), bits_if_enableable),
    |slot: &MarkSlot, chunk, rows| slot.keep_disabled(chunk, rows)
);
filter!(
    Disabled, MarkSlot, narrows: T::ENABLEABLE, [Name],
    |slot: Option<TermSlot>| slot.and_then(bits_if_enableable),
    |slot: &MarkSlot, chunk, rows| slot.keep_disabled(chunk, rows)
);
filter!(
    Changed, TermSlot, narrows: true, [Name, VersionRead], |slot| slot,
    |slot: &TermSlot, chunk, rows: &mut Rows| {
        slot.keep_later(false, chunk, rows);
        slot.bits.keep_enabled(chunk, rows);
    }
);
// Only structural changes write when components were added, and no query runs at the same time.
filter!(
    Added, TermSlot, narrows: true, [Name], |slot| slot,
    |slot: &TermSlot, chunk, rows: &mut Rows| {
        slot.keep_later(true, chunk, rows);
        slot.bits.keep_enabled(chunk, rows);
    }
);

impl<T: Component> QueryFilter for Present<T> {
    type Terms = Present<With<T>>;
}

/// Lets all rows pass.
impl QueryFilter for () {
    type Terms = Entity;
}

macro_rules! tuple_filter {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: QueryFilter),*> QueryFilter for ($($name,)*) {
            type Terms = ($($name::Terms,)*);
        }
    };
}

for_each_tuple!(tuple_filter);

/// Passes the entities that have `T` enabled and in which it was changed after the version since which
/// the query asks (see [`Query::since`](crate::Query::since)): handed out for writing, replaced or added.
/// A [`Mut`](crate::Mut) counts as handed out for writing when it is dereferenced mutably.
///
/// This is exact for each entity if `T` is declared `#[component(tracked)]`. Otherwise it goes by chunks:
/// one change, or one row that comes or goes, and all rows of the chunk pass. If the closure of a
/// [`for_each`](crate::Query::for_each) panics, the rows of that chunk that it did not reach may also
/// count as changed.
///
/// The filter reads only versions, not values, so it can be combined with `&mut T` in one query.
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

/// Passes the entities that have `T` enabled and got it after the version since which the query asks (see
/// [`Query::since`](crate::Query::since)). Replacing a value does not count.
///
/// This is exact for each entity if `T` is declared `#[component(tracked)]`. Otherwise it goes by chunks.
#[derive(Debug)]
pub struct Added<T>(PhantomData<fn() -> T>);

/// Passes the rows for which at least one of a tuple of filters holds.
#[derive(Debug)]
pub struct Or<F>(PhantomData<fn() -> F>);

/// Passes the rows for which a filter does not hold.
///
/// `Not<With<T>>` is the same as [`Without<T>`](crate::Without).
#[derive(Debug)]
pub struct Not<F>(PhantomData<fn() -> F>);

impl<F: QueryFilter> QueryFilter for Not<F> {
    type Terms = Not<F::Terms>;
}

impl<F: Term> Term for Not<F> {
    type State = WrapState<Not<()>, F::State>;
    /// `None` if no row can pass the inner filter, so that all rows pass this one.
    type Slots = Option<F::Slots>;

    const NARROWS: bool = true;

    fn state(ids: &mut IdSource<'_>, access: &mut Access) -> Self::State {
        (F::state(ids, access), PhantomData)
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
            type Terms = Or<($($name::Terms,)*)>;
        }

        impl<$($name: Term),*> Term for Or<($($name,)*)> {
            type State = WrapState<Or<()>, ($($name::State,)*)>;
            /// For each filter, its slots, or `None` if no row can pass it.
            type Slots = ($(Option<$name::Slots>,)*);

            const NARROWS: bool = false $(|| $name::NARROWS)*;

            fn state(ids: &mut IdSource<'_>, access: &mut Access) -> Self::State {
                (($($name::state(ids, access),)*), PhantomData)
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
