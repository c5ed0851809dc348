//! The search for a plan, which can be stopped and continued at any time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use formic_ecs::{HashState, StateHasher};

use super::domain::{Domain, IMPOSSIBLE, PAUSE, Preference, number};
use crate::goap::{NoPlan, Operator, SearchInput};

/// A plan: the operators to carry out, first to last, and the methods that led to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The indices of the operators in the domain.
    pub operators: Vec<usize>,
    /// The sum of their costs.
    pub cost: u64,
    /// The methods that were chosen, in the order in which they were chosen.
    pub(super) methods: Vec<u32>,
    /// The tasks after the [pause](super::Method::pause) at which the plan ends.
    pub(super) rest: Vec<u32>,
}

impl Plan {
    /// The names of the operators.
    pub fn names<'a>(&'a self, domain: &'a Domain) -> impl Iterator<Item = &'a str> {
        self.operators.iter().map(|&operator| domain.operators[operator].name())
    }

    /// The methods that were chosen, each with its task: `travel by taxi`.
    pub fn methods<'a>(&'a self, domain: &'a Domain) -> impl Iterator<Item = String> + 'a {
        self.methods.iter().map(|&method| domain.method_name(method))
    }

    /// Whether it ends at a [pause](super::Method::pause), with tasks left to plan.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.rest.is_empty()
    }
}

/// A search for a plan that can be continued at any time; see [`Domain::begin`].
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
    pub const fn looked_at(&self) -> usize {
        self.input.looked_at
    }
}

/// Totally ordered forward decomposition, as in SHOP (Nau, Cao, Lotem and Muñoz-Avila 1999). A search
/// node is a state of the facts with the list of remaining tasks. The search is depth first by the order
/// of the methods, or best first by cost. The bound of the latter is the least cost of the tasks, which
/// is consistent: the first plan that is found is the cheapest.
#[derive(Clone, Debug, Default)]
struct Search {
    nodes: Vec<Node>,
    open: BinaryHeap<Reverse<Ahead>>,
    /// Lists of tasks that share their tails, so that equal lists have equal numbers.
    lists: Vec<List>,
    list_numbers: HashMap<(u32, u32), u32>,
    states: Vec<Vec<u8>>,
    state_numbers: HashMap<Vec<u8>, u32>,
    /// The least cost by state, list, and whether a step comes before.
    known: HashMap<(u32, u32, bool), u64>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    state: u32,
    list: u32,
    cost: u64,
    from: u32,
    /// The operator or the method that leads here.
    operator: u32,
    method: u32,
    steps: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    task: u32,
    next: u32,
    /// The least cost of the list.
    least: u64,
    may_pause: bool,
}

/// An open node, in the order in which nodes are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ahead {
    total: u64,
    order: u64,
    node: u32,
}

/// Stands for no node, list, operator or method.
const NONE: u32 = u32::MAX;

impl Domain {
    /// The plan for the root task from these values of the facts. It is empty if there is nothing to do.
    ///
    /// # Errors
    /// Returns an error if the task cannot be done, or if the search gives up.
    ///
    /// # Panics
    /// Panics if there are fewer values than facts.
    pub fn plan(&self, values: &[u32]) -> Result<Plan, NoPlan> {
        let cost = |operator: usize| self.operators[operator].cost;
        let mut planning = self.begin(|fact| values[fact], cost);
        self.go_on(&mut planning, usize::MAX).unwrap_or(Err(NoPlan::GaveUp))
    }

    /// Begins a search for the root task. `value` is called for the facts. `cost` is called for the
    /// operators and returns their cost in this situation, which is at least the declared one.
    #[must_use]
    pub fn begin(
        &self,
        value: impl FnMut(usize) -> u32,
        cost: impl FnMut(usize) -> u32,
    ) -> Planning {
        self.begin_with(&[self.root], value, cost)
    }

