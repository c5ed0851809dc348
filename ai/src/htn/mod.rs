//! Planning by methods (hierarchical task networks): the designer says how big tasks are made of small
//! ones, and the agent works out which ways can be taken as things are.
//!
//! # Vocabulary
//!
//! * A **fact** and an **operator** are those of [`goap`](crate::goap). An operator is a *primitive
//!   task*, which the action of the same name carries out.
//! * A **compound task** is a name. A **[`Method`]** is one way to do it: conditions, and the tasks
//!   that it consists of, which are primitive or compound.
//! * A **[`Domain`]** is all of these and the *root*, the task that agents pursue. It makes a [`Plan`]:
//!   the first by the order of the methods, or the [cheapest](Preference::Cheapest).
//! * A plan is **partial** where it ends at a [pause](Method::pause): what is left is planned when the
//!   agent has come that far.
//! * An agent **replans** when an action fails, when the next step cannot be taken, or when it is told
//!   to ([`Replan`](crate::goap::Replan)).
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
//! to be tried: squads, daily routines, crafting. Not where the methods are not known beforehand
//! ([`goap`](crate::goap) finds them), or where there is one way only (a sequence).

mod agent;
mod data;
mod domain;
mod record;
mod search;

pub use self::agent::{HtnAgent, HtnPlanners, HtnState, PlannedTask};
pub use self::data::DomainFile;
pub use self::domain::{Domain, DomainBuilder, Method, Preference};
pub use self::search::{Plan, Planning};
