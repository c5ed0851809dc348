//! A chunked archetype entity-component store.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;
// The derive writes `::ecs_core`, also inside this crate.
extern crate self as ecs_core;

mod archetype;
mod bundle;
mod commands;
#[cfg(doctest)]
mod compile_fail;
mod component;
mod entities;
mod entity;
mod error;
mod hash;
mod mask;
mod query;
mod random;
mod storage;
mod sync;
mod tuples;
mod world;

pub use archetype::{Archetype, ArchetypeId};
pub use bundle::Bundle;
pub use commands::{CommandBuffer, Playback};
pub use component::{
    BytesFn, CloneFn, Component, ComponentId, ComponentInfo, ComponentSet, MapEntities,
    MapEntitiesFn,
};
#[cfg(feature = "derive")]
pub use ecs_core_derive::Component;
pub use entity::Entity;
pub use error::*;
pub use hash::StateHasher;
pub use query::*;
pub use random::RandomStream;
pub use world::{MissingResource, NotInserted, Res, ResMut, ResourceError, World, WorldCell};

#[doc(hidden)]
pub mod __private {
    pub use crate::component::{IdSource, Probe, ProbeFallback, Registry};
    pub use crate::mask::{RowMask, Rows};
    pub use crate::storage::Chunks;
}

/// The names that most users need.
pub mod prelude {
    #[cfg(feature = "derive")]
    pub use ecs_core_derive::Component;

    pub use crate::commands::CommandBuffer;
    pub use crate::component::Component;
    pub use crate::entity::Entity;
    pub use crate::query::{Disabled, Enabled, EnabledMut, Present, With, Without};
    pub use crate::random::RandomStream;
    pub use crate::world::World;
}
