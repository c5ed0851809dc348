//! Actions that execute, and actions that sleep.

use formic_ai::prelude::*;

use crate::harness::{Contender, Row};

const AGENTS: usize = 100_000;

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row::new("action: executing, writes to itself, 100k", Some(10.0), || {
            let sequence = Sequence::new().then(Count(0));
            vec![ticks(AGENTS, crowd(AGENTS, &sequence), AGENTS), plain_count()]
        }),
        Row::new("action: executing, writes to its agent, 100k", None, || {
            let sequence = Sequence::new().then(Walk(1.0));
            vec![ticks(AGENTS, crowd(AGENTS, &sequence), AGENTS)]
        }),
        Row::new("action: executing, writes to its agent, 1M", None, || {
            let sequence = Sequence::new().then(Walk(1.0));
            vec![ticks(1_000_000, crowd(1_000_000, &sequence), 1_000_000)]
        }),
        Row::new("action: asleep, 1M of them, per chunk", None, asleep),
        Row::new("action: 1,000 agents go on to the next of their actions", None, || {
            vec![steps("formic, 1,024 actions", 1024), steps("formic, 64 actions", 64)]
        }),
    ]
}

#[derive(Component, Clone)]
struct Count(u32);

struct Counting;

impl Processor for Counting {
    type Action = Count;
    fn start(&self, _: Agent<'_>, _: &mut Count) -> ActionResult {
        ActionResult::Running
    }
    fn update(&self, _: Agent<'_>, count: &mut Count) -> ActionResult {
        count.0 = count.0.wrapping_add(1);
        if count.0 == u32::MAX { ActionResult::Success } else { ActionResult::Running }
    }
}

fn count(mut actions: Actions<'_, Count>) {
    actions.process(&Counting);
}

#[derive(Component, Clone)]
struct Walk(f32);
#[derive(Component, Clone)]
struct Position(f32);

struct Walking<'a>(AgentAccess<'a, &'static mut Position>);

impl Processor for Walking<'_> {
    type Action = Walk;
    fn start(&self, _: Agent<'_>, _: &mut Walk) -> ActionResult {
        ActionResult::Running
    }
    fn update(&self, agent: Agent<'_>, walk: &mut Walk) -> ActionResult {
        let Ok(mut position) = self.0.claim(agent) else { return ActionResult::Failed };
        position.get_mut().0 += walk.0;
        ActionResult::Running
    }
}

fn walk(mut actions: Actions<'_, Walk>, positions: AgentAccess<'_, &'static mut Position>) {
    actions.process(&Walking(positions));
}

fn crowd(agents: usize, sequence: &Sequence) -> World {
    let mut world = World::new();
    let all = world.spawn_batch((0..agents).map(|_| Position(0.0)));
    for agent in all {
        sequence.attach(&mut world, agent).expect("it has actions");
    }
    world
}

/// The whole tick: all systems around actions as well.
fn ticks(_agents: usize, mut world: World, units: usize) -> Contender {
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add(count.as_action())
        .add(walk.as_action())
        .build(&mut world)
        .expect("it has no cycle");
    let pool = Pool::new(Threads::None).expect("no threads are asked for");
    Contender::new("formic", units, move || drop(schedule.run(&mut world, &pool)))
}

/// The same as a plain loop.
fn plain_count() -> Contender {
    let mut counts = vec![0_u32; AGENTS];
    Contender::new("plain vector", AGENTS, move || {
        for count in &mut counts {
            *count = std::hint::black_box(count.wrapping_add(1));
        }
    })
}

/// An action that takes no time.
#[derive(Component, Clone)]
struct Step;

struct Stepping;

impl Processor for Stepping {
    type Action = Step;
    fn start(&self, _: Agent, _: &mut Step) -> ActionResult {
        ActionResult::Success
    }
}

fn step(mut actions: Actions<'_, Step>) {
    actions.process(&Stepping);
}

/// Agents with so many actions, which they do in turn, one in a tick.
fn steps(column: &'static str, actions: usize) -> Contender {
    let mut world = World::new();
    let sequence = (0..actions).fold(Sequence::new(), |sequence, _| sequence.then(Step));
    (0..1_000).for_each(|_| _ = sequence.spawn(&mut world, ()).expect("it has actions"));
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add(step.as_action())
        .build(&mut world)
        .expect("it has no cycle");
    let pool = Pool::new(Threads::None).expect("no threads are asked for");
    Contender::new(column, 1_000, move || drop(schedule.run(&mut world, &pool)))
}

/// Ten actions for each agent, none of which executes.
fn asleep() -> Vec<Contender> {
    let mut world = World::new();
    let actions = (0..10).fold(ActionSet::new(), |set, it| set.action(it.to_string(), Count(0)));
    for _ in 0..AGENTS {
        actions.spawn(&mut world, ()).expect("it has actions");
    }
    let chunks = world.archetypes().len().max(1);
    let rows = 1_000_000 / 250;
    let mut contender = ticks(AGENTS, world, rows);
    contender.remark = format!("about {rows} chunks in {chunks} archetypes");
    vec![contender]
}
