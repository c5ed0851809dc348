//! Planners: operators and goals, and the search for plans.

use std::collections::HashSet;

use formic_ecs::{HashState, StateHasher};

use super::facts::{Change, Condition, Facts, hold, up_to};
use super::operator::{Goal, Operator, OperatorSet};
use super::problem::{Compiled, Problem, UNREACHABLE};
use super::search::{Progress, Search};
use super::search_input::SearchInput;
use crate::action::MindError;

/// The operators and goals of a kind of agent, compiled for planning and shared by all of its agents.
///
/// A plan is always the cheapest there is. Operators are sorted by name, so that plans do not depend on
/// the order in which they were added.
///
/// ```
/// use formic_ai::goap::{Facts, Goal, Operator, PlannerBuilder};
/// let mut facts = Facts::new();
/// let has_axe = facts.flag("has_axe");
/// let wood = facts.number("wood", 10);
/// let planner = PlannerBuilder::new(facts)
///     .operator(Operator::new("fetch_axe").then(has_axe.becomes(true)).cost(4))
///     .operator(Operator::new("chop").when(has_axe.is(true)).then(wood.add(1)).cost(2))
///     .operator(Operator::new("pick_up").then(wood.add(1)).cost(5))
///     .goal(Goal::new("stocked").when(wood.at_least(3)))
///     .build()?;
/// let plan = planner.plan(0, &[0, 0]).expect("it can be reached");
/// let names: Vec<&str> = plan.names(&planner).collect();
/// assert_eq!((names, plan.cost), (vec!["fetch_axe", "chop", "chop", "chop"], 10));
/// let plan = planner.plan(0, &[0, 2]).expect("one is enough");
/// assert_eq!(plan.names(&planner).collect::<Vec<_>>(), ["pick_up"]);
///
/// // One step at a time, without a plan:
/// let chop = planner.find("chop").expect("it is there");
/// assert!(!planner.is_applicable(chop, |fact| [0, 2][fact]), "it needs the axe");
/// assert_eq!(planner.apply(chop, &[1, 2]), Some(vec![1, 3]));
/// assert!(planner.holds(0, |fact| [1, 3][fact]));
/// assert_eq!(planner.lower_bound(0, &[1, 1]), Some(4), "two more, at 2 each");
///
/// // A search spread over ticks, ten states in each:
/// let mut planning = planner.begin(0, |_| 0, |_| 0); // what operators cost here; at least what was said
/// let plan = loop {
///     if let Some(plan) = planner.go_on(&mut planning, 10) {
///         break plan.expect("it can be reached");
///     }
/// };
/// assert_eq!(plan.cost, 10);
/// assert!(planning.looked_at() > 0);
/// # Ok::<(), formic_ai::action::MindError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Planner {
    pub(super) facts: Facts,
    pub(super) operators: Vec<Operator>,
    pub(super) goals: Vec<Goal>,
    pub(super) problems: Vec<Problem>,
    pub(super) states_max: usize,
    /// The goals by descending priority.
    pub(super) order: Vec<usize>,
    /// A hash of everything here that a search depends on.
    fingerprint: u64,
}

/// A builder for a [`Planner`].
///
/// ```
/// use formic_ai::goap::{Facts, Goal, NoPlan, Operator, PlannerBuilder};
/// let mut facts = Facts::new();
/// let steps = facts.number("steps", 60);
/// let planner = PlannerBuilder::new(facts)
///     .operator(Operator::new("step").then(steps.add(1)))
///     .goal(Goal::new("there").when(steps.equals(60)))
///     // A short table and a short patience: the search looks at few states and gives up.
///     .pattern_states_max(1)
///     .states_max(10)
///     .build()?;
/// assert_eq!(planner.plan(0, &[0]), Err(NoPlan::GaveUp));
/// assert!(planner.plan(0, &[55]).is_ok());
/// # Ok::<(), formic_ai::action::MindError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlannerBuilder {
    facts: Facts,
    operators: Vec<Operator>,
    goals: Vec<Goal>,
    pattern_states_max: usize,
    states_max: usize,
}

