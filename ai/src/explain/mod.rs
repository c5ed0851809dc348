//! Decision records: why an agent does what it does, in one form for every kind of mind.
//!
//! # Vocabulary
//!
//! * A **[`Decision`]** is the record of one decision: the tick, the agent, and the kind of mind
//!   ([`Engine`]); the **candidates** and the verdict on each ([`Verdict`]); the **factors** of their
//!   scores, from input through curve to score; what **[`Stopped`]**, and why; the plan, and the effort
//!   of the search; the events that wake a sleeping agent, and since when it sleeps; the rules that were
//!   asked, and which one refused.
//! * The **[`DecisionLog`]** is a resource. It says which agents are **watched**, and holds a ring of the
//!   last decisions of each.
//! * A **[`DecisionRecorder`]** is the log as a system parameter, for minds of your own.
//!
//! A decision is recorded when something changes: another option is chosen, a state is entered, a plan is
//! made, something has ended. While an agent continues as before, nothing is recorded; it follows its
//! last record ([`DecisionLog::at`]).
//!
//! # What watching costs
//!
//! Without a log, and while no agent is watched, minds check once per run whether there is one. The log
//! is outside of the entities, and records are made from what the mind computes anyway. An agent
//! therefore behaves the same whether it is watched or not, and the state of the world has the same hash.
//!
//! ```
//! use formic_ai::explain::DecisionLog;
//! use formic_ai::prelude::*;
//! use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};
//! # #[derive(Component, Clone)] struct Eat;
//! # #[derive(Component, Clone)] struct Sleep;
//! #[derive(Component)]
//! struct Needs { food: f32, rest: f32 }
//!
//! let actions = ActionSet::new().action("eat", Eat).action("sleep", Sleep);
//! let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
//! let cats = Reasoner::new()
//!     .option("eat", Utility::of(hunger, Curve::exponential(2.0)))
//!     .option("sleep", Utility::of(tiredness, Curve::linear(1.0, 0.0)))
//!     .bind(&actions)?;
//! let mut world = World::new();
//! let cat = actions.spawn(&mut world, Needs { food: 0.9, rest: 0.44 })?;
//! UtilityAgent::drive(&mut world, cat, &cats, 1)?;
//! world.insert_resource(DecisionLog::watching(cat, "Cat", 16));
//! let think = move |mut minds: UtilityAgents<&Needs>| minds.decide(&cats, |it| [it.food, it.rest]);
//! let schedule = formic_ai::action::add(Schedule::builder());
//! schedule.add(think.as_mind()).build(&mut world)?.run(&mut world, &Pool::new(Threads::None)?);
//! let why = world.resource::<DecisionLog>()?.sentences(cat).join(" ");
//! assert!(why.ends_with("chose eat 0.81 over sleep 0.44: hunger 0.90 -> exponential 2 -> 0.81."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use it, and when not
//!
//! Use it to find out why one agent, or ten thousand, did what they did: in a debugger of your own, in a
//! test, or in the game. Do not base behaviour on it: that would depend on which agents are watched. For
//! counts over all agents, query their components.

mod decision;
mod log;
mod recorder;
mod ring;
mod sentence;

pub use self::decision::{
    Candidate, Decision, Ended, Engine, Factor, Label, PlanRecord, RuleRecord, RuleVerdict,
    Stopped, Subscribed, Verdict,
};
pub use self::log::DecisionLog;
pub use self::recorder::DecisionRecorder;
pub(crate) use self::recorder::Watch;
pub(crate) use self::ring::Recall;
pub(crate) use self::sentence::{own, short};
