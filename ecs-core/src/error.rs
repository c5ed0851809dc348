//! Everything that can go wrong, on one page.
//!
//! A fact of life (an entity that is gone, a component that is not there) is one of these types.
//! A bug in the caller (the same component twice in one bundle, a query that contradicts itself,
//! a plan of another world) is a panic that names the types, documented where it can happen.

mod by_id;
mod dynamic;
mod relation;
mod snapshot;

use core::fmt;

use crate::entity::Entity;
use crate::name::Name;

pub use by_id::{ByIdError, RegisterError, UnknownComponent};
pub use dynamic::{DynamicQueryError, TermError};
pub use relation::RelationError;
pub use snapshot::{MalformedSnapshot, RestoreError, SnapshotError};

/// The handle is stale, deferred, or was issued by another world.
///
/// ```
/// use ecs_core::{NoSuchEntity, World};
/// let mut world = World::new();
/// let imp = world.spawn(());
/// world.despawn(imp)?;
/// assert_eq!(world.despawn(imp), Err(NoSuchEntity(imp)));
/// # Ok::<(), NoSuchEntity>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchEntity(pub Entity);

impl fmt::Display for NoSuchEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no entity {} in this world", self.0)
    }
}

impl core::error::Error for NoSuchEntity {}

/// The entity is there, the component is not.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::ComponentError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let rock = world.spawn(());
/// let Err(ComponentError::Missing(missing)) = world.get::<Gold>(rock) else { panic!() };
/// assert_eq!(missing.entity, rock);
/// assert!(missing.component.ends_with("Gold"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingComponent {
    /// The entity that was asked.
    pub entity: Entity,
    /// The name of the component's type.
    pub component: &'static str,
}

impl fmt::Display for MissingComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entity {} has no component {}", self.entity, self.component)
    }
}

impl core::error::Error for MissingComponent {}

/// Why access to a component of one entity failed.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::ComponentError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(Gold(1));
/// let error = world.set_enabled::<Gold>(imp, false).unwrap_err();
/// assert!(matches!(error, ComponentError::NotEnableable { .. }));
/// assert!(error.to_string().contains("declare it with #[component(enableable)]"));
/// world.despawn(imp)?;
/// assert!(matches!(world.get::<Gold>(imp), Err(ComponentError::NoSuchEntity(_))));
/// # Ok::<(), ecs_core::NoSuchEntity>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComponentError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The entity does not have the component.
    Missing(MissingComponent),
    /// The component was not declared enableable, so it has no bit to read or write.
    NotEnableable {
        /// The name of the component's type.
        component: &'static str,
    },
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::Missing(error) => error.fmt(f),
            Self::NotEnableable { component } => {
                write!(f, "{component} is not enableable; declare it with #[component(enableable)]")
            }
        }
    }
}

impl core::error::Error for ComponentError {}

impl From<NoSuchEntity> for ComponentError {
    fn from(error: NoSuchEntity) -> Self {
        Self::NoSuchEntity(error)
    }
}

impl From<MissingComponent> for ComponentError {
    fn from(error: MissingComponent) -> Self {
        Self::Missing(error)
    }
}

/// Why a query has nothing to say about an entity.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::QueryEntityError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let rock = world.spawn(());
/// assert_eq!(world.query_one::<&Gold>(rock), Err(QueryEntityError::NotMatching(rock)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryEntityError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The entity lacks what the query asks for, or has it disabled.
    NotMatching(Entity),
}

impl fmt::Display for QueryEntityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::NotMatching(entity) => write!(f, "entity {entity} does not match the query"),
        }
    }
}

impl core::error::Error for QueryEntityError {}

impl From<NoSuchEntity> for QueryEntityError {
    fn from(error: NoSuchEntity) -> Self {
        Self::NoSuchEntity(error)
    }
}

/// Why several entities could not be handed out at once.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::QueryManyError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(Gold(1));
/// let twice = world.query::<&mut Gold>().get_many_mut([imp, imp]).map(drop);
/// assert_eq!(twice, Err(QueryManyError::Repeated(imp)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryManyError {
    /// One of the entities is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// One of the entities lacks what the query asks for, or has it disabled.
    NotMatching(Entity),
    /// One of the entities was named twice.
    Repeated(Entity),
}

