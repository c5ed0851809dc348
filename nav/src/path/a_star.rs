//! Paths of least cost over weighted cells, by A* from both ends.
//!
//! P. Hart, N. Nilsson and B. Raphael, "A Formal Basis for the Heuristic Determination of Minimum Cost
//! Paths", 1968; W. Pijls and H. Post, "Yet Another Bidirectional Algorithm for Finding the Shortest
//! Path", 2009 (NBA*). The estimate is the octile (or Manhattan) distance between cell centres times the
//! least weight of the map, which is consistent. A cell is expanded by one side only: each side skips
//! what the other has closed, because the best path through it is known then. A cell that cannot improve
//! on the best path so far, by the estimate or by the progress of the other side, is not expanded.
//!
//! The open lists have buckets, so a cell can be expanded a little early, and is then expanded again. A
//! side empties a bucket before the other has its turn, so what the other sees is final. On maps of one
//! weight, where estimates lead straight to the goal, all turns are those of the first side.

use smallvec::SmallVec;

use crate::cell::Cell;
use crate::cost::{Cost, DIAGONAL, LENGTHS, distance_units};
use crate::direction::{Direction, MoveRule, members};
use crate::grid::Grid;
use crate::landmarks::{Distances, Landmarks};
use crate::lanes::LanePair;
use crate::path::nodes::NodeTable;
use crate::path::open_list::{BUCKET_BITS, BUCKET_BITS_WITH_LANDMARKS, OpenList};
use crate::path::prune::{ONWARD, PruneTable, table};
use crate::terrain::Terrain;

/// The memory of A*, and the progress of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct AStar {
    /// The side from the start, and the side from the goal.
    sides: [Side; 2],
    /// The side that expands.
    turn: usize,
    /// The number of cells that the last run expanded.
    pub(crate) expansion_count: u64,
    best: Best,
}

/// A search from one end.
#[derive(Clone, Debug, Default)]
struct Side {
    nodes: NodeTable,
    open: OpenList,
}

/// The best path so far.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    /// The cost of the path, `u64::MAX` as long as there is none.
    units: u64,
    /// A cell of the path that both sides have reached.
    meeting: Option<Cell>,
}

impl AStar {
    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.sides.iter().map(|side| side.nodes.bytes() + side.open.bytes()).sum()
    }

    /// Begins to search for the best path, which must exist.
    pub(crate) fn begin(&mut self, query: &Query<'_>) {
        let [start, goal] = query.ends;
        let units = if start == goal { 0 } else { u64::MAX };
        (self.best, self.turn) = (Best { units, meeting: Some(start) }, 0);
        let estimate = query.estimates[0].rest(start, query.grid.index_inside(start));
        for (side, end) in self.sides.iter_mut().zip(query.ends) {
            side.nodes.begin(query.grid.cell_count(), query.grid.index_inside(end));
            side.open.begin(estimate, query.rise, query.bucket_bits);
            side.open.push(estimate, end);
        }
    }

    /// Runs on until the cost of the best path is known. Returns `None` if the budget is spent first.
    pub(crate) fn run(&mut self, query: &Query<'_>, expansion_count_max: u64) -> Option<Cost> {
        self.expansion_count = 0;
        if query.is_uniform {
            self.search::<false>(query, expansion_count_max)
        } else {
            self.search::<true>(query, expansion_count_max)
        }
    }

    /// Runs until no cell is left that could lead to a better path.
    fn search<const WEIGHTED: bool>(
        &mut self,
        query: &Query<'_>,
        expansion_count_max: u64,
    ) -> Option<Cost> {
        loop {
            let [forward, backward] = &mut self.sides;
            let floors = [forward.open.floor(), backward.open.floor()];
            if floors[0].max(floors[1]) >= self.best.units {
                break;
            }
            let (own, other) = match self.turn {
                0 => (forward, &*backward),
                _ => (backward, &*forward),
            };
            let floor = floors[1 - self.turn];
            let mut turn = Turn { query, side: self.turn, own, other, floor, best: &mut self.best };
            let left = expansion_count_max - self.expansion_count;
            let (is_over, expansion_count) = turn.run::<WEIGHTED>(left);
            self.expansion_count += expansion_count;
            if !is_over {
                return None;
            }
            let [forward, backward] = &self.sides;
            self.turn = usize::from(WEIGHTED && backward.open.count() < forward.open.count());
        }
        let units = self.best.units;
        assert!(units < u64::MAX, "start and goal are of one region, but no path joins them");
        Some(Cost::from_units(units))
    }

    /// The cells from where the two sides met to the start and to the goal, with that cell in both.
    pub(crate) fn halves<'a>(
        &'a self,
        query: &'a Query<'_>,
    ) -> [impl Iterator<Item = Cell> + 'a; 2] {
        [0, 1].map(|side| {
            let nodes = &self.sides[side].nodes;
            std::iter::successors(self.best.meeting, move |&cell| {
                let index = query.grid.index_inside(cell);
                if nodes.is_linked(index) {
                    let is_way = |&(from, units): &(Cell, u64)| {
                        let from = query.grid.index_inside(from);
                        nodes.is_reached(from) && nodes.cost(from) + units == nodes.cost(index)
                    };
                    return query
                        .grid
                        .open_links(cell, side == 0)
                        .find(is_way)
                        .map(|(from, _)| from);
                }
                Some(nodes.arrival(index)?.opposite().step_inside(cell))
            })
        })
    }
}

