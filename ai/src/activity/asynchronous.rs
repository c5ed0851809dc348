//! `Async`: activities that are written as an `async fn`.

use std::borrow::Cow;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use formic_ecs::{Entity, HashRule};

use super::async_context::AsyncContext;
use super::behaviour::Activity;
use super::domain::{ActivityDomain, Ending, Response, Status};
use super::event::{EventKinds, Notice, Token};
use super::inbox::{NoEvent, Told};
use super::mailbox::{Mailbox, Woken};
use super::tick::{Effects, Tick};

type Running<F> = Pin<Box<dyn Future<Output = Result<(), F>> + Send>>;

/// The maximum number of polls of the future in one tick. If it asks for more, it continues in the next
/// tick.
const ROUNDS_MAX: u32 = 10_000;

/// An activity that is written as an `async fn`, and reads from top to bottom: go there, pick that up,
/// come back.
///
/// It runs on the same runtime as other activities, and a game's own activity may contain one. The future
/// gets an [`AsyncContext`], through which it accesses the world and waits for events. An interruption
/// drops the future at its current `await`; put the cleanup for that case into a [`Guard`](super::Guard).
///
/// A future cannot be saved: a snapshot of a world that has one is
/// [`SnapshotError::NotSerializable`](formic_ecs::SnapshotError::NotSerializable). The state hash covers
/// when it ticks and what it waits for, but not the future.
///
/// ```
/// use formic_ai::activity::{self, Activities, Async, AsyncContext, Event, EventKinds, Posted, ActivityDomain};
/// use formic_ai::prelude::*;
///
/// #[derive(Clone)]
/// struct Rung;
/// impl Event for Rung {}
/// enum Village {}
/// impl ActivityDomain for Village {
///     type World<'w> = ComponentLookup<'w, &'static Bell>;
///     type Event = Rung;
///     type Failure = &'static str;
/// }
/// #[derive(Component)]
/// struct Bell { rung: u32 }
///
/// async fn answer(context: AsyncContext<Village>, bell: Entity) -> Result<(), &'static str> {
///     context.subscribe(bell, EventKinds::one(0)).await;
///     context.step("waiting for the bell");
///     let (_rung, _bell) = context.event().await.map_err(|_| "the bell is gone")?;
///     context.step("on the way to the door");
///     context.sleep(2).await;
///     let rung = context.with(move |_, bells| bells.get(bell).map(|bell| bell.rung)).await;
///     if rung == Ok(1) { Ok(()) } else { Err("too late") }
/// }
///
/// fn live(activities: Activities<Async<Village>>, bells: ComponentLookup<&'static Bell>, mut now: Local<u64>) {
///     *now += 1;
///     activities.run(*now, &bells);
/// }
/// let mut world = World::new();
/// let bell = world.spawn(Bell { rung: 0 });
/// let agent = world.spawn(activity::idle::<Async<Village>>());
/// let errand = Async::new("answering the door", move |context| answer(context, bell));
/// activity::order(&mut world, agent, 1, errand)?;
/// let mut schedule = Schedule::builder().add(live).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// schedule.run(&mut world, &pool);
/// let slot = world.get::<activity::ActivitySlot<Async<Village>>>(agent)?;
/// assert_eq!(slot.to_string(), "answering the door: waiting for the bell");
/// world.get_mut::<Bell>(bell)?.rung = 1;
/// world.resource_mut::<Events<Posted<Rung>>>()?.send(Posted::about(bell, Rung));
/// (0..3).for_each(|_| _ = schedule.run(&mut world, &pool));
/// let slot = world.get::<activity::ActivitySlot<Async<Village>>>(agent)?;
/// assert_eq!(slot.ended(), Some(Ended::Success));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Async<G: ActivityDomain> {
    name: Cow<'static, str>,
    /// Never locked: the mutex makes a future that is only `Send` part of a component.
    future: Mutex<Option<Running<G::Failure>>>,
    mailbox: Arc<Mailbox<G>>,
    woken: Arc<Woken>,
    /// The subscription by which code outside the schedule wakes it, if any can.
    called_by: Option<Token>,
    /// Whether a tick has begun and not ended.
    is_poisoned: bool,
}

debug_fields!([G: ActivityDomain] Async<G>: name);

impl<G: ActivityDomain> Async<G> {
    /// Creates an activity from `make`, which returns the future for a context. The future starts with
    /// the first tick of the activity.
    pub fn new<Told>(
        name: impl Into<Cow<'static, str>>,
        make: impl FnOnce(AsyncContext<G>) -> Told,
    ) -> Self
    where
        Told: Future<Output = Result<(), G::Failure>> + Send + 'static,
    {
        let mailbox = Arc::new(Mailbox::default());
        let future =
            Mutex::new(Some(Box::pin(make(AsyncContext(mailbox.clone()))) as Running<G::Failure>));
        let woken = Arc::default();
        Self { name: name.into(), future, mailbox, woken, called_by: None, is_poisoned: false }
    }

