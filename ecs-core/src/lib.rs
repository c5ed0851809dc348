//! A chunked archetype entity-component store.
//!
//! *Entities* are handles, and *components* are plain Rust types. All entities with the same set of
//! components form an *archetype*. They are stored together in *chunks*, one column per component. A
//! *query* iterates over the chunks of the archetypes that match, and returns references and slices into
//! them. *Enableable* components can be disabled and enabled per entity without moving it.
//!
//! ```
//! use formic_ecs::prelude::*;
//!
//! #[derive(Component)]
//! struct Position { x: f32 }
//! #[derive(Component)]
//! struct Velocity { x: f32 }
//! #[derive(Component)]
//! #[component(enableable)]
//! struct Frozen;
//!
//! let mut world = World::new();
//! let crowd = world.spawn_batch((0..1000).map(|i| (Position { x: 0.0 }, Velocity { x: i as f32 }, Frozen)));
//! for &entity in &crowd[..900] {
//!     world.set_enabled::<Frozen>(entity, false)?;
//! }
//! world
//!     .query_filtered::<(&mut Position, &Velocity), Without<Frozen>>()
//!     .for_each(|(position, velocity)| position.x += velocity.x);
//! assert_eq!(world.get::<Position>(crowd[899])?.x, 899.0);
//! assert_eq!(world.get::<Position>(crowd[900])?.x, 0.0);
//! # Ok::<(), formic_ecs::ComponentError>(())
//! ```
//!
//! # Where to begin
//!
//! | | |
//! |---|---|
//! | [`World`] | entities, components, resources, queries |
//! | [`Component`](trait@Component) | the options of the derive; [`Buffer`]: a list as a component |
//! | [`Query`], [`View`] | iteration and look-up by entity; filters with `Or` and `Not`; shards |
//! | [`enableable`] | the effect of every operation on a disabled component |
//! | [`Changed`], [`Added`], [`Ref`], [`Mut`] | change detection: by chunks, or exactly for a `tracked` component |
//! | [`CommandBuffer`] | changes to make later, in an order that does not depend on threads |
//! | [`Bulk`] | changes to all entities that pass a filter, by whole chunks |
//! | [`Component::CLEANUP`] | components that outlive their entity until a system has cleaned up |
//! | [`Relation`], [`ChildOf`] | links that are kept consistent on both sides; the hierarchy |
//! | [`Prefab`], [`World::instantiate`] | templates, copied with their descendants and their links |
//! | [`World::hooks`] | closures that run when components and entities come and go |
//! | [`ComponentDescriptor`], [`DynamicQuery`] | components that are registered at run time, and queries by id |
//! | [`Snapshot`], [`World::state_hash`] | the state of a world: as bytes, to restore it; as a number, to compare it; [`HashState`](trait@HashState): the values that it covers |
//! | [`World::stats`], [`World::compact`], [`World::check`] | the memory of a world, freeing memory, and checking invariants |
//! | [`WorldCell`], [`ExclusiveView`] | access from many threads at once, checked at run time |
//!
//! This crate starts no threads: `ecs-jobs` adds systems, a schedule and a thread pool.
//!
//! # Without the standard library
//!
//! This crate is `no_std` and needs `alloc`, with all of its features and with none. The target must have
//! atomics of 64 bits (`target_has_atomic = "64"`), for versions, stamps and enabled bits. 64-bit targets
//! have them, and so do `wasm32` and 32-bit systems with Linux (`i686`, `armv7`). Bare 32-bit ARM
//! (Cortex-M) and RISC-V do not, and fail to compile with a message.
//!
//! # When something goes wrong
//!
//! A missing entity or component is reported by a small error type. These are on [one page](error), with
//! the causes of panics and what to do about them. Whatever panics, user code included, leaves the world
//! consistent: what was being dropped is gone, nothing is dropped twice, and all else is unchanged.
#![no_std]

#[cfg(not(target_has_atomic = "64"))]
compile_error!("ecs-core needs atomics of 64 bits, which this target does not have");

extern crate alloc;
#[cfg(test)]
extern crate std;
// The derive writes `::formic_ecs`, even inside this crate.
extern crate self as formic_ecs;

// Before all other modules, which use its macros.
#[macro_use]
mod macros;

