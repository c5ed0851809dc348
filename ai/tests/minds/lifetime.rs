//! Agents and actions that go: nothing is left behind, and what has begun is cleaned up once.

use crate::support::{Failed, Running, Stage, Success, Task, instant, lasting};
use formic_ai::prelude::*;
use formic_ecs::{Buffer, ComponentError, InstantiateError};

/// Begins, goes on for ever, and never asks for its agent.
fn endless(name: &'static str) -> Task {
    Task::new(name, &[&[Running; 1_000]])
}

#[test]
fn an_agent_may_go_at_any_time_and_takes_its_actions_with_it() {
    const CLUMSY: &[crate::support::Run] =
        &[&[Running, Failed], &[Failed], &[Running, Running, Success]];
    for on_failure in [OnFailure::Retry, OnFailure::Advance] {
        for ticks in 0..12 {
            let mut stage = Stage::new();
            let tasks = || [lasting::<2>("walk"), Task::new("climb", CLUMSY), instant("take")];
            let agent = stage.spawn(on_failure, tasks());
            let other = stage.spawn(on_failure, tasks());
            stage.ticks(ticks);
            stage.world.despawn(agent).unwrap();
            // One that is underway is tidied up first.
            assert!(stage.world.len() <= 1 + 3 + 1);
            let calls = stage.tick();
            let interrupted = calls.iter().filter(|call| call.ends_with("is interrupted")).count();
            assert_eq!(stage.world.len(), 1 + 3);
            assert!(interrupted <= 1);
            stage.ticks(5);
            assert_eq!(stage.actions(other).len(), 3);
        }
    }
}

#[test]
fn an_agent_takes_all_of_its_actions_with_it_though_some_are_gone() {
    for gone in 0..4 {
        for ticks in 0..5 {
            let (mut stage, agent) =
                Stage::with(OnFailure::Retry, ["a", "b", "c", "d"].map(instant));
            stage.spawn(OnFailure::Retry, [instant("other")]);
            stage.ticks(ticks);
            let action = stage.actions(agent)[gone];
            stage.world.despawn(action).unwrap();
            stage.world.despawn(agent).unwrap();
            stage.tick();
            assert_eq!(stage.world.len(), 2, "action {gone}, tick {ticks}");
        }
    }
}

#[test]
fn actions_that_the_list_of_an_agent_has_lost_count_as_failed() {
    for ticks in 0..4 {
        let (mut stage, agent) =
            Stage::with(OnFailure::Advance, [lasting::<2>("walk"), instant("take")]);
        let other = stage.spawn(OnFailure::Retry, [instant("other")]);
        stage.ticks(ticks);
        stage.world.insert(agent, Buffer::<OwnedAction>::new()).unwrap();
        let before = stage.agent(other).advances();
        stage.ticks(6);
        assert_eq!(stage.agent(other).advances(), before + 6, "after {ticks} ticks");
    }
}

#[test]
fn an_entity_without_actions_goes_alone() {
    let mut stage = Stage::new();
    let entity = stage.world.spawn(());
    stage.spawn(OnFailure::Retry, [instant("a")]);
    stage.world.despawn(entity).unwrap();
    assert_eq!(stage.world.len(), 2);
    assert_eq!(stage.world.despawn(entity).unwrap_err().0, entity);
}

#[test]
fn an_action_under_way_is_interrupted_once_its_agent_is_gone() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [endless("walk"), instant("take")]);
    assert_eq!(stage.tick(), ["walk starts", "walk goes on"]);
    let walk = stage.current(agent);
    stage.world.despawn(agent).unwrap();
    assert_eq!(stage.world.len(), 1, "the others are gone at once");
    assert_eq!(stage.tick(), ["walk is interrupted"]);
    assert!(!stage.world.contains(walk));
    assert!(stage.ticks(3).is_empty());
}

#[test]
fn an_action_that_has_not_begun_is_not_cleaned_up() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [endless("walk")]);
    stage.pause(true);
    stage.tick();
    assert_eq!(stage.executing().len(), 1);
    stage.world.despawn(agent).unwrap();
    stage.pause(false);
    assert!(stage.tick().is_empty());
    assert!(stage.world.is_empty());
}

#[test]
fn an_action_that_has_ended_is_not_cleaned_up_again() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [instant("take"), endless("walk")]);
    assert_eq!(stage.tick(), ["take starts", "take is done"]);
    stage.world.despawn(agent).unwrap();
    assert!(stage.ticks(3).is_empty());
    assert!(stage.executing().is_empty());
}

#[test]
fn an_agent_that_gives_up_its_body_loses_its_actions() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [lasting::<2>("walk"), instant("take")]);
    stage.tick();
    stage.world.remove::<(Body,)>(agent).unwrap();
    assert_eq!(stage.tick(), ["walk is interrupted"]);
    assert_eq!(stage.world.len(), 1);
    assert!(stage.ticks(3).is_empty());
    // It may have another body, with which what was left of the first has nothing to do.
    Sequence::new().then(instant("wave")).attach(&mut stage.world, agent).unwrap();
    assert_eq!(stage.tick(), ["wave starts", "wave is done"]);
}

