//! All errors of this crate, on one page.
//!
//! An expected failure (an entity that is gone, a component that is missing, foreign bytes) is one of
//! these small types, and leaves the world unchanged. A bug in the caller is a panic that names the
//! types; it is documented where it can happen.
//!
//! | who says it | the error | what to do |
//! |---|---|---|
//! | [`World::despawn`], [`components_of`] | [`NoSuchEntity`] | the handle is stale: forget it |
//! | [`World::insert`] | [`NotInserted`] | the same; what was to be inserted is in the error |
//! | [`World::get`], [`get_mut`], [`remove`], [`set_enabled`], [`is_enabled`] | [`ComponentError`]: [`NoSuchEntity`], [`MissingComponent`], not enableable | forget the handle; insert the component first; declare it `enableable` |
//! | [`World::query_one`], [`Query::get`], [`View::get`] | [`QueryEntityError`] | the entity is gone, or lacks what is asked for, or (in a query) has it disabled: pass over it |
//! | [`Query::get_many_mut`], [`View::get_many_mut`] | [`QueryEntityError`] | the same of one of them, or one is named twice: ask for each once |
//! | [`Query::single`] | [`QuerySingleError`] | none or several: ask for `first`, or loop |
//! | [`World::instantiate`] | [`InstantiateError`] | derive `Clone` for the component, or leave it out of the prefab |
//! | [`RelationMut::add`], [`set_parent`] | [`RelationError`] | the entity is gone, or the pair would close a cycle: unrelate first |
//! | [`World::resource`], [`resource_mut`] | [`MissingResource`] | insert it first |
//! | [`WorldCell::query`], [`view`], [`claims`] | [`AccessConflict`] | another user holds the component: order the two in a schedule, or drop the other first |
//! | [`WorldCell::resource`], [`WorldCell::resource_mut`] | [`ResourceError`] | as the two above |
//! | [`ExclusiveView::claim`] | [`ClaimError`] | another user has the entity: pass over it, or come back to it later |
//! | [`CommandBuffer::play`] | [`CommandFailure`]s in a [`Playback`], each with a [`CommandFailureReason`] | nothing, usually: the entity went before the command came; all others were applied |
//! | [`ByIdMut::register`] | [`RegisterError`] | another name, or another layout |
//! | [`ByIdMut::insert`] and all others by id | [`ByIdError`], [`UnknownComponent`] | check who made the id, and how many bytes a value has |
//! | [`DynamicQueryBuilder::build`], [`World::query_by_id`] | [`DynamicQueryError`] | the query contradicts itself, or is of another world: build another one |
//! | [`DynamicRow::get`], [`bytes`] and so on | [`TermError`] | ask for another term, or by another type; an optional one may be absent |
//! | [`World::snapshot`] | [`SnapshotError`] | give the component a [`Codec`], or declare it `transient` |
//! | [`Snapshot::from_bytes`] | [`MalformedSnapshot`] | the bytes were cut or changed: refuse them |
//! | [`World::restore`] | [`RestoreError`] | register the component first; or the snapshot is of [another version of the program](crate::Snapshot#between-two-versions-of-a-program) |
//! | [`World::check`] | [`BrokenInvariant`] | report it: this crate has a bug |
//! | a codec's own function | [`CodecError`] | becomes one of those of snapshots |
//!
//! # What panics
//!
//! Panics are for mistakes in a program that no input of its users causes. The world is unchanged, unless
//! the documentation of the call says otherwise.
//!
//! * A component that appears twice in one bundle.
//! * A query or view that asks for a component twice, at least once for writing.
//! * A plan, or a command buffer, used with a world that did not make it.
//! * A hook that is set twice, or when entities already have the component; observers that trigger each
//!   other 128 levels deep.
//! * An index out of range: [`Archetype::chunk_fill`], [`ParallelChunks::take`].
//! * Numbers beyond what can be counted or stored, such as entities beyond 2^32.
//!
//! Other mistakes do not compile: a query for the enabled bit of a component without one, a write to a
//! component that only the world changes.
//!
//! A panic, also one in the caller's code (`Drop`, `Clone`, closures, observers), leaves the world
//! consistent: nothing is dropped twice, and [`World::check`] finds nothing.
//!
//! [`World::despawn`]: crate::World::despawn
//! [`components_of`]: crate::World::components_of
//! [`World::insert`]: crate::World::insert
//! [`NotInserted`]: crate::NotInserted
//! [`World::get`]: crate::World::get
//! [`get_mut`]: crate::World::get_mut
//! [`remove`]: crate::World::remove
//! [`set_enabled`]: crate::World::set_enabled
//! [`is_enabled`]: crate::World::is_enabled
//! [`World::query_one`]: crate::World::query_one
//! [`Query::get`]: crate::Query::get
//! [`View::get`]: crate::View::get
//! [`Query::get_many_mut`]: crate::Query::get_many_mut
//! [`View::get_many_mut`]: crate::View::get_many_mut
//! [`Query::single`]: crate::Query::single
//! [`World::instantiate`]: crate::World::instantiate
//! [`RelationMut::add`]: crate::RelationMut::add
//! [`set_parent`]: crate::RelationMut::set_parent
//! [`World::resource`]: crate::World::resource
//! [`resource_mut`]: crate::World::resource_mut
//! [`MissingResource`]: crate::MissingResource
//! [`WorldCell::query`]: crate::WorldCell::query
//! [`view`]: crate::WorldCell::view
//! [`claims`]: crate::WorldCell::claims
//! [`WorldCell::resource`]: crate::WorldCell::resource
//! [`WorldCell::resource_mut`]: crate::WorldCell::resource_mut
//! [`ResourceError`]: crate::ResourceError
//! [`ExclusiveView::claim`]: crate::ExclusiveView::claim
//! [`CommandBuffer::play`]: crate::CommandBuffer::play
//! [`Playback`]: crate::Playback
//! [`ByIdMut::register`]: crate::ByIdMut::register
//! [`ByIdMut::insert`]: crate::ByIdMut::insert
//! [`DynamicQueryBuilder::build`]: crate::DynamicQueryBuilder::build
//! [`World::query_by_id`]: crate::World::query_by_id
//! [`DynamicRow::get`]: crate::DynamicRow::get
//! [`bytes`]: crate::DynamicRun::bytes
//! [`World::snapshot`]: crate::World::snapshot
//! [`Codec`]: crate::Codec
//! [`Snapshot::from_bytes`]: crate::Snapshot::from_bytes
//! [`World::restore`]: crate::World::restore
//! [`World::check`]: crate::World::check
//! [`CodecError`]: crate::CodecError
//! [`Archetype::chunk_fill`]: crate::Archetype::chunk_fill
//! [`ParallelChunks::take`]: crate::ParallelChunks::take

