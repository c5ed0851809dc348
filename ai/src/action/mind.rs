//! Which component drives an agent: one at a time.

use std::any::TypeId;

use formic_ecs::{Bundle, Component, ComponentError, Entity, EventKind, MissingComponent, World};
use formic_jobs::SaveRules;

use super::body::{Body, Reported, Switching};

/// The kinds of minds that a world knows: a resource.
#[derive(Default)]
struct MindKinds(Vec<MindKind>);

#[derive(Clone, Copy)]
struct MindKind {
    component: TypeId,
    take: fn(&mut World, Entity),
}

/// Tells a world that the component `M` is a mind: it drives the body of the agent that has it. The
/// minds of this crate are known when they are given to an agent or a system for them is built; those
/// of your own call this.
///
/// An agent has one mind. One that is given another loses the first, and what it was doing for it
/// halts; so it does when it loses its mind for good.
///
/// ```
/// use formic_ai::action::link_mind;
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Walk;
/// #[derive(Component)]
/// struct Whim;
///
/// let mut world = World::new();
/// link_mind::<Whim>(&mut world);
/// let agent = ActionSet::new().action("walk", Walk).spawn(&mut world, Whim)?;
/// world.get_mut::<Body>(agent)?.begin(0);
/// world.remove::<Whim>(agent)?;
/// assert_eq!(world.get::<Body>(agent)?.running().count(), 0);
///
/// world.insert(agent, Whim)?;
/// SequenceAgent::drive(&mut world, agent, OnFailure::Retry)?;
/// assert!(!world.has::<Whim>(agent), "the sequence drives it now");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn link_mind<M: Component>(world: &mut World) {
    if world.resource::<MindKinds>().is_err() {
        world.insert_resource(MindKinds::default());
        // A game that is loaded knows its own, when the systems of minds are built.
        SaveRules::of(world).rebuild::<MindKinds>();
    }
    let Ok(known) = world.resource_mut::<MindKinds>() else { return };
    let component = TypeId::of::<M>();
    if known.0.iter().any(|mind| mind.component == component) {
        return;
    }
    let take = |world: &mut World, agent| {
        if world.has::<M>(agent) {
            drop(world.remove::<M>(agent));
        }
    };
    known.0.push(MindKind { component, take });
    world.observe::<M>(EventKind::Add, |world, event| {
        let Ok(known) = world.resource::<MindKinds>() else { return };
        let others: Vec<_> =
            known.0.iter().filter(|mind| mind.component != TypeId::of::<M>()).copied().collect();
        others.into_iter().for_each(|mind| (mind.take)(world, event.entity));
    });
    world.observe::<M>(EventKind::Remove, |world, event| {
        let Ok(body) = world.get_mut::<Body>(event.entity) else { return };
        body.halt_all();
        if body.is_switching() {
            _ = world.set_enabled::<Switching>(event.entity, true);
        }
    });
}

/// What an entity lacks that cannot be driven, in the words of the error.
const NO_BODY: &str = "Body, which `ActionSet::attach` gives to an agent";

/// Has an agent that has a body be driven by the mind `M`, which is among these components, from now
/// on. What is running is halted.
pub(crate) fn give_mind<M: Component>(
    world: &mut World,
    agent: Entity,
    components: impl Bundle,
) -> Result<(), ComponentError> {
    if world.contains(agent) && !world.has::<Body>(agent) {
        return Err(MissingComponent { entity: agent, component: NO_BODY }.into());
    }
    world.get_mut::<Body>(agent)?.halt_all();
    link_mind::<M>(world);
    world.set_enabled::<Reported>(agent, false)?;
    world.set_enabled::<Switching>(agent, true)?;
    if world.insert(agent, components).is_err() {
        unreachable!("the entity is in the world");
    }
    Ok(())
}
