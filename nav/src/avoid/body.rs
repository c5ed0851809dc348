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
    /// The goal that it came to last.
    home: Vec2,
    /// How much of its way is left, in cells, and the least that was; infinite before it is known.
    left: f32,
    least_left: f32,
    blocked_seconds: f32,
    /// It squeezes past others until no more than this is left of its way.
    squeeze_until: f32,
    /// The part of the last motion that rounding has left to be walked.
    carry: Vec2,
    /// Where it came to rest.
    place: Vec2,
    /// One if it touches others that rest at its goal, or in its place.
    touches_crowd: u32,
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
            home: NOWHERE,
            left: f32::INFINITY,
            least_left: f32::INFINITY,
            blocked_seconds: 0.0,
            squeeze_until: f32::INFINITY,
            carry: Vec2::ZERO,
            place: NOWHERE,
            touches_crowd: 0,
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

    /// For how long the agent has hardly come nearer to its goal along its way than it was
    /// before, in seconds, at most fourteen: a cell that it gets on makes up for five times as
    /// long as it takes to walk it.
    #[must_use]
    pub const fn blocked_seconds(&self) -> f32 {
        self.blocked_seconds
    }

    /// Wishes for a velocity on the way to a goal, of which so many cells are left, if that is
    /// known.
    pub(crate) fn go(&mut self, velocity: Vec2, goal: Vec2, left: Option<f32>) {
        self.wish = velocity;
        self.goal = goal;
        let Some(left) = left else { return };
        if left > self.left + OTHER_WAY {
            (self.least_left, self.squeeze_until) = (left, f32::INFINITY);
        }
        self.left = left;
    }

    /// Has come to its goal, or as near as others let it.
    pub(crate) fn arrive(&mut self, position: Vec2, goal: Vec2) {
        (self.goal, self.home, self.place) = (goal, goal, position);
        self.rest();
    }

    /// Stands where it wants to be.
    pub(crate) fn rest(&mut self) {
        self.wish = Vec2::ZERO;
        self.blocked_seconds = 0.0;
        (self.left, self.least_left) = (f32::INFINITY, f32::INFINITY);
        self.squeeze_until = f32::INFINITY;
    }

    /// Stands where it is because it has no goal.
    pub(crate) fn pause(&mut self) {
        self.rest();
        self.hold();
        self.home = NOWHERE;
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
        self.touches_crowd == 1 && self.blocked_seconds > CROWDED_OUT_SECONDS
    }

    /// Whether it has been taken away from where it came to rest, so that it is none of the crowd
    /// at its goal any longer.
    pub(crate) fn is_away(&self, position: Vec2) -> bool {
        position.distance(self.home) > self.place.distance(self.home) + AWAY
    }

    /// Whether it has been taken away from where it came to rest, and no other pushes it now.
    pub(crate) fn is_left_behind(&self, position: Vec2) -> bool {
        self.is_away(position) && self.velocity.length_squared() < LET_BE * LET_BE
    }

    /// Whether it was at rest at its goal before, and only goes back there.
    pub(crate) fn goes_back(&self) -> bool {
        self.goal == self.home && self.goal != NOWHERE
    }

    /// Whether it has been blocked for so long that it squeezes past others: it and they overlap
    /// for a while.
    #[must_use]
    pub fn is_squeezing(&self) -> bool {
        self.squeeze_until < self.least_left
    }

    /// What came of the wish in a tick of `seconds`. In a `narrow` place
    /// two that meet have no other way than through each other.
    pub(crate) fn moved(
        &mut self,
        velocity: Vec2,
        touches_crowd: bool,
        is_narrow: impl Fn() -> bool,
        speed: f32,
        seconds: f32,
    ) {
        self.velocity = velocity;
        self.touches_crowd = touches_crowd.into();
        if self.wish == Vec2::ZERO {
            return;
        }
        let got_on = (self.least_left - self.left).max(0.0);
        // One that stands, at a speed of zero, has got on by nothing: not by 0 / 0.
        let made_up = if got_on > 0.0 { got_on / (speed * PROGRESS_MIN) } else { 0.0 };
        self.least_left = self.least_left.min(self.left);
        self.blocked_seconds =
            (self.blocked_seconds + seconds - made_up).clamp(0.0, BLOCKED_SECONDS_MAX);
        let is_patient = self.blocked_seconds < PATIENCE_NARROW_SECONDS
            || (self.blocked_seconds < BLOCKED_SECONDS_MAX && !is_narrow());
        if made_up < seconds && !is_patient {
            self.squeeze_until = self.least_left - speed * SQUEEZE_SECONDS;
        }
    }
}

impl Default for Avoid {
    /// Three tenths of a cell.
    fn default() -> Self {
        Self::new(0.3)
    }
}

/// Less than this part of its speed is no progress. What counts is the way that is left and the
/// least that was, for one that circles, or that a stream pushes back whenever it has got on for a
/// moment, moves and gets nowhere.
const PROGRESS_MIN: f32 = 0.2;
/// Farther from its goal than where it came to rest by more than this a body is away, in cells.
const AWAY: f32 = 1.0;
/// One at rest that is slower than this is pushed by no other, in cells per second.
const LET_BE: f32 = 0.05;
/// If so many cells more are left than in the tick before, it is another way: no body is pushed
/// so far in a tick.
const OTHER_WAY: f32 = 4.0;
/// How long one goes on trying that has come to the others around its goal.
const CROWDED_OUT_SECONDS: f32 = 0.5;
/// How long an agent is blocked before it squeezes past the others: queues before doors last for
/// seconds and dissolve.
const BLOCKED_SECONDS_MAX: f32 = 14.0;
/// The same where two meet in a corridor that is too narrow for both: neither would ever go on.
const PATIENCE_NARROW_SECONDS: f32 = 2.0;
/// It squeezes until it has got on by as much as it walks in so many seconds.
const SQUEEZE_SECONDS: f32 = 2.0;
