//! Hierarchical task networks (HTN): the designer says how large tasks decompose into small ones, and the
//! agent finds a decomposition that works in the current state.
//!
//! # Vocabulary
//!
//! * A **fact** and an **operator** are those of [`goap`](crate::goap). An operator is a *primitive
//!   task*, which the action of the same name carries out.
//! * A **compound task** is a name. A **[`Method`]** is one way to decompose it: preconditions, and the
//!   tasks that it consists of, which are primitive or compound.
//! * A **[`Domain`]** consists of these and of the *root*, the task that agents pursue. It makes a
//!   [`Plan`]: the first by the order of the methods, or the [cheapest](Preference::Cheapest).
//! * A plan is **partial** if it ends at a [pause](Method::pause): the remaining tasks are planned when
//!   the agent has come that far.
//! * An agent **replans** when an action fails, when the next step cannot be taken, or when it is told to
//!   ([`Replan`](crate::goap::Replan)).
//!
//! ```
//! use formic_ai::goap::{Facts, Operator, Sensors};
//! use formic_ai::htn::{DomainBuilder, HtnAgent, HtnPlanners, Method};
//! use formic_ai::prelude::*;
//! # #[derive(Component, Clone)] struct Deed;
//! #[derive(Component)]
//! struct Purse(u32);
//!
//! let mut facts = Facts::new();
//! let cash = facts.number("cash", 10);
//! let domain = DomainBuilder::new(facts)
//!     .operator(Operator::new("ride").then(cash.subtract(2)))
//!     .operator(Operator::new("walk"))
//!     .method(Method::new("go home", "by taxi").when(cash.at_least(2)).task("ride"))
//!     .method(Method::new("go home", "on foot").task("walk"))
//!     .build("go home")?;
//! let actions = ActionSet::new().action("ride", Deed).action("walk", Deed);
//! let sensors = Sensors::<&Purse, _>::new(domain, &actions)?.fact(cash, |purse| purse.0);
//! let mut world = World::new();
//! let guest = actions.spawn(&mut world, Purse(5))?;
//! HtnAgent::drive(&mut world, guest)?;
//! let think = move |mut planners: HtnPlanners<&Purse>| planners.think(&sensors, 100);
//! let schedule = formic_ai::action::add(Schedule::builder());
//! let mut schedule = schedule.add(think.as_mind()).build(&mut world)?;
//! schedule.run(&mut world, &Pool::new(Threads::None)?);
//! assert!(world.get::<Body>(guest)?.is_running(0), "it takes a taxi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use it, and when not
//!
//! Use it if designers know how things are done and want to say so, but not in which order every case is
//! tried: squads, daily routines, crafting. Do not use it if the methods are not known beforehand
//! ([`goap`](crate::goap) finds plans without them), or if there is only one way (a sequence).

mod agent;
mod data;
mod domain;
mod record;
mod search;

pub use self::agent::{HtnAgent, HtnPlanners, HtnState, PlannedTask};
pub use self::data::DomainFile;
pub use self::domain::{Domain, DomainBuilder, Method, Preference};
pub use self::search::{Plan, Planning};
