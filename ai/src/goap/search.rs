//! The search for the cheapest plan, which can be stopped and continued at any time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::problem::{Problem, UNREACHABLE};
use super::state::State;

/// A search over states of one word, or over wider ones.
#[derive(Clone, Debug)]
pub(super) enum Search {
    Narrow(SearchOf<u64>),
    Wide(SearchOf<Box<[u64]>>),
}

impl Search {
    /// Creates a search from these values of the fields of the problem; `None` if they do not match the
    /// fields.
    pub(super) fn new(problem: &Problem, values: &[u8], costs: &[u32]) -> Option<Self> {
        Some(if problem.is_wide() {
            Self::Wide(SearchOf::new(problem, problem.pack(values)?, costs))
        } else {
            Self::Narrow(SearchOf::new(problem, problem.pack(values)?, costs))
        })
    }

    /// The number of states that were visited.
    pub(super) const fn looked_at(&self) -> usize {
        match self {
            Self::Narrow(search) => search.looked_at,
            Self::Wide(search) => search.looked_at,
        }
    }

    /// Visits at most this many states. `costs` has the cost of each operator of the problem.
    pub(super) fn go_on(&mut self, problem: &Problem, costs: &[u32], states: usize) -> Progress {
        match self {
            Self::Narrow(search) => search.go_on(problem, costs, states),
            Self::Wide(search) => search.go_on(problem, costs, states),
        }
    }
}

/// A* over packed states (Hart, Nilsson and Raphael 1968), with a consistent bound: the cost of a state
/// is final when the state is visited, and the first goal that is visited is reached at the least cost.
///
/// The search does not measure time: it is told how many states to visit, and continues later from where
/// it was. The result does not depend on how it is divided.
///
/// Costs of single operators have 32 bits, sums of them 64. A plan has fewer than 2^32 steps, so no sum
/// overflows.
#[derive(Clone, Debug)]
pub(super) struct SearchOf<S> {
    nodes: Vec<SearchNode<S>>,
    open: BinaryHeap<Reverse<Ahead>>,
    table: Table,
    looked_at: usize,
    /// Whether the bounds are exact. If so, the search follows them from state to state.
    is_exact: bool,
}

#[derive(Clone, Debug)]
struct SearchNode<S> {
    state: S,
    cost: u64,
    /// The previous node, and the operator (of the problem) that leads here.
    from: u32,
    operator: u32,
}

/// An open state, ordered by the total cost, then by the cost left, then by the time of discovery. It is
/// one number, so that one comparison is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ahead(u128);

impl Ahead {
    fn new(cost: u64, left: u64, node: u32) -> Self {
        // Only breaks ties, so larger values may count as equal.
        let further = left.min(u64::from(u32::MAX));
        Self(u128::from(cost + left) << 64 | u128::from(further << 32 | u64::from(node)))
    }

    const fn total(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is what is asked for")]
    const fn node(self) -> u32 {
        self.0 as u32
    }
}

/// The status of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There are more states to visit.
    GoesOn,
    /// The indices of the operators in the planner, first to last, and their total cost.
    Found(Vec<usize>, u64),
    /// There is no plan.
    Unreachable,
}

const NOWHERE: u32 = u32::MAX;

impl<S: State> SearchOf<S> {
    fn new(problem: &Problem, start: S, costs: &[u32]) -> Self {
        let is_exact = problem.is_exact(costs);
        // Capacity for a usual search; or, if the bounds are exact, for a usual plan alone, whose last
        // state is the next to visit.
        let room = if is_exact { 0 } else { 64 };
        let mut search = Self {
            nodes: Vec::with_capacity(room.max(8)),
            open: BinaryHeap::with_capacity(room),
            table: Table::new(4 * room),
            looked_at: 0,
            is_exact,
        };
        let left = problem.bound(&start);
        let start = SearchNode { state: start, cost: 0, from: NOWHERE, operator: 0 };
        match left {
            UNREACHABLE => {}
            _ if is_exact => search.nodes.push(start),
            _ => search.add(search.table.place(&start.state, &[]), left, start),
        }
        search
    }

    /// Adds a state to the table and the open list.
    fn add(&mut self, place: usize, left: u64, node: SearchNode<S>) {
        let number = u32::try_from(self.nodes.len()).expect("a search has less than 2^32 states");
        self.open.push(Reverse(Ahead::new(node.cost, left, number)));
        self.nodes.push(node);
        self.table.put(place, number, &self.nodes);
    }

