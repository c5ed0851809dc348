//! Lifetimes: actions go with the body that they are in.

use formic_ecs::{Buffer, Entity, Remove, World};
use formic_jobs::SaveRules;

use super::body::{Body, OwnedAction, Reported};
use super::components::{Action, ActionFlags, ActionResult, Executing};

/// Whether a world has been told what goes with what.
struct Linked;

/// Has actions go with the body that they are in, and a body learn of an action that goes.
pub(super) fn link_lifetimes(world: &mut World) {
    if world.resource::<Linked>().is_ok() {
        return;
    }
    world.insert_resource(Linked);
    // A game that is loaded links its own, when the systems of actions are built.
    SaveRules::of(world).rebuild::<Linked>();
    world.observe::<Remove, Body>(|world, event| {
        let Ok(actions) = world.get::<Buffer<OwnedAction>>(event.entity) else { return };
        let actions = actions.to_vec();
        actions.into_iter().for_each(|action| release(world, action.0));
    });
    world.observe::<Remove, Action>(|world, event| {
        let Ok(&action) = world.get::<Action>(event.entity) else { return };
        if action.flags.has(ActionFlags::DISOWNED) {
            return;
        }
        let Ok(body) = world.get_mut::<Body>(action.owner) else { return };
        if body.note(action.index(), ActionResult::Failed) {
            // The owner may be on its way out itself, and then it does not matter.
            _ = world.set_enabled::<Reported>(action.owner, true);
        }
    });
}

/// Lets go of an action whose owner loses its body: it is despawned, at once if nothing was begun,
/// else when its processor has cleaned up.
pub(super) fn release(world: &mut World, entity: Entity) {
    // A composite is tidied up by letting go of its parts, which its despawning does.
    let is_composite = world.has::<Body>(entity);
    let Ok(action) = world.get_mut::<Action>(entity) else { return };
    if action.is_underway() && !is_composite {
        action.halt();
        action.flags.set(ActionFlags::DISOWNED, true);
        _ = world.set_enabled::<Executing>(entity, true);
    } else {
        _ = world.despawn(entity);
    }
}