impl fmt::Display for QueryManyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::NotMatching(entity) => write!(f, "entity {entity} does not match the query"),
            Self::Repeated(entity) => write!(f, "entity {entity} was asked for twice at once"),
        }
    }
}

impl core::error::Error for QueryManyError {}

impl From<QueryEntityError> for QueryManyError {
    fn from(error: QueryEntityError) -> Self {
        match error {
            QueryEntityError::NoSuchEntity(error) => Self::NoSuchEntity(error),
            QueryEntityError::NotMatching(entity) => Self::NotMatching(entity),
        }
    }
}

/// Why there is not the one row that was asked for.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::QuerySingleError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// assert_eq!(world.query::<&Gold>().single(), Err(QuerySingleError::NoRow));
/// world.spawn_batch([Gold(1), Gold(2)]);
/// assert_eq!(world.query::<&Gold>().single(), Err(QuerySingleError::SeveralRows));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuerySingleError {
    /// No row matches.
    NoRow,
    /// More than one row matches.
    SeveralRows,
}

impl fmt::Display for QuerySingleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow => f.write_str("no row matches the query, which asks for a single one"),
            Self::SeveralRows => {
                f.write_str("several rows match the query, which asks for a single one")
            }
        }
    }
}

impl core::error::Error for QuerySingleError {}

/// Why an entity could not be instantiated.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::InstantiateError;
/// #[derive(Component)]
/// struct Socket(u32); // not Clone
///
/// let mut world = World::new();
/// let client = world.spawn(Socket(80));
/// assert!(matches!(world.instantiate(client, 3), Err(InstantiateError::NotClone { .. })));
/// assert_eq!(world.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstantiateError {
    /// The entity to copy is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// One of its components cannot be cloned.
    NotClone {
        /// The name of the component.
        component: Name,
    },
}

impl fmt::Display for InstantiateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::NotClone { component } => {
                write!(f, "{component} cannot be copied: it is not Clone, or declared unique")
            }
        }
    }
}

impl core::error::Error for InstantiateError {}

impl From<NoSuchEntity> for InstantiateError {
    fn from(error: NoSuchEntity) -> Self {
        Self::NoSuchEntity(error)
    }
}

/// Somebody else holds access to a component or a resource that contradicts this one.
///
/// ```
/// use ecs_core::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let (mut writer, mut reader) = (world.plan::<&mut Gold, ()>(), world.plan::<&Gold, ()>());
/// let cell = world.cell();
/// let writing = cell.query(&mut writer)?;
/// let conflict = cell.query(&mut reader).unwrap_err();
/// assert!(conflict.name.as_str().ends_with("Gold") && !conflict.wanted_write);
/// # drop(writing);
/// # Ok::<(), ecs_core::AccessConflict>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessConflict {
    /// The name of the component's or the resource's type.
    pub name: Name,
    /// Whether this side wanted to write.
    pub wanted_write: bool,
}

impl fmt::Display for AccessConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.wanted_write { "write" } else { "read" };
        write!(f, "cannot {verb} {}: it is in use elsewhere at this moment", self.name)
    }
}

impl core::error::Error for AccessConflict {}

/// Why exclusive access to one entity was not granted.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::ClaimError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let [imp, rock] = [world.spawn(Gold(1)), world.spawn(())];
/// let mut plan = world.claim_plan::<&mut Gold>();
/// let cell = world.cell();
/// let purses = cell.claims(&mut plan).expect("nobody else uses it");
/// assert_eq!(purses.claim(rock).unwrap_err(), ClaimError::Missing(rock));
/// let held = purses.claim(imp);
/// assert_eq!(purses.claim(imp).unwrap_err(), ClaimError::Claimed(imp));
/// # drop(held);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The entity lacks a component of the view.
    Missing(Entity),
    /// Somebody holds a claim on this entity in the same view.
    Claimed(Entity),
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::Missing(entity) => write!(f, "entity {entity} lacks a component of this view"),
            Self::Claimed(entity) => {
                write!(f, "entity {entity} is claimed by another job at this moment")
            }
        }
    }
}

impl core::error::Error for ClaimError {}