    fn go_on(&mut self, problem: &Problem, costs: &[u32], states: usize) -> Progress {
        for _ in 0..states {
            let Some((number, node)) = self.next(problem) else { return Progress::Unreachable };
            self.looked_at += 1;
            if problem.is_goal(&node.state) {
                return self.path(problem, number);
            }
            if self.is_exact {
                self.follow(problem, node, number);
            } else {
                self.expand(problem, costs, node, number);
            }
        }
        Progress::GoesOn
    }

    /// Takes the state that is visited next.
    fn next(&mut self, problem: &Problem) -> Option<(u32, SearchNode<S>)> {
        if self.is_exact {
            let node = self.nodes.last()?.clone();
            return Some((u32::try_from(self.nodes.len() - 1).ok()?, node));
        }
        while let Some(Reverse(ahead)) = self.open.pop() {
            let node = &self.nodes[ahead.node() as usize];
            // Otherwise a cheaper way to it was found, and it was visited then.
            if ahead.total() == node.cost + problem.bound(&node.state) {
                return Some((ahead.node(), node.clone()));
            }
        }
        None
    }

    /// Adds the next state of a cheapest plan.
    fn follow(&mut self, problem: &Problem, node: SearchNode<S>, from: u32) {
        let number = problem.next_operator(&node.state);
        let operator = &problem.operators[number as usize];
        let mut state = node.state;
        operator.apply(&mut state);
        let cost = node.cost + u64::from(operator.cost);
        self.nodes.push(SearchNode { state, cost, from, operator: number });
    }

    fn expand(&mut self, problem: &Problem, costs: &[u32], node: SearchNode<S>, from: u32) {
        let mut state = node.state.clone();
        problem.each_applicable(&node.state, |operator| {
            let (compiled, price) = (&problem.operators[operator], costs[operator]);
            state.clone_from(&node.state);
            compiled.apply(&mut state);
            let left = problem.bound(&state);
            let cost = node.cost + u64::from(price);
            if state == node.state || left == UNREACHABLE {
                return;
            }
            #[expect(clippy::cast_possible_truncation, reason = "there are not so many operators")]
            let operator = operator as u32;
            let place = self.table.place(&state, &self.nodes);
            let Some(known) = self.table.get(place) else {
                return self.add(
                    place,
                    left,
                    SearchNode { state: state.clone(), cost, from, operator },
                );
            };
            let old = &mut self.nodes[known as usize];
            if cost < old.cost {
                (old.cost, old.from, old.operator) = (cost, from, operator);
                self.open.push(Reverse(Ahead::new(cost, left, known)));
            }
        });
    }

    fn path(&self, problem: &Problem, last: u32) -> Progress {
        let cost = self.nodes[last as usize].cost;
        let mut operators = Vec::with_capacity(8);
        let mut at = &self.nodes[last as usize];
        while at.from != NOWHERE {
            operators.push(problem.operators[at.operator as usize].operator);
            at = &self.nodes[at.from as usize];
        }
        operators.reverse();
        Progress::Found(operators, cost)
    }
}

/// A hash table from states to nodes: open addressing with linear probing. A slot holds the number of a
/// node plus 1.
#[derive(Clone, Debug)]
struct Table {
    /// The length is a power of two; 0 marks an empty slot.
    slots: Vec<u32>,
    used: usize,
}

impl Table {
    fn new(len: usize) -> Self {
        Self { slots: vec![0; len], used: 0 }
    }

    /// The slot of a state, whether it is present or not.
    #[inline]
    fn place<S: State>(&self, state: &S, nodes: &[SearchNode<S>]) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = state.hash() & mask;
        loop {
            match self.slots[place] {
                0 => return place,
                node if nodes[node as usize - 1].state == *state => return place,
                _ => place = (place + 1) & mask,
            }
        }
    }

    fn get(&self, place: usize) -> Option<u32> {
        self.slots[place].checked_sub(1)
    }

    /// Puts a node into its slot. `nodes` are all nodes of the table, this one being the last.
    fn put<S: State>(&mut self, place: usize, node: u32, nodes: &[SearchNode<S>]) {
        self.slots[place] = node + 1;
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            let bigger = self.slots.len() * 4;
            self.slots = vec![0; bigger];
            for (number, known) in (1..).zip(nodes) {
                let place = self.place(&known.state, nodes);
                self.slots[place] = number;
            }
        }
    }
}
