//! A planner: it is given a goal and the preconditions and effects of each action, and finds the order of
//! actions itself.

use formic_ai::goap::{
    Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Replan, Sensors,
};
use formic_ai::prelude::*;
use formic_jobs::SaveRules;

use super::actions;
use super::crowd::{self, Mind};
use super::forager::{Basket, Senses, Wolf, is_hungry, is_tired, is_wolf_near};

pub(super) const MIND: Mind = Mind {
    name: "planner",
    keys: crowd::keys!("planner"),
    drive: |world, crowd| {
        let actions = actions::set();
        crowd::drive(world, crowd, &actions, |world, it, _| GoapAgent::drive(world, it));
        world.insert_resource(sensors(&actions));
        SaveRules::of(world).rebuild::<Sensors<Senses>>();
    },
    thinks: Some("::think"),
    systems: |schedule| crowd::with_mind(schedule.add(howl.before(think)), think),
};

/// The maximum number of states searched per tick, for each forager; its plans take fewer.
const STATES_MAX: usize = 200;

fn sensors(actions: &ActionSet) -> Sensors<Senses> {
    let mut facts = Facts::new();
    let hungry = facts.flag("hungry");
    let tired = facts.flag("tired");
    let wolf_near = facts.flag("wolf near");
    let berries = facts.number("berries", Basket::FULL);
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("gather").then(berries.add(1)).cost(2))
        .operator(Operator::new("eat").then(berries.subtract(1)).then(hungry.becomes(false)))
        .operator(Operator::new("sleep").then(tired.becomes(false)).cost(8))
        .operator(Operator::new("hide").then(wolf_near.becomes(false)).cost(4))
        .goal(Goal::new("stay alive").when(wolf_near.is(false)).priority(3))
        .goal(Goal::new("be fed").when(hungry.is(false)).priority(2))
        .goal(Goal::new("be rested").when(tired.is(false)).priority(1))
        .goal(Goal::new("have a stock").when(berries.at_least(Basket::FULL)))
        .build()
        .expect("every fact that is named is there");
    Sensors::<Senses>::new(planner, actions)
        .expect("every operator is an action of the set")
        .fact(hungry, |it| u32::from(is_hungry(it)))
        .fact(tired, |it| u32::from(is_tired(it)))
        .fact(wolf_near, |it| u32::from(is_wolf_near(it)))
        .fact(berries, |(_, basket, _)| basket.0)
}

/// A plan in progress does not check the world: a forager that hears the wolf plans anew.
fn howl(mut foragers: Query<(&Wolf, EnabledMut<Replan>)>) {
    foragers.par_for_each(|(wolf, mut replan)| {
        if wolf.ticks == 0 {
            replan.set(true);
        }
    });
}

fn think(mut planners: Planners<Senses>, sensors: Res<Sensors<Senses>>) {
    planners.think(&sensors, STATES_MAX);
}
