//! Every activity that was begun is finished once, however it ends.

use formic_ai::action::Ended;
use formic_ai::activity::{self, ActivitySlot, Ending, EventKinds, Response, State, Status};
use formic_ai::prelude::*;

use crate::puppet::{Puppet, Stage, done};

fn block_on_self(tick: &mut activity::Tick<'_, crate::puppet::Theatre>) -> crate::puppet::Outcome {
    tick.subscribe(tick.agent(), EventKinds::one(0));
    Status::Blocked
}

#[test]
fn an_activity_is_ticked_until_it_is_done_and_then_the_agent_is_idle() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(|_| Status::Ongoing).act(|_| done());
    let agent = stage.agent(puppet);
    assert_eq!(stage.tick(), ["ann ticks"]);
    assert_eq!(stage.slot(agent).state(), State::Active);
    assert_eq!(stage.slot(agent).to_string(), "ann");
    assert_eq!(stage.tick(), ["ann ticks", "ann done"]);
    assert_eq!(stage.tick(), [""; 0]);
    assert_eq!(stage.slot(agent).state(), State::Idle);
    assert_eq!(stage.slot(agent).to_string(), "idle");
    assert_eq!(stage.ended(agent), Some(Ended::Success));
}

#[test]
fn a_failure_says_why_to_whoever_reads_it() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(|_| Status::Finished(Ending::Failed("no bread")));
    let agent = stage.agent(puppet);
    assert_eq!(stage.tick(), ["ann ticks", "ann fails: no bread"]);
    assert_eq!(stage.ended(agent), Some(Ended::Failed));
    assert_eq!(stage.endings(), [Ending::Failed("no bread")]);
}

#[test]
fn an_order_interrupts_what_is_blocked_without_another_tick_of_it() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(block_on_self);
    let agent = stage.agent(puppet);
    stage.tick();
    assert!(stage.is_blocked(agent));
    let next = stage.puppet("bea").act(block_on_self);
    activity::order(&mut stage.world, agent, 0, next).unwrap();
    assert_eq!(stage.tick(), ["ann interrupted", "bea ticks"]);
    assert!(stage.is_blocked(agent));
    // What the first one waited for wakes only the second.
    stage.post(agent, 0, 7);
    assert_eq!(stage.tick(), [format!("bea hears 7 of {agent}"), "bea ticks".into()]);
    assert_eq!(stage.ended(agent), Some(Ended::Interrupted));
}

#[test]
fn to_stop_is_to_be_interrupted_by_nothing() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(block_on_self);
    let agent = stage.agent(puppet);
    stage.tick();
    activity::stop::<Puppet>(&mut stage.world, agent).unwrap();
    assert_eq!(stage.tick(), ["ann interrupted"]);
    activity::stop::<Puppet>(&mut stage.world, agent).unwrap();
    assert_eq!(stage.tick(), [""; 0]);
    assert_eq!(stage.slot(agent).state(), State::Idle);
}

#[test]
fn only_a_higher_priority_is_taken_and_the_refused_activity_comes_back() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(block_on_self);
    let agent = stage.agent(puppet);
    stage.tick();
    let offers = [(0, false), (1, false), (5, true), (4, false), (6, true)];
    for (priority, is_taken) in offers {
        let offer = stage.puppet("bea").act(block_on_self);
        let row = stage
            .world
            .query_one::<(&mut ActivitySlot<Puppet>, EnabledMut<activity::Blocking>)>(agent);
        let (slot, mut blocking) = row.unwrap();
        assert_eq!(slot.takes(priority), is_taken);
        assert_eq!(slot.propose(priority, offer, &mut blocking).is_ok(), is_taken);
    }
    assert_eq!(stage.tick(), ["ann interrupted", "bea ticks"]);
    assert_eq!(stage.slot(agent).priority(), 6);
}

#[test]
fn an_agent_that_is_despawned_has_its_activity_finished_and_is_gone_then() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(block_on_self);
    let agent = stage.agent(puppet);
    let other = stage.puppet("bea").act(|_| Status::Ongoing);
    let other = stage.agent(other);
    stage.tick();
    stage.world.despawn(agent).unwrap();
    stage.world.despawn(other).unwrap();
    stage.post(agent, 0, 1);
    assert_eq!(stage.tick(), ["ann interrupted", "bea interrupted"]);
    assert!(!stage.world.contains(agent) && !stage.world.contains(other));
    stage.post(agent, 0, 1);
    assert_eq!(stage.tick(), [""; 0]);
    assert!(stage.world.resource::<activity::Subscriptions<Puppet>>().unwrap().is_empty());
}

#[test]
fn an_idle_agent_that_is_despawned_is_gone_after_the_next_run() {
    let mut stage = Stage::new();
    let agent = stage.world.spawn(activity::idle::<Puppet>());
    stage.world.despawn(agent).unwrap();
    assert_eq!(stage.tick(), [""; 0]);
    assert!(!stage.world.contains(agent));
}

#[test]
fn whoever_removes_the_component_ends_the_subscriptions() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(block_on_self);
    let agent = stage.agent(puppet);
    stage.tick();
    stage.world.remove::<ActivitySlot<Puppet>>(agent).unwrap();
    stage.post(agent, 0, 1);
    assert_eq!(stage.tick(), [""; 0]);
    assert!(stage.world.resource::<activity::Subscriptions<Puppet>>().unwrap().is_empty());
    // A new one starts from nothing.
    stage.world.insert(agent, activity::idle::<Puppet>()).unwrap();
    stage.post(agent, 0, 2);
    assert_eq!(stage.tick(), [""; 0]);
}

