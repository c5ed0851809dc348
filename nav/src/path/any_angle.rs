//! Shortest any-angle paths.
//!
//! The algorithm is Anya (D. Harabor, A. Grastien, D. Öz and V. Aksakalli, "Optimal Any-Angle Pathfinding
//! in Practice", 2016): the search goes over intervals that are visible from a point, and not over
//! points. It is exact, and needs no preprocessing. Everything except lengths is in integers.
//!
//! Solid cells extend by a part of a cell beyond their sides, so paths along them keep that distance. So
//! the map falls into strips, within which walls are upright:
//!
//! ```text
//!   ──────────────────────────────
//!     strip 2 y      in row y, away from the other rows
//!   ──────────────────────────────
//!     strip 2 y + 1  between rows y and y + 1: open where both of them are
//!   ──────────────────────────────
//! ```
//!
//! A window is an interval on the line between two strips. Through it a cone of the strip behind is
//! visible, and there the next windows. If the window ends at the corner of a wall, the path may turn
//! around that corner, and the rest of the strip is visible from there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use crate::cell::Cell;
use crate::grid::{Grid, count_u32};
use crate::line::{PARTS, Point};

/// The memory of searches.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnyAngle {
    /// The points where paths turn, in the order in which they were found; the first one is the start.
    turns: Vec<Turn>,
    /// The last turn at each place, which is the one with the shortest path.
    places: HashMap<u64, u32, BuildHasherDefault<Mixer>>,
    /// The sights, in the order in which they were found.
    sights: Vec<Sight>,
    /// The open list: estimates as bits, which have the same order, with the indices of the sights. Of
    /// equal estimates the goal comes first, and then the sight that was found first.
    open: BinaryHeap<Reverse<(u64, bool, u32)>>,
}

/// A point where paths turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: Point,
    /// The length of the path from the start, in parts of a cell.
    length: f64,
    /// The turn before; the turn's own number at the start.
    parent: u32,
    /// Whether a shorter path to this place was found since.
    is_beaten: bool,
}

/// A thing visible from a turn: the goal, or a window.
#[derive(Clone, Copy, Debug)]
struct Sight {
    turn: u32,
    window: Option<Window>,
}

/// An interval on the line where a strip begins.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The strip into which it leads.
    strip: i32,
    /// The first and the last of the open columns of that strip into which it leads.
    run: [i32; 2],
    /// Whether it leads south (1) or north (-1).
    way: i32,
    /// The west and the east end.
    ends: [End; 2],
}

/// An end of a window, as a ray from the turn from which it is visible.
#[derive(Clone, Copy, Debug)]
struct End {
    x: i32,
    y: i32,
    /// Whether the ray leads to the corner of a wall, and the wall is on the side of this end.
    is_corner: bool,
    /// Whether points on the ray are handled from elsewhere.
    is_excluded: bool,
}

/// A search in progress.
pub(crate) struct AnyAngleSearch<'a> {
    grid: &'a Grid,
    state: &'a mut AnyAngle,
    goal: Point,
    /// The number of windows that this run looked through.
    pub(crate) expansion_count: u64,
}

impl AnyAngle {
    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.turns.capacity() * size_of::<Turn>()
            + self.places.capacity() * size_of::<(u64, u32)>()
            + self.sights.capacity() * size_of::<Sight>()
            + self.open.capacity() * size_of::<(u64, bool, u32)>()
    }

    /// The points at which a path turns, from a turn back to the start, both included.
    pub(crate) fn trace_back(&self, goal: Point, turn: u32) -> impl Iterator<Item = Point> + '_ {
        let (mut before, mut number) = (goal, Some(turn));
        std::iter::from_fn(move || {
            loop {
                let turn = self.turns[number? as usize];
                let parent = self.turns[turn.parent as usize].at;
                let is_start = number == Some(turn.parent);
                number = Some(turn.parent).filter(|_| !is_start);
                let [one, other] = [before, parent].map(|point| offset(turn.at, point));
                if is_start || cross(one, other) != 0 {
                    before = turn.at;
                    return Some(turn.at);
                }
            }
        })
    }
}

