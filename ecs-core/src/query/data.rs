//! What a query can ask for in each row.
#![expect(unsafe_code, reason = "turns columns into references and slices")]

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::access::Access;
use crate::archetype::Archetype;
use crate::component::{Component, ComponentId, IdSource};
use crate::entity::Entity;
use crate::mask::Rows;
use crate::storage::{Chunks, EnableBits, RowAddress};

/// What a query hands out for each row: `&T`, `&mut T`, `Option` of these, [`Entity`],
/// [`Enabled<T>`], [`EnabledMut<T>`], and tuples of them.
///
/// A component that is disabled is absent: `&T` passes over the row, `Option<&T>` gives `None`.
///
/// It is sealed: plans rely on what its implementations say.
///
/// # Safety
/// `access` names every component whose values `item` (or `columns`) gives references to, as
/// written where it gives mutable ones, and only adds; `fetch`, `lookup`, `item` and `columns` touch
/// nothing else. `State` is of this data alone, or of data that asks for the same; `state` only
/// looks ids up or registers types, `slots` says where the components are in this very archetype,
/// and `rows` only narrows.
pub unsafe trait QueryData: Sealed {
    /// What a row gives.
    type Item<'w>;
    /// The component ids in one world. Also names the query in the plan cache.
    #[doc(hidden)]
    type State: Copy + Send + Sync + 'static;
    /// Where the components are in one archetype.
    #[doc(hidden)]
    type Slots: Copy + Send + Sync + 'static;
    /// Where they are in one chunk.
    #[doc(hidden)]
    type Fetch<'w>: Clone;

    #[doc(hidden)]
    fn state(ids: &mut IdSource<'_>) -> Self::State;

    #[doc(hidden)]
    fn access(state: &Self::State, access: &mut Access);

    /// `None` where no row of the archetype can match.
    #[doc(hidden)]
    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots>;

    /// Narrows the rows of a chunk to those that match.
    #[doc(hidden)]
    fn rows(slots: &Self::Slots, chunks: &Chunks, chunk: usize, rows: &mut Rows);

    /// Opens a chunk: finds its columns and stamps those that will be written.
    #[doc(hidden)]
    fn fetch<'w>(
        slots: &Self::Slots,
        chunks: &'w Chunks,
        chunk: usize,
        version: u64,
    ) -> Self::Fetch<'w>;

    /// Opens a chunk for one row, whether its components are enabled or not.
    #[doc(hidden)]
    fn lookup<'w>(
        slots: &Self::Slots,
        chunks: &'w Chunks,
        chunk: usize,
        version: u64,
    ) -> Self::Fetch<'w> {
        Self::fetch(slots, chunks, chunk, version)
    }

    /// A fetch of no chunk, of which no row may be asked.
    #[doc(hidden)]
    fn nothing<'w>() -> Self::Fetch<'w>;

    /// # Safety
    /// `row` is below the length of the chunk that `fetch` was made for; the caller has the right
    /// that `access` names for `'w` (I-10), and no other item of the same row exists while this
    /// one is used (I-11).
    #[doc(hidden)]
    unsafe fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, row: usize) -> Self::Item<'a>;
}

/// Keeps [`QueryData`] and [`QueryFilter`](super::QueryFilter) inside this crate.
pub trait Sealed {}

impl<T> Sealed for &T {}
impl<T> Sealed for &mut T {}
impl Sealed for Entity {}
impl Sealed for () {}
impl<Q: Sealed> Sealed for Option<Q> {}
impl<T> Sealed for Enabled<T> {}
impl<T> Sealed for EnabledMut<T> {}

/// Query data that a run of rows gives as slices.
///
/// # Safety
/// As for [`QueryData`].
pub unsafe trait ColumnData: QueryData {
    /// What a run of rows gives: a slice for a component, a tuple of slices for a tuple.
    type Columns<'w>;

    /// # Safety
    /// As for [`QueryData::item`], for each of the rows.
    #[doc(hidden)]
    unsafe fn columns<'w>(
        fetch: &Self::Fetch<'w>,
        rows: core::ops::Range<usize>,
    ) -> Self::Columns<'w>;
}

