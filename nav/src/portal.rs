//! Portals: long ways by way of the gates between sectors.
//!
//! A. Botea, M. Müller and J. Schaeffer, "Near Optimal Hierarchical Path-Finding",
//! 2004. The map is divided into sectors of 16 x 16 cells. Where two of them touch,
//! each run of open cells of one weight has a gate or two. What it costs to get from gate to gate
//! inside of a sector is known beforehand, so a search steps from sector to sector.
//! An edit makes one sector, or the few whose border it lies on, be worked out
//! again.

pub(crate) mod local;
pub(crate) mod sector;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::cell::Cell;
use crate::cost::{Cost, STRAIGHT, distance_units};
use crate::direction::MoveRule;
use crate::grid::Grid;
use crate::grid::change::GridVersion;
use crate::path::outcome::{Path, PathOutcome};
use crate::path::{PathScratch, check_ends};
use crate::portal::local::{Local, UNREACHED};
use crate::portal::sector::{GATE_COUNT_MAX, Gate, SECTOR_SIDE, Sectors};
use crate::terrain::Terrain;

/// Finds long ways over weighted ground fast, and not always the best ones.
///
/// What it finds is a legal path, and there is one whenever the goal can be
/// reached. It is dearer than the best one, for it goes through the middles or ends
/// of openings: by 4 parts in a hundred where all cells weigh the same, and by
/// about 10 over patches of weights from 1 to 9. Reach for it where weights differ
/// and goals are far: there A* has to look at most of the map. Where all cells weigh the same, [`PathScratch::find`]
/// is exact, and mostly faster as well.
///
/// A graph is for one terrain. It follows the edits by itself, when it is asked.
///
/// ```
/// use formic_nav::{Cell, Grid, MoveRule, Path, PathScratch, PortalGraph, Terrain, Weight};
/// let mut grid = Grid::from_fn(100, 80, |cell| cell.x % 20 != 7 || cell.y > 60)?;
/// grid.set_weight(Cell::new(50, 70), Weight::new(4).unwrap());
/// let mut terrain = Terrain::new(grid, MoveRule::BothFree);
/// let (start, goal) = (Cell::new(0, 0), Cell::new(99, 0));
///
/// let (mut graph, mut scratch) = (PortalGraph::new(&terrain), PathScratch::new());
/// let mut path = Path::new();
/// let by_gates = graph.find(&terrain, start, goal, &mut scratch, &mut path).cost().unwrap();
/// assert_eq!(path.cells().last(), Some(&goal));
/// let best = scratch.find(&terrain, start, goal, &mut path).cost().unwrap();
/// assert!(best <= by_gates && by_gates.length() < 1.2 * best.length());
///
/// terrain.dig(Cell::new(7, 0)); // a short cut
/// assert!(graph.find(&terrain, start, goal, &mut scratch, &mut path).cost().unwrap() < by_gates);
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PortalGraph {
    sectors: Sectors,
    rule: MoveRule,
    version: GridVersion,
    nodes: Vec<SectorNode>,
    local: Local,
    marks: Vec<Mark>,
    generation: u32,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    cells: Vec<Cell>,
    /// Units between the ends of a way and the gates of their sectors.
    from_start: Vec<u32>,
    to_goal: Vec<u32>,
}

/// A sector as a part of the graph.
#[derive(Clone, Debug, Default)]
struct SectorNode {
    gates: Vec<Gate>,
    /// Units from gate to gate, row by row.
    costs: Vec<u32>,
    /// For each gate the number of the one that it leads to.
    twins: Vec<u32>,
}

/// What a search knows about a gate that it has come in by.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    cost: u64,
    generation: u32,
    parent: u32,
}

/// The parent of the gates next to the start.
const START: u32 = u32::MAX;
/// Goals that are no farther are searched for exactly, which costs no more.
const NEAR: u16 = 2 * SECTOR_SIDE;

impl PortalGraph {
    /// Works out all sectors of a terrain. Measured on a busy machine, that takes
    /// 0.1 to 4 seconds for the public maps of 512 x 512 cells and more.
    #[must_use]
    pub fn new(terrain: &Terrain) -> Self {
        let sectors = Sectors::new(terrain.grid());
        let mut graph = Self {
            sectors,
            rule: terrain.rule(),
            version: terrain.version(),
            nodes: vec![SectorNode::default(); sectors.count()],
            local: Local::new(),
            marks: vec![Mark::default(); sectors.count() * GATE_COUNT_MAX + 1],
            generation: 0,
            queue: BinaryHeap::new(),
            cells: Vec::new(),
            from_start: Vec::new(),
            to_goal: Vec::new(),
        };
        graph.rebuild(terrain.grid(), (0..sectors.count()).collect());
        graph
    }

