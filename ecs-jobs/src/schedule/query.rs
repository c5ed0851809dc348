//! A query as the argument of a system: it knows the pool.

use formic_ecs::{
    AccessConflict, BorrowedQuery, Chunk, ColumnData, Entity, ParallelChunks, ParallelScratch,
    QueryData, QueryEntityError, QueryFilter, QueryPlan, ReadOnly, RowIter, World,
};

use super::access::SystemAccess;
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use super::sink::ParallelSinks;
use crate::pool::Pool;
use crate::sync::Mutex;

/// Into how many parts a parallel fold cuts the rows, at most. The same for any number of
/// threads, so that what is combined is, too.
const FOLD_PARTS: usize = 64;

/// All entities that have what `Q` asks for and pass `F`, see [`formic_ecs::Query`]; with the
/// system's pool at hand, also to be walked in parallel.
///
/// In a [staggered](super::IntoSystem::staggered) system it is about the entities of this tick.
///
/// ```
/// use formic_jobs::prelude::*;
/// # #[derive(Component)] struct Gold(u64);
/// struct Total(u64);
///
/// fn count(mut all: Query<'_, &Gold>, mut total: ResMut<'_, Total>) {
///     // On all threads; the same on any number of them, also for sums that round.
///     total.0 = all.par_fold(|| 0, |sum, gold| *sum += gold.0, |sum, other| *sum += other);
/// }
///
/// let mut world = World::new();
/// world.insert_resource(Total(0));
/// world.spawn_batch((0..1000).map(Gold));
/// let mut schedule = Schedule::builder().add(count).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::Own(1))?);
/// assert_eq!(world.resource::<Total>()?.0, 499_500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Query<'a, Q: QueryData, F: QueryFilter = ()> {
    inner: BorrowedQuery<'a, Q, F>,
    scratch: &'a mut ParallelScratch,
    pool: &'a Pool,
}

/// What a query keeps from run to run.
pub struct QueryState<Q: QueryData, F: QueryFilter> {
    plan: QueryPlan<Q, F>,
    scratch: ParallelScratch,
    /// For each part of the entities, when it was asked the last time.
    asked: Vec<u64>,
}

debug_fields!([Q: QueryData, F: QueryFilter] QueryState<Q, F>: plan);

debug_fields!([Q: QueryData, F: QueryFilter] Query<'_, Q, F>: inner);

impl<Q: QueryData + 'static, F: QueryFilter + 'static> SystemParam for Query<'_, Q, F> {
    type State = QueryState<Q, F>;
    type Item<'a> = Query<'a, Q, F>;

    fn init(world: &mut World, access: &mut SystemAccess) -> QueryState<Q, F> {
        let plan = world.plan_filtered::<Q, F>();
        access.add_components(plan.access(), world);
        QueryState { plan, scratch: ParallelScratch::default(), asked: Vec::new() }
    }

    fn fetch<'a>(
        state: &'a mut QueryState<Q, F>,
        context: RunContext<'a>,
    ) -> Result<Query<'a, Q, F>, ParamError> {
        let QueryState { plan, scratch, asked } = state;
        let pool = context.pool;
        let inner = match context.slice {
            None => context.cell.query(plan)?,
            Some(slice) => sliced(plan, asked, slice, context)?,
        };
        Ok(Query { inner, scratch, pool })
    }

    fn visit_state(state: &mut QueryState<Q, F>, archive: &mut StateArchive<'_>) {
        archive.plan(&mut state.plan);
        archive.numbers("slices of the query before", &mut state.asked);
    }
}

/// The query about this slice of the entities, and about what is new in it since it came up last.
#[cold]
fn sliced<'a, Q: QueryData, F: QueryFilter>(
    plan: &'a mut QueryPlan<Q, F>,
    asked: &mut Vec<u64>,
    (count, which): (u32, u32),
    context: RunContext<'a>,
) -> Result<BorrowedQuery<'a, Q, F>, AccessConflict> {
    let inner = context.cell.query(plan)?;
    if inner.last_run() == 0 {
        // The first time, or the world was restored: everything is new.
        asked.clear();
    }
    asked.resize(count as usize, 0);
    let since = std::mem::replace(&mut asked[which as usize], context.cell.version());
    Ok(inner.since(since).shard(count, which))
}

