//! Agents and actions that go: nothing is left behind, and what has begun is cleaned up once.

mod support;

use ai::action::despawn_agent;
use ai::prelude::*;
use ecs_core::InstantiateError;
use support::{Failed, Running, Stage, Success, Task, instant, lasting};

/// Begins, goes on for ever, and never asks for its agent.
fn endless(name: &'static str) -> Task {
    Task::new(name, &[&[Running; 1_000]])
}

#[test]
fn an_agent_may_go_at_any_time_and_takes_its_actions_with_it() {
    const CLUMSY: &[support::Run] = &[&[Running, Failed], &[Failed], &[Running, Running, Success]];
    for on_failure in [OnFailure::Retry, OnFailure::Advance] {
        for ticks in 0..12 {
            let mut stage = Stage::new();
            let tasks = || [lasting::<2>("walk"), Task::new("climb", CLUMSY), instant("take")];
            let agent = stage.spawn(on_failure, tasks());
            let other = stage.spawn(on_failure, tasks());
            stage.ticks(ticks);
            despawn_agent(&mut stage.world, agent).unwrap();
            assert_eq!(stage.world.len(), 1 + 3);
            assert!(stage.actions(agent).is_empty());
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
            despawn_agent(&mut stage.world, agent).unwrap();
            assert_eq!(stage.world.len(), 2, "action {gone}, tick {ticks}");
        }
    }
}

#[test]
fn an_entity_without_actions_goes_alone() {
    let mut stage = Stage::new();
    let entity = stage.world.spawn(());
    stage.spawn(OnFailure::Retry, [instant("a")]);
    despawn_agent(&mut stage.world, entity).unwrap();
    assert_eq!(stage.world.len(), 2);
    assert_eq!(despawn_agent(&mut stage.world, entity).unwrap_err().0, entity);
}

#[test]
fn an_action_under_way_is_cleaned_up_as_failed_once_its_agent_is_gone() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [endless("walk"), instant("take")]);
    assert_eq!(stage.tick(), ["walk starts", "walk goes on"]);
    let walk = stage.agent(agent).current();
    stage.world.despawn(agent).unwrap();
    assert_eq!(stage.tick(), ["walk has failed"]);
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
fn an_agent_that_gives_up_its_sequence_loses_the_action_when_it_ends() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [lasting::<2>("walk"), instant("take")]);
    stage.tick();
    let walk = stage.agent(agent).current();
    stage.world.remove::<(SequenceAgent,)>(agent).unwrap();
    assert_eq!(stage.tick(), ["walk goes on", "walk is done"]);
    assert!(!stage.world.contains(walk) && stage.world.contains(agent));
    assert!(stage.ticks(3).is_empty());
}

#[test]
fn an_agent_whose_current_action_is_gone_stays_and_disturbs_nobody() {
    for ticks in 0..6 {
        let tasks = || [lasting::<2>("walk"), instant("take")];
        let (mut stage, agent) = Stage::with(OnFailure::Retry, tasks());
        let other = stage.spawn(OnFailure::Retry, tasks());
        stage.ticks(ticks);
        let current = stage.agent(agent).current();
        stage.world.despawn(current).unwrap();
        let before = stage.agent(other).advances();
        stage.ticks(6);
        assert_eq!(stage.agent(agent).current(), current);
        assert_eq!(stage.agent(other).advances(), before + 4);
        assert_eq!(stage.executing().len(), 1);
    }
}

#[test]
fn an_agent_whose_next_action_is_gone_stays_there() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, ["a", "b", "c"].map(instant));
    let b = stage.actions(agent)[1];
    stage.world.despawn(b).unwrap();
    assert_eq!(stage.tick(), ["a starts", "a is done"]);
    assert!(stage.ticks(4).is_empty());
    assert_eq!(stage.agent(agent).current(), b);
    assert!(stage.executing().is_empty());
    despawn_agent(&mut stage.world, agent).unwrap();
    assert!(stage.world.is_empty());
}

#[test]
fn neither_an_action_nor_an_agent_can_be_instantiated() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [endless("walk")]);
    stage.tick();
    let action = stage.agent(agent).current();
    for entity in [agent, action] {
        let refused = stage.world.instantiate(entity, 1).unwrap_err();
        assert!(matches!(refused, InstantiateError::NotClone { .. }), "{refused}");
    }
    assert_eq!(stage.world.len(), 2);
}

#[test]
fn the_slot_of_a_dead_agent_may_be_used_again() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [endless("walk")]);
    stage.tick();
    stage.world.despawn(agent).unwrap();
    let heir = stage.spawn(OnFailure::Retry, [instant("take")]);
    assert_eq!(heir.index(), agent.index());
    assert_eq!(stage.tick(), ["walk has failed", "take starts", "take is done"]);
    assert_eq!(stage.world.len(), 2);
}
