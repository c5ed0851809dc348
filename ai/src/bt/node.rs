//! Trees as they are built or parsed, before they are flattened.

use std::fmt;

/// A node of a behaviour tree with everything below it, in which leaves are named.
///
/// Build it by hand or [from text](Node::parse). [`Tree::new`](super::Tree::new) makes it a tree that
/// agents can share. It is displayed as the text that it can be parsed from, if a tree can be made of it
/// and its names are valid in a text: a letter or `_`, then letters, digits, `_` and `.`, and no keywords.
///
/// ```
/// use formic_ai::bt::Node;
/// let guard = Node::selector([
///     Node::sequence([Node::condition("enemy_near"), Node::action("attack")]),
///     Node::action("patrol"),
/// ]);
/// assert_eq!(Node::parse("selector { sequence { enemy_near? attack } patrol }")?, guard);
/// assert_eq!(guard.to_string(), "selector { sequence { enemy_near? attack } patrol }");
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
///
/// Decorators are methods of the node that they decorate, the innermost first:
///
/// ```
/// # use formic_ai::bt::Node;
/// // Knocks, and not again for 100 ticks; then throws itself against the door, three times for at most 20 ticks
/// // each, for as long as it is shut; and waits for a while.
/// let enter = Node::selector_memory([
///     Node::action("knock").cooldown(100),
///     Node::action("push").timeout(20).retry(3).guard("door_shut"),
///     Node::wait(50).force_failure(),
/// ]);
/// assert_eq!(Node::parse(&enter.to_string())?, enter);
/// // The first that is worth most at the moment, and goes on until it is dark.
/// let work = Node::priority([("hunger", Node::action("fish")), ("cold", Node::action("chop"))]);
/// let day = work.until_failure().stay_until("is_dark");
/// assert_eq!(Node::parse(&day.to_string())?, day);
/// // Introduces itself once; then greets or fights, as it has decided at first sight; and strolls for as long as it is
/// // light, in one direction or another.
/// let stroll = Node::random([Node::action("north"), Node::action("south").force_success()]);
/// let sentry = Node::sequence_memory([
///     Node::action("salute").once(),
///     Node::if_else_memory(Node::condition("is_friend"), Node::action("greet"), Node::action("fight")),
///     stroll.repeat_while("is_light"),
/// ]);
/// assert_eq!(Node::parse(&sentry.to_string())?, sentry);
/// // Sings to the end and looks about to the end, and has failed if either did; again until both succeed.
/// let both = Node::parallel_all(1, [Node::action("sing").repeat(2), Node::condition("danger").invert()]);
/// let watch = both.until_success();
/// assert_eq!(Node::parse(&watch.to_string())?, watch);
/// # Ok::<(), formic_ai::action::LoadError>(())
/// ```
pub struct Node {
    pub(super) op: Op,
    /// Numbers of successes and failures, repetitions, tries or ticks.
    pub(super) numbers: [u32; 2],
    /// The weights of the children.
    pub(super) weights: Vec<f32>,
    /// The name of the leaf or of the condition, or the names of the children's scores.
    pub(super) names: Vec<String>,
    pub(super) children: Vec<Node>,
}

/// The kind of a node: composites, then decorators, then leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Sequence,
    Selector,
    SequenceMemory,
    SelectorMemory,
    SequenceAsync,
    SelectorAsync,
    SequencePersistent,
    IfElse,
    IfElseMemory,
    Parallel,
    ParallelAll,
    Random,
    Weighted,
    Priority,
    Invert,
    ForceSuccess,
    ForceFailure,
    /// 0 repetitions stand for no limit.
    Repeat,
    RepeatWhile,
    Retry,
    UntilSuccess,
    UntilFailure,
    Timeout,
    Cooldown,
    Guard,
    Once,
    StayUntil,
    Wait,
    Succeed,
    Fail,
    Effect,
    Condition,
    Action,
}

/// The keywords for nodes in a text, in the order of [`Op`].
const WORDS: [(&str, Op); 31] = [
    ("sequence", Op::Sequence),
    ("selector", Op::Selector),
    ("sequence_memory", Op::SequenceMemory),
    ("selector_memory", Op::SelectorMemory),
    ("sequence_async", Op::SequenceAsync),
    ("selector_async", Op::SelectorAsync),
    ("sequence_persistent", Op::SequencePersistent),
    ("if_else", Op::IfElse),
    ("if_else_memory", Op::IfElseMemory),
    ("parallel", Op::Parallel),
    ("parallel_all", Op::ParallelAll),
    ("random", Op::Random),
    ("weighted", Op::Weighted),
    ("priority", Op::Priority),
    ("invert", Op::Invert),
    ("force_success", Op::ForceSuccess),
    ("force_failure", Op::ForceFailure),
    ("repeat", Op::Repeat),
    ("repeat_while", Op::RepeatWhile),
    ("retry", Op::Retry),
    ("until_success", Op::UntilSuccess),
    ("until_failure", Op::UntilFailure),
    ("timeout", Op::Timeout),
    ("cooldown", Op::Cooldown),
    ("guard", Op::Guard),
    ("once", Op::Once),
    ("stay_until", Op::StayUntil),
    ("wait", Op::Wait),
    ("succeed", Op::Succeed),
    ("fail", Op::Fail),
    ("do", Op::Effect),
];

