//! Sequences: one action after the other, each begun, carried on and ended once per activation.

use crate::support::{Failed, Running, Stage, Success, Task, instant, lasting};
use formic_ai::action::ActionSetError;
use formic_ai::prelude::*;
use formic_ecs::NoSuchEntity;

#[test]
fn an_action_is_updated_in_the_tick_in_which_it_starts() {
    let (mut stage, _) = Stage::with(OnFailure::Retry, [lasting::<2>("walk"), instant("take")]);
    assert_eq!(stage.tick(), ["walk starts", "walk goes on"]);
    assert_eq!(stage.tick(), ["walk goes on", "walk is done"]);
    assert_eq!(stage.tick(), ["take starts", "take is done"]);
}

#[test]
fn an_action_that_ends_as_it_starts_is_not_updated() {
    const FAILS: &[crate::support::Run] = &[&[Failed]];
    let (mut stage, _) =
        Stage::with(OnFailure::Advance, [instant("take"), Task::new("drop", FAILS)]);
    assert_eq!(stage.tick(), ["take starts", "take is done"]);
    assert_eq!(stage.tick(), ["drop starts", "drop has failed"]);
}

#[test]
fn after_the_last_action_comes_the_first() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, ["a", "b", "c"].map(instant));
    for advances in 1..=7 {
        stage.tick();
        assert_eq!(stage.agent(agent).advances(), advances);
        assert_eq!(stage.place(agent), advances as usize % 3);
    }
    assert_eq!(stage.world.get::<Body>(agent).unwrap().action_count(), 3);
}

#[test]
fn the_only_action_of_a_sequence_starts_again_and_again() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [lasting::<1>("wait")]);
    for round in 1..=4 {
        assert_eq!(stage.tick(), ["wait starts", "wait goes on", "wait is done"]);
        assert_eq!(stage.agent(agent).advances(), round);
        assert!(stage.executing().is_empty(), "what has ended sleeps");
    }
    let action = stage.world.get::<Action>(stage.current(agent)).unwrap();
    assert_eq!(action.activations(), 4);
}

/// Fails once, and then does not.
const SECOND_TRY: &[crate::support::Run] = &[&[Running, Running, Failed], &[Running, Success]];

#[test]
fn an_action_that_fails_starts_again_where_the_policy_is_to_retry() {
    let (mut stage, agent) =
        Stage::with(OnFailure::Retry, [Task::new("climb", SECOND_TRY), instant("rest")]);
    assert_eq!(stage.tick(), ["climb starts", "climb goes on"]);
    assert_eq!(stage.tick(), ["climb goes on", "climb has failed"]);
    assert_eq!((stage.place(agent), stage.agent(agent).advances()), (0, 0));
    assert_eq!(stage.tick(), ["climb starts", "climb goes on", "climb is done"]);
    assert_eq!(stage.tick(), ["rest starts", "rest is done"]);
}

#[test]
fn an_action_that_fails_is_passed_over_where_the_policy_is_to_advance() {
    let (mut stage, agent) =
        Stage::with(OnFailure::Advance, [Task::new("climb", SECOND_TRY), instant("rest")]);
    stage.ticks(2);
    assert_eq!((stage.place(agent), stage.agent(agent).advances()), (1, 1));
    assert_eq!(stage.tick(), ["rest starts", "rest is done"]);
    assert_eq!(stage.tick(), ["climb starts", "climb goes on", "climb is done"]);
}

#[test]
fn the_only_action_is_retried_when_it_fails() {
    let (mut stage, agent) = Stage::with(OnFailure::Retry, [Task::new("climb", SECOND_TRY)]);
    assert_eq!(stage.ticks(3).iter().filter(|call| *call == "climb starts").count(), 2);
    assert_eq!(stage.agent(agent).advances(), 1);
}

#[test]
fn ticks_without_the_action_system_change_nothing_but_the_time() {
    let tasks = || [lasting::<2>("walk"), instant("take"), Task::new("climb", SECOND_TRY)];
    let (mut straight, _) = Stage::with(OnFailure::Retry, tasks());
    let expected: Vec<_> = (0..20).map(|_| straight.tick()).collect();
    for paused_ticks in 1..4 {
        let (mut stage, agent) = Stage::with(OnFailure::Retry, tasks());
        for expected in &expected {
            stage.pause(true);
            let before = stage.agent(agent).advances();
            assert!(stage.ticks(paused_ticks).is_empty());
            assert_eq!(stage.agent(agent).advances(), before);
            stage.pause(false);
            assert_eq!(&stage.tick(), expected);
        }
        assert_eq!(stage.world.state_hash(), straight.world.state_hash());
    }
}

#[test]
fn actions_that_are_asleep_are_not_visited() {
    let mut stage = Stage::new();
    for _ in 0..10 {
        let tasks = [Task::new("wait", &[&[Running; 100]])];
        stage.spawn(OnFailure::Retry, tasks.into_iter().chain(["a", "b", "c", "d"].map(instant)));
    }
    assert_eq!(stage.tick().len(), 20, "ten starts and ten updates");
    for _ in 0..10 {
        assert_eq!(stage.tick(), ["wait goes on"; 10]);
        assert_eq!(stage.executing().len(), 10);
    }
}