/// Query data that changes nothing.
///
/// # Safety
/// `access` names no writes.
pub unsafe trait ReadOnly: QueryData {}

/// The id of a component that is read or written; the marker keeps the plans of different types
/// and different uses apart.
#[doc(hidden)]
#[derive(Debug)]
pub struct TermState<Use: ?Sized>(pub(crate) ComponentId, PhantomData<fn() -> Use>);

impl<Use: ?Sized> Clone for TermState<Use> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Use: ?Sized> Copy for TermState<Use> {}

impl<Use: ?Sized> TermState<Use> {
    pub(crate) fn new(id: ComponentId) -> Self {
        Self(id, PhantomData)
    }
}

/// Where a component is in an archetype: its column, and its bits if it has any.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TermSlot {
    pub(crate) column: usize,
    pub(crate) bits: Option<usize>,
}

impl TermSlot {
    pub(crate) fn find(id: ComponentId, archetype: &Archetype) -> Option<Self> {
        let column = archetype.column_of(id)?;
        Some(Self { column, bits: archetype.columns[column].enable_slot })
    }

    pub(crate) fn keep_enabled(&self, chunks: &Chunks, chunk: usize, rows: &mut Rows) {
        if let Some(slot) = self.bits {
            let bits = chunks.bits(slot);
            rows.keep(bits.words(chunk), bits.disabled_count(chunk), chunks.len(chunk));
        }
    }
}

// SAFETY: gives shared references to values of T, which `access` names as read.
unsafe impl<T: Component> QueryData for &T {
    type Item<'w> = &'w T;
    type State = TermState<&'static T>;
    type Slots = TermSlot;
    type Fetch<'w> = NonNull<T>;

    fn state(ids: &mut IdSource<'_>) -> Self::State {
        TermState::new(ids.id::<T>())
    }

    fn access(state: &Self::State, access: &mut Access) {
        access.add_read(state.0);
        if T::ENABLEABLE {
            access.add_bit_read(state.0);
        }
    }

    fn slots(state: &Self::State, archetype: &Archetype) -> Option<TermSlot> {
        TermSlot::find(state.0, archetype)
    }

    #[inline]
    fn rows(slots: &TermSlot, chunks: &Chunks, chunk: usize, rows: &mut Rows) {
        slots.keep_enabled(chunks, chunk, rows);
    }

    #[inline]
    fn fetch(slots: &TermSlot, chunks: &Chunks, chunk: usize, _version: u64) -> NonNull<T> {
        chunks.column(chunk, slots.column).cast()
    }

    fn nothing<'w>() -> Self::Fetch<'w> {
        NonNull::dangling()
    }

    #[inline]
    unsafe fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, row: usize) -> Self::Item<'a> {
        // SAFETY: the caller ensures a row of this chunk, so it is inside the column (I-3), which
        // holds values of T (I-9).
        let value = unsafe { fetch.add(row) };
        // SAFETY: the row is initialised (I-2), and the caller has the right to read it (I-10).
        unsafe { value.as_ref() }
    }
}

// SAFETY: as for its `QueryData`.
unsafe impl<T: Component> ColumnData for &T {
    type Columns<'w> = &'w [T];

    #[inline]
    unsafe fn columns<'w>(
        fetch: &Self::Fetch<'w>,
        rows: core::ops::Range<usize>,
    ) -> Self::Columns<'w> {
        // SAFETY: the caller ensures rows of this chunk, so they are inside the column (I-3).
        let start = unsafe { fetch.add(rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9) that may be read (I-10).
        unsafe { core::slice::from_raw_parts(start.as_ptr(), rows.len()) }
    }
}

// SAFETY: `&T` names no writes.
unsafe impl<T: Component> ReadOnly for &T {}

// SAFETY: gives mutable references to values of T, which `access` names as written.
unsafe impl<T: Component> QueryData for &mut T {
    type Item<'w> = &'w mut T;
    type State = TermState<&'static mut T>;
    type Slots = TermSlot;
    type Fetch<'w> = NonNull<T>;

    fn state(ids: &mut IdSource<'_>) -> Self::State {
        TermState::new(ids.id::<T>())
    }

