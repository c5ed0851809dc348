//! The plan by which a row leaves its archetype, column by column.

use alloc::vec::Vec;

pub(crate) use crate::component::DropErasedFn as DropFn;

/// What happens to a row on its way from one archetype to another, or out of the world (I-6):
/// worked out once, and then carried out by one pass over the columns of the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowPlan {
    /// One for each column of the source, in their order.
    pub(crate) steps: Vec<ColumnStep>,
    /// The columns of the target that its entities did not have before.
    pub(crate) fresh: Vec<usize>,
    /// The enabled bits that go along: of the source, of the target.
    pub(crate) bit_moves: Vec<(usize, usize)>,
    /// The versions of rows that go along, by their places among the tracked columns: of the
    /// source, of the target, and whether the value is replaced.
    pub(crate) version_moves: Vec<(usize, usize, bool)>,
    /// The columns whose values are left to be dropped, and how.
    pub(crate) drops: Vec<(usize, DropFn)>,
    /// Whether either archetype has enabled bits, or versions of rows.
    pub(crate) has_marks: bool,
}

/// What happens to one column of a row that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnStep {
    /// The column of the same component in the target, if it has one: when the component came to
    /// its entity is known there as well.
    pub(crate) target: Option<u32>,
    pub(crate) action: ColumnAction,
    /// Of one value, in bytes.
    pub(crate) size: usize,
}

/// What becomes of a value whose row leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnAction {
    /// It goes along.
    Move,
    /// It is forgotten: there is nothing to drop.
    Forget,
    /// It is left to be dropped.
    Drop,
}

impl RowPlan {
    /// Forgets everything but the memory.
    pub(crate) fn clear(&mut self) {
        let Self { steps, fresh, bit_moves, version_moves, drops, has_marks } = self;
        steps.clear();
        fresh.clear();
        bit_moves.clear();
        version_moves.clear();
        drops.clear();
        *has_marks = false;
    }

    /// Enters the next column of the source: where its component is in the target, and whether the
    /// value goes there.
    pub(crate) fn push_column(
        &mut self,
        (size, drop): (usize, Option<DropFn>),
        target: Option<usize>,
        moves: bool,
    ) {
        let action = match drop {
            _ if moves => ColumnAction::Move,
            Some(drop) => {
                self.drops.push((self.steps.len(), drop));
                ColumnAction::Drop
            }
            None => ColumnAction::Forget,
        };
        let target = target.map(|at| u32::try_from(at).expect("fewer than 2^32 components"));
        self.steps.push(ColumnStep { target, action, size });
    }
}
