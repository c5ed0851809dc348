//! The executing actions of one kind, as the argument of a system.

use std::fmt;

use ecs_core::{ClaimError, CommandBuffer, Component, Entity, With, World, WorldCell};
use ecs_jobs::{Claims, Commands, Query, RunContext, SystemAccess, SystemParam, Toggles};

use super::components::{Action, ActionResult, Executing, Reported, SequenceAgent};
use super::processor::{Ended, Processor};

type Executed<'a, T> = Query<'a, (Entity, &'static mut Action, &'static mut T), With<Executing>>;
type Agents<'a> = Claims<'a, &'static mut SequenceAgent>;
type Parts<'a, T> = (Executed<'a, T>, Agents<'a>, Toggles<'a, Reported>, Commands<'a>);

/// The executing actions whose filter component is `T`: what the system of one kind of action
/// takes as an argument.
pub struct Actions<'a, T: Component> {
    cell: WorldCell<'a>,
    parts: Parts<'a, T>,
}

impl<T: Component> fmt::Debug for Actions<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actions").field("executing", &self.parts.0).finish_non_exhaustive()
    }
}

impl<T: Component> SystemParam for Actions<'_, T> {
    type State = <Parts<'static, T> as SystemParam>::State;
    type Item<'a> = Actions<'a, T>;

    fn init(world: &mut World, access: &mut SystemAccess) -> Self::State {
        Parts::<T>::init(world, access)
    }

    fn fetch<'a>(
        state: &'a mut Self::State,
        context: RunContext<'a>,
    ) -> Result<Actions<'a, T>, String> {
        let parts = Parts::<T>::fetch(state, context)?;
        Ok(Actions { cell: context.cell, parts })
    }

    fn visit_commands(state: &mut Self::State, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        Parts::<T>::visit_commands(state, visit);
    }
}

impl<T: Component> Actions<'_, T> {
    /// How many actions of this kind are executing.
    #[must_use]
    pub fn count(&self) -> usize {
        self.parts.0.count()
    }

    /// Carries out all executing actions of this kind for one tick, on all threads of the pool.
    ///
    /// An action whose agent is gone is cleaned up as failed if it had begun, and despawned at the
    /// sync point. An action whose agent carries out no sequence any more is despawned when it ends.
    ///
    /// # Panics
    /// Where the processor panics, or where two actions of one agent report at the same moment: a
    /// sequence executes one action of an agent at a time.
    pub fn process(&mut self, processor: &impl Processor<Action = T>) {
        let cell = self.cell;
        let (executing, agents, reported, commands) = &mut self.parts;
        executing.par_for_each_with(commands, |(entity, action, filter), commands| {
            if !cell.contains(action.agent) {
                abandon(processor, action, filter);
                commands.despawn(entity);
                return;
            }
            match tick(processor, action, filter) {
                ActionResult::Running => {}
                result => {
                    if !report(agents, reported, entity, action.agent, result) {
                        commands.despawn(entity);
                    }
                }
            }
        });
    }
}

/// One tick of one action. `start` and `update` may run in the same one.
fn tick<P: Processor>(processor: &P, action: &mut Action, filter: &mut P::Action) -> ActionResult {
    if action.result != ActionResult::Running {
        // It has ended and waits for its agent to move on.
        return ActionResult::Running;
    }
    let mut result = ActionResult::Running;
    if action.started != action.activations {
        action.started = action.activations;
        result = processor.start(action.agent, filter);
    }
    if result == ActionResult::Running {
        result = processor.update(action.agent, filter);
    }
    // An action that goes on has nothing to write down, and its cache line stays clean.
    if result == ActionResult::Running {
        return result;
    }
    action.result = result;
    match result {
        ActionResult::Running => {}
        ActionResult::Success => processor.cleanup(action.agent, filter, Ended::Success),
        ActionResult::Failed => processor.cleanup(action.agent, filter, Ended::Failed),
    }
    result
}

/// Cleans up after an action that has begun and will not end, because its agent is gone.
fn abandon<P: Processor>(processor: &P, action: &mut Action, filter: &mut P::Action) {
    if action.started == action.activations && action.result == ActionResult::Running {
        action.result = ActionResult::Failed;
        processor.cleanup(action.agent, filter, Ended::Failed);
    }
}

/// Tells the agent. Whether it still carries out a sequence.
fn report(
    agents: &Agents<'_>,
    reported: &Toggles<'_, Reported>,
    action: Entity,
    agent: Entity,
    result: ActionResult,
) -> bool {
    match agents.claim(agent) {
        Ok(mut claim) => {
            let sequence = claim.get_mut();
            // A copy of an action, or one that somebody else has switched on: no agent waits for
            // it, and it must not end what its agent is at.
            if sequence.current != action {
                return true;
            }
            sequence.last_result = result;
        }
        Err(error @ ClaimError::Claimed(_)) => {
            panic!("an action could not report to its agent: {error}")
        }
        Err(_) => return false,
    }
    reported.set(agent, true).is_ok()
}
