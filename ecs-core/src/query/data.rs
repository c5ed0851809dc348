//! The data that a query can ask for in each row.

mod component;
mod enabled;
mod entity;
mod tracked;
mod tuple;
mod wrapped;

use core::marker::PhantomData;

use super::access::{Access, Use};
use super::column::{
    CacheToken, CachedPlace, ChunkAddress, ChunkRef, RangeToken, RowToken, Values,
};
use crate::archetype::Archetype;
use crate::component::{ComponentId, IdSource};
use crate::mask::Rows;
use crate::storage::{ChangeWindow, ChunkVersions};

pub use component::WriteFetch;
pub use enabled::{BitsFetch, Enabled, EnabledBit, EnabledBitMut, EnabledMut};
pub use entity::Claimant;
pub use tracked::{Mut, MutFetch, Ref, RefFetch};
pub use wrapped::Present;

/// What a query hands out for each row: `&T`, `&mut T`, [`Ref<T>`](Ref), [`Mut<T>`](Mut),
/// [`Entity`](crate::Entity), [`Claimant`], [`Enabled<T>`], [`EnabledMut<T>`], `Option` and [`Present`]
/// of these, and tuples and structs of them, nested as deep as you like.
///
/// A component that is disabled is absent: `&T` passes over the row, `Option<&T>` gives `None`.
/// [`Present<&T>`](Present) gives it all the same.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
/// let mut world = World::new();
/// let imp = world.spawn((Gold(1), Lamp));
/// let row = world.query::<(Entity, &mut Gold, (Option<&Lamp>, Enabled<Lamp>))>().first();
/// let (entity, gold, (lamp, bit)) = row.expect("one");
/// gold.0 += 1;
/// assert!(entity == imp && lamp.is_some() && bit.get());
///
/// // What a row gives has a name, for functions that take any query.
/// fn first<Q: formic_ecs::ReadOnly>(world: &World) -> Option<Q::Item<'_>> {
///     world.query_ref::<Q>().first()
/// }
/// assert_eq!(first::<&Gold>(&world), Some(&Gold(2)));
/// ```
///
/// # Rows with named fields
///
/// A struct of query data derives it. A field is of the type that its data gives; where that is
/// another, as for `Present` and `Enabled`, `#[query_data(from = ...)]` says which data it is from.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::EnabledBit;
/// # #[derive(Component)] struct Position(f32);
/// # #[derive(Component)] struct Velocity(f32);
/// # #[derive(Component)] #[component(enableable)] struct Awake;
/// #[derive(QueryData)]
/// #[query_data(read_only = MoverReadOnly)]
/// struct Mover<'w> {
///     entity: Entity,
///     position: &'w mut Position,
///     velocity: Option<&'w Velocity>,
///     #[query_data(from = Enabled<Awake>)]
///     awake: EnabledBit<'w>,
/// }
///
/// impl Mover<'_> {
///     fn step(&mut self) {
///         self.position.0 += self.velocity.map_or(0.0, |velocity| velocity.0);
///     }
/// }
///
/// let mut world = World::new();
/// let imp = world.spawn((Position(1.0), Velocity(0.5), Awake));
/// world.query::<Mover>().for_each(|mut mover| mover.step());
/// // The same fields, none of which can be written.
/// let mover = world.query_ref::<MoverReadOnly>().single()?;
/// assert!(mover.entity == imp && mover.position.0 == 1.5 && mover.awake.get());
/// # Ok::<(), formic_ecs::QuerySingleError>(())
/// ```
///
/// The struct has one lifetime, or none, and is at most as public as its components. Such rows nest,
/// and `for_each_chunk` gives a tuple of slices, in the order of the fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for in a query",
    label = "not query data",
    note = "a component is asked for as `&T` or `&mut T`, and has `#[derive(Component)]`; there are `Option` of these, `Entity`, `Ref<T>`, `Mut<T>`, `Enabled<T>`, and tuples of such",
    note = "filters come second: `Query<Entity, With<T>>`",
    note = "a struct of such is query data with `#[derive(QueryData)]`"
)]
pub trait QueryData {
    /// What a row gives.
    type Item<'w>;

    /// The same data where nothing of it is written: `&T` for `&mut T`, [`Ref`] for [`Mut`],
    /// [`Enabled`] for [`EnabledMut`], the entity for its [`Claimant`]. A derived struct is its own,
    /// unless `#[query_data(read_only = ...)]` names one.
    type ReadOnly: QueryData;

