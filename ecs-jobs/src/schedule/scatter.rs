//! Effects of the rows of a parallel loop on entities that they share, in an order that does not depend
//! on threads.

use formic_ecs::{Entity, QueryData, ViewShard, World};

use super::access::SystemAccess;
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
    state: &'a mut ScatterState<T>,
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
pub struct ScatterState<T> {
    /// While a parallel loop runs, its threads' effects are collected here.
    lent: Vec<Mutex<ScatterSlot<T>>>,
    /// While effects are applied they lie here.
    applied: Vec<ScatterSlot<T>>,
    /// The batches of all slots in their order: the number, the slot, and the place there.
    order: Vec<(u64, usize, usize)>,
    next_batch: u64,
}

/// What one thread of a parallel loop adds effects to.
pub struct ScatterSlot<T> {
    /// The numbers of the batches.
    batches: Vec<u64>,
    /// Where in each bucket they begin.
    starts: Vec<[usize; BUCKETS]>,
    buckets: [Vec<(Entity, T)>; BUCKETS],
    /// How many neighbours are in one bucket, as a power of two.
    shift: u32,
}

impl<T> ScatterSlot<T> {
    const fn new(shift: u32) -> Self {
        let buckets = [const { Vec::new() }; BUCKETS];
        Self { batches: Vec::new(), starts: Vec::new(), buckets, shift }
    }

    /// Adds an effect on an entity.
    #[inline]
    pub fn push(&mut self, target: Entity, effect: T) {
        self.buckets[(target.index() >> self.shift) as usize % BUCKETS].push((target, effect));
    }

    fn begin(&mut self, number: u64) {
        self.batches.push(number);
        self.starts.push(std::array::from_fn(|bucket| self.buckets[bucket].len()));
    }

    /// The effects of one batch in one bucket.
    fn of(&self, batch: usize, bucket: usize) -> &[(Entity, T)] {
        let effects = &self.buckets[bucket];
        let end = self.starts.get(batch + 1).map_or(effects.len(), |next| next[bucket]);
        &effects[self.starts[batch][bucket]..end]
    }

    /// Forgets the batches, without which effects come to nothing.
    fn forget(&mut self) {
        self.batches.clear();
        self.starts.clear();
    }

    /// How many effects are in batches.
    fn len(&self) -> usize {
        let Some(first) = self.starts.first() else { return 0 };
        self.buckets.iter().zip(first).map(|(effects, start)| effects.len() - start).sum()
    }
}

/// Drops all effects of these slots. They are out of their batches first, so that the drop of one
/// that panics meets everything in order, and what it leaves is never applied.
fn drop_all<T>(slots: &mut [Mutex<ScatterSlot<T>>]) {
    slots.iter_mut().for_each(|slot| slot.get_mut().forget());
    for slot in slots.iter_mut().map(Mutex::get_mut) {
        slot.buckets.iter_mut().for_each(Vec::clear);
    }
}

debug_fields!([T] Scatter<'_, T>:; len = |it| it.len());

debug_fields!([T] ScatterState<T>:);

debug_fields!([T] ScatterSlot<T>:; batches = |it| it.batches.len());

impl<T: Send + Sync + 'static> SystemParam for Scatter<'_, T> {
    type State = ScatterState<T>;
    type Item<'a> = Scatter<'a, T>;

    fn init(_world: &mut World, _access: &mut SystemAccess) -> ScatterState<T> {
        let (lent, applied, order) = (Vec::new(), Vec::new(), Vec::new());
        ScatterState { lent, applied, order, next_batch: 0 }
    }

    fn fetch<'a>(
        state: &'a mut ScatterState<T>,
        context: RunContext<'a>,
    ) -> Result<Scatter<'a, T>, ParamError> {
        state.clear();
        let slots = context.pool.parallelism();
        if state.lent.len() != slots {
            let shift = run_of(context.pool).ilog2();
            state.lent = (0..slots).map(|_| Mutex::new(ScatterSlot::new(shift))).collect();
            state.applied = (0..slots).map(|_| ScatterSlot::new(shift)).collect();
        }
        Ok(Scatter { state, pool: context.pool })
    }

    /// Between two runs there is nothing.
    fn visit_state(_state: &mut ScatterState<T>, _archive: &mut StateArchive<'_>) {}
}

