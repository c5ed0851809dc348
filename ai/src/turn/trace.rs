//! The trace of a turn: actions, rules, answers and reactions as a tree.

use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use formic_ecs::Entity;

use super::draft::TurnActionKind;
use super::error::Refusal;
use super::rule::{Answer, Checking};

/// The reason why an action was put before the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// An actor decided it, or the game.
    Decision(Option<Entity>),
    /// A rule reacted with it.
    Reaction {
        /// The number in the trace of the action that the rule looked at.
        to: usize,
        /// The number of the rule.
        rule: usize,
    },
    /// A rule put it in the place of another action.
    Rewrite {
        /// The number of the other action in the trace.
        of: usize,
        /// The number of the rule.
        rule: usize,
    },
    /// A real-time hook requested it.
    RealTime {
        /// The number of the hook.
        hook: usize,
    },
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It happened.
    Committed {
        /// The number of components that were inserted or removed.
        changes: usize,
    },
    /// Some rule rejected it.
    Rejected {
        /// The number of the first rule that did.
        rule: usize,
    },
    /// A rule replaced it by another action, which is among its children.
    Rewritten,
    /// It could not be bound, or was rewritten without end.
    Refused(Refusal),
    /// The panic of a rule or of an observer ended the turn.
    Unfinished,
}

/// The answer of a rule to an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRuling {
    /// The number of the rule.
    pub rule: usize,
    /// The answer, without the action of a rewrite.
    pub said: Answer<()>,
    /// Whether later rules were asked.
    pub checking: Checking,
    /// The number of reactions that it added.
    pub reactions: usize,
}

/// An action of a [`Trace`].
#[derive(Clone, Debug)]
pub struct TracedAction<K> {
    /// The kind.
    pub kind: K,
    /// The reason.
    pub cause: Cause,
    /// The time since the beginning of the turn.
    pub time: u64,
    /// The outcome.
    pub fate: Fate,
    rulings: Range<usize>,
}

/// The activity of a real-time hook at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPoint {
    /// The number of the hook.
    pub hook: usize,
    /// The time since the beginning of the turn.
    pub time: u64,
    /// The number of components that it changed itself.
    pub changes: usize,
    /// The number of turn actions that it requested.
    pub requests: usize,
}

/// Everything that happened in a turn, and why.
///
/// Printing it shows the tree: below each action the rules that were asked, with their answers, and the
/// actions that followed. From the 20th level on the indentation does not grow. The size is bounded;
/// anything beyond the bound is only counted. Actions, rules and hooks refer to each other by numbers.
///
/// ```
/// use formic_ai::turn::{Draft, Refusal, Rule, Ruling, TurnActionKind, Turns, unseen};
/// # use formic_ecs::prelude::*;
/// #[derive(Clone, Debug)]
/// enum Deed { Walk, Sneeze }
/// impl TurnActionKind for Deed {
///     type Cell = ();
///     fn bind(&self, _: &mut Draft<()>) -> Result<(), Refusal> { Ok(()) }
/// }
/// let dust = Rule::always("dust is everywhere", |case, reactions| match case.kind {
///     Deed::Walk => {
///         reactions.push(Deed::Sneeze);
///         Ruling::pass()
///     }
///     Deed::Sneeze => Ruling::reject(),
/// });
/// # let mut world = World::new();
/// let mut turns = Turns::builder().rule(dust).build(&mut world)?;
/// turns.act(&mut world, Deed::Walk, unseen);
/// let trace = turns.trace();
/// let ruling = trace.rulings(0)[0];
/// assert_eq!((trace.rule_name(ruling.rule), ruling.reactions), ("dust is everywhere", 1));
/// assert!(trace.children(0).eq([1]), "the sneeze follows from the walk");
/// assert!(trace.to_string().contains("-> sneeze: rejected by dust is everywhere"));
/// # Ok::<(), formic_ai::turn::RuleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace<K> {
    actions: Vec<TracedAction<K>>,
    rulings: Vec<TracedRuling>,
    points: Vec<TracedPoint>,
    pub(super) rules: Arc<[Arc<str>]>,
    pub(super) hooks: Arc<[Arc<str>]>,
    pub(super) limit: usize,
    left_out: usize,
}

/// The maximum indentation of a printed trace, in levels.
const DEPTH_MAX: usize = 20;

