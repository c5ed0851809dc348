//! A planner with its sensors.

use std::fmt;

use formic_ecs::QueryData;

use super::facts::Fact;
use super::operator::{Operator, OperatorSet};
use super::planner::Planner;
use crate::action::{ActionSet, MindError};
use crate::reload::Renamed;

type Sense<Q> = Box<dyn for<'a> Fn(&<Q as QueryData>::Item<'a>) -> u32 + Send + Sync>;

/// A planner (or a [`Domain`](crate::htn::Domain)), where its facts come from, and which actions carry
/// out its operators: shared by all agents of a kind.
///
/// A sensor looks at the components that `Q` asks for. It runs only when its fact is asked for: when
/// a goal that it matters for is planned for, or an operator that depends on it is to begin.
pub struct Sensors<Q: QueryData, P = Planner> {
    planner: P,
    /// For each operator the action that carries it out.
    actions: Vec<usize>,
    /// For each fact.
    facts: Vec<Option<Sense<Q>>>,
    /// For each operator.
    costs: Vec<Option<Sense<Q>>>,
    pub(crate) rest: u32,
}

debug_fields!([Q: QueryData, P: fmt::Debug] Sensors<Q, P>: planner);

impl<Q: QueryData, P: OperatorSet> Sensors<Q, P> {
    /// A planner for agents with these actions. Facts without a sensor are 0.
    ///
    /// # Errors
    /// Returns an error if no action has the name of an operator.
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

    /// Adds the sensor of a fact. Values above its maximum count as that.
    ///
    /// # Panics
    /// Panics if the fact is of another planner.
    #[must_use]
    pub fn fact(
        mut self,
        fact: Fact,
        sense: impl for<'a> Fn(&Q::Item<'a>) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let value_max = fact.value_max;
        self.facts[fact.index()] = Some(Box::new(move |item| sense(item).min(value_max)));
        self
    }

    /// Adds what an operator costs for an agent: by the distance to its target, for instance. It
    /// costs at least what [`Operator::cost`](super::Operator::cost) says, also where this is less.
    ///
    /// # Panics
    /// Panics if there is no operator of this name.
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

    /// How many ticks an agent rests when there is nothing to do, or nothing that it can do, before
    /// it thinks again; 10 where nothing is said. [`Replan`](super::Replan) does not cut a rest short, switching it
    /// on anew does nothing; set it to 0 to think every tick.
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

    /// What an operator costs for an agent.
    pub(crate) fn cost_of(&self, operator: usize, item: &Q::Item<'_>) -> u32 {
        match &self.costs[operator] {
            Some(sense) => sense(item),
            None => self.planner.operators()[operator].cost,
        }
    }

    /// The action that carries out an operator.
    pub(crate) fn action(&self, operator: usize) -> usize {
        self.actions[operator]
    }

    /// Where its operators are among those of another planner.
    pub(crate) fn renamed(&self, new: &Self) -> Renamed {
        let (before, after) = (self.planner.operators(), new.planner.operators());
        Renamed::new(before.iter().map(Operator::name), after.iter().map(Operator::name))
    }
}
