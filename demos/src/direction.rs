//! Directions that are the same on every machine.

use glam::Vec2;

/// The unit vector that is `angle` radians away from the first axis.
///
/// A system's sine and cosine, which `Vec2::from_angle` takes, differ in their last bits from those of another
/// system, or of a page, and with them the state hash.
#[must_use]
pub fn direction(angle: f32) -> Vec2 {
    let (sin, cos) = libm::sincosf(angle);
    Vec2::new(cos, sin)
}
