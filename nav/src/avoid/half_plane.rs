//! Velocities that satisfy half-planes: small linear programs.
//!
//! Incremental linear programming in two dimensions (M. de Berg, O. Cheong, M. van Kreveld and M.
//! Overmars, "Computational Geometry", 2008, chapter 4), as J. van den Berg, S. Guy, M. Lin and D.
//! Manocha use it in "Reciprocal n-Body Collision Avoidance", 2011. It finds the velocity within a disc
//! that is nearest to a wish, or, if the half-planes have no point in common, one that is least far
//! outside of them. For the sake of determinism, constraints are taken in the given order and not in
//! random order; there are a dozen of them.

use glam::{BVec4A, Vec2, Vec4};

/// Lines that differ by less than this count as parallel.
const PARALLEL: f32 = 1e-5;
/// The number of half-planes that are computed at a time.
pub(crate) const LANE_COUNT: usize = 4;
/// The maximum number of fours of half-planes of a body: eight planes of walls and ten of others.
const FOUR_COUNT_MAX: usize = 5;

/// The velocities to the left of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct HalfPlane {
    pub(crate) point: Vec2,
    /// Of length one.
    pub(crate) direction: Vec2,
}

/// A vector for each lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Vectors {
    pub(crate) x: Vec4,
    pub(crate) y: Vec4,
}

/// Four half-planes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Four {
    pub(crate) points: Vectors,
    pub(crate) directions: Vectors,
}

/// The half-planes of a body, in their order. Those of walls come first, and fill fours of their own.
/// Lanes that are left over allow all velocities.
#[derive(Clone, Debug)]
pub(crate) struct HalfPlanes {
    fours: [Four; FOUR_COUNT_MAX],
    /// The number of lanes in use.
    count: usize,
}

/// So far away that it excludes no velocity.
const ALL: HalfPlane = HalfPlane { point: Vec2::new(0.0, -1e30), direction: Vec2::X };
const ALL_FOUR: Four = Four {
    points: Vectors { x: Vec4::ZERO, y: Vec4::splat(ALL.point.y) },
    directions: Vectors { x: Vec4::ONE, y: Vec4::ZERO },
};

impl HalfPlane {
    /// The velocities of at least `least` in the direction of `normal`, which has length one.
    pub(crate) fn beyond(normal: Vec2, least: f32) -> Self {
        Self { point: normal * least, direction: Vec2::new(normal.y, -normal.x) }
    }

    /// The distance of a velocity outside of the half-plane; negative inside.
    fn violation(&self, velocity: Vec2) -> f32 {
        self.direction.perp_dot(self.point - velocity)
    }
}

impl Vectors {
    #[inline]
    pub(crate) const fn splat(value: Vec2) -> Self {
        Self { x: Vec4::splat(value.x), y: Vec4::splat(value.y) }
    }

    #[inline]
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y }
    }

    #[inline]
    pub(crate) fn dot(self, other: Self) -> Vec4 {
        self.x * other.x + self.y * other.y
    }

    #[inline]
    pub(crate) fn perp_dot(self, other: Self) -> Vec4 {
        self.x * other.y - self.y * other.x
    }

    #[inline]
    fn get(&self, lane: usize) -> Vec2 {
        Vec2::new(self.x[lane], self.y[lane])
    }

    #[inline]
    pub(crate) fn set(&mut self, lane: usize, value: Vec2) {
        (self.x[lane], self.y[lane]) = (value.x, value.y);
    }
}

impl Four {
    /// The distance of a velocity outside of each half-plane.
    #[inline]
    fn violations(&self, velocity: Vec2) -> Vec4 {
        self.directions.perp_dot(self.points.minus(Vectors::splat(velocity)))
    }

    #[inline]
    fn get(&self, lane: usize) -> HalfPlane {
        HalfPlane { point: self.points.get(lane), direction: self.directions.get(lane) }
    }

