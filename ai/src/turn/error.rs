//! Errors of rules and turns.

use formic_ecs::Entity;

use crate::explain::short;

debug_as_text!(RuleError, ReplayError, TurnsSaveError);

/// The reason why a turn action was neither accepted nor rejected: it could not be bound, or the rules
/// rewrote it without end.
///
/// Nothing was done: the world, but for [more](Self::NoVacancy) vacant entities, the queues and the state
/// hash are as before. The only exception is the turn of an actor that is not a player, which is
/// [spent](super::TurnEnd::spent) nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The kind cannot be carried out like this: an argument makes no sense here.
    #[error("{0}")]
    Malformed(String),
    /// The action would change an entity that is gone, or that never existed.
    #[error("there is no living entity {0}")]
    Dead(Entity),
    /// An entity lacks a component that the action needs.
    #[error("entity {entity} has no component {component}")]
    Missing {
        /// The entity.
        entity: Entity,
        /// The name of the component's type.
        component: &'static str,
    },
    /// The action would bring more entities than can be vacant. They are made as needed, up to 65,536,
    /// and those that were made stay, see [`reserve`](super::Turns::reserve). [`Turns::bind`] makes none.
    ///
    /// [`Turns::bind`]: super::Turns::bind
    #[error("there is no vacant entity left")]
    NoVacancy,
    /// Rules rewrote the action again and again.
    #[error("rules rewrote the action more than {limit} times")]
    RewrittenTooOften {
        /// The maximum number of rewrites of an action.
        limit: u32,
    },
}

impl Refusal {
    /// The reason in [decision records](crate::explain), where `name` returns the name of an entity.
    pub(super) fn described(&self, name: &dyn Fn(Entity) -> String) -> String {
        match *self {
            Self::Dead(entity) => format!("{} is not alive", name(entity)),
            Self::Missing { entity, component } => {
                format!("{} has no {}", name(entity), short(component))
            }
            _ => self.to_string(),
        }
    }
}

/// The reason why rules cannot be ordered.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Two rules have the same name.
    #[error("the rule {0:?} is defined twice")]
    Duplicate(String),
    /// A rule names another rule that does not exist.
    #[error("the rule {rule:?} names {names:?}, which does not exist")]
    Unknown {
        /// The rule that names it.
        rule: String,
        /// The name that is unknown.
        names: String,
    },
    /// Each of these rules must precede the next, and the last one the first.
    #[error("rules precede each other in a cycle: {}", in_a_cycle(.0))]
    Cycle(Vec<String>),
}

/// The point at which a replay diverged from the log.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Another actor is to act than in the log.
    #[error("turn {turn}: {} acted in the log, {} is to act here", actor(*.logged), actor(*.here))]
    OtherActor {
        /// The index of the turn in the log.
        turn: usize,
        /// The actor in the log.
        logged: Option<Entity>,
        /// The actor here.
        here: Option<Entity>,
    },
    /// The same decision cost the turn in the log, but not here.
    #[error("turn {turn}: the decision has no effect here")]
    NotSpent {
        /// The index of the turn in the log.
        turn: usize,
    },
    /// The state after a turn differs.
    #[error("turn {turn}: the state is {here:016x}, in the log {logged:016x}")]
    OtherHash {
        /// The index of the turn in the log.
        turn: usize,
        /// The state hash in the log.
        logged: u64,
        /// The state hash here.
        here: u64,
    },
}

/// The reason why turns were not saved, or not loaded.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnsSaveError {
    /// A turn that can be undone has changed a component that was not
    /// [declared](super::TurnsBuilder::component), so that its values could not be read.
    #[error(
        "turns that can be undone have changed {component}: declare it with `TurnsBuilder::component`"
    )]
    Undeclared {
        /// The name of the component.
        component: String,
    },
    /// The [codec](formic_ecs::Codec) of a changed component fails to write or read an earlier value.
    #[error("the codec of {component} fails on a value that undoing would bring back")]
    Component {
        /// The name of the component.
        component: String,
    },
    /// The codec of the kinds fails to write or read a decision in the log.
    #[error("the codec of the actions fails on one of the log")]
    Decision,
    /// The bytes are not those of saved turns.
    #[error("the bytes are not those of saved turns")]
    Malformed,
}

fn actor(entity: Option<Entity>) -> String {
    entity.map_or_else(|| "no actor".into(), |entity| entity.to_string())
}

fn in_a_cycle(names: &[String]) -> String {
    let first = names.first().map_or("", String::as_str);
    names.iter().map(|name| format!("{name:?}, ")).collect::<String>()
        + &format!("and {first:?} again")
}
