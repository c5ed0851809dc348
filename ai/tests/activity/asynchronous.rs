//! Activities that are written as an `async fn`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use ai::activity::{
    self, Activities, Async, Cue, Doing, Ended, Event, EventKinds, NoEvent, Posted, Setting, State,
};
use ai::prelude::*;
use bytemuck::{Pod, Zeroable};
use ecs_core::SnapshotError;

#[derive(Clone, Debug, PartialEq)]
struct Ping(u32);

impl Event for Ping {
    fn kind(&self) -> EventKinds {
        EventKinds::one(self.0)
    }
}

enum Tale {}

impl Setting for Tale {
    type World<'w> = Lookup<'w, &'static Gold>;
    type Event = Ping;
    type Failure = String;
}

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Gold(u32);

fn live(activities: Activities<Async<Tale>>, gold: Lookup<&'static Gold>, mut now: Local<u64>) {
    *now += 1;
    activities.run(*now, &gold);
}

struct Stage {
    world: World,
    schedule: Schedule,
    pool: Pool,
}

impl Stage {
    /// A stage, and an agent that begins this.
    fn with<Told>(story: impl FnOnce(Cue<Tale>) -> Told) -> (Self, Entity)
    where
        Told: Future<Output = Result<(), String>> + Send + 'static,
    {
        let mut world = World::new();
        let schedule = Schedule::builder().add(live).build(&mut world).unwrap();
        let agent = world.spawn((Gold(5), activity::idle::<Async<Tale>>()));
        activity::order(&mut world, agent, 1, Async::new("telling", story)).unwrap();
        (Self { world, schedule, pool: Pool::new(Threads::None).unwrap() }, agent)
    }

    fn tick(&mut self) {
        self.schedule.run(&mut self.world, &self.pool);
        self.world.check().unwrap();
        activity::check::<Async<Tale>>(&self.world).unwrap();
    }

    fn post(&mut self, subject: Entity, kind: u32) {
        let events = self.world.resource_mut::<Events<Posted<Ping>>>().unwrap();
        events.send(Posted::about(subject, Ping(kind)));
    }

    fn doing(&self, agent: Entity) -> &Doing<Async<Tale>> {
        self.world.get(agent).unwrap()
    }
}

#[test]
fn a_story_sleeps_at_its_awaits_and_is_told_what_it_waits_for() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = heard.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        let gold = cue.with(move |_, gold| gold.get(me).unwrap().0).await;
        assert_eq!(gold, 5);
        cue.subscribe(me, EventKinds::one(1) | EventKinds::one(2)).await;
        cue.step("listening");
        for _ in 0..2 {
            let (event, subject) = cue.event().await.unwrap();
            assert_eq!(subject, me);
            noted.lock().unwrap().push(event);
        }
        Err("it was a test".into())
    });
    stage.tick();
    assert_eq!(stage.doing(agent).state(), State::Blocked);
    assert_eq!(stage.doing(agent).to_string(), "telling: listening");
    stage.post(agent, 0);
    stage.post(agent, 2);
    stage.tick();
    assert_eq!(stage.doing(agent).state(), State::Blocked);
    stage.post(agent, 1);
    stage.tick();
    assert_eq!(*heard.lock().unwrap(), [Ping(2), Ping(1)]);
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Failure));
}

#[test]
fn to_sleep_is_to_be_asleep_for_so_many_ticks_whatever_else_comes() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        cue.subscribe(me, EventKinds::ALL).await;
        cue.sleep(4).await;
        // What came meanwhile is not lost.
        assert_eq!(cue.event().await.unwrap().0, Ping(7));
        cue.next_tick().await;
        Ok(())
    });
    stage.tick();
    stage.post(agent, 7);
    for _ in 0..3 {
        stage.tick();
        assert_eq!(stage.doing(agent).state(), State::Blocked);
    }
    stage.tick();
    assert_eq!(stage.doing(agent).state(), State::Active);
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