    /// The lanes whose bit is set; the others allow all velocities.
    #[inline]
    fn select(&self, lanes: BVec4A) -> Self {
        let select = |of: Vectors, all: Vectors| Vectors {
            x: Vec4::select(lanes, of.x, all.x),
            y: Vec4::select(lanes, of.y, all.y),
        };
        Self {
            points: select(self.points, ALL_FOUR.points),
            directions: select(self.directions, ALL_FOUR.directions),
        }
    }
}

/// A mask of the first `count` lanes.
#[inline]
fn first_lanes(count: usize) -> BVec4A {
    Vec4::new(0.0, 1.0, 2.0, 3.0).cmplt(Vec4::splat(count as f32))
}

impl HalfPlanes {
    pub(crate) const fn new() -> Self {
        Self { fours: [ALL_FOUR; FOUR_COUNT_MAX], count: 0 }
    }

    pub(crate) fn push(&mut self, plane: HalfPlane) {
        let four = &mut self.fours[self.count / LANE_COUNT];
        four.points.set(self.count % LANE_COUNT, plane.point);
        four.directions.set(self.count % LANE_COUNT, plane.direction);
        self.count += 1;
    }

    fn get(&self, place: usize) -> HalfPlane {
        self.fours[place / LANE_COUNT].get(place % LANE_COUNT)
    }

    /// Adds the first `lane_count` of four half-planes, except those that allow all velocities of up to
    /// `speed_max`, as most do.
    #[inline]
    pub(crate) fn add_four(&mut self, four: &Four, lane_count: usize, speed_max: f32) {
        let leaves_less = four.violations(Vec2::ZERO).cmpgt(Vec4::splat(-speed_max));
        let lanes = first_lanes(lane_count) & leaves_less;
        if !lanes.any() {
            return;
        }
        let number = self.four_count();
        self.fours[number] = four.select(lanes);
        self.count = (number + 1) * LANE_COUNT;
    }

    /// The number of fours; the last one may have spare lanes.
    pub(crate) const fn four_count(&self) -> usize {
        self.count.div_ceil(LANE_COUNT)
    }
}

/// The velocity of at most `speed_max` nearest to `wish` among those inside of all half-planes.
///
/// The first `hard_count` fours always hold; they must allow standing still. If the others leave no
/// velocity, the greatest violation of these is minimised.
pub(crate) fn nearest(planes: &HalfPlanes, hard_count: usize, speed_max: f32, wish: Vec2) -> Vec2 {
    match solve(planes, speed_max, Aim::At(wish)) {
        (None, velocity) => velocity,
        (Some(failed), velocity) => least_bad(planes, hard_count, failed, speed_max, velocity),
    }
}

/// The aim of the optimisation.
#[derive(Clone, Copy)]
enum Aim {
    /// The velocity nearest to this one.
    At(Vec2),
    /// The farthest velocity in this direction, of length one.
    Along(Vec2),
}

/// Takes one half-plane after the other. Returns the optimum of all of them, or the index of the first
/// that cannot be satisfied together with those before it, and the optimum of these.
fn solve(planes: &HalfPlanes, speed_max: f32, aim: Aim) -> (Option<usize>, Vec2) {
    let mut velocity = match aim {
        Aim::At(wish) => wish.clamp_length_max(speed_max),
        Aim::Along(direction) => direction * speed_max,
    };
    for number in 0..planes.four_count() {
        let mut left = 0b1111;
        loop {
            let violated = planes.fours[number].violations(velocity).cmpgt(Vec4::ZERO);
            let violated = violated.bitmask() & left;
            if violated == 0 {
                break;
            }
            // The optimum lies on this line now.
            let place = number * LANE_COUNT + violated.trailing_zeros() as usize;
            match on_line(planes, place, speed_max, aim) {
                Some(better) => velocity = better,
                None => return (Some(place), velocity),
            }
            left = 0b1110 << violated.trailing_zeros();
        }
    }
    (None, velocity)
}

