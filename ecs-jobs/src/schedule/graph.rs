//! The compilation of systems and their order to an acyclic graph.

use std::collections::BTreeSet;

use super::error::{Ambiguity, ScheduleError};
use super::group::StepKind;
use crate::static_graph::{cycle, topological_order};

/// The input of the compilation: *nodes* (systems, and conditions of groups) in the order of adding,
/// followed by *set boundaries*, two for each group, which stand for its beginning and its end and do
/// nothing.
pub(super) struct Input<'a> {
    /// The names of nodes and set boundaries.
    pub(super) names: &'a [String],
    /// The first runs before the second.
    pub(super) declared: &'a [(usize, usize, StepKind)],
    /// The accesses in which two nodes conflict.
    pub(super) conflicts: &'a dyn Fn(usize, usize) -> Vec<String>,
    /// The pairs that were declared ambiguous on purpose, the smaller number first.
    pub(super) silenced: &'a BTreeSet<(usize, usize)>,
    /// The nodes that are meant to run after all earlier ones, unless another order is declared.
    pub(super) after_earlier: &'a [usize],
    /// Whether an ambiguity of two nodes about this is allowed.
    pub(super) is_allowed: &'a dyn Fn(usize, usize, &String) -> bool,
    /// Pairs of nodes of which the first must be declared to run before the second, with the error to
    /// return otherwise.
    pub(super) expected: &'a [(usize, usize, ScheduleError)],
    /// All nodes: of two nodes without an order, the one that comes first here runs first.
    pub(super) ranking: &'a [usize],
}

/// The dependencies between nodes.
#[derive(Debug)]
pub(super) struct Graph {
    /// For each node its successors, without redundant edges.
    pub(super) successors: Vec<Vec<usize>>,
    /// The nodes in topological order: in the order of adding, as far as dependencies allow.
    pub(super) order: Vec<usize>,
    /// The declared order and that of conflicts, set boundaries included.
    pub(super) steps: Vec<(usize, usize, StepKind)>,
    pub(super) ambiguities: Vec<Ambiguity>,
}

/// A bit matrix: row by row, whether there is a path from one node to another.
#[derive(Clone)]
struct Reachability {
    words: usize,
    bits: Vec<u64>,
}

impl Reachability {
    fn new(count: usize) -> Self {
        let words = count.div_ceil(64);
        Self { words, bits: vec![0; count * words] }
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 != 0
    }

    fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.words..][..self.words]
    }

    /// Adds a step, and all paths that it creates.
    fn add(&mut self, from: usize, to: usize) {
        let mut gained = self.row(to).to_vec();
        gained[to / 64] |= 1 << (to % 64);
        for start in 0..self.bits.len() / self.words {
            // A node that reaches `to` also reaches the nodes after it.
            if self.has(start, to) || (start != from && !self.has(start, from)) {
                continue;
            }
            let row = &mut self.bits[start * self.words..][..self.words];
            row.iter_mut().zip(&gained).for_each(|(word, gained)| *word |= gained);
        }
    }

    /// The transposed matrix of the nodes below `count`.
    fn transposed(&self, count: usize) -> Self {
        let mut other = Self { words: self.words, bits: vec![0; self.bits.len()] };
        for from in 0..count {
            for to in (0..count).filter(|&to| self.has(from, to)) {
                other.bits[to * self.words + from / 64] |= 1 << (from % 64);
            }
        }
        other
    }
}

/// Compiles the graph: the declared steps, and a step in the order of adding between conflicting nodes
/// that no path connects.
pub(super) fn compile(input: &Input<'_>) -> Result<Graph, ScheduleError> {
    let next = next_of(input, input.declared);
    let cycle = cycle(&next, &topological_order(&next));
    if !cycle.is_empty() {
        let mut systems: Vec<_> = cycle.into_iter().map(|at| input.names[at].clone()).collect();
        // Tuples have no name, and the beginning and the end of a group share one.
        systems.pop();
        systems.retain(|name| !name.is_empty());
        systems.dedup();
        systems.extend(systems.first().cloned());
        return Err(ScheduleError::Cycle { systems });
    }
    let mut reach = Reachability::new(input.names.len());
    input.declared.iter().for_each(|&(before, after, _)| reach.add(before, after));
    let is_missing = |&&(first, second, _): &&(usize, usize, _)| !reach.has(first, second);
    if let Some((.., error)) = input.expected.iter().find(is_missing) {
        return Err(error.clone());
    }
    let mut steps = input.declared.to_vec();
    for &later in input.after_earlier {
        for earlier in 0..later {
            let is_settled = reach.has(earlier, later) || reach.has(later, earlier);
            if !is_settled && !(input.conflicts)(earlier, later).is_empty() {
                reach.add(earlier, later);
                steps.push((earlier, later, StepKind::Unsynced));
            }
        }
    }
    let declared_reach = reach.clone();
    let mut ambiguities = Vec::new();
    for (rank, &second) in input.ranking.iter().enumerate() {
        for &first in &input.ranking[..rank] {
            if declared_reach.has(first, second) || declared_reach.has(second, first) {
                continue;
            }
            let mut about = (input.conflicts)(first, second);
            if about.is_empty() {
                continue;
            }
            // Earlier steps may have ordered them through other nodes already.
            let (first, second) =
                if reach.has(second, first) { (second, first) } else { (first, second) };
            if !reach.has(first, second) {
                reach.add(first, second);
                steps.push((first, second, StepKind::Unsynced));
            }
            about.retain(|name| !(input.is_allowed)(first, second, name));
            let pair = (first.min(second), first.max(second));
            if !about.is_empty() && !input.silenced.contains(&pair) {
                let [first, second] = [first, second].map(|node| input.names[node].clone());
                ambiguities.push(Ambiguity { first, second, about });
            }
        }
    }
    let successors = reduced(input, &steps, &reach);
    let order = topological_order(&successors);
    Ok(Graph { successors, order, steps, ambiguities })
}

/// For each node and set boundary, the ones after it by one of these steps.
fn next_of(input: &Input<'_>, steps: &[(usize, usize, StepKind)]) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); input.names.len()];
    steps.iter().for_each(|&(from, to, _)| next[from].push(to));
    next
}

/// The steps between nodes, through set boundaries or directly, without those implied by two others: each
/// saves one counter to decrement in every run.
fn reduced(
    input: &Input<'_>,
    steps: &[(usize, usize, StepKind)],
    reach: &Reachability,
) -> Vec<Vec<usize>> {
    let back = reach.transposed(input.ranking.len());
    let next = next_of(input, steps);
    let between_nodes = |from: usize, to: usize| {
        reach.row(from).iter().zip(back.row(to)).any(|(after, before)| after & before != 0)
    };
    let from_node = |from: usize| {
        let mut found = Vec::new();
        let mut seen = vec![false; input.names.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for &to in &next[at] {
                if std::mem::replace(&mut seen[to], true) {
                    continue;
                }
                if to >= input.ranking.len() {
                    open.push(to);
                } else if !between_nodes(from, to) {
                    found.push(to);
                }
            }
        }
        found.sort_unstable();
        found
    };
    (0..input.ranking.len()).map(from_node).collect()
}
