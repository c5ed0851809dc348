//! The components of actions and of the agents that they belong to.

use bytemuck::NoUninit;
use ecs_core::{Component, Entity};

/// How an action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum ActionResult {
    /// It goes on.
    Running,
    /// It is done.
    Success,
    /// It could not be done.
    Failed,
}

/// What a sequence does when an action fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum OnFailure {
    /// The same action begins again in the next tick.
    Retry,
    /// The next action begins, as if it had succeeded.
    Advance,
}

/// What every action entity has: whose it is, its place, and how far it has come.
///
/// An action cannot be instantiated: the copy would be a second action in the same place.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[component(unique)]
#[repr(C)]
pub struct Action {
    #[component(entity)]
    pub(super) agent: Entity,
    /// The action after this one.
    #[component(entity)]
    pub(super) next: Entity,
    pub(super) index: u32,
    /// How many times the action was told to begin. A flag would not do: the only action of a
    /// sequence ends and begins again without ever ceasing to execute.
    pub(super) activations: u32,
    /// The activation that was started last; behind `activations`, `start` is due.
    pub(super) started: u32,
    /// What the last tick of the current activation gave.
    pub(super) result: ActionResult,
}

impl Action {
    /// The agent whose action this is.
    #[must_use]
    pub const fn agent(&self) -> Entity {
        self.agent
    }

    /// Its place among the agent's actions, from zero.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// How many times it was told to begin.
    #[must_use]
    pub const fn activations(&self) -> u32 {
        self.activations
    }

    /// What its last tick gave.
    #[must_use]
    pub const fn result(&self) -> ActionResult {
        self.result
    }

    /// Has it begin, from the start, when it is processed next.
    pub(super) fn activate(&mut self) {
        self.activations = self.activations.wrapping_add(1);
        self.result = ActionResult::Running;
    }
}

/// On an action: it is carried out. A component that is switched, so that the actions that wait
/// cost nothing.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Executing;

/// On an agent that carries out its actions one after the other, and then from the first again.
///
/// An agent cannot be instantiated: the copy would share the actions of the original. Give it a
/// sequence of its own, with [`Sequence::attach`](super::Sequence::attach).
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[component(unique)]
#[repr(C)]
pub struct SequenceAgent {
    #[component(entity)]
    pub(super) current: Entity,
    /// The action that was executing before, until `identify` has switched it off.
    #[component(entity)]
    pub(super) previous: Entity,
    pub(super) action_count: u32,
    /// How many actions have succeeded, or failed under [`OnFailure::Advance`].
    pub(super) advances: u32,
    pub(super) on_failure: OnFailure,
    /// What the current action reported and [`advance`](super::advance) has not yet consumed.
    pub(super) last_result: ActionResult,
}

impl SequenceAgent {
    /// The action that the agent is at.
    #[must_use]
    pub const fn current(&self) -> Entity {
        self.current
    }

    /// How many actions the agent has.
    #[must_use]
    pub const fn action_count(&self) -> u32 {
        self.action_count
    }

    /// How many times the agent has moved on to its next action.
    #[must_use]
    pub const fn advances(&self) -> u32 {
        self.advances
    }
}

/// On an agent: it has moved on, and which of its actions execute is to be set right.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Switching;

/// On an agent: its action has ended, and the result waits to be consumed.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Reported;
