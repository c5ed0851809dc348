//! The components of units. Positions are in metres, times in ticks.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity};
use glam::Vec2;
use serde::{Deserialize, Serialize};

/// The duration of a tick, in seconds.
pub(super) const TICK_SECONDS: f32 = 0.1;

/// The position of an entity.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Position(pub(super) Vec2);

/// The velocity of an entity, in metres per second.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Velocity(pub(super) Vec2);

/// The side that an entity belongs to.
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

/// The hull points of a unit.
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

    /// Repairs some points; returns whether the hull is whole now.
    pub(super) fn mend(&mut self, points: u32) -> bool {
        self.points = (self.points + points).min(self.points_max);
        self.points == self.points_max
    }
}

/// The target of a unit.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Aim {
    /// Meaningless if there is no target.
    #[component(entity)]
    pub(super) target: Entity,
    pub(super) at: Vec2,
    /// The velocity of the target, in metres per second.
    pub(super) motion: Vec2,
    /// Infinite if there is no target.
    pub(super) distance: f32,
    /// Explicit, because padding would have no defined bytes.
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

/// The squadron that a unit belongs to: that of this admiral.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Member {
    #[component(entity)]
    pub(super) admiral: Entity,
}

/// The place of a ship in its squadron, as an offset from the point that the admiral names.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Station(pub(super) Vec2);

/// On an admiral: the destination and the base of its ships.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Orders {
    pub(super) point: Vec2,
    pub(super) base: Vec2,
    pub(super) foe_base: Vec2,
}

/// On an admiral: the number of units of its squadron, and the maximum.
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
    /// The admiral of the other side; itself if there is none.
    #[component(entity)]
    pub(super) foe: Entity,
    /// The seed of the random numbers of its units.
    pub(super) seed: u64,
    /// The number of the foe's ships.
    pub(super) foe_ships: u32,
    /// The number of ticks for which it still knows where the enemy is.
    pub(super) known_ticks: u32,
    /// The number of ticks for which its ships still stay together.
    pub(super) mustered_ticks: u32,
    /// 1 while an enemy is near the base.
    pub(super) threatened: u32,
    /// 1 if the dockyard is to replace the losses.
    pub(super) called: u32,
    /// The number of units it was ever given.
    pub(super) built: u32,
}

impl War {
    /// Creates the state before the first report, without a known enemy.
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

    /// Whether the enemy is beaten. All squadrons have the same size, so its own says how many ships the
    /// enemy should have.
    pub(super) fn is_beaten(&self, strength: &Strength) -> bool {
        self.foe_ships * 3 <= strength.ships_max
    }
}

/// A gun, and its heat.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Gun {
    /// The state of a random stream: no shot is quite straight.
    pub(super) random: u64,
    /// Ticks until the next shot.
    pub(super) reload: u32,
    pub(super) heat: u32,
    /// The heat that a shot adds; 0 for the guns of ships, which the wind cools.
    pub(super) heat_per_shot: u32,
    /// Explicit, because padding would have no defined bytes.
    pub(super) unused: u32,
}

/// A bullet, which flies straight until it hits or its time is up.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Bullet {
    pub(super) ticks_left: u32,
    /// The side that it does not hit.
    pub(super) side: Side,
}

/// The counts of systems since the war began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Toll {
    pub(super) fired: u64,
    pub(super) hits: u64,
    pub(super) ships_lost: u64,
    pub(super) turrets_lost: u64,
    pub(super) ships_built: u64,
    pub(super) turrets_built: u64,
}
