//! The mind of an agent that plans by methods, and the system argument that has all of them plan.

use bytemuck::{CheckedBitPattern, NoUninit, TransparentWrapper};
use formic_ecs::{
    Buffer, Codec, Component, ComponentError, EnabledMut, Entity, HashRule, HashState, QueryData,
    World,
};
use formic_jobs::Query;

use super::domain::Domain;
use super::record::Watch;
use super::search::{Plan, Planning};
use crate::action::{
    ActionResult, Body, Reported, Switching, argument_of_parts, give_mind, link_mind,
};
use crate::explain::DecisionRecorder;
use crate::goap::{Called, NoPlan, PlannedStep, Replan, Sensors};

/// On an agent that plans by methods: how far it is.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct HtnAgent {
    pub(super) step: u32,
    rest: u32,
    plans: u32,
    failures: u32,
}

/// A task behind the pause that the plan of an agent ends at; these are its `Buffer<PlannedTask>`.
#[derive(
    Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern, TransparentWrapper,
)]
#[component(buffer = 2)]
#[repr(transparent)]
pub struct PlannedTask(pub(super) u32);

/// On an agent that plans by methods: the plan that it is making, if it takes more than one tick. An
/// agent that is restored from a snapshot begins to think anew.
#[derive(Debug, Default)]
pub struct HtnState(pub(super) Option<Box<Planning>>);

impl Component for HtnState {
    const HASH: HashRule<Self> = HashRule::Fields(|state, hasher| state.0.hash_state(hasher));
    const CODEC: Codec<Self> = Codec::custom(|_, _| Ok(()), |_| Ok(Self::default()));
}

impl HtnAgent {
    /// Has an entity that has a body plan by methods. What is running is halted.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    pub fn drive(world: &mut World, agent: Entity) -> Result<(), ComponentError> {
        let mind = Self { step: 0, rest: 0, plans: 0, failures: 0 };
        let steps = Buffer::<PlannedStep>::new();
        let parts = (mind, steps, Buffer::<PlannedTask>::new(), HtnState(None), Replan);
        give_mind::<Self>(world, agent, parts)?;
        world.set_enabled::<Replan>(agent, true)?;
        Ok(())
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

/// The agents that plan by methods and have what `Q` asks for: the argument of the system that has
/// them plan. Those whose action goes on are not visited.
///
/// [The page of the module](super) has a whole one.
pub struct HtnPlanners<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
}

argument_of_parts!(HtnPlanners, link_mind::<HtnAgent>);

impl<Q: QueryData + 'static> HtnPlanners<'_, Q> {
    /// Has the agents whose action has ended go on with their plan, and those that have none think,
    /// on all threads of the pool. An agent looks at `states` states per tick at most; a plan that
    /// takes more is gone on with in the next tick, and is the same however it was cut.
    ///
    /// An agent plans anew when an action fails, when the next operator cannot be applied as things
    /// are, when its plan is carried out, and when its [`Replan`] is on. Behind a
    /// [pause](super::Method::pause) it plans what is left, by how things are then.
    ///
    /// # Panics
    /// Panics if `states` is 0: no plan would ever be finished.
    pub fn think(&mut self, sensors: &Sensors<Q, Domain>, states: usize) {
        assert!(states > 0, "an agent that looks at no states never has a plan");
        let (query, recorder) = &mut self.parts;
        let (log, tick) = (recorder.log(), recorder.tick());
        query.par_for_each(|row| {
            let (entity, agent, body, steps, tasks, state, reported, switching, replan, item) = row;
            let (mut reported, mut switching, mut replan) = (reported, switching, replan);
            reported.set(false);
            let log = log.filter(|log| log.is_watched(entity));
            let watch = log.map(|log| Watch::new(log, tick, entity, sensors.planner()));
            let mut mind = Mind { agent, body, steps, tasks, state, sensors, item: &item, watch };
            if mind.take_end() || replan.get() {
                let is_done = mind.think(states);
                replan.set(!is_done);
            }
            if mind.body.is_switching() {
                switching.set(true);
            }
        });
    }
}

struct Mind<'m, 'i, Q: QueryData> {
    agent: &'m mut HtnAgent,
    body: &'m mut Body,
    steps: &'m mut Buffer<PlannedStep>,
    tasks: &'m mut Buffer<PlannedTask>,
    state: &'m mut HtnState,
    sensors: &'m Sensors<Q, Domain>,
    item: &'m Q::Item<'i>,
    watch: Option<Watch<'m>>,
}

impl<Q: QueryData> Mind<'_, '_, Q> {
    fn value(&self, fact: usize) -> u32 {
        self.sensors.value(fact, self.item)
    }

    fn can_begin(&self, operator: usize) -> bool {
        let domain = self.sensors.planner();
        domain.operators[operator].is_applicable(&domain.facts, |fact| self.value(fact))
    }

