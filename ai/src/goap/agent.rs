//! The mind of an agent that plans, and the system argument that has all of them plan.

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
use crate::explain::{Candidate, DecisionRecorder, Verdict};
use crate::reload::{Renamed, exchange};

/// One operator of the plan of an agent; the plan is its `Buffer<PlannedStep>`.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(buffer = 6)]
#[repr(transparent)]
pub struct PlannedStep(u32);

impl PlannedStep {
    pub(crate) fn new(operator: usize) -> Self {
        Self(u32::try_from(operator).unwrap_or(u32::MAX))
    }

    /// The operator, by its place in the planner.
    #[must_use]
    pub const fn operator(self) -> usize {
        self.0 as usize
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

/// On an agent that plans: the plan that it is making, if it takes more than one tick.
///
/// An agent that is restored from a snapshot goes on with it: it looks at the same states again, all
/// in one tick, and then at those that come next. If its planner is another one by then it begins to
/// think anew, and its [decision](crate::explain::DecisionLog) says so.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct PlannerState(pub(super) Option<Box<Planning>>);

impl Component for PlannerState {
    const HASH: HashRule<Self> = HashRule::Fields(|thoughts, hasher| thoughts.0.hash_state(hasher));
    const CODEC: Codec<Self> = Codec::serde();
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
        give_mind::<Self>(world, agent, "an argument `Planners`", parts)?;
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
/// [The page of the module](super) has a whole one.
#[derive(SystemParam)]
pub struct Planners<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
    _mind: MindSystem<GoapAgent, Row<()>>,
}

debug_fields!([Q: QueryData] Planners<'_, Q>:);

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
        assert!(states > 0, "a budget of 0 states never finds a plan");
        let (query, recorder) = &mut self.parts;
        query.par_for_each(|row| {
            let (entity, agent, body, steps, thoughts, reported, switching, replan, item) = row;
            let (mut reported, mut switching, mut replan) = (reported, switching, replan);
            reported.set(false);
            let watch = recorder.watch(entity).map(PlanWatch::new);
            let GoapAgent { goal, step, candidate, rest, plans, failures } = agent;
            let counts = Counts { step, rest, plans, failures };
            let follower = Follower { counts, body, steps, sensors, item: &item, watch };
            let mut mind = Mind { follower, goal, candidate, thoughts };
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
    thoughts: &'m mut PlannerState,
}

impl<Q: QueryData> Mind<'_, '_, Q> {
    /// Takes the end of its action, if it has one, and goes on with its plan. Whether it has to think.
    fn take_end(&mut self) -> bool {
        let goals = &self.follower.planner().goals;
        let goal = goals.get(*self.goal as usize).map_or("", Goal::name);
        let Some(end) = self.follower.take_end(goal) else { return false };
        // Whatever it was thinking about has changed.
        self.thoughts.0 = None;
        *self.candidate = 0;
        if end == StepEnd::GoesOn {
            return false;
        }
        *self.goal = NONE;
        true
    }

    /// What is thought of a goal.
    fn note(&mut self, goal: usize, verdict: Verdict) {
        let goal = &self.follower.planner().goals[goal];
        if let Some(watch) = &mut self.follower.watch {
            let candidate = Candidate::new(goal.name(), verdict).rank(goal.priority);
            watch.candidates.push(candidate);
        }
    }

    /// Thinks on. Whether it has a plan then.
    fn think(&mut self, mut states: usize) -> bool {
        if self.follower.rests() {
            return false;
        }
        let planner = self.follower.planner();
        while let Some(&goal) = planner.order.get(*self.candidate as usize) {
            let follower = &self.follower;
            if self.thoughts.0.is_none() {
                if planner.holds(goal, |fact| follower.value(fact)) {
                    self.note(goal, Verdict::Holds);
                    *self.candidate += 1;
                    continue;
                }
                let cost = |operator| follower.sensors.cost_of(operator, follower.item);
                let begun = planner.begin(goal, |fact| follower.value(fact), cost);
                self.thoughts.0 = Some(Box::new(begun));
            }
            let Some(planning) = &mut self.thoughts.0 else { return false };
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
            self.thoughts.0 = None;
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
        // There is nothing to do, or nothing that it can do.
        let running = self.follower.running();
        (*self.candidate, *self.goal) = (0, NONE);
        if let Some(watch) = self.follower.watch.take() {
            watch.no_plan(running.map(|operator| &planner.operators[operator]));
        }
        self.follower.give_up();
        false
    }

    /// Whether a plan, which may have taken several ticks, is still worth following: the goal does
    /// not hold by now, and its first operator can be applied.
    fn is_current(&self, goal: usize, plan: &Plan) -> bool {
        let holds = self.follower.planner().holds(goal, |fact| self.follower.value(fact));
        !holds && plan.operators.first().is_none_or(|&first| self.follower.can_begin(first))
    }
}

/// What agents that plan count, in whichever way they do.
pub(crate) struct Counts<'m> {
    pub(crate) step: &'m mut u32,
    pub(crate) rest: &'m mut u32,
    pub(crate) plans: &'m mut u32,
    pub(crate) failures: &'m mut u32,
}

/// An agent with its plan, and what it senses.
pub(crate) struct Follower<'m, 'i, Q: QueryData, P> {
    pub(crate) counts: Counts<'m>,
    pub(crate) body: &'m mut Body,
    pub(crate) steps: &'m mut Buffer<PlannedStep>,
    pub(crate) sensors: &'m Sensors<Q, P>,
    pub(crate) item: &'m Q::Item<'i>,
    pub(crate) watch: Option<PlanWatch<'m>>,
}

/// How a step of a plan went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEnd {
    /// The next one has begun.
    GoesOn,
    /// It was the last one.
    Done,
    /// The next one cannot begin: its conditions do not hold.
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

    /// The operator that its plan is at. A plan that was saved with a planner of more operators is
    /// dropped.
    pub(crate) fn operator(&mut self) -> Option<usize> {
        let step = *self.counts.step as usize;
        let operator = self.steps.get(step)?.operator();
        if operator >= self.planner().operators().len() {
            self.drop_plan();
            return None;
        }
        Some(operator)
    }

    /// The operator whose action is running.
    pub(crate) fn running(&mut self) -> Option<usize> {
        let operator = self.operator()?;
        self.body.is_running(self.sensors.action(operator)).then_some(operator)
    }

    /// Whether it rests for this tick.
    pub(crate) const fn rests(&mut self) -> bool {
        let is_resting = *self.counts.rest > 0;
        *self.counts.rest = self.counts.rest.saturating_sub(1);
        is_resting
    }

    /// Does nothing, and rests.
    pub(crate) fn give_up(&mut self) {
        *self.counts.rest = self.sensors.rest;
        self.drop_plan();
        self.body.halt_all();
    }

    fn drop_plan(&mut self) {
        self.steps.clear();
        *self.counts.step = 0;
    }

    /// Takes the end of the action that its plan is at, if it has one, and begins the next step. A
    /// plan whose next step is not begun is dropped.
    pub(crate) fn take_end(&mut self, goal: &str) -> Option<StepEnd> {
        let operator = self.operator()?;
        let result = self.body.take_ended(self.sensors.action(operator))?;
        let operators = self.planner().operators();
        if let Some(watch) = &mut self.watch {
            watch.action_ended(&operators[operator], result);
        }
        if result == ActionResult::Success {
            *self.counts.step += 1;
        } else {
            *self.counts.failures = self.counts.failures.wrapping_add(1);
            self.drop_plan();
            return Some(StepEnd::Failed);
        }
        let next = self.operator();
        if let Some(next) = next.filter(|&next| self.can_begin(next)) {
            self.body.begin(self.sensors.action(next));
            if let Some(watch) = &self.watch {
                watch.next_step(goal, &operators[next], *self.counts.step);
            }
            return Some(StepEnd::GoesOn);
        }
        if let Some(watch) = &mut self.watch {
            watch.plan_ended(next.map(|next| &operators[next]));
        }
        self.drop_plan();
        Some(if next.is_some() { StepEnd::Impossible } else { StepEnd::Done })
    }

    /// Takes up a plan. An action that is running and comes first in it as well goes on; another one
    /// is dropped, and returned.
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

/// Has an agent that is at a step of a plan by `old` follow it by `new`, if that has all of its
/// operators and `is_wanted`. Whether it does; it has no plan then otherwise.
pub(crate) fn exchange_steps<Q: QueryData, P: OperatorSet>(
    (old, new, operators): (&Sensors<Q, P>, &Sensors<Q, P>, &Renamed),
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
