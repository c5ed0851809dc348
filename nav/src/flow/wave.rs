//! The wave that spreads from the goals of a flow field, and its repair.
//!
//! It is Dijkstra's algorithm (E. Dijkstra, "A Note on Two Problems in Connexion with Graphs", 1959),
//! halted and resumed at will. After edits it follows G. Ramalingam and T. Reps, "An Incremental
//! Algorithm for a Generalization of the Shortest-Path Problem", 1996: cells that got their cost across
//! an edit are forgotten, and enter the queue again from what is still known around them.
//!
//! Two invariants hold while no repair is in progress. The cost of a cell is never less than the true
//! one: a path of that cost or less exists, along the directions in which costs came. And if a step from
//! a cell leads to one whose cost could be less, the former waits in the queue. So a cost is final once
//! nothing in the queue is cheaper.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::bytes::{Bytes, Saved, bytes_by_field, ensure};
use crate::cell::Cell;
use crate::cost::LENGTHS;
use crate::direction::{Direction, MoveRule, members};
use crate::flow::store::{SectorStore, UNREACHED, Way};
use crate::grid::Grid;

/// The queue is tidied once it has this many more stale entries than valid ones.
const STALE_COUNT_MAX: usize = 1024;

/// The ground over which a wave runs.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) grid: &'a Grid,
    moves: &'static [u8; 256],
}

impl<'a> Ground<'a> {
    pub(crate) const fn new(grid: &'a Grid, rule: MoveRule) -> Self {
        Self { grid, moves: rule.table() }
    }

    /// The legal directions from a cell inside the grid.
    #[inline]
    pub(crate) fn moves(self, cell: Cell) -> u8 {
        self.moves[usize::from(self.grid.ring(cell))]
    }

    /// The cell one legal step away, and the units of the step.
    #[inline]
    pub(crate) fn step(self, cell: Cell, direction: Direction) -> (Cell, u64) {
        let next = direction.step_inside(cell);
        let weight = self.grid.weight_inside(cell).max(self.grid.weight_inside(next));
        (next, LENGTHS[direction as usize] * weight.factor())
    }

    /// The cells one legal step away from a cell inside the grid, and the units of the steps.
    pub(crate) fn steps(self, cell: Cell) -> impl Iterator<Item = (Cell, u64)> + 'a {
        members(self.moves(cell)).map(move |direction| self.step(cell, direction))
    }

    /// A cell, those around it and those from which open links lead to it: all cells whose steps and
    /// links an edit of the cell can affect. (If the edit closes a link, the wave handles the other end.)
    pub(crate) fn touched(self, cell: Cell) -> impl Iterator<Item = Cell> + 'a {
        let ring = Direction::ALL.into_iter().filter_map(move |direction| direction.step(cell));
        let ring = ring.filter(move |&cell| self.grid.contains(cell));
        std::iter::once(cell).chain(ring).chain(self.links_to(cell).map(|(from, _)| from))
    }

    /// The cells to which open links lead from a cell, and their units.
    pub(crate) fn links(self, cell: Cell) -> impl Iterator<Item = (Cell, u64)> + 'a {
        self.grid.open_links(cell, false)
    }

    /// The number of the link from one cell to another among those that begin at the first.
    fn link_number(self, from: Cell, to: Cell) -> u8 {
        let mut links = self.grid.links().from(from).iter();
        let number = links.position(|link| link.to == to).expect("there is a link");
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    /// The cells from which open links lead to a cell, and their units.
    pub(crate) fn links_to(self, cell: Cell) -> impl Iterator<Item = (Cell, u64)> + 'a {
        self.grid.open_links(cell, true)
    }
}

/// The costs to the goals, as far as they are known, and the queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wave {
    store: SectorStore,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// The number of entries of the queue that are not stale.
    queued_count: usize,
    /// The rest of a repair.
    repair: Repair,
    /// The number of cells that the wave expanded, and that repairs looked at.
    pub(crate) expansion_count: u64,
}

