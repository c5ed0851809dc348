//! The component trait, and the ids by which a world knows its component types.

mod codec;
mod erased;
mod fields;
mod hash_rule;
mod registry;

use core::fmt;
use core::marker::PhantomData;

use crate::entity::Entity;
use crate::hash::StateHasher;
use crate::name::Name;

pub(crate) use codec::CodecKind;
pub use codec::{Codec, CodecError, ReadFn, WriteFn};
pub use erased::DropValueFn;
pub(crate) use erased::{
    CloneFn as CloneErasedFn, DebugFn as DebugErasedFn, DropFn as DropErasedFn, ErasedFns,
    MapFn as MapErasedFn,
};
pub(crate) use fields::are_still_values;
pub use fields::{DefaultFn, FieldFns, FieldText};
#[doc(hidden)]
pub use fields::{
    FieldProbe, ShowDebug, ShowFour, ShowNothing, ShowText, ShowThree, ShowTwo, field_text,
    not_editable, offset_in, variant_text,
};
#[doc(hidden)]
pub use fields::{FieldTexts, enum_text, struct_text};
pub use hash_rule::HashRule;
pub(crate) use registry::{ArchetypeFlags, ComponentKind};
pub use registry::{ComponentInfo, Despawned, IdSource, InfoOf, Registry};

