//! No activity waits in silence for what has been lost, whatever has gone wrong.

use formic_ai::activity::{
    self, ActivitySlot, EventKinds, Posted, Response, State, Status, Subscriptions, Tick, Token,
};
use formic_ai::prelude::*;
use std::sync::{Arc, Mutex};

use crate::puppet::{Outcome, Ping, Puppet, Stage, Theatre, done};

const ZERO: EventKinds = EventKinds::one(0);

/// Sleeps until it hears of its subject.
fn await_events(whom: Entity) -> impl FnMut(&mut Tick<'_, Theatre>) -> Outcome + Send + Sync {
    move |tick| {
        tick.unsubscribe_all();
        tick.subscribe(whom, ZERO);
        Status::Blocked
    }
}

fn missed(name: &str, subject: Entity) -> String {
    format!("{name} may have missed something of {subject}")
}

#[test]
fn a_task_that_is_replaced_or_removed_waits_for_nothing_and_uses_no_token_again() {
    for is_removed in [false, true] {
        let mut stage = Stage::new();
        let rock = stage.world.spawn(());
        let tokens = Arc::new(Mutex::new(Vec::new()));
        let actor = |stage: &Stage, name| {
            let noted = tokens.clone();
            stage.puppet(name).act(move |tick| {
                noted.lock().unwrap().push(tick.subscribe(rock, ZERO));
                Status::Blocked
            })
        };
        let puppet = actor(&stage, "ann");
        let agent = stage.agent(puppet);
        stage.tick();
        for name in ["bea", "cat"] {
            if is_removed {
                let slot = stage.world.remove::<ActivitySlot<Puppet>>(agent).unwrap();
                assert_eq!((slot.state(), slot.subscriptions()), (State::Idle, [].as_slice()));
                stage.world.insert(agent, slot).unwrap();
            } else {
                stage.world.insert(agent, activity::idle::<Puppet>()).unwrap();
            }
            stage.check();
            assert!(stage.world.resource::<Subscriptions<Puppet>>().unwrap().is_empty());
            let puppet = actor(&stage, name);
            activity::order(&mut stage.world, agent, 1, puppet).unwrap();
            assert_eq!(stage.tick(), [format!("{name} ticks")]);
        }
        let [ann, bea, cat]: [Token; 3] = tokens.lock().unwrap()[..].try_into().unwrap();
        assert!(ann.number() < bea.number() && bea.number() < cat.number());
        for token in [ann, bea] {
            stage.send(Posted::about(rock, Ping { kind: 0, number: 1 }).answering(token));
        }
        assert_eq!(stage.tick(), [""; 0], "no activity asks this any more");
        stage.post(rock, 0, 2);
        assert_eq!(stage.tick(), [format!("cat hears 2 of {rock}"), "cat ticks".into()]);
    }
}

#[test]
fn who_may_have_missed_events_while_activities_were_off_is_told_so() {
    let mut stage = Stage::new();
    let rock = stage.world.spawn(());
    let ann = stage.puppet("ann").act(await_events(rock)).answering(Response::SLEEP);
    stage.agent(ann);
    let timed = stage.puppet("bea").act(|tick| {
        tick.wake_after(20);
        Status::Blocked
    });
    stage.agent(timed);
    let patient = stage.puppet("cat").act(|tick| {
        tick.subscribe(tick.agent(), EventKinds::NONE);
        Status::Blocked
    });
    stage.agent(patient);
    stage.tick();
    // Not for longer than events are kept.
    stage.switch(false);
    stage.post(rock, 0, 1);
    stage.tick();
    stage.switch(true);
    assert_eq!(stage.tick(), [format!("ann hears 1 of {rock}")]);
    assert_eq!(stage.report().missed, 0);
    // For longer; what is still there is told as well.
    stage.switch(false);
    stage.post(rock, 0, 2);
    stage.ticks(3);
    stage.post(rock, 0, 3);
    stage.switch(true);
    let heard = format!("ann hears 3 of {rock}");
    assert_eq!(stage.tick(), [missed("ann", rock), heard, "ann ticks".into()]);
    assert_eq!(stage.report().missed, 1);
    assert_eq!(stage.tick(), [""; 0]);
    assert_eq!(stage.report().missed, 0);
}

