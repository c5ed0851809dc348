//! A work-stealing thread pool, and a schedule of ECS systems that runs on it.
//!
//! A [`Schedule`] runs systems: functions whose parameters declare what they read and write, such as a
//! [`Query`], [`Res`], [`Commands`] or [`EventWriter`]. Systems whose accesses do not conflict run in
//! parallel. Systems that conflict run in the order in which they were added, so the resulting world is
//! the same for any number of threads.
//!
//! ```
//! use formic_jobs::prelude::*;
//! #[derive(Component)]
//! struct Age(u32);
//!
//! fn grow(mut all: Query<'_, &mut Age>) {
//!     all.par_for_each(|age| age.0 += 1);
//! }
//! fn oldest(all: Query<'_, &Age>, mut oldest: ResMut<'_, u32>) {
//!     *oldest = all.iter().map(|age| age.0).max().unwrap_or(0);
//! }
//!
//! let mut world = World::new();
//! world.insert_resource(0_u32);
//! world.spawn_batch((0..100).map(Age));
//! let mut schedule = Schedule::builder().add((grow, oldest)).build(&mut world)?;
//! schedule.run(&mut world, &Pool::new(Threads::all_cores())?);
//! assert_eq!(*world.resource::<u32>()?, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The pool also runs scopes, joins and flat loops, and sleeps when it has no work. It knows nothing of
//! the ECS. It is an object that the host creates, with threads of its own or with none; [`Pool`] lists
//! its guarantees.
//!
//! ```
//! use formic_jobs::{Pool, Threads};
//!
//! let pool = Pool::new(Threads::all_cores())?;
//! let mut numbers = vec![1_u32; 1_000];
//! let (left, right) = numbers.split_at_mut(500);
//! pool.join(|| left.fill(2), || right.fill(3));
//! assert_eq!(numbers.iter().sum::<u32>(), 2_500);
//! # Ok::<(), formic_jobs::PoolError>(())
//! ```
//!
//! # Invariants
//!
//! The unsafe code of the pool rests on these invariants; `SAFETY` comments cite them.
//!
//! * **J-1** A listed group is alive. Its owner removes it from the list of open groups, under the list's
//!   lock, before it leaves its stack frame, and only when no thread is in the group and none would find
//!   work there.
//! * **J-2** A group is alive while its count is above zero. It counts each thread that is in the group,
//!   and the half of a join, which a thread may still take. A counted thread may use the group; its last
//!   use is the decrement that ends its count.
//! * **J-3** A group's parent outlives it: the job of the parent that opened the group ends after the
//!   group does, and runs on the parent's owner or on a thread that is counted in the parent.
//! * **J-4** A job reference is used up exactly once: it is run, or its owner takes it back. The owner
//!   does not leave the frame of the job before that, nor before such a run has used the job for the last
//!   time.
//! * **J-5** The contexts reachable from a thread's `NEWEST` lie on that thread's stack, are alive, and
//!   are unlinked, newest first, before they are dropped.
//! * **J-6** The cells of a join's second half belong to the thread that used up its job reference. If
//!   that was a thief, they return to the owner when the group is done.
//! * **J-7** As long as a stored job has a table, its storage holds one value of the type that the table was
//!   made for, which is `Send` and outlives the stored job. A caller that takes the value out takes the
//!   table first.
//! * **J-8** The cell of a slot's job belongs to the one thread that holds the slot's `Claimed`. At most
//!   one exists: it is created when a free slot is taken, given up when the job is published, and created
//!   again for the thread that wins the job by a compare-exchange or decrements its count of dependencies
//!   to zero. While it exists, the slot is not free and does not move.
//! * **J-9** A free slot is on exactly one stack. The stack of a thread index is touched only by the
//!   thread that has the index, and no two threads have the same index at the same time.

#[macro_use(debug_as_text, debug_fields, display_text, error_text, from_error)]
extern crate formic_ecs;

mod body_costs;
mod clock;
mod complete;
mod context;
mod flat_loop;
mod future;
mod handle;
mod job_graph;
mod job_queue;
mod join;
mod join_deque;
mod panic_slot;
mod pool;
mod queue;
mod run_job;
mod schedule;
mod scope;
mod shared;
mod sleep;
mod slots;
mod spans;
mod static_graph;
mod stored_job;
mod sync;
mod task_group;
mod thread_number;
mod wait;
mod wait_graph;
mod walk;
mod worker;

#[cfg(all(test, loom))]
mod loom_models;

pub use crate::future::FutureTask;
pub use crate::handle::{JobError, JobHandle, JobPanic};
pub use crate::job_graph::{GraphError, GraphJob, JobGraph, JobGraphBuilder};
pub use crate::pool::{Gate, JobBuilder, Pool, PoolBuilder, PoolError, Threads};
pub use crate::schedule::*;
pub use crate::scope::Scope;
pub use crate::static_graph::Sharing;
pub use formic_ecs_derive::SystemParam;

/// The names that the derive macros need.
#[doc(hidden)]
pub mod __private {
    pub use formic_ecs::{CommandBuffer, World};
}

/// The names that most programs need, including those of [`formic_ecs::prelude`].
pub mod prelude {
    pub use formic_ecs::prelude::*;

    pub use crate::handle::JobHandle;
    pub use crate::job_graph::{GraphError, GraphJob, JobGraph, JobGraphBuilder};
    pub use crate::pool::{Pool, Threads};
    pub use crate::schedule::{
        Commands, ComponentLookup, EnabledLookup, EventReader, EventWriter, Events,
        ExclusiveLookup, FixedStep, Gather, Group, IntoCondition, IntoSystem, Local, Query, Res,
        ResMut, RunSystem, Scatter, Schedule, SystemParam, any_entity, on_event, resource_changed,
        resource_exists,
    };
    pub use formic_ecs_derive::SystemParam;
}