/// Data that entities can have. Any type that can be shared and sent between threads can be a component.
///
/// Derive it. The derive detects what else the type implements, so nothing is declared twice. A type that
/// is `Clone` can be instantiated. A type that is `bytemuck::NoUninit` and `bytemuck::CheckedBitPattern`
/// (every `Pod` is) is saved in snapshots as its bytes. A type without fields is saved as well.
///
/// The state hash covers every value: the bytes of plain data, and otherwise each field, which must be
/// plain data or [`HashState`](crate::HashState). A field that is neither does not compile, unless one of
/// the options `serde` and `unhashed` covers it. Options are given in `#[component(...)]`:
///
/// * `enableable`: the component can be enabled and disabled per entity, without moving it. The effect of
///   each operation on a disabled component is listed in [a table](crate::enableable).
/// * `tracked`: the world records for each entity when the component was changed and when it was added,
///   so that [`Changed`](crate::Changed) and [`Added`](crate::Added) are exact. Without it they work per
///   chunk.
/// * `cleanup`: the component [outlives the despawning](Component::CLEANUP) of its entity.
/// * `hides`: queries skip entities with it, unless they name it.
/// * `unique`: an entity with it cannot be instantiated, even if the type is `Clone`.
/// * `name = "..."`: the component's name, instead of the type's path. It names the component in the
///   state hash and in snapshots, and does not change when the type moves.
/// * `was = "..."`: a name that the component had in an earlier version of the program: its `name`, or
///   the path of its type. It may be repeated. Snapshots of that version are
///   [restored](crate::World::restore) as if they had the new name.
/// * `serde`: values are saved in snapshots and hashed by `Codec::serde`, so that fields can be added and
///   removed between two versions of the program. Requires this crate's feature `serde`.
/// * `transient`: values are not saved in snapshots; restoring inserts the default value instead. The
///   state hash takes the values in unless the component is `unhashed` as well.
/// * `unhashed`: the state hash leaves the values out, and [reports it](crate::StateHash::uncovered). Use
///   it for data that is not part of the game's state, such as caches and system handles.
/// * `editable`: a text may set its fields, including private ones, by
///   [`ByIdMut::set_field`](crate::ByIdMut::set_field). Not for types with invariants on their contents.
/// * `buffer = N`: the type is the element of a [`Buffer`](crate::Buffer), with this many elements in the
///   chunk. The type itself is then no component. `serde`, `transient` and `unhashed` apply to each
///   element, the other options to the buffer; `cleanup`, `hides` and `editable` are not for buffers.
/// * `crate = path`: the path of this crate, if the derive does not find it in the manifest. It finds
///   `formic-ecs`, renamed or not, and the facade `formic`.
/// * `#[component(entity)]` on a field: the field holds an [`Entity`], an `Option<Entity>`, or any type
///   that is [`MapEntities`]. It is remapped when a prefab is instantiated, or a command buffer with
///   deferred entities is played back. A type that is itself `MapEntities` needs no marks.
/// * `#[component(name = "...")]` on a field of plain data: the name of the field in snapshots, for a
///   field that was renamed. See [`fields`](Component::fields).
///
/// The capabilities of a *generic* type depend on its parameters, which the derive cannot see. Implement
/// the trait by hand for it, with the constants that apply.
///
/// ```
/// use formic_ecs::prelude::*;
///
/// #[derive(Component, Clone)]
/// struct Name(String);
///
/// #[derive(Component)]
/// #[component(enableable)]
/// struct Executing;
///
/// #[derive(Component, Clone, Copy)]
/// struct Target(#[component(entity)] Entity);
/// ```
///
/// An implementation by hand states how the component is [hashed](HashRule), and has the other
/// capabilities that its constants name:
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{BytesFn, CloneFn, Codec, HashRule, MapEntitiesFn};
///
/// struct Opaque(Box<dyn Fn() + Send + Sync>);
/// impl Component for Opaque {
///     const HASH: HashRule<Self> = HashRule::Unhashed;
/// }
///
/// #[derive(Clone, Copy)]
/// struct Order<T> {
///     by: Entity,
///     what: T,
/// }
/// impl<T: Copy + Default + Into<u64> + Send + Sync + 'static> Component for Order<T> {
///     const ENABLEABLE: bool = true;
///     const TRACKED: bool = true;
///     const HIDES: bool = false;
///     const MANAGED: bool = false;
///     const CLONE: Option<CloneFn<Self>> = Some(|order| *order);
///     // There may be padding between the fields, so it has no bytes to see.
///     const BYTES: Option<BytesFn<Self>> = None;
///     const HASH: HashRule<Self> = HashRule::Fields(|order, hasher| {
///         hasher.write_u64(order.by.to_bits());
///         hasher.write_u64(order.what.into());
///     });
///     const MAP_ENTITIES: Option<MapEntitiesFn<Self>> =
///         Some(|order, map| order.by = map(order.by));
///     const CODEC: Codec<Self> = Codec::UNSAVED;
///
///     fn name() -> &'static str {
///         "game.order"
///     }
/// }
///
/// let mut world = World::new();
/// let king = world.spawn(());
/// let order = world.spawn(Order { by: king, what: 7_u8 });
/// world.set_enabled::<Order<u8>>(order, false)?;
/// let copy = world.instantiate(order, 1)?[0];
/// assert_eq!(world.get::<Order<u8>>(copy)?.what, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "not a component",
    note = "add `#[derive(Component)]` to `{Self}`"
)]
pub trait Component: Send + Sync + Sized + 'static {
    /// Whether each row has a bit that enables and disables the component.
    const ENABLEABLE: bool = false;
    /// Whether each row has versions that record when the component was changed and added.
    const TRACKED: bool = false;
    /// Copies a value, for instantiation.
    const CLONE: Option<CloneFn<Self>> = None;
    /// Advice for the error of instantiating an entity with this component, if there is no `CLONE`.
    const INSTEAD_OF_CLONE: &'static str = "";
    /// Views values as bytes, for access by id.
    const BYTES: Option<BytesFn<Self>> = None;
    /// The rule by which the state hash covers values.
    const HASH: HashRule<Self>;
    /// Formats a value for a person to read.
    const DEBUG: Option<DebugFn<Self>> = None;
    /// Formats the fields of a value for a person to read, and sets one from a text.
    const FIELDS: Option<FieldFns<Self>> = None;
    /// Creates the default value.
    const DEFAULT: Option<DefaultFn<Self>> = None;
    /// Replaces the entities that a value refers to.
    const MAP_ENTITIES: Option<MapEntitiesFn<Self>> = None;
    /// Whether the component outlives the despawning of its entity. A system has to clean up what it
    /// stands for, and then remove it.
    ///
    /// `despawn` removes all other components, and gives the entity the tag [`Despawned`]. The handle
    /// stays valid until the last cleanup component is removed. Then the entity is gone, with any
    /// components that it was given meanwhile. Queries that look for such entities name the tag. Copies
    /// do not get the component. `World::clear` does not wait for it.
    const CLEANUP: bool = false;
    /// Whether queries skip the entities that have it, unless they name it in a term.
    const HIDES: bool = false;
    /// Whether only the world may add, change and remove the component. A bundle that contains it, or a
    /// query that writes to it, does not compile.
    const MANAGED: bool = false;
    /// The codec that saves values in a snapshot.
    const CODEC: Codec<Self> = Codec::UNSAVED;
    /// The [names](Self::name) that it had in earlier versions of the program, by which their snapshots
    /// are restored.
    const WAS: &'static [&'static str] = &[];

    /// The name in messages, in the state hash and in snapshots. No two saved types of a world may have
    /// the same name. Buffers and the sides of relations without a name of their own are an exception:
    /// hashes and snapshots use names for them that no new version changes, which
    /// [`World::component_info`](crate::World::component_info) reports.
    #[must_use]
    fn name() -> &'static str {
        core::any::type_name::<Self>()
    }

    /// The name in worlds, hashes and snapshots. For the crate's own generic types it does not change
    /// when they move to another module.
    #[doc(hidden)]
    #[must_use]
    fn lasting_name() -> Name {
        Name::from(Self::name())
    }

    /// The fields of plain data as text: names and types. A snapshot records it, and is restored only if
    /// it is the same, or has more variants at the end of an enum. An empty text is not compared.
    #[must_use]
    fn fields() -> Name {
        Name::from("")
    }

    /// The description of the type in worlds. Derived code repeats this function, so that it is compiled in
    /// the crate of the type, and not again in each crate that names the type in a query.
    #[doc(hidden)]
    #[must_use]
    fn info() -> InfoOf<Self> {
        InfoOf::of()
    }
}

