//! Whether the books of an archetype's chunks are in order.

use super::{ChunkHead, Chunks, are_canaries_alive};
use crate::entity::Entity;

impl Chunks {
    /// Looks for broken invariants: I-2 to I-5, I-7 and I-14 as far as they can be seen from here.
    pub(crate) fn check(&self, version: u64) -> Result<(), (&'static str, &'static str)> {
        let expect =
            |holds: bool, invariant, detail| if holds { Ok(()) } else { Err((invariant, detail)) };
        expect(
            self.heads.iter().map(ChunkHead::len).sum::<usize>() == self.row_count,
            "I-4",
            "lengths do not add up",
        )?;
        let last_capacity = self.used.checked_sub(1).map_or(0, |last| self.capacity(last));
        let is_known = self.last_capacity == last_capacity;
        expect(is_known, "I-4", "the capacity of the last chunk is another")?;
        let mut block_count = 0;
        for chunk in 0..self.heads.len() {
            let (layout, place) = self.layouts.find(chunk);
            let capacity = layout.capacity;
            block_count += usize::from(place == 0);
            let block = self.blocks.get(block_count - 1);
            let block = block.ok_or(("I-3", "a chunk has no block"))?;
            let len = self.len(chunk);
            let full_enough = match chunk + 1 {
                next if next < self.used => len == capacity,
                next if next == self.used => len > 0 && len <= capacity,
                _ => len == 0,
            };
            expect(
                full_enough,
                "I-4",
                "a chunk before the last is not full, or one after it not empty",
            )?;
            for (&offset, &size) in layout.offsets.iter().zip(&self.sizes) {
                let fits = size == 0 || offset + size * layout.rows() <= layout.block.size();
                expect(fits, "I-3", "a column ends outside its block")?;
            }
            let first = block.start().addr().get() + place * capacity * size_of::<Entity>();
            let is_there = self.heads[chunk].entities().addr().get() == first;
            expect(is_there, "I-3", "a chunk begins elsewhere than in its place in the block")?;
            let are_alive = are_canaries_alive(block, layout, &self.sizes);
            expect(are_alive, "I-3", "something was written past the end of a column")?;
            for bits in &self.bits {
                let ones = (0..self.capacity(chunk)).filter(|&row| bits.get(chunk, row)).count();
                let ones_inside = (0..len).filter(|&row| bits.get(chunk, row)).count();
                expect(ones == ones_inside, "I-5", "a bit is set beyond the last row")?;
            }
            let stamps_are_past = self.records.check(chunk, version);
            expect(stamps_are_past, "I-7", "a column was written in the future")?;
            for versions in &self.tracked {
                let is_true = versions.check(chunk, len, version);
                expect(is_true, "I-14", "what is known of the versions of rows is not true")?;
            }
        }
        expect(block_count == self.blocks.len(), "I-3", "a block has no chunk")
    }
}