#[test]
fn what_was_posted_before_anybody_was_there_is_not_missed() {
    let mut stage = Stage::new();
    let rock = stage.world.spawn(());
    stage.switch(false);
    stage.post(rock, 0, 1);
    stage.ticks(3);
    stage.switch(true);
    let puppet = stage.puppet("ann").act(await_events(rock));
    stage.agent(puppet);
    assert_eq!(stage.ticks(2), ["ann ticks"]);
    assert_eq!(stage.report().missed, 0);
}

#[derive(Component)]
struct Asked;

#[test]
fn a_request_that_a_panic_elsewhere_has_undone_is_not_waited_for_in_silence() {
    let mut stage = Stage::new();
    let rock = stage.world.spawn(());
    let ask = move |tick: &mut Tick<'_, Theatre>| {
        tick.unsubscribe_all();
        tick.subscribe(rock, ZERO);
        tick.commands().insert(rock, Asked);
        Status::Blocked
    };
    let puppet = stage.puppet("ann").act(ask).act(ask).act(|_| done());
    stage.agent(puppet);
    stage.sabotage(true);
    assert_eq!(stage.failing_tick(), ["ann ticks"]);
    assert!(!stage.world.has::<Asked>(rock));
    stage.sabotage(false);
    assert_eq!(stage.tick(), [missed("ann", rock), "ann ticks".into()]);
    assert!(stage.world.has::<Asked>(rock));
    assert_eq!(stage.tick(), [""; 0]);
    // Nor was the mark by which deaths are known lost.
    stage.world.despawn(rock).unwrap();
    assert_eq!(stage.tick()[0], format!("ann hears that {rock} died"));
}

#[test]
fn a_panic_in_hearing_is_not_heard_again_and_costs_nobody_else_the_news() {
    let mut stage = Stage::new();
    let rock = stage.world.spawn(());
    for (name, stumbles) in [("ann", true), ("bea", false)] {
        let puppet = stage.puppet(name).act(await_events(rock));
        stage.agent(if stumbles { puppet.stumbling() } else { puppet });
    }
    stage.tick();
    stage.post(rock, 0, 1);
    assert_eq!(stage.failing_tick(), [format!("ann hears 1 of {rock}")]);
    let again = [missed("ann", rock), missed("bea", rock), "ann ticks".into(), "bea ticks".into()];
    assert_eq!(stage.tick(), again);
    assert_eq!(stage.tick(), [""; 0]);
    stage.check();
}

#[test]
fn a_panic_in_hearing_of_a_death_costs_nobody_else_the_news() {
    let mut stage = Stage::new();
    let rock = stage.world.spawn(());
    for (name, stumbles) in [("ann", true), ("bea", false)] {
        let puppet = stage.puppet(name).act(move |tick| {
            tick.unsubscribe_all();
            tick.subscribe(rock, EventKinds::NONE);
            Status::Blocked
        });
        let puppet = puppet.act(|_| done());
        stage.agent(if stumbles { puppet.stumbling() } else { puppet });
    }
    stage.tick();
    stage.world.despawn(rock).unwrap();
    assert_eq!(stage.failing_tick(), [format!("ann hears that {rock} died")]);
    let log = stage.tick();
    let bea = format!("bea hears that {rock} died");
    assert_eq!(log, [&bea, "ann ticks", "ann done", "bea ticks", "bea done"]);
    stage.check();
}

#[test]
fn a_proposal_survives_the_panic_in_the_end_of_what_it_interrupts() {
    let mut stage = Stage::new();
    let rock = stage.world.spawn(());
    let ann = stage.puppet("ann").act(await_events(rock)).falling();
    let agent = stage.agent(ann);
    stage.tick();
    let bea = stage.puppet("bea").act(await_events(rock));
    activity::order(&mut stage.world, agent, 3, bea).unwrap();
    assert_eq!(stage.failing_tick(), ["ann interrupted"]);
    assert_eq!(stage.slot(agent).priority(), 3);
    assert_eq!(stage.tick(), ["bea ticks"]);
    assert!(stage.is_blocked(agent));
}

