//! Operations on whole chunks: freeing memory, handing them over to another archetype, and checking their
//! invariants.

use alloc::vec::Vec;

use super::{
    BlockPool, ChunkHead, Chunks, ColumnAction, ColumnRecord, ColumnStart, Directory, RowPlan,
    are_canaries_alive, dangling,
};
use crate::entity::Entity;

impl Chunks {
    /// Returns the size of all blocks in bytes.
    pub(crate) fn block_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.layout().size()).sum()
    }

    /// Frees all but one of the empty chunks at the end.
    pub(crate) fn trim(&mut self, pool: &mut BlockPool) {
        while self.heads.len() > self.used + 1 {
            self.pop_chunk(pool);
        }
    }

    /// Notes that the archetype has another index now.
    pub(crate) fn set_owner(&mut self, owner: u32, directory: &mut Directory) {
        self.owner = owner;
        for (chunk, head) in self.heads.iter().enumerate() {
            directory.set(head.id(), owner, chunk);
        }
    }

    /// Frees spare capacity of the bookkeeping.
    pub(crate) fn shrink(&mut self, directory: &mut Directory) {
        directory.count_change();
        self.heads.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.records.shrink_to_fit();
        self.bits.shrink_to_fit();
        self.versions.shrink_to_fit();
    }

    /// Returns the size of the bookkeeping of the chunks in bytes, without spare capacity.
    pub(crate) fn metadata_bytes(&self) -> usize {
        let each = size_of::<ChunkHead>() + self.sizes.len() * size_of::<ColumnRecord>();
        let rows: usize = (0..self.heads.len()).map(|chunk| self.capacity(chunk)).sum();
        self.layouts.heap_bytes()
            + self.sizes.len() * size_of::<usize>()
            + self.heads.len() * each
            + self.bits.len() * size_of::<u64>()
            + self.tracked_count * rows * 2 * size_of::<u64>()
    }

    /// Frees all empty chunks.
    pub(crate) fn free_spare(&mut self, pool: &mut BlockPool) {
        while self.heads.len() > self.used {
            self.pop_chunk(pool);
        }
    }
}

impl Chunks {
    /// Hands all chunks over to another archetype, which [is alike](Self::is_alike).
    ///
    /// The rows are where they would be if they had been moved one by one, and the chunks keep their
    /// numbers, so the entity table does not change.
    pub(crate) fn hand_over(
        &mut self,
        pool: &mut BlockPool,
        other: &mut Self,
        plan: &RowPlan,
        version: u64,
    ) {
        assert!(self.is_alike(other, plan), "rows of the one are rows of the other");
        other.free_spare(pool);
        // For each column of the other archetype, the column of the same component here.
        let mut sources = alloc::vec![None; other.sizes.len()];
        for (mine, step) in plan.steps.iter().enumerate() {
            if let Some(theirs) = step.target {
                sources[theirs as usize] = Some(mine);
            }
        }
        // The last step that may fail. No row has changed yet.
        let (count, columns) = (self.heads.len(), &sources);
        let records = (0..count).flat_map(|chunk| {
            let layout = other.layouts.of_chunk(chunk);
            let record = |(column, source): (usize, &Option<usize>)| match *source {
                Some(mine) => {
                    let record = self.record(chunk, mine);
                    let start = ColumnStart(record.start());
                    ColumnRecord::new(start, version, record.stamps().added())
                }
                None => {
                    let start = ColumnStart(dangling(layout.offsets[column]));
                    ColumnRecord::new(start, version, version)
                }
            };
            columns.iter().enumerate().map(record).collect::<Vec<_>>()
        });
        other.records = records.collect();
        self.records.clear();
        core::mem::swap(&mut self.heads, &mut other.heads);
        core::mem::swap(&mut self.blocks, &mut other.blocks);
        other.used = core::mem::take(&mut self.used);
        other.row_count = core::mem::take(&mut self.row_count);
        other.last_capacity = core::mem::take(&mut self.last_capacity);
        other.set_owner(other.owner, &mut pool.directory);
    }

    /// Returns whether the chunks of this archetype can become the other's as they are. The other must
    /// have no rows, neither may have enabled bits or row versions, and `plan` must leave every byte of a
    /// row as it is: only zero-sized components are added or removed.
    pub(crate) fn is_alike(&self, other: &Self, plan: &RowPlan) -> bool {
        let stays = |size: usize, action| size == 0 && action == ColumnAction::Forget;
        let is_free = other.row_count == 0 && !plan.has_marks;
        is_free
            && plan
                .steps
                .iter()
                .all(|step| step.action == ColumnAction::Move || stays(step.size, step.action))
            && plan.fresh.iter().all(|&column| other.sizes[column] == 0)
            && (0..self.heads.len()).all(|chunk| self.is_laid_out_alike(chunk, other, plan))
    }

