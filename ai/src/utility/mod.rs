//! Utility AI: scores every option and runs the one with the highest score.
//!
//! # Vocabulary
//!
//! * An **option** is one thing that the agent can do: one action of its body, by name.
//! * An **input** is a number from 0 to 1 that describes the situation of the agent: how hungry it is,
//!   how near the enemy. A system computes the inputs of each agent from its components.
//! * A **response [`Curve`]** maps an input to a score from 0 to 1. An input and its curve are a
//!   **consideration**. The considerations of an option make up its [`Utility`]: their product, weighted
//!   mean, minimum or maximum.
//! * A **[`Reasoner`]** holds the options and how to [`Select`] among them. It is shared by all agents of
//!   a kind, and deciding does not change it.
//! * **Rank**: an option that scores above 0 beats all options of a lower rank. **Inertia** and
//!   **momentum** favour the option that runs. **Until** carries it through. A **cooldown** makes it
//!   unavailable for a while after it was left.
//!
//! NaN as an input scores 0, whatever the curve. An option that scores 0 is never chosen; if all options
//! score 0, the agent does nothing. Ties go to the option that runs, then to the first.
//!
//! ```
//! use formic_ai::prelude::*;
//! use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};
//! # #[derive(Component, Clone)] struct Eat;
//! # #[derive(Component, Clone)] struct Play;
//! #[derive(Component)]
//! struct Hunger(f32);
//!
//! let actions = ActionSet::new().action("eat", Eat).action("play", Play);
//! let [hunger] = Input::named(["hunger"]);
//! let cats = Reasoner::new()
//!     .option("eat", Utility::of(hunger, Curve::exponential(2.0)))
//!     .option("play", Utility::of(hunger, Curve::linear(-1.0, 1.0)))
//!     .bind(&actions)?;
//! let mut world = World::new();
//! let cat = actions.spawn(&mut world, Hunger(80.0))?;
//! UtilityAgent::drive(&mut world, cat, &cats, 1)?;
//! let think = move |mut minds: UtilityAgents<&Hunger>| minds.decide(&cats, |it| [it.0 / 100.0]);
//! let schedule = formic_ai::action::add(Schedule::builder());
//! let mut schedule = schedule.add(think.as_mind()).build(&mut world)?;
//! schedule.run(&mut world, &Pool::new(Threads::None)?);
//! assert!(world.get::<Body>(cat)?.is_running(0), "it eats: 0.64 is more than 0.2");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An option can have several considerations, and can be scored without an agent:
//!
//! ```
//! use formic_ai::prelude::*;
//! use formic_ai::utility::{Curve, Input, Reasoner, Utility};
//! # #[derive(Component, Clone)] struct Eat;
//! # #[derive(Component, Clone)] struct Sleep;
//! # #[derive(Component, Clone)] struct Play;
//! let hungry = Curve::exponential(2.0);
//! let tired = Curve::fast_then_slow(4.0);
//! let actions = ActionSet::new().action("eat", Eat).action("sleep", Sleep).action("play", Play);
//! let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
//! let play = Utility::sum().weighted(0.4, hunger, hungry.clone().inverted());
//! let cats = Reasoner::new()
//!     .option("eat", Utility::of(hunger, hungry).until(hunger, 0.0))
//!     .option("play", play.weighted(0.6, tiredness, tired.clone().inverted()))
//!     .option("sleep", Utility::of(tiredness, tired).until(tiredness, 0.0))
//!     .bind(&actions)?;
//! // Fresh from sleep and fed: it plays. Half tired: sleep is worth more by far.
//! assert_eq!(cats.scores(&[0.0, 0.0]), [0.0, 1.0, 0.0]);
//! let [eat, play, sleep] = cats.scores(&[0.5, 0.5])[..] else { unreachable!() };
//! assert!(sleep > play && play > eat);
//! # Ok::<(), formic_ai::action::MindError>(())
//! ```
//!
//! `examples/house_cats.rs` is the complete example.
//!
//! # When to use it, and when not
//!
//! Use utility if many needs compete and the agent should act sensibly in situations that no designer
//! anticipated. If the order of things matters (first open, then enter), let the options be composites or
//! trees, or plan. If there must never be a surprise, write a state machine. The price of utility is
//! tuning: look at the scores ([`Reasoner::scores`]), not at the behaviour.

mod agent;
mod agents;
mod considerations;
mod curve;
mod data;
mod reasoner;
mod record;

pub use self::agent::{Cooldown, UtilityAgent};
pub use self::agents::UtilityAgents;
pub use self::considerations::{Combine, Input, Utility};
pub use self::curve::Curve;
pub use self::data::ReasonerFile;
pub use self::reasoner::{Reasoner, Select};
