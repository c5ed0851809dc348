//! Filters: conditions of a query that are not handed out.

use core::marker::PhantomData;

use super::access::{Access, Use};
use super::column::ChunkRef;
use super::data::Present;
use super::term::{MarkSlot, Term, TermSlot, TermState, WrapState, term};
use crate::archetype::Archetype;
use crate::component::{Component, IdSource};
use crate::entity::Entity;
use crate::mask::Rows;

/// What a query asks of a row beside its data: [`With`], [`Without`], [`Present`], [`Disabled`],
/// [`Changed`], [`Added`], [`Or`] and [`Not`] of these, and tuples, all members of which have to
/// hold.
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
    /// What it is made of: terms of this crate.
    #[doc(hidden)]
    type Terms: Term;
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

/// A filter that is a term by itself.
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

/// The bits of a component, where it has some.
fn switchable(slot: TermSlot) -> Option<MarkSlot> {
    slot.bits.get().is_some().then_some(slot.bits)
}

/// The bits of a component, where it is there.
fn there(slot: Option<TermSlot>) -> Option<MarkSlot> {
    slot.map(|slot| slot.bits)
}

filter!(
    With, MarkSlot, narrows: T::ENABLEABLE, [Name], there,
    |slot: &MarkSlot, chunk, rows| slot.keep_enabled(chunk, rows)
);
// One that is there and cannot be disabled is there for good.
filter!(
    Without, MarkSlot, narrows: T::ENABLEABLE, [Name],
    |slot: Option<TermSlot>| slot.map_or(Some(MarkSlot::NONE), switchable),
    |slot: &MarkSlot, chunk, rows| slot.keep_disabled(chunk, rows)
);
filter!(
    Disabled, MarkSlot, narrows: T::ENABLEABLE, [Name],
    |slot: Option<TermSlot>| slot.and_then(switchable),
    |slot: &MarkSlot, chunk, rows| slot.keep_disabled(chunk, rows)
);
filter!(
    Changed, TermSlot, narrows: true, [Name, VersionRead], |slot| slot,
    |slot: &TermSlot, chunk, rows: &mut Rows| {
        slot.keep_later(false, chunk, rows);
        slot.bits.keep_enabled(chunk, rows);
    }
);
// When components came is written by structural changes only, which no query runs beside.
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

/// The entity has `T`, enabled, and it was changed: handed out to be written, replaced or added,
/// after the version that the query asks about (see [`Query::since`](crate::Query::since)).
///
/// Exact for each entity where `T` is declared `#[component(tracked)]`. Else it goes by chunks: one
/// change, or one row that comes or goes, and all rows of the chunk pass. If the closure of a
/// [`for_each`](crate::Query::for_each) panics, the rows of that chunk that it did not reach may count
/// as changed, too.
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

/// At least one of a tuple of filters holds.
#[derive(Debug)]
pub struct Or<F>(PhantomData<fn() -> F>);

/// A filter does not hold.
///
/// `Not<With<T>>` is [`Without<T>`](crate::Without).
#[derive(Debug)]
pub struct Not<F>(PhantomData<fn() -> F>);

impl<F: QueryFilter> QueryFilter for Not<F> {
    type Terms = Not<F::Terms>;
}

impl<F: Term> Term for Not<F> {
    type State = WrapState<Not<()>, F::State>;
    /// `None` where no row can pass the filter, and so all pass this one.
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
            /// Of each, whether any row can pass it.
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
