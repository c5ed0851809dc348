//! Reciprocal avoidance: each of two bodies gives half of the way.
//!
//! J. van den Berg, S. Guy, M. Lin and D. Manocha, "Reciprocal n-Body Collision
//! Avoidance", 2011 (ORCA). Of all velocities relative to another body, those that lead
//! to a collision within some time form a cone that is cut off at its tip. Each of the
//! two takes over half of the smallest change that leads out of it.

use glam::Vec2;

use crate::avoid::half_plane::HalfPlane;

/// How far ahead collisions are foreseen, in seconds.
const HORIZON_SECONDS: f32 = 1.0;

/// A body as others see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Disc {
    pub(crate) position: Vec2,
    pub(crate) velocity: Vec2,
    pub(crate) radius: f32,
}

/// The velocities that `own` may choose so that it does not meet `other`, if that does
/// its part as well.
///
/// `share` is the part of the change that `own` takes over, one half between equals.
/// `side` decides where two bodies are in the very same place and move alike: it must be
/// opposite for the two.
pub(crate) fn half_plane(
    own: &Disc,
    other: &Disc,
    share: f32,
    side: Vec2,
    seconds: f32,
) -> HalfPlane {
    let offset = other.position - own.position;
    let velocity = own.velocity - other.velocity;
    let distance_squared = offset.length_squared();
    let radius = own.radius + other.radius;
    let (change, direction) = if distance_squared > radius * radius {
        let from_tip = velocity - offset / HORIZON_SECONDS;
        let along = from_tip.dot(offset);
        if along < 0.0 && along * along > radius * radius * from_tip.length_squared() {
            out_of_disc(from_tip, radius / HORIZON_SECONDS, side)
        } else {
            let leg = leg(offset, distance_squared, radius, from_tip);
            (leg * velocity.dot(leg) - velocity, leg)
        }
    } else {
        // They overlap, and shall not at the end of this tick.
        out_of_disc(velocity - offset / seconds, radius / seconds, side)
    };
    HalfPlane { point: own.velocity + change * share, direction }
}

/// The way out of a disc around the origin, and the tangent there.
fn out_of_disc(inside: Vec2, radius: f32, side: Vec2) -> (Vec2, Vec2) {
    let length = inside.length();
    let outward = if length > f32::EPSILON { inside / length } else { side };
    (outward * (radius - length), Vec2::new(outward.y, -outward.x))
}

/// The direction of the leg of the cone that is nearer. One that is met head-on is
/// passed on the same side by both.
fn leg(offset: Vec2, distance_squared: f32, radius: f32, from_tip: Vec2) -> Vec2 {
    let length = (distance_squared - radius * radius).sqrt();
    if offset.perp_dot(from_tip) > 0.0 {
        let (x, y) = (offset.x * length - offset.y * radius, offset.x * radius + offset.y * length);
        Vec2::new(x, y) / distance_squared
    } else {
        let (x, y) = (offset.x * length + offset.y * radius, offset.y * length - offset.x * radius);
        -Vec2::new(x, y) / distance_squared
    }
}
