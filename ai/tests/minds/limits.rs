//! Agents with hundreds of actions and events do what those with a few do.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::action;
use formic_ai::fsm::{FsmAgent, Machine, MachineBuilder, Machines, State, Transition};
use formic_ai::prelude::*;
use formic_ecs::Snapshot;

/// An action that takes so many ticks as its place says, from one to four, and counts them.
#[derive(Component, Clone, Copy, Debug, NoUninit, CheckedBitPattern)]
#[repr(C)]
struct Work {
    place: u32,
    done: u32,
}

struct Working;

impl Processor for Working {
    type Action = Work;

    fn update(&self, _: Agent, work: &mut Work) -> ActionResult {
        work.done += 1;
        if work.done % (1 + work.place % 4) == 0 {
            ActionResult::Success
        } else {
            ActionResult::Running
        }
    }
}

fn work(mut actions: Actions<Work>) {
    actions.process(&Working);
}

fn works(count: usize) -> ActionSet {
    let work = |place| Work { place, done: 0 };
    (0..)
        .take(count)
        .fold(ActionSet::new(), |set, place| set.action(place.to_string(), work(place)))
}

fn schedule(world: &mut World) -> Schedule {
    action::add(Schedule::builder()).add(work.as_action()).build(world).unwrap()
}

/// How far each part of each agent has come, in the order of its spawning.
fn progress(world: &World) -> Vec<u32> {
    let mut parts: Vec<(Entity, u32)> = world
        .query_ref::<(Entity, &Work)>()
        .into_iter()
        .map(|(it, work)| (it, work.done))
        .collect();
    parts.sort_unstable();
    parts.into_iter().map(|(_, done)| done).collect()
}

#[test]
fn all_1024_parts_of_a_composite_run_and_the_game_goes_on_when_it_is_loaded() {
    let pool = Pool::new(Threads::None).unwrap();
    let mut world = World::new();
    let mut ticks = schedule(&mut world);
    let plan = ActionSet::new().composite("all", Composite::join(), works(1024));
    let agent = Sequence::from(plan).spawn(&mut world, ()).unwrap();
    let mut other = World::new();
    let mut its_ticks = schedule(&mut other);
    for tick in 0..20_u32 {
        if tick == 7 {
            // In the midst of a round: the parts that take one or two ticks have ended.
            let bytes = world.snapshot().unwrap().as_bytes().to_vec();
            other.restore(&Snapshot::from_bytes(bytes).unwrap()).unwrap();
        }
        assert!(ticks.run(&mut world, &pool).failures.is_empty());
        if tick >= 7 {
            drop(its_ticks.run(&mut other, &pool));
            assert_eq!(other.state_hash(), world.state_hash(), "tick {tick}");
        }
        // All parts take the ticks of one round together, and as many rounds have passed for all.
        let rounds = world.get::<SequenceAgent>(agent).unwrap().advances();
        for (place, done) in (0..).zip(progress(&world)) {
            let each = 1 + place % 4;
            assert!(done >= rounds * each && done <= (rounds + 1) * each, "{place} in tick {tick}");
        }
    }
    assert!(world.get::<SequenceAgent>(agent).unwrap().advances() >= 3);
}

#[test]
fn a_body_of_1024_actions_halts_begins_and_hashes_each_of_them() {
    let mut world = World::new();
    let mut ticks = schedule(&mut world);
    let pool = Pool::new(Threads::None).unwrap();
    let agent = works(1024).spawn(&mut world, ()).unwrap();
    let mut hashes = vec![world.state_hash().value()];
    for action in [0, 63, 64, 127, 128, 1000, 1023] {
        let body = world.get_mut::<Body>(agent).unwrap();
        body.begin(action);
        assert!(body.is_running(action) && body.is_switching());
        assert_eq!(body.running().collect::<Vec<_>>(), [action]);
        // What is begun and not passed on yet is part of the state.
        hashes.push(world.state_hash().value());
        world.set_enabled::<action::Switching>(agent, true).unwrap();
        (0..1 + action % 4).for_each(|_| drop(ticks.run(&mut world, &pool)));
        let body = world.get_mut::<Body>(agent).unwrap();
        assert_eq!(body.take_ended(action), Some(ActionResult::Success), "{action}");
        assert_eq!(body.running().count(), 0);
        body.begin(action);
        body.halt_all();
        assert_eq!((body.running().count(), body.ended(action)), (0, None));
    }
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
#[should_panic(expected = "there is no action 1000: the body has 1000")]
fn an_action_that_a_wide_body_does_not_have_is_a_panic() {
    Body::new(1000).begin(1000);
}

struct Ring(Machine<()>);

fn think(mut machines: Machines<()>, ring: Res<Ring>) {
    machines.update(&ring.0);
}

#[test]
fn a_machine_has_1024_events_and_an_action_for_each_of_1024_states() {
    let pool = Pool::new(Threads::None).unwrap();
    let mut world = World::new();
    let name = |state: u32| (state % 1024).to_string();
    let mut builder = MachineBuilder::new();
    for state in 0..1024 {
        builder = builder.state(State::new(name(state)).action(name(state)));
        builder = builder.transition(Transition::new(name(state), name(state + 1)).on(state));
    }
    let actions = works(1024);
    let machine = builder.build(&actions).unwrap();
    let agent = actions.spawn(&mut world, ()).unwrap();
    FsmAgent::drive(&mut world, agent, &machine).unwrap();
    world.insert_resource(Ring(machine));
    let mut ticks = action::add(Schedule::builder())
        .add(think.as_mind())
        .add(work.as_action())
        .build(&mut world)
        .unwrap();
    ticks.run(&mut world, &pool);
    for state in 0..1024 {
        let mind = world.get_mut::<FsmAgent>(agent).unwrap();
        assert_eq!(mind.state(), Some(state as usize));
        // The events before and behind it lead nowhere, and are forgotten.
        for event in [(state + 1023) % 1024, (state + 1) % 1024] {
            mind.send(event);
        }
        ticks.run(&mut world, &pool);
        let before = world.state_hash();
        let mind = world.get_mut::<FsmAgent>(agent).unwrap();
        assert_eq!(mind.state(), Some(state as usize));
        mind.send(state);
        assert_ne!(world.state_hash(), before, "an event is part of the state");
        // Saved with what was sent, and loaded.
        if state % 100 == 70 {
            let bytes = world.snapshot().unwrap().as_bytes().to_vec();
            world.get_mut::<FsmAgent>(agent).unwrap().send(0);
            world.restore(&Snapshot::from_bytes(bytes).unwrap()).unwrap();
        }
        ticks.run(&mut world, &pool);
        let body = world.get::<Body>(agent).unwrap();
        let next = (state as usize + 1) % 1024;
        assert!(body.is_running(next) || body.ended(next).is_some(), "{next}");
    }
}
