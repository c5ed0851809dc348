//! The body of an agent that gives way to others.

use bytemuck::{Pod, Zeroable};
use formic_ecs::Component;
use glam::Vec2;

use crate::agent::{clamp, lost_to_rounding};

/// The minimum radius, in cells.
const RADIUS_MIN: f32 = 0.05;
/// Stands for "no goal": a position where no cell can be.
pub(crate) const NOWHERE: Vec2 = Vec2::splat(-1.0);

/// Makes an agent give way to others that have this component as well.
///
/// Without it agents walk through each other, exactly along their paths. With it
/// [`follow`](crate::systems::follow) and [`follow_flow`](crate::systems::follow_flow) only set the
/// velocity that an agent would like to have, its *wish*. [`avoid`](crate::systems::avoid) moves it as
/// close to that as the others let it, and never through solid cells. An agent of a
/// [class](crate::ClassId) of several cells is half a cell wider for each cell more than one.
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
    /// The velocity that the agent would like to have in this tick.
    pub(crate) wish: Vec2,
    /// The current goal, or the last one reached.
    pub(crate) goal: Vec2,
    /// The last goal that was reached.
    home: Vec2,
    /// The length of the path that is left, in cells, and the minimum of that so far; infinite while
    /// unknown.
    left: f32,
    least_left: f32,
    blocked_seconds: f32,
    /// The agent squeezes past others until no more than this is left of its path.
    squeeze_until: f32,
    /// The part of the last motion that rounding has left to walk.
    carry: Vec2,
    /// The position where the agent came to rest.
    place: Vec2,
    /// One if the agent touches others that rest at its goal, or in its place.
    touches_crowd: u32,
}

impl Avoid {
    /// The maximum radius, in cells: such a body still fits into a corridor of one cell.
    pub const RADIUS_MAX: f32 = 0.45;

    /// Creates a body of `radius` cells, clamped to a twentieth of a cell and [`Avoid::RADIUS_MAX`].
    #[must_use]
    pub const fn new(radius: f32) -> Self {
        let (velocity, wish) = (Vec2::ZERO, Vec2::ZERO);
        Self {
            radius: clamp(radius, RADIUS_MIN, Self::RADIUS_MAX),
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
        // From a save it may be any number.
        clamp(self.radius, RADIUS_MIN, Self::RADIUS_MAX)
    }

    /// The velocity of the last tick, in cells per second.
    #[must_use]
    pub const fn velocity(&self) -> Vec2 {
        self.velocity
    }

    /// For how long the agent has hardly come nearer to its goal along its path, in seconds; at most
    /// fourteen. Each cell of progress takes off five times the time that it takes to walk it.
    #[must_use]
    pub const fn blocked_seconds(&self) -> f32 {
        self.blocked_seconds
    }

    /// Sets the wish to a velocity on the path to `goal`, of which `left` cells are left, if that is
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

    /// Notes that the agent has come to its goal, or as near as others let it.
    pub(crate) fn arrive(&mut self, position: Vec2, goal: Vec2) {
        (self.goal, self.home, self.place) = (goal, goal, position);
        self.rest();
    }

    /// Makes the agent stand, content with its position.
    pub(crate) fn rest(&mut self) {
        self.wish = Vec2::ZERO;
        self.blocked_seconds = 0.0;
        (self.left, self.least_left) = (f32::INFINITY, f32::INFINITY);
        self.squeeze_until = f32::INFINITY;
    }

    /// Makes the agent stand, because it has no goal.
    pub(crate) fn pause(&mut self) {
        self.rest();
        self.hold();
        self.home = NOWHERE;
    }

    /// Makes the agent stand for a tick, until it has a path again. It does not count among those that
    /// rest at its goal.
    pub(crate) fn hold(&mut self) {
        self.wish = Vec2::ZERO;
        self.goal = NOWHERE;
    }

    /// Returns a motion plus the part that rounding has left of the one before.
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

    /// Whether the agent can come no nearer to its goal, because others rest there.
    pub(crate) fn is_crowded_out(&self) -> bool {
        self.touches_crowd == 1 && self.blocked_seconds > CROWDED_OUT_SECONDS
    }

    /// Whether the agent was moved away from where it came to rest, so that it no longer belongs to the
    /// crowd at its goal.
    pub(crate) fn is_away(&self, position: Vec2) -> bool {
        position.distance(self.home) > self.place.distance(self.home) + AWAY
    }

    /// Whether the agent was moved away from where it came to rest, and is no longer pushed.
    pub(crate) fn is_left_behind(&self, position: Vec2) -> bool {
        self.is_away(position) && self.velocity.length_squared() < LET_BE * LET_BE
    }

    /// Whether the agent was at rest at its goal before, and only goes back there.
    pub(crate) fn goes_back(&self) -> bool {
        self.goal == self.home && self.goal != NOWHERE
    }

    /// Whether the agent has been blocked for so long that it squeezes past others: they overlap for a
    /// while.
    #[must_use]
    pub fn is_squeezing(&self) -> bool {
        self.squeeze_until < self.least_left
    }

    /// Notes the motion that resulted from the wish in a tick of `seconds`. In a `narrow` place two
    /// agents that meet can only pass through each other.
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
        // The test keeps an agent that stands, at a speed of zero, from computing 0 / 0.
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
    /// Creates a body with a radius of three tenths of a cell.
    fn default() -> Self {
        Self::new(0.3)
    }
}

/// Less than this part of the speed is no progress. Progress is measured by the path that is left and the
/// minimum of that. So an agent that circles, or that a stream pushes back after each step forward, moves
/// and makes no progress.
const PROGRESS_MIN: f32 = 0.2;
/// A body is away if it is farther from its goal than its place of rest by more than this, in cells.
const AWAY: f32 = 1.0;
/// A body at rest that is slower than this is not pushed, in cells per second.
const LET_BE: f32 = 0.05;
/// If this many cells more are left than in the tick before, the agent has another path: no body is
/// pushed so far in a tick.
const OTHER_WAY: f32 = 4.0;
/// How long an agent that has reached the others around its goal goes on trying.
const CROWDED_OUT_SECONDS: f32 = 0.5;
/// How long an agent is blocked before it squeezes past the others. Queues before doors last for seconds,
/// and dissolve.
const BLOCKED_SECONDS_MAX: f32 = 14.0;
/// The same in a corridor that is too narrow for two agents that meet: neither could ever go on.
const PATIENCE_NARROW_SECONDS: f32 = 2.0;
/// An agent squeezes until its progress is what it walks in this many seconds.
const SQUEEZE_SECONDS: f32 = 2.0;
