//! The columns: one for each framework, one for plain vectors.

#[cfg(feature = "bevy")]
mod bevy;
#[cfg(feature = "flecs")]
mod flecs;
mod formic;
#[cfg(feature = "hecs")]
mod hecs;
#[cfg(feature = "legion")]
mod legion;
mod raw;
#[cfg(feature = "shipyard")]
mod shipyard;
#[cfg(feature = "specs")]
mod specs;

use crate::harness::Cell;
use crate::rows::Row;

/// How a framework stores its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// The framework under test.
    Formic,
    /// Plain vectors: a limit, not a peer.
    Raw,
    /// Entities with the same components lie together.
    Archetypes,
    /// Each component lies apart, with an index by entity.
    SparseSets,
}

/// One column of the table.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    /// The cell of a row. `None` where the framework has nothing of the kind.
    pub(crate) cell: fn(&Row) -> Option<Cell>,
    /// Fills a world for the memory row; gives it back with a checksum.
    pub(crate) fill: fn(usize) -> Filled,
}

/// A world, kept alive, and the checksum of its contents.
pub(crate) type Filled = (Box<dyn std::any::Any>, u64);

/// All columns that were built, in the order of the table.
pub(crate) fn all() -> Vec<Column> {
    vec![
        Column { name: "formic", store: Store::Formic, cell: formic::cell, fill: formic::fill },
        Column { name: "raw", store: Store::Raw, cell: raw::cell, fill: raw::fill },
        #[cfg(feature = "bevy")]
        Column { name: "bevy", store: Store::Archetypes, cell: bevy::cell, fill: bevy::fill },
        #[cfg(feature = "hecs")]
        Column { name: "hecs", store: Store::Archetypes, cell: hecs::cell, fill: hecs::fill },
        #[cfg(feature = "flecs")]
        Column { name: "flecs", store: Store::Archetypes, cell: flecs::cell, fill: flecs::fill },
        #[cfg(feature = "legion")]
        Column { name: "legion", store: Store::Archetypes, cell: legion::cell, fill: legion::fill },
        #[cfg(feature = "shipyard")]
        Column {
            name: "shipyard",
            store: Store::SparseSets,
            cell: shipyard::cell,
            fill: shipyard::fill,
        },
        #[cfg(feature = "specs")]
        Column { name: "specs", store: Store::SparseSets, cell: specs::cell, fill: specs::fill },
    ]
}

/// The peers that this build was made without.
pub(crate) fn left_out() -> Vec<&'static str> {
    let peers = ["bevy", "hecs", "flecs", "legion", "shipyard", "specs"];
    let built = all();
    peers.into_iter().filter(|peer| built.iter().all(|column| column.name != *peer)).collect()
}
