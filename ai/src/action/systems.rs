//! The systems around the action systems, and the order of all of them.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use ecs_core::{EnabledMut, With};
use ecs_jobs::{Claims, IntoSystem, Lookup, Query, ScheduleBuilder, SystemConfig, Toggles};

use super::components::{
    Action, ActionResult, Executing, OnFailure, Reported, SequenceAgent, Switching,
};

/// Sets right which actions execute, for the agents that have moved on: the previous one is
/// switched off, the current one is activated and switched on.
pub fn identify(
    mut agents: Query<(&mut SequenceAgent, EnabledMut<Switching>), With<Switching>>,
    actions: Claims<&mut Action>,
    executing: Toggles<Executing>,
) {
    agents.par_for_each(|(agent, mut switching)| {
        // Off before on: the only action of a sequence is both. An action that somebody has
        // despawned cannot be switched, and the agent stays where it is.
        if agent.previous != agent.current {
            _ = executing.set(agent.previous, false);
            agent.previous = agent.current;
        }
        if let Ok(mut action) = actions.claim(agent.current) {
            action.get_mut().activate();
        }
        _ = executing.set(agent.current, true);
        switching.set(false);
    });
}

/// Consumes the results of the actions that have ended, and moves their agents on: to the next
/// action after a success, to what [`OnFailure`] says after a failure.
pub fn advance(
    mut agents: Query<
        (&mut SequenceAgent, EnabledMut<Reported>, EnabledMut<Switching>),
        With<Reported>,
    >,
    actions: Lookup<&Action>,
) {
    agents.par_for_each(|(agent, mut reported, mut switching)| {
        reported.set(false);
        let result = std::mem::replace(&mut agent.last_result, ActionResult::Running);
        // An action that is gone has nothing after it: the agent stays.
        let Ok(current) = actions.get(agent.current) else { return };
        if result == ActionResult::Success || agent.on_failure == OnFailure::Advance {
            agent.previous = agent.current;
            agent.current = current.next;
            agent.advances = agent.advances.wrapping_add(1);
        }
        switching.set(true);
    });
}

/// Puts an action system between [`identify`] and [`advance`].
pub trait ActionSystem<Marker>: IntoSystem<Marker> {
    /// Runs it after [`identify`] and before [`advance`].
    fn in_sequence(self) -> SystemConfig {
        self.into_config().after(identify).before(advance)
    }
}

impl<System: IntoSystem<Marker>, Marker> ActionSystem<Marker> for System {}

/// Adds [`identify`], then what `actions` adds, then [`advance`].
pub fn sequence(
    schedule: ScheduleBuilder,
    actions: impl FnOnce(ScheduleBuilder) -> ScheduleBuilder,
) -> ScheduleBuilder {
    actions(schedule.add(identify)).add(advance.after(identify))
}