/// A repair in progress. First cells are forgotten, then those of them beside a known cell enter the
/// queue again. More edits may come in between.
#[derive(Clone, Debug, Default)]
struct Repair {
    /// The cells that were forgotten.
    lost: Vec<Cell>,
    /// The cells before this index have passed on that they are lost.
    told: usize,
    /// The cells before this index had their turn to enter the queue again.
    reentered: usize,
    /// The cells of edits, around which others may enter the queue.
    edited: Vec<Cell>,
}

bytes_by_field!(Repair { lost, told, reentered, edited });

impl Bytes for Wave {
    /// Writes the costs, and the queue in the order in which it will be emptied.
    fn write(&self, out: &mut Vec<u8>) {
        self.store.write(out);
        self.expansion_count.write(out);
        self.repair.write(out);
        let mut queue: Vec<(u64, u32)> = self.queue.iter().map(|Reverse(entry)| *entry).collect();
        queue.sort_unstable();
        queue.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let (store, expansion_count) = <(SectorStore, u64)>::read(bytes)?;
        // There is room to count on.
        ensure(store.is_whole() && expansion_count <= u64::MAX / 2)?;
        let (repair, queue) = <(Repair, Vec<(u64, u32)>)>::read(bytes)?;
        let queue = queue.into_iter().map(Reverse).collect();
        Ok(Self { queued_count: store.queued_count(), store, queue, repair, expansion_count })
    }
}

impl Wave {
    /// Whether the wave, read from a save, can run on over a grid: it never leaves the grid, and there
    /// is room for more costs.
    pub(crate) fn is_for(&self, grid: &Grid) -> bool {
        let mut waiting = self.repair.lost.iter().chain(&self.repair.edited);
        let is_entry_for = |&Reverse((cost, bits)): &Reverse<(u64, u32)>| {
            cost <= u64::MAX / 2 && grid.contains(Cell::from_bits(bits))
        };
        self.store.is_for(grid)
            && waiting.all(|&cell| grid.contains(cell))
            && self.queue.iter().all(is_entry_for)
    }

    /// Clears everything and starts at goals, of which only open ones count.
    pub(crate) fn begin(&mut self, grid: &Grid, goals: &[Cell]) {
        self.store.begin(grid);
        self.queue.clear();
        self.queued_count = 0;
        self.repair.clear();
        for &goal in goals.iter().filter(|&&goal| grid.is_open(goal)) {
            self.enter(goal, 0, Way::None);
        }
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.store.bytes()
            + self.queue.capacity() * size_of::<Reverse<(u64, u32)>>()
            + (self.repair.lost.capacity() + self.repair.edited.capacity()) * size_of::<Cell>()
    }

    #[inline]
    fn enter(&mut self, cell: Cell, cost: u64, way: Way) {
        self.queued_count += usize::from(self.store.enter(cell, cost, way));
        self.queue.push(Reverse((cost, cell.to_bits())));
    }

    /// Offers a cell a cost, by a step or a link. Of equal costs the cell keeps the first in the order of
    /// all directions, whichever came first; links come last.
    #[inline]
    fn offer(&mut self, cell: Cell, cost: u64, way: Way) {
        match cost.cmp(&self.store.cost(cell)) {
            Ordering::Less => self.enter(cell, cost, way),
            Ordering::Equal => self.store.prefer(cell, way),
            Ordering::Greater => {}
        }
    }

    fn forget(&mut self, cell: Cell) {
        self.queued_count -= usize::from(self.store.forget(cell));
        self.repair.lost.push(cell);
    }

    /// The cost of a cell if it is final, [`UNREACHED`] if no goal can be reached from there, and `None`
    /// if the wave has to run on to know.
    #[inline]
    pub(crate) fn final_cost(&self, cell: Cell) -> Option<u64> {
        if !self.repair.is_done() {
            return None;
        }
        let cost = self.store.cost(cell);
        let is_final = self.queue.peek().is_none_or(|&Reverse((least, _))| least >= cost);
        is_final.then_some(cost)
    }

