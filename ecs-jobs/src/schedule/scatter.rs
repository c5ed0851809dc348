//! Effects of the rows of a parallel loop on shared entities, in an order that does not depend on
//! threads.

use formic_ecs::{Entity, QueryData, World};

use super::access::SystemAccess;
use super::batch_buffers::{BatchBuffer, BatchBuffers};
use super::error::ParamError;
use super::param::{ComponentLookup, RunContext, SystemParam};
use super::save::StateArchive;
use super::sink::{ParallelSink, sink_in_field};
use crate::pool::Pool;
use crate::sync::Mutex;

/// Effects on entities that the rows of a parallel loop collect, to be applied after the loop;
/// [`Gather`](super::Gather) is the counterpart for the system itself. Use it for targets that many rows
/// write to, such as the nurses of a larva or the shots at a ship.
///
/// The effects on one target are applied one after the other, in the order of the loop's chunks and rows.
/// Effects on different targets are applied on all threads of the pool. So the result is the same for any
/// number of threads, and no effect is lost.
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

/// Targets are assigned to buckets by their shard of the view; one thread applies each bucket. The order
/// of the effects on one target does not depend on the buckets.
const BUCKETS: usize = SHARDS as usize;
const SHARDS: u32 = 32;

/// The number of neighbouring indices per bucket. It is larger for fewer threads: then the processor
/// works on several targets at once even if all are neighbours, and the targets of a bucket lie together.
fn run_of(pool: &Pool) -> u32 {
    (8 / u32::try_from(pool.parallelism()).unwrap_or(8)).next_power_of_two()
}

/// The state of a [`Scatter`] between runs.
pub type ScatterState<T> = BatchBuffers<(Entity, T), BUCKETS>;

/// The buffer to which one thread of a parallel loop adds effects.
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

    /// Drops effects that a previous run has not applied.
    fn fetch<'a>(
        state: &'a mut ScatterState<T>,
        context: RunContext<'a>,
    ) -> Result<Scatter<'a, T>, ParamError> {
        state.begin_run(context.pool, run_of(context.pool));
        Ok(Scatter { collected: state, pool: context.pool })
    }

    /// Between two runs there are no effects.
    fn visit_state(_state: &mut ScatterState<T>, _archive: &mut StateArchive<'_>) {}
}

impl<T> Scatter<'_, T> {
    /// Returns the number of collected effects that were not applied yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.collected.len()
    }

    /// Returns whether there are no effects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Send + Sync> Scatter<'_, T> {
    /// Adds an effect on an entity, after all others.
    pub fn push(&mut self, target: Entity, effect: T) {
        self.collected.push_at(target.index(), (target, effect));
    }

    /// Calls `apply` for every effect, with the components of its target, and drops them all. The effects
    /// on one target are applied in order, on one thread; different targets are handled on all threads of
    /// the pool. Returns the number of effects that were skipped because their target is not in the world
    /// or lacks a component.
    ///
    /// # Panics
    /// Panics if `apply`, or the drop of an effect, panics. Effects applied before that stay, and which
    /// ones these are depends on timing; all others are dropped.
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

sink_in_field!(Scatter, ScatterSlot, collected);
