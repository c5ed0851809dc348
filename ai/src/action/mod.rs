//! Agent actions as entities.
//!
//! # Vocabulary
//!
//! * An **agent** is an entity that does things. What it can do is its [`Body`]: a list of actions.
//! * An **action** is an entity that stands for one thing its agent can do. It has an [`Action`]
//!   (whose it is, and how far it has come), one *filter component* that says what kind of action
//!   it is and holds its parameters, and any other components that it needs. An agent can have
//!   several actions of one kind. It takes its actions along when it is despawned.
//! * An action is **executing** while its enableable component [`Executing`] is on. The others
//!   sleep: their chunks are skipped, or their rows passed over, without a look at them.
//! * A **processor** carries out one kind of action: [`Processor::start`] once when the action
//!   begins, [`Processor::update`] every tick from then on, [`Processor::cleanup`] once at its end,
//!   with how it ended. Closures do as well ([`Actions::update`], [`Actions::carry_out`]), also where they
//!   spawn something or send events ([`Actions::with`]); [`Actions::process_serial`] calls on one
//!   thread, and a [`WideProcessor`] looks at other components of the action.
//! * A **mind** decides. All it does is to call [`Body::begin`] and [`Body::halt`], and to ask
//!   [`Body::ended`]; so any mind can drive any body, and be replaced by another one. The mind of
//!   this module is the [`Sequence`].
//! * A **composite** is an action that consists of others: in sequence, in a race, or joined.
//!
//! # A tick
//!
//! 1. Minds run, those that are due.
//! 2. [`identify`]: for the agents whose minds want a change, tells the action entities to stop or
//!    to begin, and switches them on. Agents that do not switch are not visited.
//! 3. The action systems, one per kind: each processes the executing actions of its kind, those that
//!    are to stop included. An action that ends goes to sleep and reports to the body it is in.
//!    Actions come in the order of their systems. Of one kind, those that are interrupted are tidied
//!    up before any other goes on; of different kinds, one may begin before another one of the same
//!    agent is tidied up. Both happen in this tick.
//! 4. [`advance`]: for the agents that carry out a sequence and whose action has ended, takes the
//!    result and moves on. Agents whose action goes on are not visited.
//!
//! [`add`] adds all of this to a schedule, in its order.
//!
//! # When an action goes
//!
//! An agent has one mind. One that is given another loses the first ([`link_mind`]); one that loses
//! its mind (the component) halts what it was doing, and waits for the next one.
//! Despawning an agent despawns its actions: those that were never begun at once, one that is
//! underway after its processor has cleaned up ([`Ended::Interrupted`]). Despawning an action that
//! its mind waits for counts as its failure; its processor is not called any more, since the
//! components that it would be called with are gone. Halt it first, or despawn the agent.
//!
//! # When to use it, and when not
//!
//! Use it if many agents share many kinds of actions, where designers put actions together, or where
//! what decides is to be exchanged. For a handful of agents with two things to do, a system with an
//! `if` is shorter: `docs/examples/if_else.md` has the same cats written by hand.
//!
//! The pattern is Marnel Estrada's (*Agent actions as entities*, 2020). Different from the listing
//! there: an action is started once per activation and not once per tick; a result is consumed by
//! the one that acts on it, so that an agent whose action was not processed does not skip ahead;
//! which actions execute is an enableable component, and flipped only where something changed;
//! what decides is not part of it.
//!
//! ```
//! use formic_ai::prelude::*;
//!
//! #[derive(Component, Clone)]
//! struct Count(u32);
//! fn count(mut actions: Actions<Count>) {
//!     actions.update(|_agent, left| {
//!         left.0 -= 1;
//!         if left.0 == 0 { ActionResult::Success } else { ActionResult::Running }
//!     });
//! }
//!
//! let mut world = World::new();
//! let agent = Sequence::new().then(Count(3)).then(Count(2)).spawn(&mut world, ())?;
//! let schedule = formic_ai::action::add(Schedule::builder());
//! let mut schedule = schedule.add(count.as_action()).build(&mut world)?;
//! let pool = Pool::new(Threads::None)?;
//! (0..3).for_each(|_| _ = schedule.run(&mut world, &pool));
//! assert_eq!(world.get::<SequenceAgent>(agent)?.current(), 1, "the second action is next");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod action_set;
mod body;
mod carry;
mod components;
mod composite;
mod data;
mod lifetimes;
mod mind;
mod names;
mod order;
mod param;
mod processor;
mod report;
mod sequence;
mod systems;

pub use self::access::AgentAccess;
pub use self::action_set::{ActionSet, ActionSetError};
pub use self::body::{Body, OwnedAction, Reported, Switching};
pub use self::components::{Action, ActionResult, Executing, Finished};
pub use self::composite::{Composite, Concluded, carry_composites, conclude};
pub use self::data::{Kinds, LoadError, MindError, MindText, load_file};
pub(crate) use self::data::{error_at_line, hint, read_file};
pub(crate) use self::lifetimes::kinds_without_system;
pub use self::mind::{MindSystem, link_mind};
pub(crate) use self::mind::{driven_by, give_mind, has_system};
pub use self::names::{ActionNames, NamingRecorder};
pub use self::order::{AgentSystem, add};
#[doc(hidden)]
pub use self::param::ActionsState;
pub use self::param::{Actions, ActionsWith};
pub use self::processor::{ActionChunk, Agent, Extras, Processor, WideProcessor};
#[doc(hidden)]
pub use self::report::Report;
pub use self::sequence::{OnFailure, Resting, Sequence, SequenceAgent, advance, rest};
pub use self::systems::{bury, identify, identify_parts};
pub use crate::explain::Ended;
