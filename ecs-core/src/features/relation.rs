//! The relation trait, its errors, and the components that hold both sides.

mod links;

use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use smallvec::SmallVec;

use crate::component::{
    CloneFn, Codec, CodecError, Component, HashRule, MapEntities, MapEntitiesFn,
};
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::hash::HashState;
use crate::name::Name;

pub(crate) use links::RelationFns;
pub use links::{RelationMut, RelationRef};

/// A relation between entities: each *source* has *targets*, each target has sources.
///
/// Relations do not split archetypes by target: a source has a [`Targets<R>`] component and a
/// target a [`Sources<R>`] component, whatever entities are in them. Both are there exactly while they are
/// not empty, and the world keeps them in step: they are changed by [`World::relation_mut`],
/// and no other code can (a bundle with one of them, or a query that would write to it, does
/// not compile).
///
/// Lists keep their order, so that to leave one takes time by the number of entities before it or behind it, whichever
/// are fewer: of hundreds of thousands of sources of one target let the first or the last go first, or all with the
/// target.
///
/// [`World::relation_mut`]: crate::World::relation_mut
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{Relation, Targets};
///
/// struct Likes;
/// impl Relation for Likes {}
///
/// let mut world = World::new();
/// let [ada, bob, cat] = [world.spawn(()), world.spawn(()), world.spawn(())];
/// world.relation_mut::<Likes>().add(ada, bob)?;
/// world.relation_mut::<Likes>().add(ada, cat)?;
/// world.relation_mut::<Likes>().add(bob, cat)?;
/// assert_eq!(world.relation::<Likes>().targets(ada), [bob, cat]);
/// assert_eq!(world.relation::<Likes>().sources(cat), [ada, bob]);
/// world.despawn(bob)?;
/// assert_eq!(world.relation::<Likes>().targets(ada), [cat]);
/// assert_eq!(world.query::<&Targets<Likes>>().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is allowed, and what happens in the end, is said with the relation:
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{OnTargetDespawn, Relation};
///
/// struct Serves;
/// impl Relation for Serves {
///     const EXCLUSIVE: bool = true;
///     const ACYCLIC: bool = true;
///     const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::Unrelate;
/// }
///
/// let mut world = World::new();
/// let [page, knight, king] = [world.spawn(()), world.spawn(()), world.spawn(())];
/// world.relation_mut::<Serves>().add(page, knight)?;
/// assert!(world.relation_mut::<Serves>().add(knight, page).is_err(), "a cycle");
/// world.relation_mut::<Serves>().add(page, king)?;
/// assert_eq!(world.relation::<Serves>().targets(page), [king], "one at a time");
/// # Ok::<(), formic_ecs::RelationError>(())
/// ```
pub trait Relation: Send + Sync + Sized + 'static {
    /// Whether a source has at most one target: a new one takes the place of the old one.
    const EXCLUSIVE: bool = false;
    /// Whether no entity may be related to itself, directly or by others; what would close a cycle
    /// is refused.
    const ACYCLIC: bool = false;
    /// What happens to its sources when a target is despawned.
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::Unrelate;
    /// The paths that the type had in earlier versions of the program, by which snapshots of those
    /// are restored.
    const WAS: &'static [&'static str] = &[];

    /// The name of the type, as worlds, hashes and snapshots have it.
    #[doc(hidden)]
    #[must_use]
    fn lasting_name() -> &'static str {
        core::any::type_name::<Self>()
    }
}

/// What happens to the sources when their target is despawned.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{OnTargetDespawn, Relation};
/// struct PartOf;
/// impl Relation for PartOf {
///     const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;
/// }
///
/// let mut world = World::new();
/// let [wheel, cart] = [world.spawn(()), world.spawn(())];
/// world.relation_mut::<PartOf>().add(wheel, cart)?;
/// world.despawn(cart)?;
/// assert!(!world.contains(wheel));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnTargetDespawn {
    /// They are not related to it any more.
    #[default]
    Unrelate,
    /// They are despawned, before it.
    DespawnSources,
}

/// What a relation allows that is made at run time, and what happens in the end: see [`Relation`], which
/// says the same of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelationRules {
    /// Whether a source has at most one target.
    pub is_exclusive: bool,
    /// Whether no entity may be related to itself, directly or by others.
    pub is_acyclic: bool,
    /// What happens to its sources when a target is despawned.
    pub on_target_despawn: OnTargetDespawn,
}

