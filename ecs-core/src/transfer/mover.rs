//! Moving the row of one entity out of its archetype, to another or out of the world, with a bundle that
//! is inserted or removed.
#![expect(
    unsafe_code,
    reason = "moves rows between archetypes, and bundles into them and out of them"
)]

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::MoveContext;
use super::plan::{Change, Transition};
use crate::archetype::{Archetype, ArchetypeId, Archetypes};
use crate::bundle::{Parts, with_starts};
use crate::component::{ArchetypeFlags, ComponentId};
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::error::MissingComponent;
use crate::storage::{
    BlockPool, ChangeWindow, Chunks, DropFn, Place, RowAddress, RowPlan, TakenRows,
};

/// The values left behind by rows that were taken out, in the listed columns. Dropping this drops them.
/// All bookkeeping is consistent meanwhile.
#[must_use]
pub(crate) struct LeftBehind<'w> {
    chunks: &'w Chunks,
    first: RowAddress,
    count: usize,
    drops: &'w [(usize, DropFn)],
}

impl<'w> LeftBehind<'w> {
    /// Records the places of the rows that have moved in the entity table.
    ///
    /// # Safety
    /// `taken` is the result for `count` rows from `from` on, which is at `place`, of a plan with these
    /// drops. The archetype was not accessed since.
    #[inline(always)]
    pub(super) unsafe fn new(
        chunks: &'w Chunks,
        drops: &'w [(usize, DropFn)],
        entities: &mut Entities,
        (from, place, count): (RowAddress, Place, usize),
        taken: &TakenRows,
    ) -> Self {
        if count > 1 {
            let moved = from.row..from.row + taken.filled;
            entities.set_places(&chunks.entities(from.chunk)[moved], place);
        } else if let Some(moved) = taken.moved {
            entities.set_place(moved, place);
        }
        Self { chunks, first: taken.vacated, count, drops }
    }

    /// # Safety
    /// `count` rows from `first` on were taken out, by a plan with these drops. The archetype was not
    /// accessed since.
    pub(super) unsafe fn of_rows(
        chunks: &'w Chunks,
        drops: &'w [(usize, DropFn)],
        (first, count): (RowAddress, usize),
    ) -> Self {
        Self { chunks, first, count, drops }
    }

    /// Forgets the values, which the caller has taken.
    #[inline]
    pub(crate) fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for LeftBehind<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.drops.is_empty() {
            // SAFETY: these values, initialised (I-2) and of their columns' types (I-9), lie behind the
            // last row (`new`), where they are unowned; the chunks have been borrowed since.
            unsafe { self.chunks.drop_rows(self.first, self.count, self.drops) };
        }
    }
}

/// The move of one entity to another archetype. The row there is reserved, and is written before the move
/// is [finished](Self::finish).
struct RowMove<'w> {
    entities: &'w mut Entities,
    blocks: &'w mut BlockPool,
    version: u64,
    entity: Entity,
    from: Location,
    source: &'w mut Archetype,
    target: &'w mut Archetype,
    /// The reserved row.
    to: RowAddress,
}

impl<'w> RowMove<'w> {
    /// Reserves the row.
    ///
    /// # Panics
    /// Panics if the target is the archetype of the entity.
    ///
    /// # Safety
    /// The entity is in the row given for it (I-1).
    #[inline(always)]
    unsafe fn new(
        archetypes: &'w mut Archetypes,
        (entities, blocks, version): (&'w mut Entities, &'w mut BlockPool, &mut u64),
        (entity, from): (Entity, Location),
        target: ArchetypeId,
    ) -> Self {
        *version += 1;
        let (version, (source, target)) = (*version, archetypes.get_two(from.archetype, target));
        let to = target.chunks.reserve_row(blocks);
        debug_assert_eq!(source.chunks.entities(from.address.chunk)[from.address.row], entity);
        Self { entities, blocks, version, entity, from, source, target, to }
    }

    /// Moves the row, and returns what it leaves behind, and the target.
    ///
    /// # Safety
    /// `plan` is that of a transition between the two archetypes (I-6). The columns of the reserved
    /// row that `plan` does not move to have been initialised (I-2).
    #[inline(always)]
    unsafe fn finish(self, plan: &'w RowPlan) -> (LeftBehind<'w>, &'w Archetype) {
        let Self { entities, blocks, version, entity, source, target, to, .. } = self;
        let Location { address: from, place, .. } = self.from;
        let arrival = (&mut target.chunks, to);
        // SAFETY: the row of an entity (I-1) and a reserved row, of two archetypes (`new`); the caller
        // guarantees the plan between them, and what it does not move (I-2, I-6).
        let taken = unsafe { source.chunks.move_row(blocks, from, arrival, plan, version) };
        entities.set_place(entity, target.chunks.place(to));
        // SAFETY: this row was just taken, by this plan.
        let left = unsafe {
            LeftBehind::new(&source.chunks, &plan.drops, entities, (from, place, 1), &taken)
        };
        (left, target)
    }
}

