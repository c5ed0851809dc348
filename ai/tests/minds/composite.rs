//! Actions that consist of others.

use crate::support::{Failed, Run, Running, Stage, Task, instant, lasting};
use formic_ai::action::ActionSetError;
use formic_ai::prelude::*;

const FAILS: &[Run] = &[&[Running, Failed]];
const LONG: &[Run] = &[&[Running; 100]];

fn long(name: &'static str) -> Task {
    Task::new(name, LONG)
}

/// A stage whose agent has this composite, and then `rest`.
fn stage(kind: Composite, parts: impl IntoIterator<Item = Task>) -> (Stage, Entity) {
    let mut stage = Stage::new();
    let parts =
        parts.into_iter().fold(ActionSet::new(), |actions, task| actions.action(task.name, task));
    let actions = ActionSet::new().composite("work", kind, parts).action("rest", instant("rest"));
    let agent = actions.spawn(&mut stage.world, ()).unwrap();
    SequenceAgent::drive(&mut stage.world, agent, OnFailure::Stop).unwrap();
    (stage, agent)
}

#[test]
fn a_sequence_carries_out_its_parts_one_after_the_other() {
    let (mut stage, agent) = stage(Composite::sequence(), [lasting::<1>("walk"), instant("dig")]);
    assert_eq!(stage.tick(), ["walk starts", "walk goes on", "walk is done"]);
    assert_eq!(stage.tick(), ["dig starts", "dig is done"]);
    assert!(stage.tick().is_empty(), "the end of the last part is noticed in the next tick");
    assert_eq!(stage.tick(), ["rest starts", "rest is done"]);
    assert_eq!(stage.agent(agent).advances(), 2);
    assert_eq!(stage.tick(), ["walk starts", "walk goes on", "walk is done"]);
}

#[test]
fn a_sequence_fails_with_the_first_part_that_fails() {
    let (mut stage, agent) = stage(Composite::sequence(), [Task::new("dig", FAILS), long("walk")]);
    assert_eq!(stage.tick(), ["dig starts", "dig goes on", "dig has failed"]);
    assert!(stage.ticks(4).is_empty());
    assert_eq!((stage.place(agent), stage.agent(agent).advances()), (0, 0));
}

#[test]
fn a_race_is_won_by_the_first_part_that_is_done_and_the_others_are_interrupted() {
    let parts = [Task::new("fall", FAILS), lasting::<2>("run"), long("crawl")];
    let (mut stage, agent) = stage(Composite::race(), parts);
    assert_eq!(stage.tick().len(), 3 * 2 + 1);
    assert_eq!(stage.tick(), ["run goes on", "run is done", "crawl goes on"]);
    assert_eq!(stage.tick(), ["crawl is interrupted"]);
    assert_eq!(stage.agent(agent).advances(), 1);
    assert_eq!(stage.tick(), ["rest starts", "rest is done"]);
}

#[test]
fn a_race_is_lost_when_all_parts_have_failed() {
    let (mut stage, agent) = stage(Composite::race(), ["a", "b"].map(|it| Task::new(it, FAILS)));
    assert_eq!(stage.tick().len(), 2 * 3);
    assert!(stage.ticks(3).is_empty());
    assert_eq!(stage.place(agent), 0);
}

#[test]
fn a_join_is_done_when_all_parts_are() {
    let (mut stage, agent) =
        stage(Composite::join(), [lasting::<2>("sing"), lasting::<1>("dance")]);
    let first = ["sing starts", "sing goes on", "dance starts", "dance goes on", "dance is done"];
    assert_eq!(stage.tick(), first);
    assert_eq!(stage.tick(), ["sing goes on", "sing is done"]);
    assert!(stage.tick().is_empty());
    assert_eq!(stage.agent(agent).advances(), 1);
}

#[test]
fn a_join_fails_with_the_first_part_that_fails() {
    let (mut stage, agent) = stage(Composite::join(), [long("sing"), Task::new("dance", FAILS)]);
    assert_eq!(stage.tick().len(), 2 + 3);
    assert_eq!(stage.tick(), ["sing is interrupted"]);
    assert!(stage.ticks(3).is_empty());
    assert_eq!(stage.place(agent), 0);
}

#[test]
fn composites_may_be_parts_of_composites_and_all_goes_with_the_agent() {
    for ticks in 0..12 {
        let mut stage = Stage::new();
        let both = |a, b| ActionSet::new().action(a, instant(a)).action(b, long(b));
        let inner = ActionSet::new()
            .composite("either", Composite::race(), both("hum", "walk"))
            .action("nap", lasting::<2>("nap"));
        let actions = ActionSet::new().composite("day", Composite::sequence(), inner);
        let agent = actions.spawn(&mut stage.world, ()).unwrap();
        SequenceAgent::drive(&mut stage.world, agent, OnFailure::Retry).unwrap();
        assert_eq!(stage.world.len(), 1 + 1 + 2 + 2);
        let mut calls = stage.ticks(ticks);
        stage.world.despawn(agent).unwrap();
        calls.extend(stage.ticks(2));
        assert!(stage.world.is_empty(), "after {ticks} ticks");
        let count = |end: &str| calls.iter().filter(|call| call.ends_with(end)).count();
        let ended = count("is done") + count("is interrupted") + count("has failed");
        assert_eq!(count("starts"), ended, "{calls:?}");
    }
}

#[test]
fn a_composite_that_is_halted_halts_its_parts() {
    let (mut stage, agent) = stage(Composite::join(), [long("sing"), long("dance")]);
    stage.tick();
    stage.world.get_mut::<Body>(agent).unwrap().halt(0);
    stage.world.set_enabled::<formic_ai::action::Switching>(agent, true).unwrap();
    assert_eq!(stage.tick(), ["sing is interrupted", "dance is interrupted"]);
    assert!(stage.executing().is_empty());
}

#[test]
fn composites_lie_in_each_other_up_to_64_deep() {
    let mut world = World::new();
    let deep = |depth: usize| {
        let outer = |parts, _| ActionSet::new().composite("work", Composite::join(), parts);
        (0..depth).fold(ActionSet::new().action("sing", instant("sing")), outer)
    };
    let agent = deep(64).spawn(&mut world, ()).expect("that is not too deep");
    assert!(world.entities().count() > 64);
    world.despawn(agent).expect("it is there");
    assert!(world.is_empty(), "all its actions went with it");
    for depth in [65, 66, 200_000] {
        assert_eq!(deep(depth).spawn(&mut world, ()), Err(ActionSetError::TooDeep));
    }
    assert!(world.is_empty());
}

#[test]
fn a_composite_with_nothing_or_too_much_in_it_is_refused() {
    let mut world = World::new();
    let outer = |parts| ActionSet::new().composite("work", Composite::join(), parts);
    assert_eq!(outer(ActionSet::new()).spawn(&mut world, ()), Err(ActionSetError::Empty));
    assert_eq!(outer(outer(ActionSet::new())).spawn(&mut world, ()), Err(ActionSetError::Empty));
    let many = (0..1025).fold(ActionSet::new(), |actions, _| actions.action("a", instant("a")));
    let error = ActionSetError::TooManyActions { count: 1025 };
    assert_eq!(outer(many).spawn(&mut world, ()), Err(error));
    assert!(world.is_empty());
}
