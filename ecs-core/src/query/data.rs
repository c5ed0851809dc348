//! Query data: the data that a query can ask for in each row.

mod component;
mod enabled;
mod entity;
mod tracked;
mod tuple;
mod wrapped;

use super::access::{Access, Use};
use super::column::{AddressToken, ChunkAddress, ChunkRef, RangeToken, RowToken, Values};
use super::term::{Term, TermSlot, TermState, WrapState, term};
use crate::archetype::Archetype;
use crate::component::IdSource;
use crate::mask::Rows;
use crate::storage::{ChangeWindow, ChunkVersions};

pub use component::WriteFetch;
pub use enabled::{BitsFetch, Enabled, EnabledBit, EnabledBitMut, EnabledMut};
pub use entity::Claimant;
pub use tracked::{Mut, Ref, VersionedFetch};
pub use wrapped::Present;

/// The data that a query returns for each row: `&T`, `&mut T`, [`Ref<T>`](Ref), [`Mut<T>`](Mut),
/// [`Entity`](crate::Entity), [`Claimant`], [`Enabled<T>`], [`EnabledMut<T>`], `Option` and [`Present`]
/// of these, and tuples and structs of them, nested to any depth.
///
/// A disabled component counts as absent: `&T` skips the row, and `Option<&T>` gives `None`.
/// [`Present<&T>`](Present) gives it regardless.
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
/// A struct of query data derives this trait. Each field has the type of the item that its data gives.
/// Where the data is another type, as for `Present` and `Enabled`, `#[query_data(from = ...)]` names the
/// data.
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
/// The struct has one lifetime or none, and is at most as public as its components. Such structs nest,
/// and `for_each_chunk` gives a tuple of slices in the order of the fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for in a query",
    label = "not query data",
    note = "a component is asked for as `&T` or `&mut T`, and has `#[derive(Component)]`; there are `Option` of these, `Entity`, `Ref<T>`, `Mut<T>`, `Enabled<T>`, and tuples of such",
    note = "filters come second: `Query<Entity, With<T>>`",
    note = "a struct of such is query data with `#[derive(QueryData)]`"
)]
#[doc(alias = "Has")]
pub trait QueryData {
    /// The item that one row gives.
    type Item<'w>;

    /// The same data without write access: `&T` for `&mut T`, [`Ref`] for [`Mut`], [`Enabled`] for
    /// [`EnabledMut`], the entity for its [`Claimant`]. A derived struct is its own read-only form,
    /// unless `#[query_data(read_only = ...)]` names one.
    type ReadOnly: QueryData;

    /// The parts that this data consists of: data of this crate, such as a tuple.
    #[doc(hidden)]
    type Parts: QueryParts;

    /// Creates the item of a row from the items of its parts.
    #[doc(hidden)]
    fn from_parts<'w>(parts: PartsItem<'w, Self>) -> Self::Item<'w>;
}

/// The item of the parts of some data.
#[doc(hidden)]
pub type PartsItem<'w, Q> = <<Q as QueryData>::Parts as QueryData>::Item<'w>;

/// A chunk that was opened for some data.
pub(crate) type FetchOf<'w, Q> = <<Q as QueryData>::Parts as QueryParts>::Fetch<'w>;

/// The addresses of some data in one chunk, kept beyond the borrow of the chunks.
pub(crate) type AddressOf<Q> = <<Q as QueryData>::Parts as QueryParts>::Address;

/// Returns the item of one row.
#[inline]
pub(super) fn item<'a, 'w: 'a, Q: QueryData>(
    fetch: &FetchOf<'w, Q>,
    token: RowToken<'a>,
) -> Q::Item<'a> {
    Q::from_parts(Q::Parts::item(fetch, token))
}

/// Implements the members of [`QueryData`] except `Item`, for data that has no parts but itself.
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