    /// Runs on until the cost of a cell is final, and returns it.
    pub(crate) fn settle(&mut self, ground: Ground<'_>, cell: Cell) -> u64 {
        self.settle_within(ground, cell, u64::MAX);
        self.final_cost(cell).unwrap_or(UNREACHED)
    }

    /// Runs on until the cost of a cell is final, or for at most `count_max` steps. Returns the number of
    /// steps taken, which includes stale entries.
    pub(crate) fn settle_within(&mut self, ground: Ground<'_>, cell: Cell, count_max: u64) -> u64 {
        let mut count = 0;
        while count < count_max && self.final_cost(cell).is_none() && self.advance(ground) {
            count += 1;
        }
        count
    }

    /// Runs on until all costs are final.
    pub(crate) fn settle_all(&mut self, ground: Ground<'_>) {
        while self.advance(ground) {}
    }

    /// Removes the cheapest entry from the queue, after one step of the repair. Returns false if there
    /// was no entry.
    #[inline]
    fn advance(&mut self, ground: Ground<'_>) -> bool {
        if !self.repair.is_done() {
            self.expansion_count += 1;
            self.advance_repair(ground);
            return true;
        }
        let Some(Reverse((cost, bits))) = self.queue.pop() else { return false };
        let cell = Cell::from_bits(bits);
        // A cell is entered again when a cheaper path turns up. The older entry is then skipped here.
        if self.store.take(cell, cost) {
            self.queued_count -= 1;
            self.expansion_count += 1;
            for direction in members(ground.moves(cell)) {
                let (next, units) = ground.step(cell, direction);
                self.offer(next, cost + units, Way::Step(direction.opposite()));
            }
            for (from, units) in ground.links_to(cell) {
                self.offer(from, cost + units, Way::Link(ground.link_number(from, cell)));
            }
        }
        true
    }

    /// The first direction, in the order of all, that leads on from an open cell at its final cost;
    /// `None` at a goal and if there is no path.
    ///
    /// All directions that lead on have made their offers: the cells ahead are cheaper, so they had their
    /// turns.
    pub(crate) fn direction(&self, cell: Cell) -> Option<Direction> {
        self.store.way(cell)
    }

    /// The cell to which the first of the links leads that lead on from an open cell at its final cost;
    /// `None` if there is none. Directions come first.
    pub(crate) fn link(&self, ground: Ground<'_>, cell: Cell) -> Option<Cell> {
        let cost = Some(self.store.cost(cell)).filter(|&cost| cost != UNREACHED)?;
        let mut links = ground.links(cell);
        let leads_on =
            |&(to, units): &(Cell, u64)| self.store.cost(to).checked_add(units) == Some(cost);
        links.find(leads_on).map(|(to, _)| to)
    }

    /// The next cell of the path that led on from an open cell before edits, or that has the best cost so
    /// far, if that step or link is still legal. Agents follow it while the wave has not arrived.
    pub(crate) fn likely_next(&self, ground: Ground<'_>, cell: Cell) -> Option<Cell> {
        if let Some(way) = self.store.last_way(cell) {
            return (ground.moves(cell) & way.bit() != 0).then(|| way.step_inside(cell));
        }
        let link = ground.grid.links().from(cell).get(self.store.last_link(cell)?)?;
        ground.grid.is_link_open(link).then_some(link.to)
    }

