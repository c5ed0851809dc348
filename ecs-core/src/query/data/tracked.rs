//! Query data that gives a component together with its versions.

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

/// The column of a component in an opened chunk, with its versions.
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

/// The versions of one component in one chunk.
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

/// A shared reference to a component that knows when it was changed and added.
///
/// If `T` is not tracked, versions are kept per chunk: the answers are then those of its chunk.
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
    /// Returns whether it was changed after the version since which the query asks.
    #[must_use]
    pub const fn is_changed(&self) -> bool {
        self.changed > self.since
    }

    /// Returns whether the entity got it after the version since which the query asks.
    #[must_use]
    pub const fn is_added(&self) -> bool {
        self.added > self.since
    }

    /// Returns the version of its last change.
    #[must_use]
    pub const fn last_changed(&self) -> u64 {
        self.changed
    }

    /// Returns the version at which the entity got it.
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

/// A mutable reference to a component that counts as changed only when it is dereferenced mutably. A
/// plain `&mut T` counts as changed as soon as it is handed out.
///
/// If `T` is not tracked, versions are kept per chunk, so a mutable dereference stamps the whole chunk. A
/// `Mut` is not `Send`, because neighbouring rows share a mask of changed rows. To write rows on several
/// threads, use `par_for_each` or `&mut T`.
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
    /// Returns whether it was changed after the version since which the query asks.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.last_changed() > self.versions.window.since
    }

    /// Returns whether the entity got it after the version since which the query asks.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.added_at() > self.versions.window.since
    }

    /// Returns the version of its last change.
    #[must_use]
    pub fn last_changed(&self) -> u64 {
        self.versions.changed(self.row)
    }

    /// Returns the version at which the entity got it.
    #[must_use]
    pub fn added_at(&self) -> u64 {
        self.versions.added(self.row)
    }

    /// Returns the reference itself. The component counts as changed.
    #[must_use]
    pub fn into_inner(self) -> &'w mut T {
        self.versions.mark(self.row);
        self.value
    }

    /// Writes the value if it differs from the current one, and returns whether it did.
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

    /// Returns a mutable reference that does not make the component count as changed.
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
