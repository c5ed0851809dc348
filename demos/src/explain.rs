//! `--explain`: why some of the agents did what they did.

use std::collections::BTreeSet;
use std::io::{self, Write};

use formic::inspect::{EntityName, Mark, Marks, View};
use formic_ai::action::Action;
use formic_ai::explain::DecisionLog;
use formic_ecs::{Entity, World};
use serde::Serialize;
use serde_json::json;

use crate::card::Demo;
use crate::failure::Failure;
use crate::simulation::Simulation;
use crate::text::{capital, grouped, singular, write_json};

/// The maximum number of decisions shown for an agent.
const DECISIONS_MAX: usize = 32;

/// Returns the named agent; an action entity stands for its agent.
fn find(wanted: EntityName, world: &World) -> Result<Entity, Failure> {
    let entity = match world.entity_at(wanted.index) {
        Some(it) if wanted.is_of(it) => Ok(it),
        Some(same) => Err(format!("that number has {same} at the start")),
        None => Err(format!("there are {} at the start, from 0 on", grouped(world.len() as u64))),
    };
    let refused = |why| Failure::Usage(format!("there is no entity {wanted}: {why}"));
    let entity = entity.map_err(refused)?;
    Ok(world.get::<Action>(entity).map_or(entity, |action| action.agent()))
}

/// The explanation of one agent; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The agent: `Worker#12`.
    pub agent: String,
    /// Its last decisions as sentences, the oldest first.
    pub decisions: Vec<String>,
    /// The number of earlier decisions.
    pub earlier: u64,
}

/// Watches these agents in the decision log from now on.
///
/// # Errors
/// Returns an error if one of them is not in a world of the demo.
pub fn watch(
    simulation: &mut dyn Simulation,
    demo: &Demo,
    wanted: &[EntityName],
) -> Result<(), Failure> {
    if wanted.is_empty() {
        return Ok(());
    }
    // The agents, and the names of other entities that they decide about.
    let look = |world: &World| {
        let agents =
            wanted.iter().map(|&it| find(it, world)).collect::<Result<Vec<_>, Failure>>()?;
        let view = view_of(simulation, world);
        let noun = |entity| view.and_then(|view| Some((entity, view.noun(entity)?)));
        Ok((agents, world.entities().filter_map(noun).collect::<Vec<_>>()))
    };
    let found = simulation.worlds().into_iter().map(|(_, world)| look(world));
    let found = found.collect::<Result<Vec<_>, Failure>>()?;
    for (world, (agents, called)) in simulation.worlds_mut().into_iter().zip(found) {
        let mut log = world.remove_resource::<DecisionLog>().unwrap_or_default();
        called.into_iter().for_each(|(entity, noun)| log.call(entity, capital(noun)));
        for agent in agents {
            let kind = log.kind(agent).cloned();
            let kind = kind.unwrap_or_else(|| capital(singular(demo.agents_noun)).into());
            log.watch(agent, kind, DECISIONS_MAX);
        }
        world.insert_resource(log);
    }
    Ok(())
}

/// Returns the explanations of the watched agents, by their numbers, world by world.
#[must_use]
pub fn explained(simulation: &dyn Simulation) -> Vec<Explained> {
    let worlds = simulation.worlds();
    let of_world = |(name, world): &(&str, &World)| {
        let Ok(log) = world.resource::<DecisionLog>() else { return Vec::new() };
        let before = if name.is_empty() { String::new() } else { format!("{name}, ") };
        let explain = |agent| Explained {
            agent: format!("{before}{}", log.name(agent)),
            decisions: sentences(simulation, world, log, agent),
            earlier: log.lost(agent),
        };
        log.agents().map(explain).collect()
    };
    worlds.iter().flat_map(of_world).collect()
}

/// Returns the hooks, which know only the world in focus.
fn view_of<'a>(simulation: &'a dyn Simulation, world: &World) -> Option<&'a dyn View> {
    std::ptr::eq(simulation.world(), world).then(|| simulation.view())
}

