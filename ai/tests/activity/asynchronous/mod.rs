//! Activities that are written as an `async fn`.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use bytemuck::{Pod, Zeroable};
use formic_ai::action::Ended;
use formic_ai::activity::{
    self, Activities, ActivityDomain, ActivitySlot, Async, AsyncContext, Event, EventKinds,
    NoEvent, Posted, State,
};
use formic_ai::prelude::*;
use formic_ecs::SnapshotError;

mod guards;
mod inbox;
mod wakers;

#[derive(Clone, Debug, PartialEq)]
struct Ping(u32);

impl Event for Ping {
    fn kind(&self) -> EventKinds {
        EventKinds::one(self.0)
    }
}

enum Tale {}

impl ActivityDomain for Tale {
    type World<'w> = ComponentLookup<'w, &'static Gold>;
    type Event = Ping;
    type Failure = String;
}

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Gold(u32);

fn live(
    activities: Activities<Async<Tale>>,
    gold: ComponentLookup<&'static Gold>,
    mut now: Local<u64>,
) {
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
    fn with<Told>(make: impl FnOnce(AsyncContext<Tale>) -> Told) -> (Self, Entity)
    where
        Told: Future<Output = Result<(), String>> + Send + 'static,
    {
        let mut world = World::new();
        let schedule = Schedule::builder().add(live).build(&mut world).unwrap();
        let agent = world.spawn((Gold(5), activity::idle::<Async<Tale>>()));
        activity::order(&mut world, agent, 1, Async::new("telling", make)).unwrap();
        (Self { world, schedule, pool: Pool::new(Threads::None).unwrap() }, agent)
    }

    fn tick(&mut self) {
        self.schedule.run(&mut self.world, &self.pool);
        self.world.check().unwrap();
        activity::check::<Async<Tale>>(&self.world).unwrap();
    }

    fn tick_that_panics(&mut self) {
        let run = catch_unwind(AssertUnwindSafe(|| self.tick()));
        assert!(run.is_err());
    }

    fn post(&mut self, subject: Entity, kind: u32) {
        let events = self.world.resource_mut::<Events<Posted<Ping>>>().unwrap();
        events.send(Posted::about(subject, Ping(kind)));
    }

    fn slot(&self, agent: Entity) -> &ActivitySlot<Async<Tale>> {
        self.world.get(agent).unwrap()
    }
}

#[test]
fn a_story_sleeps_at_its_awaits_and_is_told_what_it_waits_for() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = heard.clone();
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        let gold = context.with(move |_, gold| gold.get(me).unwrap().0).await;
        assert_eq!(gold, 5);
        context.subscribe(me, EventKinds::one(1) | EventKinds::one(2)).await;
        context.step("listening");
        for _ in 0..2 {
            let (event, subject) = context.event().await.unwrap();
            assert_eq!(subject, me);
            noted.lock().unwrap().push(event);
        }
        Err("it was a test".into())
    });
    stage.tick();
    assert_eq!(stage.slot(agent).state(), State::Blocked);
    assert_eq!(stage.slot(agent).to_string(), "telling: listening");
    stage.post(agent, 0);
    stage.post(agent, 2);
    stage.tick();
    assert_eq!(stage.slot(agent).state(), State::Blocked);
    stage.post(agent, 1);
    stage.tick();
    assert_eq!(*heard.lock().unwrap(), [Ping(2), Ping(1)]);
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Failed));
}

