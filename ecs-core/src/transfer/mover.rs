//! Rows that leave an archetype: one or many, for another archetype or for good.
#![expect(unsafe_code, reason = "moves rows between archetypes and drops what they leave behind")]

use alloc::vec::Vec;
use core::ops::Range;
use core::ptr::NonNull;

use super::Transition;
use super::new_rows::ReservedRows;
use crate::archetype::{Archetype, ArchetypeId, Archetypes};
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::storage::{BlockPool, Chunks, DropFn, Place, RowAddress, RowPlan, TakenRows};
use crate::user_code::finish;

/// Rows of one chunk whose entities have gone.
#[derive(Debug)]
struct Hole {
    chunk: usize,
    rows: Range<usize>,
}

/// Memory for runs of rows, kept by the world and empty in between.
#[derive(Debug, Default)]
pub(crate) struct MoveScratch {
    holes: Vec<Hole>,
    /// Entities of new rows.
    pub(crate) arrived: Vec<Entity>,
}

/// The parts of the world that moving rows needs beside the archetypes.
pub(crate) struct MoveContext<'w> {
    pub(crate) entities: &'w mut Entities,
    pub(crate) blocks: &'w mut BlockPool,
    pub(crate) scratch: &'w mut MoveScratch,
    pub(crate) version: u64,
}

/// What rows have left behind that were taken out: values of the columns that are listed, which are
/// dropped with this. All books are in order meanwhile.
#[must_use]
pub(crate) struct LeftBehind<'w> {
    chunks: &'w Chunks,
    first: RowAddress,
    count: usize,
    drops: &'w [(usize, DropFn)],
}

impl<'w> LeftBehind<'w> {
    /// Writes the places of those that have moved into the entity table first.
    ///
    /// # Safety
    /// `taken` is what became of `count` rows from `from` on, which is at `place`, by a plan with these
    /// drops, and the archetype was not touched since.
    #[inline(always)]
    unsafe fn new(
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

    /// The caller has taken the values.
    #[inline]
    pub(crate) fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for LeftBehind<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.drops.is_empty() {
            // SAFETY: these values, initialised (I-2) and of their columns' types (I-9), lie behind
            // the last row (`new`), where they are unowned; the chunks are borrowed since.
            unsafe { self.chunks.drop_rows(self.first, self.count, self.drops) };
        }
    }
}

/// One entity that goes to another archetype: the row there is reserved, and the caller writes what
/// is new in it before it [finishes](Self::finish) the move.
pub(crate) struct RowMove<'w> {
    context: MoveContext<'w>,
    entity: Entity,
    from: Location,
    pub(crate) source: &'w mut Archetype,
    pub(crate) target: &'w mut Archetype,
    /// The reserved row.
    pub(crate) to: RowAddress,
}

impl<'w> RowMove<'w> {
    /// Reserves the row.
    ///
    /// # Panics
    /// Panics if the target is where the entity is.
    #[inline(always)]
    pub(crate) fn new(
        context: MoveContext<'w>,
        archetypes: &'w mut Archetypes,
        (entity, from): (Entity, Location),
        target: ArchetypeId,
    ) -> Self {
        let (source, target) = archetypes.get_two(from.archetype, target);
        let to = target.chunks.reserve_row(context.blocks);
        Self { context, entity, from, source, target, to }
    }

    /// Moves the row, and returns what it leaves behind, and the target.
    ///
    /// # Safety
    /// `plan` is that of a transition between the two archetypes (I-6); the entity lives in the row
    /// that it was said to (I-1). The columns of the reserved row that `plan` does not move to have
    /// been initialised (I-2).
    #[inline(always)]
    pub(crate) unsafe fn finish(self, plan: &'w RowPlan) -> (LeftBehind<'w>, &'w Archetype) {
        let Self { context, entity, from: Location { address: from, place, .. }, .. } = self;
        let (source, target, to) = (self.source, self.target, self.to);
        let MoveContext { entities, blocks, version, .. } = context;
        debug_assert_eq!(source.chunks.entities(from.chunk)[from.row], entity);
        let arrival = (&mut target.chunks, to);
        // SAFETY: a live entity's row (I-1) and one that was reserved in `new`, of two archetypes;
        // the caller vouches for the plan between them and for what it does not move (I-2, I-6).
        let taken = unsafe { source.chunks.move_row(blocks, from, arrival, plan, version) };
        entities.set_place(entity, target.chunks.place(to));
        // SAFETY: this row was taken just now, by this plan.
        let left = unsafe {
            LeftBehind::new(&source.chunks, &plan.drops, entities, (from, place, 1), &taken)
        };
        (left, target)
    }
}

