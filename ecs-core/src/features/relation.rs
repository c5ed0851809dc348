//! The relation trait, its errors, and the components that hold both sides.

mod links;

use alloc::format;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use smallvec::SmallVec;

use super::buffer::{read_plain, write_plain};
use crate::component::{CloneFn, Codec, Component, HashRule, MapEntities, MapEntitiesFn};
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::hash::HashState;
use crate::name::Name;

pub(crate) use links::RelationFns;
pub use links::{RelationMut, RelationRef};

/// A relation between entities: each *source* has *targets*, each target has sources.
///
/// Relations do not split archetypes by target: a source has a [`Targets<R>`] component and a target a
/// [`Sources<R>`] component, whichever entities are in them. Each exists exactly while it is not empty.
/// The world keeps the two in step: [`World::relation_mut`] changes them, and no other code can. A bundle
/// with one of them does not compile, nor does a query that would write to it.
///
/// Lists keep their order. So the time to leave one is proportional to the number of entities before or
/// behind, whichever is smaller: if a target has hundreds of thousands of sources, remove the first or
/// the last first, or all of them with the target.
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
/// The type that implements this trait states the rules of the relation:
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
    /// Whether a source has at most one target. A new target replaces the old one.
    const EXCLUSIVE: bool = false;
    /// Whether no entity may be related to itself, directly or through others. What would close a cycle
    /// is refused.
    const ACYCLIC: bool = false;
    /// What happens to its sources when a target is despawned.
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::Unrelate;
    /// The paths that the type had in earlier versions of the program, so that their snapshots can be
    /// restored.
    const WAS: &'static [&'static str] = &[];

    /// Returns the name of the type in worlds, hashes and snapshots.
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
    /// They stay, and are no longer related to it.
    #[default]
    Unrelate,
    /// They are despawned before it.
    DespawnSources,
}

/// The rules of a relation that is registered at run time. They are those that [`Relation`] states for a
/// type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelationRules {
    /// Whether a source has at most one target.
    pub is_exclusive: bool,
    /// Whether no entity may be related to itself, directly or through others.
    pub is_acyclic: bool,
    /// What happens to its sources when a target is despawned.
    pub on_target_despawn: OnTargetDespawn,
}

/// The number of a relation in its world, from [`RelationMut::id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelationId {
    world: u64,
    index: usize,
}

impl RelationId {
    /// Returns the number itself. The first relation of a world has 0.
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
#[doc(alias = "Parent")]
pub struct ChildOf;

impl Relation for ChildOf {
    const EXCLUSIVE: bool = true;
    const ACYCLIC: bool = true;
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;

    fn lasting_name() -> &'static str {
        "formic_ecs::relation::ChildOf"
    }
}

/// An event that is triggered after two entities have been related (see
/// [observers](crate::Hooks::observe_event)).
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
    /// The entity that is related. The event is about this entity.
    pub source: Entity,
    /// The entity to which it is related.
    pub target: Entity,
    _relation: PhantomData<fn() -> R>,
}

/// An event that is triggered after the relation of two entities has ended, also because one of them was
/// despawned (see [observers](crate::Hooks::observe_event)).
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
    /// The entity that was related. The event is about this entity.
    pub source: Entity,
    /// The entity to which it was related.
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

/// A list of entities: a few in place, more on the heap. It is as large as a vector.
pub(crate) type EntityList = SmallVec<[Entity; 2]>;

/// A queue of entities. The first ones can leave without moving the others.
#[derive(Debug)]
pub(crate) struct EntityQueue {
    list: EntityList,
    /// The number of entities at the front of the list that have left.
    left_count: usize,
}

impl From<EntityList> for EntityQueue {
    fn from(list: EntityList) -> Self {
        Self { list, left_count: 0 }
    }
}

impl EntityQueue {
    fn as_slice(&self) -> &[Entity] {
        &self.list[self.left_count..]
    }

    fn as_mut_slice(&mut self) -> &mut [Entity] {
        &mut self.list[self.left_count..]
    }

    fn push(&mut self, entity: Entity) {
        self.list.push(entity);
    }

    fn remove(&mut self, place: usize) {
        if place >= self.as_slice().len() / 2 {
            self.list.remove(self.left_count + place);
            return;
        }
        // The entities before it move back by one place: they are fewer than those behind it.
        self.as_mut_slice()[..=place].rotate_right(1);
        self.left_count += 1;
        // At least as many go as stay, so each entity that leaves pays for moving one.
        if self.left_count * 2 >= self.list.len() {
            self.list.drain(..self.left_count);
            self.left_count = 0;
        }
    }
}

/// A component that is one side of a relation.
pub(crate) trait Side: Component + Deref<Target = [Entity]> {
    fn of(list: EntityList) -> Self;
    fn list_mut(&mut self) -> &mut EntityQueue;
}

/// Returns the name of the component that is one side of a relation.
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
                |side, out| write_plain(Codec::plain(), side, out),
                |source| Ok(Self::of(read_plain(Codec::plain(), source)?)),
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
    /// The entities to which an entity is related by `R`, in the order in which they were related. A
    /// read-only slice; see [`Relation`].
    Targets
}
side! {
    /// The entities that are related to an entity by `R`, in the order in which they were related. A
    /// read-only slice; see [`Relation`].
    Sources
}

/// The reason why two entities could not be related.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelationError {
    /// One of them is not in this world, or is despawned and only awaits cleanup.
    NoSuchEntity(NoSuchEntity),
    /// The target is the source, or is already related to it, directly or through others, and the
    /// relation must not have cycles.
    Cycle {
        /// The entity that was to be related.
        source: Entity,
        /// The entity to which it was to be related.
        target: Entity,
    },
}

error_text! { RelationError:
    Self::NoSuchEntity(error) => "{error}";
    Self::Cycle { source, target } => "relating {source} to {target} would close a cycle";
}

from_error!(NoSuchEntity => RelationError::NoSuchEntity);
