//! The sequence, the simplest mind: one action after the other, and then again from the first.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Bundle, Component, EnabledMut, Entity, With, World};
use formic_jobs::Query;

use super::action_set::{ActionSet, ActionSetError};
use super::body::{Body, Reported, Switching};
use super::components::ActionResult;
use super::mind::{MindSystem, give_mind};
use super::names::NamingRecorder;
use crate::explain::{Candidate, Engine, Stopped, Verdict};

/// The reaction of a sequence to an action that fails.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    formic_ecs::HashState,
)]
#[non_exhaustive]
pub enum OnFailure {
    /// Begins the same action again in the next tick.
    #[default]
    Retry,
    /// Begins the same action again after a rest, which doubles with every failure until the action
    /// succeeds.
    BackOff {
        /// The first rest, in ticks.
        ticks: u32,
        /// The longest rest, in ticks.
        ticks_max: u32,
    },
    /// Begins the next action, as if this one had succeeded.
    Advance,
    /// Stops the agent until its sequence is [restarted](SequenceAgent::restart).
    Stop,
}

/// [`OnFailure`] as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(u32)]
enum Policy {
    Retry,
    BackOff,
    Advance,
    Stop,
}

/// The component of an agent that runs the actions of its body one after the other, and then again from
/// the first.
///
/// An agent cannot be instantiated: the copy would share the actions of the original. Give each agent a
/// sequence of its own, with [`Sequence::attach`].
///
/// ```
/// use formic_ai::prelude::*;
/// #[derive(Component, Clone)]
/// struct Knock;
/// fn knock(mut actions: Actions<Knock>) {
///     actions.update(|_, Knock| ActionResult::Failed);
/// }
/// let mut world = World::new();
/// let patient = OnFailure::BackOff { ticks: 2, ticks_max: 8 };
/// let [guest, salesman] = [world.spawn(()), world.spawn(())];
/// Sequence::new().then(Knock).on_failure(patient).attach(&mut world, guest)?;
/// Sequence::new().then(Knock).on_failure(OnFailure::Stop).attach(&mut world, salesman)?;
/// let mut schedule =
///     formic_ai::action::add(Schedule::builder()).add(knock.as_action()).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert!(world.get::<SequenceAgent>(guest)?.rest_left() > 0, "it waits before it knocks again");
/// assert!(!world.get::<Body>(salesman)?.is_running(0), "it gave up");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[component(unique)]
#[repr(C)]
pub struct SequenceAgent {
    current: u32,
    /// The number of actions that have succeeded, or failed under [`OnFailure::Advance`].
    advances: u32,
    policy: Policy,
    /// The first and the longest rest.
    rest_min: u32,
    rest_max: u32,
    /// The rest after the next failure.
    rest: u32,
    /// The ticks until the current action begins again.
    rest_left: u32,
}

