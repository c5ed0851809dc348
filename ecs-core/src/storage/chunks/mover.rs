//! Moving rows out of an archetype: to another archetype, out of the world, or in two steps at different
//! times; and the plan that says how, column by column.
//!
//! [`transfer`](Chunks::transfer) is the only function that lists all that belongs to a row: its values
//! and its entity, its enabled bits and its versions, and its entries in the records of its columns.
#![expect(unsafe_code, reason = "copies and swaps the values of rows")]

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::{BlockPool, ChunkMarks, Chunks, DropFn, RowAddress};
use crate::entity::Entity;

/// The plan for a row that moves from one archetype to another, or out of the world (I-6). It is computed
/// once, and carried out by one pass over the columns of the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowPlan {
    /// One step for each column of the source, in their order.
    pub(crate) steps: Vec<ColumnStep>,
    /// The columns of the target that its entities did not have before.
    pub(crate) fresh: Vec<usize>,
    /// The enabled bits that are copied: of the source, of the target.
    pub(crate) bit_moves: Vec<(usize, usize)>,
    /// The row versions that are copied, by their indices among the tracked columns: of the source, of
    /// the target, and whether the value is replaced.
    pub(crate) version_moves: Vec<(usize, usize, bool)>,
    /// The columns whose values remain to be dropped, and how.
    pub(crate) drops: Vec<(usize, DropFn)>,
    /// Whether either archetype has enabled bits or row versions.
    pub(crate) has_marks: bool,
}

/// The step for one column of a row that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnStep {
    /// The column of the same component in the target, if any. The version at which the component was
    /// added is then kept there.
    pub(crate) target: Option<u32>,
    pub(crate) action: ColumnAction,
    /// The size of one value, in bytes.
    pub(crate) size: usize,
}

/// The action for a value whose row leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnAction {
    /// The value moves with the row.
    Move,
    /// The value is forgotten: there is nothing to drop.
    Forget,
    /// The value remains, to be dropped.
    Drop,
}

impl RowPlan {
    /// Adds the step of the next column of the source: the column of its component in the target, and
    /// whether the value moves there.
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

/// The result of taking rows out.
#[derive(Debug)]
pub(crate) struct TakenRows {
    /// The number of rows that others moved into, which are the first of those taken out.
    pub(crate) filled: usize,
    /// The entity that is now in the first of these rows.
    pub(crate) moved: Option<Entity>,
    /// The place of the values to be dropped: behind the last row, as many rows as were taken out.
    pub(crate) vacated: RowAddress,
}

/// The last rows, which fill the place of rows that leave.
#[derive(Clone, Copy)]
struct Filler {
    /// The end of the last used chunk, with the rows that leave.
    end: RowAddress,
    /// The number of rows that move: fewer than those that leave if these are among the last.
    count: usize,
}

/// A row that leaves, and the row of the last chunk that fills its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) hole: RowAddress,
    pub(crate) filler: usize,
}

impl Chunks {
    /// Moves a row to the next row of another archetype and commits it there. The last row here fills the
    /// hole.
    ///
    /// All bookkeeping except the entity table is consistent when this returns. Values to be dropped lie
    /// behind the last row, where the caller has to drop them. All other values that stay behind are
    /// forgotten.
    ///
    /// # Safety
    /// `plan` is that of a transition from this archetype to the other one (I-6). `from` is a row here
    /// (I-2). `to` came from [`reserve_row`](Self::reserve_row) of the other archetype, with nothing
    /// committed or taken since. Its columns that `plan` does not move to are initialised (I-2).
    #[inline(always)]
    pub(crate) unsafe fn move_row(
        &mut self,
        pool: &mut BlockPool,
        from: RowAddress,
        (other, to): (&mut Self, RowAddress),
        plan: &RowPlan,
        version: u64,
    ) -> TakenRows {
        let filler = self.filler(from, 1);
        // SAFETY: the caller guarantees the plan (I-6) and one row at either end (I-2).
        let moved =
            unsafe { self.transfer((from, 1), Some((other, to)), Some(filler), plan, version) };
        self.taken(pool, 1, filler, moved)
    }

