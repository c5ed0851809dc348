//! Actions of agents, as entities.
//!
//! # Vocabulary
//!
//! * An **agent** is an entity that acts. Its [`Body`] is the list of the actions it can do.
//! * An **action** is an entity that stands for one thing its agent can do. It has an [`Action`] (its
//!   agent, and its progress), one *filter component* that determines its kind and holds its parameters,
//!   and any other components it needs. An agent can have several actions of one kind. They are despawned
//!   with the agent.
//! * An action is **executing** while its enableable component [`Executing`] is enabled. Other actions
//!   cost nothing: queries skip their chunks or rows.
//! * A **processor** runs the actions of one kind: [`Processor::start`] once when the action begins,
//!   [`Processor::update`] every tick from then on, and [`Processor::cleanup`] once at its end, with how
//!   it ended. Closures can replace it ([`Actions::update`], [`Actions::carry_out`]), even if they spawn
//!   entities or send events ([`Actions::with`]). [`Actions::process_serial`] runs on one thread. A
//!   [`WideProcessor`] accesses other components of the action.
//! * A **mind** decides. It calls [`Body::begin`] and [`Body::halt`], and reads [`Body::ended`], and
//!   nothing else; so any mind can drive any body, and be replaced by another. The mind of this module is
//!   the [`Sequence`].
//! * A **composite** is an action that consists of others: a sequence, a race, or a join.
//!
//! # A tick
//!
//! 1. Minds decide, as often as their systems run.
//! 2. [`identify`] tells the action entities which of them stop and which begin, and enables the latter.
//!    It only visits agents whose minds have changed something.
//! 3. The action systems, one per kind, process the executing actions of their kind, including those that
//!    must stop. An action that ends stops executing and reports to its body. Kinds run in the order of
//!    their systems. Within a kind, interrupted actions are cleaned up before any other action runs;
//!    across kinds, an action may begin before another action of the same agent is cleaned up. Both
//!    happen in this tick.
//! 4. [`advance`] moves sequences on: it takes the result of the action that has ended and begins the
//!    next one. It only visits agents with ended actions.
//!
//! [`add`] adds these systems to a schedule, in order.
//!
//! # Removing minds, agents and actions
//!
//! An agent has one mind. If it gets another, it loses the first ([`link_mind`]). If it loses its mind
//! component, what it was doing is halted, until it gets another mind. Despawning an agent despawns its
//! actions: those that are not underway at once, one that is underway after its processor has cleaned up
//! ([`Ended::Interrupted`]). Despawning an action that a mind waits for counts as its failure. Its
//! processor is not called any more, since the components of the action are gone: halt the action first,
//! or despawn the agent.
//!
//! # When to use it, and when not
//!
//! Use it if many agents share many kinds of actions, if designers combine actions, or if minds should be
//! exchangeable. For a handful of agents with two things to do, a system with an `if` is shorter:
//! `docs/examples/if_else.md` has the same cats written by hand.
//!
//! The pattern is Marnel Estrada's (*Agent actions as entities*, 2020). The differences from the listing
//! there: an action starts once per activation, not once per tick; a result is consumed when it is acted
//! on, so that an agent whose action was not processed does not skip ahead; an enableable component marks
//! the executing actions, and changes only if something changed; and the mind is separate.
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