impl<'a> AnyAngleSearch<'a> {
    pub(crate) fn new(grid: &'a Grid, state: &'a mut AnyAngle, goal: Cell) -> Self {
        Self { grid, state, goal: Point::centre(goal), expansion_count: 0 }
    }

    /// Runs until the goal is reached, which must be possible. Returns the last turn before it and the
    /// length of the path in cells, or `None` once the budget is spent. It begins at a start, or, without
    /// one, resumes a run to the same goal that has spent its budget.
    pub(crate) fn run(
        &mut self,
        start: Option<Cell>,
        expansion_count_max: u64,
    ) -> Option<(u32, f64)> {
        start.into_iter().for_each(|start| self.begin(start));
        loop {
            let next = self.state.open.peek().expect("start and goal are of one region");
            let Reverse((estimate, _, place)) = *next;
            let Sight { turn, window } = self.state.sights[place as usize];
            let Some(window) = window else {
                return Some((turn, f64::from_bits(estimate) / f64::from(PARTS)));
            };
            let is_beaten = self.state.turns[turn as usize].is_beaten;
            if !is_beaten && self.expansion_count == expansion_count_max {
                return None;
            }
            self.state.open.pop();
            if !is_beaten {
                self.expansion_count += 1;
                self.look_through(turn, &window);
            }
        }
    }

    fn begin(&mut self, start: Cell) {
        self.state.turns.clear();
        self.state.places.clear();
        self.state.sights.clear();
        self.state.open.clear();
        let at = Point::centre(start);
        self.state.turns.push(Turn { at, length: 0.0, parent: 0, is_beaten: false });
        let strip = 2 * i32::from(start.y);
        let run = self.run_at(strip, i32::from(start.x));
        if self.leads_to_goal(strip, run) {
            self.see_goal(0);
        }
        for way in [-1, 1] {
            self.look_on(
                0,
                strip,
                run,
                way,
                walls(run).map(|x| End::at(at, x, far_side(strip, way))),
            );
        }
    }

    /// Looks through a window, and around the corners at its ends.
    fn look_through(&mut self, turn: u32, window: &Window) {
        let &Window { strip, run, way, ends } = window;
        let at = self.state.turns[turn as usize].at;
        if self.leads_to_goal(strip, run) {
            let goal = offset(at, self.goal);
            let [west, east] = ends.map(|end| (end.side_of(goal), end.is_excluded));
            let is_right = |(side, is_excluded): (i32, bool), inside| {
                side == inside || side == 0 && !is_excluded
            };
            if is_right(west, 1) && is_right(east, -1) {
                self.see_goal(turn);
            }
        }
        self.look_on(turn, strip, run, way, ends);
        for side in [0, 1] {
            if ends[side].is_corner {
                self.turn_around(turn, window, side);
            }
        }
    }

    /// Turns around the corner at one end of a window, in the west (0) or in the east (1).
    fn turn_around(&mut self, turn: u32, window: &Window, side: usize) {
        let &Window { strip, run, way, ends } = window;
        let from = self.state.turns[turn as usize].at;
        let ray = End { is_corner: false, is_excluded: true, ..ends[side] };
        let corner = Point { x: from.x + ray.x, y: from.y + ray.y };
        let wall = walls(run)[side];
        let outward = if side == 0 { -1 } else { 1 };
        // Either the wall ends here, or one begins.
        let is_passed = corner.x != wall;
        if !is_passed && ray.x * outward >= 0 {
            return;
        }
        let Some(mut turn) = self.reach(turn, corner) else { return };
        if self.leads_to_goal(strip, run) && ray.side_of(offset(from, self.goal)) == outward {
            self.see_goal(turn);
        }
        let mut ends = [ray, End::at(corner, wall, far_side(strip, way))];
        if side == 0 {
            ends.reverse();
        }
        self.look_on(turn, strip, run, way, ends);
        if !is_passed {
            return;
        }
        // Along the wall, and back beside its other end.
        let behind = strip - way;
        let mut column = corner.x.div_euclid(PARTS) + outward;
        while let Some(next) = self.next_open(behind, column, run[side], outward) {
            let run = self.run_at(behind, next);
            let corner = Point { x: walls(run)[1 - side], ..corner };
            let Some(next) = self.reach(turn, corner) else { return };
            let ends = walls(run).map(|x| End::at(corner, x, far_side(behind, -way)));
            self.look_on(next, behind, run, -way, ends);
            (turn, column) = (next, run[side] + outward);
        }
    }

