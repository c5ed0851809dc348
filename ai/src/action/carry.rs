//! One tick of one action, with any kind of processor.

use formic_ecs::Claimant;

use super::components::{Action, ActionFlags, ActionResult};
use super::processor::{Agent, Extras, WideProcessor};
use crate::explain::Ended;

/// The outcome of a tick for an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The action keeps executing.
    GoesOn,
    /// The action stops executing, and its owner is told how it ended.
    Ended(ActionResult),
    /// The action stops executing, and no owner waits for it.
    Stopped,
    /// The action has no owner any more and is despawned.
    Disowned,
}

/// An action together with its processor. The state of the action is updated before each call of the
/// processor, so that it is consistent if the processor panics.
pub(super) struct Carried<'c, 'i, X: Extras, O, P: WideProcessor<X, O>> {
    pub(super) processor: &'c P,
    pub(super) row: &'c Claimant<'c>,
    pub(super) action: &'c mut Action,
    pub(super) filter: &'c mut P::Action,
    pub(super) extras: X::Item<'i>,
    pub(super) out: &'c mut O,
}

impl<'c, X: Extras, O, P: WideProcessor<X, O>> Carried<'c, '_, X, O, P> {
    fn agent(&self) -> Agent<'c> {
        Agent { entity: self.action.agent, action: self.row.entity(), row: self.row }
    }

    #[inline]
    fn update(&mut self) -> ActionResult {
        let agent = self.agent();
        self.processor.update(agent, self.filter, X::reborrow(&mut self.extras), self.out)
    }

    fn cleanup(&mut self, ended: Ended) {
        self.action.flags.set(ActionFlags::UNDERWAY, false);
        let agent = self.agent();
        self.processor.cleanup(agent, self.filter, X::reborrow(&mut self.extras), ended, self.out);
    }

    /// Runs one tick. `start` and `update` may run in the same tick.
    #[inline]
    pub(super) fn tick(mut self) -> Turn {
        // The common case: the action has started and continues. Nothing is written, so its cache line
        // stays clean.
        let action = &self.action;
        if action.flags == ActionFlags::UNDERWAY && action.started == action.activations {
            return match self.update() {
                ActionResult::Running => Turn::GoesOn,
                result => self.end(result),
            };
        }
        self.turn()
    }

    /// Cleans up an interrupted action, before any action of its kind starts or updates.
    /// [`tick`](Self::tick) does the rest.
    pub(super) fn clean_up(mut self) {
        if self.action.is_underway() {
            self.cleanup(Ended::Interrupted);
        }
    }

    /// Runs one tick of an action that starts or stops.
    #[inline(never)]
    fn turn(mut self) -> Turn {
        if self.action.is_underway() {
            self.cleanup(Ended::Interrupted);
        }
        if self.action.flags.has(ActionFlags::DISOWNED) {
            return Turn::Disowned;
        }
        self.action.flags.set(ActionFlags::HALTED, false);
        if self.action.started == self.action.activations {
            // It was halted, or other code has enabled it.
            return Turn::Stopped;
        }
        self.action.started = self.action.activations;
        self.action.flags.set(ActionFlags::UNDERWAY, true);
        let agent = self.agent();
        let extras = X::reborrow(&mut self.extras);
        let mut result = self.processor.start(agent, self.filter, extras, self.out);
        if result == ActionResult::Running {
            result = self.update();
        }
        if result == ActionResult::Running { Turn::GoesOn } else { self.end(result) }
    }

    fn end(mut self, result: ActionResult) -> Turn {
        self.action.result = result;
        self.cleanup(result.into());
        Turn::Ended(result)
    }
}
