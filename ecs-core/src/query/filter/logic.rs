//! One of several filters, and none.

use core::marker::PhantomData;

use super::{Access, Archetype, Chunks, IdSource, QueryFilter, Rows, SealedFilter, WrapState};

/// At least one of a tuple of filters holds.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Bread;
/// # #[derive(Component)] struct Cake;
/// let mut world = World::new();
/// world.spawn(Bread);
/// world.spawn(Cake);
/// world.spawn((Bread, Cake));
/// world.spawn(());
/// assert_eq!(world.query_filtered::<Entity, Or<(With<Bread>, With<Cake>)>>().count(), 3);
/// ```
#[derive(Debug)]
pub struct Or<F>(PhantomData<fn() -> F>);

/// A filter does not hold.
///
/// `Not<With<T>>` is [`Without<T>`](crate::Without); others have no shorter name:
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] #[component(tracked)] struct Health(u32);
/// let mut world = World::new();
/// let imps = world.spawn_batch((0..10).map(Health));
/// let before = world.version();
/// world.get_mut::<Health>(imps[3])?.0 = 0;
/// let untouched = world.query_filtered::<&Health, Not<Changed<Health>>>().since(before);
/// assert_eq!(untouched.count(), 9);
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
#[derive(Debug)]
pub struct Not<F>(PhantomData<fn() -> F>);

impl<F> SealedFilter for Or<F> {}
impl<F> SealedFilter for Not<F> {}

impl<F: QueryFilter> QueryFilter for Not<F> {
    type State = WrapState<Not<()>, F::State>;
    /// `None` where no row can pass the filter, and so all pass this one.
    type Slots = Option<F::Slots>;

    const NARROWS: bool = true;

    fn state(ids: &mut IdSource<'_>) -> Self::State {
        WrapState::new(F::state(ids))
    }

    fn access(state: &Self::State, access: &mut Access) {
        F::access(&state.0, access);
    }

    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
        Some(F::slots(&state.0, archetype))
    }

    fn rows(slots: &Self::Slots, chunks: &Chunks, chunk: usize, since: u64, rows: &mut Rows) {
        let Some(slots) = slots else { return };
        let mut passing = Rows::All;
        F::rows(slots, chunks, chunk, since, &mut passing);
        let len = chunks.len(chunk);
        rows.intersect(passing.inverted(len), len);
    }
}

macro_rules! or_filter {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: QueryFilter),*> QueryFilter for Or<($($name,)*)> {
            type State = WrapState<Or<()>, ($($name::State,)*)>;
            /// Of each, whether any row can pass it.
            type Slots = ($(Option<$name::Slots>,)*);

            const NARROWS: bool = false $(|| $name::NARROWS)*;

            fn state(ids: &mut IdSource<'_>) -> Self::State {
                WrapState::new(($($name::state(ids),)*))
            }

            fn access(state: &Self::State, access: &mut Access) {
                let ($($var,)*) = &state.0;
                $($name::access($var, access);)*
            }

            fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots> {
                let ($($var,)*) = &state.0;
                $(let $var = $name::slots($var, archetype);)*
                let any = false $(|| $var.is_some())*;
                any.then_some(($($var,)*))
            }

            fn rows(
                slots: &Self::Slots,
                chunks: &Chunks,
                chunk: usize,
                since: u64,
                rows: &mut Rows,
            ) {
                let ($($var,)*) = slots;
                let mut any = Rows::None;
                $(
                    if let Some(slots) = $var {
                        let mut passing = Rows::All;
                        $name::rows(slots, chunks, chunk, since, &mut passing);
                        any.unite(passing);
                    }
                )*
                rows.intersect(any, chunks.len(chunk));
            }
        }
    };
}

crate::tuples::for_each_tuple!(or_filter);
