//! Trees as they are written down: before they are made flat, and as text.

use std::fmt;

/// A node of a behaviour tree and all that is below it, by names.
///
/// Make it by hand or [from text](Node::parse); [`Tree::new`](super::Tree::new) makes a tree of it
/// that agents can share. It is displayed as the text that it could be parsed from.
///
/// ```
/// use formic_ai::bt::Node;
/// let guard = Node::selector([
///     Node::sequence([Node::condition("enemy_near"), Node::action("attack")]),
///     Node::action("patrol"),
/// ]);
/// assert_eq!(Node::parse("selector { sequence { enemy_near? attack } patrol }")?, guard);
/// assert_eq!(guard.to_string(), "selector { sequence { enemy_near? attack } patrol }");
/// # Ok::<(), formic_ai::bt::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub(super) kind: NodeKind,
    pub(super) children: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    Sequence,
    Selector,
    SequenceMemory,
    SelectorMemory,
    Parallel {
        successes: u32,
        failures: u32,
    },
    Random,
    Weighted(Vec<f32>),
    Priority(Vec<String>),
    Invert,
    ForceSuccess,
    ForceFailure,
    /// 0 is for ever.
    Repeat(u32),
    Retry(u32),
    UntilSuccess,
    UntilFailure,
    Timeout(u32),
    Cooldown(u32),
    Guard(String),
    Once,
    StayUntil(String),
    Action(String),
    Condition(String),
    Effect(String),
    Wait(u32),
    Succeed,
    Fail,
}

/// One node at a time: they may lie deeper than the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.children);
        while let Some(mut node) = open.pop() {
            open.append(&mut node.children);
        }
    }
}

impl Node {
    pub(super) fn leaf(kind: NodeKind) -> Self {
        Self { kind, children: Vec::new() }
    }

    pub(super) fn over(kind: NodeKind, child: Self) -> Self {
        Self { kind, children: vec![child] }
    }

    fn of(kind: NodeKind, children: impl IntoIterator<Item = Self>) -> Self {
        let mut node = Self::leaf(kind);
        // Not `collect`, which would make room for as many as the iterator says.
        children.into_iter().for_each(|child| node.children.push(child));
        node
    }

    fn of_pairs<T>(
        kind: fn(Vec<T>) -> NodeKind,
        children: impl IntoIterator<Item = (T, Self)>,
    ) -> Self {
        let mut values = Vec::new();
        let children = children.into_iter().map(|(value, child)| {
            values.push(value);
            child
        });
        let mut node = Self::of(NodeKind::Sequence, children);
        node.kind = kind(values);
        node
    }

    /// The children in order, from the first one each tick, until one does not succeed.
    #[must_use]
    pub fn sequence(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(NodeKind::Sequence, children)
    }

    /// The children in order, from the first one each tick, until one does not fail.
    #[must_use]
    pub fn selector(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(NodeKind::Selector, children)
    }

    /// A sequence that goes on with the child that is running, and does not look at those before.
    #[must_use]
    pub fn sequence_memory(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(NodeKind::SequenceMemory, children)
    }

    /// A selector that goes on with the child that is running, and does not look at those before.
    #[must_use]
    pub fn selector_memory(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(NodeKind::SelectorMemory, children)
    }

    /// All children at a time; it succeeds when so many have succeeded, and fails when so many have
    /// failed, or when too few are left to succeed.
    #[must_use]
    pub fn parallel(
        successes: u32,
        failures: u32,
        children: impl IntoIterator<Item = Self>,
    ) -> Self {
        Self::of(NodeKind::Parallel { successes, failures }, children)
    }

    /// The children in an order that is drawn by chance, until one does not fail.
    #[must_use]
    pub fn random(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(NodeKind::Random, children)
    }

    /// The children in an order that is drawn by chance in proportion to their weights, until one
    /// does not fail.
    #[must_use]
    pub fn weighted(children: impl IntoIterator<Item = (f32, Self)>) -> Self {
        Self::of_pairs(NodeKind::Weighted, children)
    }

    /// The children by falling score, which is asked for anew each tick, until one does not fail.
    pub fn priority<S: Into<String>>(children: impl IntoIterator<Item = (S, Self)>) -> Self {
        let children = children.into_iter().map(|(score, child)| (score.into(), child));
        Self::of_pairs(NodeKind::Priority, children)
    }

    /// Success for failure and the other way round.
    #[must_use]
    pub fn invert(self) -> Self {
        Self::over(NodeKind::Invert, self)
    }

    /// Success whatever it ends with.
    #[must_use]
    pub fn force_success(self) -> Self {
        Self::over(NodeKind::ForceSuccess, self)
    }

    /// Failure whatever it ends with.
    #[must_use]
    pub fn force_failure(self) -> Self {
        Self::over(NodeKind::ForceFailure, self)
    }

    /// Again after each success, until it has succeeded so often; 0 is for ever.
    #[must_use]
    pub fn repeat(self, times: u32) -> Self {
        Self::over(NodeKind::Repeat(times), self)
    }

    /// Again after each failure, with so many tries in all.
    #[must_use]
    pub fn retry(self, tries: u32) -> Self {
        Self::over(NodeKind::Retry(tries), self)
    }

