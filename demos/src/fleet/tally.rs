//! The score of the war, and its invariants.

use std::collections::BTreeMap;

use formic_ai::fsm::FsmAgent;
use formic_ai::goap::GoapAgent;
use formic_ai::prelude::*;

use super::parts::{Bullet, Hull, Member, Position, Strength, Toll, Velocity, War};
use super::ships::Ships;
use crate::engine::Engine;
use crate::simulation::Counter;
use crate::text::grouped;

/// Returns the current numbers of entities, and the counts of systems.
pub(super) fn counters(engine: &Engine) -> Vec<Counter> {
    let (world, bullets) = (&engine.world, engine.count::<Bullet>());
    let toll: Toll = world.resource().copied().unwrap_or_default();
    let units = world.query_ref_filtered::<Option<&Velocity>, With<Member>>().into_iter();
    let (ships, turrets): (Vec<_>, Vec<_>) = units.partition(Option::is_some);
    vec![
        ("ships", ships.len() as u64),
        ("turrets", turrets.len() as u64),
        ("admirals", engine.count::<GoapAgent>()),
        ("bullets", bullets),
        ("actions", engine.count::<Action>()),
        ("bullets_fired", toll.fired),
        ("hits", toll.hits),
        ("bullets_missed", toll.fired.saturating_sub(toll.hits + bullets)),
        ("ships_lost", toll.ships_lost),
        ("turrets_lost", toll.turrets_lost),
        ("ships_built", toll.ships_built),
        ("turrets_built", toll.turrets_built),
        ("plans", engine.sum(&|agent: &GoapAgent| agent.plans().into())),
        ("plan_failures", engine.sum(&|agent: &GoapAgent| agent.failures().into())),
    ]
}

/// Describes how many ships are in each of their states.
pub(super) fn states_line(world: &World) -> String {
    let Ok(machine) = world.resource::<Ships>() else { return String::new() };
    let mut counts = BTreeMap::new();
    for agent in world.query_ref::<&FsmAgent>() {
        *counts.entry(agent.state()).or_insert(0) += 1;
    }
    let name = |state: Option<usize>| state.map_or("waiting", |state| machine.name(state));
    let parts = counts.iter().map(|(state, count)| format!("{} {}", grouped(*count), name(*state)));
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// Checks that no bullet came out of nothing, that every unit is valid, and that every squadron knows its
/// size.
pub(super) fn check(engine: &Engine) -> Result<(), String> {
    let (world, flying) = (&engine.world, engine.count::<Bullet>());
    let Toll { fired, hits, .. } = world.resource().copied().unwrap_or_default();
    if fired < hits + flying {
        return Err(format!("{fired} bullets were fired, {hits} hit, {flying} fly"));
    }
    let mut squadrons: BTreeMap<Entity, (u32, u32)> = BTreeMap::new();
    type Unit<'a> = (Entity, &'a Position, &'a Hull, &'a Member, &'a Body, Option<&'a Velocity>);
    for (unit, position, hull, member, body, velocity) in world.query_ref::<Unit<'_>>() {
        if hull.points == 0 || hull.points > hull.points_max {
            return Err(format!("unit {unit} has {hull:?}"));
        }
        if !position.0.is_finite() {
            return Err(format!("unit {unit} is at {}", position.0));
        }
        if body.running().count() > 1 {
            return Err(format!("unit {unit} does two things at once"));
        }
        let (ships, turrets) = squadrons.entry(member.admiral).or_default();
        *if velocity.is_some() { ships } else { turrets } += 1;
    }
    for (admiral, strength, _) in world.query_ref::<(Entity, &Strength, &War)>() {
        let counted = squadrons.remove(&admiral).unwrap_or_default();
        if counted != (strength.ships, strength.turrets) {
            return Err(format!("admiral {admiral} thinks of {strength:?}, there are {counted:?}"));
        }
    }
    match squadrons.first_key_value() {
        Some((nobody, units)) => Err(format!("{units:?} units follow {nobody}, who is no admiral")),
        None => Ok(()),
    }
}
