//! Utility: the option with the highest score. The wolf outranks everything; the rest is a matter of
//! degree.

use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};
use formic_jobs::SaveRules;

use super::actions;
use super::crowd::{self, Mind};
use super::forager::{Basket, Senses};

pub(super) const MIND: Mind = Mind {
    name: "utility",
    keys: crowd::keys!("utility"),
    drive: |world, crowd| {
        let actions = actions::set();
        let reasoner = reasoner(&actions);
        crowd::drive(world, crowd, &actions, |world, it, seed| {
            UtilityAgent::drive(world, it, &reasoner, seed)
        });
        world.insert_resource(reasoner);
        SaveRules::of(world).rebuild::<Reasoner>();
    },
    thinks: Some("::think"),
    systems: |schedule| crowd::with_mind(schedule, think),
};

fn reasoner(actions: &ActionSet) -> Reasoner {
    let [hunger, tiredness, wolf, berries] =
        Input::named(["hunger", "tiredness", "wolf", "berries"]);
    let hide = Utility::of(wolf, Curve::step(0.5)).rank(1);
    let eat = Utility::of(hunger, Curve::linear(1.5, 0.0)).and(berries, Curve::step(0.1));
    let sleep = Utility::of(tiredness, Curve::exponential(2.0)).until(tiredness, 0.0);
    // The emptier the basket, the more gathering is worth; a full one is no reason to go on.
    let gather = Utility::of(berries, Curve::linear(-0.5, 0.5));
    Reasoner::new()
        .option("gather", gather.inertia(0.05))
        .option("eat", eat.inertia(0.2))
        .option("sleep", sleep)
        .option("hide", hide)
        .bind(actions)
        .expect("every option is an action of the set")
}

fn think(mut minds: UtilityAgents<Senses>, reasoner: Res<Reasoner>) {
    minds.decide(&reasoner, |(needs, basket, wolf)| {
        [
            needs.hunger / 100.0,
            needs.tiredness / 100.0,
            f32::from(u8::from(wolf.is_near())),
            basket.0 as f32 / Basket::FULL as f32,
        ]
    });
}