/// The steps by which a query opens query data and hands it out. They call no user code, except `visit`.
///
/// Unsafe code relies on this trait. The access that `state` adds names every component to whose values
/// `item` and `run` give references, as written if they give mutable ones. `open`, `fetch`, `item` and
/// `run` access nothing else. They pass a row or range token only to the parts of the fetch that it came
/// with, and an address token only to the addresses that it is for.
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait QueryParts: QueryData + Term {
    /// The addresses of the data in one chunk, kept beyond the borrow of the chunks. A view keeps those
    /// of each chunk, the plan of a query those of the first chunk of each archetype.
    type Address: PartialEq + Send + Sync + 'static;
    /// An opened chunk. The default value stands for no chunk, and no row of it may be requested.
    type Fetch<'w>: Clone + Default;

    fn address(slots: &Self::Slots, chunk: &ChunkRef<'_>) -> Self::Address;

    /// Opens a chunk, and stamps the columns that `&mut T` writes. Components count as present whether
    /// they are enabled or not.
    fn open<'w>(
        address: &Self::Address,
        token: AddressToken<'w>,
        window: ChangeWindow,
    ) -> Self::Fetch<'w>;

    /// Opens a chunk.
    #[inline(always)]
    fn fetch<'w>(slots: &Self::Slots, chunk: &ChunkRef<'w>) -> Self::Fetch<'w> {
        chunk.open(|chunk| Self::address(slots, chunk), Self::open)
    }

    /// A run of rows as references, if there can be such references. As function arguments, unlike
    /// pointers, they tell the compiler that the columns do not overlap.
    type Run<'w>;

    /// Returns these rows as references. It stamps the values that it lends for writing.
    fn run<'w>(fetch: &Self::Fetch<'w>, token: RangeToken<'w>) -> Self::Run<'w>;

    /// Returns a fetch that accesses its values through the references of a run. It is valid for the rows
    /// of that run only.
    fn with_run<'w>(
        fetch: &Self::Fetch<'w>,
        run: Self::Run<'w>,
        token: &RangeToken<'w>,
    ) -> Self::Fetch<'w>;

    /// Calls `f` with each of these rows, as an item of the data that has these parts.
    #[inline]
    fn visit<'w, Row: QueryData<Parts = Self>>(
        fetch: &Self::Fetch<'w>,
        token: RangeToken<'w>,
        f: &mut impl FnMut(Row::Item<'w>),
    ) {
        let fetch = Self::with_run(fetch, Self::run(fetch, token.clone()), &token);
        token.into_rows().for_each(|token| f(Row::from_parts(Self::item(&fetch, token))));
    }

    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, token: RowToken<'a>) -> Self::Item<'a>;
}

/// Implements the members of [`QueryParts`] about runs, for data whose runs give no references.
macro_rules! no_run {
    () => {
        type Run<'w> = ();

        #[inline]
        fn run<'w>(_fetch: &Self::Fetch<'w>, _right: RangeToken<'w>) {}

        #[inline]
        fn with_run<'w>(
            fetch: &Self::Fetch<'w>,
            (): (),
            _right: &RangeToken<'w>,
        ) -> Self::Fetch<'w> {
            fetch.clone()
        }
    };
}

pub(super) use no_run;

/// Implements the members of [`QueryParts`] except `address` and `item`, for a column of `$value` that is
/// only read.
macro_rules! read_column {
    ($value:ty) => {
        type Address = ChunkAddress<$value>;
        type Fetch<'w> = Values<'w, $value>;
        type Run<'w> = &'w [$value];

        #[inline]
        fn open<'w>(
            address: &Self::Address,
            token: AddressToken<'w>,
            _window: ChangeWindow,
        ) -> Self::Fetch<'w> {
            Values::at(*address, token)
        }

        #[inline]
        fn run<'w>(fetch: &Self::Fetch<'w>, token: RangeToken<'w>) -> Self::Run<'w> {
            fetch.read_run(&token)
        }

        #[inline]
        fn with_run<'w>(
            _fetch: &Self::Fetch<'w>,
            run: Self::Run<'w>,
            token: &RangeToken<'w>,
        ) -> Self::Fetch<'w> {
            Values::of_run(run, token)
        }
    };
}

pub(super) use read_column;

/// Query data that gives a run of rows as slices.
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
    /// The slices of a run of rows: a slice for a component, a tuple of slices for a tuple.
    type Columns<'w>;

    #[doc(hidden)]
    fn columns<'w>(fetch: &FetchOf<'w, Self>, token: RangeToken<'w>) -> Self::Columns<'w>;
}

impl<Q: QueryData<Parts: ColumnParts>> ColumnData for Q {
    type Columns<'w> = <Q::Parts as QueryParts>::Run<'w>;

    #[inline]
    fn columns<'w>(fetch: &FetchOf<'w, Self>, token: RangeToken<'w>) -> Self::Columns<'w> {
        Q::Parts::run(fetch, token)
    }
}

/// The parts of [`ColumnData`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be had as a slice",
    label = "has no column",
    note = "rows of `&T`, `&mut T` and `Entity` lie in slices; ask row by row for what else there is"
)]
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait ColumnParts: QueryParts {}

/// Query data that changes nothing: its access contains no writes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may write, where only reading is allowed",
    label = "not read-only",
    note = "ask for `&T` in place of `&mut T`, or use the call that borrows the world mutably"
)]
pub trait ReadOnly: QueryData<Parts: ReadOnlyParts> {}

impl<Q: QueryData<Parts: ReadOnlyParts>> ReadOnly for Q {}

/// Parts whose access contains no writes. Unsafe code relies on this.
// The compiler shows this message for the members of a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may write, where only reading is allowed",
    label = "not read-only",
    note = "ask for `&T` in place of `&mut T`, or use the call that borrows the world mutably"
)]
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub trait ReadOnlyParts: QueryParts {}
