//! Errors of rules and actions.

use formic_ecs::Entity;

use crate::explain::short;

debug_as_text!(RuleError, ReplayError, TurnsSaveError);

/// Why a turn action never came before the rules.
///
/// Nothing of it was done: the world, the queues and the state hash are as they were, but for the turn
/// of an actor that is no player, which is [spent](super::TurnEnd::spent) all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The kind cannot be carried out as it is: an argument makes no sense here.
    #[error("{0}")]
    Malformed(String),
    /// The action would change an entity that is gone, or that was never there.
    #[error("there is no living entity {0}")]
    Dead(Entity),
    /// An entity lacks a component that the action asks for.
    #[error("entity {entity} has no component {component}")]
    Missing {
        /// The entity.
        entity: Entity,
        /// The name of the component's type.
        component: &'static str,
    },
    /// The action would bring more entities than there can be vacant, which are made as they are
    /// needed, up to 65,536. The room that was made stays, see [`reserve`](super::Turns::reserve).
    #[error("there is no vacant entity left")]
    NoVacancy,
    /// Rules rewrote the action again and again.
    #[error("rules rewrote the action more than {limit} times")]
    RewrittenTooOften {
        /// How many times an action may be rewritten.
        limit: u32,
    },
}

impl Refusal {
    /// The same in [records](crate::explain), where `name` is what an entity is called.
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

/// Why rules cannot be put in an order.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Two rules have one name.
    #[error("the rule {0:?} is defined twice")]
    Duplicate(String),
    /// A rule names another that there is not.
    #[error("the rule {rule:?} names {names:?}, which does not exist")]
    Unknown {
        /// The rule that names it.
        rule: String,
        /// What it names.
        names: String,
    },
    /// Each of these rules must precede the next, and the last one the first.
    #[error("rules precede each other in a cycle: {}", in_a_cycle(.0))]
    Cycle(Vec<String>),
}

/// Where a replay left the way of the log.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Another actor is to act than in the log.
    #[error("turn {turn}: {} acted in the log, {} is to act here", actor(*.logged), actor(*.here))]
    OtherActor {
        /// The number of the turn in the log, from 0.
        turn: usize,
        /// Who acted in the log.
        logged: Option<Entity>,
        /// Who is to act here.
        here: Option<Entity>,
    },
    /// The same decision had another effect: it cost the turn in the log and not here.
    #[error("turn {turn}: the decision has no effect here")]
    NotSpent {
        /// The number of the turn in the log, from 0.
        turn: usize,
    },
    /// The state after a turn is another one.
    #[error("turn {turn}: the state is {here:016x}, in the log {logged:016x}")]
    OtherHash {
        /// The number of the turn in the log, from 0.
        turn: usize,
        /// The state hash in the log.
        logged: u64,
        /// The state hash here.
        here: u64,
    },
}

/// Why turns were not saved, or not loaded.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnsSaveError {
    /// A turn that can be undone has changed a component that the turns were not
    /// [told of](super::TurnsBuilder::component): nothing could read its values.
    #[error(
        "turns that can be undone have changed {component}: declare it with `TurnsBuilder::component`"
    )]
    Undeclared {
        /// Its name.
        component: String,
    },
    /// The [codec](formic_ecs::Codec) of a component that was changed does not write, or not read,
    /// what there was before.
    #[error("the codec of {component} fails on a value that undoing would bring back")]
    Component {
        /// Its name.
        component: String,
    },
    /// The codec of what can be done does not write, or not read, a decision in the log.
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
