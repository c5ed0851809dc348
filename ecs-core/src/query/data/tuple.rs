//! Tuples of query data. A plan refuses a tuple that gives one component twice, once of them mutably
//! (I-11).

use super::{
    AddressToken, ChangeWindow, ChunkRef, ColumnParts, PartsItem, QueryData, QueryParts,
    RangeToken, ReadOnlyParts, RowToken,
};

macro_rules! tuple_data {
    ($(($name:ident $var:ident)),*) => {

        impl<$($name: QueryData),*> QueryData for ($($name,)*) {
            type Item<'w> = ($($name::Item<'w>,)*);
            type Parts = ($($name::Parts,)*);
            type ReadOnly = ($($name::ReadOnly,)*);

            #[inline]
            fn from_parts<'w>(parts: PartsItem<'w, Self>) -> Self::Item<'w> {
                let ($($var,)*) = parts;
                ($($name::from_parts($var),)*)
            }
        }

        impl<$($name: QueryParts),*> QueryParts for ($($name,)*) {
            type Fetch<'w> = ($($name::Fetch<'w>,)*);
            type Run<'w> = ($($name::Run<'w>,)*);
            type Address = ($($name::Address,)*);

            #[inline]
            fn address(slots: &Self::Slots, chunk: &ChunkRef<'_>) -> Self::Address {
                let ($($var,)*) = slots;
                ($($name::address($var, chunk),)*)
            }

            #[inline]
            fn open<'w>(
                address: &Self::Address,
                token: AddressToken<'w>,
                window: ChangeWindow,
            ) -> Self::Fetch<'w> {
                let ($($var,)*) = address;
                ($($name::open($var, token, window),)*)
            }

            #[inline(always)]
            fn fetch<'w>(slots: &Self::Slots, chunk: &ChunkRef<'w>) -> Self::Fetch<'w> {
                let ($($var,)*) = slots;
                ($($name::fetch($var, chunk),)*)
            }

            #[inline]
            fn run<'w>(fetch: &Self::Fetch<'w>, token: RangeToken<'w>) -> Self::Run<'w> {
                let ($($var,)*) = fetch;
                ($($name::run($var, token.clone()),)*)
            }

            #[inline]
            #[expect(non_snake_case, reason = "the members' names stand for their fetches")]
            fn with_run<'w>(
                fetch: &Self::Fetch<'w>,
                run: Self::Run<'w>,
                token: &RangeToken<'w>,
            ) -> Self::Fetch<'w> {
                let ($($name,)*) = fetch;
                let ($($var,)*) = run;
                ($($name::with_run($name, $var, token),)*)
            }

            #[inline]
            fn visit<'w, Row: QueryData<Parts = Self>>(
                fetch: &Self::Fetch<'w>,
                token: RangeToken<'w>,
                f: &mut impl FnMut(Row::Item<'w>),
            ) {
                // A separate function that is never inlined: only as arguments do references tell the
                // compiler that they do not overlap.
                #[inline(never)]
                fn apart<'w, $($name: QueryParts,)* Row, Visit>(
                    fetch: &<($($name,)*) as QueryParts>::Fetch<'w>,
                    $($var: $name::Run<'w>,)*
                    token: RangeToken<'w>,
                    f: &mut Visit,
                ) where
                    Row: QueryData<Parts = ($($name,)*)>,
                    Visit: FnMut(Row::Item<'w>),
                {
                    let fetch = <($($name,)*) as QueryParts>::with_run(fetch, ($($var,)*), &token);
                    token.into_rows().for_each(|token| {
                        f(Row::from_parts(<($($name,)*) as QueryParts>::item(&fetch, token)));
                    });
                }
                let ($($var,)*) = Self::run(fetch, token.clone());
                apart::<$($name,)* Row, _>(fetch, $($var,)* token, f);
            }

            #[inline]
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a> {
                let ($($var,)*) = fetch;
                ($($name::item($var, token),)*)
            }
        }

        impl<$($name: ColumnParts),*> ColumnParts for ($($name,)*) {}
        impl<$($name: ReadOnlyParts),*> ReadOnlyParts for ($($name,)*) {}
    };
}

for_each_tuple!(tuple_data);