/// A plan: the operators to carry out, first to last.
#[derive(Clone, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// The indices of the operators in the planner.
    pub operators: Vec<usize>,
    /// The sum of their costs.
    pub cost: u64,
}

impl Plan {
    /// The names of the operators.
    pub fn names<'a>(&'a self, planner: &'a Planner) -> impl Iterator<Item = &'a str> {
        self.operators.iter().map(|&operator| planner.operators[operator].name())
    }
}

impl PlannerBuilder {
    /// Creates a builder without operators and goals.
    #[must_use]
    pub const fn new(facts: Facts) -> Self {
        Self {
            facts,
            operators: Vec::new(),
            goals: Vec::new(),
            pattern_states_max: 1 << 12,
            states_max: 1 << 16,
        }
    }

    /// Adds an operator.
    #[must_use]
    pub fn operator(mut self, operator: Operator) -> Self {
        self.operators.push(operator);
        self
    }

    /// Adds a goal.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        self.goals.push(goal);
        self
    }

    /// Sets the maximum size of a goal's table of lower bounds, in states of 8 bytes each. A larger table
    /// makes searches shorter and building longer. The default is 4,096.
    #[must_use]
    pub const fn pattern_states_max(mut self, states: usize) -> Self {
        self.pattern_states_max = states;
        self
    }

    /// Sets the maximum number of states that a search visits before it gives up. The default is 65,536.
    #[must_use]
    pub const fn states_max(mut self, states: usize) -> Self {
        self.states_max = states;
        self
    }

    /// Checks everything, and precomputes the relevant facts and the table of lower bounds for each goal.
    ///
    /// # Errors
    /// Returns an error if there are no goals, if two facts, operators or goals have the same name, if a
    /// condition can never hold, if an operator changes a fact twice or to a value that it cannot have,
    /// or if a fact is not one of the planner.
    pub fn build(mut self) -> Result<Planner, MindError> {
        if self.goals.is_empty() {
            return Err(MindError::new("a planner needs at least one goal"));
        }
        self.facts.check_operators(&mut self.operators)?;
        let mut names = HashSet::new();
        for goal in &self.goals {
            if !names.insert(&goal.name) {
                return Err(defined_twice(&goal.name));
            }
            self.facts.check_conditions(&goal.name, &goal.conditions)?;
        }
        let problem = |goal: &Goal| {
            let (facts, operators) = (&self.facts, &self.operators);
            Problem::new(facts, operators, goal, self.pattern_states_max)
        };
        let problems: Vec<Problem> = self.goals.iter().map(problem).collect();
        let mut order: Vec<usize> = (0..self.goals.len()).collect();
        order.sort_by_key(|&goal| std::cmp::Reverse(self.goals[goal].priority));
        let Self { facts, operators, goals, states_max, .. } = self;
        let mut hasher = StateHasher::new();
        let patterns: Vec<usize> = problems.iter().map(Problem::pattern_len).collect();
        (&facts, &operators, &goals, &patterns).hash_state(&mut hasher);
        let fingerprint = hasher.finish();
        Ok(Planner { facts, operators, goals, problems, states_max, order, fingerprint })
    }
}

/// The error for two operators, goals, tasks or methods with one name.
pub(crate) fn defined_twice(name: &str) -> MindError {
    MindError::twice("", name, format!("{name:?} is defined twice"))
}

fn unknown_fact(name: &str) -> MindError {
    MindError::about("", name, format!("{name:?} uses a fact that the planner does not have"))
}

impl Facts {
    /// Checks that some value of each fact satisfies the conditions.
    pub(crate) fn check_conditions(
        &self,
        name: &str,
        conditions: &[Condition],
    ) -> Result<(), MindError> {
        for (place, condition) in conditions.iter().enumerate() {
            let Some(&(_, value_max)) = self.all.get(condition.fact) else {
                return Err(unknown_fact(name));
            };
            let on_the_same =
                conditions[place..].iter().filter(|other| other.fact == condition.fact);
            let allowed = on_the_same.fold(up_to(value_max), |set, other| set & other.allowed);
            if allowed == 0 {
                let problem = format!("{name:?} requires a value that the fact cannot have");
                return Err(MindError::about("", name, problem));
            }
        }
        Ok(())
    }

