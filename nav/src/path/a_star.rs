//! Paths of least cost over weighted cells, by A*.
//!
//! P. Hart, N. Nilsson and B. Raphael, "A Formal Basis for the Heuristic
//! Determination of Minimum Cost Paths", 1968. The estimate is the octile (or
//! Manhattan) distance between cell centres times the least weight of the map,
//! which is consistent. The open list has buckets, so a cell can be expanded a
//! little before its time, and is then expanded again; the search goes on until
//! nothing is left that could be better. What could be as good at most is not
//! looked at: once the goal is reached at the least cost, ties end the search.

use crate::cell::Cell;
use crate::cost::{Cost, DIAGONAL, STRAIGHT, distance_units};
use crate::direction::{Direction, MoveRule, members};
use crate::grid::Grid;
use crate::lanes::LanePair;
use crate::link::Link;
use crate::path::nodes::NodeTable;
use crate::path::open_list::OpenList;
use crate::path::prune::{ONWARD, PruneTable, table};
use crate::terrain::Terrain;

/// The memory of A*, and how far a search has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct AStar {
    nodes: NodeTable,
    open: OpenList,
    /// Cells that the last run expanded.
    pub(crate) expansion_count: u64,
    /// What the best way to the goal so far costs, `u64::MAX` as long as there is none.
    best: u64,
}

impl AStar {
    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.open.bytes()
    }

    /// Finds the cost of the best path. `None` if the budget is spent first; that
    /// a path exists is known beforehand.
    pub(crate) fn run(
        &mut self,
        query: &Query<'_>,
        start: Cell,
        expansion_count_max: u64,
    ) -> Option<Cost> {
        let index = query.grid.index_inside(start);
        self.nodes.begin(query.grid.cell_count(), index);
        self.best = if start == query.goal { 0 } else { u64::MAX };
        let estimate = query.rest(start);
        self.open.begin(estimate, query.rise);
        self.open.push(estimate, start);
        self.resume(query, expansion_count_max)
    }

    /// Goes on with the same query where the budget of the last run was spent.
    pub(crate) fn resume(&mut self, query: &Query<'_>, expansion_count_max: u64) -> Option<Cost> {
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
        while let Some(cell) = self.open.pop(self.best) {
            let index = query.grid.index_inside(cell);
            // A cell is pushed again when a cheaper way to it turns up, and the
            // older entry is then passed over here.
            if !self.nodes.take(index) {
                continue;
            }
            // A way to the goal may have turned up since the cell was pushed.
            let is_known = self.best < u64::MAX;
            if is_known && self.nodes.cost(index) + query.rest(cell) >= self.best {
                continue;
            }
            if self.expansion_count == expansion_count_max {
                self.nodes.put_back(index);
                self.open.put_back(cell);
                return None;
            }
            self.expansion_count += 1;
            self.expand::<WEIGHTED>(query, cell, index);
        }
        assert!(self.best < u64::MAX, "start and goal are of one region, but no path joins them");
        Some(Cost::from_units(self.best))
    }

    #[inline]
    fn expand<const WEIGHTED: bool>(&mut self, query: &Query<'_>, cell: Cell, index: usize) {
        let cost = self.nodes.cost(index);
        let ring = query.grid.ring(cell);
        let mut moves = query.moves[usize::from(ring)];
        let weights = query.grid.weights();
        let weight = if WEIGHTED { weights[index].factor() } else { query.weight_min };
        if let Some(arrival) = self.nodes.arrival(index) {
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
            self.reach(query, next, next_index, next_cost, Some(direction));
        }
        for link in query.grid.links().from(cell) {
            if query.grid.is_link_open(link) {
                let (next, cost) = (link.to, cost + link.units());
                self.reach(query, next, query.grid.index_inside(next), cost, None);
            }
        }
    }

    /// Enters a cell, by a step in a direction or by a link.
    #[inline]
    fn reach(
        &mut self,
        query: &Query<'_>,
        next: Cell,
        index: usize,
        cost: u64,
        direction: Option<Direction>,
    ) {
        if self.nodes.improve(index, cost, direction) {
            let estimate = cost + query.rest(next);
            if next == query.goal {
                self.best = cost;
            } else if estimate < self.best {
                self.open.push(estimate, next);
            }
        }
    }

    /// The cells from the goal back to the start.
    pub(crate) fn trace_back<'a>(
        &'a self,
        grid: &'a Grid,
        goal: Cell,
    ) -> impl Iterator<Item = Cell> + 'a {
        std::iter::successors(Some(goal), |&cell| {
            let index = grid.index_inside(cell);
            if self.nodes.is_linked(index) {
                let is_way = |link: &&Link| {
                    let from = grid.index_inside(link.from);
                    self.nodes.is_reached(from)
                        && self.nodes.cost(from) + link.units() == self.nodes.cost(index)
                };
                return grid.links().to(cell).iter().find(is_way).map(|link| link.from);
            }
            Some(self.nodes.arrival(index)?.opposite().step_inside(cell))
        })
    }
}

