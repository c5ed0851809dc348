//! Events that arrive while an async activity does not ask.

use super::*;

#[test]
fn a_dead_subject_is_no_event() {
    let mut world_side = World::new();
    let gone = world_side.spawn(());
    let (mut stage, agent) = Stage::with(move |context| async move {
        // An entity that this world has never had is as dead as can be.
        let stranger = Entity::from_bits(gone.to_bits() | 5 << 32).unwrap();
        context.subscribe(stranger, EventKinds::ALL).await;
        let told = context.next().await;
        assert_eq!((told.subject, told.event), (stranger, Err(NoEvent::Died)));
        Ok(())
    });
    stage.tick();
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

#[test]
fn what_came_by_a_subscription_is_forgotten_with_it_and_nothing_else_is() {
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        let first = context.subscribe(me, EventKinds::one(1)).await;
        let second = context.subscribe(me, EventKinds::one(2)).await;
        context.sleep(2).await;
        assert!(context.unsubscribe(first).await && !context.unsubscribe(first).await);
        let told = context.next().await;
        assert_eq!((told.token, told.event), (second, Ok(Ping(2))));
        // Nothing is left of the first one.
        let told = context.next().await;
        assert_eq!((told.token, told.event), (second, Ok(Ping(2))));
        Ok(())
    });
    stage.tick();
    for kind in [1, 2, 1] {
        stage.post(agent, kind);
    }
    stage.tick();
    stage.tick();
    assert!(stage.slot(agent).activity().is_some());
    stage.post(agent, 2);
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_story_can_wait_for_one_answer_and_leave_the_other_for_later() {
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let noted = tokens.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        let first = context.subscribe(me, EventKinds::one(1)).await;
        let second = context.subscribe(me, EventKinds::one(1)).await;
        noted.lock().unwrap().extend([first, second]);
        assert_eq!(context.answer(second).await, Ok(Ping(1)));
        assert_eq!(context.answer(first).await, Ok(Ping(1)));
        Ok(())
    });
    stage.tick();
    let [first, second] = tokens.lock().unwrap()[..] else { panic!("two requests") };
    let mut answer = |token| {
        let events = stage.world.resource_mut::<Events<Posted<Ping>>>().unwrap();
        events.send(Posted::about(agent, Ping(1)).answering(token));
        stage.tick();
        stage.slot(agent).ended()
    };
    assert_eq!(answer(first), None);
    assert_eq!(answer(second), Some(Ended::Success));
}

#[test]
fn a_story_that_does_not_ask_keeps_so_many_events_and_hears_that_it_has_missed_the_others() {
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        let loud = context.subscribe(me, EventKinds::one(1)).await;
        let quiet = context.subscribe(me, EventKinds::one(2)).await;
        context.sleep(40).await;
        assert_eq!(context.answer(loud).await, Err(NoEvent::Missed));
        assert_eq!(context.answer(quiet).await, Err(NoEvent::Missed));
        for _ in 0..1_024 {
            assert_eq!(context.next().await.event, Ok(Ping(1)));
        }
        Err("that was all".into())
    });
    stage.tick();
    stage.post(agent, 2);
    for _ in 0..40 {
        (0..100).for_each(|_| stage.post(agent, 1));
        stage.tick();
    }
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Failed));
}

#[test]
fn one_notice_of_what_was_missed_stands_where_the_first_loss_was() {
    for later in [2, 1_024] {
        let (mut stage, agent) = Stage::with(move |context| async move {
            let me = context.with(|tick, _| tick.agent()).await;
            context.subscribe(me, EventKinds::ALL).await;
            context.sleep(50).await;
            if later == 2 {
                assert_eq!(context.next().await.event, Ok(Ping(1)));
            }
            assert_eq!(context.next().await.event, Err(NoEvent::Missed));
            for _ in 1..later {
                assert_eq!(context.next().await.event, Ok(Ping(2)));
            }
            assert_eq!(context.next().await.event, Ok(Ping(3)));
            Ok(())
        });
        stage.tick();
        let other = stage.world.spawn(activity::idle::<Async<Tale>>());
        stage.post(agent, 1);
        stage.tick();
        // What may have been lost with a run comes after the first event, and where that is lost as well,
        // in its place.
        for posts in [later - 1, 0] {
            let failing = Async::<Tale>::new("failing", stumble);
            activity::order(&mut stage.world, other, 1, failing).unwrap();
            stage.tick_that_panics();
            stage.tick();
            (0..posts).for_each(|_| stage.post(agent, 2));
            stage.tick();
        }
        stage.post(agent, 3);
        (0..50).for_each(|_| stage.tick());
        assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
    }
}

pub(super) async fn stumble(_: AsyncContext<Tale>) -> Result<(), String> {
    panic!("on purpose")
}

#[test]
fn a_story_that_does_not_ask_hears_once_that_it_has_missed_something_however_often_that_was() {
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        let first = context.subscribe(me, EventKinds::one(1)).await;
        let second = context.subscribe(me, EventKinds::one(2)).await;
        context.sleep(50).await;
        for token in [first, second] {
            let told = context.next().await;
            assert_eq!((told.token, told.event), (token, Err(NoEvent::Missed)));
        }
        assert_eq!(context.next().await.event, Ok(Ping(1)));
        Ok(())
    });
    stage.tick();
    let other = stage.world.spawn(activity::idle::<Async<Tale>>());
    for _ in 0..20 {
        let failing = Async::<Tale>::new("failing", stumble);
        activity::order(&mut stage.world, other, 1, failing).unwrap();
        stage.tick_that_panics();
        // Now all hear that something may have been lost with that run.
        stage.tick();
    }
    stage.post(agent, 1);
    (0..20).for_each(|_| stage.tick());
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}
