//! Actions that write to their agents: which of them come first, and what two at once are.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::action::{Ended, Switching};
use formic_ai::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An action that says on its agent that it is carried out, and that it is not any more.
#[derive(Component, Clone)]
struct Walk(u32);

/// On an agent: the walk that is carried out, and how often it was written to.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Legs {
    walk: u32,
    writes: u64,
}

struct Walking<'a>(AgentAccess<'a, &'static mut Legs>);

impl Walking<'_> {
    fn write(&self, agent: Agent<'_>, walk: u32) -> ActionResult {
        // As one passes over it.
        let Ok(mut legs) = self.0.claim(agent) else { return ActionResult::Failed };
        let legs = legs.get_mut();
        legs.walk = walk;
        legs.writes = legs.writes.wrapping_mul(31).wrapping_add(walk.into());
        ActionResult::Running
    }
}

impl Processor for Walking<'_> {
    type Action = Walk;

    fn start(&self, agent: Agent<'_>, walk: &mut Walk) -> ActionResult {
        self.write(agent, walk.0)
    }

    fn update(&self, agent: Agent<'_>, walk: &mut Walk) -> ActionResult {
        self.write(agent, walk.0)
    }

    fn cleanup(&self, agent: Agent<'_>, _: &mut Walk, _: Ended) {
        self.write(agent, 0);
    }
}

fn walk(mut actions: Actions<Walk>, legs: AgentAccess<&'static mut Legs>) {
    actions.process(&Walking(legs));
}

/// Has the two actions of different agents lie in chunks of their own.
#[derive(Component, Clone)]
struct Ballast<const SIZE: usize>([u64; SIZE]);

fn stage(actions: &ActionSet, count: usize) -> (World, Schedule, Vec<Entity>) {
    let mut world = World::new();
    let agents = (0..count).map(|_| actions.spawn(&mut world, Legs::default()).unwrap()).collect();
    let schedule = formic_ai::action::add(Schedule::builder()).add(walk.as_action());
    let schedule = schedule.build(&mut world).unwrap();
    (world, schedule, agents)
}

fn tell(world: &mut World, agent: Entity, orders: impl FnOnce(&mut Body)) {
    orders(world.get_mut::<Body>(agent).unwrap());
    world.set_enabled::<Switching>(agent, true).unwrap();
}

#[test]
fn an_action_that_is_interrupted_is_tidied_up_before_another_of_its_kind_begins() {
    let actions = ActionSet::new()
        .action("one", Walk(1))
        .action_with("two", Walk(2), Ballast([0; 40]))
        .action_with("three", Walk(3), Ballast([0; 200]));
    let mut results = Vec::new();
    for threads in [Threads::None, Threads::Own(1), Threads::Own(3)] {
        let pool = Pool::new(threads).unwrap();
        let count = if cfg!(miri) { 5 } else { 500 };
        let (mut world, mut schedule, agents) = stage(&actions, count);
        for tick in 0..20 {
            for (nth, &agent) in agents.iter().enumerate() {
                let (before, next) = ((tick + nth + 2) % 3, (tick + nth) % 3);
                tell(&mut world, agent, |body| {
                    body.halt(before);
                    body.begin(next);
                });
            }
            schedule.run(&mut world, &pool);
            for (nth, &agent) in agents.iter().enumerate() {
                let walk = world.get::<Legs>(agent).unwrap().walk;
                assert_eq!(walk as usize, (tick + nth) % 3 + 1, "what began is not undone");
            }
        }
        let legs = agents.iter().map(|&agent| *world.get::<Legs>(agent).unwrap());
        results.push(legs.collect::<Vec<_>>());
    }
    assert!(results.iter().all(|legs| *legs == results[0]));
}

#[test]
fn two_actions_of_a_kind_that_write_to_one_agent_at_once_are_an_error_every_time() {
    let both =
        ActionSet::new().action("one", Walk(1)).action_with("two", Walk(2), Ballast([0; 40]));
    let actions = ActionSet::new().composite("both", Composite::join(), both);
    let mut all = Vec::new();
    for threads in [Threads::None, Threads::Own(1), Threads::Own(3)] {
        let pool = Pool::new(threads).unwrap();
        let (mut world, mut schedule, agents) = stage(&actions, 10);
        let composite = world.get::<Buffer<OwnedAction>>(agents[7]).unwrap()[0].entity();
        let parts = world.get::<Buffer<OwnedAction>>(composite).unwrap().to_vec();
        tell(&mut world, agents[7], |body| body.begin(0));
        let run = AssertUnwindSafe(|| drop(schedule.run(&mut world, &pool)));
        let payload = catch_unwind(run).expect_err("an error");
        let text = payload.downcast_ref::<String>().expect("a message");
        for named in [agents[7], parts[0].entity(), parts[1].entity()] {
            assert!(text.contains(&named.to_string()), "{text} does not name {named}");
        }
        assert!(text.contains("Legs") && text.contains("walk"), "{text}");
        all.push(text.clone());
    }
    assert!(all.iter().all(|text| *text == all[0]), "{all:?}");
}