    /// What it is made of: data of this crate, such as a tuple.
    #[doc(hidden)]
    type Parts: QueryParts;

    /// Makes a row of what its parts give.
    #[doc(hidden)]
    fn from_parts<'w>(parts: PartsItem<'w, Self>) -> Self::Item<'w>;
}

/// What the parts of some data give.
#[doc(hidden)]
pub type PartsItem<'w, Q> = <<Q as QueryData>::Parts as QueryData>::Item<'w>;

/// An opened chunk, for some data.
pub(crate) type FetchOf<'w, Q> = <<Q as QueryData>::Parts as QueryParts>::Fetch<'w>;

/// Where the components of some data are in one archetype.
pub(super) type SlotsOf<Q> = <<Q as QueryData>::Parts as QueryParts>::Slots;

/// What one row gives.
#[inline]
pub(super) fn item<'a, 'w: 'a, Q: QueryData>(
    fetch: &FetchOf<'w, Q>,
    right: RowToken<'a>,
) -> Q::Item<'a> {
    Q::from_parts(Q::Parts::item(fetch, right))
}

/// The members of [`QueryData`], but for the item, for data that is made of nothing else.
macro_rules! own_parts {
    ($read_only:ty) => {
        type Parts = Self;
        type ReadOnly = $read_only;

        #[inline]
        fn from_parts<'w>(item: Self::Item<'w>) -> Self::Item<'w> {
            item
        }
    };
}

pub(super) use own_parts;

/// Query data as it is found, opened and handed out. No other crate can name it: `&T` and `&mut T` of
/// a type of theirs count as theirs, and whatever is left open for these is open to them. Its
/// functions call no user code, `visit` apart.
///
/// It is what unsafe code relies on: `access` names every component whose values `item` and `columns`
/// give references to, as written where they give mutable ones, and only adds; `fetch`, `lookup`,
/// `item` and `columns` touch nothing else. `State` is of this data alone, or of data that asks for
/// the same; `state` only looks ids up or registers types, `slots` says where the components are in
/// this very archetype, and `rows` only narrows. A right is shown only to the parts of the fetch that
/// it came with.
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait QueryParts: QueryData {
    /// The component ids in one world. Also names the query in the plan cache.
    type State: Copy + Send + Sync + 'static;
    /// Where the components are in one archetype.
    type Slots: Copy + PartialEq + Send + Sync + 'static;
    /// Where they are in one chunk.
    /// By default that of no chunk, of which no row may be asked.
    type Fetch<'w>: Clone + Default;

    fn state(ids: &mut IdSource<'_>) -> Self::State;

    fn access(state: &Self::State, access: &mut Access);

    /// `None` where no row of the archetype can match.
    fn slots(state: &Self::State, archetype: &Archetype) -> Option<Self::Slots>;

    /// Whether bits or versions have a say in which rows match, or in what they give: then it
    /// matters when a chunk is opened. Where it is false, `rows` lets all of them pass.
    const NARROWS: bool;

    /// Narrows the rows of a chunk to those that match.
    fn rows(slots: &Self::Slots, chunk: &ChunkRef<'_>, rows: &mut Rows);

    /// Opens a chunk: finds its columns and stamps those that will be written.
    fn fetch<'w>(slots: &Self::Slots, chunk: &ChunkRef<'w>) -> Self::Fetch<'w>;

    /// Opens a chunk whose components count as there whether they are enabled or not.
    fn lookup<'w>(slots: &Self::Slots, chunk: &ChunkRef<'w>) -> Self::Fetch<'w> {
        Self::fetch(slots, chunk)
    }

    /// What a view keeps about each chunk: where the components are in it.
    type Cached: PartialEq + Send + Sync + 'static;

    fn cache(slots: &Self::Slots, chunk: &ChunkRef<'_>) -> Self::Cached;

    /// What [`lookup`](Self::lookup) gives, from what is kept about the chunk.
    fn open_cached<'w>(
        cached: &Self::Cached,
        token: CacheToken<'w>,
        moment: ChangeWindow,
    ) -> Self::Fetch<'w>;

    /// Some rows of a fetch as references, where it can be: as arguments of a function they tell
    /// the compiler that the columns do not overlap, which pointers do not.
    type Run<'w>;

    fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> Self::Run<'a>;

    /// A fetch that goes by the references of a run of its rows. It is good for these rows alone.
    fn with_run<'a, 'w: 'a>(
        fetch: &Self::Fetch<'w>,
        run: Self::Run<'a>,
        right: &RangeToken<'a>,
    ) -> Self::Fetch<'a>;

    /// Calls `f` with each of these rows, as the data that is made of these parts.
    #[inline]
    fn visit<'a, 'w: 'a, Row: QueryData<Parts = Self>>(
        fetch: &Self::Fetch<'w>,
        right: RangeToken<'a>,
        f: &mut impl FnMut(Row::Item<'a>),
    ) {
        right.into_rows().for_each(|right| f(Row::from_parts(Self::item(fetch, right))));
    }

    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a>;
}

