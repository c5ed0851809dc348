//! The components of units. Places are in metres, times in ticks.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity};
use glam::Vec2;
use serde::{Deserialize, Serialize};

/// How much time a tick is, in seconds.
pub(super) const TICK_SECONDS: f32 = 0.1;

/// Where something is.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Position(pub(super) Vec2);

/// Which way and how fast it goes, in metres per second.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Velocity(pub(super) Vec2);

/// Whose it is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(u32)]
pub(super) enum Side {
    Red,
    Blue,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Red, Self::Blue];

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Red => Self::Blue,
            Self::Blue => Self::Red,
        }
    }
}

/// How much a unit can take.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Hull {
    pub(super) points: u32,
    pub(super) points_max: u32,
}

impl Hull {
    pub(super) const fn new(points: u32) -> Self {
        Self { points, points_max: points }
    }

    pub(super) const fn is_hurt(self) -> bool {
        self.points * 3 < self.points_max
    }

    /// Mends a little; whether it is whole now.
    pub(super) fn mend(&mut self, points: u32) -> bool {
        self.points = (self.points + points).min(self.points_max);
        self.points == self.points_max
    }
}

/// What a unit aims at.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Aim {
    /// Meaningless where there is no target.
    #[component(entity)]
    pub(super) target: Entity,
    pub(super) at: Vec2,
    /// How far the target moves, in metres per second.
    pub(super) motion: Vec2,
    /// Infinite where there is no target.
    pub(super) distance: f32,
    /// Padding would have no defined bytes.
    pub(super) unused: u32,
}

impl Aim {
    pub(super) const fn none(target: Entity) -> Self {
        Self { target, at: Vec2::ZERO, motion: Vec2::ZERO, distance: f32::INFINITY, unused: 0 }
    }

    pub(super) fn has_target(&self) -> bool {
        self.distance.is_finite()
    }
}

/// Which squadron a unit belongs to: that of this admiral.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Member {
    #[component(entity)]
    pub(super) admiral: Entity,
}

/// Where in its squadron a ship flies, as an offset from the point that the admiral names.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Station(pub(super) Vec2);

/// On an admiral: where its ships are to be, and where they come from.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Orders {
    pub(super) point: Vec2,
    pub(super) base: Vec2,
    pub(super) foe_base: Vec2,
}

/// On an admiral: how many units its squadron has, and has room for.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Strength {
    pub(super) ships: u32,
    pub(super) turrets: u32,
    pub(super) ships_max: u32,
    pub(super) turrets_max: u32,
}

/// On an admiral: what it knows, and what it has asked for.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct War {
    /// The admiral of the other side; itself where there is none.
    #[component(entity)]
    pub(super) foe: Entity,
    /// Where the random numbers of its units come from.
    pub(super) seed: u64,
    /// The ships of the foe.
    pub(super) foe_ships: u32,
    /// For so many ticks it knows where the enemy is.
    pub(super) known_ticks: u32,
    /// For so many ticks its ships are together.
    pub(super) mustered_ticks: u32,
    /// 1 while an enemy is near the base.
    pub(super) threatened: u32,
    /// 1 when the dockyard is to make good the losses.
    pub(super) called: u32,
    /// How many units it was ever given.
    pub(super) built: u32,
}

impl War {
    /// Before the first report, against none yet.
    pub(super) fn new(foe: Entity, seed: u64) -> Self {
        Self {
            foe,
            seed,
            foe_ships: 0,
            known_ticks: 0,
            mustered_ticks: 0,
            threatened: 0,
            called: 0,
            built: 0,
        }
    }

    /// The squadrons are of one size, so its own says how many ships the enemy should have.
    pub(super) fn is_beaten(&self, strength: &Strength) -> bool {
        self.foe_ships * 3 <= strength.ships_max
    }
}

/// A gun, and how hot it is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Gun {
    /// The state of a random stream: no shot is quite straight.
    pub(super) random: u64,
    /// Ticks until the next shot.
    pub(super) reload: u32,
    pub(super) heat: u32,
    /// How much hotter a shot makes it; 0 for the guns of ships, which the wind cools.
    pub(super) heat_per_shot: u32,
    /// Padding would have no defined bytes.
    pub(super) unused: u32,
}

/// Something that flies straight on until it hits or its time is up.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Bullet {
    pub(super) ticks_left: u32,
    /// Whom it does not hit.
    pub(super) side: Side,
}

/// What systems have counted since the war began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Toll {
    pub(super) fired: u64,
    pub(super) hits: u64,
    pub(super) ships_lost: u64,
    pub(super) turrets_lost: u64,
    pub(super) ships_built: u64,
    pub(super) turrets_built: u64,
}
