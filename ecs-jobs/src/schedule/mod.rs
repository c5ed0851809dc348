//! Systems and the order they run in.
//!
//! A *system* is a function whose arguments say what it touches: [`Query`], [`Res`], [`ResMut`],
//! [`Commands`], [`Lookup`], [`Claims`], [`Toggles`], [`Local`]. A *schedule* is compiled once from
//! systems into a static graph: declared order, and between two systems that touch the same data
//! the order in which they were added. What is left runs at the same time. Because no order is left
//! to chance, the result does not depend on the number of threads.
//!
//! What the commands of all systems change is changed at the *sync point*, after the last system.
//!
//! ```
//! use ecs_core::prelude::*;
//! use ecs_jobs::{Commands, IntoSystem, Pool, Query, Res, Schedule, Threads};
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
mod builder;
mod commands;
mod error;
mod function;
mod graph;
mod param;
mod query;
mod run;
mod system;

pub use ecs_core::{Res, ResMut};

pub use self::access::SystemAccess;
pub use self::builder::{IntoSystem, ScheduleBuilder, SystemConfig};
#[doc(hidden)]
pub use self::builder::{IsConfig, IsFunction};
pub use self::commands::Commands;
#[doc(hidden)]
pub use self::commands::CommandsState;
pub use self::error::{Ambiguity, ScheduleError};
pub use self::function::{FunctionSystem, SystemFunction};
pub use self::param::{Claims, Local, Lookup, RunContext, SystemParam, Toggles};
pub use self::query::Query;
#[doc(hidden)]
pub use self::query::QueryState;
pub use self::run::{RunReport, Schedule};
pub use self::system::System;
