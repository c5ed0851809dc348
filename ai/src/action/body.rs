//! The face that every mind sees: which actions of an agent run, and how they ended.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity};

use super::components::ActionResult;

/// What an agent can do, for whatever decides: a mind tells it which actions are to begin and to
/// halt, and it says which are running and how they ended.
///
/// Actions are named by their place, below [`Body::ACTIONS_MAX`]. A mind that has begun or halted
/// something switches the agent's [`Switching`] on, which [`Body::is_switching`] says; the system
/// [`identify`](super::identify) then passes it on to the action entities. When an action ends it is
/// noted here and the agent's [`Reported`] is switched on.
///
/// It cannot be instantiated: the copy would share the actions of the original.
///
/// ```
/// use formic_ai::prelude::*;
/// let mut body = Body::new(3);
/// body.begin(1);
/// assert!(body.is_running(1) && body.is_switching());
/// assert_eq!(body.ended(1), None);
/// body.halt(1);
/// assert_eq!(body.running(), 0);
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct Body {
    /// Those that were begun, and neither ended nor halted since. A bit for each action, as below.
    running: u64,
    /// Those that are to begin, which `identify` has not passed on.
    begin: u64,
    /// Those that are to halt, likewise.
    halt: u64,
    succeeded: u64,
    failed: u64,
    action_count: u32,
    /// Which names its actions have, see [`ActionNames`](super::ActionNames); 0 for none.
    layout: u32,
}

impl Body {
    /// How many actions a body can have. More of them are grouped into composites.
    pub const ACTIONS_MAX: usize = 64;

    /// A body with this many actions, all of them asleep. [`ActionSet`](super::ActionSet) makes it together
    /// with the action entities.
    ///
    /// # Panics
    /// Panics if there are more than [`Self::ACTIONS_MAX`].
    #[must_use]
    pub const fn new(action_count: usize) -> Self {
        assert!(action_count <= Self::ACTIONS_MAX, "a body has at most 64 actions");
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        let action_count = action_count as u32;
        Self { running: 0, begin: 0, halt: 0, succeeded: 0, failed: 0, action_count, layout: 0 }
    }

    /// The same, with actions of these names.
    pub(super) const fn with_layout(mut self, layout: u32) -> Self {
        self.layout = layout;
        self
    }

    pub(super) const fn layout(&self) -> u32 {
        self.layout
    }

    #[inline]
    fn bit(&self, action: usize) -> u64 {
        assert!(
            action < self.action_count(),
            "there is no action {action}: the body has {}",
            self.action_count
        );
        1 << action
    }

    /// How many actions there are.
    #[must_use]
    pub const fn action_count(&self) -> usize {
        self.action_count as usize
    }

    /// Has an action begin, from the start: one that is running is interrupted first. What it
    /// ended with before is forgotten.
    ///
    /// # Panics
    /// Panics if there is no such action, as all methods here.
    #[inline]
    pub fn begin(&mut self, action: usize) {
        let bit = self.bit(action);
        self.running |= bit;
        self.begin |= bit;
        self.halt &= !bit;
        self.succeeded &= !bit;
        self.failed &= !bit;
    }

    /// Has an action stop, if it is running: its processor cleans up as interrupted, once. What it
    /// ended with before is forgotten.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[inline]
    pub fn halt(&mut self, action: usize) {
        let bit = self.bit(action);
        self.halt_mask(bit);
    }

    /// Has all actions stop that are running, and forgets what the others ended with.
    pub const fn halt_all(&mut self) {
        self.halt_mask(u64::MAX);
    }

    /// Has these stop, of which each bit is one.
    #[inline]
    pub const fn halt_mask(&mut self, mask: u64) {
        self.halt |= self.running & mask;
        self.running &= !mask;
        self.begin &= !mask;
        self.succeeded &= !mask;
        self.failed &= !mask;
    }

    /// Whether an action was begun, and neither ended nor was halted since.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[must_use]
    #[inline]
    pub fn is_running(&self, action: usize) -> bool {
        self.running & self.bit(action) != 0
    }

    /// The actions that are running, a bit for each.
    #[must_use]
    #[inline]
    pub const fn running(&self) -> u64 {
        self.running
    }

    /// The actions whose end was not taken, a bit for each.
    #[must_use]
    #[inline]
    pub const fn ended_mask(&self) -> u64 {
        self.succeeded | self.failed
    }

    /// What an action ended with, if it has and that was not taken: [`ActionResult::Success`] or
    /// [`ActionResult::Failed`].
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[must_use]
    #[inline]
    pub fn ended(&self, action: usize) -> Option<ActionResult> {
        let bit = self.bit(action);
        if self.succeeded & bit != 0 {
            Some(ActionResult::Success)
        } else if self.failed & bit != 0 {
            Some(ActionResult::Failed)
        } else {
            None
        }
    }

    /// What an action ended with, if it has and that was not taken; takes it.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[inline]
    pub fn take_ended(&mut self, action: usize) -> Option<ActionResult> {
        let ended = self.ended(action)?;
        let bit = self.bit(action);
        self.succeeded &= !bit;
        self.failed &= !bit;
        Some(ended)
    }

    /// How an action stands for a mind that wants it done: it is begun where it is neither running
    /// nor has ended, and what it ended with is taken. This is all that a behaviour tree asks.
    ///
    /// # Panics
    /// Panics if there is no such action.
    #[inline]
    pub fn drive(&mut self, action: usize) -> ActionResult {
        if let Some(ended) = self.take_ended(action) {
            return ended;
        }
        if !self.is_running(action) {
            self.begin(action);
        }
        ActionResult::Running
    }

    /// Whether something was begun or halted that has not been passed on: the agent's [`Switching`]
    /// is to be on.
    #[must_use]
    #[inline]
    pub const fn is_switching(&self) -> bool {
        self.begin | self.halt != 0
    }

    /// Takes what is to begin and what is to halt.
    pub(super) const fn take_orders(&mut self) -> (u64, u64) {
        let orders = (self.begin, self.halt);
        self.begin = 0;
        self.halt = 0;
        orders
    }

    /// Notes that an action has ended. Whether an owner waits for it.
    pub(super) fn note(&mut self, action: usize, result: ActionResult) -> bool {
        let bit = self.bit(action);
        // A halt that has not been passed on, or an action that other code has switched on.
        if self.running & bit == 0 || self.begin & bit != 0 {
            return false;
        }
        self.running &= !bit;
        match result {
            ActionResult::Success => self.succeeded |= bit,
            ActionResult::Failed | ActionResult::Running => self.failed |= bit,
        }
        true
    }
}

/// The entity of one action of a [`Body`]; the list of them is a `Buffer<OwnedAction>` beside it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(buffer = 6, unique)]
#[repr(transparent)]
pub struct OwnedAction(#[component(entity)] pub(super) Entity);

impl OwnedAction {
    /// The action entity.
    #[must_use]
    pub const fn entity(self) -> Entity {
        self.0
    }
}

/// On an agent: its mind has begun or halted actions, which [`identify`](super::identify) passes on.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Switching;

/// On an agent: some of its actions have ended, which waits to be taken note of. Minds that only
/// have to do when something has ended ask for it in their query, and switch it off.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Reported;
