//! Canaries: in debug builds, a known pattern behind each column of a block. Code that writes past the
//! end of a column kills one, and `World::check` finds it.
//!
//! ```text
//! ┌──────────────┬───┬─────┬──────────────────┬───┬─────┬──────────────────┬───┬───────┐
//! │ Entity × cap │ c │ pad │ column 0 × cap   │ c │ pad │ column 1 × cap   │ c │ spare │
//! └──────────────┴───┴─────┴──────────────────┴───┴─────┴──────────────────┴───┴───────┘
//! ```
//!
//! In release builds they take no room, and nothing is written or looked at.
#![expect(unsafe_code, reason = "writes and reads the bytes between columns")]

use core::ptr::NonNull;

use super::block::Block;
use super::layout::ChunkLayout;
use crate::entity::Entity;

/// No handle, no likely number, and different in each byte.
const PATTERN: u64 = 0xC5_1D_F0_93_6E_B8_27_4A;

/// Writes the canaries of a block that has just been taken for this layout.
pub(super) fn plant(block: &Block, layout: &ChunkLayout, sizes: &[usize]) {
    for canary in places(block, layout, sizes) {
        // SAFETY: these bytes are inside the block and in no column (I-3), so no other code uses
        // them; no alignment is asked.
        unsafe { canary.write_unaligned(PATTERN) };
    }
}

/// Whether all canaries of a block are as they were written.
pub(super) fn are_alive(block: &Block, layout: &ChunkLayout, sizes: &[usize]) -> bool {
    places(block, layout, sizes).all(|canary| {
        // SAFETY: inside the block and in no column (I-3), and written when the block became a
        // chunk (`plant`).
        unsafe { canary.read_unaligned() == PATTERN }
    })
}

/// Where the canaries of a block are: behind the entities, and behind each column with a size.
fn places<'a>(
    block: &'a Block,
    layout: &'a ChunkLayout,
    sizes: &'a [usize],
) -> impl Iterator<Item = NonNull<u64>> + 'a {
    let columns = layout.offsets.iter().zip(sizes).filter(|&(_, &size)| size > 0);
    let columns = columns.map(|(&offset, &size)| offset + size * layout.rows());
    let ends = core::iter::once(size_of::<Entity>() * layout.rows()).chain(columns);
    ends.take(if cfg!(debug_assertions) { usize::MAX } else { 0 }).map(|end| {
        debug_assert!(end + size_of::<u64>() <= layout.block.size());
        // SAFETY: in debug builds the layout leaves room for a canary behind each column, inside
        // the block (I-3).
        unsafe { block.start().add(end) }.cast()
    })
}

#[cfg(test)]
mod tests {
    use core::alloc::Layout;

    use super::*;
    use crate::storage::{BlockPool, Chunks};

    const COLUMNS: [Layout; 3] =
        [Layout::new::<u32>(), Layout::new::<()>(), Layout::new::<[u8; 3]>()];

    /// Two full chunks and one that is full or not.
    fn filled(pool: &mut BlockPool) -> Chunks {
        let mut chunks = Chunks::new(0, &COLUMNS, 0, 0);
        while chunks.used_count() < 3 {
            let (first, count) = chunks.reserve_rows(pool, usize::MAX);
            let entity = Entity::from_bits(1 << 32).expect("a handle");
            let entities = alloc::vec![entity; count];
            for (column, layout) in COLUMNS.iter().enumerate() {
                let start = chunks.reserved(first, column);
                // SAFETY: the reserved rows are this many values of this size (I-3).
                unsafe { start.write_bytes(0xFF, layout.size() * count) };
            }
            // SAFETY: just reserved, and written in full (I-2).
            unsafe { chunks.commit_rows(first, &entities, 1, 1) };
        }
        chunks
    }

    #[test]
    fn rows_that_fill_their_columns_to_the_last_byte_kill_no_canary() {
        let mut pool = BlockPool::default();
        assert_eq!(filled(&mut pool).check(1), Ok(()));
        // Blocks that come back from the pool get new ones.
        let mut again = filled(&mut pool);
        drop(again.forget_rows());
        again.free_spare(&mut pool);
        assert_eq!(filled(&mut pool).check(1), Ok(()));
    }

    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "there are no canaries")]
    fn one_byte_past_the_end_of_a_column_is_found() {
        for chunk in 0..3 {
            for (column, layout) in COLUMNS.iter().enumerate().filter(|(_, at)| at.size() > 0) {
                let mut pool = BlockPool::default();
                let chunks = filled(&mut pool);
                let bytes = layout.size() * chunks.capacity(chunk);
                // SAFETY: breaks I-3 on purpose, but is inside the block: the first byte of the
                // canary.
                let past = unsafe { chunks.column(chunk, column).add(bytes) };
                // SAFETY: breaks I-3 on purpose, inside the block; no other code looks at it
                // meanwhile.
                unsafe { past.write(0xFF) };
                let found = chunks.check(1);
                assert_eq!(found, Err(("I-3", "something was written past the end of a column")));
            }
        }
    }
}
