//! Paths of least cost by jump points.
//!
//! Jump point search (D. Harabor and A. Grastien, 2011) with block scanning and pruning of intermediate
//! jump points (the same, 2014): a diagonal looks to both sides at each step and hands on the jump points
//! that it finds there, but becomes no node itself. Only the stops that [`LanePair`] keeps are prepared,
//! so an edit costs a few words.
//!
//! All four rules have jump points. If only orthogonal steps are legal, rows take the part of diagonals:
//! paths go along their row first.
//!
//! If weights differ, every mixed cell that a jump comes to is a jump point (see [`LanePair`]), from
//! which all legal steps are taken. This is exact: a step is left out only at a cell whose surroundings
//! have its weight, and there one of two things holds. Either another way to the same cell costs less;
//! then no best path contains the step that is left out. Or a diagonal and a straight step cost as much
//! as the same steps in the other order; then going back along the straight line, one comes to a cell
//! that does take the diagonal, and no straight step behind it is ever left out.

use crate::cell::Cell;
use crate::cost::{DIAGONAL, STRAIGHT};
use crate::direction::{Direction, MoveRule};
use crate::grid::Grid;
use crate::lanes::{LanePair, Lanes};
use crate::path::frontier::{Frontier, JumpNode, Place};
use crate::path::prune;
use crate::terrain::Terrain;

/// A search in progress.
pub(crate) struct JumpSearch<'a> {
    pub(crate) lanes: &'a LanePair,
    weights: Weights<'a>,
    pub(crate) frontier: &'a mut Frontier,
    /// The number of nodes that this run expanded.
    pub(crate) expansion_count: u64,
    goal: Place,
}

/// The weights of cells by their places.
#[derive(Clone, Copy)]
struct Weights<'a> {
    grid: &'a Grid,
    /// The least weight of the map, by which estimates are scaled.
    min: u64,
}

impl Weights<'_> {
    #[inline]
    fn at(self, place: Place) -> u64 {
        self.grid.weight_inside(place.cell()).factor()
    }
}

const ORTHOGONAL: u8 = MoveRule::Orthogonal as u8;
const BOTH_FREE: u8 = MoveRule::BothFree as u8;
const ONE_FREE: u8 = MoveRule::OneFree as u8;
const ALWAYS: u8 = MoveRule::Always as u8;

impl<'a> JumpSearch<'a> {
    /// Creates a search on a terrain, with the progress of `frontier`.
    pub(crate) fn new(terrain: &'a Terrain, frontier: &'a mut Frontier, goal: Cell) -> Self {
        let (grid, goal) = (terrain.grid(), Place::of(goal));
        let min = grid.weight_range().map_or(1, |(min, _)| min.factor());
        let weights = Weights { grid, min };
        Self { lanes: terrain.lanes(), weights, frontier, expansion_count: 0, goal }
    }

    /// Runs until the goal is reached, which must be possible, and returns its node, or `None` once the
    /// budget is spent. It begins at a start, or, without one, resumes a run to the same goal that has
    /// spent its budget.
    pub(crate) fn run(&mut self, rule: MoveRule, start: Option<Cell>, max: u64) -> Option<u32> {
        let start = start.map(Place::of);
        if self.lanes.mixed_count() == 0 {
            self.dispatch::<false>(rule, start, max)
        } else {
            self.dispatch::<true>(rule, start, max)
        }
    }

    fn dispatch<const WEIGHTED: bool>(
        &mut self,
        rule: MoveRule,
        start: Option<Place>,
        max: u64,
    ) -> Option<u32> {
        match rule {
            MoveRule::Orthogonal => self.search::<ORTHOGONAL, WEIGHTED>(rule, start, max),
            MoveRule::BothFree => self.search::<BOTH_FREE, WEIGHTED>(rule, start, max),
            MoveRule::OneFree => self.search::<ONE_FREE, WEIGHTED>(rule, start, max),
            MoveRule::Always => self.search::<ALWAYS, WEIGHTED>(rule, start, max),
        }
    }