    /// Sorts operators by name, and checks them.
    pub(crate) fn check_operators(&self, operators: &mut [Operator]) -> Result<(), MindError> {
        let mut names = HashSet::new();
        if let Some(name) = self.names().find(|&name| !names.insert(name)) {
            let problem = format!("the fact {name:?} is defined twice");
            return Err(MindError::twice("", name, problem));
        }
        operators.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = operators.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(defined_twice(&pair[0].name));
        }
        for operator in operators {
            self.check_conditions(&operator.name, &operator.conditions)?;
            self.check_effects(operator)?;
        }
        Ok(())
    }

    fn check_effects(&self, operator: &Operator) -> Result<(), MindError> {
        for (place, effect) in operator.effects.iter().enumerate() {
            let Some(&(_, value_max)) = self.all.get(effect.fact) else {
                return Err(unknown_fact(&operator.name));
            };
            let is_second = operator.effects[..place].iter().any(|other| other.fact == effect.fact);
            let is_out_of_range = match effect.change {
                Change::Set(value) => value > value_max,
                Change::Add(amount) | Change::Subtract(amount) => amount > value_max,
            };
            if is_second || is_out_of_range {
                let name = &operator.name;
                let problem =
                    format!("{name:?} changes a fact twice, or to a value that it cannot have");
                return Err(MindError::about("", name, problem));
            }
        }
        Ok(())
    }
}

/// The reason why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPlan {
    /// The goal cannot be reached from this state.
    #[error("the goal cannot be reached")]
    Unreachable,
    /// The search visited [`PlannerBuilder::states_max`] states without a result.
    #[error("the search was stopped: it visited too many states")]
    GaveUp,
    /// Another planner began the search: before the game was changed, for instance.
    #[error("another planner began the search")]
    OtherPlanner,
}

/// A search for a plan that can be continued at any time; see [`Planner::begin`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Planning {
    pub(super) input: SearchInput,
    /// `None` until it is continued, also in a loaded game.
    #[serde(skip)]
    search: Option<Search>,
}

/// The results of the search follow from the input.
impl HashState for Planning {
    fn hash_state(&self, hasher: &mut StateHasher) {
        self.input.hash_state(hasher);
    }
}

impl Planning {
    /// The number of states that were visited.
    #[must_use]
    pub fn looked_at(&self) -> usize {
        self.input.looked_at
    }
}

impl OperatorSet for Planner {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn operators(&self) -> &[Operator] {
        &self.operators
    }
}

