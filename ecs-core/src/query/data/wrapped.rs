//! Query data that wraps other data: `Option` and `Present`.

use core::marker::PhantomData;

use super::{
    Access, AddressToken, Archetype, ChangeWindow, ChunkRef, ColumnParts, IdSource, PartsItem,
    QueryData, QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows, Term, WrapState,
};

impl<Q: QueryData> QueryData for Option<Q> {
    type Item<'w> = Option<Q::Item<'w>>;
    type Parts = Option<Q::Parts>;
    type ReadOnly = Option<Q::ReadOnly>;

    #[inline]
    fn from_parts<'w>(parts: PartsItem<'w, Self>) -> Self::Item<'w> {
        parts.map(Q::from_parts)
    }
}

impl<Q: Term> Term for Option<Q> {
    type State = WrapState<Option<()>, Q::State>;
    type Slots = Option<Q::Slots>;

    const NARROWS: bool = Q::NARROWS;

    fn state(ids: &mut IdSource<'_>, access: &mut Access) -> Self::State {
        (Q::state(ids, access), PhantomData)
    }

    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
        Some(Q::slots(&state.0, archetype))
    }

    #[inline]
    fn rows(_slots: &Self::Slots, _chunk: &ChunkRef<'_>, _rows: &mut Rows) {}
}

impl<Q: QueryParts> QueryParts for Option<Q> {
    /// The rows are those that have Q enabled, or all of them in a chunk that was opened by its address.
    type Fetch<'w> = Option<(Q::Fetch<'w>, Rows)>;
    type Address = Option<Q::Address>;

    super::no_run!();

    #[inline]
    fn address(slots: &Self::Slots, chunk: &ChunkRef<'_>) -> Self::Address {
        slots.as_ref().map(|slots| Q::address(slots, chunk))
    }

    #[inline]
    fn open<'w>(
        address: &Self::Address,
        token: AddressToken<'w>,
        window: ChangeWindow,
    ) -> Self::Fetch<'w> {
        address.as_ref().map(|address| (Q::open(address, token, window), Rows::All))
    }

    #[inline]
    fn fetch<'w>(slots: &Self::Slots, chunk: &ChunkRef<'w>) -> Self::Fetch<'w> {
        let slots = slots.as_ref()?;
        let mut rows = Rows::All;
        Q::rows(slots, chunk, &mut rows);
        if matches!(rows, Rows::None) {
            return None;
        }
        Some((Q::fetch(slots, chunk), rows))
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a> {
        let (fetch, rows) = fetch.as_ref()?;
        rows.contains(token.row()).then(|| Q::item(fetch, token))
    }
}

impl<Q: ReadOnlyParts> ReadOnlyParts for Option<Q> {}

/// As data, `Present<&T>` or `Present<&mut T>` gives the value even if it is disabled. As a filter,
/// `Present<T>` passes the entities that have `T`, enabled or not.
#[derive(Debug)]
pub struct Present<T>(PhantomData<T>);

impl<Q: QueryData> QueryData for Present<Q> {
    type Item<'w> = Q::Item<'w>;
    type Parts = Present<Q::Parts>;
    type ReadOnly = Present<Q::ReadOnly>;

    #[inline]
    fn from_parts<'w>(parts: PartsItem<'w, Self>) -> Self::Item<'w> {
        Q::from_parts(parts)
    }
}

impl<Q: Term> Term for Present<Q> {
    type State = WrapState<Present<()>, Q::State>;
    type Slots = Q::Slots;

    const NARROWS: bool = false;

    fn state(ids: &mut IdSource<'_>, access: &mut Access) -> Self::State {
        (access.without_narrowing(|access| Q::state(ids, access)), PhantomData)
    }

    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
        Q::slots(&state.0, archetype)
    }

    #[inline]
    fn rows(_slots: &Self::Slots, _chunk: &ChunkRef<'_>, _rows: &mut Rows) {}
}

impl<Q: QueryParts> QueryParts for Present<Q> {
    type Fetch<'w> = Q::Fetch<'w>;
    type Run<'w> = Q::Run<'w>;
    type Address = Q::Address;

    #[inline]
    fn address(slots: &Self::Slots, chunk: &ChunkRef<'_>) -> Self::Address {
        Q::address(slots, chunk)
    }

    #[inline]
    fn open<'w>(
        address: &Self::Address,
        token: AddressToken<'w>,
        window: ChangeWindow,
    ) -> Self::Fetch<'w> {
        Q::open(address, token, window)
    }

    #[inline]
    fn run<'w>(fetch: &Self::Fetch<'w>, token: RangeToken<'w>) -> Self::Run<'w> {
        Q::run(fetch, token)
    }

    #[inline]
    fn with_run<'w>(
        fetch: &Self::Fetch<'w>,
        run: Self::Run<'w>,
        token: &RangeToken<'w>,
    ) -> Self::Fetch<'w> {
        Q::with_run(fetch, run, token)
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a> {
        Q::item(fetch, token)
    }
}

impl<Q: ColumnParts> ColumnParts for Present<Q> {}

impl<Q: ReadOnlyParts> ReadOnlyParts for Present<Q> {}
