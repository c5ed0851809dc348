//! The systems around the action systems.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ecs::{Buffer, Claimant, EnabledMut, Entity, With, Without};
use formic_jobs::{Commands, EnabledLookup, ExclusiveLookup, Query};

use super::body::{Body, OwnedAction, Reported, Switching};
use super::components::{Action, ActionResult, Executing, Finished};
use crate::bits::set_bits;

type Switched = (
    Claimant<'static>,
    &'static mut Body,
    &'static Buffer<OwnedAction>,
    EnabledMut<Switching>,
    EnabledMut<Reported>,
);

/// Sets right which actions execute, for the agents whose minds want it changed: those to halt are
/// told to stop, those to begin are activated and switched on.
///
/// An action that was despawned counts as failed when it is to begin.
pub fn identify(
    mut agents: Query<Switched, With<Switching>>,
    actions: ExclusiveLookup<&'static mut Action>,
    executing: EnabledLookup<Executing>,
    finished: EnabledLookup<Finished>,
) {
    agents.par_for_each(|(owner, body, entities, mut switching, mut reported)| {
        switching.set(false);
        for number in 0.. {
            let Some((begin, halt)) = body.take_orders(number) else { break };
            for action in set_bits(halt).map(|bit| 64 * number + bit) {
                let entity = entities[action].0;
                // An action is in one body: no other row claims it.
                let Ok(mut claim) = actions.claim(&owner, entity) else { continue };
                if claim.get_mut().halt() {
                    _ = finished.set(entity, true);
                } else {
                    _ = executing.set(entity, false);
                }
            }
            for action in set_bits(begin).map(|bit| 64 * number + bit) {
                let entity = entities[action].0;
                if let Ok(mut claim) = actions.claim(&owner, entity) {
                    claim.get_mut().activate();
                    _ = executing.set(entity, true);
                } else if body.note(action, ActionResult::Failed) {
                    reported.set(true);
                }
            }
        }
    });
}

/// [`identify`] once more in the same tick, for what composites have begun and halted.
pub fn identify_parts(
    agents: Query<Switched, With<Switching>>,
    actions: ExclusiveLookup<&'static mut Action>,
    executing: EnabledLookup<Executing>,
    finished: EnabledLookup<Finished>,
) {
    identify(agents, actions, executing, finished);
}

/// Despawns the actions that have no owner any more, once they have been tidied up.
pub fn bury(
    mut actions: Query<Entity, (With<Finished>, Without<Executing>)>,
    mut commands: Commands,
) {
    actions.par_for_each_with(&mut commands, |entity, commands| commands.despawn(entity));
}
