//! Sentries that follow a state machine: calm (walking or looking), alarmed, or greeting in between.
//!
//! `cargo run -p formic-ai --example sentries` prints what one of them does.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::fsm::{
    FsmAgent, History, Machine, MachineBuilder, Machines, State, StateChanged, Transition,
};
use formic_ai::prelude::*;

#[derive(Component)]
struct Enemy {
    distance: f32,
}

/// The event that a friend has come by.
const FRIEND: u32 = 0;

type Senses = &'static Enemy;

#[derive(Component, Clone)]
struct Deed {
    ticks: u32,
    left: u32,
}

struct Doing;

impl Processor for Doing {
    type Action = Deed;

    fn start(&self, _: Agent, deed: &mut Deed) -> ActionResult {
        deed.left = deed.ticks;
        ActionResult::Running
    }

    fn update(&self, _: Agent, deed: &mut Deed) -> ActionResult {
        deed.left = deed.left.saturating_sub(1);
        if deed.left == 0 { ActionResult::Success } else { ActionResult::Running }
    }
}

fn think(mut machines: Machines<Senses>, sentries: Res<Machine<Senses>>) {
    machines.update(&sentries);
}

fn act(mut actions: Actions<Deed>) {
    actions.process(&Doing);
}

/// Any system may listen: only those whose state has changed are visited.
#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn tell(mut changed: Query<&StateChanged>, sentries: Res<Machine<Senses>>) {
    let name = |state| sentries.name(state);
    changed.for_each(|changed| {
        let from = changed.from().map_or("nothing", name);
        println!("    from {from} to {}", name(changed.to()));
    });
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    type Go = Transition<Senses>;
    let deed = |ticks| Deed { ticks, left: 0 };
    let actions = ActionSet::new()
        .action("walk", deed(4))
        .action("look", deed(2))
        .action("shout", deed(1))
        .action("greet", deed(2));
    let machine = MachineBuilder::new()
        .state(State::new("calm").history(History::Shallow))
        .state(State::new("walking").inside("calm").action("walk"))
        .state(State::new("looking").inside("calm").action("look"))
        .state(State::new("alarmed").action("shout"))
        .state(State::new("greeting").action("greet"))
        .transition(Go::new("walking", "looking").when_done())
        .transition(Go::new("looking", "walking").when_done())
        .transition(Go::from_any("alarmed").when(|it| it.distance < 5.0).priority(1))
        .transition(Go::new("alarmed", "calm").when(|it| it.distance > 8.0))
        .transition(Go::interrupt("calm", "greeting").on(FRIEND))
        .transition(Go::back("greeting").when_done())
        .build(&actions)?;
    let mut world = World::new();
    let sentry = actions.spawn(&mut world, Enemy { distance: 20.0 })?;
    FsmAgent::drive(&mut world, sentry, &machine)?;
    world.insert_resource(machine);
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add(think.as_mind())
        .add(tell.as_mind())
        .add(act.as_action())
        .build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    for tick in 0..24_u8 {
        world.get_mut::<Enemy>(sentry)?.distance = (f32::from(tick) - 16.0).abs() * 2.0;
        if tick == 8 {
            world.get_mut::<FsmAgent>(sentry)?.send(FRIEND);
        }
        println!("tick {tick}");
        schedule.run(&mut world, &pool);
    }
    Ok(())
}
