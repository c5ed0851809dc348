//! Goal-oriented action planning (GOAP): the agent finds out itself, step by step, what to do.
//!
//! # Vocabulary
//!
//! * A **[`Fact`]** is a small number that matters for plans: how much wood there is, whether the axe is
//!   at hand.
//! * An **[`Operator`]** describes an action to the planner: preconditions, effects on facts, and a cost.
//!   The action of the same name carries it out.
//! * A **[`Goal`]** says which values facts should have. Goals have priorities; if one cannot be reached,
//!   the next one is tried.
//! * A **[`Planner`]** finds the cheapest sequence of operators from the current state to a goal, a
//!   [`Plan`]. No other sequence is cheaper; if it finds none, there is none.
//! * **[`Sensors`]** compute the facts of an agent when they are needed.
//! * An agent **replans** when an action fails, when the next step cannot be taken, or when it is told to
//!   ([`Replan`]).
//!
//! The budget of a search is given in states, not in seconds: a plan is the same however many ticks its
//! search is spread over.
//!
//! # How it finds plans
//!
//! The search is A* over packed states, which are one 64-bit word as long as the facts fit. For each
//! goal, the planner precomputes which facts and operators are relevant, and a table of lower bounds: the
//! least cost to the goal from each combination of values of the facts nearest to it. If all relevant
//! facts fit into that table, the search goes straight to the goal.
//!
//! ```
//! use formic_ai::goap::{Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Sensors};
//! use formic_ai::prelude::*;
//! # #[derive(Component, Clone)] struct Deed;
//! #[derive(Component)]
//! struct Inventory { axe: bool, wood: u32 }
//!
//! let mut facts = Facts::new();
//! let (axe, wood) = (facts.flag("axe"), facts.number("wood", 10));
//! let planner = PlannerBuilder::new(facts)
//!     .operator(Operator::new("fetch_axe").then(axe.becomes(true)))
//!     .operator(Operator::new("chop").when(axe.is(true)).then(wood.add(1)))
//!     .goal(Goal::new("stocked").when(wood.at_least(3))).build()?;
//! let actions = ActionSet::new().action("fetch_axe", Deed).action("chop", Deed);
//! let sensors = Sensors::<&Inventory>::new(planner, &actions)?.fact(wood, |it| it.wood);
//! let sensors = sensors.fact(axe, |it| u32::from(it.axe));
//! let mut world = World::new();
//! let agent = actions.spawn(&mut world, Inventory { axe: false, wood: 0 })?;
//! GoapAgent::drive(&mut world, agent)?;
//! let think = move |mut planners: Planners<&Inventory>| planners.think(&sensors, 500);
//! let schedule = formic_ai::action::add(Schedule::builder());
//! let mut schedule = schedule.add(think.as_mind()).build(&mut world)?;
//! schedule.run(&mut world, &Pool::new(Threads::None)?);
//! assert!(world.get::<Body>(agent)?.is_running(0), "it fetches the axe");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A planner also works without an agent:
//!
//! ```
//! use formic_ai::goap::{Facts, Goal, Operator, PlannerBuilder};
//! let mut facts = Facts::new();
//! let armed = facts.flag("armed");
//! let near = facts.flag("near");
//! let ammunition = facts.number("ammunition", 12);
//! let safe = facts.flag("safe");
//! let planner = PlannerBuilder::new(facts)
//!     .operator(Operator::new("draw").then(armed.becomes(true)))
//!     .operator(Operator::new("reload").when(armed.is(true)).then(ammunition.set(6)).cost(3))
//!     .operator(Operator::new("approach").then(near.becomes(true)).cost(4))
//!     .operator(
//!         Operator::new("shoot")
//!             .when(armed.is(true))
//!             .when(near.is(true))
//!             .then(ammunition.subtract(2))
//!             .then(safe.becomes(true)),
//!     )
//!     .goal(Goal::new("stay alive").when(safe.is(true)).priority(1))
//!     .build()?;
//! let plan = planner.plan(0, &[0, 0, 0, 0])?;
//! assert_eq!(plan.names(&planner).collect::<Vec<_>>(), ["approach", "draw", "reload", "shoot"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use it, and when not
//!
//! Use it if things can be done in many ways, and designers would rather describe what each step needs
//! and does than write the ways down. Do not use it if the next step is plain (a sequence is enough), if
//! it is a matter of degree (utility), or if the designer wants the last word on what happens (a tree, a
//! state machine). Look at the plans: the planner finds the cheapest way even if no designer had it in
//! mind.

mod agent;
mod data;
mod facts;
mod operator;
mod planner;
mod problem;
mod record;
mod search;
mod search_input;
mod sensors;
mod state;

pub(crate) use self::agent::{Called, Counts, Follower, StepEnd, exchange_steps};
pub use self::agent::{GoapAgent, PlannedStep, PlannerState, Planners, Replan};
pub use self::data::PlannerFile;
pub(crate) use self::data::{ConditionEntry, FileFacts, OperatorEntry};
pub(crate) use self::facts::hold;
pub use self::facts::{Condition, Effect, Fact, Facts};
pub use self::operator::{Goal, Operator, OperatorSet};
pub(crate) use self::planner::defined_twice;
pub use self::planner::{NoPlan, Plan, Planner, PlannerBuilder, Planning};
pub(crate) use self::record::{OTHER_PLANNER, PlanWatch, plan_record, verdict_of};
pub(crate) use self::search_input::SearchInput;
pub use self::sensors::Sensors;
