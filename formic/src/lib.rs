//! Game AI for crowds that can explain itself.
//!
//! One crate to depend on: an archetype ECS ([`ecs`]), a scheduler ([`jobs`]), the common decision
//! engines of game AI ([`ai`]) and grid navigation ([`nav`]). Each is a crate that can be used alone. The
//! same seed gives the same world on any number of threads, and every watched agent can say why it did
//! what it did.
//!
//! ```
//! use formic::prelude::*;
//!
//! #[derive(Component)]
//! struct Position(f32);
//! #[derive(Component)]
//! struct Velocity(f32);
//!
//! fn walk(mut walkers: Query<(&mut Position, &Velocity)>) {
//!     walkers.par_for_each(|(position, velocity)| position.0 += velocity.0);
//! }
//!
//! let mut world = World::new();
//! let ant = world.spawn((Position(1.0), Velocity(2.0)));
//! let mut schedule = Schedule::builder().add(walk).build(&mut world)?;
//! schedule.run(&mut world, &Pool::new(Threads::all_cores())?);
//! assert_eq!(world.get::<Position>(ant)?.0, 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `jobs` (default) | a thread pool, systems and their schedule |
//! | `ai` (default) | minds, and actions that are entities |
//! | `nav` (default) | grids, regions, paths; [`glam`] for points |
//! | `serde` | components that are saved by serde |
//! | `inspect` | a page for any running world; [`glam`] for points |
//! | `btcpp` | behaviour trees from the XML of BehaviorTree.CPP, and to it |
//!
//! # Which `Query`
//!
//! [`prelude::Query`] is the argument of a system. [`World::query`](ecs::World::query) returns
//! [`ecs::Query`], which rarely has to be named. Without the feature `jobs` there are no systems, and the
//! prelude exports [`ecs::Query`].

#![forbid(unsafe_code)]

pub use formic_ecs as ecs;

#[cfg(feature = "ai")]
pub use formic_ai as ai;
#[cfg(feature = "jobs")]
pub use formic_jobs as jobs;
#[cfg(feature = "nav")]
pub use formic_nav as nav;
#[cfg(any(feature = "nav", feature = "inspect"))]
pub use glam;

#[cfg(feature = "inspect")]
pub mod inspect;
#[cfg(all(feature = "ai", feature = "nav"))]
mod paths;

#[cfg(all(feature = "ai", feature = "nav"))]
pub use self::paths::{note_paths, why};
#[cfg(all(feature = "ai", not(feature = "nav")))]
pub use formic_ai::why;

/// The names that most programs need, in one `use`.
///
/// Names defined in your own file take precedence over these: a `Position` of your own hides the one of
/// [`nav`].
pub mod prelude {
    pub use formic_ecs::prelude::*;
    pub use formic_ecs::{
        Bundle, ChildOf, Codec, ComponentError, NoSuchEntity, Prefab, QueryData, QueryFilter,
        Relation, Snapshot, View,
    };

    #[cfg(feature = "ai")]
    pub use formic_ai::prelude::*;
    #[cfg(feature = "ai")]
    pub use formic_ai::{
        bt::{Library, Tree, TreeAgent, Trees},
        explain::DecisionLog,
        fsm::{FsmAgent, Machine, Machines, State, Transition},
        goap::{Facts, Goal, GoapAgent, Operator, Planner, Planners},
        utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents},
    };
    #[cfg(not(feature = "jobs"))]
    pub use formic_ecs::{Query, Res, ResMut};
    #[cfg(all(feature = "jobs", not(feature = "ai")))]
    pub use formic_jobs::prelude::*;
    #[cfg(feature = "jobs")]
    pub use formic_jobs::{Save, SaveRules};
    #[cfg(feature = "nav")]
    pub use formic_nav::prelude::*;
    #[cfg(any(feature = "nav", feature = "inspect"))]
    pub use glam::Vec2;
}

/// The README and the guide pages that use the facade, compiled and run as doc tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/guide/src/why.md")]
    mod why {}
    #[doc = include_str!("../../docs/guide/src/coming_from.md")]
    mod coming_from {}
    #[doc = include_str!("../../docs/guide/src/loop.md")]
    mod own_loop {}
    #[cfg(feature = "inspect")]
    #[doc = include_str!("../../docs/guide/src/inspect.md")]
    mod inspect {}
}