use crate::entity::Entity;
use crate::name::Name;

// Re-exported so that one page lists all errors, including those of the features.
pub use crate::features::{
    ByIdError, DroppedComponent, DynamicQueryError, InstantiateError, MalformedSnapshot,
    RegisterError, RelationError, RestoreError, RestoreReport, SnapshotError, TermError,
};

/// An error: the handle is stale or deferred.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NoSuchEntity(pub Entity);

error_text! { NoSuchEntity:
    Self(entity) => "there is no entity {entity} in this world";
}

/// An error: the entity exists but does not have the component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MissingComponent {
    /// The entity that was accessed.
    pub entity: Entity,
    /// The name of the component's type.
    pub component: &'static str,
}

error_text! { MissingComponent:
    Self { entity, component } => "entity {entity} has no component {component}";
}

/// The reason why access to a component of one entity failed.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComponentError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The entity does not have the component.
    Missing(MissingComponent),
    /// The component is not declared enableable, so it has no bit to read or write.
    NotEnableable {
        /// The name of the component's type.
        component: &'static str,
    },
}

error_text! { ComponentError:
    Self::NoSuchEntity(error) => "{error}";
    Self::Missing(error) => "{error}";
    Self::NotEnableable { component } => "{component} is not enableable; declare it with #[component(enableable)]";
}

from_error!(NoSuchEntity => ComponentError::NoSuchEntity);
from_error!(MissingComponent => ComponentError::Missing);

/// An error: the world has no component with this id, which another world made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnknownComponent {
    /// The number of the id.
    pub index: usize,
}

error_text! { UnknownComponent:
    Self { index } => "this world has no component with the id {index}";
}

/// An error: another user's access to a component or a resource conflicts with this one.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessConflict {
    /// The name of the component's or the resource's type.
    pub name: Name,
    /// Whether this side wanted to write.
    pub wanted_write: bool,
}

error_text! { AccessConflict:
    Self { name, wanted_write: true } => "cannot write {name}: it is in use elsewhere at this moment";
    Self { name, wanted_write: false } => "cannot read {name}: it is in use elsewhere at this moment";
}

