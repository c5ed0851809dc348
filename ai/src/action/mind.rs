//! Minds: the component that drives an agent, one at a time.

use std::any::TypeId;
use std::marker::PhantomData;

use formic_ecs::{
    Bundle, Component, ComponentError, Entity, EventKind, MissingComponent, QueryData, World,
};
use formic_jobs::{ParamError, RunContext, SaveRules, SystemAccess, SystemParam};

use super::body::{Body, Reported, Switching};
use super::lifetimes::link_lifetimes;
use super::systems::identify;
use crate::explain::short;

/// The kinds of minds that a world knows; a resource.
#[derive(Default)]
struct MindKinds(Vec<MindKind>);

#[derive(Clone, Copy)]
struct MindKind {
    component: TypeId,
    name: &'static str,
    has: fn(&World, Entity) -> bool,
    take: fn(&mut World, Entity),
    /// A description of the system that decides for this mind; `None` if such a system was built, or if
    /// no description is known.
    awaited: Option<&'static str>,
}

/// Registers the component `M` as a mind, which drives the body of the agent that has it. The minds of
/// this crate are registered when an agent gets one or when a system for them is built; call this for
/// your own.
///
/// An agent has one mind. If it gets another, it loses the first, and what it was doing is halted. The
/// same happens if it loses its mind without getting another.
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
    link::<M>(world, None);
}

/// The same for a mind that still lacks a system, which `awaited` describes. Once a system was built, the
/// mind never waits again.
fn link<M: Component>(world: &mut World, awaited: Option<&'static str>) {
    if world.resource::<MindKinds>().is_err() {
        world.insert_resource(MindKinds::default());
        // A loaded game registers its own when the systems of minds are built.
        SaveRules::of(world).rebuild::<MindKinds>();
    }
    let Ok(known) = world.resource_mut::<MindKinds>() else { return };
    let component = TypeId::of::<M>();
    if let Some(kind) = known.0.iter_mut().find(|mind| mind.component == component) {
        kind.awaited = kind.awaited.and(awaited);
        return;
    }
    let take = |world: &mut World, agent| {
        if world.has::<M>(agent) {
            drop(world.remove::<M>(agent));
        }
    };
    let has = |world: &World, agent| world.has::<M>(agent);
    known.0.push(MindKind { component, name: M::name(), has, take, awaited });
    world.hooks().observe::<M>(EventKind::Add, |world, event| {
        let Ok(known) = world.resource::<MindKinds>() else { return };
        let others: Vec<_> =
            known.0.iter().filter(|mind| mind.component != TypeId::of::<M>()).copied().collect();
        others.into_iter().for_each(|mind| (mind.take)(world, event.entity));
    });
    world.hooks().observe::<M>(EventKind::Remove, |world, event| {
        let Ok(body) = world.get_mut::<Body>(event.entity) else { return };
        body.halt_all();
        if body.is_switching() {
            _ = world.set_enabled::<Switching>(event.entity, true);
        }
    });
}

/// A system parameter that declares that its system decides for the agents with the component `M`, and
/// registers `M` as a mind ([`link_mind`]). Add such a system with
/// [`as_mind`](super::AgentSystem::as_mind): a schedule that places it elsewhere is an error. The
/// parameters of the minds of this crate, such as [`UtilityAgents`](crate::utility::UtilityAgents),
/// contain it.
///
/// Two such systems run in the order in which they were added. Access that both declare in `Own` is not
/// reported as an ambiguity.
///
/// ```
/// use formic_ai::action::{self, MindSystem};
/// use formic_ai::prelude::*;
/// #[derive(Component)]
/// struct Whim;
/// fn think(mut agents: Query<&mut Body, With<Whim>>, _: MindSystem<Whim>) {
///     agents.for_each(|body| body.begin(0));
/// }
/// let mut world = World::new();
/// let forgotten = action::add(Schedule::builder()).add(think).build(&mut world).unwrap_err();
/// assert!(forgotten.to_string().ends_with("add it by `.as_mind()` to the schedule"));
/// assert!(action::add(Schedule::builder()).add(think.as_mind()).build(&mut world).is_ok());
/// ```
#[derive(Debug)]
pub struct MindSystem<M, Own = &'static mut M>(PhantomData<fn() -> (M, Own)>);

impl<M: Component, Own: QueryData + 'static> SystemParam for MindSystem<M, Own> {
    type State = ();
    type Item<'a> = Self;

    fn init(world: &mut World, access: &mut SystemAccess) {
        link_lifetimes(world);
        link_mind::<M>(world);
        let plan = world.view_plan::<Own>();
        access.allow_ambiguities_about(plan.access(), world);
        access.expect_before(identify, "add it by `.as_mind()` to the schedule");
    }

    fn fetch<'a>((): &'a mut (), _: RunContext<'a>) -> Result<Self, ParamError> {
        Ok(Self(PhantomData))
    }
}

/// The registered mind that drives an agent, if any. If no schedule was built with a system for it, also
/// the description of that system.
pub(crate) fn driven_by(
    world: &World,
    agent: Entity,
) -> Option<(&'static str, Option<&'static str>)> {
    let known = world.resource::<MindKinds>().ok()?;
    let kind = known.0.iter().find(|kind| (kind.has)(world, agent))?;
    Some((short(kind.name), kind.awaited))
}

/// Whether a schedule was built with a system for the mind `M`.
pub(crate) fn has_system<M: Component>(world: &World) -> bool {
    let is_one = |kind: &MindKind| kind.component == TypeId::of::<M>() && kind.awaited.is_none();
    world.resource::<MindKinds>().is_ok_and(|known| known.0.iter().any(is_one))
}

/// The component that an entity lacks if it cannot be driven, as the error words it.
const NO_BODY: &str = "Body, which `ActionSet::attach` gives to an agent";

/// Makes the mind `M`, one of `components`, drive an agent with a body. Running actions are halted.
/// `system` describes the system that decides for `M`.
pub(crate) fn give_mind<M: Component>(
    world: &mut World,
    agent: Entity,
    system: &'static str,
    components: impl Bundle,
) -> Result<(), ComponentError> {
    if world.contains(agent) && !world.has::<Body>(agent) {
        return Err(MissingComponent { entity: agent, component: NO_BODY }.into());
    }
    world.get_mut::<Body>(agent)?.halt_all();
    link::<M>(world, Some(system));
    world.set_enabled::<Reported>(agent, false)?;
    world.set_enabled::<Switching>(agent, true)?;
    if world.insert(agent, components).is_err() {
        unreachable!("the entity is in the world");
    }
    Ok(())
}
