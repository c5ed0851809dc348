//! The actions of cats: one component and one system for each.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::prelude::*;

use super::needs::{Hunger, Temper, TimeSpent, Tiredness};

/// How much time a tick is, in seconds.
pub(super) struct TimeStep {
    pub(super) seconds: f32,
}

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

/// A cat does whatever it does until its mind wants something else, so none of these actions ends
/// by itself.
struct Living<'a, A> {
    cats: AgentAccess<'a, Needs>,
    seconds: f32,
    /// The place of the option, for the books.
    option: usize,
    /// What the action adds to hunger and to tiredness per second.
    rates: fn(&A) -> [f32; 2],
}

impl<A: Component> Processor for Living<'_, A> {
    type Action = A;

    fn update(&self, cat: Agent<'_>, action: &mut A) -> ActionResult {
        let Ok(mut claim) = self.cats.claim(cat) else { return ActionResult::Failed };
        let (hunger, tiredness, spent, temper) = claim.get_mut();
        let [hungrier, more_tired] = (self.rates)(action);
        let hungrier = hungrier * temper.appetite * self.seconds;
        let more_tired = more_tired * temper.drowsiness * self.seconds;
        hunger.0 = (hunger.0 + hungrier).clamp(0.0, 100.0);
        tiredness.0 = (tiredness.0 + more_tired).clamp(0.0, 100.0);
        spent.ticks[self.option] += 1;
        ActionResult::Running
    }
}

pub(super) fn eat(mut actions: Actions<Eat>, cats: AgentAccess<Needs>, time: Res<TimeStep>) {
    let rates = |eat: &Eat| [-eat.hunger_relief, 0.0];
    actions.process(&Living { cats, seconds: time.seconds, option: 0, rates });
}

pub(super) fn sleep(mut actions: Actions<Sleep>, cats: AgentAccess<Needs>, time: Res<TimeStep>) {
    let rates = |sleep: &Sleep| [0.0, -sleep.tiredness_relief];
    actions.process(&Living { cats, seconds: time.seconds, option: 1, rates });
}

pub(super) fn play(mut actions: Actions<Play>, cats: AgentAccess<Needs>, time: Res<TimeStep>) {
    let rates = |play: &Play| [play.hunger_cost, play.tiredness_cost];
    actions.process(&Living { cats, seconds: time.seconds, option: 2, rates });
}
