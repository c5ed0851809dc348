//! Bundles: a component, or several, that are moved into a row or out of it together.
#![expect(
    unsafe_code,
    reason = "writes components into reserved rows and reads them out of given-up ones"
)]

use alloc::vec::Vec;
use core::any::TypeId;
use core::ptr::NonNull;

use smallvec::SmallVec;

use crate::component::{Component, ComponentId, Registry};
use crate::entity::Entity;

/// Components that are inserted or removed together: one component, a tuple of up to twelve bundles, or a
/// struct of bundles that derives `Bundle`.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// # #[derive(Component)] struct Speed(f32);
/// # #[derive(Component, Debug, PartialEq)] struct Imp;
/// #[derive(Bundle)]
/// struct Body {
///     position: Position,
///     speed: Speed,
/// }
///
/// let mut world = World::new();
/// let body = Body { position: Position(0.0), speed: Speed(1.5) };
/// let imp = world.spawn((Imp, body));
/// assert_eq!(world.remove::<Body>(imp)?.speed.0, 1.5);
/// assert_eq!(world.get(imp), Ok(&Imp));
/// # Ok::<(), formic_ecs::ComponentError>(())
/// ```
///
/// A generic struct needs the bounds that its fields need, such as `T: Component`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle",
    label = "not a bundle",
    note = "a bundle is a component, or a tuple of bundles: add `#[derive(Component)]` to each type in it",
    note = "a struct of components is a bundle with `#[derive(Bundle)]`"
)]
#[doc(alias = "EntityBuilder")]
pub trait Bundle: Send + Sync + Sized + 'static {
    /// The parts of the bundle: those of a component, or of a tuple of bundles.
    #[doc(hidden)]
    type Parts: Parts;

    /// Splits the bundle into its parts. It is called before the world begins to change.
    #[doc(hidden)]
    fn into_parts(self) -> Self::Parts;

    /// Assembles the bundle from its parts. It is called after the world has changed.
    #[doc(hidden)]
    fn from_parts(parts: Self::Parts) -> Self;
}

/// Maps the entities that the components of a bundle refer to.
pub(crate) fn mapped<B: Bundle>(bundle: B, map: &mut dyn FnMut(Entity) -> Entity) -> B {
    let mut parts = bundle.into_parts();
    parts.map_entities(map);
    B::from_parts(parts)
}

/// The components of a bundle, as they are moved into a row and out of it. No other crate can name it.
/// Two of its functions call user code: `map_entities`, and `register`, to which a type that is new to the
/// world says its name.
///
/// # Safety
/// `COUNT` is the number of components that `register` appends, in declared order. `write` initialises,
/// and `read` moves out, exactly these, the k-th through the k-th pointer. Callers rely on columns
/// written this way being initialised (I-2), with their components' types (I-9).
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub unsafe trait Parts: Send + Sync + Sized + 'static {
    /// The number of components.
    const COUNT: usize;

    /// Whether any of them may refer to entities.
    const MAPS_ENTITIES: bool;

    /// Appends the ids of the components in declared order.
    fn register(registry: &mut Registry, ids: &mut Vec<ComponentId>);

    /// Maps the entities that the components refer to.
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity);

    /// Moves the components into a row.
    ///
    /// # Safety
    /// The k-th of `columns` is the start of a column of the k-th component's type (I-9), and `row`
    /// is a row in it (I-3) that is reserved and unowned (I-2).
    unsafe fn write(self, columns: &[NonNull<u8>], row: usize);

    /// Moves the components out of a row.
    ///
    /// # Safety
    /// The k-th of `columns` is the start of a column of the k-th component's type (I-9), and `row`
    /// is a row in it (I-3) that is initialised (I-2) and given up.
    unsafe fn read(columns: &[NonNull<u8>], row: usize) -> Self;
}

/// A bundle whose type its holder need not know.
///
/// # Safety
/// The requirements of [`Parts`]: the value is a `Parts` of the type that `write` checks for.
pub(crate) unsafe trait AnyParts {
    /// Moves the bundle into a row, as [`Parts::write`] does.
    ///
    /// # Panics
    /// Panics if the columns belong to a bundle of another type, or to none.
    ///
    /// # Safety
    /// The requirements of [`Parts::write`] of that type.
    unsafe fn write(self, columns: &BundleColumns, row: usize);
}

impl<T: Component> Bundle for T {
    type Parts = Value<T>;

    #[inline]
    fn into_parts(self) -> Self::Parts {
        Value(self)
    }

    #[inline]
    fn from_parts(Value(value): Self::Parts) -> Self {
        value
    }
}

/// The parts of one component.
#[expect(unnameable_types, reason = "it is hidden behind `Bundle::Parts`")]
#[derive(Debug)]
pub struct Value<T>(T);

// SAFETY: one component means one id, and one value of its type written through the first pointer, so a
// written row has it (I-2).
unsafe impl<T: Component> Parts for Value<T> {
    const COUNT: usize = {
        assert!(!T::MANAGED, "this component is the world's to give and to take");
        1
    };
    const MAPS_ENTITIES: bool = T::MAP_ENTITIES.is_some();

    fn register(registry: &mut Registry, ids: &mut Vec<ComponentId>) {
        ids.push(registry.register::<T>());
    }

    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        if let Some(map_entities) = T::MAP_ENTITIES {
            map_entities(&mut self.0, map);
        }
    }

    unsafe fn write(self, columns: &[NonNull<u8>], row: usize) {
        let column = columns[0].cast::<T>();
        // SAFETY: the caller guarantees that the row is inside the column (I-3), which is of this type
        // (I-9).
        let target = unsafe { column.add(row) };
        // SAFETY: the caller guarantees that the row is reserved, so the place is aligned, in bounds
        // (I-3), and unowned (I-2).
        unsafe { target.write(self.0) };
    }

    unsafe fn read(columns: &[NonNull<u8>], row: usize) -> Self {
        let column = columns[0].cast::<T>();
        // SAFETY: the caller guarantees that the row is inside the column (I-3), which is of this type
        // (I-9).
        let source = unsafe { column.add(row) };
        // SAFETY: the caller guarantees that the row is initialised (I-2), and has given it up.
        Self(unsafe { source.read() })
    }
}

