//! The query data `&T` and `&mut T`.

use core::marker::PhantomData;

use super::{
    Access, AddressToken, Archetype, ChangeWindow, ChunkAddress, ChunkRef, ChunkVersions,
    ColumnParts, IdSource, QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows, Term,
    TermSlot, TermState, Use, Values, term,
};
use crate::component::Component;
use crate::storage::ColumnStamps;

impl<T: Component> QueryData for &T {
    type Item<'w> = &'w T;

    super::own_parts!(Self);
}

term!(&T as &'static T, Read, narrows: T::ENABLEABLE);

impl<T: Component> QueryParts for &T {
    super::read_column!(T);

    #[inline]
    fn address(slots: &TermSlot, chunk: &ChunkRef<'_>) -> Self::Address {
        ChunkAddress::of_column(chunk.record(slots.column()).start().cast())
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a> {
        fetch.read(token)
    }
}

impl<T: Component> ColumnParts for &T {}
impl<T: Component> ReadOnlyParts for &T {}

/// The start of a column of `T` in a chunk, its stamps, and the versions of its rows if it has any. The
/// record of the column contains the start as well as the stamps, but a copy of the start can be loaded
/// one step earlier.
pub(super) type ColumnAddress<T> =
    (ChunkAddress<T>, ChunkAddress<ColumnStamps>, Option<ChunkAddress<ChunkVersions>>);

#[inline]
pub(super) fn column_address<T: Component>(
    slots: &TermSlot,
    chunk: &ChunkRef<'_>,
) -> ColumnAddress<T> {
    let record = chunk.record(slots.column());
    let rows = if T::TRACKED { slots.row_versions(chunk) } else { None };
    let start = ChunkAddress::of_column(record.start().cast());
    (start, ChunkAddress::new(record.stamps()), rows.map(ChunkAddress::new))
}

/// A column for writing, and the versions of its rows if the component is tracked and the rows are not
/// stamped yet.
// Small, because it is copied for each chunk that an iterator enters.
#[doc(hidden)]
#[derive(Debug)]
pub struct WriteFetch<'w, T> {
    values: Values<'w, T>,
    stamps: Option<(&'w ChunkVersions, ChangeWindow)>,
}

copied!([T] WriteFetch<'_, T>);

impl<T> Default for WriteFetch<'_, T> {
    fn default() -> Self {
        Self { values: Values::default(), stamps: None }
    }
}

impl<T: Component> QueryData for &mut T {
    type Item<'w> = &'w mut T;

    super::own_parts!(&'static T);
}

term!(
    &mut T as &'static mut T,
    Write,
    narrows: T::ENABLEABLE,
    !T::MANAGED,
    "this component is the world's to change"
);

impl<T: Component> QueryParts for &mut T {
    type Fetch<'w> = WriteFetch<'w, T>;
    type Run<'w> = &'w mut [T];
    type Address = ColumnAddress<T>;

    #[inline]
    fn address(slots: &TermSlot, chunk: &ChunkRef<'_>) -> Self::Address {
        column_address(slots, chunk)
    }

    #[inline]
    fn open<'w>(
        &(start, stamps, rows): &Self::Address,
        token: AddressToken<'w>,
        window: ChangeWindow,
    ) -> Self::Fetch<'w> {
        stamps.get(token).mark(window.version);
        let rows = if T::TRACKED { rows } else { None };
        let stamps = rows.map(|rows| (rows.get(token), window));
        WriteFetch { values: Values::at(start, token), stamps }
    }

    #[inline]
    fn run<'w>(fetch: &Self::Fetch<'w>, token: RangeToken<'w>) -> &'w mut [T] {
        if let (true, Some((stamps, window))) = (T::TRACKED, fetch.stamps) {
            stamps.changed.mark_run(token.rows(), window);
        }
        fetch.values.write_run(&token)
    }

    // The rows are already stamped.
    #[inline]
    fn with_run<'w>(
        _fetch: &Self::Fetch<'w>,
        run: Self::Run<'w>,
        token: &RangeToken<'w>,
    ) -> Self::Fetch<'w> {
        WriteFetch { values: Values::of_run(run, token), stamps: None }
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a> {
        if let (true, Some((stamps, window))) = (T::TRACKED, fetch.stamps) {
            stamps.changed.mark(token.row(), window);
        }
        fetch.values.write(token)
    }
}

impl<T: Component> ColumnParts for &mut T {}