/// Returns the logged decisions; without these, what can be seen of the agent; without that, why there is
/// neither.
fn sentences(
    simulation: &dyn Simulation,
    world: &World,
    log: &DecisionLog,
    agent: Entity,
) -> Vec<String> {
    let view = view_of(simulation, world);
    let asked = log.sentences(agent).is_empty() && world.contains(agent);
    let mut seen = view.filter(|_| asked).map_or_else(Vec::new, |view| view.why(agent));
    let Some(first) = seen.first_mut() else { return formic::why(world, agent) };
    // Like a decision, it begins with its tick and its agent.
    let (tick, name) = (simulation.engine().schedule().tick(), log.name(agent));
    *first = match first.strip_prefix("It ") {
        Some(rest) => format!("Tick {tick}: {name} {rest}"),
        None => format!("Tick {tick}: {name}. {first}"),
    };
    seen
}

/// The maximum number of agents named as examples.
const EXAMPLES_MAX: usize = 10;

/// The agents of one world that can be named.
#[derive(Debug, Serialize)]
pub struct Askable<'a> {
    /// The name of the world; empty if it is the only one.
    world: &'a str,
    /// The numbers of the agents, as the world starts.
    agents: BTreeSet<u32>,
}

/// Returns the agents that can be named in each world, as it starts.
#[must_use]
pub fn askable(simulation: &dyn Simulation) -> Vec<Askable<'_>> {
    let mut marks = Marks::default();
    simulation.view().marks(&mut marks);
    // Stones can be named as well, but have little to explain.
    let kinds = simulation.view().scene().kinds;
    let is_agent =
        |mark: &&Mark| kinds.get(usize::from(mark.kind)).is_none_or(|kind| !kind.is_thing);
    let marks: Vec<&Mark> = marks.iter().filter(is_agent).collect();
    let of_world = |((name, world), number): ((_, &World), u8)| {
        let deciding = world.query_ref::<&Action>().into_iter().map(|action| action.agent());
        let shown = marks.iter().filter(|mark| mark.world == number).map(|mark| mark.entity);
        Askable { world: name, agents: deciding.chain(shown).map(|agent| agent.index()).collect() }
    };
    simulation.worlds().into_iter().zip(0..).map(of_world).collect()
}

/// Writes which agents can be named: all as JSON, or examples of each world for people.
///
/// # Errors
/// Returns an error if `out` cannot be written.
pub fn write_askable(
    simulation: &dyn Simulation,
    demo: &Demo,
    as_json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let askable = askable(simulation);
    if as_json {
        return write_json(out, &json!({ "demo": demo.name, "askable": askable }));
    }
    if askable.iter().all(|it| it.agents.is_empty()) {
        return writeln!(out, "{} has no agent that can be asked", demo.name);
    }
    for Askable { world, agents } in &askable {
        let (Some(first), Some(last)) = (agents.first(), agents.last()) else { continue };
        let examples: Vec<_> = agents.iter().take(EXAMPLES_MAX).map(u32::to_string).collect();
        let more = match agents.len() - examples.len() {
            0 => String::new(),
            more => format!(" and {} more, up to {last}", grouped(more as u64)),
        };
        let name = if world.is_empty() { String::new() } else { format!(", {world}") };
        let list = examples.join(", ");
        writeln!(out, "{}{name}: {list}{more}, such as --explain {first}", demo.name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_not_there_is_named_as_it_was_asked_for() {
        let mut world = World::new();
        world.spawn_batch([(), ()]);
        let refused = |text: &str| match find(text.parse().expect("it can be read"), &world) {
            Err(Failure::Usage(why)) => why,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(refused("7"), "there is no entity 7: there are 2 at the start, from 0 on");
        assert_eq!(refused("1v9"), "there is no entity 1v9: that number has 1v1 at the start");
        assert!(refused("7v9").starts_with("there is no entity 7v9: there are 2"));
    }

    #[test]
    fn who_can_be_asked_is_no_stone() {
        let setup = crate::setup::Setup { agents: 3, ticks: 0, seed: 1, threads: 1 };
        let demo = crate::catalogue::DEMOS.iter().find(|it| it.name == "villagers");
        let demo = demo.expect("it is there");
        let village = demo.open(&setup).expect("small numbers are allowed");
        let askable = askable(&*village);
        let agents: Vec<u32> = askable.iter().flat_map(|it| it.agents.iter().copied()).collect();
        let nouns = agents.iter().map(|&agent| {
            let agent = village.world().entity_at(agent).expect("it is there");
            village.view().noun(agent)
        });
        assert!(
            !agents.is_empty() && nouns.into_iter().all(|it| it != Some("stone")),
            "{agents:?}"
        );
    }
}