    fn access(state: &Self::State, access: &mut Access) {
        access.add_write(state.0);
        if T::ENABLEABLE {
            access.add_bit_read(state.0);
        }
    }

    fn slots(state: &Self::State, archetype: &Archetype) -> Option<TermSlot> {
        TermSlot::find(state.0, archetype)
    }

    #[inline]
    fn rows(slots: &TermSlot, chunks: &Chunks, chunk: usize, rows: &mut Rows) {
        slots.keep_enabled(chunks, chunk, rows);
    }

    #[inline]
    fn fetch(slots: &TermSlot, chunks: &Chunks, chunk: usize, version: u64) -> NonNull<T> {
        chunks.stamp(chunk, slots.column, version);
        chunks.column(chunk, slots.column).cast()
    }

    fn nothing<'w>() -> Self::Fetch<'w> {
        NonNull::dangling()
    }

    #[inline]
    unsafe fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, row: usize) -> Self::Item<'a> {
        // SAFETY: the caller ensures a row of this chunk, so it is inside the column (I-3), which
        // holds values of T (I-9).
        let mut value = unsafe { fetch.add(row) };
        // SAFETY: the row is initialised (I-2); the caller has the right to write it (I-10), and
        // nobody else holds it (I-11).
        unsafe { value.as_mut() }
    }
}

// SAFETY: as for its `QueryData`.
unsafe impl<T: Component> ColumnData for &mut T {
    type Columns<'w> = &'w mut [T];

    #[inline]
    unsafe fn columns<'w>(
        fetch: &Self::Fetch<'w>,
        rows: core::ops::Range<usize>,
    ) -> Self::Columns<'w> {
        // SAFETY: the caller ensures rows of this chunk, so they are inside the column (I-3).
        let start = unsafe { fetch.add(rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9) that may be written (I-10) and
        // that nobody else holds (I-11).
        unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), rows.len()) }
    }
}

// SAFETY: gives copies of entities, which no query writes.
unsafe impl QueryData for Entity {
    type Item<'w> = Self;
    type State = ();
    type Slots = ();
    type Fetch<'w> = &'w [Self];

    fn state(_ids: &mut IdSource<'_>) {}

    fn access((): &(), _access: &mut Access) {}

    fn slots((): &(), _archetype: &Archetype) -> Option<()> {
        Some(())
    }

    fn rows((): &(), _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

    #[inline]
    fn fetch<'w>((): &(), chunks: &'w Chunks, chunk: usize, _version: u64) -> &'w [Self] {
        chunks.entities(chunk)
    }

    fn nothing<'w>() -> Self::Fetch<'w> {
        &[]
    }

    #[inline]
    unsafe fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, row: usize) -> Self::Item<'a> {
        fetch[row]
    }
}

// SAFETY: as for its `QueryData`.
unsafe impl ColumnData for Entity {
    type Columns<'w> = &'w [Self];

    #[inline]
    unsafe fn columns<'w>(
        fetch: &Self::Fetch<'w>,
        rows: core::ops::Range<usize>,
    ) -> Self::Columns<'w> {
        &fetch[rows]
    }
}

// SAFETY: `Entity` names no writes.
unsafe impl ReadOnly for Entity {}

