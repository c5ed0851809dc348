//! Rows on their way: into an archetype, from one to another, and out of the world.
//!
//! A [`Transition`] says where rows go and a row plan what goes along; a
//! [`LivingRow`](mover::LivingRow) carries it out for one entity and [`RowMoves`] for many. [`NewRows`]
//! are those that come from nowhere.
//!
//! A [`MoveContext`] finds rows and transitions by itself, and takes bundles or gives them back: that a
//! bundle lands in the columns of its components is decided in here.

mod bundles;
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

use crate::archetype::Archetypes;
use crate::component::Registry;
use crate::entities::Entities;
use crate::entity::Entity;
use crate::storage::BlockPool;

/// All that a change of structure works with, of one world.
pub(crate) struct MoveContext<'w> {
    pub(crate) bundles: &'w mut Bundles,
    pub(crate) registry: &'w mut Registry,
    pub(crate) archetypes: &'w mut Archetypes,
    pub(crate) entities: &'w mut Entities,
    pub(crate) blocks: &'w mut BlockPool,
    pub(crate) scratch: &'w mut MoveScratch,
    /// The world's, which goes up with each change.
    pub(crate) version: &'w mut u64,
    /// As [`ChangeWindow::newest_run`](crate::storage::ChangeWindow::newest_run).
    pub(crate) newest_run: u64,
}

impl MoveContext<'_> {
    #[inline(always)]
    fn next_version(&mut self) -> u64 {
        *self.version += 1;
        *self.version
    }
}

/// Memory for runs of rows, kept by the world and empty in between.
#[derive(Debug, Default)]
pub(crate) struct MoveScratch {
    holes: Vec<Hole>,
    /// Entities of new rows.
    pub(crate) arrived: Vec<Entity>,
}

/// Rows of one chunk whose entities have gone.
#[derive(Debug)]
struct Hole {
    chunk: usize,
    rows: Range<usize>,
}
