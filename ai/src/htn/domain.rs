//! Methods, and the domains that they form together with operators.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::mem::replace;

use formic_ecs::{HashState, StateHasher};

use crate::action::{MindError, hint};
use crate::goap::{Condition, Facts, Operator, OperatorSet, defined_twice, hold};

/// A method: one way to decompose a compound task. It has preconditions, and the tasks that it consists
/// of, first to last.
///
/// ```
/// use formic_ai::goap::Facts;
/// use formic_ai::htn::Method;
/// let mut facts = Facts::new();
/// let cash = facts.number("cash", 10);
/// // The task `travel`, which can be done by other methods as well.
/// let taxi = Method::new("travel", "by taxi").when(cash.at_least(2)).task("call").task("ride");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    pub(super) compound: String,
    pub(super) name: String,
    pub(super) conditions: Vec<Condition>,
    /// `None` is a pause.
    pub(super) tasks: Vec<Option<String>>,
}

impl Method {
    /// Creates a method of the task `compound`, without conditions and tasks.
    pub fn new(compound: impl Into<String>, name: impl Into<String>) -> Self {
        let (conditions, tasks) = (Vec::new(), Vec::new());
        Self { compound: compound.into(), name: name.into(), conditions, tasks }
    }

    /// Adds a precondition. All of them must hold when the method is chosen.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Adds the next task: an operator, or a compound task, which has methods.
    #[must_use]
    pub fn task(mut self, name: impl Into<String>) -> Self {
        self.tasks.push(Some(name.into()));
        self
    }

    /// Ends the plan here, if at least one step comes before. The rest is planned when the agent has come
    /// this far, from the state of that moment.
    #[must_use]
    pub fn pause(mut self) -> Self {
        self.tasks.push(None);
        self
    }
}

/// The criterion by which a plan is chosen.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize,
)]
#[non_exhaustive]
pub enum Preference {
    /// The first plan by the order in which the methods of each task were added: the designer decides
    /// what is better. If the tasks after a method cannot be done, the search backtracks.
    #[default]
    Order,
    /// The cheapest plan, by the costs of the operators. Ties are broken the same way every time.
    Cheapest,
}

/// The operators and methods of a kind of agent, shared by all of its agents.
///
/// ```
/// use formic_ai::goap::{Facts, Operator};
/// use formic_ai::htn::{DomainBuilder, Method};
/// let mut facts = Facts::new();
/// let (cash, there) = (facts.number("cash", 10), facts.flag("there"));
/// let domain = DomainBuilder::new(facts)
///     .operator(Operator::new("walk").then(there.becomes(true)))
///     .operator(Operator::new("ride").then(cash.subtract(2)).then(there.becomes(true)))
///     .method(Method::new("travel", "not at all").when(there.is(true)))
///     .method(Method::new("travel", "by taxi").when(cash.at_least(2)).task("ride"))
///     .method(Method::new("travel", "on foot").task("walk"))
///     .build("travel")?;
/// let names = |values: &[u32]| -> Vec<String> {
///     let plan = domain.plan(values).expect("there is a way");
///     plan.names(&domain).map(String::from).collect()
/// };
/// assert_eq!(names(&[5, 0]), ["ride"]);
/// assert_eq!(names(&[1, 0]), ["walk"]);
/// assert!(names(&[5, 1]).is_empty());
/// # Ok::<(), formic_ai::action::MindError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Domain {
    pub(super) facts: Facts,
    pub(super) operators: Vec<Operator>,
    /// The compound tasks. Their numbers follow those of the operators.
    pub(super) compounds: Vec<Compound>,
    pub(super) methods: Vec<FlatMethod>,
    /// The number of the task that agents pursue.
    pub(super) root: u32,
    pub(super) preference: Preference,
    pub(super) states_max: usize,
    /// The least cost of each task; [`IMPOSSIBLE`] if it cannot be done at all.
    pub(super) least: Vec<u64>,
    /// Whether a plan may end inside each task.
    pub(super) may_pause: Vec<bool>,
    /// A hash of everything here that a search depends on.
    pub(super) fingerprint: u64,
}

