//! Trees made flat: one array in pre-order, shared by all agents.

use std::fmt;

use formic_ecs::QueryData;

use super::node::{Node, NodeKind};
use super::parse::ParseError;
use crate::action::Body;
use crate::library::{Library, find};

/// What a flat node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Sequence,
    Selector,
    SequenceMemory,
    SelectorMemory,
    Parallel,
    Random,
    Weighted,
    Priority,
    Invert,
    ForceSuccess,
    ForceFailure,
    Repeat,
    Retry,
    UntilSuccess,
    UntilFailure,
    Timeout,
    Cooldown,
    Guard,
    Once,
    StayUntil,
    Action,
    Condition,
    Effect,
    Wait,
    Succeed,
    Fail,
}

/// One node: 12 bytes.
///
/// ```text
///   nodes   0 selector    1 sequence   2 enemy_near?   3 attack   4 patrol
///   end     5             4            3               4          5
/// ```
///
/// The children of a node begin right behind it; the end of a child is the beginning of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlatNode {
    pub(super) op: Op,
    /// Which memory it has; `NO_SLOT` where it has none.
    pub(super) slot: u8,
    /// The first node behind its subtree.
    pub(super) end: u16,
    /// A number of ticks, times or successes, or a place in a list of names.
    pub(super) argument: u32,
    /// For a parallel the number of failures; for those that can leave their subtree in the middle
    /// of a tick, or go on with it alone, its place in `spans`.
    pub(super) extra: u16,
}

pub(super) const NO_SLOT: u8 = u8::MAX;

/// What there is in a subtree, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) actions: u64,
    pub(super) slots: u64,
    /// How many failures a parallel fails with.
    pub(super) failures: u32,
}

/// A leaf of a tree that only looks, and where to go from there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub(super) op: Op,
    pub(super) argument: u32,
    /// The next leaf after a success, and after a failure; or `SUCCESS` or `FAILURE`.
    pub(super) success: u16,
    pub(super) failure: u16,
}

pub(super) const SUCCESS: u16 = u16::MAX;
pub(super) const FAILURE: u16 = u16::MAX - 1;

/// The leaves of a tree in which nothing is remembered, each with where to go after it: composites
/// need not be asked then. (*Threaded code*, as in interpreters.)
#[derive(Clone, Debug)]
pub(super) struct Jumps {
    pub(super) leaves: Vec<Jump>,
    pub(super) first: u16,
}

impl Jumps {
    /// `None` where something is remembered, or asked for in an order that is not that of the text.
    fn new(nodes: &[FlatNode]) -> Option<Self> {
        let mut jumps = Self { leaves: Vec::new(), first: 0 };
        jumps.first = jumps.link(nodes, 0, SUCCESS, FAILURE)?;
        Some(jumps)
    }

    /// Where the node at `at` begins, if it goes on to these.
    fn link(&mut self, nodes: &[FlatNode], at: usize, success: u16, failure: u16) -> Option<u16> {
        let node = nodes[at];
        match node.op {
            Op::Sequence | Op::Selector => {
                let mut children = Vec::new();
                let mut child = at + 1;
                while child < usize::from(node.end) {
                    children.push(child);
                    child = usize::from(nodes[child].end);
                }
                let mut next = if node.op == Op::Sequence { success } else { failure };
                for &child in children.iter().rev() {
                    next = match node.op {
                        Op::Sequence => self.link(nodes, child, next, failure)?,
                        _ => self.link(nodes, child, success, next)?,
                    };
                }
                Some(next)
            }
            Op::Invert => self.link(nodes, at + 1, failure, success),
            Op::ForceSuccess => self.link(nodes, at + 1, success, success),
            Op::ForceFailure => self.link(nodes, at + 1, failure, failure),
            Op::Guard => {
                let child = self.link(nodes, at + 1, success, failure)?;
                self.leaf(Op::Condition, node.argument, child, failure)
            }
            Op::Condition | Op::Effect | Op::Action => {
                self.leaf(node.op, node.argument, success, failure)
            }
            Op::Succeed => Some(success),
            Op::Fail => Some(failure),
            _ => None,
        }
    }

    fn leaf(&mut self, op: Op, argument: u32, success: u16, failure: u16) -> Option<u16> {
        self.leaves.push(Jump { op, argument, success, failure });
        u16::try_from(self.leaves.len() - 1).ok().filter(|&place| place < FAILURE)
    }
}

/// A behaviour tree: flat, never changed, shared by all agents that follow it.
///
/// ```
/// use formic_ai::bt::{Library, Tree};
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Patrol;
/// let actions = ActionSet::new().action("patrol", Patrol);
/// let library = Library::<()>::new(&actions);
/// let tree = Tree::parse("repeat(3) patrol", &library)?;
/// assert_eq!((tree.node_count(), tree.slot_count()), (2, 1));
/// let error = Tree::parse("patrl", &library).unwrap_err();
/// assert_eq!(error.to_string(), "there is no action \"patrl\"");
/// # Ok::<(), formic_ai::bt::TreeError>(())
/// ```
pub struct Tree<Q: QueryData> {
    pub(super) nodes: Vec<FlatNode>,
    pub(super) spans: Vec<Span>,
    pub(super) weights: Vec<f32>,
    /// For each child of a priority its score.
    pub(super) scores: Vec<u32>,
    /// Everything there is in the tree.
    pub(super) whole: Span,
    /// A short cut, where there is one.
    pub(super) jumps: Option<Jumps>,
    pub(super) library: Library<Q>,
    slot_count: usize,
}

