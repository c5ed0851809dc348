//! The component trait, and the ids by which a world knows the types it has met.

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
pub use fields::{FieldTexts, enum_text, struct_text};
#[doc(hidden)]
pub use fields::{
    ShowDebug, ShowFour, ShowNothing, ShowText, ShowThree, ShowTwo, Shown, field_text,
    not_editable, offset_in, variant_text,
};
pub use hash_rule::HashRule;
pub(crate) use registry::{ArchetypeFlags, Kind};
pub use registry::{ComponentInfo, Despawned, IdSource, Registry};

/// Data that entities can have: any type that may be shared and sent between threads.
///
/// Derive it. The derive looks at what else the type can do, so nothing has to be said twice: a
/// type that is `Clone` can be instantiated, and one that is `bytemuck::NoUninit` and
/// `bytemuck::CheckedBitPattern` (every `Pod` is) is saved in snapshots as the bytes that it is. A
/// type without fields is saved as well.
///
/// The state hash sees every value: of plain data the bytes, of anything else each field, which has
/// to be plain data or [`HashState`](crate::HashState). A field that is neither does not compile,
/// unless one of the options `serde` and `unhashed` says what to do. Options go into
/// `#[component(...)]`:
///
/// * `enableable`: the component can be switched off and on per entity, without moving it. What
///   each operation makes of one that is off is in [a table](crate::enableable).
/// * `tracked`: the world writes down for each entity when the component was changed and when it
///   was added, so that [`Changed`](crate::Changed) and [`Added`](crate::Added) are exact; without
///   it they go by chunks.
/// * `cleanup`: the component [outlives the despawning](Component::CLEANUP) of its entity.
/// * `hides`: queries leave out entities with it, unless they name it.
/// * `unique`: an entity with it cannot be instantiated, though the type is `Clone`.
/// * `name = "..."`: the component's name, in place of the type's path. It names the component in
///   the state hash and in snapshots, and stays when the type moves.
/// * `was = "..."`: a name that the component had in an earlier version of the program: its
///   `name`, or the path of its type. There may be several. Snapshots of that version are
///   [restored](crate::World::restore) as if they had the new name.
/// * `serde`: values are saved in snapshots by `Codec::serde`, so that fields can come and go
///   between two versions of the program, and hashed by it; for this crate's
///   feature `serde`.
/// * `transient`: values are not saved in snapshots; restoring puts the default value in place.
/// * `unhashed`: the state hash leaves the values out, and [says so](crate::StateHash::uncovered).
///   For what is no part of the game's state, such as caches and handles of the system.
/// * `editable`: a text may set its fields, private ones too, by
///   [`ByIdMut::set_field`](crate::ByIdMut::set_field). Not for types that rely on what is in them.
/// * `buffer = N`: the type is the element of a [`Buffer`](crate::Buffer), with this many elements in the chunk.
///   It is no component itself then; the other options are those of the buffer.
/// * `crate = path`: where this crate is, if the derive does not find it in the manifest. It finds
///   `formic-ecs`, renamed or not, and the facade `formic`.
/// * `#[component(entity)]` on a field: it holds an [`Entity`], an `Option<Entity>`, or anything
///   that is [`MapEntities`], to be remapped when a prefab is instantiated or a command buffer
///   with deferred entities is played back. A type that is `MapEntities` itself needs no marks.
/// * `#[component(name = "...")]` on a field of plain data: the name that the field has in
///   snapshots, for one that was renamed. See [`fields`](Component::fields).
///
/// What a *generic* type can do depends on its parameters, which the derive cannot see: implement
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
/// Implemented by hand, a component says how it is [hashed](HashRule), and has of the other abilities
/// those that its constants name:
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
    /// Whether there is a bit per row that switches the component off and on.
    const ENABLEABLE: bool = false;
    /// Whether there are versions per row that say when the component was changed and added.
    const TRACKED: bool = false;
    /// How to copy a value, for instantiation.
    const CLONE: Option<CloneFn<Self>> = None;
    /// What else to do, for the error of instantiating an entity with it where there is no `CLONE`.
    const INSTEAD_OF_CLONE: &'static str = "";
    /// How to see values as bytes, for access by id.
    const BYTES: Option<BytesFn<Self>> = None;
    /// How the state hash sees values.
    const HASH: HashRule<Self>;
    /// How to write a value for a person to read.
    const DEBUG: Option<DebugFn<Self>> = None;
    /// How to write the fields of a value for a person to read, and to set one from a text.
    const FIELDS: Option<FieldFns<Self>> = None;
    /// How to make a value that nothing is said about.
    const DEFAULT: Option<DefaultFn<Self>> = None;
    /// How to replace the entities that a value refers to.
    const MAP_ENTITIES: Option<MapEntitiesFn<Self>> = None;
    /// Whether it outlives the despawning of its entity: what it stands for has to be cleaned up
    /// by a system that then removes it.
    ///
    /// `despawn` takes all other components, and gives the entity the tag [`Despawned`]. The
    /// handle stays valid until the last cleanup component is removed: then the entity is gone,
    /// with all that it may have been given meanwhile. Queries that look for such entities name
    /// the tag. Copies do not get the component. `World::clear` does not wait for it.
    const CLEANUP: bool = false;
    /// Whether queries leave out the entities that have it, unless they name it in a term.
    const HIDES: bool = false;
    /// Whether it is the world's to give, to change and to take. No bundle may have it and no query
    /// may write to it; such code does not compile.
    const MANAGED: bool = false;
    /// How to save values in a snapshot.
    const CODEC: Codec<Self> = Codec::UNSAVED;
    /// The [names](Self::name) that it had in earlier versions of the program, by which snapshots of
    /// those are restored.
    const WAS: &'static [&'static str] = &[];

    /// The name in messages, in the state hash and in snapshots. No two types of a world that are
    /// saved may have the same. Buffers and the sides of relations without a name of their own are the
    /// exception: hashes and snapshots have them by names that no new version changes, which
    /// [`World::component_info`](crate::World::component_info) tells.
    #[must_use]
    fn name() -> &'static str {
        core::any::type_name::<Self>()
    }

    /// The name in worlds, hashes and snapshots. Of the crate's own generic types it does not change
    /// when they go to another module.
    #[doc(hidden)]
    #[must_use]
    fn lasting_name() -> Name {
        Name::from(Self::name())
    }

    /// The fields of plain data as text: names and types. A snapshot notes it, and is restored only
    /// where it is the same; an empty text is not compared.
    #[must_use]
    fn fields() -> Name {
        Name::from("")
    }
}

