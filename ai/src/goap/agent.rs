//! The mind of an agent that plans, its sensors, and the system argument that has all of them plan.

use std::fmt;

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{
    Buffer, Codec, Component, ComponentError, EnabledMut, Entity, HashRule, HashState, Or,
    QueryData, With, World,
};
use formic_jobs::Query;

use super::facts::Fact;
use super::operator::OperatorSet;
use super::planner::{Plan, Planner, PlannerError, Planning};
use super::record::Watch;
use crate::action::{
    ActionResult, ActionSet, Body, Reported, Switching, argument_of_parts, give_mind, link_mind,
};
use crate::explain::{DecisionRecorder, Verdict};

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
    rest: u32,
}

impl<Q: QueryData, P: fmt::Debug> fmt::Debug for Sensors<Q, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sensors").field("planner", &self.planner).finish_non_exhaustive()
    }
}

impl<Q: QueryData, P: OperatorSet> Sensors<Q, P> {
    /// A planner for agents with these actions. Facts without a sensor are 0.
    ///
    /// # Errors
    /// Returns an error if no action has the name of an operator.
    pub fn new(planner: P, actions: &ActionSet) -> Result<Self, PlannerError> {
        let find = |name: &str| {
            actions.find(name).ok_or_else(|| PlannerError::UnknownAction(name.to_string()))
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
    /// it thinks again; 10 where nothing is said. [`Replan`] does not cut a rest short, switching it
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
            None => self.planner.operators()[operator].least_cost(),
        }
    }

    /// The action that carries out an operator.
    pub(crate) fn action(&self, operator: usize) -> usize {
        self.actions[operator]
    }

    /// See [`rest`](Self::rest).
    pub(crate) const fn ticks_of_rest(&self) -> u32 {
        self.rest
    }
}

/// On an agent that plans: what it pursues and how far it is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct GoapAgent {
    pub(super) goal: u32,
    pub(super) step: u32,
    /// The next goal to think about, by its place in the order of priorities.
    pub(super) candidate: u32,
    rest: u32,
    plans: u32,
    failures: u32,
}

const NONE: u32 = u32::MAX;

/// One operator of the plan of an agent; the plan is its `Buffer<PlannedStep>`.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(buffer = 6)]
#[repr(transparent)]
pub struct PlannedStep(u32);

impl PlannedStep {
    pub(crate) fn new(operator: usize) -> Self {
        Self(u32::try_from(operator).unwrap_or(NONE))
    }

    /// The operator, by its place in the planner.
    #[must_use]
    pub const fn operator(self) -> usize {
        self.0 as usize
    }
}

/// On an agent that plans: the plan that it is making, if it takes more than one tick. An agent that
/// is restored from a snapshot begins to think anew.
#[derive(Debug, Default)]
pub struct PlannerState(pub(super) Option<Box<Planning>>);

impl Component for PlannerState {
    const HASH: HashRule<Self> = HashRule::Fields(|thoughts, hasher| thoughts.0.hash_state(hasher));
    const CODEC: Codec<Self> = Codec::custom(|_, _| Ok(()), |_| Ok(Self::default()));
}

/// On an agent that plans: it is to think. Switch it on where something has changed that its plan
/// does not know of; it is off while a plan is carried out.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Replan;

impl GoapAgent {
    /// Has an entity that has a body plan. What is running is halted.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    pub fn drive(world: &mut World, agent: Entity) -> Result<(), ComponentError> {
        let mind = Self { goal: NONE, step: 0, candidate: 0, rest: 0, plans: 0, failures: 0 };
        let parts = (mind, Buffer::<PlannedStep>::new(), PlannerState(None), Replan);
        give_mind::<Self>(world, agent, parts)?;
        world.set_enabled::<Replan>(agent, true)?;
        Ok(())
    }

    /// The goal that it pursues, by its place among the goals.
    #[must_use]
    pub const fn goal(&self) -> Option<usize> {
        if self.goal == NONE { None } else { Some(self.goal as usize) }
    }

    /// The place of the step of its plan that it is at.
    #[must_use]
    pub const fn step(&self) -> usize {
        self.step as usize
    }

    /// How many plans it has begun to carry out.
    #[must_use]
    pub const fn plans(&self) -> u32 {
        self.plans
    }

    /// How many actions of its plans have failed.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }
}

type Row<Q> = (
    Entity,
    &'static mut GoapAgent,
    &'static mut Body,
    &'static mut Buffer<PlannedStep>,
    &'static mut PlannerState,
    EnabledMut<Reported>,
    EnabledMut<Switching>,
    EnabledMut<Replan>,
    Q,
);
/// Agents that are to think, or one of whose actions has ended.
pub(crate) type Called = Or<(With<Reported>, With<Replan>)>;
type Parts<'a, Q> = (Query<'a, Row<Q>, Called>, DecisionRecorder<'a>);

