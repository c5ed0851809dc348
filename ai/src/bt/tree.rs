//! Flattened trees: one array in pre-order, shared by all agents.

use formic_ecs::QueryData;

use super::node::{Node, Op};
use super::parse::{Token, tokens};
use crate::action::{LoadError, MindError, error_at_line};
use crate::bits::{Bits, WORDS_MAX};
use crate::library::Library;

/// One node of a flattened tree (12 bytes).
///
/// ```text
///   nodes   0 selector    1 sequence   2 enemy_near?   3 attack   4 patrol
///   end     5             4            3               4          5
/// ```
///
/// The children of a node follow it directly; the end of a child is the start of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlatNode {
    pub(super) op: Op,
    /// The index of its memory; `NO_SLOT` if it has none.
    pub(super) slot: u16,
    /// The first node after its subtree.
    pub(super) end: u16,
    /// A number of ticks, repetitions or successes, or an index into a list of names.
    pub(super) argument: u32,
    /// The index in `spans` of a parallel, which can halt its subtree in the middle of a tick, or of a
    /// `stay_until`, which can tick its subtree alone.
    pub(super) extra: u16,
}

pub(super) const NO_SLOT: u16 = u16::MAX;

/// The contents of a subtree as bit sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) actions: Bits,
    pub(super) slots: Bits,
    /// The number of failures with which a parallel fails.
    pub(super) failures: u32,
}

/// A leaf of a tree without memories, and the leaves that follow it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadedLeaf {
    pub(super) op: Op,
    pub(super) argument: u32,
    /// The next leaf after a success, and after a failure; or `SUCCESS` or `FAILURE`.
    pub(super) success: u16,
    pub(super) failure: u16,
}

pub(super) const SUCCESS: u16 = u16::MAX;
pub(super) const FAILURE: u16 = u16::MAX - 1;

/// The leaves of a tree without memories, each with its successors, so that composites need not be
/// ticked. (*Threaded code*, as in interpreters.)
#[derive(Clone, Debug)]
pub(super) struct ThreadedLeaves {
    pub(super) leaves: Vec<ThreadedLeaf>,
    pub(super) first: u16,
}

impl ThreadedLeaves {
    /// `None` if some node has a memory, or ticks its children in another order than that of the text.
    fn new(nodes: &[FlatNode]) -> Option<Self> {
        let mut jumps = Self { leaves: Vec::new(), first: 0 };
        jumps.first = jumps.link(nodes, 0, SUCCESS, FAILURE)?;
        Some(jumps)
    }

    /// The first leaf of the node at `at`, if it continues with these two.
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
            Op::IfElse => {
                let then = usize::from(nodes[at + 1].end);
                let otherwise = usize::from(nodes[then].end);
                let then = self.link(nodes, then, success, failure)?;
                let otherwise = self.link(nodes, otherwise, success, failure)?;
                self.link(nodes, at + 1, then, otherwise)
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
        self.leaves.push(ThreadedLeaf { op, argument, success, failure });
        u16::try_from(self.leaves.len() - 1).ok().filter(|&place| place < FAILURE)
    }
}

/// A behaviour tree, flattened, immutable and shared by all agents that follow it. It has closures, and is no
/// `Clone`: an `Arc`, or a resource, shares it between the system and the code that spawns.
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
/// assert_eq!(error.to_string(), "line 1, column 1: there is no action \"patrl\"; did you mean \"patrol\"?");
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
pub struct Tree<Q: QueryData> {
    pub(super) nodes: Vec<FlatNode>,
    pub(super) spans: Vec<Span>,
    pub(super) weights: Vec<f32>,
    /// The score of each child of a priority.
    pub(super) scores: Vec<u32>,
    /// The contents of the whole tree.
    pub(super) whole: Span,
    /// The shortcut for trees without memories.
    pub(super) jumps: Option<ThreadedLeaves>,
    pub(super) library: Library<Q>,
    slot_count: usize,
    /// Whether it has more than 64 actions or memories.
    pub(super) is_wide: bool,
}

debug_fields!([Q: QueryData] Tree<Q>: nodes);

