//! Agent actions as entities.
//!
//! # Vocabulary
//!
//! * An **agent** is an entity that does things, here one with a [`SequenceAgent`].
//! * An **action** is an entity that stands for one thing its agent can do. It has an [`Action`]
//!   (whose it is, and how far it has come), one *filter component* that says what kind of action
//!   it is and holds its parameters, and any other components that it needs. An agent can have
//!   several actions of one kind.
//! * An action is **executing** while its enableable component [`Executing`] is on. The others
//!   sleep: their chunks are skipped, or their rows passed over, without a look at them.
//! * A **processor** carries out one kind of action: [`Processor::start`] once when the action
//!   begins, [`Processor::update`] every tick from then on, [`Processor::cleanup`] once at its end.
//!
//! # A tick
//!
//! 1. [`identify`]: for the agents that have moved on, switches the old action off and the new one
//!    on. Agents that have not moved on are not visited.
//! 2. The action systems, one per kind: each processes the executing actions of its kind.
//! 3. [`advance`]: for the agents whose action has ended, takes the result and moves on to the next
//!    action, or to the same one again. Agents whose action goes on are not visited.
//!
//! The pattern is Marnel Estrada's (*Agent actions as entities*, 2020). Different from the listing
//! there: an action is started once per activation and not once per tick; a result is consumed by
//! the one that acts on it, so that an agent whose action was not processed does not skip ahead;
//! which actions execute is an enableable component, and flipped only where something changed.
//!
//! ```
//! use ai::prelude::*;
//!
//! #[derive(Component, Clone)]
//! struct Count { left: u32 }
//! struct Counting;
//!
//! impl Processor for Counting {
//!     type Action = Count;
//!     fn start(&self, _agent: Entity, action: &mut Count) -> ActionResult {
//!         action.left = 3;
//!         ActionResult::Running
//!     }
//!     fn update(&self, _agent: Entity, action: &mut Count) -> ActionResult {
//!         action.left -= 1;
//!         if action.left == 0 { ActionResult::Success } else { ActionResult::Running }
//!     }
//! }
//! fn count(mut actions: Actions<Count>) {
//!     actions.process(&Counting);
//! }
//!
//! let mut world = World::new();
//! let agent = Sequence::new().then(Count { left: 0 }).then(Count { left: 0 }).spawn(&mut world, ())?;
//! let mut schedule =
//!     ai::action::sequence(Schedule::builder(), |schedule| schedule.add(count.in_sequence()))
//!         .build(&mut world)?;
//! let pool = Pool::new(Threads::None)?;
//! for _ in 0..3 {
//!     schedule.run(&mut world, &pool);
//! }
//! let second = world.get::<SequenceAgent>(agent)?.current();
//! assert_eq!(world.get::<Action>(second)?.index(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod components;
mod param;
mod processor;
mod sequence;
mod systems;

pub use self::components::{
    Action, ActionResult, Executing, OnFailure, Reported, SequenceAgent, Switching,
};
pub use self::param::Actions;
pub use self::processor::{Ended, Processor};
pub use self::sequence::{AttachError, EmptySequence, Sequence, despawn_agent};
pub use self::systems::{ActionSystem, advance, identify, sequence};
