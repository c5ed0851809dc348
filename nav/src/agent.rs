//! The components of every agent: where it is, how fast it walks, and its statistics.

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Component, HashState};
use glam::Vec2;

use crate::cell::Cell;

/// Where an agent stands, in cells: the middle of cell (2, 7) is (2.5, 7.5).
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[component(editable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Position(pub Vec2);

impl Position {
    /// The cell that the agent stands in, or `None` where no cell can be.
    #[must_use]
    pub fn cell(self) -> Option<Cell> {
        Cell::containing(self.0)
    }
}

/// The direction of an agent's last motion, of length one.
///
/// It is written only when there is a direction: an agent that stands still goes
/// on looking to where it came.
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[component(editable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Facing(pub Vec2);

impl Default for Facing {
    /// To the south, towards the viewer of the map.
    fn default() -> Self {
        Self(Vec2::Y)
    }
}

/// How fast an agent walks, in cells per second. Less than zero, endless, and what is no
/// number is as zero; more than a million is as a million.
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[component(editable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Speed(pub f32);

impl Speed {
    /// The cells that an agent walks in a second.
    pub(crate) fn per_second(self) -> f32 {
        amount(self.0)
    }
}

/// A number of cells or seconds that can be multiplied and squared: zero for what is less, endless,
/// or no number, and a million for what is more.
fn amount(value: f32) -> f32 {
    if value.is_finite() { value.clamp(0.0, 1e6) } else { 0.0 }
}

/// How near to its goal an agent is there, in cells.
pub(crate) const ARRIVAL_DISTANCE: f32 = 0.1;

/// The part of an intended motion that coordinates of 32 bits have no room for, to be
/// added to the next motion.
///
/// Far from the origin a position moves by a thousandth of a cell or not at all. What is lost
/// counts once it is a hundredth of the motion.
pub(crate) fn lost_to_rounding(intended: f32, moved: f32) -> f32 {
    let lost = intended - moved;
    if lost.abs() > intended.abs() * 0.01 { lost } else { 0.0 }
}

/// Counts of what one agent has met with so far.
///
/// Counted per agent and not in one place, so that agents can be handled on many
/// threads and the sums are still the same.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct PathStats {
    /// Requests answered by a path.
    pub paths_found: u32,
    /// Requests answered by a path to the reachable cell nearest to the goal.
    pub paths_partial: u32,
    /// Requests answered by a reason why there is no path.
    pub paths_unreachable: u32,
    /// Paths that an edit broke ahead of the agent, and that were asked for anew.
    pub paths_broken: u32,
    /// Goals reached.
    pub arrivals: u32,
    /// Times that the cell under the agent became solid and it was put aside.
    pub pushed_out: u32,
}

impl PathStats {
    /// How many requests were answered.
    pub(crate) fn answer_count(&self) -> u64 {
        u64::from(self.paths_found)
            + u64::from(self.paths_partial)
            + u64::from(self.paths_unreachable)
    }
}

/// How much time one tick stands for. A resource.
///
/// Nothing here reads a clock: the same ticks give the same world, however long
/// they took.
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct TimeStep {
    /// Simulated seconds per tick. Less than zero, endless, and what is no number is as zero:
    /// agents stand. More than a million is as a million.
    pub seconds: f32,
}

impl TimeStep {
    /// The seconds that pass.
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
