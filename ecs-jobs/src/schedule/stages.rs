//! The division of a graph into stages that run in parallel and nodes that need exclusive access.

use super::access::SystemAccess;
use super::graph::Graph;
use super::group::StepKind;
use crate::static_graph::topological_order;

/// A part of a run. Each starts when the one before has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// These nodes, in topological order; on several threads, as the graph allows.
    Stage(Vec<usize>),
    /// One node, with exclusive access to the world.
    Exclusive(usize),
    /// Plays the commands of these nodes, in the order of adding.
    Sync(Sync),
}

impl Part {
    /// The nodes that run in it.
    pub(super) fn nodes(&self) -> &[usize] {
        match self {
            Self::Stage(nodes) => nodes,
            Self::Exclusive(node) => std::slice::from_ref(node),
            Self::Sync(_) => &[],
        }
    }
}

/// A sync point.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sync {
    pub(super) plays: Vec<usize>,
    /// Pairs of a recording node and a node that waits to see its commands.
    pub(super) because: Vec<(usize, usize)>,
}

/// The requirements of the steps that lead to a node, or to a set boundary between nodes.
#[derive(Clone, Copy, Default)]
struct Demand {
    level: usize,
    /// The last system whose commands must be visible, and its level.
    recorder: Option<(usize, usize)>,
}

/// Cuts the graph into parts. A node is on the lowest *level* that its steps allow: above the levels
/// whose commands it must see. Exclusive nodes have a level to themselves. Between two levels the
/// commands of the lower ones are played.
pub(super) fn cut(graph: &Graph, accesses: &[SystemAccess], boundary_count: usize) -> Vec<Part> {
    let mut next = vec![Vec::new(); accesses.len() + boundary_count];
    graph.steps.iter().for_each(|&(from, to, _)| next[from].push(to));
    let mut incoming = vec![Vec::new(); next.len()];
    graph.steps.iter().for_each(|&(from, to, step)| incoming[to].push((from, step)));

    let mut demands = vec![Demand::default(); next.len()];
    let mut because = Vec::new();
    // The level above all nodes so far, and the one above the last exclusive node.
    let (mut top, mut floor) = (0, 0);
    for at in topological_order(&next) {
        let mut demand = Demand::default();
        for &(from, step) in &incoming[at] {
            let before = demands[from];
            demand.level = demand.level.max(before.level);
            let recorder = match accesses.get(from) {
                Some(known) => known.records_commands().then_some((before.level, from)),
                None => before.recorder,
            };
            if step == StepKind::Synced {
                demand.recorder = demand.recorder.max(recorder);
            }
        }
        if let Some(known) = accesses.get(at) {
            if let Some((level, recorder)) = demand.recorder {
                demand.level = demand.level.max(level + 1);
                if demand.level == level + 1 {
                    because.push((recorder, at));
                }
            }
            demand.level = demand.level.max(if known.is_exclusive() { top } else { floor });
            top = top.max(demand.level + 1);
            if known.is_exclusive() {
                floor = top;
            }
        }
        demands[at] = demand;
    }

    let mut levels = vec![Vec::new(); top];
    graph.order.iter().for_each(|&node| levels[demands[node].level].push(node));
    let mut parts = Vec::new();
    let mut recorded = Vec::new();
    for (level, nodes) in levels.into_iter().enumerate() {
        if !recorded.is_empty() {
            let is_here = |&&(_, waits): &&(usize, usize)| demands[waits].level == level;
            let because = because.iter().filter(is_here).copied().collect();
            parts.push(sync(&mut recorded, because));
        }
        recorded.extend(nodes.iter().copied().filter(|&node| accesses[node].records_commands()));
        match *nodes {
            [node] if accesses[node].is_exclusive() => parts.push(Part::Exclusive(node)),
            _ => parts.push(Part::Stage(nodes)),
        }
    }
    if !recorded.is_empty() {
        parts.push(sync(&mut recorded, Vec::new()));
    }
    parts
}

fn sync(recorded: &mut Vec<usize>, because: Vec<(usize, usize)>) -> Part {
    let mut plays = std::mem::take(recorded);
    plays.sort_unstable();
    Part::Sync(Sync { plays, because })
}