    /// The operator that it is at.
    fn operator(&self) -> Option<usize> {
        self.steps.get(self.agent.step()).map(|step| step.operator())
    }

    /// Goes on with the plan if an action has ended. Whether it has to think now.
    fn take_end(&mut self) -> bool {
        let Some(operator) = self.operator() else { return false };
        let Some(ended) = self.body.take_ended(self.sensors.action(operator)) else { return false };
        let is_done = ended == ActionResult::Success;
        if let Some(watch) = &mut self.watch {
            watch.action_ended(operator, is_done);
        }
        // Whatever it was thinking about has changed.
        self.state.0 = None;
        if is_done {
            self.agent.step += 1;
            match self.operator() {
                Some(next) if self.can_begin(next) => {
                    self.body.begin(self.sensors.action(next));
                    if let Some(watch) = &mut self.watch {
                        watch.next_step(next, self.agent.step());
                    }
                    return false;
                }
                next => {
                    if let Some(watch) = &mut self.watch {
                        watch.plan_ended(next);
                    }
                    if next.is_some() {
                        self.tasks.clear();
                    }
                }
            }
        } else {
            self.agent.failures = self.agent.failures.wrapping_add(1);
            self.tasks.clear();
        }
        self.steps.clear();
        self.agent.step = 0;
        true
    }

    /// Looks at so many states at most. Whether a plan is there to be carried out.
    fn think(&mut self, mut states: usize) -> bool {
        if self.agent.rest > 0 {
            self.agent.rest -= 1;
            return false;
        }
        let domain = self.sensors.planner();
        if self.operator().is_some() && self.state.0.is_none() {
            // Told to think in the midst of a plan: from the root.
            self.tasks.clear();
        }
        loop {
            if self.state.0.is_none() {
                let tasks: Vec<u32> = match self.tasks.is_empty() {
                    true => vec![domain.root],
                    false => self.tasks.iter().map(|task| task.0).collect(),
                };
                let cost = |operator| self.sensors.cost_of(operator, self.item);
                let begun = domain.begin_with(&tasks, |fact| self.value(fact), cost);
                self.state.0 = Some(Box::new(begun));
            }
            let Some(planning) = &mut self.state.0 else { return false };
            let before = planning.looked_at();
            let plan = domain.go_on(planning, states);
            let searched = planning.looked_at();
            states = states.saturating_sub(searched - before);
            let Some(plan) = plan else {
                if let Some(watch) = self.watch.take() {
                    watch.goes_on();
                }
                return false;
            };
            self.state.0 = None;
            match plan {
                Ok(plan) if plan.operators.first().is_some_and(|&it| !self.can_begin(it)) => {
                    // It took several ticks, and things have changed.
                    if let Some(watch) = &mut self.watch {
                        watch.plan_is_outdated();
                    }
                }
                Ok(plan) if !plan.operators.is_empty() => {
                    self.follow(&plan, searched);
                    return true;
                }
                // What was left needs nothing to be done, or cannot be done: the root again.
                Ok(_) | Err(_) if !self.tasks.is_empty() => self.tasks.clear(),
                nothing => {
                    self.give_up(nothing.err());
                    return false;
                }
            }
        }
    }

    /// There is nothing to do, or nothing that it can do.
    fn give_up(&mut self, why: Option<NoPlan>) {
        let running = self.running();
        if let Some(watch) = self.watch.take() {
            watch.no_plan(why, running, |fact| self.value(fact));
        }
        self.agent.rest = self.sensors.ticks_of_rest();
        self.steps.clear();
        self.agent.step = 0;
        self.body.halt_all();
    }

    /// The operator whose action is running.
    fn running(&self) -> Option<usize> {
        self.operator().filter(|&operator| self.body.is_running(self.sensors.action(operator)))
    }

    /// Carries a plan out from now on.
    fn follow(&mut self, plan: &Plan, searched: usize) {
        // An action that is running and comes first in the new plan as well goes on.
        let running = self.running();
        let goes_on = running.is_some() && running == plan.operators.first().copied();
        let dropped = running.filter(|_| !goes_on);
        if let Some(watch) = self.watch.take() {
            watch.plan((plan, searched), dropped, |fact| self.value(fact));
        }
        self.steps.clear();
        self.steps.extend(plan.operators.iter().map(|&operator| PlannedStep::new(operator)));
        self.tasks.clear();
        self.tasks.extend(plan.rest.iter().map(|&task| PlannedTask(task)));
        (self.agent.step, self.agent.plans) = (0, self.agent.plans.wrapping_add(1));
        if !goes_on {
            self.body.halt_all();
            if let Some(first) = self.operator() {
                self.body.begin(self.sensors.action(first));
            }
        }
    }
}
