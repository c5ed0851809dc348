//! The components of a forager, and the passing of time and of the wolf.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::prelude::*;
use formic_ecs::Bundle;

/// How much time a tick is, in seconds.
pub(super) const TICK_SECONDS: f32 = 0.1;

/// From 0 to 100.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[component(editable)]
#[repr(C)]
pub(super) struct Needs {
    pub(super) hunger: f32,
    pub(super) tiredness: f32,
}

impl Needs {
    /// More per second, whatever one does.
    const RISE: f32 = 1.0;
    /// What a meal takes away.
    const MEAL: f32 = 30.0;
    /// What a second of sleep takes away.
    const SLEEP: f32 = 8.0;

    pub(super) fn eat(&mut self) {
        self.hunger = (self.hunger - Self::MEAL).max(0.0);
    }

    /// Sleeps for a tick; whether it is rested now.
    pub(super) fn sleep(&mut self) -> bool {
        self.tiredness = (self.tiredness - Self::SLEEP * TICK_SECONDS).max(0.0);
        self.tiredness <= 0.0
    }
}

/// How many berries it has.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Basket(pub(super) u32);

impl Basket {
    /// More do not fit in.
    pub(super) const FULL: u32 = 5;
}

/// Where the wolf is, as far as this forager is concerned.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Wolf {
    /// It comes at 0.
    pub(super) ticks: u32,
}

impl Wolf {
    /// It comes that often.
    pub(super) const PERIOD: u32 = 300;
    /// It stays that long.
    const STAY: u32 = 40;

    pub(super) fn is_near(self) -> bool {
        self.ticks < Self::STAY
    }
}

/// Whether it is out of the wolf's reach: 1 or 0.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Shelter(pub(super) u32);

/// The places of the four things to do, in every list of them.
pub(super) const GATHER: usize = 0;
pub(super) const EAT: usize = 1;
pub(super) const SLEEP: usize = 2;
pub(super) const HIDE: usize = 3;

/// What it has done, and what has been done to it.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Books {
    /// For how many ticks it did each of the four things.
    pub(super) ticks: [u32; 4],
    pub(super) gathered: u32,
    pub(super) meals: u32,
    /// For how many ticks the wolf had it.
    pub(super) bitten: u32,
}

/// What a forager does that has no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(u32)]
pub(super) enum Deed {
    Gather,
    Eat,
    Sleep,
    Hide,
}

/// What it does, and for how long yet if that is known.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[component(name = "formic_demos::minds::if_else::Doing")] // As it is called in saved games.
#[repr(C)]
pub(super) struct Doing {
    pub(super) deed: Deed,
    pub(super) seconds_left: f32,
}

/// A forager in the state that all crowds begin with.
pub(super) fn body(mut random: RandomStream) -> impl Bundle {
    let wolf = Wolf::PERIOD / 2 + u32::try_from(random.below(40)).unwrap_or_default();
    (
        Needs { hunger: random.between(0.0, 60.0), tiredness: random.between(0.0, 60.0) },
        Basket(0),
        Wolf { ticks: wolf },
        Shelter(0),
        Books::default(),
    )
}

/// What minds look at.
pub(super) type Senses = (&'static Needs, &'static Basket, &'static Wolf);

/// Hungry enough to do something about it.
pub(super) fn is_hungry((needs, _, _): &(&Needs, &Basket, &Wolf)) -> bool {
    needs.hunger > 40.0
}

/// Tired enough to do something about it.
pub(super) fn is_tired((needs, _, _): &(&Needs, &Basket, &Wolf)) -> bool {
    needs.tiredness > 60.0
}

pub(super) fn has_berries((_, basket, _): &(&Needs, &Basket, &Wolf)) -> bool {
    basket.0 > 0
}

pub(super) fn is_wolf_near((_, _, wolf): &(&Needs, &Basket, &Wolf)) -> bool {
    wolf.is_near()
}

/// Time passes, and the wolf goes its rounds.
pub(super) fn live(mut foragers: Query<(&mut Needs, &mut Wolf)>) {
    foragers.par_for_each(|(needs, wolf)| {
        let rise = Needs::RISE * TICK_SECONDS;
        needs.hunger = (needs.hunger + rise).min(100.0);
        needs.tiredness = (needs.tiredness + rise).min(100.0);
        wolf.ticks = (wolf.ticks + 1) % Wolf::PERIOD;
    });
}

/// The wolf has those who are not hidden.
pub(super) fn bite(mut foragers: Query<(&Wolf, &Shelter, &mut Books)>) {
    foragers.par_for_each(|(wolf, shelter, books)| {
        books.bitten += u32::from(wolf.is_near() && shelter.0 == 0);
    });
}
