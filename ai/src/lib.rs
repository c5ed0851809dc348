//! Game AI over action entities.
//!
//! The abilities of an agent are not code inside the agent: each of its actions is an entity of its own,
//! and one system per kind of action does all actions of that kind, for all agents, chunk by chunk.
//! Whatever decides only says which of an agent's actions are executing, so that one mind can be
//! exchanged for another over the same actions.
//!
//! * [`action`]: action entities, the processors that carry them out, and sequences of them.
//! * [`activity`]: activities, which sleep until the world calls them.
//! * [`bt`]: behaviour trees, shared and flat, looked through every tick.
//! * [`explain`]: why an agent does what it does, whichever of these has decided.
//! * [`fsm`]: state machines, flat and hierarchical.
//! * [`goap`]: plans, the cheapest that lead to a goal.
//! * [`htn`]: plans by methods that the designer has named.
//! * [`reload`]: minds that are read from files, again while the game runs.
//! * [`turn`]: turns with actions and rules, for games in which little happens by itself.
//! * [`utility`]: every option gets a score, and the agent does what scores most.

#![forbid(unsafe_code)]

#[macro_use(debug_as_text, debug_fields)]
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

/// The names that most users need, those of [`formic_jobs::prelude`] included.
pub mod prelude {
    pub use formic_jobs::prelude::*;

    pub use crate::action::{
        Action, ActionResult, ActionSet, Actions, Agent, AgentAccess, AgentSystem, Body, Composite,
        Ended, Executing, Kinds, OnFailure, OwnedAction, Processor, Sequence, SequenceAgent,
    };
}
