//! Moving rows: into an archetype, from one to another, and out of the world.
//!
//! A [`Transition`] says which archetype rows go to, and its row plan says what moves with them. A
//! [`LivingRow`](mover::LivingRow) carries it out for one entity and [`RowMoves`] for many. [`NewRows`]
//! are rows of new entities.
//!
//! A [`MoveContext`] finds rows and transitions, and writes or reads bundles. This module ensures that a
//! bundle is written to the columns of its components.

mod bundles;
mod holes;
mod mover;
mod new_rows;
mod plan;
mod row_moves;

pub(crate) use bundles::{BundleIndex, Bundles};
pub(crate) use mover::ReplacedRows;
pub(crate) use new_rows::{NewRows, RowCopies};
pub(crate) use plan::{Change, Transition};
pub(crate) use row_moves::RowMoves;

use alloc::vec::Vec;
use core::ops::Range;

use holes::Holes;

use crate::archetype::Archetypes;
use crate::component::Registry;
use crate::entities::Entities;
use crate::entity::Entity;
use crate::storage::{BlockPool, Fill};

/// All parts of one world that a structural change needs.
pub(crate) struct MoveContext<'w> {
    pub(crate) bundles: &'w mut Bundles,
    pub(crate) registry: &'w mut Registry,
    pub(crate) archetypes: &'w mut Archetypes,
    pub(crate) entities: &'w mut Entities,
    pub(crate) blocks: &'w mut BlockPool,
    pub(crate) scratch: &'w mut MoveScratch,
    /// The version of the world, which each change increments.
    pub(crate) version: &'w mut u64,
    /// The same as [`ChangeWindow::newest_run`](crate::storage::ChangeWindow::newest_run).
    pub(crate) newest_run: u64,
}

impl MoveContext<'_> {
    #[inline(always)]
    fn next_version(&mut self) -> u64 {
        *self.version += 1;
        *self.version
    }
}

/// Buffers for moving runs of rows, which the world keeps for reuse.
#[derive(Debug, Default)]
pub(crate) struct MoveScratch {
    holes: Vec<Hole>,
    /// The holes of entities that are despawned in any order.
    any_order: Holes,
    fills: Vec<Fill>,
    /// The entities of new rows.
    pub(crate) arrived: Vec<Entity>,
}

/// Rows of one chunk whose entities have gone.
#[derive(Debug)]
struct Hole {
    chunk: usize,
    rows: Range<usize>,
}
