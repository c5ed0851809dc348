//! All chunks of an archetype, handed over to another whose rows have the same bytes.

use alloc::vec::Vec;

use super::{BlockPool, Chunks, ColumnAction, ColumnStart, RowPlan, dangling};

impl Chunks {
    /// Hands all chunks over to another archetype, which [is alike](Self::is_alike).
    ///
    /// Rows are where they would be had they been moved one after the other, and the numbers of
    /// their chunks stay: no entity has to be told.
    pub(crate) fn hand_over(
        &mut self,
        pool: &mut BlockPool,
        other: &mut Self,
        plan: &RowPlan,
        version: u64,
    ) {
        assert!(self.is_alike(other, plan), "rows of the one are rows of the other");
        other.free_spare(pool);
        // By column of the other: that of the same component here.
        let mut sources = alloc::vec![None; other.sizes.len()];
        for (mine, step) in plan.steps.iter().enumerate() {
            if let Some(theirs) = step.target {
                sources[theirs as usize] = Some(mine);
            }
        }
        // The last thing that may fail: nothing has changed yet.
        let (count, columns) = (self.heads.len(), &sources);
        let records = (0..count).flat_map(|chunk| {
            let layout = other.layouts.of_chunk(chunk);
            let record = |(column, source): (usize, &Option<usize>)| match *source {
                Some(mine) => {
                    let record = self.record(chunk, mine);
                    (ColumnStart(record.start()), record.stamps().added())
                }
                None => (ColumnStart(dangling(layout.offsets[column])), version),
            };
            columns.iter().enumerate().map(record).collect::<Vec<_>>()
        });
        other.records.refill(records.collect(), version);
        self.records.refill(Vec::new(), version);
        core::mem::swap(&mut self.heads, &mut other.heads);
        core::mem::swap(&mut self.blocks, &mut other.blocks);
        other.used = core::mem::take(&mut self.used);
        other.row_count = core::mem::take(&mut self.row_count);
        other.last_capacity = core::mem::take(&mut self.last_capacity);
        other.set_owner(other.owner, &mut pool.directory);
    }

    /// Whether the chunks of this archetype could be the other's as they are: it has none of its
    /// own, and `plan` leaves every byte of a row as it is, since only components without a size
    /// come or go.
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

    /// Whether a chunk at this place is laid out the same in both archetypes.
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
