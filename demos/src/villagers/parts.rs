//! The components of the village.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::activity::{Event, EventKinds};
use formic_ecs::{Codec, Component, Entity};
use glam::Vec2;
use serde::{Deserialize, Serialize};

/// The position of an entity, in metres.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Position(pub(super) Vec2);

/// A villager is walking to a place; disabled on arrival.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[component(enableable)]
#[repr(C)]
pub(super) struct Walk {
    pub(super) to: Vec2,
    /// The number of the token to be answered.
    pub(super) request: u32,
}

/// A villager is breaking a block; disabled once it is broken.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(enableable)]
#[repr(C)]
pub(super) struct Dig {
    /// The block, as bits; 0 before the first.
    pub(super) block: u64,
    pub(super) ticks_left: u32,
    pub(super) unused: u32,
}

/// A villager has a pickaxe in hand, while enabled.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub(super) struct Pickaxe;

/// A block of stone: whole, loose, or carried by a villager.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Block {
    /// The villager that carries it, as bits; 0 for none.
    carrier: u64,
    /// The time it takes to break it out, in ticks.
    pub(super) ticks: u32,
    pub(super) unused: u32,
}

impl Block {
    /// Creates a block in the rock that takes `ticks` to break out.
    pub(super) fn whole(ticks: u32) -> Self {
        Self { carrier: 0, ticks, unused: 0 }
    }

    /// Creates a stone carried by a villager.
    pub(super) fn carried(by: Entity) -> Self {
        Self { carrier: by.to_bits(), ticks: 1, unused: 0 }
    }

    pub(super) fn carrier(self) -> Option<Entity> {
        Entity::from_bits(self.carrier)
    }
}

/// A wolf that villagers flee from, and its destination.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Wolf {
    pub(super) to: Vec2,
    pub(super) random: u64,
}

/// Statistics: what a villager has done, and when it last ate.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Books {
    /// The tick of the last meal.
    pub(super) ate_at: u64,
    /// The number of ticks after which it is hungry.
    pub(super) hungry_after: u32,
    pub(super) equipped: u32,
    pub(super) broken: u32,
    pub(super) hauled: u32,
    pub(super) dropped: u32,
    pub(super) meals: u32,
    pub(super) flights: u32,
    pub(super) unused: u32,
}

impl Books {
    pub(super) fn is_hungry(&self, now: u64) -> bool {
        now.saturating_sub(self.ate_at) > u64::from(self.hungry_after)
    }
}

/// An event about a villager or a thing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Happening {
    /// The walker, which is the subject, has arrived.
    Arrived,
    /// The block, which is the subject, was broken out and is carried away.
    Broken,
}

pub(super) const ARRIVED: EventKinds = EventKinds::one(0);
pub(super) const BROKEN: EventKinds = EventKinds::one(1);

impl Event for Happening {
    const CODEC: Codec<Self> = Codec::serde();

    fn kind(&self) -> EventKinds {
        match self {
            Self::Arrived => ARRIVED,
            Self::Broken => BROKEN,
        }
    }

    fn kind_name(number: u32) -> Option<&'static str> {
        ["the arrival", "the breaking"].get(number as usize).copied()
    }
}
