//! Endings of async activities: guards tidy up, whatever panics.

use super::*;

#[test]
fn to_be_interrupted_is_to_be_dropped_and_guards_tidy_up_once() {
    for is_despawned in [false, true] {
        let counted = Arc::new(AtomicUsize::new(0));
        let count = counted.clone();
        let (mut stage, agent) = Stage::with(|context| async move {
            let me = context.with(|tick, _| tick.agent()).await;
            let armed = count.clone();
            let _guard = context.guard(move |effects, _| {
                armed.fetch_add(1, Ordering::Relaxed);
                effects.commands().spawn(Gold(1));
            });
            context.guard(|_, _| panic!("it was disarmed")).disarm();
            context.subscribe(me, EventKinds::NONE).await;
            _ = context.event().await;
            unreachable!("no caller is there");
        });
        stage.tick();
        assert_eq!(counted.load(Ordering::Relaxed), 0);
        if is_despawned {
            stage.world.despawn(agent).unwrap();
        } else {
            activity::stop::<Async<Tale>>(&mut stage.world, agent).unwrap();
        }
        stage.tick();
        stage.tick();
        assert_eq!(counted.load(Ordering::Relaxed), 1);
        let gold = stage.world.query::<&Gold>().map(|gold| gold.0).sum::<u32>();
        assert_eq!(gold, if is_despawned { 1 } else { 6 });
    }
}

#[test]
fn a_guard_that_the_story_lets_go_of_acts_at_once() {
    let (mut stage, agent) = Stage::with(|context| async move {
        drop(context.guard(|effects, _| _ = effects.commands().spawn(Gold(3))));
        context.next_tick().await;
        Ok(())
    });
    stage.tick();
    assert_eq!(stage.world.query::<&Gold>().count(), 2);
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_story_that_panics_is_gone_and_the_agent_goes_on() {
    let (mut stage, agent) = Stage::with(|context| async move {
        context.next_tick().await;
        panic!("on purpose");
    });
    stage.tick();
    stage.tick_that_panics();
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Interrupted));
    let again = Async::<Tale>::new("again", |_| async { Ok(()) });
    activity::order(&mut stage.world, agent, 1, again).unwrap();
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_question_that_panics_ends_the_story_and_its_guards_tidy_up() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        let _guard = context.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        context.subscribe(me, EventKinds::NONE).await;
        context.with(|_, _| panic!("on purpose")).await;
        unreachable!("no answer has come")
    });
    stage.tick_that_panics();
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Interrupted));
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[test]
fn one_guard_that_panics_does_not_keep_the_others_from_tidying_up() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let armed = count.clone();
        let _first = context.guard(move |_, _| _ = armed.fetch_add(1, Ordering::Relaxed));
        let _second = context.guard(|_, _| panic!("on purpose"));
        let _third = context.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        context.sleep(9).await;
        Ok(())
    });
    stage.tick();
    activity::stop::<Async<Tale>>(&mut stage.world, agent).unwrap();
    stage.tick_that_panics();
    assert_eq!(counted.load(Ordering::Relaxed), 2);
}

struct Falling;

impl Drop for Falling {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[test]
fn what_panics_when_the_story_is_dropped_does_not_keep_its_guards_from_tidying_up() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let _guard = context.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        let _falling = Falling;
        context.sleep(9).await;
        Ok(())
    });
    stage.tick();
    activity::stop::<Async<Tale>>(&mut stage.world, agent).unwrap();
    stage.tick_that_panics();
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[test]
fn a_guard_in_a_question_that_is_never_asked_tidies_up_at_the_end() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let guard = context.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        let mut question = pin!(context.with(move |_, _| guard.disarm()));
        std::future::poll_fn(|context| {
            assert!(question.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        Ok(())
    });
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[test]
fn a_story_whose_parts_panic_as_they_go_is_freed_all_the_same() {
    let held = Arc::new(());
    let kept = held.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let mine = context.clone();
        let _guard = context.guard(move |_, _| drop((mine, kept)));
        let _falling = Falling;
        context.sleep(9).await;
        Ok(())
    });
    stage.tick();
    let run = catch_unwind(AssertUnwindSafe(|| {
        drop(stage.world.remove::<ActivitySlot<Async<Tale>>>(agent));
    }));
    assert!(run.is_err());
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_story_that_nobody_finishes_is_freed_with_all_that_its_guards_hold() {
    for is_removed in [false, true] {
        let held = Arc::new(());
        let kept = held.clone();
        let (mut stage, agent) = Stage::with(|context| async move {
            // It holds the way to where it lies down when it is dropped.
            let mine = context.clone();
            let _guard = context.guard(move |_, _| drop((mine, kept)));
            context.sleep(9).await;
            Ok(())
        });
        stage.tick();
        assert_eq!(Arc::strong_count(&held), 2);
        if is_removed {
            drop(stage.world.remove::<ActivitySlot<Async<Tale>>>(agent).unwrap());
        } else {
            drop(stage);
        }
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
