//! Bundles: one component or tuples of them, put into a row or taken out of it together.
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

/// Components that are given to an entity, or taken from it, in one go: one component, a tuple of
/// up to twelve bundles, or a struct that derives `Bundle`, of bundles.
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
/// A generic struct asks of its parameters what its fields need, such as `T: Component`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle",
    label = "not a bundle",
    note = "a bundle is a component, or a tuple of bundles: add `#[derive(Component)]` to each type in it",
    note = "a struct of components is a bundle with `#[derive(Bundle)]`"
)]
pub trait Bundle: Send + Sync + Sized + 'static {
    /// What it is made of: those of the components themselves, or of a tuple of bundles.
    #[doc(hidden)]
    type Parts: Parts;

    /// Takes it apart. It is called before the world begins to change.
    #[doc(hidden)]
    fn into_parts(self) -> Self::Parts;

    /// Puts it together again. It is called when the world has changed.
    #[doc(hidden)]
    fn from_parts(parts: Self::Parts) -> Self;
}

/// Maps the entities that the components of a bundle refer to.
pub(crate) fn mapped<B: Bundle>(bundle: B, map: &mut dyn FnMut(Entity) -> Entity) -> B {
    let mut parts = bundle.into_parts();
    parts.map_entities(map);
    B::from_parts(parts)
}

/// The components of a bundle, as they are moved into a row and out of it. No other crate can name
/// it, and its functions call no user code, `map_entities` apart.
///
/// # Safety
/// `COUNT` is the number of components in declared order that `register` appends; `write`
/// initialises, and `read` takes, exactly these, the k-th through the k-th pointer. Columns that
/// were written so are taken to be initialised (I-2), as their components' types (I-9).
#[expect(unnameable_types, reason = "who can name it can implement it")]
pub unsafe trait Parts: Send + Sync + Sized + 'static {
    /// How many components there are.
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

/// A bundle of a type that its holder need not know.
///
/// # Safety
/// As for [`Parts`], of which it is one, of the type that `write` insists on.
pub(crate) unsafe trait AnyParts {
    /// Moves it into a row, as [`Parts::write`] does.
    ///
    /// # Panics
    /// Panics if the columns are those of another type, or of none.
    ///
    /// # Safety
    /// As for [`Parts::write`] of that type.
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

/// A component.
#[expect(unnameable_types, reason = "it is hidden behind `Bundle::Parts`")]
#[derive(Debug)]
pub struct Value<T>(T);

// SAFETY: one component: one id, and one value of its type by the first pointer, so a row that is
// written has it (I-2).
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
        // SAFETY: the caller vouches for a row inside the column (I-3), which is of this type
        // (I-9).
        let target = unsafe { column.add(row) };
        // SAFETY: the caller vouches for a row that is reserved: aligned, in bounds (I-3), and
        // unowned (I-2).
        unsafe { target.write(self.0) };
    }

    unsafe fn read(columns: &[NonNull<u8>], row: usize) -> Self {
        let column = columns[0].cast::<T>();
        // SAFETY: the caller vouches for a row inside the column (I-3), which is of this type
        // (I-9).
        let source = unsafe { column.add(row) };
        // SAFETY: the caller vouches for a row that is initialised (I-2), and has given it up.
        Self(unsafe { source.read() })
    }
}

/// Calls `f` with the starts of the columns that the components of `P` go to or come from; `start`
/// gives that of the k-th.
#[inline(always)]
pub(crate) fn with_starts<P: Parts, R>(
    start: impl Fn(usize) -> NonNull<u8>,
    f: impl FnOnce(&[NonNull<u8>]) -> R,
) -> R {
    // The count is known to the compiler: one of these is left of it, unrolled.
    if P::COUNT > FEW {
        return f(&many_starts(P::COUNT, &start));
    }
    let mut starts = [NonNull::dangling(); FEW];
    (0..P::COUNT).for_each(|k| starts[k] = start(k));
    f(&starts[..P::COUNT])
}

// Not generic: few bundles have so many components, and their code is made once for all.
fn many_starts(count: usize, start: &dyn Fn(usize) -> NonNull<u8>) -> ColumnStarts {
    (0..count).map(start).collect()
}

/// The columns of a chunk that the components of a bundle go to.
#[derive(Debug)]
pub(crate) struct BundleColumns {
    /// The type of the bundle; if it has none, that of this, which no bundle is of.
    of: TypeId,
    pub(crate) starts: ColumnStarts,
}

impl BundleColumns {
    pub(crate) fn new(of: Option<TypeId>, starts: ColumnStarts) -> Self {
        Self { of: of.unwrap_or(TypeId::of::<Self>()), starts }
    }

    /// Sees to it that these are the columns of a bundle of type `P`.
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

/// The starts of the columns that a bundle's components go to or come from.
pub(crate) type ColumnStarts = SmallVec<[NonNull<u8>; 16]>;

/// Few enough to lie in registers.
const FEW: usize = 8;

impl Bundle for () {
    type Parts = ();

    #[inline]
    fn into_parts(self) {}

    #[inline]
    fn from_parts((): ()) {}
}

// SAFETY: no ids, and nothing is written or read: a row that is written lacks nothing (I-2).
unsafe impl Parts for () {
    const COUNT: usize = 0;
    const MAPS_ENTITIES: bool = false;

    fn register(_registry: &mut Registry, _ids: &mut Vec<ComponentId>) {}

    fn map_entities(&mut self, _map: &mut dyn FnMut(Entity) -> Entity) {}

    unsafe fn write(self, _columns: &[NonNull<u8>], _row: usize) {}

    unsafe fn read(_columns: &[NonNull<u8>], _row: usize) -> Self {}
}

/// The columns of a tuple's members that have not been dealt out yet.
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

        // SAFETY: the members' components one after the other; each member gets the pointers from
        // the sum of its forerunners' counts on, so all are written, each as its type (I-2, I-9).
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
                    // SAFETY: what the caller vouches for in all columns (I-2, I-3, I-9) holds for
                    // these.
                    unsafe { $var.write(mine, row) };
                )*
            }

            unsafe fn read(columns: &[NonNull<u8>], row: usize) -> Self {
                let mut columns = Rest(columns);
                $(
                    let mine = columns.take($name::COUNT);
                    // SAFETY: what the caller vouches for in all columns (I-2, I-3, I-9) holds for
                    // these.
                    let $var = unsafe { $name::read(mine, row) };
                )*
                ($($var,)*)
            }
        }
    };
}

for_each_tuple!(tuple_bundle);
