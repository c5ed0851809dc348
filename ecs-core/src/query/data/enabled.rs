//! The enabled bit of a component.

use core::marker::PhantomData;

use super::{
    Access, AddressToken, Archetype, ChangeWindow, ChunkAddress, ChunkRef, IdSource, QueryData,
    QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows, Term, TermSlot, TermState, Use, term,
};
use crate::component::Component;
pub use crate::storage::EnabledBit;
use crate::sync::AtomicU64;

/// Query data that gives the enabled bit of `T` for every row that has `T`. The bit does not restrict the
/// rows.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// let mut world = World::new();
/// let rooms = world.spawn_batch((0..3).map(|_| Lamp));
/// world.set_enabled::<Lamp>(rooms[1], false)?;
/// let lit = world.query::<Enabled<Lamp>>().map(|bit| bit.get());
/// assert!(lit.eq([true, false, true]));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
#[derive(Debug)]
pub struct Enabled<T>(PhantomData<fn() -> T>);

/// Like [`Enabled`], but the bit can also be switched. This does not affect which rows the current pass
/// visits: that is decided when it enters a chunk, or before.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// let mut world = World::new();
/// world.spawn_batch((0..3).map(|_| Lamp));
/// for mut bit in world.query::<EnabledMut<Lamp>>() {
///     assert_eq!(bit.set(false), true, "what it was");
///     assert_eq!(bit.get(), false);
/// }
/// assert_eq!(world.query_filtered::<(), With<Lamp>>().count(), 0);
/// ```
#[derive(Debug)]
pub struct EnabledMut<T>(PhantomData<fn() -> T>);

/// The enabled bit of one component of one entity, with the right to switch it.
#[derive(Debug)]
pub struct EnabledBitMut<'w>(EnabledBit<'w>);

impl EnabledBitMut<'_> {
    /// Returns whether the component is enabled now.
    #[must_use]
    pub fn get(&self) -> bool {
        self.0.get()
    }

    /// Enables or disables the component, and returns whether it was enabled.
    #[inline]
    pub fn set(&mut self, enabled: bool) -> bool {
        self.0.set(enabled)
    }
}

/// The enabled bits of one chunk.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BitsFetch<'w>(&'w [AtomicU64]);

impl<'w> BitsFetch<'w> {
    #[inline]
    pub(crate) fn bit(&self, row: usize) -> EnabledBit<'w> {
        EnabledBit::of_row(self.0, row)
    }
}

// The data gives access to bits, which are atomics, but not to values.
macro_rules! enabled_data {
    ($name:ident, $item:ident, $use:ident, $make:expr) => {
        impl<T: Component> QueryData for $name<T> {
            type Item<'w> = $item<'w>;

            super::own_parts!(Enabled<T>);
        }

        term!(
            $name<T> as $name<T>,
            $use,
            narrows: false,
            T::ENABLEABLE,
            "the component is not enableable: declare it with #[component(enableable)]"
        );

        impl<T: Component> QueryParts for $name<T> {
            type Fetch<'w> = BitsFetch<'w>;

            type Address = ChunkAddress<[AtomicU64]>;

            #[inline]
            fn address(slots: &TermSlot, chunk: &ChunkRef<'_>) -> Self::Address {
                let slot = slots.bits.get();
                let slot = slot.expect("an enableable component has bits in every archetype");
                ChunkAddress::new(chunk.words(slot))
            }

            #[inline]
            fn open<'w>(
                address: &Self::Address,
                token: AddressToken<'w>,
                _window: ChangeWindow,
            ) -> Self::Fetch<'w> {
                BitsFetch(address.get(token))
            }

            super::no_run!();

            #[inline]
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a> {
                ($make)(fetch.bit(token.row()))
            }
        }
    };
}

enabled_data!(Enabled, EnabledBit, BitRead, |bit| bit);
enabled_data!(EnabledMut, EnabledBitMut, BitWrite, EnabledBitMut);

impl<T: Component> ReadOnlyParts for Enabled<T> {}