    /// Begins at `start`, or resumes with the content of the frontier.
    fn search<const RULE: u8, const WEIGHTED: bool>(
        &mut self,
        rule: MoveRule,
        start: Option<Place>,
        expansion_count_max: u64,
    ) -> Option<u32> {
        if let Some(start) = start {
            let estimate = self.rest::<RULE, WEIGHTED>(start);
            self.frontier.begin(estimate);
            self.reach::<RULE, WEIGHTED>(start, 0, 0, None);
            if RULE == BOTH_FREE && !WEIGHTED && self.sees_goal(start) {
                // Most of the short paths of a game end here.
                self.expansion_count = 1;
                return Some(self.frontier.finish(self.goal, estimate, 0));
            }
        }
        let table = prune::table(rule);
        while let Some(number) = self.frontier.close_next() {
            let node = *self.frontier.node(number);
            let place = node.place();
            if place == self.goal {
                return Some(number);
            }
            if self.expansion_count == expansion_count_max {
                self.frontier.put_back(number, self.rest::<RULE, WEIGHTED>(place));
                return None;
            }
            self.expansion_count += 1;
            let ring = usize::from(self.weights.grid.ring(place.cell()));
            let steps = match node.arrival() {
                Some(arrival) if WEIGHTED && self.lanes.rows.is_mixed(place.y, place.x) => {
                    rule.table()[ring] & !arrival.opposite().bit()
                }
                Some(arrival) => table[arrival as usize][ring],
                None => rule.table()[ring],
            };
            self.look::<RULE, WEIGHTED>(number, place, node.cost(), steps);
        }
        panic!("start and goal are of one region, but no path joins them");
    }

    /// Hands on what can be reached by setting off in each of these directions.
    #[inline]
    fn look<const RULE: u8, const WEIGHTED: bool>(
        &mut self,
        number: u32,
        place: Place,
        cost: u64,
        steps: u8,
    ) {
        // One test after the other, because each is easier to predict than which direction comes next.
        let has = |direction: Direction| steps & direction.bit() != 0;
        if has(Direction::NorthWest) {
            self.diagonal::<RULE, WEIGHTED, false, false>(number, place, cost);
        }
        if has(Direction::North) {
            self.straight::<RULE, WEIGHTED, false, false>(number, place, cost);
        }
        if has(Direction::NorthEast) {
            self.diagonal::<RULE, WEIGHTED, true, false>(number, place, cost);
        }
        if has(Direction::West) {
            if RULE == ORTHOGONAL {
                self.sweep::<RULE, WEIGHTED, false>(number, place, cost);
            } else {
                self.straight::<RULE, WEIGHTED, true, false>(number, place, cost);
            }
        }
        if has(Direction::East) {
            if RULE == ORTHOGONAL {
                self.sweep::<RULE, WEIGHTED, true>(number, place, cost);
            } else {
                self.straight::<RULE, WEIGHTED, true, true>(number, place, cost);
            }
        }
        if has(Direction::SouthWest) {
            self.diagonal::<RULE, WEIGHTED, false, true>(number, place, cost);
        }
        if has(Direction::South) {
            self.straight::<RULE, WEIGHTED, false, true>(number, place, cost);
        }
        if has(Direction::SouthEast) {
            self.diagonal::<RULE, WEIGHTED, true, true>(number, place, cost);
        }
    }

    /// Hands on the cells at which a scan along a row or a column stops, or that it passes. Returns true
    /// if there were any.
    #[inline]
    fn straight<const RULE: u8, const WEIGHTED: bool, const ROW: bool, const FORWARD: bool>(
        &mut self,
        parent: u32,
        from: Place,
        cost: u64,
    ) -> bool {
        let lanes = self.lanes;
        let (leads_on, is_level) = if ROW {
            (lanes.rows.leads_on::<FORWARD>(from.y, from.x), from.y == self.goal.y)
        } else {
            (lanes.columns.leads_on::<FORWARD>(from.x, from.y), from.x == self.goal.x)
        };
        // Most scans would end at a wall. The rest is kept out of their way.
        (leads_on || is_level) && self.scan::<RULE, WEIGHTED, ROW, FORWARD>(parent, from, cost)
    }

    #[inline(never)]
    fn scan<const RULE: u8, const WEIGHTED: bool, const ROW: bool, const FORWARD: bool>(
        &mut self,
        parent: u32,
        from: Place,
        cost: u64,
    ) -> bool {
        let goal = self.goal;
        let stop = if ROW {
            self.lanes.rows.scan::<FORWARD>(from.y, from.x)
        } else {
            self.lanes.columns.scan::<FORWARD>(from.x, from.y)
        };
        let (arrival, end) = match (ROW, FORWARD) {
            (true, true) => (Direction::East, Place { x: stop.place, ..from }),
            (true, false) => (Direction::West, Place { x: stop.place, ..from }),
            (false, true) => (Direction::South, Place { y: stop.place, ..from }),
            (false, false) => (Direction::North, Place { y: stop.place, ..from }),
        };
        let is_passed = if ROW {
            from.y == goal.y && is_between::<FORWARD>(from.x, goal.x, stop.place)
        } else {
            from.x == goal.x && is_between::<FORWARD>(from.y, goal.y, stop.place)
        };
        if !is_passed && !stop.is_open {
            return false;
        }
        let place = if is_passed { goal } else { end };
        self.reach_far::<RULE, WEIGHTED>(place, from, cost, parent, arrival);
        true
    }