impl Planner {
    /// The goals, in the order in which they were added.
    #[must_use]
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// The index of the operator with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.operators.iter().position(|operator| operator.name == name)
    }

    /// The cheapest plan from these values of the facts. It is empty if the goal holds.
    ///
    /// # Errors
    /// Returns an error if the goal cannot be reached, or if the search gives up.
    ///
    /// # Panics
    /// Panics if there is no such goal, as do all methods here, or if there are fewer values than facts.
    pub fn plan(&self, goal: usize, values: &[u32]) -> Result<Plan, NoPlan> {
        let mut planning =
            self.begin(goal, |fact| values[fact], |operator| self.operators[operator].cost);
        loop {
            if let Some(plan) = self.go_on(&mut planning, usize::MAX) {
                return plan;
            }
        }
    }

    /// Begins a search. `value` is called for the relevant facts. `cost` is called for the relevant
    /// operators and returns their cost in this situation, which is at least the declared one.
    ///
    /// # Panics
    /// Panics if there is no such goal.
    #[must_use]
    pub fn begin(
        &self,
        goal: usize,
        value: impl FnMut(usize) -> u32,
        mut cost: impl FnMut(usize) -> u32,
    ) -> Planning {
        let problem = &self.problems[goal];
        let values = problem.values(value);
        let costs = problem.operators.iter();
        let costs = costs.map(|operator| cost(operator.operator).max(operator.cost)).collect();
        let aims = vec![u32::try_from(goal).expect("there are fewer goals than 2^32")];
        let planner = self.fingerprint;
        let input = SearchInput { planner, aims, values, costs, looked_at: 0 };
        Planning { input, search: None }
    }

    /// The search for this input, continued to its progress; `None` if the input is another planner's.
    fn search(&self, input: &SearchInput) -> Option<Search> {
        let problem = match input.aims[..] {
            [goal] if input.planner == self.fingerprint => self.problems.get(goal as usize)?,
            _ => return None,
        };
        let is_cost = |(operator, &cost): (&Compiled, &u32)| cost >= operator.cost;
        if input.costs.len() != problem.operators.len()
            || !problem.operators.iter().zip(&input.costs).all(is_cost)
            || input.looked_at > self.states_max
        {
            return None;
        }
        let mut search = Search::new(problem, &input.values, &input.costs)?;
        let progress = search.go_on(problem, &input.costs, input.looked_at);
        (progress == Progress::GoesOn).then_some(search)
    }

    /// Continues a search for at most this many states. Returns `None` if there is more to do. The plan
    /// does not depend on how the search is divided.
    ///
    /// # Errors
    /// Returns an error inside the `Some` if there is no plan, if the search gives up, or if another
    /// planner began it.
    pub fn go_on(&self, planning: &mut Planning, states: usize) -> Option<Result<Plan, NoPlan>> {
        let Planning { input, search } = planning;
        if search.is_none() || input.planner != self.fingerprint {
            *search = self.search(input);
        }
        let Some(search) = search else { return Some(Err(NoPlan::OtherPlanner)) };
        let problem = &self.problems[input.aims[0] as usize];
        let left = self.states_max.saturating_sub(input.looked_at);
        let progress = search.go_on(problem, &input.costs, states.min(left));
        input.looked_at = search.looked_at();
        match progress {
            Progress::Found(operators, cost) => Some(Ok(Plan { operators, cost })),
            Progress::Unreachable => Some(Err(NoPlan::Unreachable)),
            Progress::GoesOn if search.looked_at() >= self.states_max => Some(Err(NoPlan::GaveUp)),
            Progress::GoesOn => None,
        }
    }

    /// Whether a goal holds. `value` is called only for its facts.
    ///
    /// # Panics
    /// Panics if there is no such goal.
    pub fn holds(&self, goal: usize, value: impl FnMut(usize) -> u32) -> bool {
        hold(&self.goals[goal].conditions, value)
    }

    /// Whether an operator can be applied: its conditions hold, and the facts that it adds to or
    /// subtracts from stay in their ranges. `value` is called only for the facts of both.
    ///
    /// # Panics
    /// Panics if there is no such operator.
    pub fn is_applicable(&self, operator: usize, value: impl FnMut(usize) -> u32) -> bool {
        self.operators[operator].is_applicable(&self.facts, value)
    }

    /// The values after an operator; `None` if it cannot be applied.
    ///
    /// # Panics
    /// Panics if there is no such operator, or if there are fewer values than facts.
    #[must_use]
    pub fn apply(&self, operator: usize, values: &[u32]) -> Option<Vec<u32>> {
        if !self.is_applicable(operator, |fact| values[fact]) {
            return None;
        }
        let mut changed = values.to_vec();
        let changes = self.operators[operator].changes(&self.facts, |fact| values[fact]);
        changes.for_each(|(fact, value)| changed[fact] = value);
        Some(changed)
    }

    /// A lower bound of the cost of a goal from these values; `None` if it is known to be out of reach.
    /// It never exceeds the cost of the cheapest plan.
    ///
    /// # Panics
    /// Panics if there is no such goal, or if there are fewer values than facts.
    #[must_use]
    pub fn lower_bound(&self, goal: usize, values: &[u32]) -> Option<u64> {
        let problem = &self.problems[goal];
        let state: Box<[u64]> = problem.pack(&problem.values(|fact| values[fact]))?;
        let bound = problem.bound(&state);
        (bound != UNREACHABLE).then_some(bound)
    }
}