    /// Copies rows into the next rows of another archetype and commits them there. Here they still count:
    /// they are holes, to be [taken out](Self::take_rows) later.
    ///
    /// # Safety
    /// The requirements of [`move_row`](Self::move_row), for each of `count` adjacent rows in one chunk.
    /// Afterwards the values that moved are forgotten here.
    pub(crate) unsafe fn copy_rows(
        &mut self,
        (from, count): (RowAddress, usize),
        arrival: (&mut Self, RowAddress),
        plan: &RowPlan,
        version: u64,
    ) {
        // SAFETY: the caller guarantees the plan (I-6) and these rows at either end (I-2).
        _ = unsafe { self.transfer((from, count), Some(arrival), None, plan, version) };
    }

    /// Returns how many rows [`take_rows`](Self::take_rows) can take out at once.
    #[inline]
    pub(crate) fn tail_len(&self) -> usize {
        self.used.checked_sub(1).map_or(0, |last| self.len(last))
    }

    /// Takes out adjacent rows in one chunk, at least one and at most [`tail_len`](Self::tail_len). The
    /// last rows move into their place.
    ///
    /// All bookkeeping except the entity table is consistent when this returns. Values to be dropped lie
    /// behind the last row, where the caller has to drop them. All other values are forgotten.
    ///
    /// # Safety
    /// The rows exist (I-2), and `plan` has the steps of this archetype's columns (I-6).
    #[inline(always)]
    pub(crate) unsafe fn take_rows(
        &mut self,
        pool: &mut BlockPool,
        (from, count): (RowAddress, usize),
        plan: &RowPlan,
        version: u64,
    ) -> TakenRows {
        let filler = self.filler(from, count);
        // SAFETY: the caller guarantees the rows (I-2) and the steps of the plan (I-6).
        let moved = unsafe { self.transfer((from, count), None, Some(filler), plan, version) };
        self.taken(pool, count, filler, moved)
    }

    /// The rows that fill the place of these.
    #[inline(always)]
    fn filler(&self, from: RowAddress, count: usize) -> Filler {
        let chunk = self.used - 1;
        let end = RowAddress { chunk, row: self.len(chunk) };
        debug_assert!(count > 0 && count <= end.row, "the rows exist");
        debug_assert!(from.row + count <= self.len(from.chunk), "the rows exist");
        // Fewer rows of the last chunk may follow than leave. One row is followed by one or by none.
        let count = if from.chunk == chunk && count == 1 {
            usize::from(from.row + 1 != end.row)
        } else if from.chunk == chunk {
            count.min(end.row - (from.row + count))
        } else {
            count
        };
        Filler { end, count }
    }

    /// The result for rows that have left.
    #[inline]
    fn taken(
        &mut self,
        pool: &mut BlockPool,
        count: usize,
        filler: Filler,
        moved: Option<Entity>,
    ) -> TakenRows {
        let Filler { end, count: filled } = filler;
        if end.row == count {
            self.leave_chunk(pool);
        }
        TakenRows { filled, moved, vacated: RowAddress { row: end.row - count, ..end } }
    }

    /// Returns the end of the rows of the last used chunk.
    pub(crate) fn end(&self) -> RowAddress {
        let chunk = self.used.checked_sub(1);
        chunk.map_or(RowAddress::default(), |chunk| RowAddress { chunk, row: self.len(chunk) })
    }

