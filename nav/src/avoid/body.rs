//! The body of an agent that gives way to others.

use bytemuck::{Pod, Zeroable};
use formic_ecs::Component;
use glam::Vec2;

use crate::agent::lost_to_rounding;

/// Stands for "no goal": a place where no cell can be.
pub(crate) const NOWHERE: Vec2 = Vec2::splat(-1.0);

/// Makes an agent give way to others that have this component as well.
///
/// Without it agents walk through each other, along the very line of their paths. With
/// it [`follow`](crate::systems::follow) and
/// [`follow_flow`](crate::systems::follow_flow) only say where an agent would like to
/// go, and [`avoid`](crate::systems::avoid) moves it: as near to that as the others
/// let it, and never through solid cells. One of a [class](crate::ClassId) of several cells is
/// half a cell wider for each cell more than one.
///
/// ```
/// use formic_ecs::World;
/// use formic_nav::{Avoid, systems};
/// let mut world = World::new();
/// world.spawn((systems::agent((2.5, 3.5).into(), 2.0), Avoid::new(0.3)));
/// ```
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Avoid {
    radius: f32,
    velocity: Vec2,
    /// The velocity that it would like to have in this tick.
    pub(crate) wish: Vec2,
    /// Where it goes, or came to last.
    pub(crate) goal: Vec2,
    blocked_seconds: f32,
    /// How much of its wish it gets, on average over the last half second.
    progress: f32,
    /// For how long that has been next to nothing, less what it has got on since.
    stuck_seconds: f32,
    /// For how long it squeezes past others, once it gets on.
    squeeze_seconds: f32,
    /// The part of the last motion that rounding has left to be walked.
    carry: Vec2,
    /// A [`Crowding`] as a number, for the sake of plain bytes.
    crowding: u32,
}

/// How an agent stands to those who rest at its goal, or in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crowding {
    /// It touches none of them.
    None,
    /// It touches one, farther away from the goal than they all need to be.
    Outside,
    /// It touches one, and there is hardly room any nearer, or that one is in its place.
    Within,
}

impl Avoid {
    /// The greatest radius, in cells: it still fits into a corridor of one cell.
    pub const RADIUS_MAX: f32 = 0.45;

    /// A body of `radius` cells, between a twentieth of a cell and
    /// [`Avoid::RADIUS_MAX`]; other values are taken for the nearest of these.
    #[must_use]
    pub const fn new(radius: f32) -> Self {
        let radius = if radius >= Self::RADIUS_MAX {
            Self::RADIUS_MAX
        } else if radius >= 0.05 {
            radius
        } else {
            // What is not a number as well.
            0.05
        };
        let (velocity, wish) = (Vec2::ZERO, Vec2::ZERO);
        Self {
            radius,
            velocity,
            wish,
            goal: NOWHERE,
            blocked_seconds: 0.0,
            progress: 1.0,
            stuck_seconds: 0.0,
            squeeze_seconds: 0.0,
            carry: Vec2::ZERO,
            crowding: 0,
        }
    }

    /// The radius of the body, in cells.
    #[must_use]
    pub const fn radius(&self) -> f32 {
        self.radius
    }

    /// The velocity of the last tick, in cells per second.
    #[must_use]
    pub const fn velocity(&self) -> Vec2 {
        self.velocity
    }

    /// For how long the agent has hardly come nearer to where it wants to go, in
    /// seconds.
    #[must_use]
    pub const fn blocked_seconds(&self) -> f32 {
        self.blocked_seconds
    }

    /// Wishes for a velocity on the way to a goal.
    pub(crate) fn go(&mut self, velocity: Vec2, goal: Vec2) {
        self.wish = velocity;
        self.goal = goal;
    }

    /// Stands where it wants to be.
    pub(crate) fn rest(&mut self) {
        self.wish = Vec2::ZERO;
        self.blocked_seconds = 0.0;
        (self.progress, self.stuck_seconds, self.squeeze_seconds) = (1.0, 0.0, 0.0);
    }

    /// Stands where it is because it has no goal.
    pub(crate) fn pause(&mut self) {
        self.rest();
        self.hold();
    }

