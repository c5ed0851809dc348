//! Moving many rows together out of an archetype: to another one, or out of the world.
#![expect(unsafe_code, reason = "moves rows between archetypes, and bundles into them")]

use core::any::TypeId;

use super::bundles::Bundles;
use super::mover::LeftBehind;
use super::new_rows::ReservedRows;
use super::plan::Transition;
use super::{Hole, MoveContext, MoveScratch};
use crate::archetype::{Archetype, ArchetypeId, Archetypes};
use crate::bundle::{AnyParts, ColumnStarts, Parts};
use crate::component::{ArchetypeFlags, Registry};
use crate::entities::Entities;
use crate::entity::Entity;
use crate::storage::{BlockPool, Fill, RowAddress, RowPlan};
use crate::user_code::finish;

/// The move of many rows out of an archetype, to another one or out of the world.
///
/// The entity table gets the new places one entity after the other. An entity leaves behind a *hole*: a
/// row that the source still counts, so that the rows around it stay where they are. Its new row is a
/// reserved one. All rows of one reservation are copied and committed together, column by column, and the
/// holes are closed at the end. Until then no other code may access the world (C-2), which is borrowed.
/// Dropping this makes the world consistent again, also during a panic.
pub(crate) struct RowMoves<'w> {
    entities: &'w mut Entities,
    blocks: &'w mut BlockPool,
    scratch: &'w mut MoveScratch,
    version: u64,
    source: &'w mut Archetype,
    target: Option<Target<'w>>,
    /// The index of the first hole whose rows have not been copied yet.
    fresh: usize,
    /// All holes are before this row, so the rows from here on are no holes (C-2).
    behind_holes: RowAddress,
}

/// The target of the rows.
struct Target<'w> {
    archetype: &'w mut Archetype,
    transition: &'w Transition,
    rows: ReservedRows,
}

