//! The explanation of any entity, in sentences.

use formic_ecs::{Buffer, Entity, World};

use crate::action::{
    Action, ActionNames, Body, OwnedAction, SequenceAgent, driven_by, has_system,
    kinds_without_system,
};
use crate::activity::Blocking;
use crate::explain::DecisionLog;

/// Explains in sentences why an entity does what it does. If the [`DecisionLog`] has decisions of the
/// entity, they come first, the oldest first. Other entities answer as well: an action names its agent,
/// an agent without decisions says so, and a stone says that it is a stone and decides nothing. There is
/// always at least one sentence.
///
/// ```
/// use formic_ai::explain::DecisionLog;
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Walk;
/// let mut world = World::new();
/// let guard = ActionSet::new().action("walk", Walk).spawn(&mut world, ())?;
/// let stone = world.spawn(());
/// let mut log = DecisionLog::new();
/// log.watch(guard, "Guard", 16);
/// log.call(stone, "Stone");
/// world.insert_resource(log);
/// let why = formic_ai::why(&world, guard);
/// assert!(why[0].starts_with("Guard#0 has actions and no mind that this world knows"), "{why:?}");
/// assert_eq!(formic_ai::why(&world, stone), ["Stone#2 is a stone and decides nothing."]);
/// let walk = world.get::<Buffer<OwnedAction>>(guard)?[0].entity();
/// let said = formic_ai::why(&world, walk);
/// assert_eq!(said, ["entity 1 is the action walk of Guard#0, which decides about it."]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn why(world: &World, entity: Entity) -> Vec<String> {
    let nothing = DecisionLog::new();
    let log = world.resource::<DecisionLog>().unwrap_or(&nothing);
    let mut said = log.sentences(entity);
    if said.is_empty() {
        said.push(undecided(world, log, entity));
    }
    said.extend(not_carried_out(world, entity));
    said
}

/// Describes an entity that has no decisions in the log.
fn undecided(world: &World, log: &DecisionLog, entity: Entity) -> String {
    let name = log.name(entity);
    if !world.contains(entity) {
        format!("{name} no longer exists, and no decision of it was written down.")
    } else if let Ok(action) = world.get::<Action>(entity) {
        format!("{name} is {}, which decides about it.", described(world, log, action))
    } else if world.has::<Body>(entity) || world.has::<Blocking>(entity) {
        undecided_agent(world, log, entity)
    } else {
        match log.kind(entity) {
            Some(kind) => {
                let kind = kind.to_lowercase();
                let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                format!("{name} is {article} {kind} and decides nothing.")
            }
            None => format!(
                "{name} has neither actions nor activities and decides nothing (`ActionSet::spawn` makes an agent)."
            ),
        }
    }
}

/// Describes an agent that has no decisions in the log: which mind drives it, and what keeps it from
/// deciding or from being watched.
fn undecided_agent(world: &World, log: &DecisionLog, agent: Entity) -> String {
    let name = log.name(agent);
    let driven = driven_by(world, agent);
    let mind = match driven {
        Some((by, _)) => format!("{name} is driven by `{by}`"),
        None if world.has::<Blocking>(agent) => format!("{name} has activities"),
        None => format!(
            "{name} has actions and no mind that this world knows: those of this crate are given by \
             their `drive`, and `MindSystem` makes one of your own known"
        ),
    };
    let rest = match driven.and_then(|(_, awaited)| awaited) {
        Some(system) => {
            format!("no schedule of this world decides for it: build one with {system}")
        }
        None if log.is_watched(agent) => match begun(world, agent) {
            Some(names) => format!("it does {names}, and has decided nothing since it is watched"),
            None => "it has decided nothing since it is watched".to_owned(),
        },
        None => "it is not watched, so that its decisions are not written down: call \
             `DecisionLog::watch` of the resource, or insert `DecisionLog::watching`"
            .to_owned(),
    };
    format!("{mind}; {rest}.")
}

/// The names of the actions that the agent is running.
fn begun(world: &World, agent: Entity) -> Option<String> {
    let body = world.get::<Body>(agent).ok()?;
    let names: Vec<_> = body.running().map(|index| action_name(world, body, index)).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

fn action_name(world: &World, body: &Body, index: usize) -> String {
    let names = world.resource::<ActionNames>().ok();
    let name = names.and_then(|names| names.name(body, index));
    name.map_or_else(|| format!("action {index}"), |name| name.to_string())
}

/// The actions that the agent has begun and that no system will ever carry out.
fn not_carried_out(world: &World, agent: Entity) -> Vec<String> {
    let (Ok(body), Ok(owned)) = (world.get::<Body>(agent), world.get::<Buffer<OwnedAction>>(agent))
    else {
        return Vec::new();
    };
    let sentence = |index: usize| {
        let action = owned.get(index)?.entity();
        let name = action_name(world, body, index);
        if !has_system::<SequenceAgent>(world) {
            return Some(format!(
                "It has begun {name}, and no schedule of this world passes that on: build one with \
                 `action::add`."
            ));
        }
        let kinds = kinds_without_system(world, action).filter(|_| !world.has::<Body>(action))?;
        let kind = kinds.join("` or `");
        Some(format!(
            "It has begun {name}, and no schedule of this world carries out actions of the kind \
             `{kind}`: build one with a system that has the argument `Actions<{}>`, added by \
             `.as_action()`.",
            kinds.first().map_or("", |kind| kind)
        ))
    };
    body.running().filter_map(sentence).collect()
}

/// An action as `the action walk of Guard#0`.
fn described(world: &World, log: &DecisionLog, action: &Action) -> String {
    let agent = log.name(action.agent());
    let known = world.resource::<ActionNames>().ok().zip(world.get::<Body>(action.owner()).ok());
    match known.and_then(|(names, body)| names.name(body, action.index())) {
        Some(own) => format!("the action {own} of {agent}"),
        None => format!("an action of {agent}"),
    }
}
