//! Threads for Formic: a pool of workers, and a schedule of systems on it.
//!
//! A [`Schedule`] runs systems, which are functions whose arguments say what they read and write: a
//! [`Query`], [`Res`], [`Commands`], [`EventWriter`]. Those that touch nothing in common run side by
//! side, and those that do in the order in which they were added, so that the world that comes out is
//! the same on any number of threads.
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
//! The pool runs scopes, joins and flat loops as well, and sleeps when there is nothing to do. It knows
//! nothing of the ECS. It is an object that the host makes, with threads of its own or with none at all;
//! see [`Pool`] for what it promises.
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
//! The unsafe code of the pool rests on these; `SAFETY` comments cite them.
//!
//! * **J-1** A listed group is alive: its owner takes it off the list of open
//!   groups, under the list's lock, before it leaves the frame, when no thread is
//!   in the group and none would find anything to do.
//! * **J-2** A group is alive while it counts a thread, or the half of a join, for
//!   which a thread may come. A thread that is counted may use it, and uses it last
//!   in the decrement that ends its count.
//! * **J-3** A group's parent outlives it: the job of the parent that opened the
//!   group ends after the group does, and runs on the parent's owner or on a
//!   thread that is counted in the parent.
//! * **J-4** A job reference is used up once, by running it or by its owner
//!   taking it back, and the frame of its job is not left before that, nor
//!   before such a run has used the job for the last time.
//! * **J-5** The contexts that a thread's `NEWEST` leads to lie on that thread's
//!   stack, are alive, and are unlinked, newest first, before they go.
//! * **J-6** The cells of a join's second half belong to the thread that used up its
//!   job reference; a thief's return to the owner when the group is done.
//! * **J-7** As long as a stored job has a table, its room holds one value of the
//!   type that the table was made for, which is `Send` and outlives the stored job;
//!   a caller that takes the value out takes the table first.
//! * **J-8** The cell of a slot's job belongs to the one thread that has the
//!   slot's `Claimed`, of which there is one at most: made when a free slot is
//!   taken, given up when the job is published, and made again for the thread
//!   that wins the job by a compare-exchange, or counts down the last that it waits
//!   for. The slot is not free as long as there is one, and stays where it is.
//! * **J-9** A slot that is free is on one stack once. The stack of a place is
//!   touched only by the thread that has the place, and no two threads have one
//!   at the same time.

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

/// The names that the derive needs.
#[doc(hidden)]
pub mod __private {
    pub use formic_ecs::{CommandBuffer, World};
}

/// The names that most users need, those of [`formic_ecs::prelude`] included.
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