#[test]
fn an_answer_looks_at_the_subscriptions_of_who_has_asked_alone() {
    let mut stage = Stage::new();
    let bread = stage.world.spawn(());
    let tokens = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..300 {
        let noted = tokens.clone();
        let puppet = stage
            .puppet("ann")
            .act(move |tick| {
                (0..2).for_each(|_| _ = tick.subscribe(tick.agent(), ZERO));
                noted.lock().unwrap().push(tick.subscribe(bread, ZERO));
                Status::Blocked
            })
            .act(|tick| {
                // Of the three that it has.
                let token = tick.subscriptions()[2].token(tick.task());
                assert!(tick.unsubscribe(token));
                Status::Blocked
            });
        stage.agent(puppet);
    }
    stage.tick();
    assert_eq!(stage.report().looked_at, 0);
    let token = tokens.lock().unwrap()[150];
    stage.send(Posted::about(bread, Ping { kind: 0, number: 1 }).answering(token));
    assert_eq!(stage.tick().len(), 2);
    let report = stage.report();
    assert_eq!(report.told, 1);
    assert!(report.looked_at <= 3 + 3, "to tell one and to end one: {report:?}");
    // Those who all wait for it are looked at once each.
    stage.post(bread, 0, 2);
    stage.tick();
    assert_eq!(stage.report().told, 299);
    assert!(stage.report().looked_at <= 299 * (1 + 3));
}

#[test]
fn a_subject_costs_no_memory_by_its_number() {
    let mut stage = Stage::new();
    let strangers: Vec<Entity> = [u32::MAX - 7, 1 << 30, 70_000, 3]
        .map(|index| Entity::from_bits(9 << 32 | u64::from(index)).unwrap())
        .into();
    let subjects = strangers.clone();
    let puppet = stage
        .puppet("ann")
        .act(move |tick| {
            let tokens: Vec<Token> =
                subjects.iter().chain(&subjects).map(|&it| tick.subscribe(it, ZERO)).collect();
            assert!(tokens[1..3].iter().all(|&token| tick.unsubscribe(token)));
            Status::Blocked
        })
        .act(|_| done());
    stage.agent(puppet);
    stage.tick();
    let subscriptions = stage.world.resource::<Subscriptions<Puppet>>().unwrap();
    assert!(subscriptions.wants(strangers[0], ZERO) && subscriptions.wants(strangers[2], ZERO));
    let kept = format!("{subscriptions:?}");
    let places = kept.split("places: ").nth(1).unwrap().split(',').next().unwrap();
    assert!(places.parse::<usize>().unwrap() < 1_000, "{kept}");
    let log = stage.tick();
    let deaths = log.iter().filter(|line| line.contains("died")).count();
    assert_eq!((deaths, log.last().unwrap().as_str()), (6, "ann done"));
}

#[test]
fn a_thread_outside_wakes_whom_it_has_a_waker_of_and_nobody_else() {
    let mut stage = Stage::new();
    let wakers = Arc::new(Mutex::new(Vec::new()));
    for name in ["ann", "bea"] {
        let given = wakers.clone();
        let puppet = stage
            .puppet(name)
            .act(move |tick| {
                let token = tick.subscribe(tick.agent(), EventKinds::NONE);
                given.lock().unwrap().push(tick.waker(token));
                Status::Blocked
            })
            .act(|_| Status::Blocked)
            .act(|tick| {
                tick.unsubscribe_all();
                tick.subscribe(tick.agent(), EventKinds::NONE);
                Status::Blocked
            });
        stage.agent(puppet);
    }
    assert_eq!(stage.ticks(2), ["ann ticks", "bea ticks"]);
    let ann = wakers.lock().unwrap()[0].clone();
    let call = |waker: &std::task::Waker| {
        let waker = waker.clone();
        std::thread::spawn(move || (0..3).for_each(|_| waker.wake_by_ref())).join().unwrap();
    };
    call(&ann);
    assert_eq!(stage.ticks(2), ["ann ticks"]);
    call(&ann);
    assert_eq!(stage.ticks(2), ["ann ticks"]);
    call(&ann);
    assert_eq!(stage.ticks(2), [""; 0], "it has ended the subscription");
}

#[test]
fn a_waker_that_a_panic_elsewhere_has_undone_is_not_waited_for_in_silence() {
    let mut stage = Stage::new();
    let ask = |tick: &mut Tick<'_, Theatre>| {
        tick.unsubscribe_all();
        let agent = tick.agent();
        tick.subscribe(agent, EventKinds::NONE);
        // The waker would go with a command.
        tick.commands().insert(agent, Asked);
        Status::Blocked
    };
    let puppet = stage.puppet("ann").act(ask).act(ask).act(|_| done());
    let agent = stage.agent(puppet);
    stage.sabotage(true);
    assert_eq!(stage.failing_tick(), ["ann ticks"]);
    stage.sabotage(false);
    assert_eq!(stage.tick(), [missed("ann", agent), "ann ticks".into()]);
    assert!(stage.world.has::<Asked>(agent));
    assert_eq!(stage.tick(), [""; 0]);
}