impl Op {
    /// The kind of node that a keyword stands for.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        let word = if word == "not" { "invert" } else { word };
        WORDS.iter().find(|(other, _)| *other == word).map(|&(_, op)| op)
    }

    /// Its keyword; conditions and actions have none.
    pub(super) fn word(self) -> &'static str {
        WORDS.get(self as usize).map_or("", |(word, _)| word)
    }

    /// The keywords of composites.
    pub(super) fn composites() -> impl Iterator<Item = &'static str> {
        WORDS.iter().filter(|(_, op)| op.is_composite()).map(|&(word, _)| word)
    }

    /// Whether it has any number of children, in braces.
    pub(super) const fn is_composite(self) -> bool {
        self as u8 <= Self::Priority as u8
    }

    /// Whether it has exactly one child.
    pub(super) const fn is_decorator(self) -> bool {
        !self.is_composite() && self as u8 <= Self::StayUntil as u8
    }

    /// Whether it has one number.
    pub(super) const fn is_counted(self) -> bool {
        matches!(
            self,
            Self::ParallelAll
                | Self::Repeat
                | Self::Retry
                | Self::Timeout
                | Self::Cooldown
                | Self::Wait
        )
    }

    /// Whether it is a decorator with a condition.
    pub(super) const fn has_condition(self) -> bool {
        matches!(self, Self::RepeatWhile | Self::Guard | Self::StayUntil)
    }
}

debug_as_text!(Node);

// Traversals use a list of open nodes instead of recursion: nodes may be nested more deeply than the
// stack allows.

impl Drop for Node {
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.children);
        while let Some(mut node) = open.pop() {
            open.append(&mut node.children);
        }
    }
}

impl Clone for Node {
    fn clone(&self) -> Self {
        let alone = |node: &Self| {
            let mut copy = Self::new(node.op);
            copy.numbers = node.numbers;
            copy.weights.clone_from(&node.weights);
            copy.names.clone_from(&node.names);
            copy
        };
        let mut open = vec![(self, alone(self))];
        loop {
            let (node, copy) = open.last().expect("the first one is the last to go");
            if let Some(child) = node.children.get(copy.children.len()) {
                open.push((child, alone(child)));
                continue;
            }
            let (_, copy) = open.pop().expect("it was just looked at");
            match open.last_mut() {
                Some((_, parent)) => parent.children.push(copy),
                None => return copy,
            }
        }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        let alone = |node: &Self| (node.op, node.numbers, node.children.len());
        let mut open = vec![(self, other)];
        while let Some((a, b)) = open.pop() {
            if alone(a) != alone(b) || a.weights != b.weights || a.names != b.names {
                return false;
            }
            open.extend(a.children.iter().zip(&b.children));
        }
        true
    }
}

impl Node {
    pub(super) fn new(op: Op) -> Self {
        let (weights, names, children) = (Vec::new(), Vec::new(), Vec::new());
        Self { op, numbers: [0; 2], weights, names, children }
    }

    /// Writes its text up to its children.
    fn fmt_alone(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((word, _)) = WORDS.get(self.op as usize) else {
            let mark = if self.op == Op::Condition { "?" } else { "" };
            return write!(f, "{}{mark}", self.names[0]);
        };
        f.write_str(word)?;
        let [number, second] = self.numbers;
        match self.op {
            Op::Effect => write!(f, " {}", self.names[0])?,
            Op::Parallel => write!(f, "({number}, {second})")?,
            op if op.has_condition() => write!(f, "({}?)", self.names[0])?,
            Op::Repeat if number == 0 => {}
            op if op.is_counted() => write!(f, "({number})")?,
            _ => {}
        }
        f.write_str(if self.op.is_composite() { " {" } else { "" })
    }

    fn counted(mut self, number: u32) -> Self {
        self.numbers[0] = number;
        self
    }

    fn named(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    fn over(op: Op, child: Self) -> Self {
        Self::of(op, [child])
    }

    fn of(op: Op, children: impl IntoIterator<Item = Self>) -> Self {
        let mut node = Self::new(op);
        // `collect` would allocate as much as the size hint of the iterator says.
        children.into_iter().for_each(|child| node.children.push(child));
        node
    }

    /// Ticks the children in order, from the first one each tick, until one does not succeed.
    #[must_use]
    pub fn sequence(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::Sequence, children)
    }