impl<Q: QueryData> fmt::Debug for Tree<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// Why a [`Node`] does not make a [`Tree`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TreeError {
    /// The text is no tree.
    Parse(ParseError),
    /// The library has nothing of this name.
    Unknown {
        /// An action, a condition, an effect or a score.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A composite has no children, or more than 32 where it has to remember each.
    ChildCount {
        /// How many.
        count: usize,
    },
    /// More successes or failures are asked for than there are children, or none.
    ImpossibleCount,
    /// A weight is negative or not a number, or all are 0.
    BadWeight,
    /// Two branches that run at the same time have the same action.
    SharedAction(String),
    /// There are more than 64 memories: nodes that remember something.
    TooManySlots {
        /// How many.
        count: usize,
    },
    /// There are more nodes than [`Node::COUNT_MAX`], or they lie deeper than
    /// [`Node::DEPTH_MAX`].
    TooLarge,
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(f),
            Self::Unknown { what, name } => write!(f, "there is no {what} {name:?}"),
            Self::ChildCount { count } => write!(f, "a composite has {count} children"),
            Self::ImpossibleCount => {
                f.write_str("a parallel asks for none of its children, or for more than it has")
            }
            Self::BadWeight => f.write_str("weights are positive numbers, and not all of them 0"),
            Self::SharedAction(name) => {
                write!(f, "branches that run at the same time share the action {name:?}")
            }
            Self::TooManySlots { count } => {
                write!(f, "{count} memories are needed, and an agent has 64")
            }
            Self::TooLarge => f.write_str("the tree has too many nodes, or they lie too deep"),
        }
    }
}

impl std::error::Error for TreeError {}

impl From<ParseError> for TreeError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}

impl<Q: QueryData> Tree<Q> {
    /// Makes a tree from text; see [`Node::parse`].
    ///
    /// # Errors
    /// Returns an error if the text is no tree, or the tree makes no sense with this library.
    pub fn parse(text: &str, library: &Library<Q>) -> Result<Self, TreeError> {
        Self::new(&Node::parse(text)?, library)
    }

    /// Makes a node and all below it a tree.
    ///
    /// # Errors
    /// Returns an error if the tree makes no sense with this library.
    pub fn new(root: &Node, library: &Library<Q>) -> Result<Self, TreeError> {
        let mut tree = Self {
            nodes: Vec::new(),
            spans: Vec::new(),
            weights: Vec::new(),
            scores: Vec::new(),
            whole: Span::default(),
            jumps: None,
            library: library.clone(),
            slot_count: 0,
        };
        tree.whole = tree.add(root, 1)?;
        if tree.slot_count > 64 {
            return Err(TreeError::TooManySlots { count: tree.slot_count });
        }
        tree.jumps = Jumps::new(&tree.nodes);
        Ok(tree)
    }

    /// How many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many memories an agent needs: the nodes that remember something, those that draw by
    /// chance twice.
    #[must_use]
    pub const fn slot_count(&self) -> usize {
        self.slot_count
    }

    fn add(&mut self, node: &Node, depth: usize) -> Result<Span, TreeError> {
        let at = self.nodes.len();
        if at >= Node::COUNT_MAX || depth > Node::DEPTH_MAX {
            return Err(TreeError::TooLarge);
        }
        check_children(node)?;
        let (op, argument) = self.operation(node)?;
        let slot_first = self.slot_count;
        self.slot_count += slots(op);
        let slot = match slots(op) {
            0 => NO_SLOT,
            // Too many of them are refused in the end.
            _ => u8::try_from(slot_first.min(64)).unwrap_or(NO_SLOT),
        };
        let mut span = Span::default();
        for slot in slot_first..self.slot_count {
            span.slots |= 1 << (slot % 64);
        }
        if op == Op::Action {
            span.actions = 1 << argument;
        }
        self.nodes.push(FlatNode { op, slot, end: 0, argument, extra: 0 });
        for child in &node.children {
            let child_span = self.add(child, depth + 1)?;
            let shared = span.actions & child_span.actions;
            if op == Op::Parallel && shared != 0 {
                let name = self.library.actions[shared.trailing_zeros() as usize].clone();
                return Err(TreeError::SharedAction(name));
            }
            span.actions |= child_span.actions;
            span.slots |= child_span.slots;
        }
        if let NodeKind::Parallel { failures, .. } = node.kind {
            span.failures = failures;
        }
        if matches!(op, Op::Parallel | Op::StayUntil) {
            self.nodes[at].extra = index(self.spans.len());
            self.spans.push(span);
        }
        self.nodes[at].end = index(self.nodes.len());
        Ok(span)
    }

