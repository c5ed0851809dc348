//! Rows that leave: for another archetype, out of the world, or both ends at different times; and the plan
//! by which they do, column by column.
//!
//! [`transfer`](Chunks::transfer) is the one place that lists what belongs to a row: its values and
//! its entity, its enabled bits and its versions, and what the records of its columns say of it.
#![expect(unsafe_code, reason = "copies and swaps the values of rows")]

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::{BlockPool, ChunkMarks, Chunks, DropFn, RowAddress};
use crate::entity::Entity;

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

/// What became of the rows that were taken out.
#[derive(Debug)]
pub(crate) struct TakenRows {
    /// How many rows others moved into, the first of those that were taken out.
    pub(crate) filled: usize,
    /// The entity of the first of these.
    pub(crate) moved: Option<Entity>,
    /// Where the values that are to be dropped lie now: beyond the last row, as many rows as were
    /// taken out.
    pub(crate) vacated: RowAddress,
}

/// The last rows, which fill the place of rows that leave.
#[derive(Clone, Copy)]
struct Filler {
    /// The end of the last used chunk, with the rows that leave.
    end: RowAddress,
    /// How many rows move: fewer than those that leave where these are among the last.
    count: usize,
}

impl Chunks {
    /// Moves a row to the next row of another archetype and commits it there. The last row here
    /// fills the hole.
    ///
    /// All books but the entity table are in order when this returns. What is to be dropped lies
    /// behind the last row, where the caller has to see to it; all other values that stay behind
    /// are forgotten.
    ///
    /// # Safety
    /// `plan` is that of a transition from this archetype to the other one (I-6). `from` is a row
    /// here (I-2). `to` came from [`reserve_row`](Self::reserve_row) of the other, with nothing
    /// committed or taken since, and its columns that `plan` does not move to are initialised (I-2).
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
        // SAFETY: the caller vouches for the plan (I-6) and for one row at either end (I-2).
        let moved =
            unsafe { self.transfer((from, 1), Some((other, to)), Some(filler), plan, version) };
        self.taken(pool, 1, filler, moved)
    }

    /// Copies rows into the next rows of another archetype and commits them there. Here they are
    /// counted still: they are holes, to be [taken out](Self::take_rows) later.
    ///
    /// # Safety
    /// As for [`move_row`](Self::move_row), for each of `count` rows that lie side by side in one
    /// chunk. Afterwards the values that went along are forgotten here.
    pub(crate) unsafe fn copy_rows(
        &mut self,
        (from, count): (RowAddress, usize),
        arrival: (&mut Self, RowAddress),
        plan: &RowPlan,
        version: u64,
    ) {
        // SAFETY: the caller vouches for the plan (I-6) and for these rows at either end (I-2).
        _ = unsafe { self.transfer((from, count), Some(arrival), None, plan, version) };
    }

    /// How many rows [`take_rows`](Self::take_rows) can take out at once.
    #[inline]
    pub(crate) fn tail_len(&self) -> usize {
        self.used.checked_sub(1).map_or(0, |last| self.len(last))
    }

    /// Takes out rows that lie side by side in one chunk, at least one and at most
    /// [`tail_len`](Self::tail_len): the last rows move into their place.
    ///
    /// All books but the entity table are in order when this returns. What is to be dropped lies
    /// behind the last row, where the caller has to see to it; all other values are forgotten.
    ///
    /// # Safety
    /// The rows are there (I-2), and `plan` has the steps of this archetype's columns (I-6).
    #[inline(always)]
    pub(crate) unsafe fn take_rows(
        &mut self,
        pool: &mut BlockPool,
        (from, count): (RowAddress, usize),
        plan: &RowPlan,
        version: u64,
    ) -> TakenRows {
        let filler = self.filler(from, count);
        // SAFETY: the caller vouches for the rows (I-2) and the steps of the plan (I-6).
        let moved = unsafe { self.transfer((from, count), None, Some(filler), plan, version) };
        self.taken(pool, count, filler, moved)
    }

    /// The rows that are to fill the place of these.
    #[inline(always)]
    fn filler(&self, from: RowAddress, count: usize) -> Filler {
        let chunk = self.used - 1;
        let end = RowAddress { chunk, row: self.len(chunk) };
        debug_assert!(count > 0 && count <= end.row, "the rows exist");
        debug_assert!(from.row + count <= self.len(from.chunk), "the rows exist");
        // Rows of the last chunk that leave may be followed by fewer. One is by one or by none.
        let count = if from.chunk == chunk && count == 1 {
            usize::from(from.row + 1 != end.row)
        } else if from.chunk == chunk {
            count.min(end.row - (from.row + count))
        } else {
            count
        };
        Filler { end, count }
    }

    /// What has become of rows that have left.
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

    /// One pass over the columns of `count` rows that lie side by side: to the rows of another
    /// archetype from `to` on, if they go along, where they are committed; and out of this one, if
    /// there is a filler. Returns the entity of the first row that fills a place.
    ///
    /// # Safety
    /// As for [`move_row`](Self::move_row), [`copy_rows`](Self::copy_rows) and
    /// [`take_rows`](Self::take_rows), of which this is the common part; the filler is that of
    /// these rows.
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
            // SAFETY: the row is there: it is inside the column (I-3), whose values have this size
            // (I-6).
            let hole = unsafe { mine.start().add(from.row * size) };
            if let Some(((theirs, row), target)) = theirs.zip(target) {
                let record = &theirs[target as usize];
                record.arrive(version, mine.stamps().added());
                if action == ColumnAction::Move {
                    // SAFETY: there is room for the row: it is inside the column (I-3), whose values
                    // are of the same type (I-6).
                    let room = unsafe { record.start().add(row * size) };
                    // SAFETY: so many rows inside columns (I-3) of values of this size (I-6), in
                    // blocks of two archetypes.
                    unsafe { copy(hole, room, size * count) };
                }
            }
            if let Some(Filler { end, count: filled }) = filler {
                mine.leave(tail, version);
                if filled > 0 {
                    let size_of_all = if count == 1 { size } else { size * filled };
                    // SAFETY: the last rows are there (I-2), in the same column, whose values have
                    // this size (I-6).
                    let last = unsafe { tail.start().add((end.row - filled) * size) };
                    if action == ColumnAction::Drop {
                        let (hole, last) = (hole.as_ptr(), last.as_ptr());
                        // SAFETY: two runs of rows of one column (I-3, I-6), both there (I-2), that
                        // do not overlap: the last rows are behind those that leave.
                        unsafe { core::ptr::swap_nonoverlapping(hole, last, size_of_all) };
                    } else {
                        // SAFETY: as above; what lay in the hole is forgotten.
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
            // SAFETY: so many rows of two archetypes, the ones there (I-2), the others free: all are
            // inside the entity columns (I-3).
            unsafe { room.copy_from_nonoverlapping(hole, count) };
            // All of their columns are initialised now (I-2): those that the plan moves to (I-6) by
            // the copies above, the others by the caller.
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
        // SAFETY: the last rows were there until now (I-2).
        let moved = unsafe { last.read() };
        if count == 1 {
            // SAFETY: the row is there: it is inside the entity column (I-3); `&mut self` makes this
            // the only access.
            unsafe { hole.write(moved) };
        } else {
            // SAFETY: two runs of rows of the entity column that do not overlap, both inside it
            // (I-3) and initialised (I-2); `&mut self` makes this the only access.
            unsafe { hole.copy_from_nonoverlapping(last, filled) };
        }
        Some(moved)
    }

    /// Enabled bits and the versions of rows, for [`transfer`](Self::transfer).
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

/// Copies the `size` bytes of a value. For the usual sizes it is some loads and as many stores,
/// where a call of `memcpy` costs more than the copy itself.
///
/// # Safety
/// `source` may be read and `target` written for `size` bytes, and the two do not overlap: such are
/// two rows of columns whose values have this size (I-3), or one and a local as large.
#[inline(always)]
unsafe fn copy(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    // The usual sizes come first.
    match size {
        // SAFETY: the caller vouches for both, as for rows of this size (I-3); both ends lie in the
        // `size` bytes.
        8..=16 => unsafe { copy_ends::<u64>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        4..=7 => unsafe { copy_ends::<u32>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        17..=32 => unsafe { copy_ends::<u128>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        33..=64 => unsafe { copy_halves(source, target, size) },
        0 => {}
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        1 => unsafe { copy_ends::<u8>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        2..=3 => unsafe { copy_ends::<u16>(source, target, size) },
        // SAFETY: the caller vouches for both, as for rows of this size (I-3).
        _ => unsafe { target.copy_from_nonoverlapping(source, size) },
    }
}

/// Copies the first and the last bytes, as many as a `T` has, which may overlap.
///
/// # Safety
/// As for [`copy`], and `size` is between one and two times that of `T`.
#[inline(always)]
unsafe fn copy_ends<T>(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    debug_assert!(size >= size_of::<T>() && size <= 2 * size_of::<T>());
    let end = size - size_of::<T>();
    // SAFETY: `end` is below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let source_end = unsafe { source.add(end) };
    // SAFETY: `end` is below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let target_end = unsafe { target.add(end) };
    // Padding is copied as what it is. Both loads come first, so that they need not wait for the
    // stores.
    // SAFETY: the caller vouches for bytes that may be read, as of a row (I-3); no alignment is
    // asked.
    let first = unsafe { source.cast::<MaybeUninit<T>>().read_unaligned() };
    // SAFETY: the last of the bytes that may be read (I-3, see # Safety); no alignment is asked.
    let last = unsafe { source_end.cast::<MaybeUninit<T>>().read_unaligned() };
    // SAFETY: the caller vouches for bytes that may be written, as of a row (I-3); no alignment is
    // asked.
    unsafe { target.cast::<MaybeUninit<T>>().write_unaligned(first) };
    // SAFETY: the last of the bytes that may be written (I-3, see # Safety); no alignment is asked.
    unsafe { target_end.cast::<MaybeUninit<T>>().write_unaligned(last) };
}

/// Copies the first and the last 32 bytes, which may overlap.
///
/// # Safety
/// As for [`copy`], and `size` is between 32 and 64.
#[inline(always)]
unsafe fn copy_halves(source: NonNull<u8>, target: NonNull<u8>, size: usize) {
    debug_assert!((32..=64).contains(&size));
    // SAFETY: the first 32 of the bytes that the caller vouches for, as of rows (I-3).
    unsafe { copy_ends::<u128>(source, target, 32) };
    // SAFETY: below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let source = unsafe { source.add(size - 32) };
    // SAFETY: below `size`, and the caller vouches for so many bytes, as of a row (I-3).
    let target = unsafe { target.add(size - 32) };
    // SAFETY: the last 32 of the bytes that the caller vouches for, as of rows (I-3).
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
