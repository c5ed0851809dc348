//! Lifetimes: hooks that despawn actions with their body, and tell a body when one of its actions is
//! despawned.

use formic_ecs::{Buffer, Codec, Component, Entity, EventKind, World};
use formic_jobs::SaveRules;

use super::body::{Body, OwnedAction, Reported};
use super::components::{Action, ActionFlags, ActionResult, Executing, Finished};
use super::names::ActionNames;
use crate::explain::short;

/// Marks a world that has the hooks. Holds the kinds of actions for which a system was built, by the
/// names of their components.
struct Linked(Vec<&'static str>);

/// Installs the hooks: removing a body releases its actions, and removing an action reports to its body.
pub(super) fn link_lifetimes(world: &mut World) {
    if world.resource::<Linked>().is_ok() {
        return;
    }
    world.insert_resource(Linked(Vec::new()));
    // A loaded game installs its own when the systems of actions are built.
    SaveRules::of(world).rebuild::<Linked>().save(Codec::<ActionNames>::serde());
    world.hooks().observe::<Body>(EventKind::Remove, |world, event| {
        let Ok(actions) = world.get::<Buffer<OwnedAction>>(event.entity) else { return };
        let actions = actions.to_vec();
        actions.into_iter().for_each(|action| release(world, action.0));
    });
    world.hooks().observe::<Action>(EventKind::Remove, |world, event| {
        let Ok(&action) = world.get::<Action>(event.entity) else { return };
        if action.flags.has(ActionFlags::DISOWNED) {
            return;
        }
        let Ok(body) = world.get_mut::<Body>(action.owner) else { return };
        if body.note(action.index(), ActionResult::Failed) {
            // If the owner is being despawned as well, this does not matter.
            _ = world.set_enabled::<Reported>(action.owner, true);
        }
    });
}

/// Registers that a system processes actions with the component `T`.
pub(super) fn link_kind<T: Component>(world: &mut World) {
    link_lifetimes(world);
    let Ok(Linked(kinds)) = world.resource_mut() else { return };
    if !kinds.contains(&T::name()) {
        kinds.push(T::name());
    }
}

/// The components that may be an action's kind, if no schedule was built with a system for it: those that
/// not every action has. `None` if there is such a system.
pub(crate) fn kinds_without_system(world: &World, action: Entity) -> Option<Vec<String>> {
    let of_all = [Action::name(), Executing::name(), Finished::name()];
    let components = world.components_of(action).ok()?;
    let kinds = components.iter().map(|(name, _)| &**name);
    let kinds: Vec<&str> = kinds.filter(|kind| !of_all.contains(kind)).collect();
    let known = world.resource::<Linked>().map_or(&[][..], |linked| &linked.0);
    let has_system = kinds.iter().any(|kind| known.contains(kind));
    (!has_system).then(|| kinds.into_iter().map(|kind| short(kind).to_owned()).collect())
}

/// Releases an action whose owner loses its body. It is despawned at once if it is not underway,
/// otherwise after its processor has cleaned up.
pub(super) fn release(world: &mut World, entity: Entity) {
    // Despawning a composite releases its parts, which is all the cleanup it needs.
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