impl<'w> RowMoves<'w> {
    /// Prepares to move rows of an archetype along the transition that `find` returns, which begins
    /// there. Returns `None` if there is none, or if it leads back to the same archetype.
    pub(crate) fn new(
        mut context: MoveContext<'w>,
        from: ArchetypeId,
        find: impl FnOnce(&'w mut Bundles, &mut Registry, &mut Archetypes) -> Option<&'w Transition>,
    ) -> Option<Self> {
        let version = context.next_version();
        let MoveContext { bundles, registry, archetypes, entities, blocks, scratch, .. } = context;
        let transition = find(bundles, registry, archetypes)?;
        transition.expect_from(from);
        if transition.target == from {
            return None;
        }
        let (source, archetype) = archetypes.get_two(from, transition.target);
        let target = Some(Target { archetype, transition, rows: ReservedRows::default() });
        Some(Self::leaving((entities, blocks, scratch, version), source, target))
    }

    /// Prepares to despawn entities of an archetype, and drop their values.
    pub(crate) fn despawn(mut context: MoveContext<'w>, from: ArchetypeId) -> Self {
        let version = context.next_version();
        let MoveContext { archetypes, entities, blocks, scratch, .. } = context;
        Self::leaving((entities, blocks, scratch, version), archetypes.get_mut(from), None)
    }

    fn leaving(
        (entities, blocks, scratch, version): (
            &'w mut Entities,
            &'w mut BlockPool,
            &'w mut MoveScratch,
            u64,
        ),
        source: &'w mut Archetype,
        target: Option<Target<'w>>,
    ) -> Self {
        debug_assert!(scratch.holes.is_empty() && scratch.any_order.is_empty());
        let behind_holes = RowAddress::default();
        Self { entities, blocks, scratch, version, source, target, fresh: 0, behind_holes }
    }

    /// Returns the archetype that rows leave. It still has the holes as rows.
    pub(crate) fn source(&self) -> &Archetype {
        self.source
    }

    /// Returns the flags of the archetype that rows move to.
    pub(crate) fn target_flags(&self) -> ArchetypeFlags {
        self.target.as_ref().map_or(ArchetypeFlags::NONE, |target| target.archetype.flags)
    }

    /// Moves all rows of the source by whole chunks, if that is possible: the target has no rows, neither
    /// archetype has enabled bits or row versions, and only zero-sized components are added or removed.
    /// Calls `prepare` with the number of rows before that. Returns the number of rows afterwards.
    ///
    /// # Panics
    /// Panics if rows have moved already.
    pub(crate) fn hand_over(&mut self, prepare: impl FnOnce(usize)) -> Option<usize> {
        assert!(self.scratch.holes.is_empty(), "all rows are there yet");
        let Target { archetype, transition, .. } = self.target.as_mut()?;
        let plan = &transition.plan;
        self.source.chunks.is_alike(&archetype.chunks, plan).then(|| {
            prepare(self.source.len());
            let target = &mut archetype.chunks;
            self.source.chunks.hand_over(self.blocks, target, plan, self.version);
            archetype.len()
        })
    }

    fn plan(&self) -> &RowPlan {
        self.target.as_ref().map_or(&self.source.ending, |target| &target.transition.plan)
    }

    /// Returns whether values will be dropped at the end.
    pub(crate) fn drops_values(&self) -> bool {
        !self.plan().drops.is_empty()
    }

    /// Ensures that the next row is reserved and needs no memory. It reserves as many of the `wanted`
    /// rows that may come as fit in the chunk. Returns how many rows of the reservation are left.
    #[inline]
    fn prepare(&mut self, wanted: usize) -> usize {
        let room = self.target.as_ref().map_or(usize::MAX, |target| target.rows.left());
        if room == 0 {
            return self.reserve(wanted);
        }
        self.scratch.holes.reserve(1);
        room
    }

    #[inline(never)]
    fn reserve(&mut self, wanted: usize) -> usize {
        self.commit();
        self.scratch.holes.reserve(1);
        let Some(Target { archetype, transition, rows }) = &mut self.target else {
            return usize::MAX;
        };
        let insertion = transition.inserts.map(|_| *transition);
        *rows = ReservedRows::new(&mut archetype.chunks, self.blocks, wanted, insertion);
        rows.left()
    }

    /// Calls `visit` with pieces of a run of rows, each of which there is room for.
    ///
    /// # Panics
    /// Panics if the rows do not exist, or a row that has left is not before all of them.
    fn each_piece(
        &mut self,
        mut from: RowAddress,
        mut count: usize,
        mut visit: impl FnMut(&mut Self, RowAddress, usize),
    ) {
        let RowAddress { chunk, row } = from;
        let (end, is_behind) = (row + count, self.behind_holes <= from);
        assert!(is_behind && end <= self.source.chunks.len(chunk), "rows are there and in order");
        self.behind_holes = RowAddress { chunk, row: end };
        while count > 0 {
            let piece = self.prepare(count).min(count);
            visit(self, from, piece);
            from.row += piece;
            count -= piece;
        }
    }

    /// Moves a run of rows that need no values written. Runs come in the order of their rows.
    ///
    /// # Panics
    /// Panics if the rows do not exist, a row that has left is not before all of them, or the transition
    /// has values to be written.
    pub(crate) fn leave_run(&mut self, from: RowAddress, count: usize) {
        self.expect_no_gaps();
        self.each_piece(from, count, |moves, from, count| {
            // SAFETY: `each_piece` made room, and each row of the source is visited once, so none is a
            // hole (C-2); nothing has to be written.
            unsafe { moves.leave(from, count) };
        });
    }

    fn expect_no_gaps(&self) {
        if let Some(target) = &self.target {
            target.transition.expect_no_gaps();
        }
    }

    /// Moves a run of rows, each with the next bundle. Runs come in the order of their rows. If `next`
    /// panics, the rows before it arrive.
    ///
    /// # Panics
    /// Panics if the rows do not exist, a row that has left is not before all of them, or the transition
    /// is not an insertion of such a bundle.
    pub(crate) fn insert_run<P: Parts>(
        &mut self,
        from: RowAddress,
        count: usize,
        mut next: impl FnMut() -> P,
    ) {
        let inserts = self.target.as_ref().and_then(|target| target.transition.inserts);
        assert!(inserts == Some(TypeId::of::<P>()), "another bundle");
        self.each_piece(from, count, |moves, from, count| {
            let Some(target) = &moves.target else { return };
            let (columns, row) = target.rows.next_row();
            let columns: ColumnStarts = columns.starts.as_slice().into();
            let mut writing = Writing { moves, from, written: 0 };
            for _ in 0..count {
                let bundle = next();
                // SAFETY: the columns are those of the insertion of this bundle, as was checked (I-6,
                // I-9), and `prepare` has reserved `count` rows from there on.
                unsafe { bundle.write(&columns, row + writing.written) };
                writing.written += 1;
            }
        });
    }

    /// Moves an entity, if it is in the source, and returns whether it was. `take` returns the bundle to
    /// insert, if the transition is an insertion. It reserves as many of the `wanted` rows that may come
    /// as fit in the chunk.
    ///
    /// # Panics
    /// Panics if the bundle is another than that of the transition, or there is none and it takes one.
    #[inline(always)]
    pub(crate) fn leave_one<B: AnyParts>(
        &mut self,
        entity: Entity,
        wanted: usize,
        take: impl FnOnce() -> Option<B>,
    ) -> bool {
        let here = self.entities.locate(entity, &self.blocks.directory);
        let Some(from) = here.filter(|here| here.archetype == self.source.id()) else {
            return false;
        };
        self.prepare(wanted);
        match take() {
            Some(bundle) => {
                let target = self.target.as_ref().expect("rows that go to another archetype");
                let (columns, row) = target.rows.next_row();
                // SAFETY: the columns are those of the insertion of this type of bundle (I-6, I-9), and
                // `prepare` has reserved the row.
                unsafe { bundle.write(columns, row) };
            }
            None => self.expect_no_gaps(),
        }
        // No runs may follow.
        self.behind_holes = RowAddress { chunk: usize::MAX, row: 0 };
        // SAFETY: the row was just prepared, and all that has to be written was. The entity is in that
        // row (I-1) according to the table, which was updated for those that have moved, so the row is no
        // hole (C-2).
        unsafe { self.leave_row(entity, from.address) };
        true
    }

    /// Makes room for entities in any order, see [`despawn_one`](Self::despawn_one).
    pub(crate) fn prepare_any_order(&mut self) {
        self.scratch.any_order.prepare(self.source.chunks.used_count());
    }

    /// Despawns an entity, if it is in the source, and returns whether it was. Entities may come in any
    /// order, for which there is [room](Self::prepare_any_order); that of the rows that remain depends on
    /// which they are.
    ///
    /// # Panics
    /// Panics if rows move to another archetype.
    #[inline]
    pub(crate) fn despawn_one(&mut self, entity: Entity) -> bool {
        assert!(self.target.is_none(), "rows that go to another archetype");
        let here = self.entities.locate(entity, &self.blocks.directory);
        let Some(from) = here.filter(|here| here.archetype == self.source.id()) else {
            return false;
        };
        // No runs may follow.
        self.behind_holes = RowAddress { chunk: usize::MAX, row: 0 };
        self.entities.free(entity);
        self.scratch.any_order.insert(from.address);
        true
    }

    /// Moves the entities in `count` rows of the source, from `from` on, to the next rows of the target,
    /// or despawns them if there is no target.
    ///
    /// # Safety
    /// [`prepare`](Self::prepare) has made room, the rows exist and are no holes (I-2, C-2), and the
    /// caller has written the bundles of the next rows (C-3).
    #[inline(always)]
    unsafe fn leave(&mut self, from: RowAddress, count: usize) {
        let entities = &mut *self.entities;
        let leaving = &self.source.chunks.entities(from.chunk)[from.row..from.row + count];
        match &mut self.target {
            Some(Target { archetype, rows, .. }) => {
                entities.set_places(leaving, archetype.chunks.place(rows.take(count)));
            }
            None => leaving.iter().for_each(|&entity| entities.free(entity)),
        }
        self.add_hole(from, count);
    }

    /// The same as [`leave`](Self::leave), for one row whose entity is known.
    ///
    /// # Safety
    /// The requirements of [`leave`](Self::leave); the row is that of this entity (I-1).
    #[inline(always)]
    unsafe fn leave_row(&mut self, entity: Entity, from: RowAddress) {
        debug_assert_eq!(self.source.chunks.entities(from.chunk)[from.row], entity);
        let entities = &mut *self.entities;
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
        let holes = &mut self.scratch.holes;
        match holes[self.fresh..].last_mut() {
            Some(last) if last.chunk == from.chunk && last.rows.end == from.row => {
                last.rows.end += count;
            }
            _ if count > 0 => holes.push(Hole { chunk: from.chunk, rows }),
            _ => {}
        }
    }

    /// Commits the rows that have arrived in the target (C-3).
    fn commit(&mut self) {
        let holes = &self.scratch.holes;
        let fresh = &holes[self.fresh..];
        self.fresh = holes.len();
        let Some(Target { archetype, transition, rows }) = &mut self.target else { return };
        let mut to = core::mem::take(rows).first();
        for Hole { chunk, rows } in fresh {
            let from = (RowAddress { chunk: *chunk, row: rows.start }, rows.len());
            let arrival = (&mut archetype.chunks, to);
            // SAFETY: the holes since the last commit are rows of the source whose entities were given
            // these reserved rows one after the other (`leave`); the plan is that of a transition between
            // the two (I-6), and the caller has written what it does not move (C-3).
            unsafe { self.source.chunks.copy_rows(from, arrival, &transition.plan, self.version) };
            to.row += rows.len();
        }
    }

    /// Takes out the holes, from the last to the first, so that a row that fills a hole is never a hole
    /// itself. If a drop panics, another call takes out the remaining holes.
    fn close(&mut self) {
        let Self { entities, blocks, scratch, version, source, target, .. } = self;
        let Archetype { chunks, ending, .. } = &mut **source;
        let plan = target.as_ref().map_or(&*ending, |target| &target.transition.plan);
        while !scratch.any_order.is_empty() {
            let end = chunks.end();
            let len = scratch.any_order.take_tail(end, &mut scratch.fills);
            // SAFETY: a hole is a row that the source counts (C-2), and is taken once. The last rows are holes
            // or fill one (`take_tail`). The plan has the steps of the columns (I-6).
            unsafe { chunks.fill(blocks, &scratch.fills, len, plan, *version) };
            for &Fill { hole, .. } in &scratch.fills {
                entities.set_place(chunks.entities(hole.chunk)[hole.row], chunks.place(hole));
            }
            let left = (RowAddress { row: len, ..end }, end.row - len);
            // SAFETY: these rows were just taken, by this plan.
            drop(unsafe { LeftBehind::of_rows(chunks, &plan.drops, left) });
        }
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
            // SAFETY: a hole consists of rows that the source counts (C-2), each of which is taken once;
            // the plan has the steps of its columns (I-6).
            let taken = unsafe { chunks.take_rows(blocks, (from, count), plan, *version) };
            let rows = (from, chunks.place(from), count);
            // SAFETY: these rows were just taken, by this plan.
            drop(unsafe { LeftBehind::new(chunks, &plan.drops, entities, rows, &taken) });
        }
    }
}