/// The optimum on the line of the half-plane at an index, within the disc and those before it.
fn on_line(planes: &HalfPlanes, place: usize, speed_max: f32, aim: Aim) -> Option<Vec2> {
    let line = planes.get(place);
    let middle = line.point.dot(line.direction);
    let discriminant = middle * middle + speed_max * speed_max - line.point.length_squared();
    if discriminant < 0.0 {
        return None;
    }
    let reach = discriminant.sqrt();
    let (mut lows, mut highs) = (Vec4::splat(-middle - reach), Vec4::splat(-middle + reach));
    let (point, direction) = (Vectors::splat(line.point), Vectors::splat(line.direction));
    let (parallel, no_end) = (Vec4::splat(PARALLEL), Vec4::INFINITY);
    for number in 0..=place / LANE_COUNT {
        let mut others = planes.fours[number];
        if number == place / LANE_COUNT {
            others = others.select(first_lanes(place % LANE_COUNT));
        }
        let slopes = direction.perp_dot(others.directions);
        let offsets = others.directions.perp_dot(point.minus(others.points));
        let is_parallel = slopes.abs().cmple(parallel);
        if (is_parallel & offsets.cmplt(Vec4::ZERO)).any() {
            return None;
        }
        let ends = offsets / slopes;
        highs = highs.min(Vec4::select(slopes.cmpgt(parallel), ends, no_end));
        lows = lows.max(Vec4::select(slopes.cmplt(-parallel), ends, -no_end));
    }
    let (low, high) = (lows.max_element(), highs.min_element());
    if low > high {
        return None;
    }
    let at = match aim {
        Aim::At(wish) => line.direction.dot(wish - line.point).max(low).min(high),
        Aim::Along(direction) if direction.dot(line.direction) > 0.0 => high,
        Aim::Along(_) => low,
    };
    Some(line.point + line.direction * at)
}

/// Continues from the half-plane that could not be satisfied: a linear program in three dimensions, the
/// third of which is the violation.
fn least_bad(
    planes: &HalfPlanes,
    hard_count: usize,
    begin: usize,
    speed_max: f32,
    velocity: Vec2,
) -> Vec2 {
    let mut velocity = velocity;
    let mut violation = 0.0;
    let mut edges = planes.clone();
    for place in begin.max(hard_count * LANE_COUNT)..planes.count {
        let plane = planes.get(place);
        if plane.violation(velocity) <= violation {
            continue;
        }
        let last = place / LANE_COUNT;
        for number in hard_count..=last {
            edges.fours[number] = bisectors(&plane, &planes.fours[number]);
        }
        edges.fours[last] = edges.fours[last].select(first_lanes(place % LANE_COUNT));
        edges.count = (last + 1) * LANE_COUNT;
        let inward = Vec2::new(-plane.direction.y, plane.direction.x);
        // It fails only by rounding, and then the previous velocity is as good.
        if let (None, better) = solve(&edges, speed_max, Aim::Along(inward)) {
            velocity = better;
        }
        violation = plane.violation(velocity);
    }
    velocity
}

/// For each of four half-planes, the velocities that violate it no more than `plane`. All velocities if
/// it is parallel to `plane` with the same direction, or if its lane is unused.
fn bisectors(plane: &HalfPlane, others: &Four) -> Four {
    let (point, direction) = (Vectors::splat(plane.point), Vectors::splat(plane.direction));
    let slopes = direction.perp_dot(others.directions);
    let crosses = slopes.abs().cmpgt(Vec4::splat(PARALLEL));
    let at = others.directions.perp_dot(point.minus(others.points)) / slopes;
    let points = Vectors {
        x: Vec4::select(crosses, point.x + direction.x * at, (point.x + others.points.x) * 0.5),
        y: Vec4::select(crosses, point.y + direction.y * at, (point.y + others.points.y) * 0.5),
    };
    let turn = others.directions.minus(direction);
    let scale = turn.dot(turn).sqrt().recip();
    let directions = Vectors { x: turn.x * scale, y: turn.y * scale };
    let is_opposite = direction.dot(others.directions).cmple(Vec4::ZERO);
    let is_used = others.points.y.cmpne(ALL_FOUR.points.y);
    Four { points, directions }.select(is_used & (crosses | is_opposite) & scale.is_finite_mask())
}