/// The turn of a side, which empties a bucket.
struct Turn<'a> {
    query: &'a Query<'a>,
    /// The number of the side.
    side: usize,
    own: &'a mut Side,
    other: &'a Side,
    /// A lower bound of the cost of every path from end to end that the other side has not finished.
    floor: u64,
    best: &'a mut Best,
}

impl Turn<'_> {
    /// Empties the bucket, unless the budget is spent first. The second result is the number of cells
    /// expanded.
    #[inline]
    fn run<const WEIGHTED: bool>(&mut self, expansion_count_max: u64) -> (bool, u64) {
        let [ahead, behind] = [self.side, 1 - self.side].map(|side| &self.query.estimates[side]);
        let mut expansion_count = 0;
        while let Some(cell) = self.own.open.pop() {
            let index = self.query.grid.index_inside(cell);
            // A cell is pushed again when a cheaper path to it turns up. The older entry is then skipped
            // here.
            if !self.own.nodes.take(index) || self.other.nodes.is_closed(index) {
                continue;
            }
            let (cost, best) = (self.own.nodes.cost(index), self.best.units);
            // A better path may have turned up since the cell was pushed.
            let is_known = best < u64::MAX;
            if is_known
                && (cost + ahead.rest(cell, index) >= best
                    || cost + self.floor >= best + behind.rest(cell, index))
            {
                continue;
            }
            if expansion_count == expansion_count_max {
                self.own.nodes.put_back(index);
                self.own.open.put_back(cell);
                return (false, expansion_count);
            }
            expansion_count += 1;
            self.expand::<WEIGHTED>(cell, index, cost);
        }
        (true, expansion_count)
    }

    #[inline]
    fn expand<const WEIGHTED: bool>(&mut self, cell: Cell, index: usize, cost: u64) {
        let query = self.query;
        let ring = query.grid.ring(cell);
        let mut moves = query.moves[usize::from(ring)];
        let weights = query.grid.weights();
        let weight = if WEIGHTED { weights[index].factor() } else { query.weight_min };
        if let Some(arrival) = self.own.nodes.arrival(index) {
            moves &= !arrival.opposite().bit();
            // In corridors it costs more to know which steps to leave out than to take them.
            if moves.count_ones() > STEPS_MIN && !(WEIGHTED && query.lanes.is_mixed(cell)) {
                moves &=
                    query.prune[arrival as usize][usize::from(ring)] | ONWARD[arrival as usize];
            }
            moves &= AHEAD[arrival as usize];
        }
        for direction in members(moves) {
            let next = direction.step_inside(cell);
            let next_index = index.wrapping_add_signed(query.offsets[direction as usize]);
            let weight = if WEIGHTED { weight.max(weights[next_index].factor()) } else { weight };
            let next_cost = cost + LENGTHS[direction as usize] * weight;
            self.reach(next, next_index, next_cost, Some(direction));
        }
        for (next, units) in query.grid.open_links(cell, self.side == 1) {
            self.reach(next, query.grid.index_inside(next), cost + units, None);
        }
    }

    /// Enters a cell, by a step in a direction or by a link.
    #[inline]
    fn reach(&mut self, next: Cell, index: usize, cost: u64, direction: Option<Direction>) {
        if self.own.nodes.improve(index, cost, direction) {
            if self.other.nodes.is_reached(index) {
                let units = cost + self.other.nodes.cost(index);
                if units < self.best.units {
                    *self.best = Best { units, meeting: Some(next) };
                }
            }
            let estimate = cost + self.query.estimates[self.side].rest(next, index);
            if estimate < self.best.units {
                self.own.open.push(estimate, next);
            }
        }
    }
}

