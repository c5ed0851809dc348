//! The handle of the row's entity, and nothing at all.

use super::{
    Access, Archetype, CacheToken, CachedPlace, ChangeWindow, Chunks, ColumnParts, IdSource,
    QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows,
};
use crate::entity::Entity;

impl QueryData for Entity {
    type Item<'w> = Self;

    super::own_parts!(Self);
}

impl QueryParts for Entity {
    type State = ();
    type Slots = ();
    type Fetch<'w> = &'w [Self];

    super::cached_place!();

    type Run<'w> = Self::Fetch<'w>;

    const NARROWS: bool = false;

    fn state(_ids: &mut IdSource<'_>) {}

    fn access((): &(), _access: &mut Access) {}

    fn slots((): &(), _archetype: &Archetype) -> Option<()> {
        Some(())
    }

    #[inline]
    fn rows((): &(), _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

    #[inline]
    fn fetch<'w>((): &(), chunks: &'w Chunks, chunk: usize, _moment: ChangeWindow) -> &'w [Self] {
        chunks.entities(chunk)
    }

    #[inline]
    fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, _right: RangeToken<'a>) -> Self::Run<'a> {
        fetch
    }

    #[inline]
    fn with_run<'a, 'w: 'a>(
        _fetch: &Self::Fetch<'w>,
        run: Self::Run<'a>,
        _right: &RangeToken<'a>,
    ) -> Self::Fetch<'a> {
        run
    }

    #[inline]
    fn nothing<'w>() -> Self::Fetch<'w> {
        &[]
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
        fetch[right.row()]
    }
}

impl ColumnParts for Entity {
    type Columns<'w> = &'w [Self];

    #[inline]
    fn columns<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> Self::Columns<'a> {
        &fetch[right.rows()]
    }
}

impl ReadOnlyParts for Entity {}

impl QueryData for () {
    type Item<'w> = ();

    super::own_parts!(Self);
}

impl QueryParts for () {
    type State = ();
    type Slots = ();
    type Fetch<'w> = ();

    super::cached_place!();

    type Run<'w> = Self::Fetch<'w>;

    const NARROWS: bool = false;

    fn state(_ids: &mut IdSource<'_>) {}

    fn access((): &(), _access: &mut Access) {}

    fn slots((): &(), _archetype: &Archetype) -> Option<()> {
        Some(())
    }

    #[inline]
    fn rows((): &(), _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

    #[inline]
    fn fetch<'w>(
        (): &(),
        _chunks: &'w Chunks,
        _chunk: usize,
        _moment: ChangeWindow,
    ) -> Self::Fetch<'w> {
    }

    #[inline]
    fn run<'a, 'w: 'a>(_fetch: &Self::Fetch<'w>, _right: RangeToken<'a>) -> Self::Run<'a> {}

    #[inline]
    fn with_run<'a, 'w: 'a>(
        _fetch: &Self::Fetch<'w>,
        (): (),
        _right: &RangeToken<'a>,
    ) -> Self::Fetch<'a> {
    }

    #[inline]
    fn nothing<'w>() -> Self::Fetch<'w> {}

    #[inline]
    fn item<'a, 'w: 'a>(_fetch: &Self::Fetch<'w>, _right: RowToken<'a>) -> Self::Item<'a> {}
}

impl ReadOnlyParts for () {}
