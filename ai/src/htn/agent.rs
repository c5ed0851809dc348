//! `HtnAgent`, the component of an agent that plans by methods, and `HtnPlanners`, the system parameter
//! that plans for all of them.

use bytemuck::{CheckedBitPattern, NoUninit, TransparentWrapper};
use formic_ecs::{
    Buffer, Codec, Component, ComponentError, EnabledMut, Entity, HashRule, HashState, QueryData,
    World,
};
use formic_jobs::{Query, SystemParam};

use super::domain::Domain;
use super::search::{Plan, Planning};
use crate::action::{Body, MindSystem, Reported, Switching, give_mind};
use crate::explain::{Candidate, DecisionRecorder, Verdict};
use crate::goap::{
    Called, Counts, Follower, NoPlan, OTHER_PLANNER, PlanWatch, PlannedStep, Replan, Sensors,
    StepEnd, plan_record, verdict_of,
};

/// The component of an agent that plans by methods: its progress in its plan.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct HtnAgent {
    pub(super) step: u32,
    rest: u32,
    plans: u32,
    failures: u32,
}

/// A task after the pause at which an agent's plan ends. The agent's `Buffer<PlannedTask>` holds all of
/// them.
#[derive(
    Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, TransparentWrapper,
)]
#[component(buffer = 2)]
#[repr(transparent)]
pub struct PlannedTask(pub(super) u32);

/// The component of an agent that plans by methods with the plan that it is making, if that takes more
/// than one tick.
///
/// An agent that is restored from a snapshot continues its search, as described at
/// [`PlannerState`](crate::goap::PlannerState).
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct HtnState(pub(super) Option<Box<Planning>>);

impl Component for HtnState {
    const HASH: HashRule<Self> = HashRule::Fields(|state, hasher| state.0.hash_state(hasher));
    const CODEC: Codec<Self> = Codec::serde();
}

impl HtnAgent {
    /// Makes an entity with a body plan by methods. Running actions are halted.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    pub fn drive(world: &mut World, agent: Entity) -> Result<(), ComponentError> {
        let mind = Self { step: 0, rest: 0, plans: 0, failures: 0 };
        let steps = Buffer::<PlannedStep>::new();
        let parts = (mind, steps, Buffer::<PlannedTask>::new(), HtnState(None), Replan);
        give_mind::<Self>(world, agent, "an argument `HtnPlanners`", parts)?;
        world.set_enabled::<Replan>(agent, true)?;
        Ok(())
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
    &'static mut HtnAgent,
    &'static mut Body,
    &'static mut Buffer<PlannedStep>,
    &'static mut Buffer<PlannedTask>,
    &'static mut HtnState,
    EnabledMut<Reported>,
    EnabledMut<Switching>,
    EnabledMut<Replan>,
    Q,
);
type Parts<'a, Q> = (Query<'a, Row<Q>, Called>, DecisionRecorder<'a>);

/// The agents that plan by methods and have the components that `Q` asks for: the argument of a system
/// that plans for them. Agents whose action continues are not visited.
///
/// The [module documentation](super) has a complete example.
#[derive(SystemParam)]
pub struct HtnPlanners<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
    _mind: MindSystem<HtnAgent, Row<()>>,
}

