//! Game AI over action entities.
//!
//! Each ability of an agent is an entity of its own, an *action*. One system per kind of action runs all
//! actions of that kind, for all agents, chunk by chunk. A *mind*, the part that decides, only sets which
//! of an agent's actions are executing. One mind can therefore replace another over the same actions.
//!
//! * [`action`]: action entities, the processors that carry them out, and sequences of them.
//! * [`activity`]: activities, which sleep until an event wakes them.
//! * [`bt`]: behaviour trees, shared between agents, stored flat and ticked every update.
//! * [`explain`]: decision records: why an agent does what it does, for every kind of mind.
//! * [`fsm`]: finite state machines, flat and hierarchical.
//! * [`goap`]: goal-oriented action planning: the cheapest plan that reaches a goal.
//! * [`htn`]: hierarchical task networks: plans from methods that a designer has written.
//! * [`reload`]: minds loaded from files, and reloaded while the game runs.
//! * [`turn`]: turns with actions and rules, for games in which little happens by itself.
//! * [`utility`]: utility AI: scores every option and runs the one with the highest score.

#![forbid(unsafe_code)]

#[macro_use(copied, debug_as_text, debug_fields)]
extern crate formic_ecs;

pub mod action;
pub mod activity;
mod bits;
pub mod bt;
pub mod explain;
pub mod fsm;
pub mod goap;
mod heads;
pub mod htn;
mod key_map;
mod library;
pub mod reload;
pub mod turn;
pub mod utility;
mod why;

pub use self::why::why;

/// The names that most users need, including those of [`formic_jobs::prelude`].
pub mod prelude {
    pub use formic_jobs::prelude::*;

    pub use crate::action::{
        Action, ActionResult, ActionSet, Actions, Agent, AgentAccess, AgentSystem, Body, Composite,
        Ended, Executing, Kinds, OnFailure, OwnedAction, Processor, Sequence, SequenceAgent,
    };
}
