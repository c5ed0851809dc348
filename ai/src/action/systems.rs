//! The systems that pass changes from bodies to actions.
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

/// Passes the changes of minds on to the action entities: actions to halt are told to stop, actions to
/// begin are activated and enabled.
///
/// If an action to begin was despawned, or is no longer in the list of the agent, it counts as failed.
pub fn identify(
    mut agents: Query<Switched, With<Switching>>,
    actions: ExclusiveLookup<&'static mut Action>,
    executing: EnabledLookup<Executing>,
    finished: EnabledLookup<Finished>,
) {
    agents.par_for_each(|(owner, body, entities, mut switching, mut reported)| {
        switching.set(false);
        // An action belongs to one body: no other row claims it.
        let claim = |action: usize| {
            let entity = entities.get(action)?.0;
            Some((entity, actions.claim(&owner, entity).ok()?))
        };
        for number in 0.. {
            let Some((begin, halt)) = body.take_orders(number) else { break };
            for action in set_bits(halt).map(|bit| 64 * number + bit) {
                let Some((entity, mut claim)) = claim(action) else { continue };
                if claim.get_mut().halt() {
                    _ = finished.set(entity, true);
                } else {
                    _ = executing.set(entity, false);
                }
            }
            for action in set_bits(begin).map(|bit| 64 * number + bit) {
                if let Some((entity, mut claim)) = claim(action) {
                    claim.get_mut().activate();
                    _ = executing.set(entity, true);
                } else if body.note(action, ActionResult::Failed) {
                    reported.set(true);
                }
            }
        }
    });
}

/// [`identify`] once more in the same tick, for the actions that composites have begun and halted.
pub fn identify_parts(
    agents: Query<Switched, With<Switching>>,
    actions: ExclusiveLookup<&'static mut Action>,
    executing: EnabledLookup<Executing>,
    finished: EnabledLookup<Finished>,
) {
    identify(agents, actions, executing, finished);
}

/// Despawns the actions that have no owner any more, once they are cleaned up.
pub fn bury(
    mut actions: Query<Entity, (With<Finished>, Without<Executing>)>,
    mut commands: Commands,
) {
    actions.par_for_each_with(&mut commands, |entity, commands| commands.despawn(entity));
}