/// A task that has methods.
#[derive(Clone, Debug)]
pub(super) struct Compound {
    pub(super) name: String,
    /// Their indices in [`Domain::methods`], in the order in which they were added.
    pub(super) methods: Vec<u32>,
}

#[derive(Clone, Debug, HashState)]
pub(super) struct FlatMethod {
    pub(super) name: String,
    pub(super) compound: u32,
    pub(super) conditions: Vec<Condition>,
    pub(super) tasks: Vec<u32>,
}

/// Takes the place of a task where a partial plan ends.
pub(super) const PAUSE: u32 = u32::MAX;

/// The cost of a task that cannot be done.
pub(super) const IMPOSSIBLE: u64 = u64::MAX;

/// A builder for a [`Domain`].
///
/// ```
/// use formic_ai::goap::{Facts, Operator};
/// use formic_ai::htn::{DomainBuilder, Method, Preference};
/// let mut facts = Facts::new();
/// let there = facts.flag("there");
/// let domain = DomainBuilder::new(facts)
///     .operator(Operator::new("walk").then(there.becomes(true)).cost(9))
///     .operator(Operator::new("ride").then(there.becomes(true)).cost(5))
///     .operator(Operator::new("knock").when(there.is(true)))
///     .method(Method::new("travel", "on foot").task("walk"))
///     .method(Method::new("travel", "by horse").task("ride"))
///     // What comes then is planned when it is there.
///     .method(Method::new("visit", "at all").task("travel").pause().task("knock"))
///     // By the order of the methods it would walk.
///     .prefer(Preference::Cheapest)
///     .build("visit")?;
/// let plan = domain.plan(&[0]).expect("there is a way");
/// assert_eq!((plan.names(&domain).collect::<Vec<_>>(), plan.cost), (vec!["ride"], 5));
/// assert!(plan.methods(&domain).eq(["visit at all", "travel by horse"]));
/// assert!(plan.is_partial(), "to knock is left");
/// # Ok::<(), formic_ai::action::MindError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DomainBuilder {
    facts: Facts,
    operators: Vec<Operator>,
    methods: Vec<Method>,
    preference: Preference,
    states_max: usize,
}

impl DomainBuilder {
    /// Creates a builder without operators and methods.
    #[must_use]
    pub const fn new(facts: Facts) -> Self {
        Self {
            facts,
            operators: Vec::new(),
            methods: Vec::new(),
            preference: Preference::Order,
            states_max: 1 << 16,
        }
    }

    /// Adds an operator: a primitive task, which the action of the same name carries out.
    #[must_use]
    pub fn operator(mut self, operator: Operator) -> Self {
        self.operators.push(operator);
        self
    }

