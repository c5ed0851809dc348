//! Results of a parallel loop, in an order that does not depend on threads.

use formic_ecs::World;

use super::access::SystemAccess;
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use super::sink::ParallelSink;
use crate::sync::Mutex;

/// A list that the threads of a parallel loop add to, for the system itself: what
/// [`EventWriter`](super::EventWriter) is for others. It lies in the order of the loop's chunks and
/// rows, whatever the number of threads, and is empty when the next run begins.
///
/// ```
/// use formic_jobs::prelude::*;
/// #[derive(Component)]
/// struct Height(i32);
/// struct Summits(Vec<i32>);
///
/// fn survey(
///     mut all: Query<'_, &Height>,
///     mut found: Gather<'_, i32>,
///     mut summits: ResMut<'_, Summits>,
/// ) {
///     all.par_for_each_with(&mut found, |height, found| {
///         if height.0 > 8_000 {
///             found.push(height.0);
///         }
///     });
///     summits.0.extend(found.drain());
/// }
///
/// let mut world = World::new();
/// world.insert_resource(Summits(Vec::new()));
/// world.spawn_batch((7_990..8_003).map(Height));
/// let mut schedule = Schedule::builder().add(survey).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::Own(2))?);
/// assert_eq!(world.resource::<Summits>()?.0, [8_001, 8_002]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Gather<'a, T> {
    state: &'a mut GatherState<T>,
}

/// The values of a system and of its parallel loops, in order: what a [`Gather`] keeps from run to
/// run, and an [`EventWriter`](super::EventWriter) beside.
pub struct GatherState<T> {
    pub(super) gathered: Vec<T>,
    /// While a parallel loop runs, its threads' values are here.
    lent: Vec<Mutex<GatherSlot<T>>>,
    sorted: Vec<(u64, usize, T)>,
}

/// What one thread of a parallel loop adds to.
pub struct GatherSlot<T> {
    key: u64,
    /// Each with the key of its batch, and its place.
    values: Vec<(u64, usize, T)>,
}

impl<T> GatherSlot<T> {
    /// Adds a value.
    pub fn push(&mut self, value: T) {
        self.values.push((self.key, self.values.len(), value));
    }

    /// The same, of an event.
    pub fn send(&mut self, event: T) {
        self.push(event);
    }
}

impl<T> GatherState<T> {
    pub(super) const fn new() -> Self {
        Self { gathered: Vec::new(), lent: Vec::new(), sorted: Vec::new() }
    }

    /// Gets ready for a run, and drops what one left that may have panicked.
    pub(super) fn begin_run(&mut self, context: RunContext<'_>) -> Gather<'_, T> {
        self.gathered.clear();
        while self.lent.len() < context.pool.parallelism() {
            self.lent.push(Mutex::new(GatherSlot { key: 0, values: Vec::new() }));
        }
        Gather { state: self }
    }
}

debug_fields!([T] Gather<'_, T>:; len = |it| it.state.gathered.len());

debug_fields!([T] GatherState<T>:);

debug_fields!([T] GatherSlot<T>:; len = |it| it.values.len());

impl<T: Send + Sync + 'static> SystemParam for Gather<'_, T> {
    type State = GatherState<T>;
    type Item<'a> = Gather<'a, T>;

    fn init(_world: &mut World, _access: &mut SystemAccess) -> GatherState<T> {
        GatherState::new()
    }

    fn fetch<'a>(
        state: &'a mut GatherState<T>,
        context: RunContext<'a>,
    ) -> Result<Gather<'a, T>, ParamError> {
        Ok(state.begin_run(context))
    }

    /// Each run begins with nothing gathered.
    fn visit_state(_state: &mut GatherState<T>, _archive: &mut StateArchive<'_>) {}
}

impl<T> Gather<'_, T> {
    /// Adds a value, after all that are there.
    pub fn push(&mut self, value: T) {
        self.state.gathered.push(value);
    }

    /// What has been added, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.state.gathered
    }

    /// Takes out what has been added, in order.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = T> {
        self.state.gathered.drain(..)
    }
}

impl<T: Send + Sync> ParallelSink for Gather<'_, T> {
    type Slot = GatherSlot<T>;

    /// Drops what a loop left that panicked.
    fn begin_loop(&mut self, _batch_count: usize) -> u64 {
        self.state.lent.iter_mut().for_each(|slot| slot.get_mut().values.clear());
        0
    }

    fn with_slot<R>(&self, slot: usize, key: u64, body: impl FnOnce(&mut GatherSlot<T>) -> R) -> R {
        // No other thread locks it while the batch runs.
        let mut slot = self.state.lent[slot].lock();
        slot.key = key;
        body(&mut slot)
    }

    fn end_loop(&mut self) {
        let GatherState { gathered, lent, sorted } = &mut *self.state;
        lent.iter_mut().for_each(|slot| sorted.append(&mut slot.get_mut().values));
        // A batch is one thread's, so the places in one thread's list decide inside of a batch.
        sorted.sort_unstable_by_key(|&(key, place, _)| (key, place));
        gathered.extend(sorted.drain(..).map(|(_, _, value)| value));
    }
}
