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
pub use component::{Component, ComponentId, ComponentInfo, ComponentSet, MapEntities};
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

/// What most users name.
pub mod prelude {
    pub use crate::*;
}