    /// What a node does, and its argument.
    fn operation(&mut self, node: &Node) -> Result<(Op, u32), TreeError> {
        let entries = &self.library.entries;
        let condition = |name: &str| place("condition", name, find(&entries.conditions, name));
        Ok(match &node.kind {
            NodeKind::Sequence => (Op::Sequence, 0),
            NodeKind::Selector => (Op::Selector, 0),
            NodeKind::SequenceMemory => (Op::SequenceMemory, 0),
            NodeKind::SelectorMemory => (Op::SelectorMemory, 0),
            NodeKind::Parallel { successes, .. } => (Op::Parallel, *successes),
            NodeKind::Random => (Op::Random, 0),
            NodeKind::Weighted(weights) => {
                let first = self.weights.len();
                self.weights.extend(weights);
                (Op::Weighted, u32::from(index(first)))
            }
            NodeKind::Priority(names) => {
                let first = self.scores.len();
                for name in names {
                    let score = place("score", name, find(&entries.scores, name))?;
                    self.scores.push(score);
                }
                (Op::Priority, u32::from(index(first)))
            }
            NodeKind::Invert => (Op::Invert, 0),
            NodeKind::ForceSuccess => (Op::ForceSuccess, 0),
            NodeKind::ForceFailure => (Op::ForceFailure, 0),
            NodeKind::Repeat(times) => (Op::Repeat, *times),
            NodeKind::Retry(tries) => (Op::Retry, *tries),
            NodeKind::UntilSuccess => (Op::UntilSuccess, 0),
            NodeKind::UntilFailure => (Op::UntilFailure, 0),
            NodeKind::Timeout(ticks) => (Op::Timeout, *ticks),
            NodeKind::Cooldown(ticks) => (Op::Cooldown, *ticks),
            NodeKind::Guard(name) => (Op::Guard, condition(name)?),
            NodeKind::Once => (Op::Once, 0),
            NodeKind::StayUntil(name) => (Op::StayUntil, condition(name)?),
            NodeKind::Action(name) => {
                let found = self.library.actions.iter().position(|other| other == name);
                // A plan with more cannot be spawned, and has no body.
                let found = found.filter(|&action| action < Body::ACTIONS_MAX);
                (Op::Action, place("action", name, found)?)
            }
            NodeKind::Condition(name) => (Op::Condition, condition(name)?),
            NodeKind::Effect(name) => {
                (Op::Effect, place("effect", name, find(&entries.effects, name))?)
            }
            NodeKind::Wait(ticks) => (Op::Wait, *ticks),
            NodeKind::Succeed => (Op::Succeed, 0),
            NodeKind::Fail => (Op::Fail, 0),
        })
    }
}

fn place(what: &'static str, name: &str, found: Option<usize>) -> Result<u32, TreeError> {
    let found = found.and_then(|place| u32::try_from(place).ok());
    found.ok_or_else(|| TreeError::Unknown { what, name: name.into() })
}

/// Counts of nodes fit, by [`Node::COUNT_MAX`]; there are no more values than nodes.
fn index(count: usize) -> u16 {
    u16::try_from(count).expect("there are at most 4096 nodes")
}

/// How many memories a node needs.
const fn slots(op: Op) -> usize {
    match op {
        Op::SequenceMemory
        | Op::SelectorMemory
        | Op::Parallel
        | Op::Repeat
        | Op::Retry
        | Op::Timeout
        | Op::Cooldown
        | Op::Once
        | Op::Wait => 1,
        // What was tried, and the random numbers.
        Op::Random | Op::Weighted => 2,
        _ => 0,
    }
}

fn check_children(node: &Node) -> Result<(), TreeError> {
    let count = node.children.len();
    let most = match node.kind {
        NodeKind::Parallel { .. }
        | NodeKind::Random
        | NodeKind::Weighted(_)
        | NodeKind::Priority(_) => 32,
        _ => usize::MAX,
    };
    let is_composite = matches!(
        node.kind,
        NodeKind::Sequence
            | NodeKind::Selector
            | NodeKind::SequenceMemory
            | NodeKind::SelectorMemory
    ) || most == 32;
    if is_composite && count == 0 || count > most {
        return Err(TreeError::ChildCount { count });
    }
    match &node.kind {
        NodeKind::Parallel { successes, failures } => {
            let is_possible = |wanted: u32| (1..=count).contains(&(wanted as usize));
            let are_possible = is_possible(*successes) && is_possible(*failures);
            are_possible.then_some(()).ok_or(TreeError::ImpossibleCount)
        }
        NodeKind::Weighted(weights) => {
            let are_weights = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
            let sum: f32 = weights.iter().sum();
            let is_sound = are_weights && sum > 0.0 && sum.is_finite();
            is_sound.then_some(()).ok_or(TreeError::BadWeight)
        }
        _ => Ok(()),
    }
}