/// The members of [`QueryParts`] about what views keep, for data that keeps no address. It uses names
/// that have to be in scope.
macro_rules! cached_place {
    () => {
        type Cached = CachedPlace<Self::Slots>;

        fn cache(slots: &Self::Slots, chunk: &ChunkRef<'_>) -> Self::Cached {
            CachedPlace::new(*slots, chunk)
        }

        #[inline]
        fn open_cached<'w>(
            cached: &Self::Cached,
            token: CacheToken<'w>,
            moment: ChangeWindow,
        ) -> Self::Fetch<'w> {
            Self::lookup(&cached.slots, &cached.chunk(token, moment))
        }
    };
}

pub(super) use cached_place;

/// The members of [`QueryParts`] that tell which rows have a component of type `T`. It uses names
/// that have to be in scope.
macro_rules! one_term {
    ($term:ty, $use:ident, narrows: $narrows:expr $(, $may:expr, $why_not:literal)?) => {
        type State = TermState<$term>;
        type Slots = TermSlot;

        const NARROWS: bool = $narrows;

        fn state(ids: &mut IdSource<'_>) -> Self::State {
            $(const { assert!($may, $why_not) };)?
            (ids.id::<T>(), PhantomData)
        }

        fn access(state: &Self::State, access: &mut Access) {
            access.add(Use::$use, state.0);
            if Self::NARROWS {
                access.add(Use::BitRead, state.0);
            }
        }

        fn slots(state: &Self::State, archetype: &Archetype) -> Option<TermSlot> {
            TermSlot::find(state.0, archetype)
        }

        #[inline]
        fn rows(slots: &TermSlot, chunk: &ChunkRef<'_>, rows: &mut Rows) {
            if Self::NARROWS {
                slots.bits.keep_enabled(chunk, rows);
            }
        }
    };
}

pub(super) use one_term;

/// The members of [`QueryParts`] about runs, for data that is opened for a run as for a chunk.
macro_rules! own_run {
    () => {
        type Run<'w> = Self::Fetch<'w>;

        #[inline]
        fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, _right: RangeToken<'a>) -> Self::Run<'a> {
            *fetch
        }

        #[inline]
        fn with_run<'a, 'w: 'a>(
            _fetch: &Self::Fetch<'w>,
            run: Self::Run<'a>,
            _right: &RangeToken<'a>,
        ) -> Self::Fetch<'a> {
            run
        }
    };
}

pub(super) use own_run;

/// Keeps [`QueryFilter`](super::QueryFilter) inside this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query filter",
    label = "not a filter",
    note = "filters are `With<T>`, `Without<T>`, `Changed<T>`, `Added<T>`, `Present<T>`, `Disabled<T>`, `Or<(..)>`, `Not<F>`, or a tuple of such"
)]
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait SealedFilter {}

/// Query data that a run of rows gives as slices.
///
/// ```
/// use formic_ecs::prelude::*;
/// # use formic_ecs::ColumnData;
/// # #[derive(Component)] struct Gold(u32);
/// // What a run gives has a name, for functions that take any query.
/// fn longest<Q: ColumnData>(world: &mut World, len: impl Fn(Q::Columns<'_>) -> usize) -> usize {
///     let mut longest = 0;
///     world.query::<Q>().for_each_chunk(|columns| longest = longest.max(len(columns)));
///     longest
/// }
/// let mut world = World::new();
/// world.spawn_batch((0..100).map(Gold));
/// assert!(longest::<&Gold>(&mut world, <[Gold]>::len) > 0);
/// ```
pub trait ColumnData: QueryData<Parts: ColumnParts> {
    /// What a run of rows gives: a slice for a component, a tuple of slices for a tuple.
    type Columns<'w>;

    #[doc(hidden)]
    fn columns<'a, 'w: 'a>(fetch: &FetchOf<'w, Self>, right: RangeToken<'a>) -> Self::Columns<'a>;
}

