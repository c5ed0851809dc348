//! Transitions: the archetypes that rows move to, and what moves with them.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::any::TypeId;

use crate::archetype::{Archetype, ArchetypeId, Archetypes, Column, ComponentSet};
use crate::bundle::BundleColumns;
use crate::component::{ComponentId, Registry};
use crate::storage::{Chunks, ColumnAction, ColumnStep, RowPlan};

/// The ways to change a set of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Insert,
    Remove,
    /// A despawned entity keeps its cleanup components, and gets these.
    Strip,
    /// The copy of an entity gets all components but the cleanup components and these.
    Copy,
}

impl Change {
    pub(crate) const ALL: [Self; 4] = [Self::Insert, Self::Remove, Self::Strip, Self::Copy];
}

/// The components of a bundle, in declared order.
#[derive(Clone, Debug)]
pub(crate) struct BundleIds {
    /// The type of the bundle, if it has one: its parts register these components.
    pub(crate) of: Option<TypeId>,
    pub(crate) ids: Box<[ComponentId]>,
}

/// The transition of the rows of an archetype when a bundle is inserted or removed: their target, and how
/// they move there.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) source: ArchetypeId,
    pub(crate) target: ArchetypeId,
    /// The type of the bundle that it inserts, if it inserts one that has a type.
    pub(crate) inserts: Option<TypeId>,
    /// The columns of the bundle's components, in their declared order: of the target if they are
    /// inserted, of the source if they are removed.
    pub(crate) columns: Box<[usize]>,
    pub(crate) plan: RowPlan,
    /// Whether the target has columns of sized values that the plan does not move to.
    has_gaps: bool,
}

impl Transition {
    /// Creates the transition from an archetype to the one with this set of components, without the
    /// columns of a bundle. If a component of both is replaced, its value does not move, but its enabled
    /// bit and the version at which it was added do.
    pub(crate) fn new(
        from: ArchetypeId,
        set: ComponentSet,
        (registry, archetypes): (&Registry, &mut Archetypes),
        is_replaced: impl Fn(ComponentId) -> bool,
    ) -> Self {
        let target = archetypes.obtain(set, registry);
        let (source, there) = (archetypes.get(from), archetypes.get(target));
        let has_marks = source.ending.has_marks || there.ending.has_marks;
        let mut plan = RowPlan { has_marks, ..RowPlan::default() };
        for column in &source.columns {
            let id = column.info.id;
            let (found, is_replaced) = (there.column_of(id), is_replaced(id));
            let moves = found.is_some() && !is_replaced;
            plan.push_column(column.size_and_drop(), found, moves);
            if let Some(theirs) = found {
                let Column { enable_slot, track_slot, .. } = there.columns[theirs];
                plan.bit_moves.extend(column.enable_slot.zip(enable_slot));
                let versions = column.track_slot.zip(track_slot);
                plan.version_moves
                    .extend(versions.map(|(mine, theirs)| (mine, theirs, is_replaced)));
            }
        }
        let is_fresh = |&column: &usize| source.column_of(there.columns[column].info.id).is_none();
        plan.fresh.extend((0..there.columns.len()).filter(is_fresh));
        let goes = |step: &ColumnStep| step.action == ColumnAction::Move && step.size > 0;
        let moved = plan.steps.iter().filter(|step| goes(step)).count();
        let sized = there.columns.iter().filter(|column| column.info.layout.size() > 0).count();
        let (source, has_gaps) = (from, moved < sized);
        Self { source, target, inserts: None, columns: Box::default(), plan, has_gaps }
    }

    /// Checks that the transition begins here.
    #[inline]
    pub(super) fn expect_from(&self, from: ArchetypeId) {
        assert!(self.source == from, "the transition is from elsewhere");
    }

    /// Checks that rows which move by this transition need no values written.
    pub(super) fn expect_no_gaps(&self) {
        assert!(!self.has_gaps, "the transition has values to be written");
    }

    /// Returns the columns of a chunk of the target that the inserted bundle is written to (I-6, I-9).
    pub(super) fn columns_in(&self, chunks: &Chunks, chunk: usize) -> BundleColumns {
        let starts = self.columns.iter().map(|&column| chunks.column(chunk, column)).collect();
        BundleColumns::new(self.inserts, starts)
    }

    /// Checks that the transition leads from `source` to the archetype with this set, and moves what it
    /// has to move (I-6).
    pub(crate) fn check(
        &self,
        source: &Archetype,
        archetypes: &[Archetype],
        set: &ComponentSet,
        goes_along: impl Fn(ComponentId) -> bool,
    ) -> Result<(), String> {
        let target = &archetypes[self.target.index()];
        let wrong = |what| format!("{what}, from {:?} to {:?}", source.id(), target.id());
        if self.source != source.id() {
            return Err(wrong("another source"));
        }
        if target.components() != set {
            return Err(wrong("another set of components"));
        }
        let RowPlan { steps, drops, fresh, .. } = &self.plan;
        let pairs = source.columns.iter().zip(steps);
        let is_right = |(column, step): (&Column, &ColumnStep)| {
            let id = column.info.id;
            let moves = goes_along(id) && set.contains(id);
            let drops = !moves && column.info.erased.drop.is_some();
            step.size == column.info.layout.size()
                && step.target.map(|at| at as usize) == target.column_of(id)
                && (step.action == ColumnAction::Move) == moves
                && (step.action == ColumnAction::Drop) == drops
        };
        if steps.len() != source.columns.len() || !pairs.into_iter().all(is_right) {
            return Err(wrong("a step of the row plan is another column's"));
        }
        let dropped = (0..).zip(steps).filter(|(_, step)| step.action == ColumnAction::Drop);
        if !dropped.map(|(column, _)| column).eq(drops.iter().map(|&(column, _)| column)) {
            return Err(wrong("other values are dropped than those that are left to be"));
        }
        let is_fresh = |&column: &usize| source.column_of(target.columns[column].info.id).is_none();
        if !(0..target.columns.len()).filter(is_fresh).eq(fresh.iter().copied()) {
            return Err(wrong("other columns are fresh than those that the source lacks"));
        }
        Ok(())
    }
}