/// The steps that do not lead back, for each arrival. All others lead to cells that are a straight step
/// from where this one was entered from, and cost less that way whatever they weigh.
const AHEAD: [u8; 8] = {
    let mut ahead = [0; 8];
    let mut i = 0;
    while i < 64 {
        let (x, y) = Direction::ALL[i / 8].offset();
        let (next_x, next_y) = Direction::ALL[i % 8].offset();
        if x * next_x + y * next_y >= 0 {
            ahead[i / 8] |= 1 << (i % 8);
        }
        i += 1;
    }
    ahead
};

/// If there are more steps than this, those that are not needed are left out.
const STEPS_MIN: u32 = 3;

/// The maximum number of shortcuts that estimates can know.
const SHORTCUT_COUNT_MAX: usize = 32;

/// The data that stay the same during a search.
pub(crate) struct Query<'a> {
    grid: &'a Grid,
    moves: &'static [u8; 256],
    prune: &'static PruneTable,
    /// These know which cells are mixed.
    lanes: &'a LanePair,
    /// The difference that a step in each direction makes to the index of a cell.
    offsets: [isize; 8],
    /// Start and goal.
    ends: [Cell; 2],
    /// The estimate of the rest of the path, for each side.
    estimates: [Estimate<'a>; 2],
    /// The least weight of the map.
    weight_min: u64,
    /// The maximum by which a step or a link can raise an estimate.
    rise: u64,
    bucket_bits: u32,
    /// Whether all open cells have that weight.
    is_uniform: bool,
}

impl<'a> Query<'a> {
    pub(crate) fn new(terrain: &'a Terrain, start: Cell, goal: Cell) -> Self {
        let (grid, rule, lanes) = (terrain.grid(), terrain.rule(), terrain.lanes());
        let (min, max) = grid.weight_range().unwrap_or_default();
        let (weight_min, weight_max) = (min.factor(), max.factor());
        let (moves, is_uniform) = (rule.table(), min == max);
        let width = isize::try_from(u32::from(grid.width())).expect("sides are at most SIDE_MAX");
        let offsets = Direction::ALL.map(|direction| {
            let (dx, dy) = direction.offset();
            isize::from(dy) * width + isize::from(dx)
        });
        let ends = [start, goal];
        let estimates = [0, 1].map(|side| Estimate::new(terrain, weight_min, side, ends[1 - side]));
        // A step away from the goal adds at most its cost and as much again to the rest.
        let (weight_more, bucket_bits) = match terrain.landmarks() {
            Some(_) => (weight_max, BUCKET_BITS_WITH_LANDMARKS),
            None => (weight_min, BUCKET_BITS),
        };
        let rise = u64::from(DIAGONAL) * (weight_max + weight_more);
        let by_links = [0, 1]
            .into_iter()
            .flat_map(|side| links(grid, side).map(move |(_, to, units)| (side, to, units)));
        let rise = by_links.fold(rise, |rise, (side, to, units)| {
            rise.max(units + estimates[side].rest(to, grid.index_inside(to)))
        });
        let prune = table(rule);
        Self {
            grid,
            moves,
            prune,
            lanes,
            offsets,
            ends,
            estimates,
            weight_min,
            rise,
            bucket_bits,
            is_uniform,
        }
    }
}

