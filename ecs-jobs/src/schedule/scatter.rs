//! Effects of the rows of a parallel loop on entities that they share, in an order that does not depend
//! on threads.

use formic_ecs::{Entity, QueryData, World};

use super::access::SystemAccess;
use super::batch_buffers::{BatchBuffer, BatchBuffers};
use super::error::ParamError;
use super::param::{ComponentLookup, RunContext, SystemParam};
use super::save::StateArchive;
use super::sink::ParallelSink;
use crate::pool::Pool;
use crate::sync::Mutex;

/// Effects on entities that the rows of a parallel loop collect, to be applied after the loop: what
/// [`Gather`](super::Gather) is for the system itself. It is the tool for targets that many rows write
/// to, such as the nurses of a larva or the shots at a ship.
///
/// The effects on one target are applied one after the other, in the order of the loop's chunks and
/// rows. Effects on different targets are applied on all threads of the pool. So the result is the
/// same on any number of threads, and no effect is lost.
///
/// ```
/// use formic_jobs::prelude::*;
/// #[derive(Component)]
/// struct Feeds(Entity);
/// #[derive(Component)]
/// struct Stomach(u32);
///
/// fn feed(
///     mut nurses: Query<'_, &Feeds>,
///     mut meals: Scatter<'_, u32>,
///     mut stomachs: ComponentLookup<'_, &'static mut Stomach>,
/// ) {
///     nurses.par_for_each_with(&mut meals, |feeds, meals| meals.push(feeds.0, 1));
///     meals.apply(&mut stomachs, |stomach, meal| stomach.0 += meal);
/// }
///
/// let mut world = World::new();
/// let larva = world.spawn(Stomach(0));
/// world.spawn_batch((0..1000).map(|_| Feeds(larva)));
/// let mut schedule = Schedule::builder().add(feed).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::Own(2))?);
/// assert_eq!(world.get::<Stomach>(larva)?.0, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scatter<'a, T> {
    collected: &'a mut ScatterState<T>,
    pool: &'a Pool,
}

/// Targets are told apart by their shard of the view: as many buckets, each of which one thread
/// applies. The order of the effects on one target does not depend on them.
const BUCKETS: usize = SHARDS as usize;
const SHARDS: u32 = 32;

/// How many neighbours are in one bucket. The fewer threads, the more: the processor has several
/// targets under way then, also where all are neighbours, and those that it goes over lie together.
fn run_of(pool: &Pool) -> u32 {
    (8 / u32::try_from(pool.parallelism()).unwrap_or(8)).next_power_of_two()
}

/// What a [`Scatter`] keeps from run to run.
pub type ScatterState<T> = BatchBuffers<(Entity, T), BUCKETS>;

/// What one thread of a parallel loop adds effects to.
pub type ScatterSlot<T> = BatchBuffer<(Entity, T), BUCKETS>;

impl<T> ScatterSlot<T> {
    /// Adds an effect on an entity.
    #[inline]
    pub fn push(&mut self, target: Entity, effect: T) {
        self.push_at(target.index(), (target, effect));
    }
}

debug_fields!([T] Scatter<'_, T>:; len = |it| it.len());

impl<T: Send + Sync + 'static> SystemParam for Scatter<'_, T> {
    type State = ScatterState<T>;
    type Item<'a> = Scatter<'a, T>;

    fn init(_world: &mut World, _access: &mut SystemAccess) -> ScatterState<T> {
        BatchBuffers::new()
    }

    /// Drops what a run left that has not applied it.
    fn fetch<'a>(
        state: &'a mut ScatterState<T>,
        context: RunContext<'a>,
    ) -> Result<Scatter<'a, T>, ParamError> {
        state.begin_run(context.pool, run_of(context.pool));
        Ok(Scatter { collected: state, pool: context.pool })
    }

    /// Between two runs there is nothing.
    fn visit_state(_state: &mut ScatterState<T>, _archive: &mut StateArchive<'_>) {}
}

impl<T> Scatter<'_, T> {
    /// How many effects were collected and not applied yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.collected.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Send + Sync> Scatter<'_, T> {
    /// Adds an effect on an entity, after all that are there.
    pub fn push(&mut self, target: Entity, effect: T) {
        self.collected.push_at(target.index(), (target, effect));
    }

    /// Calls `apply` for every effect, with the components of its target, and drops them all. Those on
    /// one target come in their order, on one thread; targets are gone through on all threads of the
    /// pool. Returns how many effects were passed over, because their target is not in the world or
    /// lacks a component.
    ///
    /// # Panics
    /// Panics if `apply`, or the drop of an effect, panics. What was applied before stays as it is,
    /// and which effects these are depends on timing; the others are dropped, none is left.
    pub fn apply<Q: QueryData<Parts: Send>>(
        &mut self,
        targets: &mut ComponentLookup<'_, Q>,
        apply: impl Fn(Q::Item<'_>, &T) + Sync,
    ) -> usize {
        let effects = self.collected.in_order();
        let mut shards = targets.shards_of_runs(SHARDS, run_of(self.pool));
        let shards: [Mutex<_>; BUCKETS] = std::array::from_fn(|_| Mutex::new(shards.next()));
        let passed_over = Mutex::new(0);
        self.pool.for_each_index(BUCKETS, |bucket| {
            let Some(mut targets) = shards[bucket].lock().take() else { return };
            let mut count = 0;
            for (target, effect) in effects.batches_of(bucket).flatten() {
                match targets.get_mut(*target) {
                    Ok(target) => apply(target, effect),
                    Err(_) => count += 1,
                }
            }
            *passed_over.lock() += count;
        });
        *passed_over.lock()
    }
}

impl<T: Send + Sync + 'static> ParallelSink for Scatter<'_, T> {
    type Slot = ScatterSlot<T>;

    fn begin_loop(&mut self, batch_count: usize) {
        self.collected.begin_loop(batch_count);
    }

    fn with_slot<R>(
        &self,
        slot: usize,
        batch: usize,
        body: impl FnOnce(&mut ScatterSlot<T>) -> R,
    ) -> R {
        self.collected.with_slot(slot, batch, body)
    }
}