/// The position in the text that an error is about, if it is unique or the error is about a name.
fn place_in(text: &str, error: &MindError) -> Option<(usize, usize)> {
    let is_condition = error.field == "?";
    let tokens = tokens(text);
    let is_it = |it: &&[Token<'_>]| it[0].text == error.name && (it[1].text == "?") == is_condition;
    let mut found = tokens.windows(2).filter(is_it).map(|it| (it[0].line, it[0].column));
    let first = found.next();
    let is_name = Op::of_word(&error.name).is_none();
    first.filter(|_| is_name || found.next().is_none())
}

impl<Q: QueryData> Tree<Q> {
    /// The maximum number of memories of a tree, see [`slot_count`](Self::slot_count).
    pub const SLOTS_MAX: usize = 64 * WORDS_MAX;

    /// Makes a tree from text; see [`Node::parse`].
    ///
    /// # Errors
    /// Returns an error if the text is not a valid tree, or if the tree is not valid with this library,
    /// for which see [`new`](Self::new).
    pub fn parse(text: &str, library: &Library<Q>) -> Result<Self, LoadError> {
        Self::new(&Node::parse(text)?, library).map_err(|error| {
            let (line, column) = place_in(text, &error).unwrap_or((1, 1));
            error_at_line(line, column, error.to_string())
        })
    }

    /// Makes a tree from a node and everything below it.
    ///
    /// # Errors
    /// Returns an error if the library lacks a name, if a node has the wrong number of children or an
    /// invalid number, if children of a parallel share an action, or if the tree is too large.
    pub fn new(root: &Node, library: &Library<Q>) -> Result<Self, MindError> {
        let mut tree = Self {
            nodes: Vec::new(),
            spans: Vec::new(),
            weights: Vec::new(),
            scores: Vec::new(),
            whole: Span { actions: Bits::NONE, slots: Bits::NONE, failures: 0 },
            jumps: None,
            library: library.clone(),
            slot_count: 0,
            is_wide: false,
        };
        tree.whole = tree.add(root, 1)?;
        if tree.slot_count > Self::SLOTS_MAX {
            let count = tree.slot_count;
            let problem =
                format!("{count} memories are needed, and an agent has {}", Self::SLOTS_MAX);
            return Err(MindError::new(problem));
        }
        tree.is_wide = tree.slot_count > 64 || tree.library.actions.len() > 64;
        tree.jumps = ThreadedLeaves::new(&tree.nodes);
        Ok(tree)
    }

    /// The number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The number of memories that an agent needs: one for each node that remembers something, two for
    /// each that draws at random.
    #[must_use]
    pub const fn slot_count(&self) -> usize {
        self.slot_count
    }

    fn add(&mut self, node: &Node, depth: usize) -> Result<Span, MindError> {
        let at = self.nodes.len();
        Node::check_size(depth, at + 1).map_err(MindError::new)?;
        check_children(node)?;
        let (op, argument) = (node.op, self.argument(node)?);
        let slot_first = self.slot_count;
        self.slot_count += slots(op);
        let slot = match slots(op) {
            0 => NO_SLOT,
            // Too many memories are an error at the end.
            _ => index(slot_first.min(Self::SLOTS_MAX)),
        };
        let mut span = Span { actions: Bits::NONE, slots: Bits::NONE, failures: 0 };
        for slot in slot_first..self.slot_count {
            span.slots.insert(slot % Self::SLOTS_MAX);
        }
        if op == Op::Action {
            span.actions.insert(argument as usize);
        }
        self.nodes.push(FlatNode { op, slot, end: 0, argument, extra: 0 });
        for child in &node.children {
            let child_span = self.add(child, depth + 1)?;
            let shared = span.actions.first_shared(&child_span.actions);
            let at_once = matches!(op, Op::Parallel | Op::ParallelAll);
            if let Some(shared) = shared.filter(|_| at_once) {
                let name = &self.library.actions[shared];
                let problem =
                    format!("branches that run at the same time share the action {name:?}");
                return Err(MindError::about("", name, problem));
            }
            span.actions.add(&child_span.actions);
            span.slots.add(&child_span.slots);
        }
        span.failures = node.numbers[1];
        if matches!(op, Op::Parallel | Op::StayUntil) {
            self.nodes[at].extra = index(self.spans.len());
            self.spans.push(span);
        }
        self.nodes[at].end = index(self.nodes.len());
        Ok(span)
    }

    /// The number of a node, or the index of the name that it uses.
    fn argument(&mut self, node: &Node) -> Result<u32, MindError> {
        match node.op {
            Op::Action => self.place("action", &node.names[0]),
            Op::Condition => self.place("condition", &node.names[0]),
            op if op.has_condition() => self.place("condition", &node.names[0]),
            Op::Effect => self.place("effect", &node.names[0]),
            Op::Weighted => {
                self.weights.extend(&node.weights);
                Ok(index(self.weights.len() - node.weights.len()).into())
            }
            Op::Priority => {
                let first = self.scores.len();
                for name in &node.names {
                    self.scores.push(self.place("score", name)?);
                }
                Ok(index(first).into())
            }
            _ => Ok(node.numbers[0]),
        }
    }

    fn place(&self, what: &str, name: &str) -> Result<u32, MindError> {
        let field = if what == "condition" { "?" } else { "" };
        let place = self.library.find(what, field, name).map_err(|unknown| {
            let is = |other: &str| self.library.known(other).any(|other| other == name);
            let hint = match what {
                "action" if is("condition") => {
                    format!("a condition, which is asked by \"{name}?\"")
                }
                "condition" if is("action") => "an action, which has no \"?\"".into(),
                _ => return unknown,
            };
            MindError::about(field, name, format!("there is no {what} {name:?}, but {hint}"))
        })?;
        Ok(u32::try_from(place).expect("there are fewer names than 2^32"))
    }
}

/// Converts an index: by [`Node::COUNT_MAX`] node counts fit, and there are no more values than nodes.
fn index(count: usize) -> u16 {
    u16::try_from(count).expect("there are at most 4096 nodes")
}

/// The number of memories that a node needs.
const fn slots(op: Op) -> usize {
    match op {
        Op::SequenceMemory
        | Op::SelectorMemory
        | Op::SequenceAsync
        | Op::SelectorAsync
        | Op::SequencePersistent
        | Op::IfElseMemory
        | Op::Parallel
        | Op::ParallelAll
        | Op::Repeat
        | Op::RepeatWhile
        | Op::Retry
        | Op::Timeout
        | Op::Cooldown
        | Op::Once
        | Op::Wait => 1,
        // The children that were tried, and the state of the random numbers.
        Op::Random | Op::Weighted => 2,
        _ => 0,
    }
}

pub(super) fn check_children(node: &Node) -> Result<(), MindError> {
    let count = node.children.len();
    let most = match node.op {
        Op::Parallel | Op::ParallelAll | Op::Random | Op::Weighted | Op::Priority => 32,
        _ => usize::MAX,
    };
    if node.op.is_composite() && count == 0 || count > most {
        return Err(MindError::new(format!("a composite has {count} children")));
    }
    match node.op {
        Op::IfElse | Op::IfElseMemory => (count == 3).then_some(()).ok_or_else(|| {
            let word = node.op.word();
            let problem = format!("{word} has what it asks and two branches, not {count} children");
            MindError::about("", word, problem)
        }),
        Op::Parallel | Op::ParallelAll => {
            let is_possible = |wanted: u32| (1..=count).contains(&(wanted as usize));
            let wanted = if node.op == Op::Parallel { 2 } else { 1 };
            node.numbers[..wanted].iter().copied().all(is_possible).then_some(()).ok_or_else(|| {
                let problem = "a parallel asks for none of its children, or for more than it has";
                MindError::about("", node.op.word(), problem)
            })
        }
        Op::Weighted => {
            let weights = &node.weights;
            let are_weights = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
            let sum: f32 = weights.iter().sum();
            let is_sound = are_weights && sum > 0.0 && sum.is_finite();
            is_sound.then_some(()).ok_or_else(|| {
                let problem = "weights are positive numbers, and not all of them 0";
                MindError::about("", "weighted", problem)
            })
        }
        _ => Ok(()),
    }
}