    /// Begins to follow edits of some cells inside the grid. Nothing is final until the wave has run on
    /// and finished the repair.
    pub(crate) fn begin_repair(&mut self, ground: Ground<'_>, goals: &[Cell], edited: &[Cell]) {
        for cell in edited.iter().flat_map(|&cell| ground.touched(cell)) {
            if self.store.cost(cell) != UNREACHED && !self.is_supported(ground, cell) {
                self.forget(cell);
            }
        }
        for &cell in edited {
            let is_goal = ground.grid.is_open(cell) && goals.binary_search(&cell).is_ok();
            if is_goal && self.store.cost(cell) != 0 {
                self.enter(cell, 0, Way::None);
            }
        }
        self.repair.edited.extend(edited);
    }

    /// Advances the repair by one cell.
    fn advance_repair(&mut self, ground: Ground<'_>) {
        // Cells that got their cost by way of a lost cell are lost as well.
        if let Some(&cell) = self.repair.lost.get(self.repair.told) {
            self.repair.told += 1;
            for direction in Direction::ALL {
                let next = direction.step(cell).filter(|&next| ground.grid.contains(next));
                let Some(next) = next else { continue };
                if self.store.way(next) == Some(direction.opposite()) {
                    self.forget(next);
                }
            }
            for link in ground.grid.links().to(cell) {
                if self.store.is_linked(link.from) {
                    self.forget(link.from);
                }
            }
        } else if let Some(&cell) = self.repair.lost.get(self.repair.reentered) {
            self.repair.reentered += 1;
            self.reenter(ground, cell);
        } else if let Some(cell) = self.repair.edited.pop() {
            ground.touched(cell).for_each(|cell| self.reenter(ground, cell));
        }
        if self.repair.is_done() {
            self.repair.clear();
            if self.queue.len() > 2 * self.queued_count + STALE_COUNT_MAX {
                self.tidy();
            }
        }
    }

    /// Whether a cell still has a path of its cost or less.
    fn is_supported(&self, ground: Ground<'_>, cell: Cell) -> bool {
        if !ground.grid.is_open(cell) {
            return false;
        }
        if self.store.is_linked(cell) {
            let cost = self.store.cost(cell);
            return ground.links(cell).any(|(to, units)| {
                self.store.cost(to).checked_add(units).is_some_and(|other| other <= cost)
            });
        }
        let Some(way) = self.store.way(cell) else { return true };
        if ground.moves(cell) & way.bit() == 0 {
            return false;
        }
        let (next, units) = ground.step(cell, way);
        let cost = self.store.cost(next).checked_add(units);
        cost.is_some_and(|cost| cost <= self.store.cost(cell))
    }

    /// Gives a cell the best cost that the cells around it offer. Cells that wait in the queue themselves
    /// make their offers when it is their turn.
    fn reenter(&mut self, ground: Ground<'_>, cell: Cell) {
        if !ground.grid.is_open(cell) {
            return;
        }
        let offers = members(ground.moves(cell)).filter_map(|direction| {
            let (next, units) = ground.step(cell, direction);
            Some((self.store.told_cost(next).checked_add(units)?, Way::Step(direction)))
        });
        let by_links = ground.links(cell).filter_map(|(to, units)| {
            let way = Way::Link(ground.link_number(cell, to));
            Some((self.store.told_cost(to).checked_add(units)?, way))
        });
        if let Some((cost, way)) = offers.chain(by_links).min_by_key(|&(cost, _)| cost) {
            self.offer(cell, cost, way);
        }
    }

    /// Drops stale entries. Edits leave some behind, which only a wave that runs on would remove.
    fn tidy(&mut self) {
        let Self { store, queue, .. } = self;
        // An entry can occur twice: the first one takes the mark.
        queue.retain(|&Reverse((cost, bits))| store.take(Cell::from_bits(bits), cost));
        for &Reverse((_, bits)) in queue.iter() {
            store.put_back(Cell::from_bits(bits));
        }
    }
}

impl Repair {
    fn is_done(&self) -> bool {
        self.edited.is_empty() && self.reentered >= self.lost.len()
    }

    fn clear(&mut self) {
        self.lost.clear();
        self.edited.clear();
        (self.told, self.reentered) = (0, 0);
    }
}
