//! Directions that are the same on every machine.

use glam::Vec2;

/// The unit vector that is `angle` radians away from the first axis, for angles of up to a turn.
///
/// A system's sine and cosine, which `Vec2::from_angle` takes, differ in their last bits from those of another
/// system, or of a page, and with them the state hash. Sums and products do not.
#[must_use]
pub fn direction(angle: f32) -> Vec2 {
    let angle = f64::from(angle);
    let (mut cos, mut sin, mut term) = (0.0, 0.0, 1.0);
    // What is left of the series is less than a float can tell.
    for place in (1..36).step_by(2).map(f64::from) {
        cos += term;
        term *= angle / place;
        sin += term;
        term *= -angle / (place + 1.0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "floats are what positions are made of")]
    let direction = Vec2::new(cos as f32, sin as f32);
    direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_as_far_round_as_its_angle() {
        for step in -64_i16..=64 {
            let angle = std::f32::consts::TAU * f32::from(step) / 64.0;
            let away = direction(angle).distance(Vec2::from_angle(angle));
            assert!(away < 2e-7, "{angle}: {away}");
        }
    }
}