    /// Ticks the children in order, from the first one each tick, until one does not fail.
    #[must_use]
    pub fn selector(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::Selector, children)
    }

    /// A sequence that continues with the running child, and does not tick those before it.
    #[must_use]
    pub fn sequence_memory(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::SequenceMemory, children)
    }

    /// A selector that continues with the running child, and does not tick those before it.
    #[must_use]
    pub fn selector_memory(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::SelectorMemory, children)
    }

    /// A sequence with memory that waits for the next tick if a child succeeds in its first tick.
    ///
    /// ```
    /// # use formic_ai::bt::Node;
    /// // In one tick the lock is looked at, in the next one the door is opened.
    /// let enter = Node::sequence_async([Node::condition("unlocked"), Node::action("open")]);
    /// assert_eq!(enter.to_string(), "sequence_async { unlocked? open }");
    /// ```
    #[must_use]
    pub fn sequence_async(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::SequenceAsync, children)
    }

    /// A selector with memory that waits for the next tick if a child fails in its first tick.
    ///
    /// ```
    /// # use formic_ai::bt::Node;
    /// let enter = Node::selector_async([Node::condition("is_open"), Node::action("open")]);
    /// assert_eq!(enter.to_string(), "selector_async { is_open? open }");
    /// ```
    #[must_use]
    pub fn selector_async(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::SelectorAsync, children)
    }

    /// A [`sequence_async`](Self::sequence_async) that resumes at the child where it failed or was
    /// halted.
    ///
    /// ```
    /// # use formic_ai::bt::Node;
    /// // One that was called away in the middle of the second stop goes on there.
    /// let tour = Node::sequence_persistent([Node::action("to_gate"), Node::action("to_tower")]);
    /// assert_eq!(tour.to_string(), "sequence_persistent { to_gate to_tower }");
    /// ```
    #[must_use]
    pub fn sequence_persistent(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::SequencePersistent, children)
    }

    /// Ticks the first node each tick, then the second one if it succeeds, and the third one if it fails.
    ///
    /// ```
    /// # use formic_ai::bt::Node;
    /// let friend = Node::condition("is_friend");
    /// let meet = Node::if_else(friend, Node::action("greet"), Node::action("fight"));
    /// assert_eq!(Node::parse("if_else { is_friend? greet fight }")?, meet);
    /// # Ok::<(), formic_ai::action::LoadError>(())
    /// ```
    #[must_use]
    pub fn if_else(ask: Self, then: Self, otherwise: Self) -> Self {
        Self::of(Op::IfElse, [ask, then, otherwise])
    }

    /// An [`if_else`](Self::if_else) that does not tick the first node again until the chosen branch has
    /// ended.
    #[must_use]
    pub fn if_else_memory(ask: Self, then: Self, otherwise: Self) -> Self {
        Self::of(Op::IfElseMemory, [ask, then, otherwise])
    }

    /// Ticks all children. It succeeds when `successes` of them have succeeded, and fails when `failures`
    /// of them have failed, or when too few are left to succeed.
    #[must_use]
    pub fn parallel(
        successes: u32,
        failures: u32,
        children: impl IntoIterator<Item = Self>,
    ) -> Self {
        let mut node = Self::of(Op::Parallel, children);
        node.numbers = [successes, failures];
        node
    }

    /// Ticks all children. When all have ended, it fails if at least `failures` of them have failed, and
    /// otherwise succeeds.
    #[must_use]
    pub fn parallel_all(failures: u32, children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::ParallelAll, children).counted(failures)
    }

    /// Ticks the children in random order, until one does not fail.
    #[must_use]
    pub fn random(children: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Op::Random, children)
    }

    /// Ticks the children in random order, in which children with a higher weight tend to come earlier,
    /// until one does not fail.
    #[must_use]
    pub fn weighted(children: impl IntoIterator<Item = (f32, Self)>) -> Self {
        let mut weights = Vec::new();
        let children = children.into_iter().map(|(weight, child)| {
            weights.push(weight);
            child
        });
        let mut node = Self::of(Op::Weighted, children);
        node.weights = weights;
        node
    }

    /// Ticks the children by descending score, computed anew each tick, until one does not fail.
    pub fn priority<S: Into<String>>(children: impl IntoIterator<Item = (S, Self)>) -> Self {
        let mut names = Vec::new();
        let children = children.into_iter().map(|(score, child)| {
            names.push(score.into());
            child
        });
        let mut node = Self::of(Op::Priority, children);
        node.names = names;
        node
    }

    /// Turns success into failure, and failure into success.
    #[must_use]
    pub fn invert(self) -> Self {
        Self::over(Op::Invert, self)
    }

    /// Succeeds when the node ends, whatever its result.
    #[must_use]
    pub fn force_success(self) -> Self {
        Self::over(Op::ForceSuccess, self)
    }

    /// Fails when the node ends, whatever its result.
    #[must_use]
    pub fn force_failure(self) -> Self {
        Self::over(Op::ForceFailure, self)
    }

    /// Repeats the node after each success, until it has succeeded `times` times; 0 repeats it without
    /// limit.
    #[must_use]
    pub fn repeat(self, times: u32) -> Self {
        Self::over(Op::Repeat, self).counted(times)
    }

    /// Repeats the node after each success while a condition holds. The condition is checked before each
    /// repetition; if it does not hold, the decorator succeeds.
    #[must_use]
    pub fn repeat_while(self, condition: impl Into<String>) -> Self {
        Self::over(Op::RepeatWhile, self).named(condition)
    }

    /// Repeats the node after each failure, for at most `tries` tries, and at least one.
    #[must_use]
    pub fn retry(self, tries: u32) -> Self {
        Self::over(Op::Retry, self).counted(tries)
    }

    /// Repeats the node until it succeeds.
    #[must_use]
    pub fn until_success(self) -> Self {
        Self::over(Op::UntilSuccess, self)
    }

    /// Repeats the node until it fails, and then succeeds.
    #[must_use]
    pub fn until_failure(self) -> Self {
        Self::over(Op::UntilFailure, self)
    }

    /// Fails when the node has been running for this many ticks.
    #[must_use]
    pub fn timeout(self, ticks: u32) -> Self {
        Self::over(Op::Timeout, self).counted(ticks)
    }

    /// Fails for this many ticks after the node has ended.
    #[must_use]
    pub fn cooldown(self, ticks: u32) -> Self {
        Self::over(Op::Cooldown, self).counted(ticks)
    }

    /// Runs the node only while a condition holds, and fails as soon as it does not.
    #[must_use]
    pub fn guard(self, condition: impl Into<String>) -> Self {
        Self::over(Op::Guard, self).named(condition)
    }

    /// Runs the node to its end once in the life of the agent, and returns that result from then on.
    #[must_use]
    pub fn once(self) -> Self {
        Self::over(Op::Once, self)
    }

    /// Once the node runs, ticks start at it instead of the root, until it ends or a condition holds. If
    /// the condition holds, it fails.
    #[must_use]
    pub fn stay_until(self, condition: impl Into<String>) -> Self {
        Self::over(Op::StayUntil, self).named(condition)
    }

    /// A leaf that runs an action of the agent's body.
    pub fn action(name: impl Into<String>) -> Self {
        Self::new(Op::Action).named(name)
    }

    /// A leaf that succeeds if a condition holds, and otherwise fails.
    pub fn condition(name: impl Into<String>) -> Self {
        Self::new(Op::Condition).named(name)
    }

    /// A leaf that changes the agent's components at once and succeeds.
    pub fn effect(name: impl Into<String>) -> Self {
        Self::new(Op::Effect).named(name)
    }

    /// A leaf that runs for this many ticks, and succeeds in the next.
    #[must_use]
    pub fn wait(ticks: u32) -> Self {
        Self::new(Op::Wait).counted(ticks)
    }

    /// A leaf that succeeds.
    ///
    /// ```
    /// # use formic_ai::bt::Node;
    /// // A patrol goes on, whether there was something to loot or not.
    /// let loot = Node::selector([Node::action("loot"), Node::succeed()]);
    /// let patrol = Node::sequence([loot, Node::action("walk")]);
    /// assert_eq!(patrol.to_string(), "sequence { selector { loot succeed } walk }");
    /// ```
    #[must_use]
    pub fn succeed() -> Self {
        Self::new(Op::Succeed)
    }

    /// A leaf that fails.
    ///
    /// ```
    /// # use formic_ai::bt::Node;
    /// // Calls for help, and has failed all the same.
    /// let give_up = Node::sequence([Node::effect("call_for_help"), Node::fail()]);
    /// assert_eq!(give_up.to_string(), "sequence { do call_for_help fail }");
    /// ```
    #[must_use]
    pub fn fail() -> Self {
        Self::new(Op::Fail)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_alone(f)?;
        let mut open = vec![(self, 0)];
        while let Some((node, place)) = open.last_mut() {
            let (op, Some(child)) = (node.op, node.children.get(*place)) else {
                f.write_str(if node.op.is_composite() { " }" } else { "" })?;
                open.pop();
                continue;
            };
            match op {
                Op::Weighted => write!(f, " {}: ", node.weights[*place])?,
                Op::Priority => write!(f, " {}: ", node.names[*place])?,
                _ => f.write_str(" ")?,
            }
            *place += 1;
            child.fmt_alone(f)?;
            open.push((child, 0));
        }
        Ok(())
    }
}