    /// Stands for a tick, until there is a way again. It is none of those that rest at its goal.
    pub(crate) fn hold(&mut self) {
        self.wish = Vec2::ZERO;
        self.goal = NOWHERE;
    }

    /// A motion together with what rounding has left of the one before.
    pub(crate) fn with_carry(&mut self, position: Vec2, motion: Vec2) -> Vec2 {
        if motion == Vec2::ZERO {
            self.carry = Vec2::ZERO;
            return motion;
        }
        let intended = motion + self.carry;
        let moved = (position + intended) - position;
        self.carry =
            Vec2::new(lost_to_rounding(intended.x, moved.x), lost_to_rounding(intended.y, moved.y));
        intended
    }

    /// Whether there is no getting any nearer to the goal, since others rest there.
    pub(crate) fn is_crowded_out(&self) -> bool {
        let patience = match self.crowding {
            WITHIN => CROWDED_OUT_SECONDS,
            OUTSIDE => GIVE_UP_SECONDS,
            _ => return false,
        };
        self.blocked_seconds > patience
    }

    /// Whether it has been stuck for so long that it squeezes past those who go another way,
    /// or rest: it and they overlap for a while.
    #[must_use]
    pub fn is_squeezing(&self) -> bool {
        self.squeeze_seconds > 0.0
    }

    /// What came of the wish in a tick of `seconds`. In a `narrow` place two that meet have no
    /// other way than through each other.
    pub(crate) fn moved(
        &mut self,
        velocity: Vec2,
        crowding: Crowding,
        is_narrow: bool,
        seconds: f32,
    ) {
        self.velocity = velocity;
        self.crowding = crowding as u32;
        let wished = self.wish.length_squared();
        if wished == 0.0 {
            return;
        }
        let progress = velocity.dot(self.wish) / wished;
        let part = (seconds / PROGRESS_SECONDS).min(1.0);
        self.progress += (progress - self.progress) * part;
        self.blocked_seconds =
            if progress > PROGRESS_MIN { 0.0 } else { self.blocked_seconds + seconds };
        // On average, for one that is shaken to and fro gets nowhere. Nor does one that a stream pushes
        // back whenever it has got on for a moment, so that does not make up for all.
        if self.progress > PROGRESS_MIN {
            self.stuck_seconds = (self.stuck_seconds - seconds * MAKE_UP).max(0.0);
            self.squeeze_seconds = (self.squeeze_seconds - seconds).max(0.0);
            return;
        }
        let limit = if is_narrow { STUCK_NARROW_SECONDS } else { STUCK_SECONDS };
        self.stuck_seconds = (self.stuck_seconds + seconds).min(limit);
        if self.stuck_seconds >= limit {
            self.squeeze_seconds = SQUEEZE_SECONDS;
        }
    }
}

impl Default for Avoid {
    /// Three tenths of a cell.
    fn default() -> Self {
        Self::new(0.3)
    }
}

const OUTSIDE: u32 = Crowding::Outside as u32;
const WITHIN: u32 = Crowding::Within as u32;

/// Less than this part of the wished speed in the wished direction is no progress.
const PROGRESS_MIN: f32 = 0.1;
/// Over how long progress is averaged.
const PROGRESS_SECONDS: f32 = 0.5;
/// How long one goes on trying that has come to the others around its goal.
const CROWDED_OUT_SECONDS: f32 = 0.5;
/// How long one goes on trying that has come to the others, but not near.
const GIVE_UP_SECONDS: f32 = 3.0;
/// How long an agent is stuck before it squeezes past the others: where two meet who are too
/// wide for the corridor, neither would ever go on.
const STUCK_NARROW_SECONDS: f32 = 2.0;
/// The same where there is room: queues before doors last for seconds and dissolve.
const STUCK_SECONDS: f32 = 12.0;
/// How much of a second of being stuck a second of getting on makes up for.
const MAKE_UP: f32 = 0.25;
/// How long squeezing lasts once the agent gets on, or it would end between the two.
const SQUEEZE_SECONDS: f32 = 2.0;