    /// Returns whether a chunk with this index has the same layout in both archetypes.
    fn is_laid_out_alike(&self, chunk: usize, other: &Self, plan: &RowPlan) -> bool {
        let (mine, theirs) = (self.layouts.of_chunk(chunk), other.layouts.of_chunk(chunk));
        let mut steps = plan.steps.iter().enumerate();
        mine.block == theirs.block
            && mine.rows() == theirs.rows()
            && steps.all(|(column, step)| {
                let target = step.target.map(|target| theirs.offsets[target as usize]);
                step.size == 0 || target == Some(mine.offsets[column])
            })
    }
}

impl Chunks {
    /// Looks for violations of I-2 to I-5, I-7 and I-14, as far as they are visible here.
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
            for bits in self.marks(chunk).all_bits() {
                let ones = (0..capacity).filter(|&row| bits.bit(row).get()).count();
                let ones_inside = (0..len).filter(|&row| bits.bit(row).get()).count();
                expect(ones == ones_inside, "I-5", "a bit is set beyond the last row")?;
            }
            let is_past = |record: &ColumnRecord| {
                record.stamps().changed() <= version && record.stamps().added() <= version
            };
            let stamps_are_past = self.records(chunk).iter().all(is_past);
            expect(stamps_are_past, "I-7", "a column was written in the future")?;
            for versions in self.marks(chunk).versions {
                let is_true = versions.check(len, version);
                expect(is_true, "I-14", "what is known of the versions of rows is not true")?;
            }
        }
        expect(block_count == self.blocks.len(), "I-3", "a block has no chunk")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;

    #[derive(crate::Component)]
    #[component(tracked, enableable)]
    struct Fuel([u64; 16]);

    #[test]
    fn chunks_that_are_out_of_order_are_found() {
        let mut world = World::new();
        let tank = world.spawn(Fuel([0; 16]));
        while world.archetypes()[1].chunk_count() < 3 {
            world.spawn(Fuel([1; 16]));
        }
        world.despawn(tank).expect("alive");
        world.spawn(Fuel([2; 16]));
        world.spawn(Fuel([3; 16]));
        let version = world.version();
        let id = world.archetypes()[1].id();
        let chunks = &mut world.archetypes.get_mut(id).chunks;
        let fault = |chunks: &Chunks| chunks.check(version).expect_err("it was spoiled").0;
        assert_eq!(chunks.check(version), Ok(()));
        assert_eq!(chunks.check(0).expect_err("from the future").0, "I-7");

        chunks.row_count += 1;
        assert_eq!(fault(chunks), "I-4");
        chunks.row_count -= 1;
        chunks.last_capacity += 1;
        assert_eq!(fault(chunks), "I-4");
        chunks.last_capacity -= 1;
        chunks.heads.swap(0, 2);
        assert_eq!(fault(chunks), "I-4", "the first is not full");
        chunks.heads.swap(0, 2);
        chunks.used -= 1;
        chunks.last_capacity = chunks.capacity(chunks.used - 1);
        assert_eq!(fault(chunks), "I-4", "one after the last is not empty");
        chunks.used += 1;
        chunks.last_capacity = chunks.capacity(chunks.used - 1);

        chunks.blocks.swap(0, 1);
        assert_eq!(fault(chunks), "I-3", "a chunk begins in another block");
        chunks.blocks.swap(0, 1);
        let block = chunks.blocks.pop().expect("there are three");
        assert_eq!(fault(chunks), "I-3", "a chunk has no block");
        chunks.blocks.push(block);

        let last = chunks.capacity(2) - 1;
        assert!(chunks.len(2) <= last, "there is room");
        chunks.marks(2).bits(0).bit(last).set(true);
        assert_eq!(fault(chunks), "I-5");
        chunks.marks(2).bits(0).bit(last).set(false);
        assert_eq!(chunks.check(version), Ok(()));
        let versions = &chunks.marks(2).versions[0];
        versions.set(0, version + 1, versions.added.get(0));
        assert_eq!(fault(chunks), "I-14");
    }
}
