//! Runs of rows: copied to another archetype and taken out, column by column.
#![expect(unsafe_code, reason = "copies, swaps and moves runs of rows")]

use core::ops::Range;

use super::{BlockPool, Chunks, RowAddress};

/// What became of the rows that [`Chunks::take_rows`] took out.
#[derive(Debug)]
pub(crate) struct TakenRows {
    /// The rows of the same chunk that others moved into: from the start of those taken out.
    pub(crate) moved: Range<usize>,
    /// Where the values of the columns that were to be kept are now: beyond the last row, as many
    /// rows as were taken out.
    pub(crate) vacated: RowAddress,
}

impl Chunks {
    /// Copies the bytes of `count` rows into as many reserved rows of another archetype, for the
    /// columns in `moves` (from here, to there).
    ///
    /// # Safety
    /// As for [`copy_row`](Self::copy_row), for each of the rows; those here are in one chunk, and
    /// those there are.
    pub(crate) unsafe fn copy_rows(
        &self,
        from: RowAddress,
        count: usize,
        other: &Self,
        to: RowAddress,
        moves: &[(usize, usize)],
    ) {
        debug_assert!(from.row + count <= self.len(from.chunk));
        debug_assert!(to.row >= other.len(to.chunk));
        debug_assert!(to.row + count <= other.capacity(to.chunk));
        for &(mine, theirs) in moves {
            debug_assert_eq!(self.sizes[mine], other.sizes[theirs]);
            let source = self.value(from, mine);
            let target = other.value(to, theirs);
            // SAFETY: both are this many rows of a column of this size (I-3) in blocks of two
            // archetypes.
            unsafe { target.copy_from_nonoverlapping(source, self.sizes[mine] * count) };
        }
    }

    /// Writes whose `count` reserved rows of another archetype are going to be: those of as many
    /// rows here.
    ///
    /// # Safety
    /// As for [`copy_rows`](Self::copy_rows).
    pub(crate) unsafe fn copy_entities(
        &self,
        from: RowAddress,
        count: usize,
        other: &mut Self,
        to: RowAddress,
    ) {
        debug_assert!(from.row + count <= self.len(from.chunk));
        debug_assert!(to.row >= other.len(to.chunk));
        debug_assert!(to.row + count <= other.capacity(to.chunk));
        let (source, target) = (self.entity_row(from), other.entity_row(to));
        // SAFETY: as for the columns in `copy_rows`: the entity columns start the blocks (I-3).
        unsafe { target.copy_from_nonoverlapping(source, count) };
    }

    /// How many rows [`take_rows`](Self::take_rows) can take out at once.
    #[inline]
    pub(crate) fn tail_len(&self) -> usize {
        self.used.checked_sub(1).map_or(0, |last| self.len(last))
    }

    /// Takes out rows of one chunk, at least one and at most [`tail_len`](Self::tail_len): the
    /// last rows move into their place, and the values in the columns for which `keep` says so
    /// move behind the last row, where the caller has to see to them. The values in the other
    /// columns are forgotten.
    ///
    /// All books are in order when this returns, but for the places of the entities that moved.
    pub(crate) fn take_rows(
        &mut self,
        pool: &mut BlockPool,
        chunk: usize,
        rows: Range<usize>,
        version: u64,
        keep: impl Fn(usize) -> bool,
    ) -> TakenRows {
        let last = self.used - 1;
        let (len, count) = (self.len(last), rows.len());
        assert!(rows.end <= self.len(chunk) && count > 0 && count <= len, "the rows exist");
        // Rows of the last chunk that are taken out leave fewer to move, or none.
        let moved_count = if chunk == last { count.min(len - rows.end) } else { count };
        let moved = rows.start..rows.start + moved_count;
        if moved_count > 0 {
            let tail = RowAddress { chunk: last, row: len - moved_count };
            self.swap_rows_into(RowAddress { chunk, row: rows.start }, tail, moved_count, &keep);
        }
        for bits in &mut self.bits {
            bits.move_rows(chunk, moved.clone(), last, len - moved_count);
            bits.pop_rows(last, len - count..len);
        }
        for versions in &mut self.tracked {
            versions.move_rows(chunk, moved.clone(), last, len - moved_count);
            versions.pop_rows(last, len - count..len);
        }
        self.heads[last].set_len(len - count);
        self.row_count -= count;
        self.records.leave(chunk, last, version);
        if len == count {
            self.leave_chunk(pool);
        }
        TakenRows { moved, vacated: RowAddress { chunk: last, row: len - count } }
    }

    /// Moves the values of `count` rows at the `tail` to those at the `hole`, and those to be kept
    /// the other way. The two do not overlap.
    fn swap_rows_into(
        &mut self,
        hole: RowAddress,
        tail: RowAddress,
        count: usize,
        keep: &impl Fn(usize) -> bool,
    ) {
        debug_assert!(hole.chunk != tail.chunk || hole.row + count <= tail.row);
        for column in 0..self.sizes.len() {
            let size = self.sizes[column] * count;
            let to = self.value(hole, column).as_ptr();
            let from = self.value(tail, column).as_ptr();
            if keep(column) {
                // SAFETY: two runs of rows of one column that do not overlap, both initialised
                // (I-2), each of this size (I-3).
                unsafe { core::ptr::swap_nonoverlapping(to, from, size) };
            } else {
                // SAFETY: two runs of rows of one column that do not overlap, both there (I-2),
                // each of this size (I-3); the values in the hole are forgotten.
                unsafe { core::ptr::copy_nonoverlapping(from, to, size) };
            }
        }
        let to = self.entity_row(hole);
        let from = self.entity_row(tail);
        // SAFETY: two runs of rows of the entity column that do not overlap, both there (I-2, I-3);
        // `&mut self` makes this the only access.
        unsafe { to.copy_from_nonoverlapping(from, count) };
    }
}
