//! The components of action entities.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity, HashState};

use crate::explain::Ended;

/// The result of a tick of an action.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
#[repr(u32)]
pub enum ActionResult {
    /// The action continues.
    Running,
    /// The action has succeeded.
    Success,
    /// The action has failed.
    Failed,
}

/// The end of an action that does not continue.
impl From<ActionResult> for Ended {
    fn from(result: ActionResult) -> Self {
        match result {
            ActionResult::Success | ActionResult::Running => Self::Success,
            ActionResult::Failed => Self::Failed,
        }
    }
}

/// The component of every action entity: its agent and owner, its index, and its progress.
///
/// Minds do not write it: they tell the [`Body`](super::Body) which actions to begin and to halt. An
/// action cannot be instantiated: the copy would be a second action with the same index.
///
/// ```
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Wave;
/// let mut world = World::new();
/// let agent = ActionSet::new().action("wave", Wave).spawn(&mut world, ())?;
/// let wave = world.get::<Buffer<OwnedAction>>(agent)?[0].entity();
/// assert_eq!(world.get::<Action>(wave)?.agent(), agent);
/// assert_eq!(world.get::<Action>(wave)?.activations(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct Action {
    #[component(entity)]
    pub(super) agent: Entity,
    #[component(entity)]
    pub(super) owner: Entity,
    /// The number of times that the action was told to begin. A flag would not do: the only action of a
    /// sequence ends and begins again while it stays enabled.
    pub(super) activations: u32,
    /// The activation that was started last. If it differs from `activations`, `start` is due.
    pub(super) started: u32,
    /// The result of the last activation; `Running` until it has ended.
    pub(super) result: ActionResult,
    pub(super) index: u16,
    pub(super) flags: ActionFlags,
}

/// The pending work on an action, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, HashState)]
#[repr(transparent)]
pub(super) struct ActionFlags(u16);

impl ActionFlags {
    pub(super) const NONE: Self = Self(0);
    /// `start` has been called, and `cleanup` has not.
    pub(super) const UNDERWAY: Self = Self(1);
    /// The action must stop.
    pub(super) const HALTED: Self = Self(2);
    /// The action has no owner any more; it is despawned after its cleanup.
    pub(super) const DISOWNED: Self = Self(4);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn set(&mut self, other: Self, on: bool) {
        if on {
            self.0 |= other.0;
        } else {
            self.0 &= !other.0;
        }
    }
}

impl Action {
    pub(super) const fn new(agent: Entity, owner: Entity, index: u16) -> Self {
        Self {
            agent,
            owner,
            activations: 0,
            started: 0,
            result: ActionResult::Running,
            index,
            flags: ActionFlags::NONE,
        }
    }

    /// The agent: the entity that processors are called for.
    #[must_use]
    pub const fn agent(&self) -> Entity {
        self.agent
    }

    /// The entity whose [`Body`](super::Body) the action belongs to: the agent itself, a second mind of
    /// the agent, or the composite action that this one is a part of.
    #[must_use]
    pub const fn owner(&self) -> Entity {
        self.owner
    }

    /// Its index among the actions of its owner.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index as usize
    }

    /// The number of times that it was told to begin.
    #[must_use]
    pub const fn activations(&self) -> u32 {
        self.activations
    }

    /// The result of the last activation; [`ActionResult::Running`] until it has ended.
    #[must_use]
    pub const fn result(&self) -> ActionResult {
        self.result
    }

    /// Whether it has started, and has not been cleaned up since.
    #[must_use]
    pub const fn is_underway(&self) -> bool {
        self.flags.has(ActionFlags::UNDERWAY)
    }

    /// Makes the action begin when it is processed next.
    pub(super) const fn activate(&mut self) {
        self.activations = self.started.wrapping_add(1);
        self.result = ActionResult::Running;
        self.flags.set(ActionFlags::HALTED, false);
    }

    /// Makes the action stop when it is processed next. Returns whether it is underway and needs a
    /// cleanup.
    pub(super) const fn halt(&mut self) -> bool {
        // An activation that was never started does not count.
        self.activations = self.started;
        let is_underway = self.is_underway();
        self.flags.set(ActionFlags::HALTED, is_underway);
        is_underway
    }
}

/// Enabled on an action that is executing. It is an enableable component so that actions that are not
/// executing cost nothing.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Executing;

/// Enabled on an action that needs final work. If the action is executing, it was interrupted, and is
/// cleaned up before any other action of its kind runs. Otherwise it is cleaned up already, its owner is
/// gone, and [`bury`](super::bury) despawns it.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Finished;
