//! A world with one watched agent, whose actions end when they are told to.

use std::cell::RefCell;

use formic_ai::explain::{Decision, DecisionLog};
use formic_ai::prelude::*;
use formic_jobs::ScheduleBuilder;

/// On an agent: what its mind goes by, and how its actions are to end.
#[derive(Component, Default)]
pub(crate) struct Senses {
    pub(crate) inputs: [f32; 3],
    pub(crate) end: Option<ActionResult>,
}

#[derive(Component, Clone)]
pub(crate) struct Deed;

struct Doing<'a>(RefCell<ComponentLookup<'a, &'static mut Senses>>);

impl Processor for Doing<'_> {
    type Action = Deed;

    fn start(&self, _: Agent<'_>, _: &mut Deed) -> ActionResult {
        ActionResult::Running
    }

    fn update(&self, agent: Agent<'_>, _: &mut Deed) -> ActionResult {
        let mut all = self.0.borrow_mut();
        let Ok(senses) = all.get_mut(agent.entity) else { return ActionResult::Failed };
        senses.end.take().unwrap_or(ActionResult::Running)
    }
}

/// One after the other: the first of several takes the end.
fn act(mut actions: Actions<Deed>, senses: ComponentLookup<&'static mut Senses>) {
    actions.process_serial(&Doing(senses.into()));
}

pub(crate) fn actions() -> ActionSet {
    ["eat", "sleep", "play"]
        .into_iter()
        .fold(ActionSet::new(), |actions, name| actions.action(name, Deed))
}

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) agent: Entity,
    schedule: Schedule,
    pool: Pool,
}

impl Stage {
    /// `drive` gives the agent its mind, `minds` adds the system of it.
    pub(crate) fn new(
        drive: impl FnOnce(&mut World, Entity),
        minds: impl FnOnce(ScheduleBuilder) -> ScheduleBuilder,
    ) -> Self {
        Self::of(&actions(), drive, minds)
    }

    pub(crate) fn of(
        actions: &ActionSet,
        drive: impl FnOnce(&mut World, Entity),
        minds: impl FnOnce(ScheduleBuilder) -> ScheduleBuilder,
    ) -> Self {
        let mut world = World::new();
        let agent = world.spawn(Senses::default());
        actions.attach(&mut world, agent).unwrap();
        drive(&mut world, agent);
        let schedule = minds(formic_ai::action::add(Schedule::builder())).add(act.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        let mut log = DecisionLog::new();
        log.watch(agent, "Cat", 64);
        world.insert_resource(log);
        Self { world, agent, schedule, pool: Pool::new(Threads::None).unwrap() }
    }

    pub(crate) fn sense(&mut self, inputs: [f32; 3]) {
        self.world.get_mut::<Senses>(self.agent).unwrap().inputs = inputs;
    }

    /// Has the action that is running end in the next tick.
    pub(crate) fn end(&mut self, result: ActionResult) {
        self.world.get_mut::<Senses>(self.agent).unwrap().end = Some(result);
    }

    pub(crate) fn ticks(&mut self, count: usize) {
        (0..count).for_each(|_| drop(self.schedule.run(&mut self.world, &self.pool)));
    }

    /// Has the agent watched as if that began now.
    pub(crate) fn watch_anew(&mut self) {
        let log = self.world.resource_mut::<DecisionLog>().unwrap();
        log.unwatch(self.agent);
        log.watch(self.agent, "Cat", 64);
    }

    /// What was written down since the last time.
    pub(crate) fn decisions(&mut self) -> Vec<Decision> {
        let decisions = self.world.resource::<DecisionLog>().unwrap().decisions(self.agent);
        self.world.resource_mut::<DecisionLog>().unwrap().clear();
        decisions
    }

    /// The same in words.
    pub(crate) fn sentences(&mut self) -> Vec<String> {
        self.decisions().iter().map(|decision| decision.sentence("Cat")).collect()
    }
}
