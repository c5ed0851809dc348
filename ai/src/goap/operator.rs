//! Operators and goals of a planner.

use formic_ecs::HashState;

use super::facts::{Condition, Effect, Facts, hold};

/// An action as the planner sees it: its preconditions, effects and cost. The action of the same name
/// carries it out.
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
    /// Creates an operator without conditions and effects, with a cost of 1.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), conditions: Vec::new(), effects: Vec::new(), cost: 1 }
    }

    /// Adds a precondition. All of them must hold.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Adds an effect. All effects happen at once.
    #[must_use]
    pub fn then(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Sets the cost. If the cost depends on the agent or on a target, this is the minimum; see
    /// [`Sensors::cost`](super::Sensors::cost).
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

    /// Whether its conditions hold, and the facts that it adds to or subtracts from stay in their ranges.
    /// `value` is called only for the facts of both.
    pub(crate) fn is_applicable(&self, facts: &Facts, mut value: impl FnMut(usize) -> u32) -> bool {
        hold(&self.conditions, &mut value)
            && self.effects.iter().filter(|effect| effect.change.is_relative()).all(|effect| {
                let value_max = facts.value_max(effect.fact);
                effect.change.of(value(effect.fact), value_max).is_some()
            })
    }

    /// The facts that it changes and their new values, if it can be applied.
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

/// A set of facts and operators for [`Sensors`](super::Sensors).
pub trait OperatorSet {
    /// The facts that conditions and effects are about.
    fn facts(&self) -> &Facts;

    /// The operators, sorted by name, which actions carry out.
    fn operators(&self) -> &[Operator];
}

/// A state of facts that an agent wants to reach.
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
    /// Creates a goal without conditions, with priority 0.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), conditions: Vec::new(), priority: 0 }
    }

    /// Adds a condition. All of them must hold.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Sets the priority. Goals of a higher priority are pursued first; among equals, the one that was
    /// added first.
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
