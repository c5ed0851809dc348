//! The components of every agent: position, speed, and statistics.

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Component, HashState};
use glam::Vec2;

use crate::cell::Cell;

/// The position of an agent, in cells: the centre of cell (2, 7) is (2.5, 7.5).
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[component(editable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Position(pub Vec2);

impl Position {
    /// The cell in which the agent stands, or `None` if no cell can be there.
    #[must_use]
    pub fn cell(self) -> Option<Cell> {
        Cell::containing(self.0)
    }
}

/// The direction of an agent's last motion, of length one.
///
/// It is written only if there is a direction: an agent that stands still keeps the direction of its last
/// motion.
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[component(editable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Facing(pub Vec2);

impl Default for Facing {
    /// South, towards the viewer of the map.
    fn default() -> Self {
        Self(Vec2::Y)
    }
}

/// The speed of an agent, in cells per second. Negative, infinite and NaN values count as zero, values
/// above a million as a million.
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[component(editable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Speed(pub f32);

impl Speed {
    /// The number of cells that an agent walks in a second.
    pub(crate) fn per_second(self) -> f32 {
        amount(self.0)
    }

    /// The number of cells that it walks in a tick, with what rounding has left of the one before.
    pub(crate) fn reach(self, seconds: f32, carry: f32) -> f32 {
        let reach = self.per_second() * seconds;
        if reach > 0.0 { reach + carry } else { 0.0 }
    }
}

/// Clamps a number of cells or seconds so that it can be multiplied and squared: to zero if it is
/// negative, infinite or NaN, and to at most a million.
fn amount(value: f32) -> f32 {
    if value.is_finite() { value.clamp(0.0, 1e6) } else { 0.0 }
}

/// Clamps a number; NaN becomes the minimum.
pub(crate) const fn clamp(value: f32, low: f32, high: f32) -> f32 {
    if value >= low { value.min(high) } else { low }
}

/// The distance to its goal at which an agent has arrived, in cells.
pub(crate) const ARRIVAL_DISTANCE: f32 = 0.1;

/// The part of an intended motion that rounding to 32-bit coordinates lost, to be added to the next
/// motion.
///
/// Far from the origin a position moves by a thousandth of a cell or not at all. A loss counts once it is
/// a hundredth of the motion.
pub(crate) fn lost_to_rounding(intended: f32, moved: f32) -> f32 {
    let lost = intended - moved;
    if lost.abs() > intended.abs() * 0.01 { lost } else { 0.0 }
}

/// Moves a position along an offset, which is longer than `reach`, by that. Returns what rounding has
/// left of the reach.
pub(crate) fn walk_part(position: &mut Vec2, offset: Vec2, reach: f32) -> f32 {
    let (before, distance) = (*position, offset.length());
    *position += offset * (reach / distance);
    lost_to_rounding(reach, (*position - before).dot(offset) / distance)
}

/// The path statistics of one agent.
///
/// They are counted per agent and not in one place, so that many threads can handle agents and the sums
/// are still the same.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct PathStats {
    /// Requests answered by a path.
    pub paths_found: u32,
    /// Requests answered by a path to the reachable cell nearest to the goal.
    pub paths_partial: u32,
    /// Requests answered by a reason why there is no path.
    pub paths_unreachable: u32,
    /// Paths that an edit broke ahead of the agent, and that were requested again.
    pub paths_broken: u32,
    /// Goals reached, and ends of paths to the reachable cell nearest to a goal.
    pub arrivals: u32,
    /// Times that the cell under the agent became solid and it was moved out.
    pub pushed_out: u32,
}

impl PathStats {
    /// The number of requests that were answered.
    pub(crate) fn answer_count(&self) -> u64 {
        u64::from(self.paths_found)
            + u64::from(self.paths_partial)
            + u64::from(self.paths_unreachable)
    }
}

/// The time that one tick simulates. A resource; the default is a twentieth of a second.
///
/// Nothing here reads a clock: the same ticks give the same world, however long they took.
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct TimeStep {
    /// Simulated seconds per tick. Negative, infinite and NaN values count as zero: agents stand. Values
    /// above a million count as a million.
    pub seconds: f32,
}

impl TimeStep {
    /// The simulated seconds of a tick.
    pub(crate) fn elapsed(self) -> f32 {
        amount(self.seconds)
    }
}

impl Default for TimeStep {
    /// Twenty ticks a second.
    fn default() -> Self {
        Self { seconds: 0.05 }
    }
}