/// One command of a buffer that did not apply, and why. The commands after it did.
///
/// ```
/// use ecs_core::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(());
/// world.despawn(imp)?;
/// let mut commands = CommandBuffer::new(&world);
/// commands.set_sort_key(3);
/// commands.insert(imp, Gold(1));
/// let playback = commands.play(&mut world);
/// let failure = playback.failures()[0];
/// assert_eq!((failure.sort_key, failure.command, failure.entity), (3, "insert", imp));
/// assert!(failure.to_string().ends_with("there is no such entity"));
/// # Ok::<(), ecs_core::NoSuchEntity>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandFailure {
    /// The sort key that the command was recorded under.
    pub sort_key: u64,
    /// What was to be done.
    pub command: &'static str,
    /// The entity it was to be done to.
    pub entity: Entity,
    /// Why it was not.
    pub reason: CommandFailureReason,
}

/// Why a command did not apply.
///
/// ```
/// use ecs_core::prelude::*;
/// use ecs_core::CommandFailureReason;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let rock = world.spawn(());
/// let mut commands = CommandBuffer::new(&world);
/// commands.remove::<Gold>(rock);
/// let playback = commands.play(&mut world);
/// assert!(matches!(playback.failures()[0].reason, CommandFailureReason::MissingComponent(_)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandFailureReason {
    /// The entity is not in the world any more, or never was.
    NoSuchEntity,
    /// The entity does not have the component that the command is about.
    MissingComponent(&'static str),
    /// The component has no bit to write.
    NotEnableable(&'static str),
    /// A deferred entity of another buffer, or of an earlier playback of this one.
    ForeignDeferred,
    /// The other entity, to which it was to be related, is not in the world.
    NoSuchTarget(Entity),
    /// To relate it to this entity would close a circle.
    Circle(Entity),
    /// It cannot be copied: it has this component, which is not `Clone`.
    NotClone(&'static str),
    /// By id: the world has no such component.
    UnknownComponent(UnknownComponent),
    /// By id: the entity does not have the component.
    MissingId {
        /// The number of the id.
        index: usize,
    },
    /// By id: the component is the world's to give and to take.
    ManagedId {
        /// The number of the id.
        index: usize,
    },
    /// By id: the values of the component are not plain bytes.
    NotBytes {
        /// The number of the id.
        index: usize,
    },
    /// By id: the bytes are not as many as a value has.
    WrongLength {
        /// The number of the id.
        index: usize,
        /// How many bytes a value has.
        expected: usize,
        /// How many there were.
        given: usize,
    },
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sort_key, command, entity, .. } = self;
        write!(f, "{command} on {entity} (sort key {sort_key}) did not apply: ")?;
        match self.reason {
            CommandFailureReason::NoSuchEntity => f.write_str("there is no such entity"),
            CommandFailureReason::MissingComponent(name) => write!(f, "it has no {name}"),
            CommandFailureReason::NotEnableable(name) => write!(f, "{name} is not enableable"),
            CommandFailureReason::ForeignDeferred => {
                f.write_str("the handle was deferred by another command buffer")
            }
            CommandFailureReason::NoSuchTarget(target) => write!(f, "there is no entity {target}"),
            CommandFailureReason::Circle(target) => write!(f, "with {target} it is a circle"),
            CommandFailureReason::NotClone(name) => write!(f, "{name} cannot be copied"),
            CommandFailureReason::UnknownComponent(error) => error.fmt(f),
            CommandFailureReason::MissingId { index } => {
                write!(f, "it has no component with the id {index}")
            }
            CommandFailureReason::ManagedId { index } => {
                write!(f, "component {index} is the world's to give and to take")
            }
            CommandFailureReason::NotBytes { index } => {
                write!(f, "the values of component {index} are not plain bytes")
            }
            CommandFailureReason::WrongLength { index, expected, given } => {
                write!(f, "component {index}: a value has {expected} bytes, not {given}")
            }
        }
    }
}

impl core::error::Error for CommandFailure {}

/// A broken invariant that [`World::check`](crate::World::check) found: a bug in this crate.
///
/// ```
/// use ecs_core::{BrokenInvariant, World};
/// let found: Result<(), BrokenInvariant> = World::new().check();
/// if let Err(broken) = found {
///     panic!("report this: {} ({})", broken.detail, broken.invariant);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInvariant {
    /// Its number in ARCHITECTURE.md.
    pub invariant: &'static str,
    /// Where and how.
    pub detail: alloc::string::String,
}

impl fmt::Display for BrokenInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant {} is broken: {}", self.invariant, self.detail)
    }
}

impl core::error::Error for BrokenInvariant {}
