//! Velocities that satisfy half-planes: small linear programs.
//!
//! Incremental linear programming in two dimensions (M. de Berg, O. Cheong, M. van
//! Kreveld and M. Overmars, "Computational Geometry", 2008, chapter 4), as J. van den
//! Berg, S. Guy, M. Lin and D. Manocha use it in "Reciprocal n-Body Collision
//! Avoidance", 2011: the velocity within a disc that is nearest to a wish, or, where
//! the half-planes have nothing in common, one that is least far outside of them.
//! Constraints are taken in the order in which they are given and not in random order,
//! for the sake of determinism; there are a dozen of them.

use glam::Vec2;

/// What is less apart than this counts as parallel.
const PARALLEL: f32 = 1e-5;

/// The velocities to the left of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct HalfPlane {
    pub(crate) point: Vec2,
    /// Of length one.
    pub(crate) direction: Vec2,
}

impl HalfPlane {
    /// The velocities that have at least `least` in the direction of `normal`, which has
    /// length one.
    pub(crate) fn beyond(normal: Vec2, least: f32) -> Self {
        Self { point: normal * least, direction: Vec2::new(normal.y, -normal.x) }
    }

    /// How far a velocity is outside; less than zero inside.
    pub(crate) fn violation(&self, velocity: Vec2) -> f32 {
        self.direction.perp_dot(self.point - velocity)
    }
}

/// The velocity of at most `speed_max` nearest to `wish` among those inside of all half-planes.
///
/// The first `hard_count` of them are kept whatever happens; standing still must be
/// allowed by them. Where the others leave nothing, the greatest violation of these is as small as
/// it can be.
pub(crate) fn nearest(planes: &[HalfPlane], hard_count: usize, speed_max: f32, wish: Vec2) -> Vec2 {
    let (done, velocity) = solve(planes, speed_max, Aim::At(wish));
    if done == planes.len() {
        return velocity;
    }
    least_bad(planes, hard_count, done, speed_max, velocity)
}

/// What is optimal.
#[derive(Clone, Copy)]
enum Aim {
    /// To be near to this velocity.
    At(Vec2),
    /// To be as far as possible in this direction, of length one.
    Along(Vec2),
}

/// Takes one half-plane after the other. Returns how many of them could be satisfied
/// together, all of them if things went well, and the optimum of these.
fn solve(planes: &[HalfPlane], speed_max: f32, aim: Aim) -> (usize, Vec2) {
    let mut velocity = match aim {
        Aim::At(wish) => wish.clamp_length_max(speed_max),
        Aim::Along(direction) => direction * speed_max,
    };
    for (place, plane) in planes.iter().enumerate() {
        if plane.violation(velocity) <= 0.0 {
            continue;
        }
        // The optimum lies on this line now.
        match on_line(plane, &planes[..place], speed_max, aim) {
            Some(better) => velocity = better,
            None => return (place, velocity),
        }
    }
    (planes.len(), velocity)
}

/// The optimum on the line of a half-plane within the disc and the `others`.
fn on_line(line: &HalfPlane, others: &[HalfPlane], speed_max: f32, aim: Aim) -> Option<Vec2> {
    let middle = line.point.dot(line.direction);
    let discriminant = middle * middle + speed_max * speed_max - line.point.length_squared();
    if discriminant < 0.0 {
        return None;
    }
    let reach = discriminant.sqrt();
    let (mut low, mut high) = (-middle - reach, -middle + reach);
    for other in others {
        let slope = line.direction.perp_dot(other.direction);
        let offset = other.direction.perp_dot(line.point - other.point);
        if slope.abs() <= PARALLEL {
            if offset < 0.0 {
                return None;
            }
            continue;
        }
        let at = offset / slope;
        if slope > 0.0 {
            high = high.min(at);
        } else {
            low = low.max(at);
        }
        if low > high {
            return None;
        }
    }
    let at = match aim {
        Aim::At(wish) => line.direction.dot(wish - line.point).max(low).min(high),
        Aim::Along(direction) if direction.dot(line.direction) > 0.0 => high,
        Aim::Along(_) => low,
    };
    Some(line.point + line.direction * at)
}

/// Goes on from the half-plane that could not be satisfied: a linear program in three
/// dimensions, the third of which is the violation.
fn least_bad(
    planes: &[HalfPlane],
    hard_count: usize,
    begin: usize,
    speed_max: f32,
    velocity: Vec2,
) -> Vec2 {
    let mut velocity = velocity;
    let mut violation = 0.0;
    let mut edges = [HalfPlane { point: Vec2::ZERO, direction: Vec2::X }; PLANE_COUNT_MAX];
    for (place, plane) in planes.iter().enumerate().skip(begin.max(hard_count)) {
        if plane.violation(velocity) <= violation {
            continue;
        }
        edges[..hard_count].copy_from_slice(&planes[..hard_count]);
        let mut edge_count = hard_count;
        for other in &planes[hard_count..place] {
            // Where both are violated by as much.
            if let Some(edge) = bisector(plane, other) {
                edges[edge_count] = edge;
                edge_count += 1;
            }
        }
        let inward = Vec2::new(-plane.direction.y, plane.direction.x);
        let (done, better) = solve(&edges[..edge_count], speed_max, Aim::Along(inward));
        // It fails by rounding alone, and then what there was is as good.
        if done == edge_count {
            velocity = better;
        }
        violation = plane.violation(velocity);
    }
    velocity
}

/// The velocities that violate `other` no more than `plane`; `None` if all do.
fn bisector(plane: &HalfPlane, other: &HalfPlane) -> Option<HalfPlane> {
    let slope = plane.direction.perp_dot(other.direction);
    let point = if slope.abs() > PARALLEL {
        let at = other.direction.perp_dot(plane.point - other.point) / slope;
        plane.point + plane.direction * at
    } else if plane.direction.dot(other.direction) > 0.0 {
        return None;
    } else {
        (plane.point + other.point) * 0.5
    };
    let direction = (other.direction - plane.direction).try_normalize()?;
    Some(HalfPlane { point, direction })
}

/// The most half-planes that a body has: eight of walls and ten of others.
pub(crate) const PLANE_COUNT_MAX: usize = 18;