    /// Takes out all rows of the last chunk from `len` on. Some of them move into holes before that, column
    /// by column.
    ///
    /// All bookkeeping except the entity table is consistent when this returns. Values to be dropped lie
    /// in the rows that were taken out, where the caller has to drop them. All other values are forgotten.
    ///
    /// # Safety
    /// There are such rows, and each of them leaves for good or is the filler of one of `fills`. The holes of
    /// `fills` are rows before them, each of which leaves (I-2) and comes up once. `plan` has the steps of
    /// this archetype's columns (I-6).
    pub(crate) unsafe fn fill(
        &mut self,
        pool: &mut BlockPool,
        fills: &[Fill],
        len: usize,
        plan: &RowPlan,
        version: u64,
    ) {
        let end = self.end();
        debug_assert!(len < end.row);
        for (column, step) in plan.steps.iter().enumerate() {
            let tail = self.record(end.chunk, column);
            let (mut chunk, added) = (end.chunk, tail.stamps().added());
            tail.arrive(version, 0);
            for &Fill { hole, filler } in fills {
                debug_assert!(hole < RowAddress { row: len, ..end } && filler >= len);
                if hole.chunk != chunk {
                    chunk = hole.chunk;
                    self.record(chunk, column).arrive(version, added);
                }
                let last = self.value(RowAddress { row: filler, ..end }, column);
                let hole = self.value(hole, column);
                if step.action == ColumnAction::Drop {
                    let (hole, last) = (hole.as_ptr(), last.as_ptr());
                    // SAFETY: two rows of one column (I-3, I-6), both existing (I-2), which are different:
                    // holes are before the fillers.
                    unsafe { core::ptr::swap_nonoverlapping(hole, last, step.size) };
                } else {
                    // SAFETY: as above; the previous contents of the hole are forgotten.
                    unsafe { copy(last, hole, step.size) };
                }
            }
        }
        if plan.has_marks {
            let tail = self.marks(end.chunk);
            for &Fill { hole, filler } in fills {
                self.marks(hole.chunk).copy_rows(&(hole.row..hole.row + 1), tail, filler);
            }
            tail.pop_rows(&(len..end.row));
        }
        for &Fill { hole, filler } in fills {
            let last = self.entity_row(RowAddress { row: filler, ..end });
            // SAFETY: the filler exists (I-2).
            let moved = unsafe { last.read() };
            // SAFETY: the hole exists, so it is inside the entity column (I-3); `&mut self` makes this the
            // only access.
            unsafe { self.entity_row(hole).write(moved) };
        }
        self.heads[end.chunk].set_len(len);
        self.row_count -= end.row - len;
        if len == 0 {
            self.leave_chunk(pool);
        }
    }