    /// Begins a search for these tasks.
    pub(super) fn begin_with(
        &self,
        tasks: &[u32],
        mut value: impl FnMut(usize) -> u32,
        mut cost: impl FnMut(usize) -> u32,
    ) -> Planning {
        let values = (0..self.facts.names().len()).map(|fact| {
            let value = value(fact).min(self.facts.value_max(fact));
            u8::try_from(value).unwrap_or(u8::MAX)
        });
        let costs = self.operators.iter().enumerate();
        let costs = costs.map(|(place, operator)| cost(place).max(operator.cost));
        let (aims, values, costs) = (tasks.to_vec(), values.collect(), costs.collect());
        let planner = self.fingerprint;
        let input = SearchInput { planner, aims, values, costs, looked_at: 0 };
        Planning { input, search: None }
    }

    /// The search for this input, continued to its progress; `None` if the input is another domain's.
    fn search(&self, input: &SearchInput) -> Option<Search> {
        let SearchInput { planner, aims, values, costs, looked_at } = input;
        let is_task = |&task: &u32| task == PAUSE || (task as usize) < self.least.len();
        let is_value =
            |(fact, &value): (usize, &u8)| u32::from(value) <= self.facts.value_max(fact);
        let is_cost = |(operator, &cost): (&Operator, &u32)| cost >= operator.cost;
        if *planner != self.fingerprint
            || !aims.iter().all(is_task)
            || values.len() != self.facts.names().len()
            || !values.iter().enumerate().all(is_value)
            || costs.len() != self.operators.len()
            || !self.operators.iter().zip(costs).all(is_cost)
            || *looked_at > self.states_max
        {
            return None;
        }
        let mut search = Search::default();
        let state = search.state(values.clone());
        let list = search.list(self, aims, NONE);
        let (from, operator, method) = (NONE, NONE, NONE);
        search.add(self, Node { state, list, cost: 0, from, operator, method, steps: 0 });
        let progress = search.go_on(self, costs, *looked_at).0;
        progress.is_none().then_some(search)
    }

    /// Continues a search for at most this many states. Returns `None` if there is more to do. The plan
    /// does not depend on how the search is divided.
    ///
    /// # Errors
    /// Returns an error inside the `Some` if there is no plan, if the search gives up, or if another
    /// domain began it.
    pub fn go_on(&self, planning: &mut Planning, states: usize) -> Option<Result<Plan, NoPlan>> {
        let Planning { input, search } = planning;
        if search.is_none() || input.planner != self.fingerprint {
            *search = self.search(input);
        }
        let Some(search) = search else { return Some(Err(NoPlan::OtherPlanner)) };
        let left = self.states_max.saturating_sub(input.looked_at);
        let (plan, looked_at) = search.go_on(self, &input.costs, states.min(left));
        input.looked_at += looked_at;
        let is_far = plan.is_none() && input.looked_at >= self.states_max;
        if is_far { Some(Err(NoPlan::GaveUp)) } else { plan }
    }
}

impl Search {
    /// Visits at most this many states. Also returns the number that it has visited.
    fn go_on(
        &mut self,
        domain: &Domain,
        costs: &[u32],
        states: usize,
    ) -> (Option<Result<Plan, NoPlan>>, usize) {
        for looked_at in 0..states {
            let node = loop {
                let Some(Reverse(ahead)) = self.open.pop() else {
                    return (Some(Err(NoPlan::Unreachable)), looked_at);
                };
                if self.settles(domain, ahead.node) {
                    break ahead.node;
                }
            };
            if let Some(plan) = self.expand(domain, costs, node) {
                return (Some(Ok(plan)), looked_at + 1);
            }
        }
        (None, states)
    }

    fn state(&mut self, values: Vec<u8>) -> u32 {
        if let Some(&known) = self.state_numbers.get(&values) {
            return known;
        }
        let number = number(self.states.len());
        self.states.push(values.clone());
        self.state_numbers.insert(values, number);
        number
    }

    /// The list of these tasks, followed by those of `next`.
    fn list(&mut self, domain: &Domain, tasks: &[u32], mut next: u32) -> u32 {
        for &task in tasks.iter().rev() {
            let place = number(self.lists.len());
            let known = *self.list_numbers.entry((task, next)).or_insert(place);
            if known == place {
                let (rest, rest_may) = match self.lists.get(next as usize) {
                    Some(list) => (list.least, list.may_pause),
                    None => (0, false),
                };
                let (least, may_pause) = match task {
                    PAUSE => (0, true),
                    task if domain.may_pause[task as usize] => (domain.least[task as usize], true),
                    task => (domain.least[task as usize].saturating_add(rest), rest_may),
                };
                self.lists.push(List { task, next, least, may_pause });
            }
            next = known;
        }
        next
    }