    /// Again and again until it succeeds.
    #[must_use]
    pub fn until_success(self) -> Self {
        Self::over(NodeKind::UntilSuccess, self)
    }

    /// Again and again until it fails, which is a success.
    #[must_use]
    pub fn until_failure(self) -> Self {
        Self::over(NodeKind::UntilFailure, self)
    }

    /// Fails when it has been running for so many ticks.
    #[must_use]
    pub fn timeout(self, ticks: u32) -> Self {
        Self::over(NodeKind::Timeout(ticks), self)
    }

    /// Fails for so many ticks after it has ended.
    #[must_use]
    pub fn cooldown(self, ticks: u32) -> Self {
        Self::over(NodeKind::Cooldown(ticks), self)
    }

    /// Runs only while a condition holds, and fails as soon as it does not.
    #[must_use]
    pub fn guard(self, condition: impl Into<String>) -> Self {
        Self::over(NodeKind::Guard(condition.into()), self)
    }

    /// Ends once in the life of its agent, and from then on gives what it ended with.
    #[must_use]
    pub fn once(self) -> Self {
        Self::over(NodeKind::Once, self)
    }

    /// Once it runs, ticks go to it rather than to the root, until it ends or a condition holds; it
    /// fails then.
    #[must_use]
    pub fn stay_until(self, condition: impl Into<String>) -> Self {
        Self::over(NodeKind::StayUntil(condition.into()), self)
    }

    /// An action of the agent's body.
    pub fn action(name: impl Into<String>) -> Self {
        Self::leaf(NodeKind::Action(name.into()))
    }

    /// Whether something holds: success or failure.
    pub fn condition(name: impl Into<String>) -> Self {
        Self::leaf(NodeKind::Condition(name.into()))
    }

    /// Does something to the agent's components, which takes no time: it succeeds.
    pub fn effect(name: impl Into<String>) -> Self {
        Self::leaf(NodeKind::Effect(name.into()))
    }

    /// Runs for so many ticks, and succeeds in the tick after them.
    #[must_use]
    pub fn wait(ticks: u32) -> Self {
        Self::leaf(NodeKind::Wait(ticks))
    }

    /// Success.
    #[must_use]
    pub fn succeed() -> Self {
        Self::leaf(NodeKind::Succeed)
    }

    /// Failure.
    #[must_use]
    pub fn fail() -> Self {
        Self::leaf(NodeKind::Fail)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NodeKind::Sequence => f.write_str("sequence")?,
            NodeKind::Selector => f.write_str("selector")?,
            NodeKind::SequenceMemory => f.write_str("sequence_memory")?,
            NodeKind::SelectorMemory => f.write_str("selector_memory")?,
            NodeKind::Parallel { successes, failures } => {
                write!(f, "parallel({successes}, {failures})")?;
            }
            NodeKind::Random => f.write_str("random")?,
            NodeKind::Weighted(_) => f.write_str("weighted")?,
            NodeKind::Priority(_) => f.write_str("priority")?,
            NodeKind::Invert => f.write_str("invert")?,
            NodeKind::ForceSuccess => f.write_str("force_success")?,
            NodeKind::ForceFailure => f.write_str("force_failure")?,
            NodeKind::Repeat(0) => f.write_str("repeat")?,
            NodeKind::Repeat(times) => write!(f, "repeat({times})")?,
            NodeKind::Retry(tries) => write!(f, "retry({tries})")?,
            NodeKind::UntilSuccess => f.write_str("until_success")?,
            NodeKind::UntilFailure => f.write_str("until_failure")?,
            NodeKind::Timeout(ticks) => write!(f, "timeout({ticks})")?,
            NodeKind::Cooldown(ticks) => write!(f, "cooldown({ticks})")?,
            NodeKind::Guard(condition) => write!(f, "guard({condition}?)")?,
            NodeKind::Once => f.write_str("once")?,
            NodeKind::StayUntil(condition) => write!(f, "stay_until({condition}?)")?,
            NodeKind::Action(name) => return f.write_str(name),
            NodeKind::Condition(name) => return write!(f, "{name}?"),
            NodeKind::Effect(name) => return write!(f, "do {name}"),
            NodeKind::Wait(ticks) => return write!(f, "wait({ticks})"),
            NodeKind::Succeed => return f.write_str("succeed"),
            NodeKind::Fail => return f.write_str("fail"),
        }
        if self.kind.is_decorator() {
            return self.children.iter().try_for_each(|child| write!(f, " {child}"));
        }
        f.write_str(" {")?;
        for (place, child) in self.children.iter().enumerate() {
            match &self.kind {
                NodeKind::Weighted(weights) => write!(f, " {}: {child}", weights[place])?,
                NodeKind::Priority(scores) => write!(f, " {}: {child}", scores[place])?,
                _ => write!(f, " {child}")?,
            }
        }
        f.write_str(" }")
    }
}

impl NodeKind {
    pub(super) fn is_decorator(&self) -> bool {
        matches!(
            self,
            Self::Invert
                | Self::ForceSuccess
                | Self::ForceFailure
                | Self::Repeat(_)
                | Self::Retry(_)
                | Self::UntilSuccess
                | Self::UntilFailure
                | Self::Timeout(_)
                | Self::Cooldown(_)
                | Self::Guard(_)
                | Self::Once
                | Self::StayUntil(_)
        )
    }
}