impl<K> Trace<K> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            actions: Vec::new(),
            rulings: Vec::new(),
            points: Vec::new(),
            rules: Arc::default(),
            hooks: Arc::default(),
            limit,
            left_out: 0,
        }
    }

    /// All actions, in the order in which they were put before the rules.
    #[must_use]
    pub fn actions(&self) -> &[TracedAction<K>] {
        &self.actions
    }

    /// The answers of the rules to the action with this number, in the order of asking.
    #[must_use]
    pub fn rulings(&self, action: usize) -> &[TracedRuling] {
        self.actions.get(action).map_or(&[], |action| &self.rulings[action.rulings.clone()])
    }

    /// The activity of real-time hooks, without points at which one did nothing.
    #[must_use]
    pub fn points(&self) -> &[TracedPoint] {
        &self.points
    }

    /// The name of the rule with this number.
    #[must_use]
    pub fn rule_name(&self, rule: usize) -> &str {
        self.rules.get(rule).map_or("", |name| name)
    }

    /// The name of the real-time hook with this number.
    #[must_use]
    pub fn hook_name(&self, hook: usize) -> &str {
        self.hooks.get(hook).map_or("", |name| name)
    }

    /// The actions that followed from the one with this number, including rewritten ones.
    pub fn children(&self, action: usize) -> impl Iterator<Item = usize> + '_ {
        self.actions.iter().enumerate().filter_map(move |(number, it)| match it.cause {
            Cause::Reaction { to: parent, .. } | Cause::Rewrite { of: parent, .. } => {
                (parent == action).then_some(number)
            }
            _ => None,
        })
    }

    /// The number of actions and points beyond the limit.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    pub(super) fn clear(&mut self) {
        self.actions.clear();
        self.rulings.clear();
        self.points.clear();
        self.left_out = 0;
    }

    /// Adds an action. Returns its number, which is invalid if the action is beyond the limit.
    pub(super) fn begin(&mut self, kind: &K, cause: Cause, time: u64) -> usize
    where
        K: Clone,
    {
        let number = self.actions.len();
        if number >= self.limit {
            self.left_out += 1;
            return usize::MAX;
        }
        let start = self.rulings.len();
        let kind = kind.clone();
        let rulings = start..start;
        self.actions.push(TracedAction { kind, cause, time, fate: Fate::Unfinished, rulings });
        number
    }

    pub(super) fn ruling(&mut self, action: usize, ruling: TracedRuling) {
        if let Some(action) = self.actions.get_mut(action) {
            self.rulings.push(ruling);
            action.rulings.end = self.rulings.len();
        }
    }

    pub(super) fn end(&mut self, action: usize, fate: Fate) {
        if let Some(action) = self.actions.get_mut(action) {
            action.fate = fate;
        }
    }

    pub(super) fn point(&mut self, point: TracedPoint) {
        if self.points.len() < self.limit {
            self.points.push(point);
        } else {
            self.left_out += 1;
        }
    }
}

impl<K: TurnActionKind> Trace<K> {
    /// The tree as text, where `name` returns the name of an entity, such as
    /// [`DecisionLog::name`](crate::explain::DecisionLog::name). Printing uses `entity 12`.
    #[must_use]
    pub fn described(&self, name: &dyn Fn(Entity) -> String) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        _ = self.write(&mut text, name);
        text
    }

    fn write(&self, text: &mut dyn Write, name: &dyn Fn(Entity) -> String) -> fmt::Result {
        for (number, action) in self.actions.iter().enumerate() {
            if let Cause::Decision(_) | Cause::RealTime { .. } = action.cause {
                self.write_tree(text, name, number)?;
            }
        }
        for point in &self.points {
            let (changes, requests) =
                (count(point.changes, "change"), count(point.requests, "request"));
            writeln!(
                text,
                "{} at {}: {changes}, {requests}",
                self.hook_name(point.hook),
                point.time
            )?;
        }
        match self.left_out {
            0 => Ok(()),
            left_out => writeln!(text, "and {left_out} more"),
        }
    }

    /// Writes an action and everything that followed from it. It uses a list instead of recursion: a
    /// chain of reactions can be long.
    fn write_tree(
        &self,
        text: &mut dyn Write,
        name: &dyn Fn(Entity) -> String,
        root: usize,
    ) -> fmt::Result {
        let mut open = vec![(root, 0)];
        while let Some((number, depth)) = open.pop() {
            self.write_action(text, name, (number, depth))?;
            let children: Vec<usize> = self.children(number).collect();
            open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
        Ok(())
    }

    fn write_action(
        &self,
        text: &mut dyn Write,
        name: &dyn Fn(Entity) -> String,
        (number, depth): (usize, usize),
    ) -> fmt::Result {
        let action = &self.actions[number];
        let depth = depth.min(DEPTH_MAX);
        write!(text, "{:indent$}", "", indent = 4 * depth)?;
        match action.cause {
            Cause::Reaction { rule, .. } => write!(text, "{} -> ", self.rule_name(rule))?,
            Cause::Rewrite { rule, .. } => write!(text, "{} => ", self.rule_name(rule))?,
            Cause::RealTime { hook } => write!(text, "{} -> ", self.hook_name(hook))?,
            Cause::Decision(_) => {}
        }
        text.write_str(&action.kind.describe(name))?;
        if action.time > 0 {
            write!(text, " at {}", action.time)?;
        }
        match &action.fate {
            Fate::Committed { changes } => {
                writeln!(text, ": committed, {}", count(*changes, "change"))?;
            }
            Fate::Rejected { rule } => writeln!(text, ": rejected by {}", self.rule_name(*rule))?,
            Fate::Rewritten => writeln!(text, ": rewritten")?,
            Fate::Refused(why) => writeln!(text, ": refused, {}", why.described(name))?,
            Fate::Unfinished => writeln!(text, ": unfinished")?,
        }
        for ruling in self.rulings(number) {
            let rule = self.rule_name(ruling.rule);
            write!(text, "{:indent$}| {rule}: ", "", indent = 4 * depth + 2)?;
            text.write_str(match ruling.said {
                Answer::Accept => "accept",
                Answer::Reject => "reject",
                Answer::Rewrite(()) => "rewrite",
            })?;
            if ruling.checking == Checking::StopChecking {
                text.write_str(", stop checking")?;
            }
            match ruling.reactions {
                0 => writeln!(text)?,
                reactions => writeln!(text, ", {}", count(reactions, "reaction"))?,
            }
        }
        Ok(())
    }
}

/// A count with its noun, given in the singular: "no changes", "1 change", "2 changes".
fn count(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

impl<K: TurnActionKind> fmt::Display for Trace<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|entity| format!("entity {}", entity.index()))
    }
}
