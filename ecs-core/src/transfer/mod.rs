//! Rows on their way: into an archetype, from one to another, and out of the world.
//!
//! A [`Transition`] says where rows go and a row plan what goes along; [`RowMove`] carries it out for
//! one row and [`RowMoves`] for many. [`NewRows`] are those that come from nowhere.

mod bundles;
mod mover;
mod new_rows;
mod plan;

pub(crate) use bundles::{BundleIndex, Bundles, Change, Part};
pub(crate) use mover::{MoveContext, MoveScratch, RowMove, RowMoves, despawn_row};
pub(crate) use new_rows::{NewRows, RowCopies};
pub(crate) use plan::{Carried, Transition};

use crate::bundle::ColumnStarts;
use crate::storage::Chunks;

/// Where these columns start in a chunk.
pub(crate) fn column_starts(chunks: &Chunks, columns: &[usize], chunk: usize) -> ColumnStarts {
    columns.iter().map(|&column| chunks.column(chunk, column)).collect()
}
