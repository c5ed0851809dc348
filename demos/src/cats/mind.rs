//! The options of cats, and their scores.

use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgents};

use super::actions::{Eat, Play, Sleep};
use super::needs::{Hunger, Tiredness};

/// The options, in the order of the actions and of the reasoner.
pub(super) const OPTIONS: [&str; 3] = ["eat", "sleep", "play"];

/// Tiredness spoils the fun more than hunger does: it is a lazy cat.
const PLAY_WEIGHTS: [f32; 2] = [0.4, 0.6];

/// Returns the actions of a cat, with their effects on its needs per second.
pub(super) fn actions() -> ActionSet {
    ActionSet::new()
        .action("eat", Eat { hunger_relief: 5.0 })
        .action("sleep", Sleep { tiredness_relief: 3.0 })
        .action("play", Play { hunger_cost: 2.0, tiredness_cost: 4.0 })
}

/// Returns how much hunger matters: little at first, and then more and more.
pub(super) fn hunger_curve() -> Curve {
    Curve::exponential(2.0)
}

/// Returns how much tiredness matters: much from the start.
pub(super) fn tiredness_curve() -> Curve {
    Curve::fast_then_slow(4.0)
}

/// Returns the reasoner of a cat. Once it eats it eats its fill, and once it sleeps it sleeps until it is
/// rested. It plays when it is neither hungry nor tired.
pub(super) fn reasoner() -> Reasoner {
    let [hunger_weight, tiredness_weight] = PLAY_WEIGHTS;
    let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
    let play = Utility::sum().weighted(hunger_weight, hunger, hunger_curve().inverted()).weighted(
        tiredness_weight,
        tiredness,
        tiredness_curve().inverted(),
    );
    Reasoner::new()
        .option("eat", Utility::of(hunger, hunger_curve()).until(hunger, 0.0))
        .option("sleep", Utility::of(tiredness, tiredness_curve()).until(tiredness, 0.0))
        .option("play", play)
        .bind(&actions())
        .expect("every option is an action of the set")
}

/// Returns the inputs of the reasoner for a cat, from 0 to 1.
pub(super) fn inputs(hunger: f32, tiredness: f32) -> [f32; 2] {
    [hunger / 100.0, tiredness / 100.0]
}

/// Lets every cat choose, by the reasoner that all of them share.
pub(super) fn think(
    mut minds: UtilityAgents<(&'static Hunger, &'static Tiredness)>,
    reasoner: Res<Reasoner>,
) {
    minds.decide(&reasoner, |(hunger, tiredness)| inputs(hunger.0, tiredness.0));
}
