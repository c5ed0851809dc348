//! `GoapAgent`, the component of an agent that plans, and `Planners`, the system parameter that plans for
//! all of them.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{
    Buffer, Codec, Component, ComponentError, EnabledBitMut, EnabledMut, Entity, HashRule,
    HashState, Or, QueryData, With, World,
};
use formic_jobs::{Query, SystemParam};

use super::operator::{Goal, OperatorSet};
use super::planner::{NoPlan, Plan, Planner, Planning};
use super::record::{OTHER_PLANNER, PlanWatch, plan_record, verdict_of};
use super::sensors::Sensors;
use crate::action::{ActionResult, Body, MindSystem, Reported, Switching, give_mind};
use crate::explain::{Candidate, DecisionRecorder, Label, Verdict};
use crate::reload::{IndexMapping, exchange};

/// One operator of an agent's plan. The plan is the agent's `Buffer<PlannedStep>`.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(buffer = 6)]
#[repr(transparent)]
pub struct PlannedStep(u32);

impl PlannedStep {
    pub(crate) fn new(operator: usize) -> Self {
        Self(u32::try_from(operator).unwrap_or(u32::MAX))
    }

    /// The index of the operator in the planner.
    #[must_use]
    pub const fn operator(self) -> usize {
        self.0 as usize
    }
}

/// The component of an agent that plans: its goal, and its progress in its plan.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct GoapAgent {
    pub(super) goal: u32,
    pub(super) step: u32,
    /// The next goal to plan for, by its index in the order of priorities.
    pub(super) candidate: u32,
    rest: u32,
    plans: u32,
    failures: u32,
}

const NONE: u32 = u32::MAX;

/// The component of an agent that plans with the plan that it is making, if that takes more than one
/// tick.
///
/// An agent that is restored from a snapshot continues its search: it visits the same states again, all
/// in one tick, and then the next ones. If its planner has changed by then, it starts anew, and its
/// [decision](crate::explain::DecisionLog) says so.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct PlannerState(pub(super) Option<Box<Planning>>);

impl Component for PlannerState {
    const HASH: HashRule<Self> = HashRule::Fields(|state, hasher| state.0.hash_state(hasher));
    const CODEC: Codec<Self> = Codec::serde();
}

/// Enabled on an agent that must plan. Enable it when something has changed that the agent's plan does
/// not account for. It is disabled while a plan is carried out.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Replan;

impl GoapAgent {
    /// Makes an entity with a body plan. Running actions are halted.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    pub fn drive(world: &mut World, agent: Entity) -> Result<(), ComponentError> {
        let mind = Self { goal: NONE, step: 0, candidate: 0, rest: 0, plans: 0, failures: 0 };
        let parts = (mind, Buffer::<PlannedStep>::new(), PlannerState(None), Replan);
        give_mind::<Self>(world, agent, "an argument `Planners`", parts)?;
        world.set_enabled::<Replan>(agent, true)?;
        Ok(())
    }

    /// The index of the goal that it pursues.
    #[must_use]
    pub const fn goal(&self) -> Option<usize> {
        if self.goal == NONE { None } else { Some(self.goal as usize) }
    }

    /// The index of the current step of its plan.
    #[must_use]
    pub const fn step(&self) -> usize {
        self.step as usize
    }

    /// The number of plans that it has begun to carry out.
    #[must_use]
    pub const fn plans(&self) -> u32 {
        self.plans
    }

    /// The number of actions of its plans that have failed.
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
/// Agents that must plan, or with an action that has ended.
pub(crate) type Called = Or<(With<Reported>, With<Replan>)>;
type Parts<'a, Q> = (Query<'a, Row<Q>, Called>, DecisionRecorder<'a>);

/// The agents that plan and have the components that `Q` asks for: the argument of a system that plans
/// for them. Agents whose action continues are not visited.
///
/// The [module documentation](super) has a complete example.
#[derive(SystemParam)]
pub struct Planners<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
    _mind: MindSystem<GoapAgent, Row<()>>,
}

