//! Errors of rules, actions and scripts.

use std::fmt;

use formic_ecs::Entity;

/// Why a turn action never came before the rules.
///
/// The world, the queues and the state hash are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The kind cannot be carried out as it is: an argument makes no sense here.
    Malformed(String),
    /// The action would change an entity that is gone, or that was never there.
    Dead(Entity),
    /// The action would bring more entities than there can be vacant, which are made as they are
    /// needed, up to 65,536.
    NoVacancy,
    /// Rules rewrote the action again and again.
    RewrittenTooOften {
        /// How many times an action may be rewritten.
        limit: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(problem) => f.write_str(problem),
            Self::Dead(entity) => write!(f, "there is no living entity {entity}"),
            Self::NoVacancy => f.write_str("there is no vacant entity left"),
            Self::RewrittenTooOften { limit } => {
                write!(f, "rules rewrote the action more than {limit} times")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Why rules cannot be put in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// Two rules have one name.
    Duplicate(String),
    /// A rule names another that there is not.
    Unknown {
        /// The rule that names it.
        rule: String,
        /// What it names.
        names: String,
    },
    /// Each of these rules must precede the next, and the last one the first.
    Circle(Vec<String>),
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(name) => write!(f, "there are two rules {name:?}"),
            Self::Unknown { rule, names } => {
                write!(f, "the rule {rule:?} names {names:?}, which is no rule")
            }
            Self::Circle(names) => {
                f.write_str("rules precede each other in a circle: ")?;
                for name in names {
                    write!(f, "{name:?}, ")?;
                }
                write!(f, "and {:?} again", names.first().map_or("", String::as_str))
            }
        }
    }
}

impl std::error::Error for RuleError {}

/// Why nothing was undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndoError {
    /// No turn is remembered: there was none, or it is too long ago.
    NothingLeft,
}

impl fmt::Display for UndoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no turn is remembered")
    }
}

impl std::error::Error for UndoError {}

/// Where a replay left the way of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// Another actor is to act than in the log.
    OtherActor {
        /// The number of the turn in the log, from 0.
        turn: usize,
        /// Who acted in the log.
        logged: Option<Entity>,
        /// Who is to act here.
        here: Option<Entity>,
    },
    /// The same decision had another effect: it cost the turn in the log and not here.
    NotSpent {
        /// The number of the turn in the log, from 0.
        turn: usize,
    },
    /// The state after a turn is another one.
    OtherHash {
        /// The number of the turn in the log, from 0.
        turn: usize,
        /// The state hash in the log.
        logged: u64,
        /// The state hash here.
        here: u64,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |entity: &Option<Entity>| match entity {
            Some(entity) => entity.to_string(),
            None => String::from("nobody"),
        };
        match self {
            Self::OtherActor { turn, logged, here } => write!(
                f,
                "turn {turn}: {} acted in the log, {} is to act here",
                name(logged),
                name(here)
            ),
            Self::NotSpent { turn } => write!(f, "turn {turn}: the decision has no effect here"),
            Self::OtherHash { turn, logged, here } => {
                write!(f, "turn {turn}: the state is {here:016x}, in the log {logged:016x}")
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// Why turns were not saved, or not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnsSaveError {
    /// A turn that can be undone has changed a component that the turns were not
    /// [told of](super::TurnsBuilder::component): nothing could read its values.
    Undeclared {
        /// Its name.
        component: String,
    },
    /// The [codec](formic_ecs::Codec) of a component that was changed does not write, or not read,
    /// what there was before.
    Component {
        /// Its name.
        component: String,
    },
    /// The codec of what can be done does not write, or not read, a decision in the log.
    Decision,
    /// The bytes are not those of saved turns.
    Malformed,
}

impl fmt::Display for TurnsSaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undeclared { component } => write!(
                f,
                "turns that can be undone have changed {component}: declare it with \
                 `TurnsBuilder::component`"
            ),
            Self::Component { component } => {
                write!(f, "the codec of {component} fails on a value that undoing would bring back")
            }
            Self::Decision => f.write_str("the codec of the actions fails on one of the log"),
            Self::Malformed => f.write_str("the bytes are not those of saved turns"),
        }
    }
}

impl std::error::Error for TurnsSaveError {}

/// A line of a script that is no turn action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for ScriptError {}
