//! Systems, and the schedule that runs them.
//!
//! A *system* is a function whose parameters declare what it accesses: [`Query`], [`Res`], [`ResMut`],
//! [`Commands`], [`ComponentLookup`], [`ExclusiveLookup`], [`EnabledLookup`], [`Local`]. A *schedule* is
//! compiled once from systems into a static graph. Its edges are the declared order, and the order of
//! adding between two systems whose accesses conflict. All other systems run in parallel. Since no order
//! is left to chance, the result does not depend on the number of threads. (A value with interior
//! mutability, such as an atomic in a resource, may be changed by all that read it: what it is then is up to
//! them.)
//!
//! Commands are played back at *sync points*: at the end of a run, before a system that was declared to
//! run after one that records commands, and before an [exclusive system](ExclusiveFunction).
//!
//! ```
//! use formic_ecs::prelude::*;
//! use formic_jobs::{Commands, IntoSystem, Pool, Query, Res, Schedule, Threads};
//!
//! #[derive(Component)]
//! struct Position(f32);
//! #[derive(Component)]
//! struct Velocity(f32);
//! struct Time { delta: f32 }
//!
//! fn movement(mut movers: Query<(&mut Position, &Velocity)>, time: Res<Time>) {
//!     movers.par_for_each(|(position, velocity)| position.0 += velocity.0 * time.delta);
//! }
//! fn leave(mut all: Query<(Entity, &Position)>, mut commands: Commands) {
//!     for (entity, position) in &mut all {
//!         if position.0 > 100.0 {
//!             commands.despawn(entity);
//!         }
//!     }
//! }
//!
//! let mut world = World::new();
//! world.insert_resource(Time { delta: 0.5 });
//! world.spawn_batch((0..1000).map(|i| (Position(0.0), Velocity(i as f32))));
//!
//! let pool = Pool::new(Threads::Own(2))?;
//! let mut schedule = Schedule::builder().add(movement).add(leave.after(movement)).build(&mut world)?;
//! schedule.run(&mut world, &pool);
//! assert_eq!(world.len(), 201);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod batch_buffers;
mod builder;
mod claims;
mod commands;
mod condition;
mod config;
mod divergence;
mod draft;
mod error;
mod events;
mod exclusive;
mod explain;
mod fixed_step;
mod function;
mod gather;
mod graph;
mod group;
mod name;
mod node;
mod oneshot;
mod param;
mod query;
mod rate;
mod run;
mod save;
mod saved_game;
mod scatter;
mod sink;
#[cfg(feature = "timeline")]
mod span;
mod stages;
mod step;
mod system;
mod timeline;
#[cfg(feature = "timeline")]
mod trace;
mod turn;

pub use formic_ecs::{Res, ResMut};

pub use self::access::SystemAccess;
pub use self::batch_buffers::BatchBuffer;
pub use self::builder::ScheduleBuilder;
pub use self::claims::ExclusiveLookup;
pub use self::commands::Commands;
pub use self::condition::{
    Condition, IntoCondition, any_entity, resource_changed, resource_exists,
};
pub use self::config::{IntoSystem, SystemConfig};
pub use self::divergence::{Divergence, Rerun, SteppedGame};
pub use self::error::{Ambiguity, ParamError, ScheduleError};
pub use self::events::{EventCursor, EventReader, EventWriter, Events, on_event};
pub use self::exclusive::{ExclusiveFunction, ExclusiveParam, ExclusiveSystem};
pub use self::explain::{Explanation, Explanations, Reason, SyncPoint, SyncReason};
pub use self::fixed_step::FixedStep;
pub use self::function::{FunctionSystem, SystemFunction};
pub use self::gather::{Gather, GatherSlot};
pub use self::group::Group;
pub use self::oneshot::RunSystem;
pub use self::param::{ComponentLookup, EnabledLookup, Local, RunContext, RunData, SystemParam};
pub use self::query::Query;
pub use self::run::{RunReport, Schedule, SystemPanic};
pub use self::save::{
    LoadError, LoadReport, MalformedSave, SaveError, SaveRules, StateArchive, Unsaved,
};
pub use self::saved_game::Save;
pub use self::scatter::{Scatter, ScatterSlot};
pub use self::sink::{ParallelSink, ParallelSinks};
#[cfg(feature = "timeline")]
pub use self::span::{Delay, Span};
pub use self::step::{Step, StepReport};
pub use self::system::System;

// The types that public items name and programs need not.
#[doc(hidden)]
pub use self::{
    batch_buffers::BatchBuffers,
    claims::ExclusiveState,
    commands::CommandsState,
    condition::IsCondition,
    config::{IsConfig, IsFunction},
    function::{AnyFunction, FunctionWith, SystemSignature},
    gather::GatherState,
    query::QueryState,
    scatter::ScatterState,
};