    /// Looks through a strip, between two rays, and finds the windows in its far side.
    fn look_on(&mut self, turn: u32, strip: i32, run: [i32; 2], way: i32, rays: [End; 2]) {
        let Turn { at, length, .. } = self.state.turns[turn as usize];
        let next = strip + way;
        if next < 0 || next > 2 * (i32::from(self.grid.height()) - 1) {
            return;
        }
        let y = far_side(strip, way);
        let (wall, down) = (walls(run), y - at.y);
        let column = |end: End| {
            let x = i64::from(at.x) + i64::from(end.x) * i64::from(down) / i64::from(end.y);
            x.clamp(wall[0].into(), wall[1].into()).div_euclid(PARTS.into())
        };
        let [first, last] = rays.map(column).map(|it| i32::try_from(it).expect("it is a column"));
        let mut column = first;
        while let Some(open) = self.next_open(next, column, last, 1) {
            let next_run = self.run_at(next, open);
            column = next_run[1] + 1;
            let end = |side: usize| {
                let [one, other] = [wall[side], walls(next_run)[side]];
                let x = if side == 0 { one.max(other) } else { one.min(other) };
                let limit = End { is_corner: one != other, ..End::at(at, x, y) };
                let beyond = if side == 0 { 1 } else { -1 };
                match rays[side].side_of((limit.x, limit.y)) {
                    0 if rays[side].is_excluded => rays[side],
                    it if it == -beyond => End { is_corner: false, ..rays[side] },
                    _ => limit,
                }
            };
            let ends = [end(0), end(1)];
            let order = ends[0].side_of((ends[1].x, ends[1].y));
            if order < 0 || order == 0 && ends.iter().any(|end| end.is_excluded) {
                continue;
            }
            let window = Window { strip: next, run: next_run, way, ends };
            let estimate = length + self.shortest_through(at, y, &window);
            self.see(turn, Some(window), estimate);
        }
    }

    /// The length of the shortest path from a point to the goal, through a window at this height.
    fn shortest_through(&self, from: Point, y: i32, window: &Window) -> f64 {
        // A path back through the window is as long as one to the mirror image of the goal.
        let is_back = (self.goal.y - y) * window.way < 0;
        let goal_y = if is_back { 2 * y - self.goal.y } else { self.goal.y };
        let (down, to_goal) = (f64::from(y - from.y), f64::from(goal_y - from.y));
        let [west, east] = window.ends.map(|end| f64::from(end.x) * down / f64::from(end.y));
        let goal_x = f64::from(self.goal.x - from.x);
        let x = (goal_x * down / to_goal).max(west).min(east);
        let (rest_x, rest) = (goal_x - x, to_goal - down);
        (x * x + down * down).sqrt() + (rest_x * rest_x + rest * rest).sqrt()
    }

    /// Reaches a turn from another one, unless there is a path to it that is as short.
    fn reach(&mut self, parent: u32, at: Point) -> Option<u32> {
        let AnyAngle { turns, places, .. } = self.state;
        let before = turns[parent as usize];
        let length = before.length + before.at.distance(at);
        let number = count_u32(turns.len());
        let place = u64::from(at.x.unsigned_abs()) << 32 | u64::from(at.y.unsigned_abs());
        if let Some(&known) = places.get(&place) {
            let known = &mut turns[known as usize];
            if known.length <= length {
                return None;
            }
            known.is_beaten = true;
        }
        places.insert(place, number);
        turns.push(Turn { at, length, parent, is_beaten: false });
        Some(number)
    }

    fn see_goal(&mut self, turn: u32) {
        let Turn { at, length, .. } = self.state.turns[turn as usize];
        self.see(turn, None, length + at.distance(self.goal));
    }

