//! One row: moved to another archetype, or taken out.
#![expect(unsafe_code, reason = "copies and swaps the values of one row")]

use alloc::boxed::Box;
use core::ptr::NonNull;

use super::{BlockPool, Chunks, Place, RowAddress, bytes};
use crate::entity::Entity;

/// What happens to a row on its way from one archetype to another, column by column (I-6): worked
/// out once, and then carried out by one pass over the columns of the source.
#[derive(Clone, Debug)]
pub(crate) struct RowPlan {
    /// One for each column of the source, in their order.
    pub(crate) steps: Box<[ColumnStep]>,
    /// The columns of the target that its entities did not have before.
    pub(crate) fresh: Box<[usize]>,
    /// The enabled bits that go along: of the source, of the target.
    pub(crate) bit_moves: Box<[(usize, usize)]>,
    /// The versions of rows that go along, by their places among the tracked columns: of the
    /// source, of the target, and whether the value is replaced.
    pub(crate) version_moves: Box<[(usize, usize, bool)]>,
    /// Whether there is something to drop of what stays behind.
    pub(crate) drops: bool,
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
    /// It is forgotten: there is nothing to drop, or the caller has taken it.
    Forget,
    /// It is left to be dropped.
    Drop,
}

/// What became of the row that left.
#[derive(Debug)]
pub(crate) struct TakenRow {
    /// The entity that moved into the place, if it was not the last row.
    pub(crate) moved: Option<Entity>,
    /// Where the values of the columns that were to be kept are now: beyond the last row.
    pub(crate) vacated: RowAddress,
}

impl RowPlan {
    /// What stays behind is taken by the caller rather than dropped.
    pub(crate) fn forget_rest(&mut self) {
        for step in self.steps.iter_mut().filter(|step| step.action == ColumnAction::Drop) {
            step.action = ColumnAction::Forget;
        }
        self.drops = false;
    }
}

impl Chunks {
    /// Copies the bytes of a row into a reserved row of another archetype, for the columns in
    /// `moves` (from here, to there).
    ///
    /// # Safety
    /// `other` is another archetype's; `from` is a row here (I-2) and `to` a reserved row there;
    /// each pair of columns holds the same component type (I-9). Afterwards the values count as
    /// moved: of each pair, one is not used.
    pub(crate) unsafe fn copy_row(
        &self,
        from: RowAddress,
        other: &Self,
        to: RowAddress,
        moves: &[(usize, usize)],
    ) {
        for &(mine, theirs) in moves {
            debug_assert_eq!(self.sizes[mine], other.sizes[theirs]);
            let source = self.value(from, mine);
            let target = other.value(to, theirs);
            // SAFETY: both are rows of a column of this size (I-3) in blocks of two archetypes.
            unsafe { bytes::copy(source, target, self.sizes[mine]) };
        }
    }

    /// Moves a row to the next row of another archetype, and commits it there: the values that go
    /// along, the entity, bits and stamps. The last row here fills the hole. What is to be dropped
    /// moves behind the last row, where the caller has to see to it; all other values that stay
    /// behind are forgotten.
    ///
    /// All books but the entity table are in order when this returns, with the place of the row in the
    /// other archetype.
    ///
    /// # Safety
    /// `plan` is that of a transition from this archetype to the other one (I-6). `from` is a row here (I-2).
    /// `to` came from [`reserve_row`](Self::reserve_row) of the other, with nothing committed or
    /// taken since, and its columns that `plan` does not move to are initialised (I-2).
    #[inline(always)]
    pub(crate) unsafe fn move_row(
        &mut self,
        pool: &mut BlockPool,
        (entity, from): (Entity, RowAddress),
        (other, to): (&mut Self, RowAddress),
        plan: &RowPlan,
        version: u64,
    ) -> (TakenRow, Place) {
        if to.row == 0 {
            other.enter_chunk(to.chunk);
        }
        debug_assert_eq!(other.end(), to);
        let last = self.last_row();
        // SAFETY: the caller vouches for the plan (I-6) and the two rows (I-2); the row is the next
        // one of the last used chunk now (I-4).
        let (moved, place) =
            unsafe { self.move_to_end(entity, (from, last), (other, to), plan, version) };
        (self.taken(pool, last, moved), place)
    }