mod archetype;
mod bundle;
mod commands;
mod component;
pub mod enableable;
mod entities;
mod entity;
pub mod error;
mod features;
mod hash;
mod mask;
mod name;
mod query;
mod random;
mod storage;
mod sync;
mod transfer;
mod user_code;
mod world;

pub use archetype::{Archetype, ArchetypeId, ComponentSet};
pub use bundle::Bundle;
pub use commands::{BulkCommands, CommandBuffer, Playback};
pub use component::{
    BytesFn, CloneFn, Codec, CodecError, Component, ComponentId, ComponentInfo, DebugFn, DefaultFn,
    Despawned, DropValueFn, FieldFns, FieldText, HashFn, HashRule, MapEntities, MapEntitiesFn,
    ReadFn, WriteFn,
};
pub use entity::Entity;
pub use error::{
    AccessConflict, BrokenInvariant, ClaimError, CommandFailure, CommandFailureReason,
    ComponentError, MissingComponent, NoSuchEntity, QueryEntityError, QuerySingleError,
    UnknownComponent,
};
pub use features::{
    BorrowedDynamicRows, Buffer, BufferElement, ById, ByIdError, ByIdMut, ChildOf, CloneValueFn,
    ComponentDescriptor, Difference, DroppedComponent, DynamicBulk, DynamicQuery,
    DynamicQueryBuilder, DynamicQueryError, DynamicRow, DynamicRowIter, DynamicRows, DynamicRun,
    Event, EventKind, HashTree, HashValueFn, Hooks, InstantiateError, MalformedSnapshot,
    ObserverId, OnTargetDespawn, Prefab, RegisterError, Related, Relation, RelationError,
    RelationId, RelationMut, RelationRef, RelationRules, RestoreError, RestoreReport, Snapshot,
    SnapshotError, Sources, StateHash, Targets, TermError, Unrelated,
};
#[cfg(feature = "derive")]
pub use formic_ecs_derive::{Bundle, Component, HashState, QueryData};
pub use hash::{HashState, StateHasher};
pub use name::Name;
pub use query::{
    Access, Added, BorrowedQuery, Changed, Chunk, ChunkIter, Claim, Claimant, ColumnData, Disabled,
    Enabled, EnabledBit, EnabledBitMut, EnabledMut, ExclusivePlan, ExclusiveView, Mut, Not, Or,
    ParallelChunks, ParallelScratch, Present, Query, QueryData, QueryFilter, QueryPlan, ReadOnly,
    Ref, RowIter, View, ViewPlan, ViewShard, With, Without,
};
pub use random::RandomStream;
pub use world::{
    ArchetypeStats, Bulk, DeclaredAccess, EntityPlace, MissingResource, NotInserted, Res, ResMut,
    ResourceError, SerialCells, World, WorldCell, WorldStats,
};

#[doc(hidden)]
pub mod __private {
    pub use crate::component::{
        FieldProbe, FieldTexts, IdSource, InfoOf, Probe, ProbeFallback, Registry, ShowDebug,
        ShowFour, ShowNothing, ShowText, ShowThree, ShowTwo, enum_text, field_text, not_editable,
        offset_in, struct_text, variant_text,
    };
    pub use crate::entity::EntityBits;
    pub use crate::hash::{HashByState, HashBytes, HashElements, HashProbe, bytes_of_packed};
    pub use crate::mask::{RowMask, Rows};
    pub use crate::query::{
        AddressToken, BitsFetch, ChunkAddress, ChunkRef, MarkSlot, PartsItem, RangeToken, RowToken,
        TermSlot, TermState, Values, VersionedFetch, WrapState, WriteFetch,
    };
    pub use crate::storage::{ChangeWindow, ChunkVersions, Chunks, ColumnRecord, ColumnStamps};
}

/// The names that most users need.
pub mod prelude {
    #[cfg(feature = "derive")]
    pub use formic_ecs_derive::{Bundle, Component, HashState, QueryData};

    pub use crate::bundle::Bundle;
    pub use crate::commands::CommandBuffer;
    pub use crate::component::Component;
    pub use crate::entity::Entity;
    pub use crate::features::{Buffer, ChildOf, Relation};
    pub use crate::hash::HashState;
    pub use crate::query::{
        Added, Changed, Claimant, Disabled, Enabled, EnabledMut, Mut, Not, Or, Present, QueryData,
        Ref, With, Without,
    };
    pub use crate::random::RandomStream;
    pub use crate::world::World;
}