    /// Keeps a sight from a turn, ordered by the minimum length of paths through it.
    fn see(&mut self, turn: u32, window: Option<Window>, estimate: f64) {
        let AnyAngle { sights, open, .. } = self.state;
        open.push(Reverse((estimate.to_bits(), window.is_some(), count_u32(sights.len()))));
        sights.push(Sight { turn, window });
    }

    fn leads_to_goal(&self, strip: i32, run: [i32; 2]) -> bool {
        let cell = self.goal.cell();
        strip == 2 * i32::from(cell.y) && (run[0]..=run[1]).contains(&i32::from(cell.x))
    }

    /// The 32 columns from this one on, a multiple of 32, that are open in a strip.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "inside of the grid"
    )]
    fn word(&self, strip: i32, column: i32) -> u32 {
        let (x, y) = (column as u16, (strip / 2) as u16);
        let row = self.grid.open_row(x, y);
        if strip % 2 == 0 { row } else { row & self.grid.open_row(x, y + 1) }
    }

    /// The first open column of a strip from one on towards another one, in steps of 1 or -1.
    fn next_open(&self, strip: i32, from: i32, to: i32, step: i32) -> Option<i32> {
        self.next_that(strip, from, to, step, |word| word)
    }

    /// The first and the last of the open columns around one in a strip.
    fn run_at(&self, strip: i32, column: i32) -> [i32; 2] {
        let last = i32::from(self.grid.width()) - 1;
        let solid = |to, step| self.next_that(strip, column, to, step, |word| !word);
        [solid(0, -1).map_or(0, |it| it + 1), solid(last, 1).map_or(last, |it| it - 1)]
    }

    /// The first column from one on towards another one that has a bit.
    fn next_that(
        &self,
        strip: i32,
        from: i32,
        to: i32,
        step: i32,
        bits: impl Fn(u32) -> u32,
    ) -> Option<i32> {
        let mut column = from;
        while (to - column) * step >= 0 {
            let first = column & !31;
            let word = bits(self.word(strip, first));
            let (found, next) = if step > 0 {
                let rest = word & u32::MAX << (column - first);
                (first + rest.trailing_zeros() as i32, first + 32)
            } else {
                let rest = word & u32::MAX >> (31 - (column - first));
                (first + 31 - rest.leading_zeros() as i32, first - 1)
            };
            // Without a bit it is the next column to look at, or behind it.
            if (next - found) * step > 0 {
                return Some(found).filter(|found| (to - found) * step >= 0);
            }
            column = next;
        }
        None
    }
}

impl End {
    /// An end at a wall, seen from a point.
    const fn at(from: Point, x: i32, y: i32) -> Self {
        Self { x: x - from.x, y: y - from.y, is_corner: false, is_excluded: false }
    }

    /// Whether an offset equally far in the direction of the window lies east (1) of the ray, west (-1)
    /// of it, or on it.
    fn side_of(self, other: (i32, i32)) -> i32 {
        // The sign depends on whether the ray leads north or south.
        cross(other, (self.x, self.y)).cmp(&0) as i32 * self.y.signum()
    }
}

/// One multiplication for each place, whose two halves are below 2^19.
#[derive(Clone, Copy, Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("places are numbers");
    }

    fn write_u64(&mut self, place: u64) {
        self.0 = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// The walls at both ends of a run of open columns.
const fn walls(run: [i32; 2]) -> [i32; 2] {
    [PARTS * run[0] + 1, PARTS * run[1] + PARTS - 1]
}

/// The height at which a path north (-1) or south (1) leaves a strip.
const fn far_side(strip: i32, way: i32) -> i32 {
    let parts = match (strip % 2 == 0, way > 0) {
        (true, false) => 1,
        (false, true) => PARTS + 1,
        _ => PARTS - 1,
    };
    PARTS * (strip / 2) + parts
}

const fn offset(from: Point, to: Point) -> (i32, i32) {
    (to.x - from.x, to.y - from.y)
}

fn cross(one: (i32, i32), other: (i32, i32)) -> i64 {
    i64::from(one.0) * i64::from(other.1) - i64::from(one.1) * i64::from(other.0)
}
