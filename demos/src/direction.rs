//! Directions that are the same on every machine.

use glam::Vec2;

/// Returns the unit vector at an angle of `angle` radians from the first axis.
///
/// A system's sine and cosine, which `Vec2::from_angle` uses, differ in their last bits from those of
/// another system, or of a web page, and so would the state hash.
#[must_use]
pub fn direction(angle: f32) -> Vec2 {
    let (sin, cos) = libm::sincosf(angle);
    Vec2::new(cos, sin)
}