/// Calls `f` with the starts of the columns that the components of `P` are moved into or out of; `start`
/// returns the k-th.
#[inline(always)]
pub(crate) fn with_starts<P: Parts, R>(
    start: impl Fn(usize) -> NonNull<u8>,
    f: impl FnOnce(&[NonNull<u8>]) -> R,
) -> R {
    // `COUNT` is a constant: the compiler keeps one of these branches, unrolled.
    if const { P::COUNT > FEW } {
        return f(&many_starts(P::COUNT, &start));
    }
    let mut starts = [NonNull::dangling(); FEW];
    // An iterator would be more code for the compiler, which sees it for each bundle.
    let mut k = 0;
    while k < P::COUNT {
        starts[k] = start(k);
        k += 1;
    }
    f(&starts[..P::COUNT])
}

// Not generic: few bundles have so many components, so their code is compiled only once.
fn many_starts(count: usize, start: &dyn Fn(usize) -> NonNull<u8>) -> ColumnStarts {
    (0..count).map(start).collect()
}

/// The columns of a chunk that the components of a bundle are moved into.
#[derive(Debug)]
pub(crate) struct BundleColumns {
    /// The type of the bundle. If there is none, the type of this struct, which no bundle has.
    of: TypeId,
    pub(crate) starts: ColumnStarts,
}

impl BundleColumns {
    pub(crate) fn new(of: Option<TypeId>, starts: ColumnStarts) -> Self {
        Self { of: of.unwrap_or(TypeId::of::<Self>()), starts }
    }

    /// Checks that these are the columns of a bundle of type `P`.
    ///
    /// # Panics
    /// Panics if they are not.
    #[inline]
    pub(crate) fn expect<P: Parts>(&self) {
        assert!(self.of == TypeId::of::<P>(), "the columns are those of another bundle");
    }
}

impl Default for BundleColumns {
    fn default() -> Self {
        Self::new(None, ColumnStarts::new())
    }
}

/// The starts of the columns that a bundle's components are moved into or out of.
pub(crate) type ColumnStarts = SmallVec<[NonNull<u8>; 16]>;

/// The maximum number of starts that fit into registers.
const FEW: usize = 8;

impl Bundle for () {
    type Parts = ();

    #[inline]
    fn into_parts(self) {}

    #[inline]
    fn from_parts((): ()) {}
}

// SAFETY: there are no ids, and nothing is written or read: a written row lacks nothing (I-2).
unsafe impl Parts for () {
    const COUNT: usize = 0;
    const MAPS_ENTITIES: bool = false;

    fn register(_registry: &mut Registry, _ids: &mut Vec<ComponentId>) {}

    fn map_entities(&mut self, _map: &mut dyn FnMut(Entity) -> Entity) {}

    unsafe fn write(self, _columns: &[NonNull<u8>], _row: usize) {}

    unsafe fn read(_columns: &[NonNull<u8>], _row: usize) -> Self {}
}

/// The columns that are not yet assigned to a member of the tuple.
struct Rest<'a>(&'a [NonNull<u8>]);

impl<'a> Rest<'a> {
    #[inline]
    fn take(&mut self, count: usize) -> &'a [NonNull<u8>] {
        let (mine, rest) = self.0.split_at(count);
        self.0 = rest;
        mine
    }
}

macro_rules! tuple_bundle {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: Bundle),*> Bundle for ($($name,)*) {
            type Parts = ($($name::Parts,)*);

            #[inline]
            fn into_parts(self) -> Self::Parts {
                let ($($var,)*) = self;
                ($($var.into_parts(),)*)
            }

            #[inline]
            fn from_parts(parts: Self::Parts) -> Self {
                let ($($var,)*) = parts;
                ($($name::from_parts($var),)*)
            }
        }

        // SAFETY: the members' components follow each other. Each member gets the pointers that start at
        // the sum of the counts of the members before it, so all are written, each as its type (I-2,
        // I-9).
        unsafe impl<$($name: Parts),*> Parts for ($($name,)*) {
            const COUNT: usize = 0 $(+ $name::COUNT)*;
            const MAPS_ENTITIES: bool = false $(|| $name::MAPS_ENTITIES)*;

            fn register(registry: &mut Registry, ids: &mut Vec<ComponentId>) {
                $($name::register(registry, ids);)*
            }

            fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
                let ($($var,)*) = self;
                $($var.map_entities(map);)*
            }

            unsafe fn write(self, columns: &[NonNull<u8>], row: usize) {
                let ($($var,)*) = self;
                let mut columns = Rest(columns);
                $(
                    let mine = columns.take($name::COUNT);
                    // SAFETY: the caller's guarantees for all columns (I-2, I-3, I-9) hold for these.
                    unsafe { $var.write(mine, row) };
                )*
            }

            unsafe fn read(columns: &[NonNull<u8>], row: usize) -> Self {
                let mut columns = Rest(columns);
                $(
                    let mine = columns.take($name::COUNT);
                    // SAFETY: the caller's guarantees for all columns (I-2, I-3, I-9) hold for these.
                    let $var = unsafe { $name::read(mine, row) };
                )*
                ($($var,)*)
            }
        }
    };
}

for_each_tuple!(tuple_bundle);