/// How to copy a component.
pub type CloneFn<T> = fn(&T) -> T;
/// How to see components as bytes.
pub type BytesFn<T> = fn(&[T]) -> &[u8];
/// How to write a component for a person to read.
pub type DebugFn<T> = fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result;
/// How to take a component into the state hash.
pub type HashFn<T> = fn(&T, &mut StateHasher);
/// How to replace the entities that a component refers to.
pub type MapEntitiesFn<T> = fn(&mut T, &mut dyn FnMut(Entity) -> Entity);

/// A value that refers to entities and can be told to refer to others.
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
    /// Replaces every entity in `self` by what `map` makes of it.
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

/// The number of a component in one world, in order of first use: of a type, or of one that was
/// registered at run time.
///
/// It is a number and no more. Another world has other components under the same numbers, or none:
/// what takes an id checks it as far as it can be checked, and whatever is done with a number that
/// is of another world is an error or meets another component, and is never undefined behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId(pub(crate) u32);

impl ComponentId {
    /// Stands for a type that the world has not met: no archetype has it.
    pub(crate) const UNKNOWN: Self = Self(u32::MAX);

    /// The number itself.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Asks at compile time what a type can do, for the derive.
///
/// An inherent constant is preferred to a trait's, and is there only where its bounds hold.
#[doc(hidden)]
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// What [`Probe`] answers where the type cannot.
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