#[test]
fn to_sleep_is_to_be_asleep_for_so_many_ticks_whatever_else_comes() {
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        context.subscribe(me, EventKinds::ALL).await;
        context.sleep(4).await;
        // What came meanwhile is not lost.
        assert_eq!(context.event().await.unwrap().0, Ping(7));
        context.next_tick().await;
        Ok(())
    });
    stage.tick();
    stage.post(agent, 7);
    for _ in 0..3 {
        stage.tick();
        assert_eq!(stage.slot(agent).state(), State::Blocked);
    }
    stage.tick();
    assert_eq!(stage.slot(agent).state(), State::Active);
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
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
    let (mut stage, agent) = Stage::with(|context| async move {
        let other = context.clone();
        both(async { context.sleep(3).await }, async { other.sleep(1).await }).await;
        Ok(())
    });
    for _ in 0..3 {
        stage.tick();
        assert!(stage.slot(agent).activity().is_some());
    }
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
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
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        context.subscribe(me, EventKinds::one(1)).await;
        let mut waiting: Vec<Part<'_>> =
            (0..50).map(|_| Part::new(async { _ = context.event().await })).collect();
        let mut asking = Part::new(async {
            for _ in 0..200 {
                context.with(|_, _| ()).await;
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
    assert_eq!(stage.slot(agent).state(), State::Blocked);
    stage.post(agent, 1);
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
    assert_eq!(*polled.lock().unwrap(), [201, 2 * 50]);
}

#[test]
fn a_story_cannot_be_saved_and_the_error_says_so() {
    let (mut stage, _) = Stage::with(|context| async move {
        context.sleep(100).await;
        Ok(())
    });
    stage.tick();
    let error = stage.world.snapshot().unwrap_err();
    assert!(matches!(error, SnapshotError::NotSerializable { .. }), "{error}");
    assert!(error.to_string().contains("Async"), "{error}");
}

#[test]
fn a_sleep_that_is_cut_short_leaves_no_timer() {
    let (mut stage, agent) = Stage::with(|context| async move {
        let me = context.with(|tick, _| tick.agent()).await;
        context.subscribe(me, EventKinds::one(1)).await;
        loop {
            let (mut event, mut sleep) = (pin!(context.event()), pin!(context.sleep(100)));
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
        assert_eq!(stage.slot(agent).subscriptions().len(), 2, "to events, and one timer");
        stage.post(agent, 1);
    }
}

#[test]
fn a_question_that_the_story_has_let_go_of_is_not_asked() {
    let (mut stage, agent) = Stage::with(|context| async move {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let mut question =
            Box::pin(context.with(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed)));
        std::future::poll_fn(|context| {
            assert!(question.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(question);
        context.with(|_, _| ()).await;
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        Ok(())
    });
    stage.tick();
    assert_eq!(stage.slot(agent).ended(), Some(Ended::Success));
}

/// A game's own activity that ticks the one inside it twice too often.
struct Twice {
    inner: Async<Tale>,
    said: Arc<Mutex<Vec<String>>>,
}

impl activity::Activity for Twice {
    type Domain = Tale;
    const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.inner.name()
    }

    fn on_tick(
        &mut self,
        tick: &mut activity::Tick<'_, Tale>,
        gold: &ComponentLookup<'_, &'static Gold>,
    ) -> activity::Status<String> {
        let mut said = self.said.lock().unwrap();
        said.extend((0..3).map(|_| format!("{:?}", self.inner.on_tick(tick, gold))));
        activity::Status::Finished(activity::Ending::Success)
    }

    fn on_finish(
        self,
        ending: &activity::Ending<String>,
        effects: &mut activity::Effects<'_, Tale>,
        gold: &ComponentLookup<'_, &'static Gold>,
    ) {
        self.inner.on_finish(ending, effects, gold);
    }
}

#[test]
fn a_story_that_has_ended_is_not_told_again() {
    let mut world = World::new();
    let agent = world.spawn(activity::idle::<Twice>());
    let said = Arc::new(Mutex::new(Vec::new()));
    let inner = Async::new("telling", |_| async { Ok(()) });
    activity::order(&mut world, agent, 1, Twice { inner, said: said.clone() }).unwrap();
    let live = |activities: Activities<Twice>, gold: ComponentLookup<&'static Gold>| {
        activities.run(0, &gold);
    };
    let mut schedule = Schedule::builder().add(live).build(&mut world).unwrap();
    assert!(schedule.run(&mut world, &Pool::new(Threads::None).unwrap()).failures.is_empty());
    let again = "Finished(Interrupted)";
    assert_eq!(*said.lock().unwrap(), ["Finished(Success)", again, again]);
}