    /// Adds a method. The methods of a task are tried in the order in which they were added.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.methods.push(method);
        self
    }

    /// Sets which plan is chosen. The default is [`Preference::Order`].
    #[must_use]
    pub const fn prefer(mut self, preference: Preference) -> Self {
        self.preference = preference;
        self
    }

    /// Sets the maximum number of states that a search visits before it gives up. The default is 65,536.
    #[must_use]
    pub const fn states_max(mut self, states: usize) -> Self {
        self.states_max = states;
        self
    }

    /// Checks everything. Agents pursue the task `root`.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// * a task has neither an operator nor methods, or both,
    /// * a name is given twice,
    /// * an operator or a method requires a value that the fact cannot have,
    /// * an operator changes a fact twice or to a value that it cannot have, or
    /// * a task can begin with itself before any operator, with or without a pause, so that its
    ///   decomposition would never end.
    pub fn build(self, root: &str) -> Result<Domain, MindError> {
        let Self { facts, mut operators, methods, preference, states_max } = self;
        facts.check_operators(&mut operators)?;
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for operator in &operators {
            numbers.insert(operator.name().into(), number(numbers.len()));
        }
        let first = operators.len();
        let mut compounds: Vec<Compound> = Vec::new();
        for method in &methods {
            let next = number(numbers.len());
            let task = *numbers.entry(method.compound.clone()).or_insert(next);
            let Some(place) = (task as usize).checked_sub(first) else {
                return Err(defined_twice(&method.compound));
            };
            if place == compounds.len() {
                compounds.push(Compound { name: method.compound.clone(), methods: Vec::new() });
            }
        }
        let unknown = |task: &str, by: &str| {
            let hint = hint(task, numbers.keys().map(String::as_str));
            let problem =
                format!("{by:?} names {task:?}, which has neither an operator nor methods");
            MindError::about("", task, problem + &hint)
        };
        let mut flat = Vec::with_capacity(methods.len());
        let mut names = HashSet::new();
        for method in methods {
            let name = format!("{} {}", method.compound, method.name);
            facts.check_conditions(&name, &method.conditions)?;
            let compound = numbers[&method.compound];
            if !names.insert((compound, method.name.clone())) {
                return Err(defined_twice(&name));
            }
            compounds[compound as usize - first].methods.push(number(flat.len()));
            let find = |task: &Option<String>| match task {
                None => Ok(PAUSE),
                Some(task) => numbers.get(task).copied().ok_or_else(|| unknown(task, &name)),
            };
            let tasks = method.tasks.iter().map(find).collect::<Result<_, _>>()?;
            let conditions = method.conditions;
            flat.push(FlatMethod { name: method.name, compound, conditions, tasks });
        }
        let root = numbers.get(root).copied().ok_or_else(|| unknown(root, "the domain"))?;
        let mut domain = Domain {
            facts,
            operators,
            compounds,
            methods: flat,
            root,
            preference,
            states_max,
            least: Vec::new(),
            may_pause: Vec::new(),
            fingerprint: 0,
        };
        domain.check_beginnings()?;
        domain.set_bounds();
        let mut hasher = StateHasher::new();
        let Domain { facts, operators, methods, .. } = &domain;
        (facts, operators, methods, domain.preference).hash_state(&mut hasher);
        domain.fingerprint = hasher.finish();
        Ok(domain)
    }
}

pub(super) fn number(place: usize) -> u32 {
    u32::try_from(place).expect("there are fewer tasks and states than 2^32")
}

impl OperatorSet for Domain {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn operators(&self) -> &[Operator] {
        &self.operators
    }
}

impl Domain {
    /// The name of the task with this number, an operator or a compound task.
    pub(super) fn task_name(&self, task: u32) -> &str {
        match (task as usize).checked_sub(self.operators.len()) {
            None => self.operators[task as usize].name(),
            Some(place) => &self.compounds[place].name,
        }
    }

    /// The names of all tasks, by number.
    pub(super) fn task_names(&self) -> impl Iterator<Item = &str> {
        let operators = self.operators.iter().map(Operator::name);
        operators.chain(self.compounds.iter().map(|it| it.name.as_str()))
    }

    /// The methods of a task; none if it is an operator.
    pub(super) fn methods_of(&self, task: u32) -> &[u32] {
        let place = (task as usize).checked_sub(self.operators.len());
        place.map_or(&[], |place| &self.compounds[place].methods)
    }

    /// Whether the conditions of a method hold.
    pub(super) fn is_open(&self, method: u32, value: impl FnMut(usize) -> u32) -> bool {
        hold(&self.methods[method as usize].conditions, value)
    }

    /// A method as designers call it: `travel by taxi`.
    pub(super) fn method_name(&self, method: u32) -> String {
        let method = &self.methods[method as usize];
        format!("{} {}", self.task_name(method.compound), method.name)
    }

    /// The index of a task among the compound tasks.
    fn compound(&self, task: u32) -> Option<usize> {
        (task as usize).checked_sub(self.operators.len()).filter(|_| task != PAUSE)
    }