    /// Follows the edits of the terrain since the last call; returns how many
    /// sectors were worked out again.
    ///
    /// [`PortalGraph::find`] does so by itself. Call this to choose the time. Of another
    /// terrain, be it another level or a state of the same one that was put back, all
    /// sectors are worked out.
    pub fn update(&mut self, terrain: &Terrain) -> usize {
        if self.sectors != Sectors::new(terrain.grid()) || self.rule != terrain.rule() {
            *self = Self::new(terrain);
            return self.sectors.count();
        }
        let sectors = self.sectors;
        let mut touched: Vec<usize> = match terrain.grid().changes_since(self.version) {
            Some(changes) => changes.flat_map(|change| sectors.touched(change.cell)).collect(),
            None => (0..sectors.count()).collect(),
        };
        self.version = terrain.version();
        touched.sort_unstable();
        touched.dedup();
        let count = touched.len();
        self.rebuild(terrain.grid(), touched);
        count
    }

    /// Finds a path by way of gates, and writes it to `path`, which is empty if
    /// there is none.
    ///
    /// The cost of the outcome is exactly that of the path, which need not be the
    /// least. Goals that are near, within two sectors, are searched for exactly,
    /// and so are those that only squeezing between corners leads to.
    pub fn find(
        &mut self,
        terrain: &Terrain,
        start: Cell,
        goal: Cell,
        scratch: &mut PathScratch,
        path: &mut Path,
    ) -> PathOutcome {
        self.update(terrain);
        path.clear();
        if let Err(reason) = check_ends(terrain, start, goal) {
            return PathOutcome::Unreachable(reason);
        }
        let is_near = start.x.abs_diff(goal.x).max(start.y.abs_diff(goal.y)) <= NEAR;
        let found = if is_near { None } else { self.search(terrain.grid(), start, goal) };
        let Some(units) = found else { return scratch.find(terrain, start, goal, path) };
        self.refine(terrain.grid(), start, goal);
        let cost = Cost::from_units(units);
        path.set_reversed(cost, terrain.version(), self.cells.iter().copied());
        PathOutcome::Found { cost }
    }