    /// Passes once over the columns of `count` adjacent rows. If they move, it copies them to the rows of
    /// another archetype from `to` on, and commits them there. If there is a filler, it takes them out of
    /// this archetype. Returns the entity of the first row that fills a place.
    ///
    /// # Safety
    /// The requirements of [`move_row`](Self::move_row), [`copy_rows`](Self::copy_rows) and
    /// [`take_rows`](Self::take_rows), of which this is the common part. The filler is that of these
    /// rows.
    #[inline(always)]
    unsafe fn transfer(
        &mut self,
        (from, count): (RowAddress, usize),
        mut arrival: Option<(&mut Self, RowAddress)>,
        filler: Option<Filler>,
        plan: &RowPlan,
        version: u64,
    ) -> Option<Entity> {
        debug_assert!(plan.steps.iter().map(|step| step.size).eq(self.sizes.iter().copied()));
        if let Some((other, to)) = &mut arrival {
            if to.row == 0 {
                other.enter_chunk(to.chunk);
            }
            debug_assert_eq!((to.chunk + 1, to.row), (other.used, other.len(to.chunk)));
            debug_assert!(to.row + count <= other.capacity(to.chunk));
        }
        let mine = self.records(from.chunk);
        let tails = filler.map_or(mine, |filler| self.records(filler.end.chunk));
        let theirs = arrival.as_ref().map(|(other, to)| (other.records(to.chunk), to.row));
        for ((&ColumnStep { target, action, size }, mine), tail) in
            plan.steps.iter().zip(mine).zip(tails)
        {
            // SAFETY: the row exists, so it is inside the column (I-3), whose values have this size
            // (I-6).
            let hole = unsafe { mine.start().add(from.row * size) };
            if let Some(((theirs, row), target)) = theirs.zip(target) {
                let record = &theirs[target as usize];
                record.arrive(version, mine.stamps().added());
                if action == ColumnAction::Move {
                    // SAFETY: there is room for the row, so it is inside the column (I-3), whose values
                    // are of the same type (I-6).
                    let room = unsafe { record.start().add(row * size) };
                    // SAFETY: this many rows are inside columns (I-3) of values of this size (I-6), in
                    // blocks of two archetypes.
                    unsafe { copy(hole, room, size * count) };
                }
            }
            if let Some(Filler { end, count: filled }) = filler {
                mine.leave(tail, version);
                if filled > 0 {
                    let size_of_all = if count == 1 { size } else { size * filled };
                    // SAFETY: the last rows exist (I-2), in the same column, whose values have this size
                    // (I-6).
                    let last = unsafe { tail.start().add((end.row - filled) * size) };
                    if action == ColumnAction::Drop {
                        let (hole, last) = (hole.as_ptr(), last.as_ptr());
                        // SAFETY: two runs of rows of one column (I-3, I-6), both existing (I-2), which
                        // do not overlap: the last rows are behind those that leave.
                        unsafe { core::ptr::swap_nonoverlapping(hole, last, size_of_all) };
                    } else {
                        // SAFETY: as above; the previous contents of the hole are forgotten.
                        unsafe { copy(last, hole, size_of_all) };
                    }
                }
            }
        }
        if let Some((theirs, _)) = theirs {
            plan.fresh.iter().for_each(|&column| theirs[column].arrive(version, version));
        }
        if plan.has_marks {
            let arrival = arrival.as_ref().map(|(other, to)| (other.marks(to.chunk), to.row));
            self.transfer_marks((from, count), arrival, filler, plan, version);
        }
        let hole = self.entity_row(from);
        if let Some((other, to)) = arrival {
            let room = other.entity_row(to);
            // SAFETY: this many rows of two archetypes, of which the first exist (I-2) and the second are
            // free. All are inside the entity columns (I-3).
            unsafe { room.copy_from_nonoverlapping(hole, count) };
            // All of their columns are initialised now (I-2): those that the plan moves to (I-6) by the
            // copies above, the others by the caller.
            other.heads[to.chunk].set_len(to.row + count);
            other.row_count += count;
        }
        let Filler { end, count: filled } = filler?;
        self.heads[end.chunk].set_len(end.row - count);
        self.row_count -= count;
        if filled == 0 {
            return None;
        }
        let last = self.entity_row(RowAddress { row: end.row - filled, ..end });
        // SAFETY: the last rows existed until now (I-2).
        let moved = unsafe { last.read() };
        if count == 1 {
            // SAFETY: the row exists, so it is inside the entity column (I-3); `&mut self` makes this the
            // only access.
            unsafe { hole.write(moved) };
        } else {
            // SAFETY: two runs of rows of the entity column that do not overlap, both inside it
            // (I-3) and initialised (I-2); `&mut self` makes this the only access.
            unsafe { hole.copy_from_nonoverlapping(last, filled) };
        }
        Some(moved)
    }

