//! The components of actions.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity, HashState};

use crate::explain::Ended;

/// How an action stands.
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
    /// It goes on.
    Running,
    /// It is done.
    Success,
    /// It could not be done.
    Failed,
}

/// How an action that goes on no more has ended.
impl From<ActionResult> for Ended {
    fn from(result: ActionResult) -> Self {
        match result {
            ActionResult::Success | ActionResult::Running => Self::Success,
            ActionResult::Failed => Self::Failed,
        }
    }
}

/// What every action entity has: whose it is, its place, and how far it has come.
///
/// Minds do not write to it: they tell the [`Body`](super::Body) which actions are to begin and to
/// halt. An action cannot be instantiated: the copy would be a second action in the same place.
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
    /// How many times the action was told to begin. A flag would not do: the only action of a
    /// sequence ends and begins again without ever ceasing to execute.
    pub(super) activations: u32,
    /// The activation that was started last; behind `activations`, `start` is due.
    pub(super) started: u32,
    /// What the last activation that ended gave; `Running` before that and since.
    pub(super) result: ActionResult,
    pub(super) index: u16,
    pub(super) flags: ActionFlags,
}

/// What is to be done with an action at its next turn, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, HashState)]
#[repr(transparent)]
pub(super) struct ActionFlags(u16);

impl ActionFlags {
    pub(super) const NONE: Self = Self(0);
    /// `start` has been called, and `cleanup` has not.
    pub(super) const UNDERWAY: Self = Self(1);
    /// It is to stop.
    pub(super) const HALTED: Self = Self(2);
    /// It has no owner any more; it is despawned when it has been tidied up.
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

    /// Who acts: the entity that processors are called for.
    #[must_use]
    pub const fn agent(&self) -> Entity {
        self.agent
    }

    /// Whose [`Body`](super::Body) it is in: the agent itself, a second mind of the agent, or the
    /// composite action that this one is a part of.
    #[must_use]
    pub const fn owner(&self) -> Entity {
        self.owner
    }

    /// Its place among the actions of its owner, from zero.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index as usize
    }

    /// How many times it was told to begin.
    #[must_use]
    pub const fn activations(&self) -> u32 {
        self.activations
    }

    /// What its last activation gave, [`ActionResult::Running`] until it has ended.
    #[must_use]
    pub const fn result(&self) -> ActionResult {
        self.result
    }

    /// Whether it has been started, and not cleaned up since.
    #[must_use]
    pub const fn is_underway(&self) -> bool {
        self.flags.has(ActionFlags::UNDERWAY)
    }

    /// Has it begin, from the start, when it is processed next.
    pub(super) const fn activate(&mut self) {
        self.activations = self.started.wrapping_add(1);
        self.result = ActionResult::Running;
        self.flags.set(ActionFlags::HALTED, false);
    }

    /// Has it stop when it is processed next. Whether there is anything to be done about it then.
    pub(super) const fn halt(&mut self) -> bool {
        // An activation that was never started has not been.
        self.activations = self.started;
        let is_underway = self.is_underway();
        self.flags.set(ActionFlags::HALTED, is_underway);
        is_underway
    }
}

/// On an action: it is carried out. A component that is switched, so that the actions that wait
/// cost nothing.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Executing;

/// On an action: it has come to its end. While it executes it was interrupted, and is tidied up before
/// any other of its kind goes on; else it is tidied up, its owner is gone, and
/// [`bury`](super::bury) despawns it.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Finished;
