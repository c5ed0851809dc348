//! The decisions of admirals: they plan. Their actions are in `command`.

use formic_ai::goap::{Facts, Goal, Operator, PlannerBuilder, Planners, Replan, Sensors};
use formic_ai::prelude::*;

use super::command::Command;
use super::parts::{Aim, Strength, War};

/// The components that admirals read.
pub(super) type Senses = (&'static War, &'static Strength);

/// The planner that all admirals share.
pub(super) type Admirals = Sensors<Senses>;

/// The distance to the base at which an enemy threatens it, in metres.
const THREAT: f32 = 60.0;
/// The maximum number of states that an admiral searches per tick; its plans take fewer.
const STATES_MAX: usize = 200;

pub(super) fn actions() -> ActionSet {
    Command::ALL
        .into_iter()
        .fold(ActionSet::new(), |set, (name, command)| set.action(name, command))
}

pub(super) fn sensors(actions: &ActionSet) -> Admirals {
    let mut facts = Facts::new();
    let strong = facts.flag("strong");
    let known = facts.flag("enemy known");
    let mustered = facts.flag("mustered");
    let beaten = facts.flag("enemy beaten");
    let threatened = facts.flag("base threatened");
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("reinforce").then(strong.becomes(true)).cost(4))
        .operator(Operator::new("scout").then(known.becomes(true)))
        .operator(
            Operator::new("muster").when(strong.is(true)).then(mustered.becomes(true)).cost(2),
        )
        .operator(
            Operator::new("strike")
                .when(strong.is(true))
                .when(known.is(true))
                .when(mustered.is(true))
                .then(beaten.becomes(true))
                .cost(3),
        )
        .operator(Operator::new("defend").then(threatened.becomes(false)).cost(2))
        .goal(Goal::new("hold the base").when(threatened.is(false)).priority(2))
        .goal(Goal::new("win").when(beaten.is(true)).priority(1))
        .goal(Goal::new("be strong").when(strong.is(true)))
        .build()
        .expect("every fact that is named is there");
    Sensors::<Senses>::new(planner, actions)
        .expect("every operator is an action of the set")
        .fact(strong, |(_, strength)| u32::from(is_strong(strength)))
        .fact(known, |(war, _)| war.known_ticks.min(1))
        .fact(mustered, |(war, _)| war.mustered_ticks.min(1))
        .fact(beaten, |(war, strength)| u32::from(war.is_beaten(strength)))
        .fact(threatened, |(war, _)| war.threatened)
}

fn is_strong(strength: &Strength) -> bool {
    strength.ships * 3 >= strength.ships_max * 2
}

/// Updates what admirals know; one that learns of an enemy at the base plans anew.
pub(super) fn report(
    mut admirals: Query<(Entity, &Aim, &mut War, EnabledMut<Replan>)>,
    strengths: ComponentLookup<&'static Strength>,
) {
    admirals.par_for_each(|(admiral, aim, war, mut replan)| {
        war.known_ticks = war.known_ticks.saturating_sub(1);
        war.mustered_ticks = war.mustered_ticks.saturating_sub(1);
        let foe = strengths.get(war.foe).ok().filter(|_| war.foe != admiral);
        war.foe_ships = foe.map_or(0, |strength| strength.ships);
        let is_threatened = u32::from(aim.distance < THREAT);
        if is_threatened > war.threatened {
            replan.set(true);
        }
        war.threatened = is_threatened;
    });
}

pub(super) fn think(mut planners: Planners<Senses>, admirals: Res<Admirals>) {
    planners.think(&admirals, STATES_MAX);
}