/// The number of a relation in its world: [`RelationMut::id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelationId {
    world: u64,
    index: usize,
}

impl RelationId {
    /// The number itself: the first relation of a world has 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

/// The hierarchy: a child has one parent, and is despawned with it. See
/// [`RelationMut::set_parent`].
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{ChildOf, Targets};
/// let mut world = World::new();
/// let [family, child] = [world.spawn(()), world.spawn(())];
/// world.relation_mut::<ChildOf>().set_parent(child, family)?;
/// assert_eq!(world.relation::<ChildOf>().children(family), [child]);
/// assert_eq!(world.query::<(Entity, &Targets<ChildOf>)>().first().expect("one").0, child);
/// # Ok::<(), formic_ecs::RelationError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChildOf;

impl Relation for ChildOf {
    const EXCLUSIVE: bool = true;
    const ACYCLIC: bool = true;
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;

    fn lasting_name() -> &'static str {
        "formic_ecs::relation::ChildOf"
    }
}

/// Told to [observers](crate::Hooks::observe_event) after two entities have been related.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{ChildOf, Related};
/// let mut world = World::new();
/// world.hooks().observe_event(|world: &mut World, related: &Related<ChildOf>, child: Entity| {
///     assert_eq!(child, related.source);
///     assert_eq!(world.relation::<ChildOf>().parent(child), Some(related.target));
/// });
/// let [family, child] = [world.spawn(()), world.spawn(())];
/// world.relation_mut::<ChildOf>().set_parent(child, family)?;
/// # Ok::<(), formic_ecs::RelationError>(())
/// ```
pub struct Related<R> {
    /// Who is related; the event is about this entity.
    pub source: Entity,
    /// To whom.
    pub target: Entity,
    _relation: PhantomData<fn() -> R>,
}

/// Told to [observers](crate::Hooks::observe_event) after two entities are related no longer, also
/// because one of them has been despawned.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{ChildOf, Unrelated};
/// let mut world = World::new();
/// world.insert_resource(0_u32);
/// world.hooks().observe_event(|world: &mut World, unrelated: &Unrelated<ChildOf>, child: Entity| {
///     assert_eq!(child, unrelated.source);
///     *world.resource_mut::<u32>().expect("there") += 1;
/// });
/// let [family, child] = [world.spawn(()), world.spawn(())];
/// world.relation_mut::<ChildOf>().set_parent(child, family)?;
/// world.relation_mut::<ChildOf>().set_parent(child, None)?;
/// assert_eq!(world.resource(), Ok(&1_u32));
/// # Ok::<(), formic_ecs::RelationError>(())
/// ```
pub struct Unrelated<R> {
    /// Who was related; the event is about this entity.
    pub source: Entity,
    /// To whom.
    pub target: Entity,
    _relation: PhantomData<fn() -> R>,
}

macro_rules! pair_event {
    ($name:ident) => {
        impl<R> $name<R> {
            pub(crate) const fn new(source: Entity, target: Entity) -> Self {
                Self { source, target, _relation: PhantomData }
            }
        }

        debug_fields!([R] $name<R>: source, target);
    };
}

pair_event!(Related);
pair_event!(Unrelated);

/// A few entities in place, more on the heap: as large as a vector.
pub(crate) type EntityList = SmallVec<[Entity; 2]>;

/// Entities in order, of which the first may leave without the others moving up.
#[derive(Debug)]
pub(crate) struct EntityQueue {
    list: EntityList,
    /// How many at the front of the list have left.
    gone: usize,
}

impl From<EntityList> for EntityQueue {
    fn from(list: EntityList) -> Self {
        Self { list, gone: 0 }
    }
}

impl EntityQueue {
    fn as_slice(&self) -> &[Entity] {
        &self.list[self.gone..]
    }

    fn as_mut_slice(&mut self) -> &mut [Entity] {
        &mut self.list[self.gone..]
    }

    fn push(&mut self, entity: Entity) {
        self.list.push(entity);
    }

