//! Velocities that satisfy half-planes: small linear programs.
//!
//! Incremental linear programming in two dimensions (M. de Berg, O. Cheong, M. van Kreveld and M.
//! Overmars, "Computational Geometry", 2008, chapter 4), as J. van den Berg, S. Guy, M. Lin and D.
//! Manocha use it in "Reciprocal n-Body Collision Avoidance", 2011. It finds the velocity within a disc
//! that is nearest to a wish, or, if the half-planes have no point in common, one that is least far
//! outside of them. For the sake of determinism, constraints are taken in the given order and not in
//! random order; there are a dozen of them.
//!
//! Most of the time of one such program is latency: each step waits for the one before. So four bodies
//! are handled at a time, one in each lane of a vector. No lane depends on the others.

use glam::{BVec4A, Vec2, Vec4};

/// Lines that differ by less than this count as parallel.
const PARALLEL: f32 = 1e-5;
/// The number of bodies that are handled at a time.
pub(crate) const LANE_COUNT: usize = 4;
/// The maximum number of walls around a cell.
const WALL_COUNT_MAX: usize = 8;
/// The maximum number of others that a body heeds: the nearest ones.
pub(crate) const NEIGHBOUR_COUNT_MAX: usize = 10;
const ROW_COUNT_MAX: usize = WALL_COUNT_MAX + NEIGHBOUR_COUNT_MAX;

/// A vector for each lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Vectors {
    pub(crate) x: Vec4,
    pub(crate) y: Vec4,
}

/// A half-plane for each lane: the velocities to the left of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Row {
    pub(crate) points: Vectors,
    /// Of length one.
    pub(crate) directions: Vectors,
}

/// The half-planes of four bodies, in their order: first those of walls.
#[derive(Clone, Debug)]
pub(crate) struct HalfPlanes {
    rows: [Row; ROW_COUNT_MAX],
    count: usize,
    wall_count: usize,
    /// Memory for [`HalfPlanes::least_bad`].
    edges: [Row; ROW_COUNT_MAX],
}

/// So far away that it excludes no velocity. It stands where a lane has no half-plane.
const ALL: Row = Row {
    points: Vectors { x: Vec4::ZERO, y: Vec4::splat(-1e30) },
    directions: Vectors { x: Vec4::ONE, y: Vec4::ZERO },
};

impl Vectors {
    pub(crate) const ZERO: Self = Self { x: Vec4::ZERO, y: Vec4::ZERO };

    #[inline]
    pub(crate) fn new(lanes: [Vec2; LANE_COUNT]) -> Self {
        Self { x: lanes.map(|lane| lane.x).into(), y: lanes.map(|lane| lane.y).into() }
    }

    #[inline]
    pub(crate) const fn splat(value: Vec2) -> Self {
        Self { x: Vec4::splat(value.x), y: Vec4::splat(value.y) }
    }

    #[inline]
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y }
    }

    #[inline]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }

    #[inline]
    pub(crate) fn times(self, factors: Vec4) -> Self {
        Self { x: self.x * factors, y: self.y * factors }
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
    pub(crate) fn select(lanes: BVec4A, these: Self, others: Self) -> Self {
        Self {
            x: Vec4::select(lanes, these.x, others.x),
            y: Vec4::select(lanes, these.y, others.y),
        }
    }

    #[inline]
    fn clamp_length_max(self, max: Vec4) -> Self {
        let square = self.dot(self);
        let length = square.sqrt();
        let clamped = Self { x: max * (self.x / length), y: max * (self.y / length) };
        Self::select(square.cmpgt(max * max), clamped, self)
    }

    #[inline]
    pub(crate) fn get(&self, lane: usize) -> Vec2 {
        Vec2::new(self.x[lane], self.y[lane])
    }
}

impl Row {
    /// The distance of each velocity outside of its half-plane; negative inside.
    #[inline]
    fn violations(&self, velocities: Vectors) -> Vec4 {
        self.directions.perp_dot(self.points.minus(velocities))
    }

    /// The lanes whose bit is set; the others allow all velocities.
    #[inline]
    fn select(&self, lanes: BVec4A) -> Self {
        Self {
            points: Vectors::select(lanes, self.points, ALL.points),
            directions: Vectors::select(lanes, self.directions, ALL.directions),
        }
    }
}

impl HalfPlanes {
    pub(crate) const fn new() -> Self {
        Self { rows: [ALL; ROW_COUNT_MAX], count: 0, wall_count: 0, edges: [ALL; ROW_COUNT_MAX] }
    }

    /// Takes out all of them.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Counts those that were added so far as walls.
    pub(crate) fn end_walls(&mut self) {
        self.wall_count = self.count;
    }

    /// Adds the half-planes of these lanes, except those that allow all velocities of up to `speed_max`.
    #[inline]
    pub(crate) fn push(&mut self, row: &Row, lanes: BVec4A, speed_max: Vec4) {
        let lanes = lanes & row.violations(Vectors::ZERO).cmpgt(-speed_max);
        if lanes.any() {
            self.rows[self.count] = row.select(lanes);
            self.count += 1;
        }
    }

    /// The velocities of at most `speed_max` nearest to the `wishes` among those inside of all half-planes.
    ///
    /// Those of walls always hold; they must allow standing still. If the others leave no velocity, the
    /// greatest violation of these is minimised.
    pub(crate) fn nearest(&mut self, speed_max: Vec4, wishes: Vectors) -> Vectors {
        let rows = &self.rows[..self.count];
        let all = Vec4::ZERO.cmpeq(Vec4::ZERO);
        let (failed_at, velocities) = solve(rows, all, speed_max, Aim::At(wishes));
        let velocities = self.least_bad(failed_at, speed_max, velocities);
        // Rounding may have made them a little longer.
        velocities.clamp_length_max(speed_max)
    }