debug_fields!([Q: QueryData] Planners<'_, Q>:);

impl<Q: QueryData + 'static> Planners<'_, Q> {
    /// Continues the plans of agents whose action has ended, and plans for agents that have no plan, on
    /// all threads of the pool. Each agent visits at most `states` states per tick; a search that takes
    /// more continues in the next tick. The plan is the same however the search is divided.
    ///
    /// An agent pursues the first of its goals, by priority, that does not hold and that it can reach. It
    /// replans when an action fails, when the next operator cannot be applied in the current state, and
    /// when its [`Replan`] is enabled. If a plan took several ticks, it is dropped if its goal holds by
    /// then, or if its first operator cannot be applied any more.
    ///
    /// # Panics
    /// Panics if `states` is 0: no search would ever end.
    pub fn think(&mut self, sensors: &Sensors<Q>, states: usize) {
        assert!(states > 0, "a budget of 0 states never finds a plan");
        let (query, recorder) = &mut self.parts;
        query.par_for_each(|row| {
            let (entity, agent, body, steps, state, reported, switching, replan, item) = row;
            let (mut reported, mut switching, mut replan) = (reported, switching, replan);
            reported.set(false);
            let watch = recorder.watch(entity).map(PlanWatch::new);
            let GoapAgent { goal, step, candidate, rest, plans, failures } = agent;
            let counts = Counts { step, rest, plans, failures };
            let follower = Follower { counts, body, steps, sensors, item: &item, watch };
            let mut mind = Mind { follower, goal, candidate, state };
            if mind.take_end() || replan.get() {
                let is_done = mind.think(states);
                replan.set(!is_done);
            }
            if mind.follower.body.is_switching() {
                switching.set(true);
            }
        });
    }
}

struct Mind<'m, 'i, Q: QueryData> {
    follower: Follower<'m, 'i, Q, Planner>,
    goal: &'m mut u32,
    candidate: &'m mut u32,
    state: &'m mut PlannerState,
}

impl<Q: QueryData> Mind<'_, '_, Q> {
    /// Takes the result of the current action if it has ended, and continues the plan. Returns whether
    /// the agent must plan.
    fn take_end(&mut self) -> bool {
        let goals = &self.follower.planner().goals;
        let goal = goals.get(*self.goal as usize).map_or("", Goal::name);
        let Some(end) = self.follower.take_end(goal) else { return false };
        // The state that it was planning from has changed.
        self.state.0 = None;
        *self.candidate = 0;
        if end == StepEnd::GoesOn {
            return false;
        }
        *self.goal = NONE;
        true
    }

    /// Records the verdict on a goal.
    fn note(&mut self, goal: usize, verdict: Verdict) {
        let goal = &self.follower.planner().goals[goal];
        if let Some(watch) = &mut self.follower.watch {
            let candidate = Candidate::new(goal.name(), verdict).rank(goal.priority);
            watch.candidates.push(candidate);
        }
    }

    /// Continues to plan. Returns whether the agent has a plan then.
    fn think(&mut self, mut states: usize) -> bool {
        if self.follower.rests() {
            return false;
        }
        let planner = self.follower.planner();
        while let Some(&goal) = planner.order.get(*self.candidate as usize) {
            let follower = &self.follower;
            if self.state.0.is_none() {
                if planner.holds(goal, |fact| follower.value(fact)) {
                    self.note(goal, Verdict::Holds);
                    *self.candidate += 1;
                    continue;
                }
                let cost = |operator| follower.sensors.cost_of(operator, follower.item);
                let begun = planner.begin(goal, |fact| follower.value(fact), cost);
                self.state.0 = Some(Box::new(begun));
            }
            let Some(planning) = &mut self.state.0 else { return false };
            let before = planning.looked_at();
            let plan = planner.go_on(planning, states);
            let searched = planning.looked_at();
            states = states.saturating_sub(searched - before);
            let Some(plan) = plan else {
                self.note(goal, Verdict::Unfinished);
                if let Some(watch) = self.follower.watch.take() {
                    watch.no_plan(None);
                }
                return false;
            };
            self.state.0 = None;
            match plan {
                Ok(plan) if !self.is_current(goal, &plan) => {
                    if let Some(watch) = &mut self.follower.watch {
                        let goal = planner.goals[goal].name();
                        watch.because(format!("things changed while {goal} was planned for"));
                    }
                }
                Ok(plan) => {
                    let dropped = self.follower.follow(&plan.operators);
                    self.note(goal, Verdict::Chosen);
                    (*self.candidate, *self.goal) = (0, u32::try_from(goal).unwrap_or(NONE));
                    if let Some(watch) = self.follower.watch.take() {
                        let steps = (&plan.operators[..], plan.cost);
                        let record = plan_record(&planner.operators, steps, searched);
                        watch.plan(record, dropped.map(|operator| &planner.operators[operator]));
                    }
                    return true;
                }
                Err(NoPlan::OtherPlanner) => {
                    if let Some(watch) = &mut self.follower.watch {
                        watch.because(OTHER_PLANNER);
                    }
                }
                Err(why) => {
                    self.note(goal, verdict_of(why));
                    *self.candidate += 1;
                }
            }
        }
        // Every goal holds or is out of reach.
        let running = self.follower.running();
        (*self.candidate, *self.goal) = (0, NONE);
        if let Some(watch) = self.follower.watch.take() {
            watch.no_plan(running.map(|operator| &planner.operators[operator]));
        }
        self.follower.give_up();
        false
    }

    /// Whether a plan that may have taken several ticks is still worth following: the goal does not hold
    /// yet, and the first operator can be applied.
    fn is_current(&self, goal: usize, plan: &Plan) -> bool {
        let holds = self.follower.planner().holds(goal, |fact| self.follower.value(fact));
        !holds && plan.operators.first().is_none_or(|&first| self.follower.can_begin(first))
    }
}

/// The counters of an agent that plans, with any kind of planner.
pub(crate) struct Counts<'m> {
    pub(crate) step: &'m mut u32,
    pub(crate) rest: &'m mut u32,
    pub(crate) plans: &'m mut u32,
    pub(crate) failures: &'m mut u32,
}