    /// Goes along a row and scans to both sides at each step.
    fn sweep<const RULE: u8, const WEIGHTED: bool, const EAST: bool>(
        &mut self,
        parent: u32,
        from: Place,
        cost: u64,
    ) {
        let (mut place, mut cost) = (from, cost);
        loop {
            let before = place;
            place.x = if EAST { place.x + 1 } else { place.x - 1 };
            if !self.lanes.rows.is_open(place.y, place.x) {
                return;
            }
            cost = self.add::<WEIGHTED>(cost, STRAIGHT, before, place);
            let is_mixed = WEIGHTED && self.lanes.rows.is_mixed(place.y, place.x);
            if place == self.goal || is_mixed {
                let arrival = if EAST { Direction::East } else { Direction::West };
                self.reach::<RULE, WEIGHTED>(place, cost, parent, Some(arrival));
                return;
            }
            self.straight::<RULE, WEIGHTED, false, false>(parent, place, cost);
            self.straight::<RULE, WEIGHTED, false, true>(parent, place, cost);
        }
    }

    /// Goes along a diagonal and scans ahead in both directions at each step.
    #[inline(never)]
    fn diagonal<const RULE: u8, const WEIGHTED: bool, const EAST: bool, const SOUTH: bool>(
        &mut self,
        parent: u32,
        from: Place,
        cost: u64,
    ) {
        let mut place = from;
        while let Some(find) =
            find_ahead::<RULE, WEIGHTED, EAST, SOUTH>(self.lanes, self.goal, place)
        {
            place = find.place;
            let steps = place.x.abs_diff(from.x);
            let to_place = self.add::<WEIGHTED>(cost, steps * DIAGONAL, from, place);
            let mut is_node = place == self.goal || find.is_forced;
            if !is_node {
                let has_row = self.straight::<RULE, WEIGHTED, true, EAST>(parent, place, to_place);
                let has_column =
                    self.straight::<RULE, WEIGHTED, false, SOUTH>(parent, place, to_place);
                // The rest of a diagonal that leads away from the goal may never be worth looking at.
                is_node = (has_row || has_column)
                    && to_place + self.rest::<RULE, WEIGHTED>(place)
                        > self.likely::<RULE, WEIGHTED>(from, cost);
            }
            if is_node {
                let arrival = Some(diagonal_of::<EAST, SOUTH>());
                self.reach::<RULE, WEIGHTED>(place, to_place, parent, arrival);
                return;
            }
        }
    }

    /// The estimate of a way over a place that the search is likely to have to look at: estimates
    /// grow until they are the cost of the path, and a search that has made a detour will make more
    /// of it, by some part of what it has.
    fn likely<const RULE: u8, const WEIGHTED: bool>(&self, place: Place, cost: u64) -> u64 {
        let estimate = cost + self.rest::<RULE, WEIGHTED>(place);
        estimate + (estimate - self.frontier.first_estimate) / 8
    }

    /// Whether the goal can be reached by going diagonally and then straight.
    #[inline]
    fn sees_goal(&self, from: Place) -> bool {
        let Place { mut x, mut y } = from;
        let is_east = self.goal.x > x;
        let is_south = self.goal.y > y;
        let (dx, dy) = (x.abs_diff(self.goal.x), y.abs_diff(self.goal.y));
        for _ in 0..dx.min(dy) {
            if !self.lanes.rows.is_square_open(y - u32::from(!is_south), x - u32::from(!is_east)) {
                return false;
            }
            x = if is_east { x + 1 } else { x - 1 };
            y = if is_south { y + 1 } else { y - 1 };
        }
        if y == self.goal.y {
            self.lanes.rows.is_run_open(y, x, self.goal.x)
        } else {
            self.lanes.columns.is_run_open(x, y, self.goal.y)
        }
    }

    /// Enters a cell at the end of a straight line.
    #[inline]
    fn reach_far<const RULE: u8, const WEIGHTED: bool>(
        &mut self,
        place: Place,
        from: Place,
        cost: u64,
        parent: u32,
        arrival: Direction,
    ) {
        let length = from.x.abs_diff(place.x) + from.y.abs_diff(place.y);
        let cost = self.add::<WEIGHTED>(cost, length * STRAIGHT, from, place);
        self.reach::<RULE, WEIGHTED>(place, cost, parent, Some(arrival));
    }

    /// The cost at the end of a jump whose steps have so many units at weight one.
    ///
    /// A jump of more than one step goes over cells of one weight, its ends included.
    #[inline]
    fn add<const WEIGHTED: bool>(&self, cost: u64, units: u32, from: Place, to: Place) -> u64 {
        let weight = if WEIGHTED { self.weights.at(from).max(self.weights.at(to)) } else { 1 };
        cost + u64::from(units) * weight
    }

