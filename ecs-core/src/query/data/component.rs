//! `&T` and `&mut T`.

use core::marker::PhantomData;

use super::{
    Access, Archetype, CacheToken, CachedColumn, ChangeWindow, ChunkAddress, ChunkVersions, Chunks,
    ColumnParts, IdSource, QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows,
    TermSlot, TermState, Use, Values,
};
use crate::component::Component;

impl<T: Component> QueryData for &T {
    type Item<'w> = &'w T;

    super::own_parts!(Self);
}

impl<T: Component> QueryParts for &T {
    super::one_term!(&'static T, Read, narrows: T::ENABLEABLE);

    type Fetch<'w> = Values<'w, T>;
    type Run<'w> = &'w [T];
    type Cached = ChunkAddress<T>;

    fn cache(slots: &TermSlot, chunks: &Chunks, chunk: usize) -> Self::Cached {
        ChunkAddress::of_column(chunks.record(chunk, slots.column()))
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
    fn fetch<'w>(
        slots: &TermSlot,
        chunks: &'w Chunks,
        chunk: usize,
        _moment: ChangeWindow,
    ) -> Self::Fetch<'w> {
        Values::open(chunks.record(chunk, slots.column()))
    }

    #[inline]
    fn nothing<'w>() -> Self::Fetch<'w> {
        Values::nothing()
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
    type Cached = CachedColumn<T>;

    fn cache(slots: &TermSlot, chunks: &Chunks, chunk: usize) -> Self::Cached {
        let rows = if T::TRACKED { slots.row_versions(chunks, chunk) } else { None };
        CachedColumn::new(chunks.record(chunk, slots.column()), rows)
    }

    #[inline]
    fn open_cached<'w>(
        cached: &Self::Cached,
        token: CacheToken<'w>,
        moment: ChangeWindow,
    ) -> Self::Fetch<'w> {
        cached.mark(token, moment.version);
        let stamps = if T::TRACKED { cached.rows(token) } else { None };
        WriteFetch { values: cached.values(token), stamps: stamps.map(|stamps| (stamps, moment)) }
    }

    #[inline]
    fn fetch<'w>(
        slots: &TermSlot,
        chunks: &'w Chunks,
        chunk: usize,
        moment: ChangeWindow,
    ) -> Self::Fetch<'w> {
        let record = chunks.record(chunk, slots.column());
        record.stamps().mark(moment.version);
        let stamps = if T::TRACKED { slots.row_versions(chunks, chunk) } else { None };
        WriteFetch { values: Values::open(record), stamps: stamps.map(|stamps| (stamps, moment)) }
    }

    #[inline]
    fn nothing<'w>() -> Self::Fetch<'w> {
        WriteFetch { values: Values::nothing(), stamps: None }
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