// SAFETY: gives what Q gives.
unsafe impl<Q: QueryData> QueryData for Option<Q> {
    type Item<'w> = Option<Q::Item<'w>>;
    type State = OptionState<Q::State>;
    type Slots = Option<Q::Slots>;
    /// The rows are those in which Q is there and enabled.
    type Fetch<'w> = Option<(Q::Fetch<'w>, Rows, usize)>;

    fn state(ids: &mut IdSource<'_>) -> Self::State {
        OptionState(Q::state(ids))
    }

    fn access(state: &Self::State, access: &mut Access) {
        Q::access(&state.0, access);
    }

    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
        Some(Q::slots(&state.0, archetype))
    }

    fn rows(_slots: &Self::Slots, _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

    fn fetch<'w>(
        slots: &Self::Slots,
        chunks: &'w Chunks,
        chunk: usize,
        version: u64,
    ) -> Self::Fetch<'w> {
        slots.as_ref().map(|slots| {
            let mut rows = Rows::All;
            Q::rows(slots, chunks, chunk, &mut rows);
            (Q::fetch(slots, chunks, chunk, version), rows, chunks.len(chunk))
        })
    }

    fn lookup<'w>(
        slots: &Self::Slots,
        chunks: &'w Chunks,
        chunk: usize,
        version: u64,
    ) -> Self::Fetch<'w> {
        let slots = slots.as_ref()?;
        Some((Q::lookup(slots, chunks, chunk, version), Rows::All, chunks.len(chunk)))
    }

    fn nothing<'w>() -> Self::Fetch<'w> {
        None
    }

    #[inline]
    unsafe fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, row: usize) -> Self::Item<'a> {
        let (fetch, rows, len) = fetch.as_ref()?;
        if !rows.contains(row, *len) {
            return None;
        }
        // SAFETY: the caller's word for the whole is its word for the part.
        Some(unsafe { Q::item(fetch, row) })
    }
}

// SAFETY: names the writes of Q, which are none.
unsafe impl<Q: ReadOnly> ReadOnly for Option<Q> {}

/// Keeps the plans of `Option<Q>` and `Q` apart.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct OptionState<S>(S);

/// Asks whether `T` is enabled, in every row that has it: the bit narrows nothing.
#[derive(Debug)]
pub struct Enabled<T>(PhantomData<fn() -> T>);

/// Like [`Enabled`], and may switch it. Which rows the pass visits was settled when the chunk was
/// entered.
#[derive(Debug)]
pub struct EnabledMut<T>(PhantomData<fn() -> T>);

/// The enabled bit of one component of one entity.
#[derive(Debug, Clone, Copy)]
pub struct EnabledBit<'w> {
    bits: &'w EnableBits,
    address: RowAddress,
}

impl EnabledBit<'_> {
    pub(crate) fn set(&self, enabled: bool) -> bool {
        self.bits.set(self.address.chunk, self.address.row, enabled)
    }

    /// Whether the component is enabled now.
    #[must_use]
    pub fn get(&self) -> bool {
        self.bits.get(self.address.chunk, self.address.row)
    }
}

/// The enabled bit of one component of one entity, with the right to flip it.
#[derive(Debug)]
pub struct EnabledBitMut<'w>(EnabledBit<'w>);

impl EnabledBitMut<'_> {
    /// Whether the component is enabled now.
    #[must_use]
    pub fn get(&self) -> bool {
        self.0.get()
    }

    /// Switches the component on or off; returns what it was.
    pub fn set(&mut self, enabled: bool) -> bool {
        self.0.set(enabled)
    }
}

/// The bits of one chunk.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BitsFetch<'w>(Option<(&'w EnableBits, usize)>);

impl<'w> BitsFetch<'w> {
    fn new(slot: &TermSlot, chunks: &'w Chunks, chunk: usize) -> Self {
        Self(slot.bits.map(|slot| (chunks.bits(slot), chunk)))
    }

    pub(crate) fn bit(&self, row: usize) -> EnabledBit<'w> {
        let (bits, chunk) = self.0.expect("only enableable components match");
        EnabledBit { bits, address: RowAddress { chunk, row } }
    }
}

macro_rules! enabled_data {
    ($name:ident, $item:ident, $add:ident, $make:expr) => {
        // SAFETY: gives access to bits, which are atomics, and to no values.
        unsafe impl<T: Component> QueryData for $name<T> {
            type Item<'w> = $item<'w>;
            type State = TermState<$name<T>>;
            type Slots = TermSlot;
            type Fetch<'w> = BitsFetch<'w>;

            fn state(ids: &mut IdSource<'_>) -> Self::State {
                const { assert!(T::ENABLEABLE, "the component is not enableable") };
                TermState::new(ids.id::<T>())
            }

            fn access(state: &Self::State, access: &mut Access) {
                access.$add(state.0);
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<TermSlot> {
                TermSlot::find(state.0, archetype)
            }

            fn rows(_slots: &TermSlot, _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

            fn fetch<'w>(
                slots: &TermSlot,
                chunks: &'w Chunks,
                chunk: usize,
                _version: u64,
            ) -> BitsFetch<'w> {
                BitsFetch::new(slots, chunks, chunk)
            }

            fn nothing<'w>() -> BitsFetch<'w> {
                BitsFetch(None)
            }

            unsafe fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, row: usize) -> Self::Item<'a> {
                ($make)(fetch.bit(row))
            }
        }
    };
}

