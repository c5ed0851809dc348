//! The components of a forager, the passing of time, and the wolf.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::prelude::*;
use formic_ecs::Bundle;

/// The duration of a tick, in seconds.
pub(super) const TICK_SECONDS: f32 = 0.1;

/// The needs of a forager, from 0 to 100.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[component(editable)]
#[repr(C)]
pub(super) struct Needs {
    pub(super) hunger: f32,
    pub(super) tiredness: f32,
}

impl Needs {
    /// The increase per second, whatever the forager does.
    const RISE: f32 = 1.0;
    /// The relief of a meal.
    const MEAL: f32 = 30.0;
    /// The relief of a second of sleep.
    const SLEEP: f32 = 8.0;

    pub(super) fn eat(&mut self) {
        self.hunger = (self.hunger - Self::MEAL).max(0.0);
    }

    /// Sleeps for a tick; returns whether the forager is rested now.
    pub(super) fn sleep(&mut self) -> bool {
        self.tiredness = (self.tiredness - Self::SLEEP * TICK_SECONDS).max(0.0);
        self.tiredness <= 0.0
    }
}

/// The number of berries that it has.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Basket(pub(super) u32);

impl Basket {
    /// The capacity.
    pub(super) const FULL: u32 = 5;
}

/// The wolf that visits this forager.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Wolf {
    /// The ticks until it comes; it comes at 0.
    pub(super) ticks: u32,
}

impl Wolf {
    /// The time between its visits, in ticks.
    pub(super) const PERIOD: u32 = 300;
    /// The duration of its visits, in ticks.
    const STAY: u32 = 40;

    pub(super) fn is_near(self) -> bool {
        self.ticks < Self::STAY
    }
}

/// Whether the forager is out of the wolf's reach: 1 or 0.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Shelter(pub(super) u32);

/// The indices of the four actions, in every list of them.
pub(super) const GATHER: usize = 0;
pub(super) const EAT: usize = 1;
pub(super) const SLEEP: usize = 2;
pub(super) const HIDE: usize = 3;

/// Statistics: what the forager has done, and what was done to it.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Books {
    /// The number of ticks spent on each of the four actions.
    pub(super) ticks: [u32; 4],
    pub(super) gathered: u32,
    pub(super) meals: u32,
    /// The number of ticks in which the wolf bit it.
    pub(super) bitten: u32,
}

/// The activity of a forager without a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(u32)]
pub(super) enum Deed {
    Gather,
    Eat,
    Sleep,
    Hide,
}

/// The current activity, and its remaining time if that is known.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[component(name = "formic_demos::minds::if_else::Doing")] // As it is called in saved games.
#[repr(C)]
pub(super) struct Doing {
    pub(super) deed: Deed,
    pub(super) seconds_left: f32,
}

/// Creates a forager in the state in which all crowds begin.
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

/// The components that decision engines read.
pub(super) type Senses = (&'static Needs, &'static Basket, &'static Wolf);

/// Whether it is hungry enough to act on it.
pub(super) fn is_hungry((needs, _, _): &(&Needs, &Basket, &Wolf)) -> bool {
    needs.hunger > 40.0
}

/// Whether it is tired enough to act on it.
pub(super) fn is_tired((needs, _, _): &(&Needs, &Basket, &Wolf)) -> bool {
    needs.tiredness > 60.0
}

pub(super) fn has_berries((_, basket, _): &(&Needs, &Basket, &Wolf)) -> bool {
    basket.0 > 0
}

pub(super) fn is_wolf_near((_, _, wolf): &(&Needs, &Basket, &Wolf)) -> bool {
    wolf.is_near()
}

/// Advances needs and the wolf by a tick.
pub(super) fn live(mut foragers: Query<(&mut Needs, &mut Wolf)>) {
    foragers.par_for_each(|(needs, wolf)| {
        let rise = Needs::RISE * TICK_SECONDS;
        needs.hunger = (needs.hunger + rise).min(100.0);
        needs.tiredness = (needs.tiredness + rise).min(100.0);
        wolf.ticks = (wolf.ticks + 1) % Wolf::PERIOD;
    });
}

/// Counts the foragers that the wolf bites: those not hidden.
pub(super) fn bite(mut foragers: Query<(&Wolf, &Shelter, &mut Books)>) {
    foragers.par_for_each(|(wolf, shelter, books)| {
        books.bitten += u32::from(wolf.is_near() && shelter.0 == 0);
    });
}
