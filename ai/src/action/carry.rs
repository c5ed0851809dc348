//! One tick of one action, whatever kind of processor carries it out.

use formic_ecs::{Component, Entity, QueryData};

use super::components::{Action, ActionFlags, ActionResult};
use super::processor::{ActionChunk, Agent, Ended, Processor, SerialProcessor, WideProcessor};

/// The three kinds of processors as one.
pub(super) trait Carrier<T, X: QueryData, O> {
    fn before_chunk(&mut self, chunk: ActionChunk);
    fn start(
        &mut self,
        agent: Agent,
        action: &mut T,
        extras: &mut X::Item<'_>,
        out: &mut O,
    ) -> ActionResult;
    fn update(
        &mut self,
        agent: Agent,
        action: &mut T,
        extras: &mut X::Item<'_>,
        out: &mut O,
    ) -> ActionResult;
    fn cleanup(
        &mut self,
        agent: Agent,
        action: &mut T,
        extras: &mut X::Item<'_>,
        ended: Ended,
        out: &mut O,
    );
}

/// A processor that is called from several threads.
#[derive(Debug)]
pub(super) struct Narrow<'a, P>(pub(super) &'a P);
/// One that looks at other components as well.
#[derive(Debug)]
pub(super) struct Wide<'a, P>(pub(super) &'a P);
/// One that is called from one thread.
#[derive(Debug)]
pub(super) struct Serial<'a, P>(pub(super) &'a mut P);

impl<X: QueryData, P: Processor> Carrier<P::Action, X, ()> for Narrow<'_, P> {
    fn before_chunk(&mut self, chunk: ActionChunk) {
        self.0.before_chunk(chunk);
    }
    #[inline]
    fn start(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        _: &mut X::Item<'_>,
        (): &mut (),
    ) -> ActionResult {
        self.0.start(agent, action)
    }
    #[inline]
    fn update(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        _: &mut X::Item<'_>,
        (): &mut (),
    ) -> ActionResult {
        self.0.update(agent, action)
    }
    fn cleanup(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        _: &mut X::Item<'_>,
        ended: Ended,
        (): &mut (),
    ) {
        self.0.cleanup(agent, action, ended);
    }
}

impl<X: QueryData, O, P: WideProcessor<X, O>> Carrier<P::Action, X, O> for Wide<'_, P> {
    fn before_chunk(&mut self, chunk: ActionChunk) {
        self.0.before_chunk(chunk);
    }
    #[inline]
    fn start(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        extras: &mut X::Item<'_>,
        out: &mut O,
    ) -> ActionResult {
        self.0.start(agent, action, extras, out)
    }
    #[inline]
    fn update(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        extras: &mut X::Item<'_>,
        out: &mut O,
    ) -> ActionResult {
        self.0.update(agent, action, extras, out)
    }
    fn cleanup(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        extras: &mut X::Item<'_>,
        ended: Ended,
        out: &mut O,
    ) {
        self.0.cleanup(agent, action, extras, ended, out);
    }
}

impl<X: QueryData, P: SerialProcessor> Carrier<P::Action, X, ()> for Serial<'_, P> {
    fn before_chunk(&mut self, chunk: ActionChunk) {
        self.0.before_chunk(chunk);
    }
    fn start(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        _: &mut X::Item<'_>,
        (): &mut (),
    ) -> ActionResult {
        self.0.start(agent, action)
    }
    fn update(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        _: &mut X::Item<'_>,
        (): &mut (),
    ) -> ActionResult {
        self.0.update(agent, action)
    }
    fn cleanup(
        &mut self,
        agent: Agent,
        action: &mut P::Action,
        _: &mut X::Item<'_>,
        ended: Ended,
        (): &mut (),
    ) {
        self.0.cleanup(agent, action, ended);
    }
}

/// What a tick makes of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It executes in the next tick as well.
    GoesOn,
    /// It goes to sleep, and its owner is told how it ended.
    Ended(ActionResult),
    /// It goes to sleep, and no owner waits for it.
    Stopped,
    /// It has no owner: it goes for good.
    Disowned,
}

/// One tick of one action. `start` and `update` may run in the same one. What is written down about
/// the action is in order before each call, so that a panic in it meets a consistent state.
#[inline]
pub(super) fn tick<T: Component, X: QueryData, O, C: Carrier<T, X, O>>(
    carrier: &mut C,
    entity: Entity,
    action: &mut Action,
    filter: &mut T,
    extras: &mut X::Item<'_>,
    out: &mut O,
) -> Turn {
    let agent = Agent { entity: action.agent, action: entity, is_late: true };
    // The common case: it has begun and goes on. Nothing is written, and its cache line stays clean.
    if action.flags == ActionFlags::UNDERWAY && action.started == action.activations {
        let result = carrier.update(agent, filter, extras, out);
        return if result == ActionResult::Running {
            Turn::GoesOn
        } else {
            end(carrier, agent, action, filter, extras, result, out)
        };
    }
    turn(carrier, agent, action, filter, extras, out)
}

/// Tidies up an action that was interrupted, before any action of its kind goes on or begins. What
/// is to be done about it beside that is left to [`tick`].
pub(super) fn tidy_up<T: Component, X: QueryData, O, C: Carrier<T, X, O>>(
    carrier: &mut C,
    entity: Entity,
    action: &mut Action,
    filter: &mut T,
    extras: &mut X::Item<'_>,
    out: &mut O,
) {
    if action.is_underway() {
        action.flags.set(ActionFlags::UNDERWAY, false);
        let agent = Agent { entity: action.agent, action: entity, is_late: false };
        carrier.cleanup(agent, filter, extras, Ended::Interrupted, out);
    }
}

/// One tick of an action that begins or stops.
#[inline(never)]
fn turn<T: Component, X: QueryData, O, C: Carrier<T, X, O>>(
    carrier: &mut C,
    agent: Agent,
    action: &mut Action,
    filter: &mut T,
    extras: &mut X::Item<'_>,
    out: &mut O,
) -> Turn {
    if action.is_underway() {
        action.flags.set(ActionFlags::UNDERWAY, false);
        carrier.cleanup(agent, filter, extras, Ended::Interrupted, out);
    }
    if action.flags.has(ActionFlags::DISOWNED) {
        return Turn::Disowned;
    }
    action.flags.set(ActionFlags::HALTED, false);
    if action.started == action.activations {
        // It was halted, or other code has switched it on.
        return Turn::Stopped;
    }
    action.started = action.activations;
    action.flags.set(ActionFlags::UNDERWAY, true);
    let mut result = carrier.start(agent, filter, extras, out);
    if result == ActionResult::Running {
        result = carrier.update(agent, filter, extras, out);
    }
    if result == ActionResult::Running {
        return Turn::GoesOn;
    }
    end(carrier, agent, action, filter, extras, result, out)
}

fn end<T: Component, X: QueryData, O, C: Carrier<T, X, O>>(
    carrier: &mut C,
    agent: Agent,
    action: &mut Action,
    filter: &mut T,
    extras: &mut X::Item<'_>,
    result: ActionResult,
    out: &mut O,
) -> Turn {
    action.result = result;
    action.flags.set(ActionFlags::UNDERWAY, false);
    let ended = if result == ActionResult::Success { Ended::Success } else { Ended::Failed };
    carrier.cleanup(agent, filter, extras, ended, out);
    Turn::Ended(result)
}