#[test]
fn a_new_action_is_asleep() {
    let (stage, agent) = Stage::with(OnFailure::Retry, [instant("a"), instant("b")]);
    assert!(stage.executing().is_empty());
    let current = *stage.world.get::<Action>(stage.current(agent)).unwrap();
    assert_eq!((current.agent(), current.index()), (agent, 0));
    assert_eq!((current.activations(), current.result()), (0, Running));
}

#[test]
fn a_sequence_may_be_told_to_any_number_of_agents() {
    let mut stage = Stage::new();
    let actions = Sequence::new().then(lasting::<1>("walk")).then(instant("take"));
    let agents: Vec<_> = (0..3).map(|_| actions.spawn(&mut stage.world, ()).unwrap()).collect();
    assert_eq!(stage.world.len(), 3 * 3);
    stage.ticks(3);
    for agent in agents {
        assert_eq!((stage.actions(agent).len(), stage.agent(agent).advances()), (2, 3));
    }
}

#[test]
fn a_sequence_without_actions_or_with_too_many_is_refused_and_nothing_is_spawned() {
    let mut world = World::new();
    assert_eq!(Sequence::new().spawn(&mut world, ()), Err(ActionSetError::Empty));
    let long = |count| (0..count).fold(Sequence::new(), |it, _| it.then(instant("a")));
    let error = ActionSetError::TooManyActions { count: 1025 };
    assert_eq!(long(1025).spawn(&mut world, ()), Err(error));
    assert!(world.is_empty());
    let entity = world.spawn(());
    assert_eq!(Sequence::new().attach(&mut world, entity), Err(ActionSetError::Empty));
    assert!(!world.has::<SequenceAgent>(entity));
    assert_eq!(long(1024).attach(&mut world, entity), Ok(()));
    assert_eq!(world.len(), 1 + 1024);
}

#[test]
fn an_entity_of_the_world_is_made_an_agent_once() {
    let mut stage = Stage::new();
    let actions = Sequence::new().then(instant("take"));
    let agent = stage.world.spawn(());
    actions.attach(&mut stage.world, agent).unwrap();
    assert_eq!(actions.attach(&mut stage.world, agent), Err(ActionSetError::Occupied(agent)));
    let gone = stage.world.spawn(());
    stage.world.despawn(gone).unwrap();
    let error = ActionSetError::NoSuchEntity(NoSuchEntity(gone));
    assert_eq!(actions.attach(&mut stage.world, gone), Err(error));
    assert_eq!(stage.world.len(), 2);
    assert_eq!(stage.tick(), ["take starts", "take is done"]);
}

/// Fails three times, and then does not.
const FOURTH_TRY: &[crate::support::Run] = &[&[Failed], &[Failed], &[Failed], &[Success]];

#[test]
fn rests_between_tries_double_up_to_the_longest_and_begin_anew_after_a_success() {
    let back_off = OnFailure::BackOff { ticks: 2, ticks_max: 3 };
    let (mut stage, agent) = Stage::with(back_off, [Task::new("climb", FOURTH_TRY)]);
    for _round in 0..2 {
        for rest in [2, 3, 3] {
            assert_eq!(stage.tick(), ["climb starts", "climb has failed"]);
            assert!(stage.agent(agent).rest_left() > 0);
            assert!(stage.ticks(rest).is_empty(), "it rests for {rest} ticks");
        }
        assert_eq!(stage.tick(), ["climb starts", "climb is done"]);
        assert_eq!(stage.agent(agent).rest_left(), 0);
    }
    assert_eq!(stage.agent(agent).advances(), 2);
}

#[test]
fn a_sequence_that_stops_when_it_fails_waits_to_be_started_again() {
    let tasks = [instant("take"), Task::new("climb", SECOND_TRY)];
    let (mut stage, agent) = Stage::with(OnFailure::Stop, tasks);
    stage.ticks(3);
    assert!(stage.ticks(5).is_empty());
    assert_eq!(stage.place(agent), 1);
    SequenceAgent::drive(&mut stage.world, agent, OnFailure::Stop).unwrap();
    assert_eq!(stage.tick(), ["take starts", "take is done"]);
    assert_eq!(stage.tick(), ["climb starts", "climb goes on", "climb is done"]);
}

#[test]
fn a_system_may_record_commands_beside_its_actions() {
    #[derive(Component, Clone)]
    struct Shout;
    #[derive(Component)]
    struct Echo;
    struct Shouting;
    impl Processor for Shouting {
        type Action = Shout;
        fn start(&self, _agent: Agent<'_>, _action: &mut Shout) -> ActionResult {
            Success
        }
        fn update(&self, _agent: Agent<'_>, _action: &mut Shout) -> ActionResult {
            unreachable!("it ends as it starts")
        }
    }
    fn shout(mut actions: Actions<'_, Shout>, mut commands: Commands<'_>) {
        (0..actions.count()).for_each(|_| _ = commands.spawn(Echo));
        actions.process(&Shouting);
    }
    let mut world = World::new();
    Sequence::new().then(Shout).spawn(&mut world, ()).unwrap();
    let schedule = formic_ai::action::add(Schedule::builder()).add(shout.as_action());
    let mut schedule = schedule.build(&mut world).unwrap();
    let pool = Pool::new(Threads::None).unwrap();
    for echoes in 1..=3 {
        schedule.run(&mut world, &pool);
        assert_eq!(world.query_ref_filtered::<Entity, With<Echo>>().count(), echoes);
    }
}
