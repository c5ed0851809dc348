//! The changes of an action per cell, computed once for all queries of the world after it.

use std::borrow::Cow;

use formic_ecs::{Entity, World};

use super::action::{Column, TurnAction};
use super::cells::{CellName, Cells, CellsVersion, Placed};
use crate::bits::set_bits;

/// An entity that enters a cell, leaves it, or stays in it with other components.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellChange<C> {
    cell: C,
    pub(super) entity: Entity,
    /// The aggregated components that it has in the cell now, if it is there.
    before: Option<u64>,
    /// The aggregated components that it has there after the action, if it is there then.
    after: Option<u64>,
}

impl<C> CellChange<C> {
    /// Whether the entity is in the cell after the action and, if an aggregate is given, has it.
    pub(super) fn stays(&self, aggregate: Option<usize>) -> bool {
        let has = |bits: u64| aggregate.is_none_or(|bit| bits >> bit & 1 == 1);
        self.after.is_some_and(has)
    }
}

/// All changes of an action in the cells of a world.
///
/// ```text
/// cells:   (2, 3)           (2, 4)
///             │                └─────────┐
/// changes: [ imp leaves │ rat leaves │ imp comes │ rat comes ]
/// more:    [ -2 entities, -1 solid   │ +2 entities, +1 solid ]
/// ```
#[derive(Clone, Debug)]
pub(super) struct CellChanges<C> {
    /// The cells, and their state, for which this was computed.
    version: CellsVersion,
    /// Sorted by cell, then by entity.
    changes: Vec<CellChange<C>>,
    /// The cells that change, in order, with the index of the first change of each.
    cells: Vec<(C, usize)>,
    /// For each of these cells, the change in the number of entities, and of those with each aggregate.
    more: Vec<isize>,
}

impl<C: CellName> CellChanges<C> {
    /// The changes of the action in these cells, cached in the action until either changes.
    pub(super) fn of<'a>(world: &World, cells: &Cells<C>, action: &'a TurnAction) -> Cow<'a, Self> {
        let work_out = || Self::new(world, cells, action);
        match action.kept(work_out) {
            Some(kept) if kept.version == cells.version => Cow::Borrowed(kept),
            // The action was queried before, and the cells have changed since.
            _ => Cow::Owned(work_out()),
        }
    }

    fn new(world: &World, cells: &Cells<C>, action: &TurnAction) -> Self {
        let mut touched: Vec<Entity> = Vec::new();
        let mut aggregates: Vec<(u64, &Column)> = Vec::new();
        for column in action.columns() {
            if cells.depends_on(column.component) {
                touched.extend(column.changes().iter().map(|it| it.0));
            }
            aggregates.extend(cells.aggregate(column.component).map(|bit| (1 << bit, column)));
        }
        touched.sort_unstable();
        touched.dedup();
        let mut changes = Vec::with_capacity(2 * touched.len());
        for entity in touched {
            let before = cells.placed(entity);
            let after = cells.cell_after(action, entity).map(|cell| {
                let bits = before.map_or_else(|| cells.bits(world, entity), |placed| placed.bits);
                let bits = aggregates.iter().fold(bits, |bits, (bit, column)| {
                    match column.change(entity) {
                        None => bits,
                        Some(true) => bits | bit,
                        Some(false) => bits & !bit,
                    }
                });
                Placed { cell, bits }
            });
            let change = |cell, before, after| CellChange { cell, entity, before, after };
            match (before, after) {
                (Some(before), Some(after)) if before.cell == after.cell => {
                    changes.push(change(after.cell, Some(before.bits), Some(after.bits)));
                }
                _ => {
                    changes.extend(before.map(|it| change(it.cell, Some(it.bits), None)));
                    changes.extend(after.map(|it| change(it.cell, None, Some(it.bits))));
                }
            }
        }
        changes.sort_unstable_by_key(|change| (change.cell, change.entity));
        let mut all =
            Self { version: cells.version.clone(), changes, cells: Vec::new(), more: Vec::new() };
        all.add_up(1 + cells.aggregates.len());
        all
    }

    /// Finds the first change and the totals of each cell.
    fn add_up(&mut self, width: usize) {
        for (place, change) in self.changes.iter().enumerate() {
            if self.cells.last().is_none_or(|&(last, _)| last != change.cell) {
                self.cells.push((change.cell, place));
                self.more.resize(self.cells.len() * width, 0);
            }
            let begin = self.more.len() - width;
            let more = &mut self.more[begin..];
            more[0] += isize::from(change.after.is_some()) - isize::from(change.before.is_some());
            let (before, after) = (change.before.unwrap_or(0), change.after.unwrap_or(0));
            for bit in set_bits(before & !after) {
                more[1 + bit] -= 1;
            }
            for bit in set_bits(after & !before) {
                more[1 + bit] += 1;
            }
        }
    }

    fn place(&self, cell: C) -> Option<usize> {
        self.cells.binary_search_by_key(&cell, |&(name, _)| name).ok()
    }

    /// The changes in a cell, sorted by entity.
    pub(super) fn in_cell(&self, cell: C) -> &[CellChange<C>] {
        let Some(place) = self.place(cell) else { return &[] };
        let end = self.cells.get(place + 1).map_or(self.changes.len(), |&(_, begin)| begin);
        &self.changes[self.cells[place].1..end]
    }

    /// The change in the number of entities in a cell, of all or of those with an aggregate.
    pub(super) fn more(&self, cell: C, aggregate: Option<usize>) -> isize {
        let width = self.more.len().checked_div(self.cells.len()).unwrap_or(0);
        let column = aggregate.map_or(0, |bit| 1 + bit);
        self.place(cell).map_or(0, |place| self.more[place * width + column])
    }
}