impl<Q: QueryData, F: QueryFilter> Query<'_, Q, F> {
    /// The query as ecs-core has it, for what it can do beyond walking: several entities at once,
    /// a single row, and others. It asks what is new since the system ran last.
    pub fn query(&mut self) -> formic_ecs::Query<'_, Q, F> {
        self.inner.query()
    }

    /// The same about all entities, in a staggered system as well.
    pub fn all(&mut self) -> formic_ecs::Query<'_, Q, F> {
        self.inner.query().shard(1, 0)
    }

    /// The rows, one by one, of a query that only reads; so does `for row in &query`.
    pub fn iter(&self) -> RowIter<'_, Q, F>
    where
        Q: ReadOnly,
    {
        self.inner.as_readonly().into_iter()
    }

    /// The [`query`](Self::query), and what a parallel loop of your own needs beside it: the memory of
    /// [`formic_ecs::Query::parallel`], and the pool that the schedule runs on.
    pub fn walk(&mut self) -> (formic_ecs::Query<'_, Q, F>, &mut ParallelScratch, &Pool) {
        (self.inner.query(), self.scratch, self.pool)
    }

    /// Calls `f` with every row, on this thread.
    #[inline]
    pub fn for_each<'q>(&'q mut self, f: impl FnMut(Q::Item<'q>)) {
        self.query().for_each(f);
    }

    /// Calls `f` with the slices of every run of rows, on this thread.
    #[inline]
    pub fn for_each_chunk<'q>(&'q mut self, f: impl FnMut(Q::Columns<'q>))
    where
        Q: ColumnData,
    {
        self.query().for_each_chunk(f);
    }

    /// Calls `f` with every row, in batches on all threads of the pool.
    ///
    /// # Panics
    /// Panics if `f` panics. Rows that were visited before stay as they are.
    pub fn par_for_each(&mut self, f: impl Fn(Q::Item<'_>) + Sync) {
        let (mut query, scratch, pool) = self.walk();
        visit_all(pool, &query.parallel(scratch), |_slot, _batch, rows| rows.for_each(&f));
    }

    /// Calls `f` with the slices of every run of rows, chunk by chunk on all threads of the pool.
    ///
    /// # Panics
    /// Panics if `f` panics. Rows that were visited before stay as they are.
    pub fn par_for_each_chunk(&mut self, f: impl Fn(Q::Columns<'_>) + Sync)
    where
        Q: ColumnData,
    {
        let (mut query, scratch, pool) = self.walk();
        let chunks = query.parallel(scratch);
        // Whole chunks: `f` sees how long its slices are, which is not to depend on threads.
        pool.for_each_index(chunks.len(), |index| {
            if let Some(chunk) = chunks.take(index) {
                chunk.for_each_run(&f);
            }
        });
    }

    /// Calls `f` with every row and a place to put something, on all threads of the pool: of
    /// [`Commands`](super::Commands) a command buffer, of an [`EventWriter`](super::EventWriter) its
    /// slot; of a pair `(&mut commands, &mut writer)` a pair of these. What is put there is kept in the
    /// order of the rows, so that it does not depend on which thread did what.
    ///
    /// # Panics
    /// Panics if `f` panics. Rows that were visited before stay as they are, and what they have put into
    /// their places is in the sink. Which rows these are depends on timing, so a system that catches the
    /// panic and goes on may have another result on another number of threads.
    pub fn par_for_each_with<S: ParallelSinks>(
        &mut self,
        mut sinks: S,
        f: impl Fn(Q::Item<'_>, &mut S::Slots<'_>) + Sync,
    ) {
        let (mut query, scratch, pool) = self.walk();
        let chunks = query.parallel(scratch);
        sinks.begin_loop(chunks.batch_count());
        let shared = &sinks;
        visit_all(pool, &chunks, |slot, batch, chunk| {
            shared.with_slots(slot, batch, |slots| chunk.for_each(|item| f(item, slots)));
        });
    }

    /// Folds all rows into one value, on all threads of the pool.
    ///
    /// The rows are cut into at most 64 parts, whatever the number of threads. Each part is
    /// folded by `fold`, row by row, into a value that `new` makes; these are combined in order. So
    /// the result is the same for any number of threads even where the order matters, as it does for
    /// sums of floating-point numbers.
    ///
    /// # Panics
    /// Panics if one of the closures panics.
    pub fn par_fold<A: Send>(
        &mut self,
        new: impl Fn() -> A + Sync,
        fold: impl Fn(&mut A, Q::Item<'_>) + Sync,
        mut combine: impl FnMut(&mut A, A),
    ) -> A {
        let (mut query, scratch, pool) = self.walk();
        let chunks = query.parallel(scratch);
        let parts = chunks.batch_count().min(FOLD_PARTS);
        let results: [Mutex<Option<A>>; FOLD_PARTS] = std::array::from_fn(|_| Mutex::new(None));
        pool.for_each_index(parts, |part| {
            let border = |part| part * chunks.batch_count() / parts;
            let mut value = new();
            chunks.take_batches(border(part)..border(part + 1), |_batch, rows| {
                rows.for_each(|item| fold(&mut value, item));
            });
            *results[part].lock() = Some(value);
        });
        let values = results.iter().filter_map(|result| result.lock().take());
        let folded = values.reduce(|mut sum, value| {
            combine(&mut sum, value);
            sum
        });
        folded.unwrap_or_else(new)
    }

    /// Turns each row into a value and combines all values into one, on all threads of the pool;
    /// `None` where there are no rows. Values are combined in the same order, and in the same
    /// groups, for any number of threads, see [`par_fold`](Self::par_fold).
    ///
    /// # Panics
    /// Panics if one of the closures panics.
    pub fn par_reduce<A: Send>(
        &mut self,
        map: impl Fn(Q::Item<'_>) -> A + Sync,
        combine: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        let join = |sum: &mut Option<A>, value: A| {
            *sum = Some(match sum.take() {
                Some(sum) => combine(sum, value),
                None => value,
            });
        };
        self.par_fold(
            || None,
            |sum, item| join(sum, map(item)),
            |sum, other| other.into_iter().for_each(|other| join(sum, other)),
        )
    }

    /// How many rows match.
    #[must_use]
    pub fn count(&self) -> usize {
        self.inner.count()
    }

    /// What one entity gives.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match the query.
    pub fn get(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError> {
        self.inner.query().into_get(entity)
    }
}

/// In batches that the pool makes as large as their rows take little time. Which batches a thread takes at once
/// does not matter: what is put into sinks has the order of the batches.
fn visit_all<Q: QueryData, F: QueryFilter>(
    pool: &Pool,
    chunks: &ParallelChunks<'_, Q, F>,
    visit: impl Fn(usize, usize, Chunk<'_, Q>) + Sync,
) {
    pool.for_each_range_with_slot(chunks.batch_count(), |slot, batches| {
        chunks.take_batches(batches, |batch, rows| visit(slot, batch, rows));
    });
}

impl<'q, Q: QueryData, F: QueryFilter> IntoIterator for &'q mut Query<'_, Q, F> {
    type Item = Q::Item<'q>;
    type IntoIter = RowIter<'q, Q, F>;

    fn into_iter(self) -> RowIter<'q, Q, F> {
        self.query().into_iter()
    }
}

impl<'q, Q: ReadOnly, F: QueryFilter> IntoIterator for &'q Query<'_, Q, F> {
    type Item = Q::Item<'q>;
    type IntoIter = RowIter<'q, Q, F>;

    fn into_iter(self) -> RowIter<'q, Q, F> {
        self.iter()
    }
}