#[test]
fn to_be_interrupted_is_to_be_dropped_and_guards_tidy_up_once() {
    for is_despawned in [false, true] {
        let counted = Arc::new(AtomicUsize::new(0));
        let count = counted.clone();
        let (mut stage, agent) = Stage::with(|cue| async move {
            let me = cue.with(|tick, _| tick.agent()).await;
            let armed = count.clone();
            let _guard = cue.guard(move |effects, _| {
                armed.fetch_add(1, Ordering::Relaxed);
                effects.commands().spawn(Gold(1));
            });
            cue.guard(|_, _| panic!("it was disarmed")).disarm();
            cue.subscribe(me, EventKinds::NONE).await;
            _ = cue.event().await;
            unreachable!("nobody calls");
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
    let (mut stage, agent) = Stage::with(|cue| async move {
        drop(cue.guard(|effects, _| _ = effects.commands().spawn(Gold(3))));
        cue.next_tick().await;
        Ok(())
    });
    stage.tick();
    assert_eq!(stage.world.query::<&Gold>().count(), 2);
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_dead_subject_is_no_event() {
    let mut world_side = World::new();
    let gone = world_side.spawn(());
    let (mut stage, agent) = Stage::with(move |cue| async move {
        // An entity that this world has never had is as dead as can be.
        let stranger = Entity::from_bits(gone.to_bits() | 5 << 32).unwrap();
        cue.subscribe(stranger, EventKinds::ALL).await;
        let told = cue.next().await;
        assert_eq!((told.subject, told.event), (stranger, Err(NoEvent::Died)));
        Ok(())
    });
    stage.tick();
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

/// A future that is ready when both of these are.
async fn both(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut is_first, mut is_second) = (false, false);
    std::future::poll_fn(|context| {
        is_first = is_first || first.as_mut().poll(context).is_ready();
        is_second = is_second || second.as_mut().poll(context).is_ready();
        if is_first && is_second { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn parts_of_a_story_go_on_at_the_same_time() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        let other = cue.clone();
        both(async { cue.sleep(3).await }, async { other.sleep(1).await }).await;
        Ok(())
    });
    for _ in 0..3 {
        stage.tick();
        assert!(stage.doing(agent).activity().is_some());
    }
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

/// One of many futures that are polled only when they were woken, and how often that was.
struct Part<'f> {
    future: Pin<Box<dyn Future<Output = ()> + Send + 'f>>,
    call: Arc<Call>,
    polls: usize,
}

struct Call(Mutex<(bool, Option<Waker>)>);

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        let mut call = self.0.lock().unwrap();
        call.0 = true;
        call.1.take().into_iter().for_each(Waker::wake);
    }
}

impl<'f> Part<'f> {
    fn new(future: impl Future<Output = ()> + Send + 'f) -> Self {
        let call = Arc::new(Call(Mutex::new((true, None))));
        Self { future: Box::pin(future), call, polls: 0 }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut call = self.call.0.lock().unwrap();
        call.1 = Some(context.waker().clone());
        if !std::mem::replace(&mut call.0, false) {
            return Poll::Pending;
        }
        drop(call);
        self.polls += 1;
        let waker = Waker::from(self.call.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

#[test]
fn a_part_that_asks_a_lot_does_not_have_those_looked_at_that_wait() {
    let polled = Arc::new(Mutex::new(Vec::new()));
    let noted = polled.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        cue.subscribe(me, EventKinds::one(1)).await;
        let mut waiting: Vec<Part<'_>> =
            (0..50).map(|_| Part::new(async { _ = cue.event().await })).collect();
        let mut asking = Part::new(async {
            for _ in 0..200 {
                cue.with(|_, _| ()).await;
            }
        });
        std::future::poll_fn(|context| {
            _ = asking.poll(context);
            let done = waiting.iter_mut().map(|part| part.poll(context).is_ready());
            if done.filter(|&is_done| is_done).count() == 0 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
        let polls = waiting.iter().map(|part| part.polls).sum::<usize>();
        noted.lock().unwrap().extend([asking.polls, polls]);
        Ok(())
    });
    stage.tick();
    assert_eq!(stage.doing(agent).state(), State::Blocked);
    stage.post(agent, 1);
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
    assert_eq!(*polled.lock().unwrap(), [201, 2 * 50]);
}

/// Is ready when it has been polled so many times, and wakes nobody.
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
    let (mut stage, agent) = Stage::with(|cue| async move {
        assert_eq!(cue.outside(Silent(4)).await, 9);
        Ok(())
    });
    for _ in 0..3 {
        stage.tick();
        assert_eq!(stage.doing(agent).state(), State::Active);
    }
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_story_that_panics_is_gone_and_the_agent_goes_on() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        cue.next_tick().await;
        panic!("on purpose");
    });
    stage.tick();
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
    assert!(run.is_err());
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Interrupted));
    let again = Async::<Tale>::new("again", |_| async { Ok(()) });
    activity::order(&mut stage.world, agent, 1, again).unwrap();
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_story_cannot_be_saved_and_the_error_says_so() {
    let (mut stage, _) = Stage::with(|cue| async move {
        cue.sleep(100).await;
        Ok(())
    });
    stage.tick();
    let error = stage.world.snapshot().unwrap_err();
    assert!(matches!(error, SnapshotError::NotSerializable { .. }), "{error}");
    assert!(error.to_string().contains("Async"), "{error}");
}

#[test]
fn what_came_by_a_subscription_is_forgotten_with_it_and_nothing_else_is() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        let first = cue.subscribe(me, EventKinds::one(1)).await;
        let second = cue.subscribe(me, EventKinds::one(2)).await;
        cue.sleep(2).await;
        assert!(cue.unsubscribe(first).await && !cue.unsubscribe(first).await);
        let told = cue.next().await;
        assert_eq!((told.token, told.event), (second, Ok(Ping(2))));
        // Nothing is left of the first one.
        let told = cue.next().await;
        assert_eq!((told.token, told.event), (second, Ok(Ping(2))));
        Ok(())
    });
    stage.tick();
    for kind in [1, 2, 1] {
        stage.post(agent, kind);
    }
    stage.tick();
    stage.tick();
    assert!(stage.doing(agent).activity().is_some());
    stage.post(agent, 2);
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_story_can_wait_for_one_answer_and_leave_the_other_for_later() {
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let noted = tokens.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        let first = cue.subscribe(me, EventKinds::one(1)).await;
        let second = cue.subscribe(me, EventKinds::one(1)).await;
        noted.lock().unwrap().extend([first, second]);
        assert_eq!(cue.answer(second).await, Ok(Ping(1)));
        assert_eq!(cue.answer(first).await, Ok(Ping(1)));
        Ok(())
    });
    stage.tick();
    let [first, second] = tokens.lock().unwrap()[..] else { panic!("two requests") };
    let mut answer = |token| {
        let events = stage.world.resource_mut::<Events<Posted<Ping>>>().unwrap();
        events.send(Posted::about(agent, Ping(1)).answering(token));
        stage.tick();
        stage.doing(agent).ended()
    };
    assert_eq!(answer(first), None);
    assert_eq!(answer(second), Some(Ended::Success));
}