/// An agent with its plan, and its sensors.
pub(crate) struct Follower<'m, 'i, Q: QueryData, P> {
    pub(crate) counts: Counts<'m>,
    pub(crate) body: &'m mut Body,
    pub(crate) steps: &'m mut Buffer<PlannedStep>,
    pub(crate) sensors: &'m Sensors<Q, P>,
    pub(crate) item: &'m Q::Item<'i>,
    pub(crate) watch: Option<PlanWatch<'m>>,
}

/// The end of a step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEnd {
    /// The next step has begun.
    GoesOn,
    /// It was the last step.
    Done,
    /// The next step cannot begin: its conditions do not hold.
    Impossible,
    Failed,
}

impl<'m, Q: QueryData, P: OperatorSet> Follower<'m, '_, Q, P> {
    pub(crate) fn planner(&self) -> &'m P {
        self.sensors.planner()
    }

    pub(crate) fn value(&self, fact: usize) -> u32 {
        self.sensors.value(fact, self.item)
    }

    pub(crate) fn can_begin(&self, operator: usize) -> bool {
        let planner = self.planner();
        planner.operators()[operator].is_applicable(planner.facts(), |fact| self.value(fact))
    }

    /// The operator of the current step. A plan that was saved with a planner of more operators has steps
    /// without one.
    pub(crate) fn operator(&self) -> Option<usize> {
        let operator = self.steps.get(*self.counts.step as usize)?.operator();
        (operator < self.planner().operators().len()).then_some(operator)
    }

    /// The operator whose action is running.
    pub(crate) fn running(&self) -> Option<usize> {
        let operator = self.operator()?;
        self.body.is_running(self.sensors.action(operator)).then_some(operator)
    }

    /// Counts down the rest. Returns whether the agent rests in this tick.
    pub(crate) const fn rests(&mut self) -> bool {
        let is_resting = *self.counts.rest > 0;
        *self.counts.rest = self.counts.rest.saturating_sub(1);
        is_resting
    }

    /// Halts everything, drops the plan and rests.
    pub(crate) fn give_up(&mut self) {
        *self.counts.rest = self.sensors.rest;
        self.drop_plan();
        self.body.halt_all();
    }

    fn drop_plan(&mut self) {
        self.steps.clear();
        *self.counts.step = 0;
    }

    /// Takes the result of the action of the current step if it has ended, and begins the next step. If
    /// the next step does not begin, the plan is dropped.
    pub(crate) fn take_end(&mut self, goal: &str) -> Option<StepEnd> {
        let operators = self.planner().operators();
        if self.steps.is_empty() {
            return None;
        }
        if let Some(operator) = self.operator() {
            let result = self.body.take_ended(self.sensors.action(operator))?;
            if let Some(watch) = &mut self.watch {
                watch.action_ended(&operators[operator], result);
            }
            if result != ActionResult::Success {
                *self.counts.failures = self.counts.failures.wrapping_add(1);
                self.drop_plan();
                return Some(StepEnd::Failed);
            }
            *self.counts.step += 1;
        }
        let next = self.operator();
        if let Some(next) = next.filter(|&next| self.can_begin(next)) {
            self.body.begin(self.sensors.action(next));
            if let Some(watch) = &self.watch {
                watch.next_step(goal, &operators[next], *self.counts.step);
            }
            return Some(StepEnd::GoesOn);
        }
        let is_over = *self.counts.step as usize >= self.steps.len();
        if let Some(watch) = &mut self.watch {
            watch.because(match next {
                Some(next) => {
                    let name = operators[next].name();
                    format!("{name} cannot begin: its conditions do not hold").into()
                }
                None if is_over => Label::from("the plan is carried out"),
                None => OTHER_PLANNER.into(),
            });
        }
        self.drop_plan();
        Some(if is_over { StepEnd::Done } else { StepEnd::Impossible })
    }

    /// Starts to follow a plan. A running action continues if it comes first in the new plan; otherwise
    /// it is halted and its operator returned.
    pub(crate) fn follow(&mut self, operators: &[usize]) -> Option<usize> {
        let running = self.running();
        self.drop_plan();
        *self.counts.plans = self.counts.plans.wrapping_add(1);
        self.steps.extend(operators.iter().map(|&operator| PlannedStep::new(operator)));
        if running.is_some() && running == self.operator() {
            return None;
        }
        self.body.halt_all();
        if let Some(first) = self.operator() {
            self.body.begin(self.sensors.action(first));
        }
        running
    }
}

/// Moves an agent that is at a step of a plan from `old` to `new`, if `is_wanted` and `new` has all
/// operators of the plan. Otherwise drops the plan. Returns whether the plan is kept.
pub(crate) fn exchange_steps<Q: QueryData, P: OperatorSet>(
    (old, new, operators): (&Sensors<Q, P>, &Sensors<Q, P>, &IndexMapping),
    (body, switching, steps): (&mut Body, &mut EnabledBitMut<'_>, &mut Buffer<PlannedStep>),
    step: u32,
    is_wanted: bool,
) -> bool {
    let action = |sensors: &Sensors<Q, P>, steps: &[PlannedStep]| {
        let operator = steps.get(step as usize).map(|step| step.operator());
        let known = operator.filter(|&it| it < sensors.planner().operators().len());
        known.map(|operator| sensors.action(operator)).into_iter()
    };
    let before = action(old, steps);
    let is_kept = is_wanted && steps.iter().all(|step| operators.get(step.0).is_some());
    if is_kept {
        steps.iter_mut().for_each(|step| step.0 = operators.get(step.0).unwrap_or(step.0));
    } else {
        steps.clear();
    }
    exchange((body, switching), before, action(new, steps));
    is_kept
}