    fn remove(&mut self, place: usize) {
        if place >= self.as_slice().len() / 2 {
            self.list.remove(self.gone + place);
            return;
        }
        // Those before it move back by one place, which are fewer than those behind it.
        self.as_mut_slice()[..=place].rotate_right(1);
        self.gone += 1;
        // As many go as stay, or more: each entity that leaves pays for moving one.
        if self.gone * 2 >= self.list.len() {
            self.list.drain(..self.gone);
            self.gone = 0;
        }
    }
}

/// One side of a relation.
pub(crate) trait Side: Component + Deref<Target = [Entity]> {
    fn of(list: EntityList) -> Self;
    fn list_mut(&mut self) -> &mut EntityQueue;
}

/// Writes how many entities there are, and their handles.
fn write_list(list: &[Entity], out: &mut Vec<u8>) {
    out.extend((list.len() as u64).to_le_bytes());
    out.extend(list.iter().flat_map(|entity| entity.to_bits().to_le_bytes()));
}

/// Reads what [`write_list`] has written.
fn read_list(source: &mut &[u8]) -> Result<EntityList, CodecError> {
    let (count, rest) = source.split_first_chunk().ok_or(CodecError)?;
    let count = usize::try_from(u64::from_le_bytes(*count)).map_err(|_| CodecError)?;
    let bytes = count.checked_mul(size_of::<u64>()).ok_or(CodecError)?;
    // Seen to be there before there is room for them.
    let (mut handles, rest) = rest.split_at_checked(bytes).ok_or(CodecError)?;
    *source = rest;
    let mut list = EntityList::with_capacity(count);
    while let Some((bits, rest)) = handles.split_first_chunk() {
        list.push(Entity::from_bits(u64::from_le_bytes(*bits)).ok_or(CodecError)?);
        handles = rest;
    }
    Ok(list)
}

/// The name of the component that is one side of a relation.
fn side_name(side: &str, relation: &str) -> Name {
    Name::from(format!("formic_ecs::relation::{side}<{relation}>"))
}

macro_rules! side {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<R: Relation> {
            list: EntityQueue,
            _relation: PhantomData<fn() -> R>,
        }

        impl<R: Relation> Side for $name<R> {
            fn of(list: EntityList) -> Self {
                Self { list: list.into(), _relation: PhantomData }
            }

            fn list_mut(&mut self) -> &mut EntityQueue {
                &mut self.list
            }
        }

        impl<R: Relation> Component for $name<R> {
            const MANAGED: bool = true;
            const WAS: &'static [&'static str] = R::WAS;
            const CLONE: Option<CloneFn<Self>> =
                Some(|side| Self::of(EntityList::from_slice(side)));
            const HASH: HashRule<Self> = HashRule::Fields(|side, hasher| side[..].hash_state(hasher));
            const MAP_ENTITIES: Option<MapEntitiesFn<Self>> =
                Some(|side, map| side.list.as_mut_slice().map_entities(map));
            const CODEC: Codec<Self> = Codec::custom(
                |side, out| {
                    write_list(side, out);
                    Ok(())
                },
                |source| Ok(Self::of(read_list(source)?)),
            );

            fn lasting_name() -> Name {
                side_name(stringify!($name), R::lasting_name())
            }
        }

        impl<R: Relation> Deref for $name<R> {
            type Target = [Entity];

            fn deref(&self) -> &[Entity] {
                self.list.as_slice()
            }
        }

        impl<R: Relation> fmt::Debug for $name<R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&&self[..]).finish()
            }
        }
    };
}

side! {
    /// The entities that an entity is related to by `R`, in the order in which they were related.
    /// A slice, to be read only; see [`Relation`].
    Targets
}
side! {
    /// The entities that are related to an entity by `R`, in the order in which they were related.
    /// A slice, to be read only; see [`Relation`].
    Sources
}

/// Why two entities could not be related.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelationError {
    /// One of them is not in this world, or was despawned and is only there to be cleaned up.
    NoSuchEntity(NoSuchEntity),
    /// The target is the source, or is related to it already, directly or by others, and the
    /// relation must not have cycles.
    Cycle {
        /// Who was to be related.
        source: Entity,
        /// To whom.
        target: Entity,
    },
}

error_text! { RelationError:
    Self::NoSuchEntity(error) => "{error}";
    Self::Cycle { source, target } => "relating {source} to {target} would close a cycle";
}

from_error!(NoSuchEntity => RelationError::NoSuchEntity);