    /// Transfers enabled bits and row versions, for [`transfer`](Self::transfer).
    #[inline(never)]
    fn transfer_marks(
        &self,
        (from, count): (RowAddress, usize),
        arrival: Option<(ChunkMarks<'_>, usize)>,
        filler: Option<Filler>,
        plan: &RowPlan,
        version: u64,
    ) {
        let marks = self.marks(from.chunk);
        if let Some((theirs, row)) = arrival {
            let rows = row..row + count;
            theirs.push_rows(&rows, version);
            for &(here, there) in &plan.bit_moves {
                theirs.bits(there).copy_rows(rows.clone(), marks.bits(here), from.row);
            }
            for &(here, there, is_replaced) in &plan.version_moves {
                let (here, there) = (&marks.versions[here], &theirs.versions[there]);
                there.copy_rows(rows.clone(), here, from.row, is_replaced.then_some(version));
            }
        }
        if let Some(Filler { end, count: filled }) = filler {
            let tail = self.marks(end.chunk);
            marks.copy_rows(&(from.row..from.row + filled), tail, end.row - filled);
            tail.pop_rows(&(end.row - count..end.row));
        }
    }
}

/// Copies the `size` bytes of a value. For the usual sizes it takes a few loads and stores; a call of
/// `memcpy` would cost more than the copy itself.
///
/// # Safety
/// `source` may be read and `target` written for `size` bytes, and the two do not overlap. Examples are
/// two rows of columns whose values have this size (I-3), or one row and a local of the same size.
#[inline(always)]
unsafe fn copy(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    // The usual sizes come first.
    match size {
        // SAFETY: the caller guarantees both, as for rows of this size (I-3); both ends are inside the
        // `size` bytes.
        8..=16 => unsafe { copy_ends::<u64>(source, target, size) },
        // SAFETY: the caller guarantees both, as for rows of this size (I-3).
        4..=7 => unsafe { copy_ends::<u32>(source, target, size) },
        // SAFETY: the caller guarantees both, as for rows of this size (I-3).
        17..=32 => unsafe { copy_ends::<u128>(source, target, size) },
        // SAFETY: the caller guarantees both, as for rows of this size (I-3).
        33..=64 => unsafe { copy_halves(source, target, size) },
        0 => {}
        // SAFETY: the caller guarantees both, as for rows of this size (I-3).
        1 => unsafe { copy_ends::<u8>(source, target, size) },
        // SAFETY: the caller guarantees both, as for rows of this size (I-3).
        2..=3 => unsafe { copy_ends::<u16>(source, target, size) },
        // SAFETY: the caller guarantees both, as for rows of this size (I-3).
        _ => unsafe { target.copy_from_nonoverlapping(source, size) },
    }
}

/// Copies the first and the last `size_of::<T>()` bytes, which may overlap.
///
/// # Safety
/// The requirements of [`copy`], and `size` is between one and two times that of `T`.
#[inline(always)]
unsafe fn copy_ends<T>(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    debug_assert!(size >= size_of::<T>() && size <= 2 * size_of::<T>());
    let end = size - size_of::<T>();
    // SAFETY: `end` is below `size`, and the caller guarantees that many bytes, as of a row (I-3).
    let source_end = unsafe { source.add(end) };
    // SAFETY: `end` is below `size`, and the caller guarantees that many bytes, as of a row (I-3).
    let target_end = unsafe { target.add(end) };
    // Padding is copied as it is. Both loads come first, so that they need not wait for the stores.
    // SAFETY: the caller guarantees that the bytes may be read, as of a row (I-3); no alignment is
    // needed.
    let first = unsafe { source.cast::<MaybeUninit<T>>().read_unaligned() };
    // SAFETY: the last of the bytes that may be read (I-3, see # Safety); no alignment is needed.
    let last = unsafe { source_end.cast::<MaybeUninit<T>>().read_unaligned() };
    // SAFETY: the caller guarantees that the bytes may be written, as of a row (I-3); no alignment is
    // needed.
    unsafe { target.cast::<MaybeUninit<T>>().write_unaligned(first) };
    // SAFETY: the last of the bytes that may be written (I-3, see # Safety); no alignment is needed.
    unsafe { target_end.cast::<MaybeUninit<T>>().write_unaligned(last) };
}

/// Copies the first and the last 32 bytes, which may overlap.
///
/// # Safety
/// The requirements of [`copy`], and `size` is between 32 and 64.
#[inline(always)]
unsafe fn copy_halves(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    debug_assert!((32..=64).contains(&size));
    // SAFETY: the first 32 of the bytes that the caller guarantees, as of rows (I-3).
    unsafe { copy_ends::<u128>(source, target, 32) };
    // SAFETY: below `size`, and the caller guarantees that many bytes, as of a row (I-3).
    let source = unsafe { source.add(size - 32) };
    // SAFETY: below `size`, and the caller guarantees that many bytes, as of a row (I-3).
    let target = unsafe { target.add(size - 32) };
    // SAFETY: the last 32 of the bytes that the caller guarantees, as of rows (I-3).
    unsafe { copy_ends::<u128>(source, target, 32) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_size_is_copied_whole_and_nothing_else() {
        let source: Vec<u8> = (1..=100).collect();
        for size in 0..=64 {
            let mut target = [0_u8; 100];
            let from = NonNull::from(&source[3..3 + size]).cast();
            let to = NonNull::from(&mut target[5..5 + size]).cast();
            // SAFETY: both slices have so many bytes and belong to different arrays.
            unsafe { copy(from, to, size) };
            assert_eq!(target[5..5 + size], source[3..3 + size]);
            assert!(target[..5].iter().chain(&target[5 + size..]).all(|&byte| byte == 0));
        }
    }
}
