//! `&T` and `&mut T`.

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
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
        fetch.read(right)
    }
}

impl<T: Component> ColumnParts for &T {}
impl<T: Component> ReadOnlyParts for &T {}

/// Where a column of `T` is in a chunk, its stamps, and the versions of its rows if it has any. The
/// start is in the record as well as the stamps are; kept apart it is there a step earlier.
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

/// A column and its versions.
#[doc(hidden)]
#[derive(Debug)]
pub struct VersionedFetch<'w, T> {
    pub(super) values: Values<'w, T>,
    /// Of no chunk, and of a component that is written and not tracked, there are none.
    pub(super) versions: Option<Versions<'w>>,
}

copied!([T] VersionedFetch<'_, T>);

impl<T> Default for VersionedFetch<'_, T> {
    fn default() -> Self {
        Self { values: Values::default(), versions: None }
    }
}

/// Where the versions of a component are in one chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions<'w> {
    pub(super) column: &'w ColumnStamps,
    pub(super) rows: Option<&'w ChunkVersions>,
    pub(super) window: ChangeWindow,
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
    type Fetch<'w> = VersionedFetch<'w, T>;
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
        let column = stamps.get(token);
        column.mark(window.version);
        let rows = if T::TRACKED { rows } else { None };
        let of_rows = |rows: ChunkAddress<_>| Some(rows.get(token));
        let versions = rows.map(|rows| Versions { column, rows: of_rows(rows), window });
        VersionedFetch { values: Values::at(start, token), versions }
    }

    #[inline]
    fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> &'a mut [T] {
        fetch.values.write_run(&right)
    }

    #[inline]
    fn with_run<'a, 'w: 'a>(
        fetch: &Self::Fetch<'w>,
        run: Self::Run<'a>,
        right: &RangeToken<'a>,
    ) -> Self::Fetch<'a> {
        VersionedFetch { values: Values::of_run_mut(run, right), ..*fetch }
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
        if T::TRACKED {
            if let Some(Versions { rows: Some(rows), window, .. }) = fetch.versions {
                rows.changed.mark(right.row(), window);
            }
        }
        fetch.values.write(right)
    }
}

impl<T: Component> ColumnParts for &mut T {
    #[inline]
    fn stamp_run(fetch: &Self::Fetch<'_>, right: &RangeToken<'_>) {
        if T::TRACKED {
            if let Some(Versions { rows: Some(rows), window, .. }) = fetch.versions {
                rows.changed.mark_run(right.rows(), window);
            }
        }
    }
}