impl SequenceAgent {
    /// Creates the component for an agent that begins with the first action when it is
    /// [started](Self::restart).
    ///
    /// ```
    /// use formic_ai::prelude::*;
    /// # #[derive(Component, Clone)] struct Walk;
    /// let mut world = World::new();
    /// let agent = ActionSet::new().action("walk", Walk).spawn(&mut world, ())?;
    /// // The same body could be given to any other mind.
    /// SequenceAgent::drive(&mut world, agent, OnFailure::Retry)?;
    /// assert!(world.get::<Body>(agent)?.is_running(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(on_failure: OnFailure) -> Self {
        let (policy, rest_min, rest_max) = match on_failure {
            OnFailure::Retry => (Policy::Retry, 0, 0),
            OnFailure::BackOff { ticks, ticks_max } => {
                (Policy::BackOff, ticks.max(1), ticks_max.max(ticks).max(1))
            }
            OnFailure::Advance => (Policy::Advance, 0, 0),
            OnFailure::Stop => (Policy::Stop, 0, 0),
        };
        Self { current: 0, advances: 0, policy, rest_min, rest_max, rest: rest_min, rest_left: 0 }
    }

    /// Makes an entity with a body run its actions as a sequence, from the first. Running actions are
    /// halted.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or has no body.
    pub fn drive(
        world: &mut World,
        agent: Entity,
        on_failure: OnFailure,
    ) -> Result<(), formic_ecs::ComponentError> {
        give_mind::<Self>(world, agent, "`action::add`", (Self::new(on_failure), Resting))?;
        world.set_enabled::<Resting>(agent, false)?;
        world.get_mut::<Body>(agent)?.begin(0);
        Ok(())
    }

    /// The index of the current action.
    #[must_use]
    pub const fn current(&self) -> usize {
        self.current as usize
    }

    /// The number of times that the agent has moved on to its next action.
    #[must_use]
    pub const fn advances(&self) -> u32 {
        self.advances
    }

    /// The number of ticks that it rests before it tries the current action again; 0 if it does not rest.
    #[must_use]
    pub const fn rest_left(&self) -> u32 {
        self.rest_left
    }

    /// Begins again with the first action. Running actions are halted.
    ///
    /// ```
    /// use formic_ai::action::Switching;
    /// use formic_ai::prelude::*;
    /// # #[derive(Component, Clone)] struct Step;
    /// # fn step(mut actions: Actions<Step>) { actions.update(|_, _| ActionResult::Success) }
    /// # let mut world = World::new();
    /// let dancer = Sequence::new().then(Step).then(Step).then(Step).spawn(&mut world, ())?;
    /// let mut schedule =
    ///     formic_ai::action::add(Schedule::builder()).add(step.as_action()).build(&mut world)?;
    /// schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// assert_eq!(world.get::<SequenceAgent>(dancer)?.current(), 1);
    /// // The music begins anew:
    /// world.query::<(&mut SequenceAgent, &mut Body, EnabledMut<Switching>)>().for_each(
    ///     |(dance, body, mut switching)| {
    ///         dance.restart(body);
    ///         switching.set(true);
    ///     },
    /// );
    /// assert_eq!(world.get::<SequenceAgent>(dancer)?.current(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restart(&mut self, body: &mut Body) {
        body.halt_all();
        (self.current, self.rest_left, self.rest) = (0, 0, self.rest_min);
        body.begin(0);
    }

    /// Begins with the first action again if there is no current one, as in a save that was tampered with.
    fn fit(&mut self, body: &mut Body) {
        if self.current() >= body.action_count() {
            self.restart(body);
        }
    }

    fn take(&mut self, result: ActionResult, body: &mut Body) {
        let moves_on = result == ActionResult::Success || self.policy == Policy::Advance;
        if moves_on {
            self.current = (self.current + 1) % u32::try_from(body.action_count()).unwrap_or(1);
            self.advances = self.advances.wrapping_add(1);
            self.rest = self.rest_min;
        }
        match self.policy {
            Policy::BackOff if !moves_on => {
                // The tick in which the action begins again does not count as rest.
                self.rest_left = self.rest.saturating_add(1);
                self.rest = self.rest.saturating_mul(2).min(self.rest_max);
            }
            Policy::Stop if !moves_on => {}
            _ => body.begin(self.current as usize),
        }
    }
}

/// Enabled on an agent whose action has failed and that rests before it tries again.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Resting;

type Advanced = (
    Entity,
    &'static mut SequenceAgent,
    &'static mut Body,
    EnabledMut<Reported>,
    EnabledMut<Switching>,
    EnabledMut<Resting>,
);

/// Takes the results of the actions that have ended, and moves their agents on: to the next action after
/// a success, as [`OnFailure`] says after a failure.
pub fn advance(mut agents: Query<Advanced, With<Reported>>, recorder: NamingRecorder) {
    agents.par_for_each(|(entity, agent, body, mut reported, mut switching, mut resting)| {
        reported.set(false);
        agent.fit(body);
        let before = agent.current();
        let Some(result) = body.take_ended(before) else { return };
        agent.take(result, body);
        if let Some(watch) = recorder.decisions.watch(entity) {
            watch.note(Engine::Sequence, |decision| {
                let name = recorder.name(body, agent.current());
                let verdict = match agent.rest_left {
                    0 if body.is_running(agent.current()) => Verdict::Chosen,
                    0 => Verdict::Waits { on: "being started again".into() },
                    ticks => Verdict::Waits { on: format!("the end of {ticks} ticks").into() },
                };
                decision.candidate(Candidate::new(name, verdict));
                decision.stopped.push(Stopped::new(recorder.name(body, before), result.into()));
            });
        }
        resting.set(agent.rest_left > 0);
        if body.is_switching() {
            switching.set(true);
        }
    });
}

