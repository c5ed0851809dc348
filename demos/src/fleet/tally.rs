//! The score of the war, and its invariants.

use std::collections::BTreeMap;

use formic_ai::fsm::FsmAgent;
use formic_ai::goap::GoapAgent;
use formic_ai::prelude::*;

use super::parts::{Bullet, Hull, Member, Position, Strength, Toll, Velocity, War};
use super::ships::Ships;
use crate::simulation::Counter;
use crate::text::grouped;

/// What there is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) toll: Toll,
    pub(super) ships: u64,
    pub(super) turrets: u64,
    pub(super) admirals: u64,
    pub(super) bullets: u64,
    pub(super) actions: u64,
    pub(super) plans: u64,
    pub(super) plan_failures: u64,
}

impl Tally {
    pub(super) fn of(world: &World) -> Self {
        let mut tally = Self {
            toll: world.resource().copied().unwrap_or_default(),
            bullets: world.query_ref::<&Bullet>().count() as u64,
            actions: world.query_ref::<&Action>().count() as u64,
            ..Self::default()
        };
        for velocity in world.query_ref_filtered::<Option<&Velocity>, With<Member>>() {
            match velocity {
                Some(_) => tally.ships += 1,
                None => tally.turrets += 1,
            }
        }
        for agent in world.query_ref::<&GoapAgent>() {
            tally.admirals += 1;
            tally.plans += u64::from(agent.plans());
            tally.plan_failures += u64::from(agent.failures());
        }
        tally
    }

    pub(super) fn counters(&self) -> Vec<Counter> {
        let Self { toll, .. } = self;
        vec![
            ("ships", self.ships),
            ("turrets", self.turrets),
            ("admirals", self.admirals),
            ("bullets", self.bullets),
            ("actions", self.actions),
            ("bullets_fired", toll.fired),
            ("hits", toll.hits),
            ("bullets_missed", toll.fired.saturating_sub(toll.hits + self.bullets)),
            ("ships_lost", toll.ships_lost),
            ("turrets_lost", toll.turrets_lost),
            ("ships_built", toll.ships_built),
            ("turrets_built", toll.turrets_built),
            ("plans", self.plans),
            ("plan_failures", self.plan_failures),
        ]
    }

    /// How many ships are in each of their states.
    pub(super) fn states_line(&self, world: &World) -> String {
        let Ok(Ships(machine)) = world.resource::<Ships>() else { return String::new() };
        let mut counts = BTreeMap::new();
        for agent in world.query_ref::<&FsmAgent>() {
            *counts.entry(agent.state()).or_insert(0) += 1;
        }
        let name = |state: Option<usize>| state.map_or("waiting", |state| machine.name(state));
        let parts =
            counts.iter().map(|(state, count)| format!("{} {}", grouped(*count), name(*state)));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Whether the sums come out.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self { toll, bullets, .. } = self;
        if toll.fired < toll.hits + bullets {
            return Err(format!(
                "{} bullets were fired, {} hit, {bullets} fly",
                toll.fired, toll.hits
            ));
        }
        Ok(())
    }
}

/// Whether every unit is as it must be, and every squadron knows how many it has.
pub(super) fn check_units(world: &World) -> Result<(), String> {
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