#[test]
fn an_action_of_a_former_body_does_not_report_to_the_next_one() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, ["a", "b"].map(endless));
    stage.tick();
    stage.world.remove::<(Body,)>(agent).unwrap();
    Sequence::new().then(endless("wave")).attach(&mut stage.world, agent).unwrap();
    let mut calls = stage.tick();
    calls.sort();
    assert_eq!(calls, ["a is interrupted", "wave goes on", "wave starts"]);
    assert_eq!(stage.agent(agent).advances(), 0);
    assert_eq!(stage.world.len(), 2);
}

#[test]
fn an_action_that_is_gone_counts_as_failed_and_disturbs_nobody() {
    for ticks in 0..6 {
        let tasks = || [lasting::<2>("walk"), instant("take")];
        let mut stage = Stage::new();
        let agent = stage.spawn(OnFailure::Stop, tasks());
        let other = stage.spawn(OnFailure::Retry, tasks());
        stage.ticks(ticks);
        let current = stage.current(agent);
        stage.world.despawn(current).unwrap();
        let (before, place) = (stage.agent(other).advances(), stage.place(agent));
        stage.ticks(6);
        assert_eq!((stage.place(agent), stage.agent(agent).current()), (place, place));
        assert_eq!(stage.agent(other).advances(), before + 4);
        assert_eq!(stage.world.get::<Body>(agent).unwrap().running().count(), 0);
        assert!(stage.executing().len() <= 1);
    }
}

#[test]
fn an_action_that_is_gone_is_passed_over_where_the_policy_is_to_advance() {
    let (mut stage, agent) = Stage::with(OnFailure::Advance, ["a", "b", "c"].map(instant));
    let b = stage.actions(agent)[1];
    stage.world.despawn(b).unwrap();
    let calls = stage.ticks(4).into_iter().filter(|call| call.ends_with("starts"));
    assert_eq!(calls.collect::<Vec<_>>(), ["a starts", "c starts", "a starts"]);
    stage.world.despawn(agent).unwrap();
    assert!(stage.world.is_empty());
}

#[test]
fn a_second_mind_acts_for_the_agent_and_goes_with_it() {
    let mut stage = Stage::new();
    let agent = stage.spawn(OnFailure::Retry, [endless("walk")]);
    let talk = ActionSet::new().action("talk", endless("talk")).action("hum", endless("hum"));
    let mouth = talk.attach_mind(&mut stage.world, agent, ()).unwrap();
    SequenceAgent::drive(&mut stage.world, mouth, OnFailure::Retry).unwrap();
    let mut calls = stage.tick();
    calls.sort();
    assert_eq!(calls, ["talk goes on", "talk starts", "walk goes on", "walk starts"]);
    let owners = stage.world.query_ref::<&Action>().map(|it| (it.agent(), it.owner()));
    assert!(owners.into_iter().all(|(of, owner)| of == agent && [agent, mouth].contains(&owner)));
    stage.world.despawn(agent).unwrap();
    assert!(!stage.world.contains(mouth));
    let mut calls = stage.tick();
    calls.sort();
    assert_eq!(calls, ["talk is interrupted", "walk is interrupted"]);
    assert!(stage.world.is_empty());
}

#[test]
fn neither_an_action_nor_an_agent_can_be_instantiated() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [endless("walk")]);
    stage.tick();
    let action = stage.current(agent);
    for entity in [agent, action] {
        let refused = stage.world.instantiate(entity, 1).unwrap_err();
        assert!(matches!(refused, InstantiateError::NotClone { .. }), "{refused}");
    }
    let refused = stage.world.instantiate(agent, 1).unwrap_err().to_string();
    assert!(refused.contains("Body cannot be copied") && refused.contains("`ActionSet::spawn`"));
    assert_eq!(stage.world.len(), 2);
}

#[test]
fn the_slot_of_a_dead_agent_may_be_used_again() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [endless("walk")]);
    stage.tick();
    stage.world.despawn(agent).unwrap();
    let heir = stage.spawn(OnFailure::Retry, [instant("take")]);
    assert_eq!(heir.index(), agent.index());
    let mut calls = stage.tick();
    calls.sort();
    assert_eq!(calls, ["take is done", "take starts", "walk is interrupted"]);
    assert_eq!(stage.world.len(), 2);
}

#[test]
fn an_entity_without_a_body_is_told_where_one_comes_from() {
    let mut world = World::new();
    let stone = world.spawn(());
    let error = SequenceAgent::drive(&mut world, stone, OnFailure::Retry);
    let told = error.expect_err("a stone has no body").to_string();
    assert!(
        told.ends_with("no component Body, which `ActionSet::attach` gives to an agent"),
        "{told}"
    );
    world.despawn(stone).expect("it is there");
    let error = SequenceAgent::drive(&mut world, stone, OnFailure::Retry);
    assert!(matches!(error, Err(ComponentError::NoSuchEntity(_))), "{error:?}");
}