/// Takes the row of an entity out, which ends; returns what it leaves behind.
///
/// # Safety
/// The entity lives in this row of the archetype (I-1).
#[inline(always)]
pub(crate) unsafe fn despawn_row<'w>(
    context: MoveContext<'_>,
    archetype: &'w mut Archetype,
    entity: Entity,
    Location { address: from, place, .. }: Location,
) -> LeftBehind<'w> {
    let MoveContext { entities, blocks, version, .. } = context;
    let Archetype { chunks, ending, .. } = archetype;
    // SAFETY: a live entity's row (I-1); the plan is made of this archetype's columns (I-6).
    let taken = unsafe { chunks.take_rows(blocks, (from, 1), ending, version) };
    entities.free(entity);
    // SAFETY: this row was taken just now, by this plan.
    unsafe { LeftBehind::new(chunks, &ending.drops, entities, (from, place, 1), &taken) }
}

/// Many rows that leave an archetype, for another one or for good.
///
/// An entity's place is written as its turn comes. What it leaves behind is a *hole*: a row that
/// the source still counts, so that the rows around it stay where they are. What it comes to is a
/// reserved row. All rows of one reservation are copied and committed together, column by column,
/// and the holes are closed in the end. Until then no other code may look at the world (C-2), which
/// is borrowed; dropping this brings everything in order, also on the way of a panic.
pub(crate) struct RowMoves<'w> {
    context: MoveContext<'w>,
    source: &'w mut Archetype,
    target: Option<Target<'w>>,
    /// The first of the holes whose rows have not been copied yet.
    fresh: usize,
}

/// Where rows arrive.
struct Target<'w> {
    archetype: &'w mut Archetype,
    plan: &'w RowPlan,
    /// The columns that the caller writes.
    columns: &'w [usize],
    rows: ReservedRows,
}

impl<'w> RowMoves<'w> {
    /// Rows that go to another archetype, and are given values in these columns by the caller.
    pub(crate) fn new(
        context: MoveContext<'w>,
        (source, archetype): (&'w mut Archetype, &'w mut Archetype),
        transition: &'w Transition,
        columns: &'w [usize],
    ) -> Self {
        let (plan, rows) = (&transition.plan, ReservedRows::default());
        Self::leaving(context, source, Some(Target { archetype, plan, columns, rows }))
    }

    /// Rows whose entities end, and whose values are dropped.
    pub(crate) fn despawn(context: MoveContext<'w>, source: &'w mut Archetype) -> Self {
        Self::leaving(context, source, None)
    }

    fn leaving(
        context: MoveContext<'w>,
        source: &'w mut Archetype,
        target: Option<Target<'w>>,
    ) -> Self {
        debug_assert!(context.scratch.holes.is_empty());
        Self { context, source, target, fresh: 0 }
    }

    /// The archetype that rows leave. Holes are rows of it like all others.
    pub(crate) fn source(&self) -> &Archetype {
        self.source
    }

    fn plan(&self) -> &RowPlan {
        self.target.as_ref().map_or(&self.source.ending, |target| target.plan)
    }

    /// Whether values will be dropped in the end.
    pub(crate) fn drops_values(&self) -> bool {
        !self.plan().drops.is_empty()
    }