#[test]
fn a_story_that_does_not_ask_keeps_so_many_events_and_hears_that_it_has_missed_the_others() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        let loud = cue.subscribe(me, EventKinds::one(1)).await;
        let quiet = cue.subscribe(me, EventKinds::one(2)).await;
        cue.sleep(40).await;
        assert_eq!(cue.answer(loud).await, Err(NoEvent::Missed));
        assert_eq!(cue.answer(quiet).await, Err(NoEvent::Missed));
        for _ in 0..1_024 {
            assert_eq!(cue.next().await.event, Ok(Ping(1)));
        }
        Err("that was all".into())
    });
    stage.tick();
    stage.post(agent, 2);
    for _ in 0..40 {
        (0..100).for_each(|_| stage.post(agent, 1));
        stage.tick();
    }
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Failure));
}

async fn stumble(_: Cue<Tale>) -> Result<(), String> {
    panic!("on purpose")
}

#[test]
fn a_story_that_does_not_ask_hears_once_that_it_has_missed_something_however_often_that_was() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        let first = cue.subscribe(me, EventKinds::one(1)).await;
        let second = cue.subscribe(me, EventKinds::one(2)).await;
        cue.sleep(50).await;
        for token in [first, second] {
            let told = cue.next().await;
            assert_eq!((told.token, told.event), (token, Err(NoEvent::Missed)));
        }
        assert_eq!(cue.next().await.event, Ok(Ping(1)));
        Ok(())
    });
    stage.tick();
    let other = stage.world.spawn(activity::idle::<Async<Tale>>());
    for _ in 0..20 {
        let failing = Async::<Tale>::new("failing", stumble);
        activity::order(&mut stage.world, other, 1, failing).unwrap();
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
        assert!(run.is_err());
        // Now everybody hears that something may have been lost with that run.
        stage.tick();
    }
    stage.post(agent, 1);
    (0..20).for_each(|_| stage.tick());
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