type Rested = (
    Entity,
    &'static mut SequenceAgent,
    &'static mut Body,
    EnabledMut<Switching>,
    EnabledMut<Resting>,
);

/// Counts down the rest of agents, and begins their action again at its end; see [`OnFailure::BackOff`].
pub fn rest(
    mut agents: Query<Rested, With<Resting>>,
    recorder: NamingRecorder,
    _: MindSystem<SequenceAgent>,
) {
    agents.par_for_each(|(entity, agent, body, mut switching, mut resting)| {
        agent.rest_left = agent.rest_left.saturating_sub(1);
        if agent.rest_left == 0 {
            resting.set(false);
            agent.fit(body);
            body.begin(agent.current());
            switching.set(true);
            if let Some(watch) = recorder.decisions.watch(entity) {
                watch.note(Engine::Sequence, |decision| {
                    let name = recorder.name(body, agent.current());
                    decision.candidate(Candidate::new(name, Verdict::Chosen));
                    decision.cause = Some("its rest is over".into());
                });
            }
        }
    });
}

/// The actions of a kind of agent that runs them in order: an [`ActionSet`] with a [`SequenceAgent`] as
/// its mind.
///
/// ```
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct MoveTo(&'static str);
/// # #[derive(Component, Clone)] struct AddItem(u32);
/// # #[derive(Component)] struct Gold(u32);
/// let miner = Sequence::new().then(MoveTo("mine")).then(AddItem(5)).then(MoveTo("castle"));
/// let mut world = World::new();
/// let agent = miner.spawn(&mut world, Gold(0))?;
/// assert_eq!(world.len(), 4);
/// assert_eq!(world.get::<Body>(agent)?.action_count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Sequence {
    plan: ActionSet,
    on_failure: OnFailure,
}

debug_fields!([] Sequence: plan);

impl From<ActionSet> for Sequence {
    fn from(plan: ActionSet) -> Self {
        Self { plan, on_failure: OnFailure::default() }
    }
}

impl Sequence {
    /// Creates a sequence without actions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an action with this filter component, named after the component.
    #[must_use]
    pub fn then<T: Component + Clone>(self, filter: T) -> Self {
        self.then_with(filter, ())
    }

    /// Adds an action with this filter component and further components.
    #[must_use]
    pub fn then_with<T: Component + Clone, B: Bundle + Clone + Send + Sync + 'static>(
        mut self,
        filter: T,
        extras: B,
    ) -> Self {
        self.plan = self.plan.action_with(T::name(), filter, extras);
        self
    }

    /// Sets the reaction to an action that fails. The default is [`OnFailure::Retry`].
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Spawns an agent with these components, and its actions. The first action begins in the next tick.
    ///
    /// # Errors
    /// Returns the errors of [`ActionSet::spawn`].
    pub fn spawn<B: Bundle>(&self, world: &mut World, agent: B) -> Result<Entity, ActionSetError> {
        let agent = self.plan.spawn(world, agent)?;
        self.start(world, agent);
        Ok(agent)
    }

    /// Makes an entity an agent: spawns its actions. The first action begins in the next tick.
    ///
    /// # Errors
    /// Returns the errors of [`ActionSet::attach`].
    pub fn attach(&self, world: &mut World, agent: Entity) -> Result<(), ActionSetError> {
        self.plan.attach(world, agent)?;
        self.start(world, agent);
        Ok(())
    }

    fn start(&self, world: &mut World, agent: Entity) {
        SequenceAgent::drive(world, agent, self.on_failure)
            .expect("the agent was just given a body");
    }
}