    /// Where this entity is, if it is alive: as the table has it, in or out of a hole.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        self.context.entities.locate(entity, &self.context.blocks.directory)
    }

    /// Makes sure that the next row has a place and needs no memory; of `wanted` rows that may
    /// come, as many as fit get a place. Returns how many rows are left of the reservation.
    #[inline]
    pub(crate) fn prepare(&mut self, wanted: usize) -> usize {
        let room = self.target.as_ref().map_or(usize::MAX, |target| target.rows.left());
        if room == 0 {
            return self.reserve(wanted);
        }
        self.context.scratch.holes.reserve(1);
        room
    }

    #[inline(never)]
    fn reserve(&mut self, wanted: usize) -> usize {
        self.commit();
        let MoveContext { blocks, scratch, .. } = &mut self.context;
        scratch.holes.reserve(1);
        let Some(Target { archetype, columns, rows, .. }) = &mut self.target else {
            return usize::MAX;
        };
        *rows = ReservedRows::new(&mut archetype.chunks, blocks, wanted, columns);
        rows.left()
    }

    /// Where the caller has to write the next row's bundle: the starts of the columns, and the row.
    #[inline]
    pub(crate) fn next_row(&self) -> (&[NonNull<u8>], usize) {
        self.target.as_ref().map_or((&[], 0), |target| target.rows.next_row())
    }

    /// The entities in `count` rows of the source, from one on, go to the next rows of the target, or
    /// end where there is none.
    ///
    /// # Safety
    /// [`prepare`](Self::prepare) said that there is room, the rows are there and are no holes (I-2,
    /// C-2), and the caller has written the bundles from [`next_row`](Self::next_row) on (C-3).
    #[inline(always)]
    pub(crate) unsafe fn leave(&mut self, from: RowAddress, count: usize) {
        let entities = &mut *self.context.entities;
        let leaving = &self.source.chunks.entities(from.chunk)[from.row..from.row + count];
        match &mut self.target {
            Some(Target { archetype, rows, .. }) => {
                entities.set_places(leaving, archetype.chunks.place(rows.take(count)));
            }
            None => leaving.iter().for_each(|&entity| entities.free(entity)),
        }
        self.add_hole(from, count);
    }

    /// As [`leave`](Self::leave), of one row whose entity is known.
    ///
    /// # Safety
    /// As for [`leave`](Self::leave); the row is that of this entity (I-1).
    #[inline(always)]
    pub(crate) unsafe fn leave_one(&mut self, entity: Entity, from: RowAddress) {
        debug_assert_eq!(self.source.chunks.entities(from.chunk)[from.row], entity);
        let entities = &mut *self.context.entities;
        match &mut self.target {
            Some(Target { archetype, rows, .. }) => {
                entities.set_place(entity, archetype.chunks.place(rows.take(1)));
            }
            None => entities.free(entity),
        }
        self.add_hole(from, 1);
    }

    #[inline(always)]
    fn add_hole(&mut self, from: RowAddress, count: usize) {
        let rows = from.row..from.row + count;
        let holes = &mut self.context.scratch.holes;
        match holes[self.fresh..].last_mut() {
            Some(last) if last.chunk == from.chunk && last.rows.end == from.row => {
                last.rows.end += count;
            }
            _ if count > 0 => holes.push(Hole { chunk: from.chunk, rows }),
            _ => {}
        }
    }

    /// Lets the rows that have arrived belong to the target (C-3).
    fn commit(&mut self) {
        let MoveContext { scratch: MoveScratch { holes, .. }, version, .. } = &mut self.context;
        let fresh = &holes[self.fresh..];
        self.fresh = holes.len();
        let Some(Target { archetype, plan, rows, .. }) = &mut self.target else { return };
        let mut to = core::mem::take(rows).first();
        for Hole { chunk, rows } in fresh {
            let from = (RowAddress { chunk: *chunk, row: rows.start }, rows.len());
            let arrival = (&mut archetype.chunks, to);
            // SAFETY: the holes since the last commit are rows of the source whose entities have
            // arrived in these reserved rows one after the other (`leave`); the plan is a
            // transition's between the two (I-6), and the caller has written what it does not move
            // to (C-3).
            unsafe { self.source.chunks.copy_rows(from, arrival, plan, *version) };
            to.row += rows.len();
        }
    }

    /// Takes the holes out, from the last to the first: what fills a hole is never one itself.
    /// To be run again where a drop has panicked: the holes that are left are taken out then.
    fn close(&mut self) {
        let Self { context: MoveContext { entities, blocks, scratch, version }, .. } = self;
        let Archetype { chunks, ending, .. } = &mut *self.source;
        let plan = self.target.as_ref().map_or(&*ending, |target| target.plan);
        let place = |hole: &Hole| (hole.chunk, hole.rows.start);
        if !scratch.holes.is_sorted_by_key(place) {
            scratch.holes.sort_unstable_by_key(place);
        }
        while let Some(hole) = scratch.holes.last_mut() {
            let count = hole.rows.len().min(chunks.tail_len());
            hole.rows.end -= count;
            let from = RowAddress { chunk: hole.chunk, row: hole.rows.end };
            if hole.rows.is_empty() {
                _ = scratch.holes.pop();
            }
            // SAFETY: a hole is rows that the source counts (C-2), each of which comes up once; the
            // plan has the steps of its columns (I-6).
            let taken = unsafe { chunks.take_rows(blocks, (from, count), plan, *version) };
            let rows = (from, chunks.place(from), count);
            // SAFETY: these rows were taken just now, by this plan.
            drop(unsafe { LeftBehind::new(chunks, &plan.drops, entities, rows, &taken) });
        }
    }
}

impl Drop for RowMoves<'_> {
    fn drop(&mut self) {
        self.commit();
        // Should the drop of a value panic, the others are dropped and the holes closed all the same.
        finish(|| self.close());
    }
}
