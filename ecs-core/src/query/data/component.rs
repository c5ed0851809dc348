//! `&T` and `&mut T`.

use core::marker::PhantomData;

use super::{
    Access, Archetype, CacheToken, ChangeWindow, ChunkAddress, ChunkRef, ChunkVersions,
    ColumnParts, IdSource, QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows,
    TermSlot, TermState, Use, Values,
};
use crate::component::Component;
use crate::storage::ColumnStamps;

impl<T: Component> QueryData for &T {
    type Item<'w> = &'w T;

    super::own_parts!(Self);
}

impl<T: Component> QueryParts for &T {
    super::one_term!(&'static T, Read, narrows: T::ENABLEABLE);

    type Fetch<'w> = Values<'w, T>;
    type Run<'w> = &'w [T];
    type Cached = ChunkAddress<T>;

    fn cache(slots: &TermSlot, chunk: &ChunkRef<'_>) -> Self::Cached {
        ChunkAddress::of_column(chunk.record(slots.column()))
    }

    #[inline]
    fn open_cached<'w>(
        cached: &Self::Cached,
        token: CacheToken<'w>,
        _moment: ChangeWindow,
    ) -> Self::Fetch<'w> {
        Values::at(*cached, token)
    }

    #[inline]
    fn fetch<'w>(slots: &TermSlot, chunk: &ChunkRef<'w>) -> Self::Fetch<'w> {
        Values::open(chunk.record(slots.column()))
    }

    #[inline]
    fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> &'a [T] {
        fetch.read_run(&right)
    }

    #[inline]
    fn with_run<'a, 'w: 'a>(
        _fetch: &Self::Fetch<'w>,
        run: Self::Run<'a>,
        right: &RangeToken<'a>,
    ) -> Self::Fetch<'a> {
        Values::of_run(run, right)
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
        fetch.read(right)
    }
}

impl<T: Component> ColumnParts for &T {
    type Columns<'w> = &'w [T];

    #[inline]
    fn columns<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> Self::Columns<'a> {
        fetch.read_run(&right)
    }
}

impl<T: Component> ReadOnlyParts for &T {}

/// A column that is written, and where its rows are stamped if it is tracked.
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

impl<T: Component> QueryParts for &mut T {
    super::one_term!(
        &'static mut T,
        Write,
        narrows: T::ENABLEABLE,
        !T::MANAGED,
        "this component is the world's to change"
    );

    type Fetch<'w> = WriteFetch<'w, T>;
    type Run<'w> = &'w mut [T];
    /// Where the column starts, its stamps, and the versions of its rows if it has any. The start is in
    /// the record as well as the stamps are; kept apart it is there a step earlier.
    type Cached =
        (ChunkAddress<T>, ChunkAddress<ColumnStamps>, Option<ChunkAddress<ChunkVersions>>);

    fn cache(slots: &TermSlot, chunk: &ChunkRef<'_>) -> Self::Cached {
        let rows = if T::TRACKED { slots.row_versions(chunk) } else { None };
        let record = chunk.record(slots.column());
        let stamps = ChunkAddress::new(record.stamps());
        (ChunkAddress::of_column(record), stamps, rows.map(ChunkAddress::new))
    }

    #[inline]
    fn open_cached<'w>(
        &(start, stamps, rows): &Self::Cached,
        token: CacheToken<'w>,
        moment: ChangeWindow,
    ) -> Self::Fetch<'w> {
        stamps.get(token).mark(moment.version);
        let rows = if T::TRACKED { rows } else { None };
        let stamps = rows.map(|rows| (rows.get(token), moment));
        WriteFetch { values: Values::at(start, token), stamps }
    }

    #[inline]
    fn fetch<'w>(slots: &TermSlot, chunk: &ChunkRef<'w>) -> Self::Fetch<'w> {
        let record = chunk.record(slots.column());
        record.stamps().mark(chunk.moment.version);
        let stamps = if T::TRACKED { slots.row_versions(chunk) } else { None };
        let stamps = stamps.map(|stamps| (stamps, chunk.moment));
        WriteFetch { values: Values::open(record), stamps }
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
        WriteFetch { values: Values::of_run_mut(run, right), stamps: fetch.stamps }
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
        if T::TRACKED {
            if let Some((stamps, moment)) = fetch.stamps {
                stamps.changed.mark(right.row(), moment);
            }
        }
        fetch.values.write(right)
    }
}

impl<T: Component> ColumnParts for &mut T {
    type Columns<'w> = &'w mut [T];

    #[inline]
    fn columns<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> Self::Columns<'a> {
        if T::TRACKED {
            if let Some((stamps, moment)) = fetch.stamps {
                stamps.changed.mark_run(right.rows(), moment);
            }
        }
        fetch.values.write_run(&right)
    }
}