enabled_data!(Enabled, EnabledBit, add_bit_read, |bit| bit);
enabled_data!(EnabledMut, EnabledBitMut, add_bit_write, EnabledBitMut);

// SAFETY: bits are only read.
unsafe impl<T: Component> ReadOnly for Enabled<T> {}

// SAFETY: gives nothing.
unsafe impl QueryData for () {
    type Item<'w> = ();
    type State = ();
    type Slots = ();
    type Fetch<'w> = ();

    fn state(_ids: &mut IdSource<'_>) {}

    fn access((): &(), _access: &mut Access) {}

    fn slots((): &(), _archetype: &Archetype) -> Option<()> {
        Some(())
    }

    fn rows((): &(), _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

    fn fetch<'w>((): &(), _chunks: &'w Chunks, _chunk: usize, _version: u64) -> Self::Fetch<'w> {}

    fn nothing<'w>() -> Self::Fetch<'w> {}

    unsafe fn item<'a, 'w: 'a>(_fetch: &Self::Fetch<'w>, _row: usize) -> Self::Item<'a> {}
}

// SAFETY: names no writes.
unsafe impl ReadOnly for () {}

macro_rules! tuple_data {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: Sealed),*> Sealed for ($($name,)*) {}

        // SAFETY: gives what the members give. That they do not give the same component twice,
        // once of them mutably, is checked when the plan is made (I-11).
        unsafe impl<$($name: QueryData),*> QueryData for ($($name,)*) {
            type Item<'w> = ($($name::Item<'w>,)*);
            type State = ($($name::State,)*);
            type Slots = ($($name::Slots,)*);
            type Fetch<'w> = ($($name::Fetch<'w>,)*);

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
            fn rows(slots: &Self::Slots, chunks: &Chunks, chunk: usize, rows: &mut Rows) {
                let ($($var,)*) = slots;
                $($name::rows($var, chunks, chunk, rows);)*
            }

            #[inline]
            fn fetch<'w>(
                slots: &Self::Slots,
                chunks: &'w Chunks,
                chunk: usize,
                version: u64,
            ) -> Self::Fetch<'w> {
                let ($($var,)*) = slots;
                ($($name::fetch($var, chunks, chunk, version),)*)
            }

            #[inline]
            fn lookup<'w>(
                slots: &Self::Slots,
                chunks: &'w Chunks,
                chunk: usize,
                version: u64,
            ) -> Self::Fetch<'w> {
                let ($($var,)*) = slots;
                ($($name::lookup($var, chunks, chunk, version),)*)
            }

            fn nothing<'w>() -> Self::Fetch<'w> {
                ($($name::nothing(),)*)
            }

            #[inline]
            unsafe fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, row: usize) -> Self::Item<'a> {
                let ($($var,)*) = fetch;
                ($(
                    // SAFETY: the caller's word for the whole is its word for the part.
                    unsafe { $name::item($var, row) },
                )*)
            }
        }

        // SAFETY: as for its `QueryData`.
        unsafe impl<$($name: ColumnData),*> ColumnData for ($($name,)*) {
            type Columns<'w> = ($($name::Columns<'w>,)*);

            #[inline]
            unsafe fn columns<'w>(
                fetch: &Self::Fetch<'w>,
                rows: core::ops::Range<usize>,
            ) -> Self::Columns<'w> {
                let ($($var,)*) = fetch;
                ($(
                    // SAFETY: the caller's word for the whole is its word for the part.
                    unsafe { $name::columns($var, rows.clone()) },
                )*)
            }
        }

        // SAFETY: names the writes of its members, which are none.
        unsafe impl<$($name: ReadOnly),*> ReadOnly for ($($name,)*) {}
    };
}

crate::tuples::for_each_tuple!(tuple_data);