/// A live entity, in a world that was borrowed when its row was looked up (I-1).
pub(crate) struct LivingRow<'w> {
    context: MoveContext<'w>,
    entity: Entity,
    from: Location,
}

impl<'w> LivingRow<'w> {
    /// Returns the archetype of the entity.
    #[inline]
    pub(crate) fn archetype(&self) -> &Archetype {
        self.context.archetypes.get(self.from.archetype)
    }

    /// Returns the flags for the work beside moving the row.
    #[inline]
    pub(crate) fn flags(&self) -> ArchetypeFlags {
        self.archetype().flags
    }

    /// Whether the entity has all components of a bundle.
    #[inline]
    pub(crate) fn has<P: Parts>(&mut self) -> bool {
        let MoveContext { bundles, registry, archetypes, .. } = &mut self.context;
        let (change, from) = (Change::Remove, self.from.archetype);
        bundles.transition::<P>(change, from, registry, archetypes).is_some()
    }

    /// Adds a bundle to the entity, and drops what it replaces. Returns the flags of the archetype that
    /// the entity is in afterwards.
    #[inline(always)]
    pub(crate) fn insert<P: Parts>(self, bundle: P) -> ArchetypeFlags {
        let Self { context, entity, from } = self;
        let MoveContext { bundles, registry, archetypes, entities, blocks, version, .. } = context;
        let insertion = bundles.insertion::<P>(from.archetype, registry, archetypes);
        if insertion.target == from.archetype {
            *version += 1;
            let (version, newest_run) = (*version, context.newest_run);
            let window = ChangeWindow { version, newest_run, ..ChangeWindow::default() };
            let archetype = archetypes.get_mut(from.archetype);
            let flags = archetype.flags;
            ReplacedRows::new(archetype, insertion, window).replace(from.address, bundle);
            return flags;
        }
        let rest = (entities, blocks, version);
        // SAFETY: it is the row of this entity (I-1).
        let moving = unsafe { RowMove::new(archetypes, rest, (entity, from), insertion.target) };
        let start = |k: usize| moving.target.chunks.column(moving.to.chunk, insertion.columns[k]);
        with_starts::<P, _>(start, |starts| {
            // SAFETY: the columns are those of the bundle's components in the target of its insertion
            // (I-6, I-9), and the row is reserved.
            unsafe { bundle.write(starts, moving.to.row) };
        });
        // SAFETY: the insertion begins at the archetype where the entity is (I-6), and the columns of
        // the bundle have just been written.
        let (left, target) = unsafe { moving.finish(&insertion.plan) };
        drop(left);
        target.flags
    }

    /// Removes a bundle from the entity. Returns it, and the flags of the archetype that the entity is in
    /// afterwards.
    ///
    /// # Errors
    /// Returns the first component that the entity lacks.
    #[inline(always)]
    pub(crate) fn remove<P: Parts>(self) -> Result<(P, ArchetypeFlags), MissingComponent> {
        let Self { context, entity, from } = self;
        let MoveContext { bundles, registry, archetypes, entities, blocks, version, .. } = context;
        let (change, source) = (Change::Remove, from.archetype);
        let Some(removal) = bundles.transition::<P>(change, source, registry, archetypes) else {
            let bundle = bundles.index::<P>(registry);
            return Err(bundles.first_missing(bundle, entity, archetypes.get(source), registry));
        };
        if P::COUNT == 0 {
            // SAFETY: the bundle has no components, so nothing is read (I-2).
            return Ok((unsafe { P::read(&[], 0) }, ArchetypeFlags::NONE));
        }
        let rest = (entities, blocks, version);
        // SAFETY: it is the row of this entity (I-1).
        let moving = unsafe { RowMove::new(archetypes, rest, (entity, from), removal.target) };
        let chunks = &moving.source.chunks;
        let start = |k: usize| chunks.column(from.address.chunk, removal.columns[k]);
        let removed = with_starts::<P, _>(start, |starts| {
            // SAFETY: the columns are those of the bundle's components in the source of its removal (I-6,
            // I-9); the row is a live entity's (I-1), and what it leaves behind is forgotten below.
            unsafe { P::read(starts, from.address.row) }
        });
        // SAFETY: the removal begins at the archetype where the entity is (I-6), and adds no component.
        let (left, target) = unsafe { moving.finish(&removal.plan) };
        left.forget();
        Ok((removed, target.flags))
    }

    /// Begins a move, unless the entity lacks what is removed.
    ///
    /// # Panics
    /// Panics if it leads to the archetype of the entity.
    #[inline(always)]
    fn along(self, change: Change, ids: &[ComponentId]) -> Option<(RowMove<'w>, &'w Transition)> {
        let Self { context, entity, from } = self;
        let MoveContext { bundles, registry, archetypes, entities, blocks, version, .. } = context;
        let transition =
            bundles.transition_of_ids(change, ids, from.archetype, registry, archetypes)?;
        let rest = (entities, blocks, version);
        // SAFETY: it is the row of this entity (I-1).
        let moving = unsafe { RowMove::new(archetypes, rest, (entity, from), transition.target) };
        Some((moving, transition))
    }