impl<Q: QueryData<Parts: ColumnParts>> ColumnData for Q {
    type Columns<'w> = <Q::Parts as ColumnParts>::Columns<'w>;

    #[inline]
    fn columns<'a, 'w: 'a>(fetch: &FetchOf<'w, Self>, right: RangeToken<'a>) -> Self::Columns<'a> {
        Q::Parts::columns(fetch, right)
    }
}

/// What [`ColumnData`] is made of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be had as a slice",
    label = "has no column",
    note = "rows of `&T`, `&mut T` and `Entity` lie in slices; ask row by row for what else there is"
)]
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait ColumnParts: QueryParts {
    /// What a run of rows gives.
    type Columns<'w>;

    /// The slices of these rows.
    fn columns<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RangeToken<'a>) -> Self::Columns<'a>;
}

/// Query data that changes nothing: its access names no writes.
pub trait ReadOnly: QueryData<Parts: ReadOnlyParts> {}

impl<Q: QueryData<Parts: ReadOnlyParts>> ReadOnly for Q {}

/// Query data whose access names no writes. Unsafe code relies on it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may write, where only reading is allowed",
    label = "not read-only",
    note = "ask for `&T` in place of `&mut T`, or use the call that borrows the world mutably"
)]
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait ReadOnlyParts: QueryParts {}

/// The id of a component that is read or written; the marker keeps the plans of different types
/// and different uses apart.
#[doc(hidden)]
pub type TermState<Use> = (ComponentId, PhantomData<fn() -> Use>);

/// The state of what is wrapped; the marker keeps the plans of different wrappers apart.
#[doc(hidden)]
pub type WrapState<Wrapper, S> = (S, PhantomData<fn() -> Wrapper>);

/// Where a component is in an archetype: its column, its bits and its versions of rows, if it has
/// any.
// Small: a plan has one for each term and archetype, and a query of many archetypes costs what it
// brings into the cache.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermSlot {
    column: u32,
    pub(crate) bits: MarkSlot,
    track: MarkSlot,
}

/// Which of an archetype's enabled bits, or versions of rows, are a component's, if any.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkSlot(u32);

impl MarkSlot {
    pub(crate) const NONE: Self = Self(u32::MAX);

    fn new(place: Option<usize>) -> Self {
        let slot = |at| Self(u32::try_from(at).expect("fewer than 2^32 components"));
        place.map_or(Self::NONE, slot)
    }

    #[inline]
    pub(crate) fn get(self) -> Option<usize> {
        (self.0 != u32::MAX).then_some(self.0 as usize)
    }

    /// Narrows to the rows whose bits are on.
    #[inline]
    pub(crate) fn keep_enabled(self, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        if let Some(slot) = self.get() {
            rows.keep(chunk.words(slot), chunk.len());
        }
    }

    /// Narrows to the rows whose bits are off.
    #[inline]
    pub(crate) fn keep_disabled(self, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        if let Some(slot) = self.get() {
            rows.drop_set(chunk.words(slot), chunk.len());
        }
    }
}

impl TermSlot {
    pub(crate) fn find(id: ComponentId, archetype: &Archetype) -> Option<Self> {
        let column = archetype.column_of(id)?;
        let found = &archetype.columns[column];
        let bits = MarkSlot::new(found.enable_slot);
        let column = u32::try_from(column).expect("fewer than 2^32 components");
        Some(Self { column, bits, track: MarkSlot::new(found.track_slot) })
    }

    #[inline]
    pub(crate) fn column(&self) -> usize {
        self.column as usize
    }

    /// Keeps the rows that were changed after a version, or that the component was added to.
    #[inline]
    pub(crate) fn keep_later(&self, added: bool, chunk: &ChunkRef<'_>, rows: &mut Rows) {
        let since = chunk.moment.since;
        let stamps = chunk.record(self.column()).stamps();
        // The chunk's stamp is no older than that of any row.
        if (if added { stamps.added() } else { stamps.changed() }) <= since {
            *rows = Rows::None;
        } else if let Some(versions) = self.row_versions(chunk) {
            let of_rows = if added { &versions.added } else { &versions.changed };
            of_rows.keep_after(since, chunk.len(), rows);
        }
    }

    /// The versions of the rows of a chunk, if the component is tracked.
    #[inline]
    pub(crate) fn row_versions<'w>(&self, chunk: &ChunkRef<'w>) -> Option<&'w ChunkVersions> {
        Some(chunk.chunks.row_versions(self.track.get()?, chunk.chunk))
    }
}