    /// A lower bound of the units from a place to the goal.
    #[inline]
    fn rest<const RULE: u8, const WEIGHTED: bool>(&self, place: Place) -> u64 {
        let (dx, dy) = (place.x.abs_diff(self.goal.x), place.y.abs_diff(self.goal.y));
        let units = if RULE == ORTHOGONAL {
            STRAIGHT * (dx + dy)
        } else {
            STRAIGHT * dx.max(dy) + (DIAGONAL - STRAIGHT) * dx.min(dy)
        };
        u64::from(units) * if WEIGHTED { self.weights.min } else { 1 }
    }

    #[inline]
    fn reach<const RULE: u8, const WEIGHTED: bool>(
        &mut self,
        place: Place,
        cost: u64,
        parent: u32,
        arrival: Option<Direction>,
    ) {
        let rest = self.rest::<RULE, WEIGHTED>(place);
        self.frontier.reach(JumpNode::new(place, cost, parent, arrival), rest);
    }
}

/// A cell of a diagonal where there may be something to hand on.
struct Find {
    place: Place,
    /// Whether the cell itself must become a node.
    is_forced: bool,
}

/// The next cell along a diagonal that has a jump point ahead in its row or column, or the goal; `None`
/// if the diagonal ends before. It is separate from the search, so that everything it reads stays in
/// registers.
#[inline(always)]
fn find_ahead<const RULE: u8, const WEIGHTED: bool, const EAST: bool, const SOUTH: bool>(
    lanes: &LanePair,
    goal: Place,
    from: Place,
) -> Option<Find> {
    let mut place = from;
    while may_pass::<RULE, EAST, SOUTH>(&lanes.rows, place) {
        place = beyond::<EAST, SOUTH>(place);
        let is_forced = has_forced::<RULE, EAST, SOUTH>(&lanes.rows, place)
            || WEIGHTED && lanes.rows.is_mixed(place.y, place.x);
        let leads_on = lanes.rows.leads_on::<EAST>(place.y, place.x)
            || lanes.columns.leads_on::<SOUTH>(place.x, place.y);
        let may_see_goal = place.y == goal.y || place.x == goal.x;
        if leads_on || may_see_goal || is_forced {
            return Some(Find { place, is_forced });
        }
    }
    None
}

/// Whether a diagonal step is legal.
#[inline]
fn may_pass<const RULE: u8, const EAST: bool, const SOUTH: bool>(
    rows: &Lanes,
    from: Place,
) -> bool {
    if RULE == BOTH_FREE {
        let (x, y) = (from.x - u32::from(!EAST), from.y - u32::from(!SOUTH));
        return rows.is_square_open(y, x);
    }
    let to = beyond::<EAST, SOUTH>(from);
    let is_open = rows.is_open(to.y, to.x);
    let beside = || rows.is_open(from.y, to.x) || rows.is_open(to.y, from.x);
    is_open && (RULE == ALWAYS || beside())
}

/// Whether a cell that a diagonal has come to must become a node: something lies behind a corner that the
/// last step has passed.
#[inline]
fn has_forced<const RULE: u8, const EAST: bool, const SOUTH: bool>(
    rows: &Lanes,
    at: Place,
) -> bool {
    if RULE == BOTH_FREE || RULE == ORTHOGONAL {
        return false;
    }
    let ahead = beyond::<EAST, SOUTH>(at);
    let (back_x, back_y) = (2 * at.x - ahead.x, 2 * at.y - ahead.y);
    let is_open = |x, y| rows.is_open(y, x);
    let may_turn = |x, y| RULE == ALWAYS || is_open(x, y);
    let over_row = !is_open(back_x, at.y) && is_open(back_x, ahead.y) && may_turn(at.x, ahead.y);
    let over_column = !is_open(at.x, back_y) && is_open(ahead.x, back_y) && may_turn(ahead.x, at.y);
    over_row || over_column
}

/// Whether a scan from `from` passes or ends at `goal` before or at `stop`.
#[inline]
const fn is_between<const FORWARD: bool>(from: u32, goal: u32, stop: u32) -> bool {
    if FORWARD { from < goal && goal <= stop } else { stop <= goal && goal < from }
}

#[inline]
const fn beyond<const EAST: bool, const SOUTH: bool>(from: Place) -> Place {
    Place {
        x: if EAST { from.x + 1 } else { from.x - 1 },
        y: if SOUTH { from.y + 1 } else { from.y - 1 },
    }
}

const fn diagonal_of<const EAST: bool, const SOUTH: bool>() -> Direction {
    match (EAST, SOUTH) {
        (false, false) => Direction::NorthWest,
        (true, false) => Direction::NorthEast,
        (false, true) => Direction::SouthWest,
        (true, true) => Direction::SouthEast,
    }
}