debug_fields!([Q: QueryData] HtnPlanners<'_, Q>:);

impl<Q: QueryData + 'static> HtnPlanners<'_, Q> {
    /// Continues the plans of agents whose action has ended, and plans for agents that have no plan, on
    /// all threads of the pool. Each agent visits at most `states` states per tick; a search that takes
    /// more continues in the next tick. The plan is the same however the search is divided.
    ///
    /// An agent replans when an action fails, when the next operator cannot be applied in the current
    /// state, when its plan is carried out, and when its [`Replan`] is enabled. After a
    /// [pause](super::Method::pause) it plans the remaining tasks from the state of that moment.
    ///
    /// # Panics
    /// Panics if `states` is 0: no search would ever end.
    pub fn think(&mut self, sensors: &Sensors<Q, Domain>, states: usize) {
        assert!(states > 0, "a budget of 0 states never finds a plan");
        let (query, recorder) = &mut self.parts;
        query.par_for_each(|row| {
            let (entity, agent, body, steps, tasks, state, reported, switching, replan, item) = row;
            let (mut reported, mut switching, mut replan) = (reported, switching, replan);
            reported.set(false);
            let watch = recorder.watch(entity).map(PlanWatch::new);
            let HtnAgent { step, rest, plans, failures } = agent;
            let counts = Counts { step, rest, plans, failures };
            let follower = Follower { counts, body, steps, sensors, item: &item, watch };
            let mut mind = Mind { follower, tasks, state };
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
    follower: Follower<'m, 'i, Q, Domain>,
    tasks: &'m mut Buffer<PlannedTask>,
    state: &'m mut HtnState,
}

impl<Q: QueryData> Mind<'_, '_, Q> {
    /// Takes the result of the current action if it has ended, and continues the plan. Returns whether
    /// the agent must plan.
    fn take_end(&mut self) -> bool {
        let domain = self.follower.planner();
        let Some(end) = self.follower.take_end(domain.task_name(domain.root)) else { return false };
        // The state that it was planning from has changed.
        self.state.0 = None;
        if matches!(end, StepEnd::Failed | StepEnd::Impossible) {
            self.tasks.clear();
        }
        end != StepEnd::GoesOn
    }

    /// Continues to plan. Returns whether the agent has a plan then.
    fn think(&mut self, mut states: usize) -> bool {
        if self.follower.rests() {
            return false;
        }
        let domain = self.follower.planner();
        if self.follower.operator().is_some() && self.state.0.is_none() {
            // Told to replan in the middle of a plan: it starts from the root.
            self.tasks.clear();
        }
        loop {
            let follower = &self.follower;
            if self.state.0.is_none() {
                let tasks: Vec<u32> = match self.tasks.is_empty() {
                    true => vec![domain.root],
                    false => self.tasks.iter().map(|task| task.0).collect(),
                };
                let cost = |operator| follower.sensors.cost_of(operator, follower.item);
                let begun = domain.begin_with(&tasks, |fact| follower.value(fact), cost);
                self.state.0 = Some(Box::new(begun));
            }
            let Some(planning) = &mut self.state.0 else { return false };
            let before = planning.looked_at();
            let plan = domain.go_on(planning, states);
            let searched = planning.looked_at();
            states = states.saturating_sub(searched - before);
            let Some(plan) = plan else {
                self.no_plan(Verdict::Unfinished, None);
                return false;
            };
            self.state.0 = None;
            match plan {
                Err(NoPlan::OtherPlanner) => {
                    self.tasks.clear();
                    if let Some(watch) = &mut self.follower.watch {
                        watch.because(OTHER_PLANNER);
                    }
                }
                Ok(plan) if plan.operators.first().is_some_and(|&it| !follower.can_begin(it)) => {
                    // The search took several ticks, and the state has changed.
                    if let Some(watch) = &mut self.follower.watch {
                        watch.because("things changed while it planned");
                    }
                }
                Ok(plan) if !plan.operators.is_empty() => {
                    self.follow(&plan, searched);
                    return true;
                }
                // The remaining tasks need no operators, or cannot be done: it starts from the root.
                Ok(_) | Err(_) if !self.tasks.is_empty() => self.tasks.clear(),
                nothing => {
                    let verdict = nothing.map_or_else(verdict_of, |_| Verdict::Holds);
                    let running = self.follower.running();
                    self.no_plan(verdict, running);
                    self.follower.give_up();
                    return false;
                }
            }
        }
    }

    /// Records that there is no plan.
    fn no_plan(&mut self, verdict: Verdict, dropped: Option<usize>) {
        let domain = self.follower.planner();
        let Some(mut watch) = self.follower.watch.take() else { return };
        let is_impossible = verdict == Verdict::Unreachable;
        let name = domain.task_name(domain.root).to_owned();
        watch.candidates.push(Candidate::new(name, verdict));
        if is_impossible {
            watch.candidates.extend(domain.others(None, |fact| self.follower.value(fact)));
        }
        watch.no_plan(dropped.map(|operator| &domain.operators[operator]));
    }

    fn follow(&mut self, plan: &Plan, searched: usize) {
        let domain = self.follower.planner();
        let dropped = self.follower.follow(&plan.operators);
        if let Some(mut watch) = self.follower.watch.take() {
            watch.candidates = domain.candidates(plan, |fact| self.follower.value(fact));
            let record = plan_record(&domain.operators, (&plan.operators, plan.cost), searched);
            watch.plan(record, dropped.map(|operator| &domain.operators[operator]));
        }
        self.tasks.clear();
        self.tasks.extend(plan.rest.iter().map(|&task| PlannedTask(task)));
    }
}
