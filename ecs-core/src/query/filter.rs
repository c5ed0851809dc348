//! Filters: conditions of a query that are not handed out.

mod logic;
mod versions;

use core::marker::PhantomData;

use super::access::Access;
use super::data::{BitsSlot, Present, SealedFilter, TermSlot, TermState, WrapState};
use crate::archetype::Archetype;
use crate::component::{Component, IdSource};
use crate::mask::Rows;
use crate::storage::Chunks;

pub use logic::{Not, Or};
pub use versions::{Added, Changed};

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

    /// Narrows the rows of a chunk to those that pass; what was stamped after `since` is new.
    #[doc(hidden)]
    fn rows(slots: &Self::Slots, chunks: &Chunks, chunk: usize, since: u64, rows: &mut Rows);
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
    ($name:ident, $reads_bits:expr, $slots:expr, $rows:expr) => {
        impl<T: Component> QueryFilter for $name<T> {
            type State = TermState<$name<T>>;
            type Slots = BitsSlot;

            const NARROWS: bool = T::ENABLEABLE && $reads_bits;

            fn state(ids: &mut IdSource<'_>) -> Self::State {
                TermState::new(ids.id::<T>())
            }

            fn access(state: &Self::State, access: &mut Access) {
                access.add_name(state.0);
                if T::ENABLEABLE && $reads_bits {
                    access.add_bit_read(state.0);
                }
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
                ($slots)(TermSlot::find(state.0, archetype))
            }

            #[inline]
            fn rows(
                slots: &Self::Slots,
                chunks: &Chunks,
                chunk: usize,
                _since: u64,
                rows: &mut Rows,
            ) {
                if T::ENABLEABLE {
                    ($rows)(*slots, chunks, chunk, rows);
                }
            }
        }
    };
}

/// The bits of a component, where it has some.
fn switchable(slot: TermSlot) -> Option<BitsSlot> {
    slot.bits.get().is_some().then_some(slot.bits)
}

/// The bits of a component, where it is there.
fn there(slot: Option<TermSlot>) -> Option<BitsSlot> {
    slot.map(|slot| slot.bits)
}

filter!(With, true, there, BitsSlot::keep_enabled);
filter!(Present, false, there, |_, _, _, _: &mut Rows| {});
filter!(
    Without,
    true,
    // One that is there and cannot be disabled is there for good.
    |slot: Option<TermSlot>| slot.map_or(Some(BitsSlot::NONE), switchable),
    BitsSlot::keep_disabled
);
filter!(
    Disabled,
    true,
    |slot: Option<TermSlot>| slot.and_then(switchable),
    BitsSlot::keep_disabled
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
    fn rows((): &(), _chunks: &Chunks, _chunk: usize, _since: u64, _rows: &mut Rows) {}
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
            fn rows(
                slots: &Self::Slots,
                chunks: &Chunks,
                chunk: usize,
                since: u64,
                rows: &mut Rows,
            ) {
                let ($($var,)*) = slots;
                $($name::rows($var, chunks, chunk, since, rows);)*
            }
        }
    };
}

crate::tuples::for_each_tuple!(tuple_filter);
