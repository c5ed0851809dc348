//! Waking by the clock.

use formic_ai::activity::{EventKinds, Response, State, Status, Subscriptions};

use crate::puppet::{Puppet, Stage, done};

#[test]
fn a_timer_wakes_in_its_tick_and_not_before() {
    let mut stage = Stage::new();
    for ticks in [1, 2, 7] {
        let puppet = stage
            .puppet("ann")
            .act(move |tick| {
                tick.wake_after(ticks);
                Status::Blocked
            })
            .act(|_| done());
        let ann = stage.agent(puppet.answering(Response::WAKE));
        stage.tick();
        for _ in 1..ticks {
            assert_eq!(stage.tick(), [""; 0]);
        }
        assert_eq!(stage.tick(), ["ann hears the clock", "ann ticks", "ann done"]);
        assert_eq!(stage.slot(ann).state(), State::Idle);
    }
}

#[test]
fn a_tick_that_is_past_is_the_next_one() {
    let mut stage = Stage::new();
    let puppet = stage
        .puppet("ann")
        .act(|tick| {
            tick.wake_at(0);
            Status::Blocked
        })
        .act(|_| done());
    stage.agent(puppet);
    assert_eq!(stage.ticks(2).len(), 4);
    let puppet = stage.puppet("bea").act(|tick| {
        tick.wake_after(0);
        assert_eq!(tick.subscriptions()[0].due(), Some(tick.now() + 1));
        Status::Blocked
    });
    let bea = stage.agent(puppet);
    stage.tick();
    assert!(stage.is_blocked(bea), "it did so");
}

#[test]
fn timers_of_one_agent_come_by_time_and_then_by_the_order_of_setting() {
    let mut stage = Stage::new();
    let puppet = stage
        .puppet("ann")
        .act(|tick| {
            tick.wake_at(9);
            tick.wake_at(5);
            let cancelled = tick.wake_at(5);
            tick.wake_at(5);
            assert!(tick.unsubscribe(cancelled));
            tick.subscribe(tick.agent(), EventKinds::NONE);
            assert_eq!(tick.subscriptions().len(), 4);
            Status::Blocked
        })
        .act(|_| Status::Blocked);
    let ann = stage.agent(puppet.answering(Response::SLEEP));
    assert_eq!(stage.ticks(4), ["ann ticks"]);
    assert_eq!(stage.tick(), ["ann hears the clock", "ann hears the clock"]);
    assert_eq!(stage.slot(ann).subscriptions()[0].due(), Some(9));
    assert_eq!(stage.ticks(4), ["ann hears the clock"]);
}

#[test]
fn timers_that_are_cancelled_again_and_again_do_not_pile_up() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(|tick| {
        tick.unsubscribe_all();
        tick.wake_after(1_000_000);
        Status::Ongoing
    });
    stage.agent(puppet);
    stage.ticks(1_000);
    let subscriptions = stage.world.resource::<Subscriptions<Puppet>>().unwrap();
    assert_eq!(subscriptions.len(), 1);
    let kept = format!("{subscriptions:?}");
    let entries: usize =
        kept.split("timers: ").nth(1).unwrap().trim_end_matches(['}', ' ']).parse().unwrap();
    assert!(entries < 100, "{kept}");
}

#[test]
fn timers_that_are_not_due_are_not_looked_at() {
    let mut stage = Stage::new();
    for number in 0..1_000 {
        let puppet = stage
            .puppet("ann")
            .act(move |tick| {
                tick.wake_after(if number % 400 == 7 { 5 } else { 1_000 + number });
                Status::Blocked
            })
            .act(|_| done());
        stage.agent(puppet);
    }
    stage.tick();
    for told in [0, 0, 0, 0, 3, 0] {
        stage.tick();
        let report = stage.report();
        assert_eq!((report.told, report.awake, report.looked_at), (told, told, told));
    }
}