#[test]
fn a_world_that_is_cleared_leaves_no_subscriptions() {
    let mut stage = Stage::new();
    for name in ["ann", "bea", "cat"] {
        let puppet = stage.puppet(name).act(block_on_self);
        stage.agent(puppet);
    }
    stage.tick();
    assert_eq!(stage.world.resource::<activity::Subscriptions<Puppet>>().unwrap().len(), 3);
    stage.world.clear();
    let puppet = stage.puppet("dan").act(block_on_self);
    let agent = stage.agent(puppet);
    assert_eq!(stage.tick(), ["dan ticks"]);
    stage.post(agent, 0, 3);
    assert_eq!(stage.tick(), [format!("dan hears 3 of {agent}"), "dan ticks".into()]);
    assert_eq!(stage.world.resource::<activity::Subscriptions<Puppet>>().unwrap().len(), 2);
}

#[test]
fn a_panic_in_a_tick_leaves_the_others_and_finishes_nobody_twice() {
    let mut stage = Stage::new();
    let mut panics = [true, true].into_iter();
    let puppet = stage.puppet("ann").act(move |_| {
        assert!(panics.next().is_none(), "on purpose");
        done()
    });
    let ann = stage.agent(puppet);
    let puppet = stage.puppet("bea").act(block_on_self);
    let bea = stage.agent(puppet);
    for _ in 0..2 {
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
        assert!(run.is_err());
    }
    let log = stage.tick();
    assert_eq!(log.iter().filter(|line| *line == "ann done").count(), 1);
    assert_eq!(stage.ended(ann), Some(Ended::Success));
    stage.post(bea, 0, 4);
    let log = stage.tick();
    assert!(log.contains(&format!("bea hears 4 of {bea}")), "{log:?}");
    stage.check();
}

#[test]
fn what_somebody_has_subscribed_to_survives_the_panic_of_another() {
    let mut stage = Stage::new();
    let rock = stage.world.spawn(());
    // Before the one that panics, in the order of rows.
    let puppet = stage.puppet("bea").act(move |tick| {
        tick.subscribe(tick.agent(), EventKinds::one(0));
        tick.subscribe(rock, EventKinds::NONE);
        Status::Blocked
    });
    let bea = stage.agent(puppet);
    let mut panics = [true].into_iter();
    let puppet = stage.puppet("ann").act(move |_| {
        assert!(panics.next().is_none(), "on purpose");
        done()
    });
    stage.agent(puppet);
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
    assert!(run.is_err() && stage.is_blocked(bea));
    stage.tick();
    stage.check();
    stage.post(bea, 0, 4);
    stage.world.despawn(rock).unwrap();
    let log = stage.tick();
    assert!(log.contains(&format!("bea hears 4 of {bea}")), "{log:?}");
    assert!(
        log.iter().any(|line| line.starts_with("bea") && line.contains(&rock.to_string())),
        "{log:?}"
    );
    stage.check();
}

#[test]
fn one_that_waits_for_nothing_is_not_let_sleep() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(|_| Status::Blocked);
    let agent = stage.agent(puppet);
    assert_eq!(stage.ticks(2), ["ann ticks", "ann ticks"]);
    assert_eq!(stage.report().waiting_for_nothing, 1);
    assert!(!stage.is_blocked(agent));
}

#[test]
fn one_that_means_to_sleep_until_interrupted_can() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(|tick| {
        tick.subscribe(tick.agent(), EventKinds::NONE);
        Status::Blocked
    });
    let agent = stage.agent(puppet.answering(Response::SLEEP));
    stage.tick();
    (0..64).for_each(|kind| stage.post(agent, kind, kind));
    assert_eq!(stage.tick(), [""; 0]);
    assert!(stage.is_blocked(agent));
}

#[test]
fn a_bit_that_somebody_has_flipped_ticks_nobody_who_sleeps() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(block_on_self);
    let agent = stage.agent(puppet);
    stage.tick();
    stage.world.set_enabled::<activity::Blocking>(agent, false).unwrap();
    assert_eq!(stage.tick(), [""; 0]);
    assert!(stage.is_blocked(agent));
}

#[test]
fn a_mind_can_stop_an_activity_and_propose_another_before_it_has_ended() {
    type Row = (&'static mut ActivitySlot<Puppet>, EnabledMut<activity::Blocking>);
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(block_on_self);
    let agent = stage.agent(puppet);
    stage.tick();
    let (slot, mut blocking) = stage.world.query_one::<Row>(agent).unwrap();
    slot.stop(&mut blocking);
    assert!(!blocking.get() && slot.takes(0), "any is taken by one that is to stop");
    assert_eq!(stage.tick(), ["ann interrupted"]);
    assert_eq!(
        (stage.ended(agent), stage.slot(agent).state()),
        (Some(Ended::Interrupted), State::Idle)
    );
    // A proposal is dropped by the order to stop, and one that comes after it is begun.
    let [bea, cat, dan] = ["bea", "cat", "dan"].map(|name| stage.puppet(name).act(block_on_self));
    let (slot, mut blocking) = stage.world.query_one::<Row>(agent).unwrap();
    assert!(slot.propose(1, bea, &mut blocking).is_ok());
    assert_eq!(stage.tick(), ["bea ticks"]);
    let (slot, mut blocking) = stage.world.query_one::<Row>(agent).unwrap();
    assert!(slot.propose(9, cat, &mut blocking).is_ok());
    slot.stop(&mut blocking);
    assert!(slot.propose(0, dan, &mut blocking).is_ok());
    assert!(!slot.takes(0) && slot.takes(1));
    assert_eq!(stage.tick(), ["bea interrupted", "dan ticks"]);
}
