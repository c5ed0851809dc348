//! A query as the argument of a system: it knows the pool.

use std::fmt;

use ecs_core::{
    BorrowedQuery, Chunk, ColumnData, CommandBuffer, Entity, ParallelChunks, ParallelScratch,
    QueryData, QueryEntityError, QueryFilter, QueryPlan, RowIter, World,
};

use super::access::SystemAccess;
use super::commands::Commands;
use super::param::{RunContext, SystemParam};
use crate::pool::Pool;

/// All entities that have what `Q` asks for and pass `F`, see [`ecs_core::Query`]; with the
/// system's pool at hand, also to be walked in parallel.
pub struct Query<'a, Q: QueryData, F: QueryFilter = ()> {
    inner: BorrowedQuery<'a, Q, F>,
    scratch: &'a mut ParallelScratch,
    pool: &'a Pool,
}

/// What a query keeps from run to run.
pub struct QueryState<Q: QueryData, F: QueryFilter> {
    plan: QueryPlan<Q, F>,
    scratch: ParallelScratch,
}

impl<Q: QueryData, F: QueryFilter> fmt::Debug for QueryState<Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl<Q: QueryData, F: QueryFilter> fmt::Debug for Query<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<Q: QueryData + 'static, F: QueryFilter + 'static> SystemParam for Query<'_, Q, F> {
    type State = QueryState<Q, F>;
    type Item<'a> = Query<'a, Q, F>;

    fn init(world: &mut World, access: &mut SystemAccess) -> QueryState<Q, F> {
        let plan = world.plan::<Q, F>();
        access.add_components(plan.access(), world);
        QueryState { plan, scratch: ParallelScratch::default() }
    }

    fn fetch<'a>(
        state: &'a mut QueryState<Q, F>,
        context: RunContext<'a>,
    ) -> Result<Query<'a, Q, F>, String> {
        let QueryState { plan, scratch } = state;
        let inner = context.cell.query(plan).map_err(|error| error.to_string())?;
        Ok(Query { inner, scratch, pool: context.pool })
    }
}

impl<Q: QueryData, F: QueryFilter> Query<'_, Q, F> {
    /// The query as ecs-core has it, for what it can do beyond walking: several entities at once,
    /// combinations, sorted rows, and others. It asks what is new since the system ran last.
    pub fn query(&mut self) -> ecs_core::Query<'_, Q, F> {
        self.inner.query()
    }

    /// Calls `f` with every row, on this thread.
    #[inline]
    pub fn for_each<'q>(&'q mut self, f: impl FnMut(Q::Item<'q>)) {
        self.inner.query().for_each(f);
    }

    /// Calls `f` with the slices of every run of rows, on this thread.
    #[inline]
    pub fn for_each_chunk<'q>(&'q mut self, f: impl FnMut(Q::Columns<'q>))
    where
        Q: ColumnData,
    {
        self.inner.query().for_each_chunk(f);
    }

    /// Calls `f` with every row, chunk by chunk on all threads of the pool.
    ///
    /// # Panics
    /// Where `f` panics. Rows that were visited before stay as they are.
    pub fn par_for_each(&mut self, f: impl Fn(Q::Item<'_>) + Sync) {
        self.par_chunks(|_slot, chunk| chunk.for_each(&f));
    }

    /// Calls `f` with the slices of every run of rows, chunk by chunk on all threads of the pool.
    ///
    /// # Panics
    /// Where `f` panics. Rows that were visited before stay as they are.
    pub fn par_for_each_chunk(&mut self, f: impl Fn(Q::Columns<'_>) + Sync)
    where
        Q: ColumnData,
    {
        self.par_chunks(|_slot, chunk| chunk.for_each_run(&f));
    }

    /// Calls `f` with every row and a command buffer, on all threads of the pool. The buffer's sort
    /// key goes up from chunk to chunk and from loop to loop, so that what is played back does not
    /// depend on which thread did what.
    ///
    /// # Panics
    /// Where `f` panics. Rows that were visited before stay as they are.
    pub fn par_for_each_with(
        &mut self,
        commands: &mut Commands<'_>,
        f: impl Fn(Q::Item<'_>, &mut CommandBuffer) + Sync,
    ) {
        let mut query = self.inner.query();
        let chunks = query.parallel(self.scratch);
        let first_key = commands.keys_of_loop(chunks.len());
        let commands = &*commands;
        visit_all(self.pool, &chunks, |slot, chunk| {
            let mut buffer = commands.of_slot(slot);
            buffer.set_sort_key(first_key + chunk.ordinal() as u64);
            chunk.for_each(|item| f(item, &mut buffer));
        });
    }

    fn par_chunks(&mut self, visit: impl Fn(usize, Chunk<'_, Q>) + Sync) {
        let mut query = self.inner.query();
        visit_all(self.pool, &query.parallel(self.scratch), visit);
    }

    /// How many rows match.
    #[must_use]
    pub fn count(&self) -> usize {
        self.inner.count()
    }

    /// What one entity gives.
    ///
    /// # Errors
    /// Where the entity is not in the world, or does not match the query.
    pub fn get(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError> {
        self.inner.query().into_get(entity)
    }
}

fn visit_all<Q: QueryData, F: QueryFilter>(
    pool: &Pool,
    chunks: &ParallelChunks<'_, Q, F>,
    visit: impl Fn(usize, Chunk<'_, Q>) + Sync,
) {
    pool.for_each_range_with_slot(chunks.len(), |slot, range| {
        for chunk in range.filter_map(|index| chunks.take(index)) {
            visit(slot, chunk);
        }
    });
}

impl<'q, Q: QueryData, F: QueryFilter> IntoIterator for &'q mut Query<'_, Q, F> {
    type Item = Q::Item<'q>;
    type IntoIter = RowIter<'q, Q, F>;

    fn into_iter(self) -> RowIter<'q, Q, F> {
        self.inner.query().into_iter()
    }
}
