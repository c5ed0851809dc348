//! Sensors: the connection of a planner to the components and actions of agents.

use std::fmt;

use formic_ecs::QueryData;

use super::facts::Fact;
use super::operator::{Operator, OperatorSet};
use super::planner::Planner;
use crate::action::{ActionSet, MindError};
use crate::reload::IndexMapping;

type Sense<Q> = Box<dyn for<'a> Fn(&<Q as QueryData>::Item<'a>) -> u32 + Send + Sync>;

/// A planner (or a [`Domain`](crate::htn::Domain)) with the sources of its facts and the actions that
/// carry out its operators. It is shared by all agents of a kind.
///
/// A sensor reads the components that `Q` asks for. It runs only when its fact is needed: when a goal
/// that depends on it is planned for, or when an operator that depends on it is to begin.
pub struct Sensors<Q: QueryData, P = Planner> {
    planner: P,
    /// The action of each operator.
    actions: Vec<usize>,
    /// The sensor of each fact.
    facts: Vec<Option<Sense<Q>>>,
    /// The cost of each operator.
    costs: Vec<Option<Sense<Q>>>,
    pub(crate) rest: u32,
}

debug_fields!([Q: QueryData, P: fmt::Debug] Sensors<Q, P>: planner);

impl<Q: QueryData, P: OperatorSet> Sensors<Q, P> {
    /// Creates sensors for a planner and agents with these actions. Facts without a sensor are 0.
    ///
    /// # Errors
    /// Returns an error if an operator has no action of the same name.
    pub fn new(planner: P, actions: &ActionSet) -> Result<Self, MindError> {
        let find = |name: &str| {
            let problem = || format!("no action is called {name:?}");
            actions.find(name).ok_or_else(|| MindError::about("", name, problem()))
        };
        let operators = planner.operators().iter();
        let actions = operators.map(|operator| find(operator.name())).collect::<Result<_, _>>()?;
        let facts = planner.facts().names().map(|_| None).collect();
        let costs = planner.operators().iter().map(|_| None).collect();
        Ok(Self { planner, actions, facts, costs, rest: 10 })
    }

    /// Adds the sensor of a fact. Values above its maximum in the planner are clamped.
    ///
    /// # Panics
    /// Panics if the index of the fact is not one of the planner's.
    #[must_use]
    pub fn fact(
        mut self,
        fact: Fact,
        sense: impl for<'a> Fn(&Q::Item<'a>) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let value_max = self.planner.facts().value_max(fact.index());
        self.facts[fact.index()] = Some(Box::new(move |item| sense(item).min(value_max)));
        self
    }

    /// Sets the cost of an operator for each agent, such as the distance to its target. The cost is at
    /// least [`Operator::cost`](super::Operator::cost), even if this returns less.
    ///
    /// # Panics
    /// Panics if there is no operator with this name.
    #[must_use]
    pub fn cost(
        mut self,
        operator: &str,
        sense: impl for<'a> Fn(&Q::Item<'a>) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let mut operators = self.planner.operators().iter();
        let Some(place) = operators.position(|it| it.name() == operator) else {
            panic!("there is no operator {operator:?}")
        };
        self.costs[place] = Some(Box::new(sense));
        self
    }

    /// Sets the number of ticks that an agent rests when there is nothing to do, or nothing that it can
    /// do, before it plans again. The default is 10. [`Replan`](super::Replan) does not cut a rest short;
    /// set the rest to 0 to plan every tick.
    #[must_use]
    pub const fn rest(mut self, ticks: u32) -> Self {
        self.rest = ticks;
        self
    }

    /// The planner.
    #[must_use]
    pub const fn planner(&self) -> &P {
        &self.planner
    }

    /// The value of a fact.
    ///
    /// # Panics
    /// Panics if there is no such fact.
    pub fn value(&self, fact: usize, item: &Q::Item<'_>) -> u32 {
        self.facts[fact].as_ref().map_or(0, |sense| sense(item))
    }

    /// The cost of an operator for an agent.
    pub(crate) fn cost_of(&self, operator: usize, item: &Q::Item<'_>) -> u32 {
        match &self.costs[operator] {
            Some(sense) => sense(item),
            None => self.planner.operators()[operator].cost,
        }
    }

    /// The index of the action that carries out an operator.
    pub(crate) fn action(&self, operator: usize) -> usize {
        self.actions[operator]
    }

    /// A map from its operators to those of a new planner.
    pub(crate) fn renamed(&self, new: &Self) -> IndexMapping {
        let (before, after) = (self.planner.operators(), new.planner.operators());
        IndexMapping::new(before.iter().map(Operator::name), after.iter().map(Operator::name))
    }
}
