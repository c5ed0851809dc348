//! Actions that do as they are told, and a stage to watch them on.

use formic_ai::action::{self, Ended};
use formic_ai::prelude::*;
use std::sync::Mutex;

pub(crate) use ActionResult::{Failed, Running, Success};

/// What one activation gives: first what `start` gives, then what each `update` does.
pub(crate) type Run = &'static [ActionResult];

/// An action that gives what it was told to, run after run, and tells what is done with it.
#[derive(Component, Clone)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) runs: &'static [Run],
    begun: usize,
    at: usize,
}

impl Task {
    /// After the last run comes the first.
    pub(crate) fn new(name: &'static str, runs: &'static [Run]) -> Self {
        Self { name, runs, begun: 0, at: 0 }
    }

    fn next(&mut self) -> ActionResult {
        let run = self.runs[(self.begun - 1) % self.runs.len()];
        self.at += 1;
        run[self.at - 1]
    }
}

/// A task that takes no time.
pub(crate) fn instant(name: &'static str) -> Task {
    Task::new(name, &[&[Success]])
}

/// A task that takes one update, or two.
pub(crate) fn lasting<const UPDATES: usize>(name: &'static str) -> Task {
    const { assert!(UPDATES == 1 || UPDATES == 2) };
    let runs: [&'static [Run]; 2] = [&[&[Running, Success]], &[&[Running, Running, Success]]];
    Task::new(name, runs[UPDATES - 1])
}

/// What the processor was called with since the last look.
#[derive(Default)]
pub(crate) struct Trace(Mutex<Vec<String>>);

impl Trace {
    fn note(&self, task: &Task, call: &str) {
        self.0.lock().unwrap().push(format!("{} {call}", task.name));
    }
}

/// Whether the system of the tasks does nothing.
pub(crate) struct Paused(pub(crate) bool);

struct Doing<'a>(&'a Trace);

impl Processor for Doing<'_> {
    type Action = Task;

    fn start(&self, _agent: Agent<'_>, task: &mut Task) -> ActionResult {
        task.begun += 1;
        task.at = 0;
        self.0.note(task, "starts");
        task.next()
    }

    fn update(&self, _agent: Agent<'_>, task: &mut Task) -> ActionResult {
        self.0.note(task, "goes on");
        task.next()
    }

    fn cleanup(&self, _agent: Agent<'_>, task: &mut Task, ended: Ended) {
        let how = match ended {
            Ended::Success => "is done",
            Ended::Failed => "has failed",
            _ => "is interrupted",
        };
        self.0.note(task, how);
    }
}

#[expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]
fn do_tasks(mut actions: Actions<Task>, trace: Res<Trace>, paused: Res<Paused>) {
    if !paused.0 {
        actions.process(&Doing(&trace));
    }
}

/// A world of tasks.
pub(crate) struct Stage {
    pub(crate) world: World,
    schedule: Schedule,
    pool: Pool,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let mut world = World::new();
        world.insert_resource(Trace::default());
        world.insert_resource(Paused(false));
        let schedule = action::add(Schedule::builder()).add(do_tasks.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap() }
    }

    /// A stage with one agent that has these tasks.
    pub(crate) fn with(
        on_failure: OnFailure,
        tasks: impl IntoIterator<Item = Task>,
    ) -> (Self, Entity) {
        let mut stage = Self::new();
        let agent = stage.spawn(on_failure, tasks);
        (stage, agent)
    }

    pub(crate) fn spawn(
        &mut self,
        on_failure: OnFailure,
        tasks: impl IntoIterator<Item = Task>,
    ) -> Entity {
        let sequence = Sequence::new().on_failure(on_failure);
        let sequence = tasks.into_iter().fold(sequence, Sequence::then);
        sequence.spawn(&mut self.world, ()).unwrap()
    }

    /// One tick; what the processor was called with.
    pub(crate) fn tick(&mut self) -> Vec<String> {
        let report = self.schedule.run(&mut self.world, &self.pool);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        self.world.check().unwrap();
        std::mem::take(&mut *self.world.resource::<Trace>().unwrap().0.lock().unwrap())
    }

    pub(crate) fn ticks(&mut self, count: usize) -> Vec<String> {
        (0..count).flat_map(|_| self.tick()).collect()
    }

    pub(crate) fn pause(&mut self, paused: bool) {
        self.world.resource_mut::<Paused>().unwrap().0 = paused;
    }

    pub(crate) fn agent(&self, agent: Entity) -> SequenceAgent {
        *self.world.get::<SequenceAgent>(agent).unwrap()
    }

    /// The place in its sequence that an agent is at.
    pub(crate) fn place(&self, agent: Entity) -> usize {
        self.agent(agent).current()
    }

    /// The action that an agent is at.
    pub(crate) fn current(&self, agent: Entity) -> Entity {
        self.actions(agent)[self.place(agent)]
    }

    /// All actions of an agent, in their order; some may be gone.
    pub(crate) fn actions(&self, agent: Entity) -> Vec<Entity> {
        let owned = self.world.get::<Buffer<OwnedAction>>(agent).unwrap();
        owned.iter().map(|action| action.entity()).collect()
    }

    /// The actions that are executing.
    pub(crate) fn executing(&self) -> Vec<Entity> {
        self.world.query_ref_filtered::<Entity, With<Executing>>().into_iter().collect()
    }
}
