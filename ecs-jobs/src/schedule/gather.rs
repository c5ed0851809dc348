//! Results of a parallel loop, in an order that does not depend on threads.

use formic_ecs::World;

use super::access::SystemAccess;
use super::batch_buffers::{BatchBuffer, BatchBuffers};
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use super::sink::{ParallelSink, sink_in_field};

/// A list that the threads of a parallel loop add to, for the system itself;
/// [`EventWriter`](super::EventWriter) is the counterpart for other systems. It is in the order of the
/// loop's chunks and rows, for any number of threads, and is empty when the next run begins.
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

/// The state of a [`Gather`] between runs, and of an [`EventWriter`](super::EventWriter).
pub struct GatherState<T> {
    collected: BatchBuffers<T, 1>,
    in_order: Vec<T>,
}

/// The buffer of one thread of a parallel loop.
pub type GatherSlot<T> = BatchBuffer<T, 1>;

impl<T> GatherSlot<T> {
    /// Adds a value.
    pub fn push(&mut self, value: T) {
        self.push_at(0, value);
    }

    /// Adds an event; the same as [`push`](Self::push).
    pub fn send(&mut self, event: T) {
        self.push(event);
    }
}

impl<T> GatherState<T> {
    /// Returns the values collected so far, in order.
    pub(super) fn in_order(&mut self) -> &mut Vec<T> {
        self.collected.move_into(&mut self.in_order);
        &mut self.in_order
    }
}

debug_fields!([T] Gather<'_, T>:);

debug_fields!([T] GatherState<T>:);

impl<T: Send + Sync + 'static> SystemParam for Gather<'_, T> {
    type State = GatherState<T>;
    type Item<'a> = Gather<'a, T>;

    fn init(_world: &mut World, _access: &mut SystemAccess) -> GatherState<T> {
        GatherState { collected: BatchBuffers::new(), in_order: Vec::new() }
    }

    /// Drops values left by the previous run.
    fn fetch<'a>(
        state: &'a mut GatherState<T>,
        context: RunContext<'a>,
    ) -> Result<Gather<'a, T>, ParamError> {
        state.in_order.clear();
        state.collected.begin_run(context.pool, 1);
        Ok(Gather { state })
    }

    /// Each run begins with nothing gathered.
    fn visit_state(_state: &mut GatherState<T>, _archive: &mut StateArchive<'_>) {}
}

impl<T> Gather<'_, T> {
    /// Adds a value, after all others.
    pub fn push(&mut self, value: T) {
        self.state.collected.push_at(0, value);
    }

    /// Removes and returns the values, in order.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = T> {
        self.state.in_order().drain(..)
    }
}

sink_in_field!(Gather, GatherSlot, state.collected);
