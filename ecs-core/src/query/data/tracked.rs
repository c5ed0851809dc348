//! Components together with their versions.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use super::component::{ColumnAddress, column_address};
use super::{
    Access, AddressToken, Archetype, ChangeWindow, ChunkRef, ChunkVersions, IdSource, QueryData,
    QueryParts, RangeToken, ReadOnlyParts, RowToken, Rows, Term, TermSlot, TermState, Use, Values,
    term,
};
use crate::component::Component;
use crate::storage::{ColumnStamps, OneThread};

/// A column and its versions.
#[doc(hidden)]
#[derive(Debug)]
pub struct VersionedFetch<'w, T> {
    values: Values<'w, T>,
    versions: Option<Versions<'w>>,
}

copied!([T] VersionedFetch<'_, T>);

impl<T> Default for VersionedFetch<'_, T> {
    fn default() -> Self {
        Self { values: Values::default(), versions: None }
    }
}

/// Where the versions of a component are in one chunk.
#[derive(Clone, Copy, Debug)]
struct Versions<'w> {
    column: &'w ColumnStamps,
    rows: Option<&'w ChunkVersions>,
    window: ChangeWindow,
}

impl Versions<'_> {
    fn changed(&self, row: usize) -> u64 {
        self.rows.map_or_else(|| self.column.changed(), |rows| rows.changed.get(row))
    }

    fn added(&self, row: usize) -> u64 {
        self.rows.map_or_else(|| self.column.added(), |rows| rows.added.get(row))
    }

    #[inline]
    fn mark(&self, row: usize) {
        self.column.mark(self.window.version);
        if let Some(rows) = self.rows {
            rows.changed.mark(row, self.window);
        }
    }
}

/// A component to be read, which knows when it was changed and added.
///
/// Of a component that is not tracked it knows this chunk by chunk.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] #[component(tracked)] struct Health(u32);
/// let mut world = World::new();
/// let imps = world.spawn_batch((0..10).map(Health));
/// let before = world.version();
/// world.get_mut::<Health>(imps[3])?.0 = 0;
/// let changed = world.query::<Ref<'_, Health>>().since(before).map(|health| health.is_changed());
/// assert_eq!(changed.filter(|is_changed| *is_changed).count(), 1);
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
pub struct Ref<'w, T> {
    value: &'w T,
    changed: u64,
    added: u64,
    since: u64,
}

impl<T> Ref<'_, T> {
    /// Whether it was changed after the version that the query asks about.
    #[must_use]
    pub const fn is_changed(&self) -> bool {
        self.changed > self.since
    }

    /// Whether the entity got it after the version that the query asks about.
    #[must_use]
    pub const fn is_added(&self) -> bool {
        self.added > self.since
    }

    /// The version of its last change.
    #[must_use]
    pub const fn last_changed(&self) -> u64 {
        self.changed
    }

    /// The version at which the entity got it.
    #[must_use]
    pub const fn added_at(&self) -> u64 {
        self.added
    }
}

copied!([T] Ref<'_, T>);

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ref").field(self.value).finish()
    }
}

/// A component to be written, which counts as changed only when it is: `&mut T` is stamped as it is
/// handed out, this as it is dereferenced mutably.
///
/// Of a component that is not tracked, the whole chunk is stamped then. It stays on its thread, since rows side
/// by side share a mask of what has changed: to write rows on several, use `par_for_each` or `&mut T`.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, PartialEq)] #[component(tracked)] struct Health(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(Health));
/// let before = world.version();
/// world.query::<Mut<'_, Health>>().for_each(|mut health| {
///     if health.0 == 3 {
///         health.0 = 0;
///     }
/// });
/// assert_eq!(world.query_filtered::<&Health, Changed<Health>>().since(before).count(), 1);
/// ```
pub struct Mut<'w, T> {
    value: &'w mut T,
    versions: Versions<'w>,
    row: usize,
    one_thread: OneThread,
}

impl<'w, T> Mut<'w, T> {
    /// Whether it was changed after the version that the query asks about.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.last_changed() > self.versions.window.since
    }

    /// Whether the entity got it after the version that the query asks about.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.added_at() > self.versions.window.since
    }

    /// The version of its last change.
    #[must_use]
    pub fn last_changed(&self) -> u64 {
        self.versions.changed(self.row)
    }

    /// The version at which the entity got it.
    #[must_use]
    pub fn added_at(&self) -> u64 {
        self.versions.added(self.row)
    }

    /// The reference itself; the component counts as changed.
    #[must_use]
    pub fn into_inner(self) -> &'w mut T {
        self.versions.mark(self.row);
        self.value
    }

    /// Writes the value where it differs from what is there; whether it did.
    pub fn set_if_neq(&mut self, value: T) -> bool
    where
        T: PartialEq,
    {
        let differs = *self.value != value;
        if differs {
            **self = value;
        }
        differs
    }

    /// The value, to be written without counting as changed.
    pub fn bypass_change_detection(&mut self) -> &mut T {
        self.value
    }
}

impl<T> Deref for Mut<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Mut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.versions.mark(self.row);
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Mut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mut").field(&self.value).finish()
    }
}

macro_rules! versioned_data {
    ($name:ident, $use:ident, $writes:expr, |$values:ident, $right:ident, $versions:ident| $item:expr) => {
        impl<T: Component> QueryData for $name<'_, T> {
            type Item<'w> = $name<'w, T>;

            super::own_parts!(Ref<'static, T>);
        }

        term!(
            $name<'_, T> as $name<'static, T>,
            $use,
            narrows: T::ENABLEABLE,
            !($writes && T::MANAGED),
            "this component is the world's to change"
        );

        impl<T: Component> QueryParts for $name<'_, T> {
            type Fetch<'w> = VersionedFetch<'w, T>;

            type Address = ColumnAddress<T>;

            super::no_run!();

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
                let (column, rows) = (stamps.get(token), rows.map(|rows| rows.get(token)));
                let versions = Some(Versions { column, rows, window });
                VersionedFetch { values: Values::at(start, token), versions }
            }

            #[inline]
            fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, $right: RowToken<'a>) -> Self::Item<'a> {
                let $values = fetch.values;
                let $versions = fetch.versions.expect("a chunk was opened");
                $item
            }
        }
    };
}

versioned_data!(Ref, Read, false, |values, right, versions| Ref {
    value: values.read(right),
    changed: versions.changed(right.row()),
    added: versions.added(right.row()),
    since: versions.window.since,
});

versioned_data!(Mut, Write, true, |values, right, versions| Mut {
    value: values.write(right),
    versions,
    row: right.row(),
    one_thread: PhantomData,
});

impl<T: Component> ReadOnlyParts for Ref<'_, T> {}