    /// Makes a change without a value to write, unless the entity lacks what is removed, and returns the
    /// values to be dropped.
    pub(crate) fn leave(self, change: Change, ids: &[ComponentId]) -> Option<LeftBehind<'w>> {
        let (moving, transition) = self.along(change, ids)?;
        transition.expect_no_gaps();
        // SAFETY: the transition begins at the archetype where the entity is (I-6). What it adds has no
        // bytes to write, as was just checked.
        Some(unsafe { moving.finish(&transition.plan) }.0)
    }

    /// Adds a component to an entity that does not have it; `put` writes the value.
    ///
    /// # Panics
    /// Panics if the entity has the component.
    ///
    /// # Safety
    /// `put` initialises the row that it gets with a value of this component, of this world (I-9,
    /// I-16), unless it panics.
    pub(crate) unsafe fn insert_id(self, id: ComponentId, put: impl FnOnce(NonNull<u8>)) {
        let moving = self.along(Change::Insert, &[id]);
        let (moving, insertion) = moving.expect("it leads somewhere");
        put(moving.target.chunks.reserved(moving.to, insertion.columns[0]));
        // SAFETY: the insertion begins at the archetype where the entity is and leads to another, since
        // the component is new (I-6); the one column that is added was written.
        drop(unsafe { moving.finish(&insertion.plan) }.0);
    }

    /// Removes the entity from the world, and returns the values to be dropped.
    #[inline(always)]
    pub(crate) fn despawn(mut self) -> LeftBehind<'w> {
        let version = self.context.next_version();
        let Self { context, entity, from } = self;
        let MoveContext { archetypes, entities, blocks, .. } = context;
        let Location { archetype, address: from, place } = from;
        let Archetype { chunks, ending, .. } = archetypes.get_mut(archetype);
        debug_assert_eq!(chunks.entities(from.chunk)[from.row], entity);
        // SAFETY: it is the row of this entity (I-1); the plan is made from this archetype's columns
        // (I-6).
        let taken = unsafe { chunks.take_rows(blocks, (from, 1), ending, version) };
        entities.free(entity);
        // SAFETY: this row was just taken, by this plan.
        unsafe { LeftBehind::new(chunks, &ending.drops, entities, (from, place, 1), &taken) }
    }
}

impl<'w> MoveContext<'w> {
    /// Returns the row of this entity, if it is alive.
    #[inline(always)]
    pub(crate) fn locate(self, entity: Entity) -> Option<LivingRow<'w>> {
        let from = self.entities.locate(entity, &self.blocks.directory)?;
        Some(LivingRow { context: self, entity, from })
    }

    /// Returns the rows of an archetype in which a bundle is replaced, or `None` if they lack some of its
    /// components.
    pub(crate) fn replaced<P: Parts>(mut self, from: ArchetypeId) -> Option<ReplacedRows<'w, P>> {
        let (version, newest_run) = (self.next_version(), self.newest_run);
        let window = ChangeWindow { version, newest_run, ..ChangeWindow::default() };
        let Self { bundles, registry, archetypes, .. } = self;
        let insertion = bundles.insertion::<P>(from, registry, archetypes);
        let archetype = archetypes.get_mut(from);
        (insertion.target == from).then(|| ReplacedRows::new(archetype, insertion, window))
    }
}

/// Rows of an archetype that have all components of a bundle, which are to be replaced.
pub(crate) struct ReplacedRows<'w, P> {
    /// Borrowed exclusively while the components are replaced.
    archetype: &'w Archetype,
    /// The insertion of `P`, which leaves the rows where they are.
    insertion: &'w Transition,
    window: ChangeWindow,
    bundle: PhantomData<fn(P)>,
}

impl<'w, P: Parts> ReplacedRows<'w, P> {
    #[inline]
    fn new(archetype: &'w mut Archetype, insertion: &'w Transition, window: ChangeWindow) -> Self {
        Self { archetype, insertion, window, bundle: PhantomData }
    }

    /// Returns the archetype.
    pub(crate) fn archetype(&self) -> &Archetype {
        self.archetype
    }

    /// Replaces the components of a row by those of a bundle.
    ///
    /// # Panics
    /// Panics if there is no such row.
    #[inline]
    pub(crate) fn replace(&mut self, address: RowAddress, bundle: P) {
        let Self { archetype, insertion, window, .. } = *self;
        let RowAddress { chunk, row } = address;
        assert!(row < archetype.chunks.len(chunk), "the row is there");
        for &column in &insertion.columns {
            archetype.mark_changed(address, column, window);
        }
        let start = |k: usize| archetype.chunks.column(chunk, insertion.columns[k]);
        let old = with_starts::<P, _>(start, |starts| {
            // SAFETY: the columns are those of the bundle's components (I-6, I-9), and the row is there
            // (I-2), in an archetype that is borrowed exclusively; it is given up here and written
            // again below, with no user code between.
            let old = unsafe { P::read(starts, row) };
            // SAFETY: as above (I-6, I-9); `old` has the previous contents of the row.
            unsafe { bundle.write(starts, row) };
            old
        });
        drop(old);
    }
}