    /// Calls `look` for each method until a fixpoint. If it returns that something is new about a
    /// compound task, the methods that contain that task are visited again.
    fn settle(&self, mut look: impl FnMut(&FlatMethod) -> bool) {
        let mut users = vec![Vec::new(); self.compounds.len()];
        for (number, method) in self.methods.iter().enumerate() {
            let named = method.tasks.iter().filter_map(|&task| self.compound(task));
            named.for_each(|place| users[place].push(number));
        }
        let mut open: VecDeque<usize> = (0..self.methods.len()).collect();
        let mut is_open = vec![true; self.methods.len()];
        while let Some(number) = open.pop_front() {
            is_open[number] = false;
            let method = &self.methods[number];
            if let Some(place) = self.compound(method.compound).filter(|_| look(method)) {
                let closed =
                    users[place].iter().filter(|&&user| !replace(&mut is_open[user], true));
                open.extend(closed);
            }
        }
    }

    /// Checks that no task can begin with itself before any operator.
    fn check_beginnings(&self) -> Result<(), MindError> {
        let place = |task: u32| self.compound(task);
        // The compound tasks that can be done without any operator.
        let mut is_empty = vec![false; self.compounds.len()];
        // A pause before any step does not end the plan.
        let passes = |is_empty: &[bool], task: u32| {
            task == PAUSE || place(task).is_some_and(|it| is_empty[it])
        };
        self.settle(|method| {
            let can = method.tasks.iter().all(|&task| passes(&is_empty, task));
            let compound = place(method.compound).expect("a method is of a compound task");
            can && !replace(&mut is_empty[compound], can)
        });
        // A graph from each compound task to those that it can begin with, in which a cycle is an error.
        // Tasks that wait for no other task are removed until none is left.
        let mut behind = vec![Vec::new(); self.compounds.len()];
        let mut wait_counts = vec![0_usize; self.compounds.len()];
        for method in &self.methods {
            let compound = place(method.compound).expect("a method is of a compound task");
            let end = method.tasks.iter().position(|&task| !passes(&is_empty, task));
            let begin = method.tasks.iter().take(end.map_or(usize::MAX, |end| end + 1));
            for first in begin.filter_map(|&task| place(task)) {
                behind[first].push(compound);
                wait_counts[compound] += 1;
            }
        }
        let mut free: Vec<usize> = (0..behind.len()).filter(|&it| wait_counts[it] == 0).collect();
        while let Some(it) = free.pop() {
            for &waiting in &behind[it] {
                wait_counts[waiting] -= 1;
                if wait_counts[waiting] == 0 {
                    free.push(waiting);
                }
            }
        }
        match wait_counts.iter().position(|&count| count > 0) {
            Some(cycle) => {
                let name = &self.compounds[cycle].name;
                let problem = format!("{name:?} decomposes into itself before any operator");
                Err(MindError::about("", name, problem))
            }
            None => Ok(()),
        }
    }

    /// Computes the least cost of each task.
    fn set_bounds(&mut self) {
        let count = self.operators.len() + self.compounds.len();
        let mut may_pause = vec![false; count];
        self.settle(|method| {
            let may = |&task: &u32| task == PAUSE || may_pause[task as usize];
            let can = method.tasks.iter().any(may);
            can && !replace(&mut may_pause[method.compound as usize], can)
        });
        let mut least: Vec<u64> =
            self.operators.iter().map(|operator| operator.cost.into()).collect();
        least.resize(count, IMPOSSIBLE);
        self.settle(|method| {
            let cost = least_of(&method.tasks, &least, &may_pause);
            let is_less = cost < least[method.compound as usize];
            if is_less {
                least[method.compound as usize] = cost;
            }
            is_less
        });
        (self.may_pause, self.least) = (may_pause, least);
    }
}

/// The least cost of these tasks, up to where the plan may end.
fn least_of(tasks: &[u32], least: &[u64], may_pause: &[bool]) -> u64 {
    let mut cost = 0_u64;
    for &task in tasks {
        if task == PAUSE {
            break;
        }
        cost = cost.saturating_add(least[task as usize]);
        if may_pause[task as usize] {
            break;
        }
    }
    cost
}