    /// [`move_row`](Self::move_row) to the next row of the last used chunk, with the chunk that it
    /// leaves kept as a used one.
    ///
    /// # Safety
    /// As for [`move_row`](Self::move_row); `last` is the last row here.
    #[inline(always)]
    unsafe fn move_to_end(
        &mut self,
        entity: Entity,
        (from, last): (RowAddress, RowAddress),
        (other, to): (&mut Self, RowAddress),
        plan: &RowPlan,
        version: u64,
    ) -> (Option<Entity>, Place) {
        debug_assert_eq!(self.entities(from.chunk)[from.row], entity);
        let is_last = from == last;
        debug_assert!(plan.steps.iter().map(|step| step.size).eq(self.sizes.iter().copied()));
        let theirs = other.records.of_chunk(to.chunk);
        let (mine, tails) = (self.records.of_chunk(from.chunk), self.records.of_chunk(last.chunk));
        for ((&ColumnStep { target, action, size }, mine), tail) in
            plan.steps.iter().zip(mine).zip(tails)
        {
            let added = mine.leave(tail, version);
            // SAFETY: the row is there: it is inside the column (I-3), whose values have this size
            // (I-6).
            let hole = unsafe { mine.start().add(from.row * size) };
            if let Some(target) = target {
                let record = &theirs[target as usize];
                record.arrive(version, added);
                if action == ColumnAction::Move {
                    // SAFETY: there is room for the row: it is inside the column (I-3), whose values
                    // are of the same type (I-6).
                    let target = unsafe { record.start().add(to.row * size) };
                    // SAFETY: rows inside columns (I-3) of values of this size (I-6), in blocks of
                    // two archetypes.
                    unsafe { bytes::copy(hole, target, size) };
                }
            }
            if !is_last {
                // SAFETY: the last row is there (I-2), in the same column, whose values have this
                // size (I-6), and is another one.
                unsafe { fill(hole, tail.start(), last.row, size, action == ColumnAction::Drop) };
            }
        }
        for &column in &plan.fresh {
            theirs[column].arrive(version, version);
        }
        if plan.has_marks {
            self.move_marks(from, last, other, to, plan, version);
        }
        // SAFETY: the row is unowned, and all its columns are initialised now (I-2): those that
        // the plan moves to (I-6) by the copies above, the others by the caller.
        let place = unsafe { other.push_entity(to, entity) };
        let moved = (!is_last).then(|| self.fill_entity(from, last));
        self.pop_last(last);
        (moved, place)
    }

    /// Enabled bits and the versions of rows, for [`move_row`](Self::move_row).
    #[inline(never)]
    fn move_marks(
        &mut self,
        from: RowAddress,
        last: RowAddress,
        other: &mut Self,
        to: RowAddress,
        plan: &RowPlan,
        version: u64,
    ) {
        other.push_marks(to, 1, version);
        for &(mine, theirs) in &plan.bit_moves {
            let enabled = self.bits[mine].get(from.chunk, from.row);
            other.bits[theirs].put(to.chunk, to.row, enabled);
        }
        self.carry_versions(from, 1, other, to, plan, version);
        self.take_marks(from, last);
    }

    /// Writes down the versions of `count` rows that go to another archetype, for the columns that
    /// have versions of rows.
    pub(crate) fn carry_versions(
        &self,
        from: RowAddress,
        count: usize,
        other: &mut Self,
        to: RowAddress,
        plan: &RowPlan,
        version: u64,
    ) {
        for &(mine, theirs, is_replaced) in &plan.version_moves {
            let versions = self.row_versions(mine, from.chunk);
            for offset in 0..count {
                let row = from.row + offset;
                let changed = if is_replaced { version } else { versions.changed.get(row) };
                let to = RowAddress { row: to.row + offset, ..to };
                other.set_row_versions(theirs, to, changed, versions.added.get(row));
            }
        }
    }

    /// Writes down when the components of rows came that go to another archetype, and were
    /// committed there without a word about it.
    pub(crate) fn carry_added(
        &self,
        from: usize,
        other: &mut Self,
        to: usize,
        plan: &RowPlan,
        version: u64,
    ) {
        for (mine, step) in plan.steps.iter().enumerate() {
            if let Some(theirs) = step.target {
                let added = self.stamps(from, mine).added();
                other.stamps(to, theirs as usize).raise_added(added);
            }
        }
        for &column in &plan.fresh {
            other.stamps(to, column).raise_added(version);
        }
    }

    /// Takes a row out: the last row moves into its place. What is to be dropped moves behind the
    /// last row, where the caller has to see to it; the other values are forgotten.
    ///
    /// All books but the entity table are in order when this returns: the row is gone.
    #[inline(always)]
    pub(crate) fn take_row(
        &mut self,
        pool: &mut BlockPool,
        from: RowAddress,
        steps: &[ColumnStep],
        version: u64,
    ) -> TakenRow {
        let last = self.last_row();
        let moved = if from == last {
            self.records.touch(from.chunk, version);
            None
        } else {
            Some(self.fill_hole(from, steps, version))
        };
        if self.has_marks {
            self.take_marks(from, last);
        }
        self.pop_last(last);
        self.taken(pool, last, moved)
    }

