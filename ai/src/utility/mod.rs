//! Utility: every option gets a score, and the agent does what scores most.
//!
//! # Vocabulary
//!
//! * An **option** is something that the agent could do: one action of its body, by name.
//! * An **input** is a number from 0 to 1 that says how things stand for the agent: how hungry it
//!   is, how near the enemy. A system fills in the inputs of each agent from its components.
//! * A **response [`Curve`]** turns an input into a score from 0 to 1; an input and its curve are a
//!   **consideration**. The considerations of an option make its [`Utility`]: their product, their
//!   mean by weight, their minimum or maximum.
//! * A **[`Reasoner`]** holds the options and says how to [`Select`] among them. It is shared by all
//!   agents of a kind and is not changed by deciding.
//! * **Rank**: an option of a higher rank that scores above 0 beats all lower ones. **Inertia** and
//!   **momentum** favour the option that runs, **until** carries it through, a **cooldown** keeps
//!   it away for a while after it was left.
//!
//! An input that is not a number scores 0, whatever its curve, and an option that scores 0 is never chosen; where all do, the
//! agent does nothing. Ties go to the option that runs, then to the first.
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
//! Options may be made of several considerations, and scored without an agent:
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
//! `examples/house_cats.rs` has the whole of it.
//!
//! # When to use it, and when not
//!
//! Use it if many needs compete and the agent should do something sensible in situations that no designer
//! wrote down. Where the order of things matters (first open, then enter), let the options be
//! composites or trees, or plan; where there must never be a surprise, write a state machine. The
//! price is tuning: look at the scores, not at the behaviour ([`Reasoner::scores`]).

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