    fn add(&mut self, domain: &Domain, node: Node) {
        let least = self.lists.get(node.list as usize).map_or(0, |list| list.least);
        if least == IMPOSSIBLE {
            return;
        }
        let order = self.nodes.len() as u64;
        let ahead = number(self.nodes.len());
        let (total, order) = match domain.preference {
            // The node that was added last comes first.
            Preference::Order => (0, u64::MAX - order),
            Preference::Cheapest => {
                let key = (node.state, node.list, node.steps > 0);
                let known = self.known.entry(key).or_insert(u64::MAX);
                if node.cost >= *known {
                    return;
                }
                *known = node.cost;
                (node.cost.saturating_add(least), order)
            }
        };
        self.nodes.push(node);
        self.open.push(Reverse(Ahead { total, order, node: ahead }));
    }

    /// Whether a node must be visited: none as good with the same state and tasks was.
    fn settles(&mut self, domain: &Domain, node: u32) -> bool {
        let Node { state, list, cost, steps, .. } = self.nodes[node as usize];
        let key = (state, list, steps > 0);
        match domain.preference {
            Preference::Order => self.known.insert(key, cost).is_none(),
            Preference::Cheapest => self.known.get(&key) == Some(&cost),
        }
    }

    /// Adds the successors of a node, or returns the plan if no task is left.
    fn expand(&mut self, domain: &Domain, costs: &[u32], from: u32) -> Option<Plan> {
        let node = self.nodes[from as usize];
        let Some(&List { task, next, .. }) = self.lists.get(node.list as usize) else {
            return Some(self.plan(from, NONE));
        };
        let (operator, method) = (NONE, NONE);
        if task == PAUSE {
            if node.steps > 0 && next != NONE {
                return Some(self.plan(from, next));
            }
            self.add(domain, Node { list: next, from, operator, method, ..node });
        } else if let Some(done) = domain.operators.get(task as usize) {
            let values = &self.states[node.state as usize];
            if let Some(changed) = apply(domain, done, values) {
                let state = self.state(changed);
                let cost = node.cost + u64::from(costs[task as usize]);
                let steps = node.steps + 1;
                let added = Node { state, list: next, cost, from, operator: task, method, steps };
                self.add(domain, added);
            }
        } else {
            let mut added = Vec::new();
            for &method in domain.methods_of(task) {
                let values = &self.states[node.state as usize];
                if domain.is_open(method, |fact| values[fact].into()) {
                    let list = self.list(domain, &domain.methods[method as usize].tasks, next);
                    added.push(Node { list, from, operator, method, ..node });
                }
            }
            match domain.preference {
                Preference::Order => added.into_iter().rev().for_each(|it| self.add(domain, it)),
                Preference::Cheapest => added.into_iter().for_each(|it| self.add(domain, it)),
            }
        }
        None
    }

    fn plan(&self, last: u32, mut rest: u32) -> Plan {
        let cost = self.nodes[last as usize].cost;
        let mut plan = Plan { operators: Vec::new(), cost, methods: Vec::new(), rest: Vec::new() };
        let mut at = last;
        while let Some(node) = self.nodes.get(at as usize) {
            if node.operator != NONE {
                plan.operators.push(node.operator as usize);
            }
            if node.method != NONE {
                plan.methods.push(node.method);
            }
            at = node.from;
        }
        plan.operators.reverse();
        plan.methods.reverse();
        while let Some(list) = self.lists.get(rest as usize) {
            plan.rest.push(list.task);
            rest = list.next;
        }
        plan
    }
}

/// The values after an operator, if it can be applied.
fn apply(domain: &Domain, operator: &Operator, values: &[u8]) -> Option<Vec<u8>> {
    if !operator.is_applicable(&domain.facts, |fact| values[fact].into()) {
        return None;
    }
    let mut changed = values.to_vec();
    for (fact, value) in operator.changes(&domain.facts, |fact| values[fact].into()) {
        changed[fact] = u8::try_from(value).ok()?;
    }
    Some(changed)
}
