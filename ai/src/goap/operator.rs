//! Operators and goals of the planner.

use formic_ecs::HashState;

use super::facts::{Condition, Effect, Facts, hold};

/// Something that the agent can do, for the planner: when, what comes of it, and what it costs. It
/// is carried out by the action of the same name.
///
/// ```
/// use formic_ai::goap::{Facts, Operator};
/// let mut facts = Facts::new();
/// let (has_axe, wood) = (facts.flag("has_axe"), facts.number("wood", 10));
/// let chop = Operator::new("chop").when(has_axe.is(true)).then(wood.add(1)).cost(2);
/// assert_eq!(chop.name(), "chop");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, HashState)]
pub struct Operator {
    pub(super) name: String,
    pub(super) conditions: Vec<Condition>,
    pub(super) effects: Vec<Effect>,
    pub(crate) cost: u32,
}

impl Operator {
    /// Without conditions and effects, at a cost of 1.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), conditions: Vec::new(), effects: Vec::new(), cost: 1 }
    }

    /// Adds a condition. All of them have to hold.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Adds an effect. All of them happen at once.
    #[must_use]
    pub fn then(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// What it costs. Where the cost depends on the agent or on a target it is the least that it
    /// can be; see [`Sensors::cost`](super::Sensors::cost).
    #[must_use]
    pub const fn cost(mut self, cost: u32) -> Self {
        self.cost = cost;
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its conditions hold, and what it adds to or subtracts from stays in its range. The
    /// facts of both are asked for, no others.
    pub(crate) fn is_applicable(&self, facts: &Facts, mut value: impl FnMut(usize) -> u32) -> bool {
        hold(&self.conditions, &mut value)
            && self.effects.iter().filter(|effect| effect.change.is_relative()).all(|effect| {
                let value_max = facts.value_max(effect.fact);
                effect.change.of(value(effect.fact), value_max).is_some()
            })
    }

    /// The facts that it changes and what they become, where it can be applied.
    pub(crate) fn changes(
        &self,
        facts: &Facts,
        mut value: impl FnMut(usize) -> u32,
    ) -> impl Iterator<Item = (usize, u32)> {
        self.effects.iter().filter_map(move |effect| {
            let value_max = facts.value_max(effect.fact);
            Some((effect.fact, effect.change.of(value(effect.fact), value_max)?))
        })
    }
}

/// What agents can do, for the [sensors](super::Sensors) of a planner: the facts that matter and the
/// operators that actions carry out.
pub trait OperatorSet {
    /// The facts.
    fn facts(&self) -> &Facts;

    /// The operators.
    fn operators(&self) -> &[Operator];
}

/// What an agent wants to hold.
///
/// ```
/// use formic_ai::goap::{Facts, Goal};
/// let mut facts = Facts::new();
/// let wood = facts.number("wood", 10);
/// let stocked = Goal::new("stocked").when(wood.at_least(3)).priority(2);
/// assert_eq!(stocked.name(), "stocked");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, HashState)]
pub struct Goal {
    pub(super) name: String,
    pub(super) conditions: Vec<Condition>,
    pub(super) priority: i32,
}

impl Goal {
    /// Without conditions, of priority 0.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), conditions: Vec::new(), priority: 0 }
    }

    /// Adds a condition. All of them are to hold.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Goals of a higher priority are pursued first; of equals the one that was added first.
    #[must_use]
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}