/// A function that copies a component.
pub type CloneFn<T> = fn(&T) -> T;
/// A function that views components as bytes.
pub type BytesFn<T> = fn(&[T]) -> &[u8];
/// A function that formats a component for a person to read.
pub type DebugFn<T> = fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result;
/// A function that adds a component to the state hash.
pub type HashFn<T> = fn(&T, &mut StateHasher);
/// A function that replaces the entities that a component refers to.
pub type MapEntitiesFn<T> = fn(&mut T, &mut dyn FnMut(Entity) -> Entity);

/// A value that refers to entities which can be replaced by others.
///
/// For the types of fields marked `#[component(entity)]`.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::MapEntities;
///
/// #[derive(HashState)]
/// struct Party {
///     leader: Entity,
///     others: Vec<Entity>,
/// }
///
/// impl MapEntities for Party {
///     fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
///         self.leader.map_entities(map);
///         self.others.map_entities(map);
///     }
/// }
///
/// #[derive(Component)]
/// struct Joined(#[component(entity)] Party);
///
/// let mut world = World::new();
/// let mut commands = CommandBuffer::new(&world);
/// let leader = commands.spawn(());
/// let others = vec![commands.spawn(())];
/// let quest = commands.spawn(Joined(Party { leader, others }));
/// commands.play(&mut world);
/// let joined = world.query::<&Joined>().first().expect("one");
/// assert!(!joined.0.leader.is_deferred() && !joined.0.others[0].is_deferred());
/// # assert!(quest.is_deferred());
/// ```
pub trait MapEntities {
    /// Replaces every entity in `self` by the result of `map`.
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity);
}

impl MapEntities for Entity {
    fn map_entities(&mut self, map: &mut dyn FnMut(Self) -> Self) {
        *self = map(*self);
    }
}

impl<T: MapEntities> MapEntities for Option<T> {
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        if let Some(value) = self {
            value.map_entities(map);
        }
    }
}

impl<T: MapEntities> MapEntities for [T] {
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        for value in self {
            value.map_entities(map);
        }
    }
}

impl<T: MapEntities, const N: usize> MapEntities for [T; N] {
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        self.as_mut_slice().map_entities(map);
    }
}

impl<T: MapEntities> MapEntities for alloc::vec::Vec<T> {
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        self.as_mut_slice().map_entities(map);
    }
}

macro_rules! map_tuple {
    ($(($name:ident $var:ident)),*) => {
        impl<$($name: MapEntities),*> MapEntities for ($($name,)*) {
            fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
                let ($($var,)*) = self;
                $($var.map_entities(map);)*
            }
        }
    };
}

for_each_tuple!(map_tuple);

/// The number of a component in one world, in order of first use. The component is a type, or was
/// registered at run time.
///
/// It is only a number. In another world it means another component, or none. Functions that take an id
/// check it as far as possible. An id of another world causes an error or refers to another component,
/// and is never undefined behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId(pub(crate) u32);

impl ComponentId {
    /// Stands for a type that is not registered in the world: no archetype has it.
    pub(crate) const UNKNOWN: Self = Self(u32::MAX);

    /// Returns the number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Detects at compile time what a type implements, for the derive.
///
/// An inherent constant takes precedence over a trait's, and exists only if its bounds hold.
#[doc(hidden)]
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// The fallback of [`Probe`] for what a type does not implement.
#[doc(hidden)]
pub trait ProbeFallback<T: 'static> {
    const CLONE: Option<CloneFn<T>> = None;
    const DEBUG: Option<DebugFn<T>> = None;
    const DEFAULT: Option<DefaultFn<T>> = None;
    const BYTES: Option<BytesFn<T>> = None;
    const MAP_ENTITIES: Option<MapEntitiesFn<T>> = None;
    const CODEC: Codec<T> = Codec::UNSAVED;
}

impl<T: 'static> ProbeFallback<T> for Probe<T> {}

macro_rules! probe {
    ($($constant:ident: $type:ty = $value:expr, [$($bounds:tt)*];)*) => {$(
        impl<T: $($bounds)*> Probe<T> {
            #[doc(hidden)]
            pub const $constant: $type = $value;
        }
    )*};
}

probe! {
    CLONE: Option<CloneFn<T>> = Some(T::clone), [Clone];
    DEBUG: Option<DebugFn<T>> = Some(<T as fmt::Debug>::fmt), [fmt::Debug];
    DEFAULT: Option<DefaultFn<T>> = Some(T::default), [Default];
    MAP_ENTITIES: Option<MapEntitiesFn<T>> = Some(T::map_entities), [MapEntities];
    BYTES: Option<BytesFn<T>> = Some(bytemuck::cast_slice::<T, u8>), [bytemuck::NoUninit];
    CODEC: Codec<T> = Codec::plain(), [bytemuck::NoUninit + bytemuck::CheckedBitPattern];
}