    fn future(&mut self) -> &mut Option<Running<G::Failure>> {
        self.future.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_future(&mut self, tick: &mut Tick<'_, G>, world: &G::World<'_>) -> Status<G::Failure> {
        let waker = Waker::from(self.woken.clone());
        let mailbox = self.mailbox.clone();
        {
            let mut state = mailbox.open();
            (state.now, state.wants_tick) = (tick.now(), false);
        }
        self.woken.begin();
        mailbox.wake_all();
        for _ in 0..ROUNDS_MAX {
            let woken = self.woken.clone();
            let Some(running) = self.future() else {
                return Status::Finished(Ending::Interrupted);
            };
            // Earlier calls of the waker were for this round.
            woken.begin();
            if let Poll::Ready(result) = running.as_mut().poll(&mut Context::from_waker(&waker)) {
                drop(self.future().take());
                return Status::Finished(result.map_or_else(Ending::Failed, |()| Ending::Success));
            }
            close(&mailbox, tick, world);
            let requests = std::mem::take(&mut mailbox.open().requests);
            if requests.is_empty() {
                drop(woken);
                let outside = self.outside(&waker, tick);
                let was_called = self.woken.end(outside);
                let goes_on = was_called || mailbox.open().wants_tick;
                return if goes_on { Status::Ongoing } else { Status::Blocked };
            }
            let mut ended = Vec::new();
            let mut asked = tick.noting(&mut ended);
            requests.into_iter().for_each(|ask| ask(&mut asked, world));
            mailbox.forget(ended);
        }
        self.woken.end(None);
        Status::Ongoing
    }

    /// The target for wakes from outside, if the future's waker was kept: a subscription to nothing,
    /// which only serves to be woken.
    fn outside(&mut self, waker: &Waker, tick: &mut Tick<'_, G>) -> Option<Waker> {
        let waiting = self.mailbox.open().waiting.values().filter(|it| it.will_wake(waker)).count();
        // Our own references are those that wait at the mailbox, this one, and the one that it was cloned
        // from.
        if Arc::strong_count(&self.woken) <= waiting + 2 {
            // Otherwise it would seem to wait for a call that cannot come any more.
            if let Some(token) = self.called_by.take() {
                _ = tick.unsubscribe(token);
            }
            return None;
        }
        let task = tick.task();
        let in_force = self.called_by.filter(|&token| {
            tick.subscriptions().iter().any(|subscription| subscription.token(task) == token)
        });
        let token = in_force.unwrap_or_else(|| tick.subscribe(task, EventKinds::NONE));
        self.called_by = Some(token);
        Some(tick.waker(token))
    }
}

/// Runs the closures of all guards that were dropped. If some panic, the first panic is resumed
/// afterwards.
fn close<G: ActivityDomain>(
    mailbox: &Mailbox<G>,
    effects: &mut Effects<'_, G>,
    world: &G::World<'_>,
) {
    let mut first = Ok(());
    loop {
        let closing = mailbox.open().closings.pop_front();
        let Some(closing) = closing else { break };
        first = first.and(catch_unwind(AssertUnwindSafe(|| closing(effects, world))));
    }
    first.unwrap_or_else(|panic| resume_unwind(panic));
}

impl<G: ActivityDomain<Event: Clone>> Activity for Async<G> {
    type Domain = G;
    const HASH: HashRule<Self> = HashRule::Unhashed;

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn step(&self) -> Option<Cow<'_, str>> {
        self.mailbox.open().step.clone()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, G>, world: &G::World<'_>) -> Status<G::Failure> {
        // A panic in the future or in one of its closures cut the last tick short.
        if std::mem::replace(&mut self.is_poisoned, true) {
            return Status::Finished(Ending::Interrupted);
        }
        let status = self.poll_future(tick, world);
        self.is_poisoned = false;
        status
    }

    fn on_event(&mut self, notice: Notice<'_, G::Event>, subject: Entity) -> Response {
        if self.called_by == Some(notice.token()) {
            // Not one of the future's own subscriptions.
            return Response::WAKE;
        }
        let event = match notice {
            Notice::Event(event, _) => Ok(event.clone()),
            Notice::Died(_) => Err(NoEvent::Died),
            Notice::Missed(_) => Err(NoEvent::Missed),
            Notice::Time(_) => return Response::WAKE,
        };
        self.mailbox.put(Told::new(notice.token(), subject, event));
        Response::WAKE
    }

    fn on_finish(
        mut self,
        _: &Ending<G::Failure>,
        effects: &mut Effects<'_, G>,
        world: &G::World<'_>,
    ) {
        // The guards put their closures into the mailbox, including guards inside closures that were
        // never called, even if something panics.
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(self.future().take())));
        let mailbox = &self.mailbox;
        let dropped = dropped.and(catch_unwind(AssertUnwindSafe(|| mailbox.drop_asks())));
        let closed = catch_unwind(AssertUnwindSafe(|| close(mailbox, effects, world)));
        dropped.and(closed).unwrap_or_else(|panic| resume_unwind(panic));
    }
}

impl<G: ActivityDomain> Drop for Async<G> {
    fn drop(&mut self) {
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(self.future().take())));
        self.mailbox.close();
        match dropped {
            Err(panic) if !std::thread::panicking() => resume_unwind(panic),
            _ => {}
        }
    }
}