    /// Continues from the half-planes that could not be satisfied: a linear program in three dimensions,
    /// the third of which is the violation.
    fn least_bad(&mut self, failed_at: Vec4, speed_max: Vec4, mut velocities: Vectors) -> Vectors {
        if failed_at.min_element() == f32::INFINITY {
            return velocities;
        }
        let Self { rows, edges, wall_count, count } = self;
        let mut violations = Vec4::ZERO;
        edges[..*wall_count].copy_from_slice(&rows[..*wall_count]);
        for at in *wall_count..*count {
            let row = &rows[at];
            let is_left = failed_at.cmple(Vec4::splat(at as f32));
            let lanes = is_left & row.violations(velocities).cmpgt(violations);
            if !lanes.any() {
                continue;
            }
            for (edges, before) in edges[*wall_count..at].iter_mut().zip(&rows[*wall_count..]) {
                *edges = bisectors(row, before);
            }
            let inward = Vectors { x: -row.directions.y, y: row.directions.x };
            let (failed_at, better) = solve(&edges[..at], lanes, speed_max, Aim::Along(inward));
            // It fails only by rounding, and then the previous velocity is as good.
            let is_better = lanes & failed_at.cmpeq(Vec4::INFINITY);
            velocities = Vectors::select(is_better, better, velocities);
            violations = Vec4::select(lanes, row.violations(velocities), violations);
        }
        velocities
    }
}

/// The aim of the optimisation.
#[derive(Clone, Copy)]
enum Aim {
    /// The velocities nearest to these.
    At(Vectors),
    /// The farthest velocities in these directions, of length one.
    Along(Vectors),
}

/// Takes one half-plane after the other, in these lanes. Returns the optimum of all of them and infinity,
/// or the number of the first that cannot be satisfied together with those before it, and the optimum of
/// these.
fn solve(rows: &[Row], mut lanes: BVec4A, speed_max: Vec4, aim: Aim) -> (Vec4, Vectors) {
    let mut failed_at = Vec4::INFINITY;
    let mut velocities = match aim {
        Aim::At(wishes) => wishes.clamp_length_max(speed_max),
        Aim::Along(directions) => directions.times(speed_max),
    };
    for (number, row) in rows.iter().enumerate() {
        let violated = row.violations(velocities).cmpgt(Vec4::ZERO) & lanes;
        if !violated.any() {
            continue;
        }
        // The optimum lies on this line now.
        let (exists, better) = on_lines(&rows[..number], row, speed_max, aim);
        velocities = Vectors::select(violated & exists, better, velocities);
        let fails = violated & !exists;
        failed_at = Vec4::select(fails, Vec4::splat(number as f32), failed_at);
        lanes &= !fails;
    }
    (failed_at, velocities)
}

/// The optimum on the lines of half-planes, within the discs and those before them. Only of lanes whose
/// bit is set there is one.
fn on_lines(before: &[Row], line: &Row, speed_max: Vec4, aim: Aim) -> (BVec4A, Vectors) {
    let Row { points, directions } = *line;
    let middle = points.dot(directions);
    let discriminant = middle * middle + speed_max * speed_max - points.dot(points);
    let mut is_empty = discriminant.cmplt(Vec4::ZERO);
    let reach = discriminant.sqrt();
    let (mut low, mut high) = (-middle - reach, -middle + reach);
    let (parallel, no_end) = (Vec4::splat(PARALLEL), Vec4::INFINITY);
    for row in before {
        let slopes = directions.perp_dot(row.directions);
        let offsets = row.directions.perp_dot(points.minus(row.points));
        is_empty |= slopes.abs().cmple(parallel) & offsets.cmplt(Vec4::ZERO);
        let ends = offsets / slopes;
        high = high.min(Vec4::select(slopes.cmpgt(parallel), ends, no_end));
        low = low.max(Vec4::select(slopes.cmplt(-parallel), ends, -no_end));
    }
    let at = match aim {
        Aim::At(wishes) => directions.dot(wishes.minus(points)).max(low).min(high),
        Aim::Along(aims) => Vec4::select(aims.dot(directions).cmpgt(Vec4::ZERO), high, low),
    };
    (!(is_empty | low.cmpgt(high)), points.plus(directions.times(at)))
}

/// For each lane, the velocities that violate `other` no more than `row`. All velocities if it is parallel
/// to `row` with the same direction, or allows all itself.
fn bisectors(row: &Row, other: &Row) -> Row {
    let slopes = row.directions.perp_dot(other.directions);
    let crosses = slopes.abs().cmpgt(Vec4::splat(PARALLEL));
    let at = other.directions.perp_dot(row.points.minus(other.points)) / slopes;
    let crossing = row.points.plus(row.directions.times(at));
    let middle = row.points.plus(other.points).times(Vec4::splat(0.5));
    let turn = other.directions.minus(row.directions);
    let scale = turn.dot(turn).sqrt().recip();
    let is_opposite = row.directions.dot(other.directions).cmple(Vec4::ZERO);
    let is_used = other.points.y.cmpne(ALL.points.y);
    let edges =
        Row { points: Vectors::select(crosses, crossing, middle), directions: turn.times(scale) };
    edges.select(is_used & (crosses | is_opposite) & scale.is_finite_mask())
}
