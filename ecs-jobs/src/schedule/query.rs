//! A query as a parameter of a system, with access to the pool.

use formic_ecs::{
    AccessConflict, BorrowedQuery, ColumnData, Entity, ParallelScratch, QueryData,
    QueryEntityError, QueryFilter, QueryPlan, ReadOnly, RowIter, World,
};

use super::access::SystemAccess;
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use super::sink::ParallelSinks;
use crate::pool::Pool;
use crate::sync::Mutex;

/// The maximum number of parts of a parallel fold. It does not depend on the number of threads, so the
/// combined result does not either.
const FOLD_PARTS: usize = 64;

/// All entities that match `Q` and `F`, see [`formic_ecs::Query`]; with the system's pool, for parallel
/// loops.
///
/// In a [staggered](super::IntoSystem::staggered) system it covers the entities of this tick.
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

/// The state of a query between runs.
pub struct QueryState<Q: QueryData, F: QueryFilter> {
    plan: QueryPlan<Q, F>,
    scratch: ParallelScratch,
    /// For each part of the entities, the version at which it was last queried.
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

/// Returns the query over this part of the entities, with changes since the part was last visited.
#[cold]
fn sliced<'a, Q: QueryData, F: QueryFilter>(
    plan: &'a mut QueryPlan<Q, F>,
    asked: &mut Vec<u64>,
    (count, which): (u32, u32),
    context: RunContext<'a>,
) -> Result<BorrowedQuery<'a, Q, F>, AccessConflict> {
    let inner = context.cell.query(plan)?;
    if inner.last_run() == 0 {
        // The first run, or the world was restored: everything is new.
        asked.clear();
    }
    asked.resize(count as usize, 0);
    let since = std::mem::replace(&mut asked[which as usize], context.cell.version());
    Ok(inner.since(since).shard(count, which))
}

impl<Q: QueryData, F: QueryFilter> Query<'_, Q, F> {
    /// Returns the query of ecs-core, for what it can do beyond loops: several entities at once, a single
    /// row, and more. Its changes are those since the system last ran.
    #[doc(alias("single", "first", "get_many_mut"))]
    pub fn query(&mut self) -> formic_ecs::Query<'_, Q, F> {
        self.inner.query()
    }

    /// Returns the query over all entities, also in a staggered system.
    pub fn all(&mut self) -> formic_ecs::Query<'_, Q, F> {
        self.inner.query().shard(1, 0)
    }

    /// Iterates over the rows of a query that only reads, like `for row in &query`.
    pub fn iter(&self) -> RowIter<'_, Q, F>
    where
        Q: ReadOnly,
    {
        self.inner.as_readonly().into_iter()
    }

    /// Returns the [`query`](Self::query), and what a custom parallel loop needs: the memory for
    /// [`formic_ecs::Query::parallel`], and the pool that the schedule runs on.
    pub fn walk(&mut self) -> (formic_ecs::Query<'_, Q, F>, &mut ParallelScratch, &Pool) {
        (self.inner.query(), self.scratch, self.pool)
    }

    /// Calls `f` with every row, on this thread.
    #[inline]
    #[doc(alias = "iter_mut")]
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
    #[doc(alias("par_iter", "par_iter_mut", "iter_batched"))]
    pub fn par_for_each(&mut self, f: impl Fn(Q::Item<'_>) + Sync) {
        self.par_for_each_with(&mut (), |item, ()| f(item));
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
        // Whole chunks: `f` sees the length of its slices, which must not depend on threads.
        pool.for_each_index(chunks.len(), |index| {
            if let Some(chunk) = chunks.take(index) {
                chunk.for_each_run(&f);
            }
        });
    }

    /// Calls `f` with every row and a slot for results, on all threads of the pool. The slot of
    /// [`Commands`](super::Commands) is a command buffer; that of an [`EventWriter`](super::EventWriter)
    /// is its slot type; that of a pair `(&mut commands, &mut writer)` is a pair. Results are kept in the
    /// order of the rows, independent of threads.
    ///
    /// A slot belongs to a thread, and also has results of other rows. Which ones, and so its length,
    /// depends on timing: `f` should only add to it.
    ///
    /// # Panics
    /// Panics if `f` clears, appends or replaces the slot of [`Commands`](super::Commands), or sets its sort
    /// key, which is the position of the rows.
    ///
    /// Panics if `f` panics. Rows that were visited before stay as they are, and their results are in the
    /// sink. Which rows these are depends on timing, so a system that catches the panic and goes on may
    /// have a different result on another number of threads.
    pub fn par_for_each_with<S: ParallelSinks>(
        &mut self,
        mut sinks: S,
        f: impl Fn(Q::Item<'_>, &mut S::Slots<'_>) + Sync,
    ) {
        let (mut query, scratch, pool) = self.walk();
        let chunks = query.parallel(scratch);
        sinks.begin_loop(chunks.batch_count());
        let shared = &sinks;
        // The pool adapts the number of batches that a thread takes at a time to the cost of a row. Which
        // thread that is does not matter: results in sinks are in the order of the batches.
        pool.for_each_range_with_slot(chunks.batch_count(), |slot, batches| {
            chunks.take_batches(batches, |batch, rows| {
                shared.with_slots(slot, batch, |slots| rows.for_each(|item| f(item, slots)));
            });
        });
    }

    /// Folds all rows into one value, on all threads of the pool.
    ///
    /// The rows are cut into at most 64 parts, for any number of threads. `fold` folds each part, row by
    /// row, into a value created by `new`; the values are combined in order. So the result is the same
    /// for any number of threads even if the order matters, as it does for sums of floating-point
    /// numbers.
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

    /// Maps each row to a value and combines all values into one, on all threads of the pool; `None` if
    /// there are no rows. Values are combined in the same order and grouping for any number of threads,
    /// see [`par_fold`](Self::par_fold).
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

    /// Returns the number of matching rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.inner.count()
    }

    /// Returns the item of one entity.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match the query.
    #[doc(alias = "get_mut")]
    pub fn get(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError> {
        self.inner.query().into_get(entity)
    }
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