#[test]
fn a_sleep_that_is_cut_short_leaves_no_timer() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        cue.subscribe(me, EventKinds::one(1)).await;
        loop {
            let (mut event, mut sleep) = (pin!(cue.event()), pin!(cue.sleep(100)));
            std::future::poll_fn(|context| {
                let is_over = sleep.as_mut().poll(context).is_ready();
                if is_over || event.as_mut().poll(context).is_ready() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
    });
    for _ in 0..10 {
        stage.tick();
        assert_eq!(stage.doing(agent).subscriptions().len(), 2, "to events, and one timer");
        stage.post(agent, 1);
    }
}

#[test]
fn a_question_that_panics_ends_the_story_and_its_guards_tidy_up() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        let _guard = cue.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        cue.subscribe(me, EventKinds::NONE).await;
        cue.with(|_, _| panic!("on purpose")).await;
        unreachable!("nobody has answered")
    });
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
    assert!(run.is_err());
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Interrupted));
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[test]
fn one_guard_that_panics_does_not_keep_the_others_from_tidying_up() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        let armed = count.clone();
        let _first = cue.guard(move |_, _| _ = armed.fetch_add(1, Ordering::Relaxed));
        let _second = cue.guard(|_, _| panic!("on purpose"));
        let _third = cue.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        cue.sleep(9).await;
        Ok(())
    });
    stage.tick();
    activity::stop::<Async<Tale>>(&mut stage.world, agent).unwrap();
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
    assert!(run.is_err());
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
    let (mut stage, agent) = Stage::with(|cue| async move {
        let _guard = cue.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        let _falling = Falling;
        cue.sleep(9).await;
        Ok(())
    });
    stage.tick();
    activity::stop::<Async<Tale>>(&mut stage.world, agent).unwrap();
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
    assert!(run.is_err());
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[test]
fn a_guard_in_a_question_that_is_never_asked_tidies_up_at_the_end() {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        let guard = cue.guard(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
        let mut question = pin!(cue.with(move |_, _| guard.disarm()));
        std::future::poll_fn(|context| {
            assert!(question.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        Ok(())
    });
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[test]
fn a_question_that_the_story_has_let_go_of_is_not_asked() {
    let (mut stage, agent) = Stage::with(|cue| async move {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let mut question =
            Box::pin(cue.with(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed)));
        std::future::poll_fn(|context| {
            assert!(question.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(question);
        cue.with(|_, _| ()).await;
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        Ok(())
    });
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
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
    letter.waker.take().expect("somebody waits").wake();
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
    let (mut stage, agent) = Stage::with(|cue| async move {
        let me = cue.with(|tick, _| tick.agent()).await;
        cue.subscribe(me, EventKinds::one(1)).await;
        for round in 0..3 {
            assert_eq!(receive(&opened).await, round);
            // Also where the story has ended all that it knows of.
            cue.with(|tick, _| tick.unsubscribe_all()).await;
        }
        Ok(())
    });
    for round in 0..3 {
        for _ in 0..3 {
            stage.tick();
            assert_eq!(stage.doing(agent).state(), State::Blocked, "it sleeps until it is called");
        }
        let letter = letter.clone();
        std::thread::spawn(move || deliver(&letter, round)).join().unwrap();
    }
    stage.tick();
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
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
    while stage.doing(agent).ended().is_none() {
        stage.tick();
        std::thread::yield_now();
        assert!(stage.doing(agent).since() < 1_000_000, "a call was lost");
    }
    caller.join().unwrap();
}

#[test]
fn a_story_hears_of_losses_in_its_own_subscriptions_alone() {
    let letter = Arc::new(Mutex::new(Letter::default()));
    let opened = letter.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        // While its waker is outside, there is a subscription that it knows nothing of.
        assert_eq!(receive(&opened).await, 7);
        let me = cue.with(|tick, _| tick.agent()).await;
        cue.subscribe(me, EventKinds::one(1)).await;
        assert_eq!(cue.next().await.event, Ok(Ping(1)));
        Ok(())
    });
    stage.tick();
    let other = stage.world.spawn(activity::idle::<Async<Tale>>());
    activity::order(&mut stage.world, other, 1, Async::<Tale>::new("failing", stumble)).unwrap();
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.tick()));
    assert!(run.is_err());
    // Now everybody hears that something may have been lost with that run.
    stage.tick();
    deliver(&letter, 7);
    stage.tick();
    stage.post(agent, 1);
    (0..3).for_each(|_| stage.tick());
    assert_eq!(stage.doing(agent).ended(), Some(Ended::Success));
}

/// Panics as it goes.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[test]
fn a_story_whose_parts_panic_as_they_go_is_freed_all_the_same() {
    let held = Arc::new(());
    let kept = held.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        let mine = cue.clone();
        let _guard = cue.guard(move |_, _| drop((mine, kept)));
        let _fragile = Fragile;
        cue.sleep(9).await;
        Ok(())
    });
    stage.tick();
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(stage.world.remove::<Doing<Async<Tale>>>(agent));
    }));
    assert!(run.is_err());
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_story_that_nobody_finishes_is_freed_with_all_that_its_guards_hold() {
    for is_removed in [false, true] {
        let held = Arc::new(());
        let kept = held.clone();
        let (mut stage, agent) = Stage::with(|cue| async move {
            // It holds the way to where it lies down when it is dropped.
            let mine = cue.clone();
            let _guard = cue.guard(move |_, _| drop((mine, kept)));
            cue.sleep(9).await;
            Ok(())
        });
        stage.tick();
        assert_eq!(Arc::strong_count(&held), 2);
        if is_removed {
            drop(stage.world.remove::<Doing<Async<Tale>>>(agent).unwrap());
        } else {
            drop(stage);
        }
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

#[test]
fn a_story_whose_call_has_come_does_not_seem_to_wait_for_another() {
    let letter = Arc::new(Mutex::new(Letter::default()));
    let opened = letter.clone();
    let (mut stage, agent) = Stage::with(|cue| async move {
        assert_eq!(receive(&opened).await, 7);
        opened.lock().unwrap().waker = None;
        // It has no subscription, and nobody has its waker any more.
        _ = cue.event().await;
        Ok(())
    });
    stage.tick();
    stage.tick();
    assert_eq!(stage.doing(agent).state(), State::Blocked);
    deliver(&letter, 7);
    for _ in 0..3 {
        stage.tick();
        assert_eq!(stage.doing(agent).state(), State::Active, "it is counted, not forgotten");
    }
}