/// Bundles that are being written for a run of rows. Those that were written move with their rows, even
/// if a clone panics.
struct Writing<'a, 'w> {
    moves: &'a mut RowMoves<'w>,
    from: RowAddress,
    written: usize,
}

impl Drop for Writing<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: created only by `insert_run`, for rows for which `prepare` has made room, and each of
        // which comes up once, so that none is a hole (C-2); this many bundles were written (C-3).
        unsafe { self.moves.leave(self.from, self.written) };
    }
}

impl Drop for RowMoves<'_> {
    fn drop(&mut self) {
        self.commit();
        // If the drop of a value panics, the others are dropped and the holes closed all the same.
        finish(|| self.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Bundle;
    use crate::world::World;

    #[derive(crate::Component, Debug, PartialEq)]
    struct A(u32);
    #[derive(crate::Component, Debug, PartialEq)]
    struct B(u32);

    /// Prepares to move the rows of three entities with an `A`, by inserting a `B`.
    fn given_b(world: &mut World) -> RowMoves<'_> {
        let entities = world.spawn_batch((0..3).map(A));
        let from = world.locate(entities[0]).expect("alive").archetype;
        let moves = RowMoves::new(world.moves(), from, |bundles, registry, archetypes| {
            Some(bundles.insertion::<<B as Bundle>::Parts>(from, registry, archetypes))
        });
        moves.expect("to another archetype")
    }

    const FIRST: RowAddress = RowAddress { chunk: 0, row: 0 };

    #[test]
    fn rows_arrive_with_their_bundles() {
        let mut world = World::new();
        given_b(&mut world).insert_run(FIRST, 2, || B(7).into_parts());
        assert_eq!(world.query::<(&A, &B)>().count(), 2);
        assert_eq!(world.query::<&A>().count(), 3);
        world.check().expect("in order");
    }

    #[test]
    #[should_panic(expected = "another bundle")]
    fn a_bundle_of_another_type_than_the_transition_gives_is_refused() {
        given_b(&mut World::new()).insert_run(FIRST, 2, || A(7).into_parts());
    }

    #[test]
    #[should_panic(expected = "values to be written")]
    fn rows_that_need_a_value_do_not_leave_without() {
        given_b(&mut World::new()).leave_run(FIRST, 2);
    }

    #[test]
    #[should_panic(expected = "rows are there and in order")]
    fn rows_that_have_left_do_not_leave_again() {
        let mut world = World::new();
        let mut moves = given_b(&mut world);
        moves.insert_run(FIRST, 2, || B(7).into_parts());
        moves.insert_run(RowAddress { row: 1, ..FIRST }, 2, || B(8).into_parts());
    }

    #[derive(crate::Component)]
    struct Tag;

    #[test]
    #[should_panic(expected = "all rows are there yet")]
    fn rows_do_not_leave_by_whole_chunks_behind_one_that_has_left() {
        let mut world = World::new();
        let entities = world.spawn_batch((0..3).map(A));
        let from = world.locate(entities[0]).expect("alive").archetype;
        let mut moves = RowMoves::new(world.moves(), from, |bundles, registry, archetypes| {
            Some(bundles.insertion::<<Tag as Bundle>::Parts>(from, registry, archetypes))
        })
        .expect("to another archetype");
        moves.insert_run(FIRST, 1, || Tag.into_parts());
        moves.hand_over(|_| ());
    }

    #[test]
    #[should_panic(expected = "rows are there and in order")]
    fn rows_that_are_not_there_do_not_leave() {
        given_b(&mut World::new()).insert_run(FIRST, 4, || B(7).into_parts());
    }
}
