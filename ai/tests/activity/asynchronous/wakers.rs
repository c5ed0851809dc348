//! Futures and calls from outside of the ticks.

use super::inbox::stumble;
use super::*;

/// Is ready when it has been polled so many times, and wakes nothing.
struct Silent(u32);

impl Future for Silent {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        self.0 -= 1;
        if self.0 == 0 { Poll::Ready(9) } else { Poll::Pending }
    }
}

#[test]
fn a_future_from_outside_is_asked_in_every_tick() {
    let (mut stage, agent) = Stage::with(|context| async move {
        assert_eq!(context.outside(Silent(4)).await, 9);
        Ok(())
    });
    for _ in 0..3 {
        stage.tick();
        assert_eq!(stage.slot(agent).state(), State::Active);
    }
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

/// A place for one value from another thread.
#[derive(Default)]
struct Letter {
    value: Option<u32>,
    waker: Option<Waker>,
}

fn deliver(letter: &Mutex<Letter>, value: u32) {
    let mut letter = letter.lock().unwrap();
    letter.value = Some(value);
    letter.waker.take().expect("a future waits").wake();
}

async fn receive(letter: &Mutex<Letter>) -> u32 {
    std::future::poll_fn(|context| {
        let mut letter = letter.lock().unwrap();
        letter.waker = Some(context.waker().clone());
        letter.value.take().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

#[test]
fn a_waker_that_is_called_after_the_tick_from_another_thread_wakes_in_the_next() {
    let letter = Arc::new(Mutex::new(Letter::default()));
    let opened = letter.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        context.subscribe(me, EventKinds::one(1)).await;
        for round in 0..3 {
            assert_eq!(receive(&opened).await, round);
            // Also where the async activity has ended all that it knows of.
            context.with(|tick, _| tick.unsubscribe_all()).await;
        }
        Ok(())
    });
    for round in 0..3 {
        for _ in 0..3 {
            stage.tick();
            assert_eq!(stage.slot(agent).state(), State::Blocked, "it sleeps until it is called");
        }
        let letter = letter.clone();
        std::thread::spawn(move || deliver(&letter, round)).join().unwrap();
    }
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

#[test]
fn calls_from_threads_that_run_beside_the_ticks_are_all_seen() {
    let letter = Arc::new(Mutex::new(Letter::default()));
    let opened = letter.clone();
    let (mut stage, agent) = Stage::with(|_| async move {
        for round in 0..300 {
            assert_eq!(receive(&opened).await, round);
        }
        Ok(())
    });
    stage.tick();
    let caller = std::thread::spawn(move || {
        for round in 0..300 {
            while letter.lock().unwrap().waker.is_none() {
                std::thread::yield_now();
            }
            deliver(&letter, round);
        }
    });
    while stage.slot(agent).ended().is_none() {
        stage.tick();
        std::thread::yield_now();
        assert!(stage.slot(agent).since() < 1_000_000, "a call was lost");
    }
    caller.join().unwrap();
}

#[test]
fn a_story_hears_of_losses_in_its_own_subscriptions_alone() {
    let letter = Arc::new(Mutex::new(Letter::default()));
    let opened = letter.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        // While its waker is outside, there is a subscription that it knows nothing of.
        assert_eq!(receive(&opened).await, 7);
        let me = context.with(|tick, _| tick.agent()).await;
        context.subscribe(me, EventKinds::one(1)).await;
        assert_eq!(context.next().await.event, Ok(Ping(1)));
        Ok(())
    });
    stage.tick();
    let other = stage.world.spawn(activity::idle::<Async<Tale>>());
    activity::order(&mut stage.world, other, 1, Async::<Tale>::new("failing", stumble)).unwrap();
    stage.tick_that_panics();
    // Now all hear that something may have been lost with that run.
    stage.tick();
    deliver(&letter, 7);
    stage.tick();
    stage.post(agent, 1);
    (0..3).for_each(|_| stage.tick());
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_story_whose_call_has_come_does_not_seem_to_wait_for_another() {
    let letter = Arc::new(Mutex::new(Letter::default()));
    let opened = letter.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        assert_eq!(receive(&opened).await, 7);
        opened.lock().unwrap().waker = None;
        // It has no subscription, and nothing has its waker any more.
        _ = context.event().await;
        Ok(())
    });
    stage.tick();
    stage.tick();
    assert_eq!(stage.slot(agent).state(), State::Blocked);
    deliver(&letter, 7);
    for _ in 0..3 {
        stage.tick();
        assert_eq!(stage.slot(agent).state(), State::Active, "it is counted, not forgotten");
    }
}

#[test]
fn a_future_that_never_waits_is_cut_off_in_each_tick_and_goes_on_in_the_next() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        for _ in 0..25_000 {
            let counter = counter.clone();
            let asks = context.with(move |tick, _| {
                // Only something to wait for lets an activity sleep.
                if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                    tick.subscribe(tick.agent(), EventKinds::one(1));
                }
            });
            asks.await;
        }
        Ok(())
    });
    for expected in [10_000, 20_000] {
        stage.tick();
        assert_eq!(asked.load(Ordering::Relaxed), expected);
        assert_eq!(stage.slot(agent).state(), State::Active);
    }
    stage.tick();
    assert_eq!(asked.load(Ordering::Relaxed), 25_000);
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}