impl<T> ScatterState<T> {
    /// Drops what a run left that has not applied it.
    fn clear(&mut self) {
        self.next_batch = 0;
        drop_all(&mut self.lent);
    }

    /// Has what is collected, and what is applied, change places.
    fn swap(&mut self) {
        for (lent, applied) in self.lent.iter_mut().zip(&mut self.applied) {
            std::mem::swap(lent.get_mut(), applied);
        }
    }
}

impl<T> Scatter<'_, T> {
    /// How many effects were collected and not applied yet.
    #[must_use]
    pub fn len(&self) -> usize {
        let slots = self.state.lent.iter().map(Mutex::lock);
        slots.map(|slot| slot.len()).sum()
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
        // The number of the next loop's first batch, before which it comes: its slot is the first one,
        // and its place in that is before.
        let number = self.state.next_batch;
        let slot = self.state.lent[0].get_mut();
        if slot.batches.last() != Some(&number) {
            slot.begin(number);
        }
        slot.push(target, effect);
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
        let applying = Applying::begin(self.state);
        let effects = Effects { slots: &applying.0.applied, order: &applying.0.order };
        let mut shards = targets.shards_of_runs(SHARDS, run_of(self.pool));
        let shards: [Mutex<_>; BUCKETS] = std::array::from_fn(|_| Mutex::new(shards.next()));
        let passed_over = Mutex::new(0);
        self.pool.for_each_index(BUCKETS, |bucket| {
            if let Some(shard) = shards[bucket].lock().take() {
                let count = effects.apply(bucket, shard, &apply);
                *passed_over.lock() += count;
            }
        });
        *passed_over.lock()
    }
}

/// While it lives, what was collected lies aside in order. When it goes, also by a panic, the effects
/// are dropped and their memory is where the next ones are collected.
struct Applying<'s, T>(&'s mut ScatterState<T>);

impl<'s, T> Applying<'s, T> {
    fn begin(state: &'s mut ScatterState<T>) -> Self {
        let applying = Self(state);
        applying.0.swap();
        let ScatterState { applied, order, .. } = &mut *applying.0;
        order.clear();
        for (slot, batches) in applied.iter().map(|slot| &slot.batches).enumerate() {
            let places = batches.iter().enumerate();
            order.extend(places.map(|(place, &number)| (number, slot, place)));
        }
        order.sort_unstable();
        applying
    }
}

impl<T> Drop for Applying<'_, T> {
    fn drop(&mut self) {
        self.0.swap();
        self.0.clear();
    }
}

/// All effects, and the order of their batches.
struct Effects<'a, T> {
    slots: &'a [ScatterSlot<T>],
    order: &'a [(u64, usize, usize)],
}

impl<T> Effects<'_, T> {
    /// Applies what is in one bucket; how many effects had no target.
    fn apply<Q: QueryData<Parts: Send>>(
        &self,
        bucket: usize,
        mut targets: ViewShard<'_, Q>,
        apply: impl Fn(Q::Item<'_>, &T),
    ) -> usize {
        let mut passed_over = 0;
        for &(_, slot, batch) in self.order {
            for (target, effect) in self.slots[slot].of(batch, bucket) {
                match targets.get_mut(*target) {
                    Ok(target) => apply(target, effect),
                    Err(_) => passed_over += 1,
                }
            }
        }
        passed_over
    }
}

impl<T: Send + Sync> ParallelSink for Scatter<'_, T> {
    type Slot = ScatterSlot<T>;

    fn begin_loop(&mut self, batch_count: usize) -> u64 {
        let first = self.state.next_batch;
        self.state.next_batch += batch_count as u64;
        first
    }

    fn with_slot<R>(
        &self,
        slot: usize,
        key: u64,
        body: impl FnOnce(&mut ScatterSlot<T>) -> R,
    ) -> R {
        // No other thread locks it while the batch runs.
        let mut slot = self.state.lent[slot].lock();
        slot.begin(key);
        body(&mut slot)
    }
}
