//! Several things at once. That they do not give the same component twice, once of them mutably, is
//! checked when the plan is made (I-11).

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
            fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> Self::Run<'a> {
                let ($($var,)*) = fetch;
                ($($name::run($var, right.clone()),)*)
            }

            #[inline]
            #[expect(non_snake_case, reason = "the members' names stand for their fetches")]
            fn with_run<'a, 'w: 'a>(
                fetch: &Self::Fetch<'w>,
                run: Self::Run<'a>,
                right: &RangeToken<'a>,
            ) -> Self::Fetch<'a> {
                let ($($name,)*) = fetch;
                let ($($var,)*) = run;
                ($($name::with_run($name, $var, right),)*)
            }

            #[inline]
            fn visit<'a, 'w: 'a, Row: QueryData<Parts = Self>>(
                fetch: &Self::Fetch<'w>,
                right: RangeToken<'a>,
                f: &mut impl FnMut(Row::Item<'a>),
            ) {
                // A function of its own, and never inlined: only as arguments do references say
                // that they do not overlap.
                #[inline(never)]
                fn apart<'a, 'w: 'a, $($name: QueryParts,)* Row, Visit>(
                    fetch: &<($($name,)*) as QueryParts>::Fetch<'w>,
                    $($var: $name::Run<'a>,)*
                    right: RangeToken<'a>,
                    f: &mut Visit,
                ) where
                    Row: QueryData<Parts = ($($name,)*)>,
                    Visit: FnMut(Row::Item<'a>),
                {
                    let fetch = <($($name,)*) as QueryParts>::with_run(fetch, ($($var,)*), &right);
                    right.into_rows().for_each(|right| {
                        f(Row::from_parts(<($($name,)*) as QueryParts>::item(&fetch, right)));
                    });
                }
                let ($($var,)*) = Self::run(fetch, right.clone());
                apart::<$($name,)* Row, _>(fetch, $($var,)* right, f);
            }

            #[inline]
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
                let ($($var,)*) = fetch;
                ($($name::item($var, right),)*)
            }
        }

        impl<$($name: ColumnParts),*> ColumnParts for ($($name,)*) {
            #[inline]
            fn stamp_run(fetch: &Self::Fetch<'_>, right: &RangeToken<'_>) {
                let ($($var,)*) = fetch;
                $($name::stamp_run($var, right);)*
            }
        }

        impl<$($name: ReadOnlyParts),*> ReadOnlyParts for ($($name,)*) {}
    };
}

for_each_tuple!(tuple_data);