/// The agents that plan and have what `Q` asks for: the argument of the system that has them plan.
/// Those whose action goes on are not visited.
///
/// ```
/// use formic_ai::goap::{Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Sensors};
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Deed;
/// #[derive(Component)]
/// struct Inventory { axe: bool, wood: u32 }
/// struct Woodcutters(Sensors<&'static Inventory>);
///
/// fn think(mut planners: Planners<&'static Inventory>, shared: Res<Woodcutters>) {
///     planners.think(&shared.0, 500);
/// }
///
/// let mut facts = Facts::new();
/// let (axe, wood) = (facts.flag("axe"), facts.number("wood", 10));
/// let planner = PlannerBuilder::new(facts)
///     .operator(Operator::new("fetch_axe").then(axe.becomes(true)))
///     .operator(Operator::new("chop").when(axe.is(true)).then(wood.add(1)))
///     .goal(Goal::new("stocked").when(wood.at_least(3)))
///     .build()?;
/// let actions = ActionSet::new().action("fetch_axe", Deed).action("chop", Deed);
/// let sensors = Sensors::new(planner, &actions)?
///     .fact(axe, |inventory: &&Inventory| u32::from(inventory.axe))
///     .fact(wood, |inventory: &&Inventory| inventory.wood);
/// let mut world = World::new();
/// let agent = actions.spawn(&mut world, Inventory { axe: false, wood: 0 })?;
/// GoapAgent::drive(&mut world, agent)?;
/// world.insert_resource(Woodcutters(sensors));
/// let mut schedule = formic_ai::action::add(Schedule::builder())
///     .add(think.as_mind())
///     .build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(world.get::<GoapAgent>(agent)?.goal(), Some(0));
/// assert!(world.get::<Body>(agent)?.is_running(0), "it fetches the axe");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Planners<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
}

argument_of_parts!(Planners, link_mind::<GoapAgent>);

impl<Q: QueryData + 'static> Planners<'_, Q> {
    /// Has the agents whose action has ended go on with their plan, and those that have none think,
    /// on all threads of the pool. An agent looks at `states` states per tick at most; a plan that
    /// takes more is gone on with in the next tick, and is the same however it was cut.
    ///
    /// An agent pursues the first of its goals, by priority, that does not hold and that it can
    /// reach. It plans anew when an action fails, when the next operator cannot be applied as things
    /// are, and when its [`Replan`] is on. A plan that took several ticks and whose goal holds by
    /// then, or whose first operator cannot be applied any more, is not followed.
    ///
    /// # Panics
    /// Panics if `states` is 0: no plan would ever be finished.
    pub fn think(&mut self, sensors: &Sensors<Q>, states: usize) {
        assert!(states > 0, "an agent that looks at no states never has a plan");
        let (query, recorder) = &mut self.parts;
        let (log, tick) = (recorder.log(), recorder.tick());
        query.par_for_each(
            |(
                entity,
                agent,
                body,
                steps,
                thoughts,
                mut reported,
                mut switching,
                mut replan,
                item,
            )| {
                reported.set(false);
                let log = log.filter(|log| log.is_watched(entity));
                let watch = log.map(|log| Watch::new(log, tick, entity));
                let mut mind = Mind { agent, body, steps, thoughts, sensors, item: &item, watch };
                let is_thinking = mind.take_end() || replan.get();
                if is_thinking {
                    let is_done = mind.think(states);
                    replan.set(!is_done);
                }
                if mind.body.is_switching() {
                    switching.set(true);
                }
            },
        );
    }
}

struct Mind<'m, 'i, Q: QueryData> {
    agent: &'m mut GoapAgent,
    body: &'m mut Body,
    steps: &'m mut Buffer<PlannedStep>,
    thoughts: &'m mut PlannerState,
    sensors: &'m Sensors<Q>,
    item: &'m Q::Item<'i>,
    watch: Option<Watch<'m>>,
}

impl<Q: QueryData> Mind<'_, '_, Q> {
    fn value(&self, fact: usize) -> u32 {
        self.sensors.value(fact, self.item)
    }

    /// The action of the step that it is at.
    fn action(&self) -> Option<usize> {
        let step = self.steps.get(self.agent.step())?;
        Some(self.sensors.actions[step.operator()])
    }