    /// Moves the last row to the place of another one, which leaves; returns whose it is.
    #[inline(never)]
    fn fill_hole(&mut self, hole: RowAddress, steps: &[ColumnStep], version: u64) -> Entity {
        let last = self.last_row();
        assert!(hole.row < self.len(hole.chunk) && hole != last, "the row exists");
        assert!(steps.len() == self.sizes.len(), "there is a step for each column");
        debug_assert!(steps.iter().map(|step| step.size).eq(self.sizes.iter().copied()));
        let holes = self.records.of_chunk(hole.chunk);
        let tails = self.records.of_chunk(last.chunk);
        for ((&ColumnStep { action, size, .. }, mine), tail) in steps.iter().zip(holes).zip(tails) {
            mine.leave(tail, version);
            // SAFETY: the row is there: it is inside the column (I-3), whose values have this size
            // (I-6).
            let value = unsafe { mine.start().add(hole.row * size) };
            // SAFETY: the last row is there (I-2), in the same column, whose values have this size
            // (I-6), and is another one.
            unsafe { fill(value, tail.start(), last.row, size, action == ColumnAction::Drop) };
        }
        self.fill_entity(hole, last)
    }

    /// What has become of the row that has left, the last one having been `last`.
    #[inline]
    fn taken(&mut self, pool: &mut BlockPool, last: RowAddress, moved: Option<Entity>) -> TakenRow {
        if last.row == 0 {
            self.leave_chunk(pool);
        }
        TakenRow { moved, vacated: last }
    }

    /// The place of the next row in the last used chunk, which may be full.
    #[inline]
    fn end(&self) -> RowAddress {
        let chunk = self.used - 1;
        RowAddress { chunk, row: self.len(chunk) }
    }

    /// The last row of all. There must be one.
    #[inline]
    fn last_row(&self) -> RowAddress {
        let chunk = self.used - 1;
        RowAddress { chunk, row: self.len(chunk) - 1 }
    }

    /// Enabled bits and versions of rows: those of the last row go to the row that leaves.
    #[inline(never)]
    fn take_marks(&mut self, address: RowAddress, last: RowAddress) {
        for bits in &mut self.bits {
            let enabled = bits.pop_row(last.chunk, last.row);
            if address != last {
                bits.put(address.chunk, address.row, enabled);
            }
        }
        for versions in &mut self.tracked {
            let (changed, added) = versions.pop_row(last.chunk, last.row);
            if address != last {
                versions.set(address.chunk, address.row, changed, added);
            }
        }
    }

    /// Enters the entity of a row that has come, and counts it. Returns its place.
    ///
    /// # Safety
    /// The row is the next one of its chunk, unowned, and its columns are initialised (I-2).
    #[inline]
    unsafe fn push_entity(&mut self, to: RowAddress, entity: Entity) -> Place {
        debug_assert!(to.row == self.len(to.chunk) && to.row < self.capacity(to.chunk));
        let head = &mut self.heads[to.chunk];
        // SAFETY: there is room for the row in the entity column, which starts the block (I-3).
        let room = unsafe { head.entities().add(to.row) };
        // SAFETY: the room is inside the entity column (I-3), and the caller vouches that it is
        // unowned (I-2).
        unsafe { room.write(entity) };
        head.set_len(to.row + 1);
        self.row_count += 1;
        head.place(to.row)
    }

    /// The entity of the last row moves to that of a row that leaves.
    #[inline]
    fn fill_entity(&mut self, hole: RowAddress, last: RowAddress) -> Entity {
        debug_assert!(hole.row < self.len(hole.chunk) && last.row < self.len(last.chunk));
        let (hole, tail) = (self.entity_row(hole), self.entity_row(last));
        // SAFETY: the last row is there (`last_row`), so its entity is initialised (I-2).
        let moved = unsafe { tail.read() };
        // SAFETY: the callers have seen the row to be there, so it is inside the entity column
        // (I-3); `&mut self` makes this the only access.
        unsafe { hole.write(moved) };
        moved
    }

    /// The last row is not counted any more.
    #[inline]
    fn pop_last(&mut self, last: RowAddress) {
        self.heads[last.chunk].set_len(last.row);
        self.row_count -= 1;
    }
}

/// Puts the value in a row of the column that starts at `tail` into a hole. Where it `swaps`, what
/// was there goes the other way; else it is forgotten.
///
/// # Safety
/// Both are rows of columns of one type, of values of this size (I-3, I-6); they are initialised
/// (I-2), and not the same.
#[inline(always)]
unsafe fn fill(hole: NonNull<u8>, tail: NonNull<u8>, row: usize, size: usize, swaps: bool) {
    // SAFETY: the caller vouches for a row inside the column (I-3).
    let tail = unsafe { tail.add(row * size) };
    if swaps {
        // SAFETY: the caller vouches for two different rows of this size (I-3).
        unsafe { bytes::swap(hole, tail, size) };
    } else {
        // SAFETY: the caller vouches for two different rows of this size (I-3).
        unsafe { bytes::copy(tail, hole, size) };
    }
}
