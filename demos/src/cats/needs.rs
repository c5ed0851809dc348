//! The components of a cat.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::Component;

/// Hunger, from 0 (not hungry) to 100 (starving).
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[component(editable)]
#[repr(transparent)]
pub(super) struct Hunger(pub(super) f32);

/// Tiredness, from 0 (not tired) to 100 (exhausted).
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[component(editable)]
#[repr(transparent)]
pub(super) struct Tiredness(pub(super) f32);

/// How fast needs rise and fall, as factors, so that cats differ.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Temper {
    pub(super) appetite: f32,
    pub(super) drowsiness: f32,
}

/// The number of ticks that a cat spent on each of its options, in their order.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct TimeSpent {
    pub(super) ticks: [u32; 3],
}
