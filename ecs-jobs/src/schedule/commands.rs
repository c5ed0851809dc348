//! Commands: structural changes that a system records.

use std::ops::{Deref, DerefMut};

use formic_ecs::{CommandBuffer, World};

use super::access::SystemAccess;
use super::error::ParamError;
use super::param::{RunContext, SystemParam};
use super::save::StateArchive;
use super::sink::ParallelSink;
use crate::sync::Mutex;

/// Structural changes that are applied at the next sync point: a [`CommandBuffer`] of the system's own,
/// and one for each thread of its parallel loops.
///
/// The commands of different systems are played in the order in which the systems were added, and those
/// of one system by sort key. [`Query::par_for_each_with`](super::Query::par_for_each_with) sets the key,
/// so that commands recorded before, in and after a loop are played in this order. A closure recorded
/// with [`run`](CommandBuffer::run) gets the whole world at the sync point, at its position in this
/// order.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_jobs::prelude::*;
/// # #[derive(Component)] struct Health(i32);
/// # #[derive(Component, Clone)] struct Alarmed;
/// struct Casualties(u32);
///
/// fn bury(mut all: Query<(Entity, &Health)>, mut commands: Commands<'_>) {
///     all.par_for_each_with(&mut commands, |(entity, health), commands| {
///         if health.0 <= 0 {
///             commands.despawn(entity);
///             commands.run(|world| {
///                 if let Ok(casualties) = world.resource_mut::<Casualties>() {
///                     casualties.0 += 1;
///                 }
///             });
///         }
///     });
///     commands.bulk::<With<Health>>().insert(Alarmed); // those that are left
/// }
///
/// let mut world = World::new();
/// world.insert_resource(Casualties(0));
/// world.spawn_batch((-3..3).map(Health));
/// let mut schedule = Schedule::builder().add(bury).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(world.resource::<Casualties>()?.0, 4);
/// assert_eq!(world.query::<&Alarmed>().count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Commands<'a> {
    state: &'a mut CommandsState,
}

/// One buffer for each slot that a batch of a parallel loop can run on.
#[derive(Debug)]
pub struct CommandsState {
    world: u64,
    /// The first is the system's own.
    buffers: Vec<CommandBuffer>,
    /// The buffers of the threads, while a parallel loop runs.
    lent: Vec<Mutex<CommandBuffer>>,
    /// Whether a parallel loop has begun since they were collected.
    is_lent: bool,
    /// The sort key of the system's own buffer: above those of the parallel loops so far.
    own_key: u64,
    /// The sort key of the first batch of a loop.
    first_key: u64,
}

impl SystemParam for Commands<'_> {
    type State = CommandsState;
    type Item<'a> = Commands<'a>;

    fn init(world: &mut World, access: &mut SystemAccess) -> CommandsState {
        access.add_commands();
        CommandsState {
            world: world.id(),
            buffers: vec![CommandBuffer::new(world)],
            lent: Vec::new(),
            is_lent: false,
            own_key: 0,
            first_key: 0,
        }
    }

    fn fetch<'a>(
        state: &'a mut CommandsState,
        context: RunContext<'a>,
    ) -> Result<Commands<'a>, ParamError> {
        while state.lent.len() < context.pool.parallelism() {
            state.lent.push(Mutex::new(CommandBuffer::for_world_id(state.world)));
        }
        state.own_key = 0;
        Ok(Commands { state })
    }

    fn visit_commands(state: &mut CommandsState, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        state.collect();
        visit(&mut state.buffers);
    }

    /// Between two runs there are no commands: a run ends with a sync point.
    fn visit_state(_state: &mut CommandsState, _archive: &mut StateArchive<'_>) {}
}

impl CommandsState {
    /// Puts the threads' buffers beside the system's own, and gives the threads empty ones.
    fn collect(&mut self) {
        // Swapping buffers takes longer than playing empty ones.
        if !std::mem::take(&mut self.is_lent) {
            return;
        }
        self.buffers.resize_with(1 + self.lent.len(), || CommandBuffer::for_world_id(self.world));
        for (lent, buffer) in self.lent.iter().zip(&mut self.buffers[1..]) {
            std::mem::swap(&mut *lent.lock(), buffer);
        }
    }
}

impl ParallelSink for Commands<'_> {
    type Slot = CommandBuffer;

    /// Threads must not share a key, and each batch may run on another thread. Commands recorded after
    /// the loop come after it.
    fn begin_loop(&mut self, batch_count: usize) {
        let state = &mut *self.state;
        state.is_lent = true;
        state.first_key = state.own_key + 1;
        state.own_key = state.first_key + batch_count as u64;
        state.buffers[0].set_sort_key(state.own_key);
    }

    fn with_slot<R>(
        &self,
        slot: usize,
        batch: usize,
        body: impl FnOnce(&mut CommandBuffer) -> R,
    ) -> R {
        // No other thread locks it while the batch runs.
        let mut buffer = self.state.lent[slot].lock();
        let sort_key = self.state.first_key + batch as u64;
        buffer.set_sort_key(sort_key);
        let result = body(&mut buffer);
        // The buffer also has commands of other rows, and which ones depends on timing.
        assert_eq!(
            buffer.sort_key(),
            sort_key,
            "the body of a parallel loop must only record: it must not clear, append or replace the \
             slot of `Commands`, or set its sort key"
        );
        result
    }
}

impl Deref for Commands<'_> {
    type Target = CommandBuffer;

    fn deref(&self) -> &CommandBuffer {
        &self.state.buffers[0]
    }
}

impl DerefMut for Commands<'_> {
    fn deref_mut(&mut self) -> &mut CommandBuffer {
        &mut self.state.buffers[0]
    }
}

debug_fields!([] Commands<'_>:);