/// All open links of a grid: their beginnings and ends in the direction of a side, and their costs.
fn links(grid: &Grid, side: usize) -> impl Iterator<Item = (Cell, Cell, u64)> {
    let links = grid.links().all().iter().filter(|link| grid.is_link_open(link));
    links.map(move |link| match side {
        0 => (link.from, link.to, link.units()),
        _ => (link.to, link.from, link.units()),
    })
}

/// A lower bound of the cost from any cell to the end that a side searches for.
struct Estimate<'a> {
    rule: MoveRule,
    target: Cell,
    /// With the distances of the target.
    landmarks: Option<(&'a Landmarks, Distances)>,
    /// One or zero for each: whether it counts that a cell is farther from a landmark than the target,
    /// and that it is nearer. Links may lead one way only, and then only one of them counts.
    counts: [i32; 2],
    /// The factor of distances: the least weight, or zero if links make them useless.
    scale: u64,
    /// The beginnings of links that may bring the target nearer than the open-ground distance, with lower
    /// bounds of the cost from there.
    shortcuts: SmallVec<[(Cell, u64); SHORTCUT_COUNT_MAX]>,
}

impl<'a> Estimate<'a> {
    fn new(terrain: &'a Terrain, scale: u64, side: usize, target: Cell) -> Self {
        let (grid, rule) = (terrain.grid(), terrain.rule());
        let shortcuts = SmallVec::new();
        let landmarks = terrain.landmarks();
        let landmarks = landmarks.map(|it| (it, *it.of(grid.index_inside(target))));
        let counts = [0, 1].map(|it| (it == side || terrain.links().is_empty()).into());
        let mut estimate = Self { rule, target, landmarks, counts, scale, shortcuts };
        let flight = |from, to| distance_units(rule, from, to) * scale;
        // Other links save nothing over the open-ground distance.
        let shortcuts = || links(grid, side).filter(|&(from, to, units)| units < flight(from, to));
        if shortcuts().count() > SHORTCUT_COUNT_MAX {
            estimate.scale = 0;
            return estimate;
        }
        // As in Dijkstra's algorithm: each round finds the next nearest one to the target.
        while let Some((rest, from)) = shortcuts()
            .filter(|&(from, ..)| estimate.shortcuts.iter().all(|&(known, _)| known != from))
            .map(|(from, to, units)| (units + estimate.by_flight(to), from))
            .min()
        {
            estimate.shortcuts.push((from, rest));
        }
        estimate
    }

    /// A lower bound of the units between a cell, with its index, and the target.
    #[inline]
    fn rest(&self, cell: Cell, index: usize) -> u64 {
        let flight = self.by_flight(cell);
        let Some((landmarks, to)) = &self.landmarks else { return flight };
        let (mut farther, mut nearer) = (0, 0);
        for (from, to) in landmarks.of(index).iter().zip(to) {
            // Distances are never negative, so this does not overflow.
            farther = (from - to).max(farther);
            nearer = (to - from).max(nearer);
        }
        let most = (farther * self.counts[0]).max(nearer * self.counts[1]);
        flight.max(most.unsigned_abs().into())
    }

    /// The same as the crow flies, with shortcuts.
    #[inline]
    fn by_flight(&self, cell: Cell) -> u64 {
        let flight = |to| distance_units(self.rule, cell, to) * self.scale;
        let by_links = self.shortcuts.iter();
        by_links.fold(flight(self.target), |least, &(from, rest)| least.min(flight(from) + rest))
    }
}