/// The steps that do not lead back, for each arrival: all others lead to cells that are a straight
/// step from where this one was entered from, and cost less that way whatever they weigh.
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

/// Of more steps than this, those that are not needed are left out.
const STEPS_MIN: u32 = 3;

/// How many shortcuts estimates can know.
const SHORTCUT_COUNT_MAX: usize = 32;

/// Units of a step in each direction between cells of weight one.
const LENGTHS: [u64; 8] = {
    let mut lengths = [STRAIGHT as u64; 8];
    let mut i = 0;
    while i < lengths.len() {
        if Direction::ALL[i].is_diagonal() {
            lengths[i] = DIAGONAL as u64;
        }
        i += 1;
    }
    lengths
};

/// What stays the same during a search.
pub(crate) struct Query<'a> {
    grid: &'a Grid,
    rule: MoveRule,
    moves: &'static [u8; 256],
    prune: &'static PruneTable,
    /// They know which cells are mixed.
    lanes: &'a LanePair,
    /// What a step in each direction adds to the index of a cell.
    offsets: [isize; 8],
    goal: Cell,
    /// The least weight of the map.
    pub(crate) weight_min: u64,
    /// By which estimates are scaled: that weight, or zero where links make them useless.
    scale: u64,
    /// Where links begin by which the goal may be nearer than as the crow flies, and how far it is from
    /// there at least.
    shortcuts: [(Cell, u64); SHORTCUT_COUNT_MAX],
    shortcut_count: usize,
    /// How much a step or a link can raise an estimate.
    rise: u64,
    /// Whether all open cells have that weight.
    pub(crate) is_uniform: bool,
}

impl<'a> Query<'a> {
    pub(crate) fn new(terrain: &'a Terrain, goal: Cell) -> Self {
        let (grid, rule, lanes) = (terrain.grid(), terrain.rule(), terrain.lanes());
        let (min, max) = grid.weight_range().unwrap_or_default();
        let (weight_min, weight_max) = (min.factor(), max.factor());
        let (moves, is_uniform) = (rule.table(), min == max);
        let width = isize::try_from(u32::from(grid.width())).expect("sides are at most SIDE_MAX");
        let offsets = Direction::ALL.map(|direction| {
            let (dx, dy) = direction.offset();
            isize::from(dy) * width + isize::from(dx)
        });
        // A step away from the goal adds its cost and a step more to go.
        let rise = u64::from(DIAGONAL) * (weight_max + weight_min);
        let (shortcuts, shortcut_count) = ([(goal, 0); SHORTCUT_COUNT_MAX], 0);
        let mut query = Self {
            grid,
            rule,
            moves,
            prune: table(rule),
            lanes,
            offsets,
            goal,
            weight_min,
            scale: weight_min,
            shortcuts,
            shortcut_count,
            rise,
            is_uniform,
        };
        query.look_at_links();
        query
    }

    /// Lets the estimates hold for ways over links.
    fn look_at_links(&mut self) {
        let Self { grid, rule, scale, .. } = *self;
        let links = grid.links().all();
        let flight = |from, to| distance_units(rule, from, to) * scale;
        // Others are no nearer than as the crow flies.
        let is_short =
            |link: &&Link| grid.is_link_open(link) && link.units() < flight(link.from, link.to);
        let shortcuts = || links.iter().filter(is_short);
        // Estimates that rise by more would make the open list too long.
        let is_vast = flight(Cell::new(0, 0), Cell::new(grid.width(), grid.height())) >> 32 > 0;
        if is_vast || shortcuts().count() > SHORTCUT_COUNT_MAX {
            self.scale = 0;
        } else {
            // As in Dijkstra's algorithm: the one that is nearest to the goal is known with each round.
            while let Some((rest, from)) = shortcuts()
                .filter(|link| {
                    !self.shortcuts[..self.shortcut_count]
                        .iter()
                        .any(|&(from, _)| from == link.from)
                })
                .map(|link| (link.units() + self.rest(link.to), link.from))
                .min()
            {
                self.shortcuts[self.shortcut_count] = (from, rest);
                self.shortcut_count += 1;
            }
        }
        let rises = links.iter().map(|link| link.units() + self.rest(link.to));
        self.rise = rises.max().unwrap_or(0).max(self.rise);
    }

    /// The units from a cell to the goal, at least.
    #[inline]
    fn rest(&self, cell: Cell) -> u64 {
        let flight = |to| distance_units(self.rule, cell, to) * self.scale;
        let by_links = self.shortcuts[..self.shortcut_count].iter();
        by_links.fold(flight(self.goal), |least, &(from, rest)| least.min(flight(from) + rest))
    }
}
