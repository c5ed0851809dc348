//! From systems and their order to a graph without circles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecs_core::World;

use super::access::SystemAccess;
use super::error::{Ambiguity, ScheduleError};

/// Which system waits for which, by their places in the order of adding.
#[derive(Debug)]
pub(super) struct Graph {
    /// For each system, those that wait for it.
    pub(super) successors: Vec<Vec<usize>>,
    /// For each system, how many it waits for.
    pub(super) predecessor_counts: Vec<usize>,
    /// For each system its place in one order that keeps all waits: what was added earlier comes
    /// earlier, where nothing speaks against it.
    pub(super) turns: Vec<usize>,
    pub(super) ambiguities: Vec<Ambiguity>,
}

/// Row by row, whether there is a way from one system to another.
#[derive(Clone)]
struct Reach {
    count: usize,
    bits: Vec<bool>,
}

impl Reach {
    fn new(count: usize) -> Self {
        Self { count, bits: vec![false; count * count] }
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.count + to]
    }

    /// Adds a step, and all ways that it makes.
    fn add(&mut self, from: usize, to: usize) {
        for start in 0..self.count {
            // Who reaches `to` reaches what comes after it as well.
            if self.has(start, to) || (start != from && !self.has(start, from)) {
                continue;
            }
            self.bits[start * self.count + to] = true;
            for end in 0..self.count {
                if self.has(to, end) {
                    self.bits[start * self.count + end] = true;
                }
            }
        }
    }
}

/// Compiles the graph: the declared steps, and between systems in conflict that no way connects a
/// step in the order of adding.
pub(super) fn compile(
    names: &[String],
    accesses: &[SystemAccess],
    declared: &[(usize, usize)],
    world: &World,
) -> Result<Graph, ScheduleError> {
    let count = names.len();
    let mut reach = Reach::new(count);
    for &(before, after) in declared {
        if before == after || reach.has(after, before) {
            return Err(circle(names, declared, before, after));
        }
        reach.add(before, after);
    }
    let declared_reach = reach.clone();
    let mut edges = declared.to_vec();
    let mut ambiguities = Vec::new();
    for second in 0..count {
        for first in 0..second {
            if declared_reach.has(first, second) || declared_reach.has(second, first) {
                continue;
            }
            let about = accesses[first].conflicts(&accesses[second], world);
            if about.is_empty() {
                continue;
            }
            // What was added earlier may have settled their order by way of others already.
            let (first, second) =
                if reach.has(second, first) { (second, first) } else { (first, second) };
            if !reach.has(first, second) {
                reach.add(first, second);
                edges.push((first, second));
            }
            ambiguities.push(Ambiguity {
                first: names[first].clone(),
                second: names[second].clone(),
                about,
            });
        }
    }
    // A step that two others make up for is one counter less to bring down in every run.
    let needed = |&(from, to): &(usize, usize)| {
        !(0..count).any(|by| reach.has(from, by) && reach.has(by, to))
    };
    edges.retain(needed);
    edges.sort_unstable();
    edges.dedup();
    let mut graph = Graph {
        successors: vec![Vec::new(); count],
        predecessor_counts: vec![0; count],
        turns: vec![0; count],
        ambiguities,
    };
    for (from, to) in edges {
        graph.successors[from].push(to);
        graph.predecessor_counts[to] += 1;
    }
    graph.turns = turns(&graph);
    Ok(graph)
}

/// Puts the systems in a row. There are no circles.
fn turns(graph: &Graph) -> Vec<usize> {
    let mut waiting_for = graph.predecessor_counts.clone();
    let is_free = |(system, &count): (usize, &usize)| (count == 0).then_some(Reverse(system));
    let mut free: BinaryHeap<_> = waiting_for.iter().enumerate().filter_map(is_free).collect();
    let mut turns = vec![0; waiting_for.len()];
    let mut turn = 0;
    while let Some(Reverse(system)) = free.pop() {
        turns[system] = turn;
        turn += 1;
        for &successor in &graph.successors[system] {
            waiting_for[successor] -= 1;
            if waiting_for[successor] == 0 {
                free.push(Reverse(successor));
            }
        }
    }
    turns
}

/// Names the systems of a circle that the step from `before` to `after` closes.
fn circle(
    names: &[String],
    declared: &[(usize, usize)],
    before: usize,
    after: usize,
) -> ScheduleError {
    // A way from `after` to `before` over the declared steps, found breadth first.
    let mut came_from = vec![None; names.len()];
    let mut queue = std::collections::VecDeque::from([after]);
    while let Some(at) = queue.pop_front() {
        for &(_, to) in declared.iter().filter(|&&(from, _)| from == at) {
            if to != after && came_from[to].is_none() {
                came_from[to] = Some(at);
                queue.push_back(to);
            }
        }
    }
    let mut way = vec![before];
    while let Some(previous) = way.last().and_then(|&at| came_from[at]) {
        way.push(previous);
    }
    way.reverse();
    way.push(way[0]);
    ScheduleError::Circle { systems: way.into_iter().map(|system| names[system].clone()).collect() }
}