/// The reason why a row did not get exclusive access to an entity.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::ClaimError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let [imp, rock] = [world.spawn(Gold(1)), world.spawn(())];
/// let (mut rows, mut plan) = (world.plan::<Claimant>(), world.claim_plan::<&mut Gold>());
/// let cell = world.cell();
/// let (mut rows, purses) = (cell.query(&mut rows)?, cell.claims(&mut plan)?);
/// let mut query = rows.query();
/// let [one, other] = query.get_many_mut([imp, rock])?;
/// assert_eq!(purses.claim(&one, rock).unwrap_err(), ClaimError::Missing(rock));
/// let held = purses.claim(&one, imp);
/// assert_eq!(purses.claim(&one, imp).unwrap_err(), ClaimError::Held(imp));
/// drop(held);
/// let refused = purses.claim(&other, imp).unwrap_err();
/// assert_eq!(refused, ClaimError::Contested { target: imp, rows: [imp, rock] });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimError {
    /// The target is not in this world, or the row is in another world, at an index that this one does
    /// not have.
    NoSuchEntity(NoSuchEntity),
    /// The target lacks a component of the view.
    Missing(Entity),
    /// The row already holds a claim on the target.
    Held(Entity),
    /// Two rows have claimed one target in the same loop, or in two loops that the view [cannot tell
    /// apart](crate::ExclusiveView). This is a mistake in the program: which of them is first depends on
    /// timing.
    Contested {
        /// The entity that both rows have claimed.
        target: Entity,
        /// The entities of both rows, the smaller one first, independent of their order in time.
        rows: [Entity; 2],
    },
}

from_error!(NoSuchEntity => ClaimError::NoSuchEntity);

error_text! { ClaimError:
    Self::NoSuchEntity(error) => "{error}";
    Self::Missing(entity) => "entity {entity} lacks a component of this view";
    Self::Held(entity) => "the row holds a claim on entity {entity}, which it has not dropped";
    Self::Contested { target, rows: [one, other] } => "the rows of {one} and {other} claim entity {target} in one loop";
}

/// A command of a buffer that was not applied, and the reason. The commands after it were applied.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandFailure {
    /// The sort key under which the command was recorded.
    pub sort_key: u64,
    /// What the command does.
    pub command: &'static str,
    /// The entity that the command targets.
    pub entity: Entity,
    /// The reason why it was not applied.
    pub reason: CommandFailureReason,
}

/// The reason why a command was not applied.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandFailureReason {
    /// The entity is not in the world any more, or never was.
    NoSuchEntity,
    /// The handle is a deferred entity of another buffer, or of an earlier playback of this one.
    ForeignDeferred,
    /// The error that the same call of a [`World`](crate::World) returns for the component.
    Component(ComponentError),
    /// The error that the same call returns for a component that is known by its id.
    ById(ByIdError),
    /// The error that the same call returns for the target of the relation.
    Relation(RelationError),
    /// The entity cannot be copied.
    Instantiate(InstantiateError),
}

error_text! { CommandFailure:
    Self { sort_key, command, entity, reason } => "{command} on {entity} (sort key {sort_key}) did not apply: {reason}";
}

error_text! { CommandFailureReason:
    Self::NoSuchEntity => "there is no such entity";
    Self::ForeignDeferred => "the handle was deferred by another command buffer";
    Self::Component(error) => "{error}";
    Self::ById(error) => "{error}";
    Self::Relation(error) => "{error}";
    Self::Instantiate(error) => "{error}";
}

macro_rules! reasons {
    ($($error:ident => $case:ident;)*) => {
        $(impl From<$error> for CommandFailureReason {
            fn from(error: $error) -> Self {
                match error {
                    $error::NoSuchEntity(_) => Self::NoSuchEntity,
                    error => Self::$case(error),
                }
            }
        })*
    };
}

reasons! {
    ComponentError => Component;
    ByIdError => ById;
    InstantiateError => Instantiate;
}

/// A broken invariant that [`World::check`](crate::World::check) found: a bug in this crate.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokenInvariant {
    /// Its number in ARCHITECTURE.md.
    pub invariant: &'static str,
    /// The place and kind of the violation.
    pub detail: alloc::string::String,
}

error_text! { BrokenInvariant:
    Self { invariant, detail } => "invariant {invariant} is broken: {detail}";
}

/// The reason why a query has no result for an entity.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryEntityError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The entity lacks a component that the query asks for, or has it disabled.
    NotMatching(Entity),
    /// The entity was named twice in a call that returns several at once.
    Repeated(Entity),
}

error_text! { QueryEntityError:
    Self::NoSuchEntity(error) => "{error}";
    Self::NotMatching(entity) => "entity {entity} does not match the query";
    Self::Repeated(entity) => "entity {entity} was asked for twice at once";
}

from_error!(NoSuchEntity => QueryEntityError::NoSuchEntity);

/// The reason why a query does not have exactly one row.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuerySingleError {
    /// No row matches.
    NoRow,
    /// More than one row matches.
    SeveralRows,
}

error_text! { QuerySingleError:
    Self::NoRow => "no row matches the query, which asks for a single one";
    Self::SeveralRows => "several rows match the query, which asks for a single one";
}
