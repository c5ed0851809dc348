//! The actions of cats: one component and one system for each.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::prelude::*;

use super::TICK_SECONDS;
use super::needs::{Hunger, Temper, TimeSpent, Tiredness};

/// Action: become less hungry.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Eat {
    /// In points per second.
    pub(super) hunger_relief: f32,
}

/// Action: become less tired.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Sleep {
    /// In points per second.
    pub(super) tiredness_relief: f32,
}

/// Action: become hungry and tired.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Play {
    /// In points per second.
    pub(super) hunger_cost: f32,
    /// In points per second.
    pub(super) tiredness_cost: f32,
}

type Needs = (&'static mut Hunger, &'static mut Tiredness, &'static mut TimeSpent, &'static Temper);

/// Runs one action of a cat for a tick. None of these actions ends by itself: a cat continues until its
/// decision engine chooses another. The action adds to hunger and tiredness per second; the statistics
/// refer to an option by its index.
fn live(
    cats: &AgentAccess<Needs>,
    cat: Agent,
    option: usize,
    [hungrier, more_tired]: [f32; 2],
) -> ActionResult {
    cats.act(cat, |(hunger, tiredness, spent, temper)| {
        let hungrier = hungrier * temper.appetite * TICK_SECONDS;
        let more_tired = more_tired * temper.drowsiness * TICK_SECONDS;
        hunger.0 = (hunger.0 + hungrier).clamp(0.0, 100.0);
        tiredness.0 = (tiredness.0 + more_tired).clamp(0.0, 100.0);
        spent.ticks[option] += 1;
        ActionResult::Running
    })
}

pub(super) fn eat(mut actions: Actions<Eat>, cats: AgentAccess<Needs>) {
    actions.update(|cat, eat| live(&cats, cat, 0, [-eat.hunger_relief, 0.0]));
}

pub(super) fn sleep(mut actions: Actions<Sleep>, cats: AgentAccess<Needs>) {
    actions.update(|cat, sleep| live(&cats, cat, 1, [0.0, -sleep.tiredness_relief]));
}

pub(super) fn play(mut actions: Actions<Play>, cats: AgentAccess<Needs>) {
    actions.update(|cat, play| live(&cats, cat, 2, [play.hunger_cost, play.tiredness_cost]));
}