    /// Goes on with the plan if an action has ended. Whether it has to think now.
    fn take_end(&mut self) -> bool {
        let Some(ended) = self.action().and_then(|action| self.body.take_ended(action)) else {
            return false;
        };
        let planner = &self.sensors.planner;
        let ended_operator = self.steps[self.agent.step()].operator();
        if let Some(watch) = &mut self.watch {
            watch.action_ended(planner, ended_operator, ended == ActionResult::Success);
        }
        // Whatever it was thinking about has changed.
        self.thoughts.0 = None;
        self.agent.candidate = 0;
        if ended == ActionResult::Success {
            self.agent.step += 1;
            if let Some(step) = self.steps.get(self.agent.step()) {
                let operator = step.operator();
                if planner.is_applicable(operator, |fact| self.value(fact)) {
                    self.body.begin(self.sensors.actions[operator]);
                    if let Some(watch) = &self.watch {
                        let goal = self.agent.goal as usize;
                        watch.next_step(planner, goal, operator, self.agent.step());
                    }
                    return false;
                }
                if let Some(watch) = &mut self.watch {
                    watch.step_is_impossible(planner, operator);
                }
            } else if let Some(watch) = &mut self.watch {
                watch.plan_is_done();
            }
        } else {
            self.agent.failures = self.agent.failures.wrapping_add(1);
        }
        self.drop_plan();
        true
    }

    fn drop_plan(&mut self) {
        self.steps.clear();
        (self.agent.goal, self.agent.step) = (NONE, 0);
    }

    /// Looks at so many states at most. Whether a plan is there to be carried out.
    fn think(&mut self, mut states: usize) -> bool {
        if self.agent.rest > 0 {
            self.agent.rest -= 1;
            return false;
        }
        let planner = &self.sensors.planner;
        while let Some(&goal) = planner.order.get(self.agent.candidate as usize) {
            if self.thoughts.0.is_none() {
                if planner.holds(goal, |fact| self.value(fact)) {
                    if let Some(watch) = &mut self.watch {
                        watch.goal(planner, goal, Verdict::Holds);
                    }
                    self.agent.candidate += 1;
                    continue;
                }
                let cost = |operator| self.sensors.cost_of(operator, self.item);
                let begun = planner.begin(goal, |fact| self.value(fact), cost);
                self.thoughts.0 = Some(Box::new(begun));
            }
            let Some(planning) = &mut self.thoughts.0 else { return false };
            let before = planning.looked_at();
            let plan = planner.go_on(planning, states);
            let searched = planning.looked_at();
            states = states.saturating_sub(searched - before);
            match plan {
                None => {
                    if let Some(mut watch) = self.watch.take() {
                        watch.goal(planner, goal, Verdict::Unfinished);
                        watch.no_decision(planner, None);
                    }
                    return false;
                }
                Some(Ok(plan)) if !self.is_current(goal, &plan) => {
                    if let Some(watch) = &mut self.watch {
                        watch.plan_is_outdated(planner, goal);
                    }
                    self.thoughts.0 = None;
                }
                Some(Ok(plan)) => {
                    self.thoughts.0 = None;
                    self.agent.candidate = 0;
                    let dropped = self.follow(goal, &plan.operators);
                    if let Some(watch) = self.watch.take() {
                        watch.plan(planner, goal, (&plan, searched), dropped);
                    }
                    return true;
                }
                Some(Err(why)) => {
                    if let Some(watch) = &mut self.watch {
                        watch.no_plan(planner, goal, why);
                    }
                    self.thoughts.0 = None;
                    self.agent.candidate += 1;
                }
            }
        }
        // There is nothing to do, or nothing that it can do.
        self.agent.candidate = 0;
        self.agent.rest = self.sensors.rest;
        if let Some(watch) = self.watch.take() {
            watch.no_decision(planner, self.running());
        }
        self.drop_plan();
        self.body.halt_all();
        false
    }

    /// Whether a plan is one for how things are now, which may be later than it was begun: there is
    /// something to do for the goal, and its first step can be taken.
    fn is_current(&self, goal: usize, plan: &Plan) -> bool {
        let planner = &self.sensors.planner;
        let begins = |&operator: &usize| planner.is_applicable(operator, |fact| self.value(fact));
        !planner.holds(goal, |fact| self.value(fact)) && plan.operators.first().is_none_or(begins)
    }

    /// The operator whose action is running.
    fn running(&self) -> Option<usize> {
        let operator = self.steps.get(self.agent.step())?.operator();
        self.body.is_running(self.sensors.actions[operator]).then_some(operator)
    }

    /// Carries a plan out from now on; returns the operator that was dropped for it.
    fn follow(&mut self, goal: usize, operators: &[usize]) -> Option<usize> {
        // An action that is running and comes first in the new plan as well goes on.
        let before = self.running();
        let running = before.map(|operator| self.sensors.actions[operator]);
        self.drop_plan();
        self.steps.extend(operators.iter().map(|&operator| PlannedStep::new(operator)));
        self.agent.goal = u32::try_from(goal).unwrap_or(NONE);
        self.agent.plans = self.agent.plans.wrapping_add(1);
        let first = self.action();
        if first == running {
            return None;
        }
        self.body.halt_all();
        if let Some(action) = first {
            self.body.begin(action);
        }
        before
    }
}