    /// Memory held, in bytes, but for the queues of searches.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let of_node = |node: &SectorNode| {
            node.gates.capacity() * size_of::<Gate>()
                + (node.costs.capacity() + node.twins.capacity()) * size_of::<u32>()
        };
        self.nodes.iter().map(of_node).sum::<usize>()
            + self.nodes.capacity() * size_of::<SectorNode>()
            + self.marks.capacity() * size_of::<Mark>()
    }

    /// Works these sectors out again, and the gates that lead to them.
    fn rebuild(&mut self, grid: &Grid, numbers: Vec<usize>) {
        for &number in &numbers {
            let corner = self.sectors.corner(number);
            let node = &mut self.nodes[number];
            self.sectors.gates(grid, corner, &mut node.gates);
            node.costs.clear();
            for from in &node.gates {
                self.local.run(grid, self.rule, self.sectors.extent(corner), from.cell, None);
                node.costs.extend(node.gates.iter().map(|to| self.local.cost(to.cell)));
            }
        }
        for number in numbers {
            self.link(number);
            for i in 0..self.nodes[number].gates.len() {
                self.link(self.sectors.number(self.nodes[number].gates[i].across));
            }
        }
    }

    /// Finds the twins of a sector's gates.
    fn link(&mut self, number: usize) {
        let mut twins = std::mem::take(&mut self.nodes[number].twins);
        twins.clear();
        for gate in &self.nodes[number].gates {
            let other = self.sectors.number(gate.across);
            let is_twin = |twin: &Gate| (twin.cell, twin.across) == (gate.across, gate.cell);
            let place = self.nodes[other].gates.iter().position(is_twin);
            // A change of a border has both its sectors rebuilt before any is linked.
            let place = place.expect("both sides of a border list its gates");
            twins.push(gate_number(other, place));
        }
        self.nodes[number].twins = twins;
    }

    /// Runs A* over the gates, and returns the units of the way.
    fn search(&mut self, grid: &Grid, start: Cell, goal: Cell) -> Option<u64> {
        let weight_min = grid.weight_range().map_or(1, |(min, _)| min.factor());
        let rule = self.rule;
        let rest = |cell| u64::from(distance_units(rule, cell, goal)) * weight_min;
        let (first, last) = (self.sectors.number(start), self.sectors.number(goal));
        let mut costs = std::mem::take(&mut self.from_start);
        self.costs_to_gates(grid, start, &mut costs);
        self.from_start = costs;
        costs = std::mem::take(&mut self.to_goal);
        self.costs_to_gates(grid, goal, &mut costs);
        self.to_goal = costs;
        let to_goal = &self.to_goal;
        let goal_number = gate_number(self.sectors.count(), 0);

        if self.generation == u32::MAX {
            self.marks.fill(Mark::default());
            self.generation = 0;
        }
        self.generation += 1;
        self.queue.clear();
        let mut reach =
            Reach { marks: &mut self.marks, queue: &mut self.queue, generation: self.generation };
        let nodes = &self.nodes;
        // Leaves a sector through each of its gates and comes in by their twins.
        let leave =
            |reach: &mut Reach<'_>, sector: usize, cost: u64, costs: &[u32], parent: u32| {
                let node = &nodes[sector];
                for ((gate, &twin), &inside) in node.gates.iter().zip(&node.twins).zip(costs) {
                    if inside != UNREACHED {
                        let weight =
                            grid.weight_inside(gate.cell).max(grid.weight_inside(gate.across));
                        let cost = cost + u64::from(inside) + u64::from(STRAIGHT) * weight.factor();
                        reach.reach(twin, cost, rest(gate.across), parent);
                    }
                }
            };
        leave(&mut reach, first, 0, &self.from_start, START);
        while let Some((cost, number)) = reach
            .next(|number| if number == goal_number { 0 } else { rest(gate(nodes, number).cell) })
        {
            if number == goal_number {
                return Some(cost);
            }
            let (sector, place) = sector_and_place(number);
            if sector == last && to_goal[place] != UNREACHED {
                reach.reach(goal_number, cost + u64::from(to_goal[place]), 0, number);
            }
            let width = nodes[sector].gates.len();
            let costs = &nodes[sector].costs[place * width..][..width];
            leave(&mut reach, sector, cost, costs, number);
        }
        None
    }

    /// Lists the units between a cell and the gates of its sector.
    fn costs_to_gates(&mut self, grid: &Grid, cell: Cell, costs: &mut Vec<u32>) {
        self.local.run(grid, self.rule, self.sectors.extent(cell), cell, None);
        let gates = &self.nodes[self.sectors.number(cell)].gates;
        costs.clear();
        costs.extend(gates.iter().map(|gate| self.local.cost(gate.cell)));
    }

    /// Lists the cells of the way that the last search has found, from the goal to
    /// the start.
    fn refine(&mut self, grid: &Grid, start: Cell, goal: Cell) {
        self.cells.clear();
        let mut end = goal;
        let mut number = self.marks[gate_number(self.sectors.count(), 0) as usize].parent;
        while number != START {
            let Gate { cell, across } = *gate(&self.nodes, number);
            self.refine_inside(grid, cell, end);
            end = across;
            number = self.marks[number as usize].parent;
        }
        self.refine_inside(grid, start, end);
    }

    fn refine_inside(&mut self, grid: &Grid, begin: Cell, end: Cell) {
        self.local.run(grid, self.rule, self.sectors.extent(begin), begin, Some(end));
        self.cells.extend(self.local.trace_back(end));
    }
}

/// The part of a search that is written while the graph is read.
struct Reach<'a> {
    marks: &'a mut [Mark],
    queue: &'a mut BinaryHeap<Reverse<(u64, u32)>>,
    generation: u32,
}

impl Reach<'_> {
    fn reach(&mut self, number: u32, cost: u64, rest: u64, parent: u32) {
        let mark = &mut self.marks[number as usize];
        if mark.generation != self.generation || cost < mark.cost {
            *mark = Mark { cost, generation: self.generation, parent };
            self.queue.push(Reverse((cost + rest, number)));
        }
    }

    /// The cost and the number of the next gate; what was reached again at less
    /// cost since it was queued is passed over.
    fn next(&mut self, rest: impl Fn(u32) -> u64) -> Option<(u64, u32)> {
        loop {
            let Reverse((estimate, number)) = self.queue.pop()?;
            let cost = self.marks[number as usize].cost;
            if cost + rest(number) == estimate {
                return Some((cost, number));
            }
        }
    }
}

fn gate_number(sector: usize, place: usize) -> u32 {
    u32::try_from(sector * GATE_COUNT_MAX + place).expect("there are fewer gates than cells")
}

const fn sector_and_place(number: u32) -> (usize, usize) {
    (number as usize / GATE_COUNT_MAX, number as usize % GATE_COUNT_MAX)
}

fn gate(nodes: &[SectorNode], number: u32) -> &Gate {
    let (sector, place) = sector_and_place(number);
    &nodes[sector].gates[place]
}
