//! Activities that are written as an `async fn`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use ecs_core::Entity;

use super::behaviour::Activity;
use super::event::{EventKinds, Notice, Token};
use super::setting::{Ending, Response, Setting, Status};
use super::tick::{Effects, Tick};

type Running<F> = Pin<Box<dyn Future<Output = Result<(), F>> + Send>>;
type Ask<G> = Box<dyn for<'t, 'w> FnOnce(&mut Tick<'t, G>, &<G as Setting>::World<'w>) + Send>;
type Closing<G> =
    Box<dyn for<'t, 'w> FnOnce(&mut Effects<'t, G>, &<G as Setting>::World<'w>) + Send>;

/// How many questions are answered in one tick; the rest waits for the next.
const ASKS_MAX: u32 = 10_000;

/// An activity that is written as an `async fn`, which reads like a story: go there, pick that up,
/// come back.
///
/// It lives on the same runtime as the others, and a game's own activity may contain one. The future
/// gets a [`Cue`], by which it asks for the world and waits for events. Being interrupted is being
/// dropped at the `await` that it is at; what is to be tidied up then is in a [`Guard`].
///
/// What a future holds cannot be saved: a snapshot of a world that has one is
/// [`SnapshotError::NotSerializable`](ecs_core::SnapshotError::NotSerializable). The state hash takes
/// in when it ticks and what it waits for.
///
/// ```
/// use ai::activity::{self, Activities, Async, Cue, Event, EventKinds, Posted, Setting};
/// use ai::prelude::*;
///
/// #[derive(Clone)]
/// struct Rung;
/// impl Event for Rung {
///     fn kind(&self) -> EventKinds { EventKinds::one(0) }
/// }
/// enum Village {}
/// impl Setting for Village {
///     type World<'w> = Lookup<'w, &'static Bell>;
///     type Event = Rung;
///     type Failure = &'static str;
/// }
/// #[derive(Component)]
/// struct Bell { rung: u32 }
///
/// async fn answer(cue: Cue<Village>, bell: Entity) -> Result<(), &'static str> {
///     cue.subscribe(bell, EventKinds::one(0)).await;
///     cue.step("waiting for the bell");
///     let (_rung, _bell) = cue.event().await.ok_or("the bell is gone")?;
///     cue.step("on the way to the door");
///     cue.sleep(2).await;
///     let rung = cue.with(move |_, bells| bells.get(bell).map(|bell| bell.rung)).await;
///     if rung == Ok(1) { Ok(()) } else { Err("too late") }
/// }
///
/// fn live(activities: Activities<'_, Async<Village>>, bells: Lookup<'_, &'static Bell>, mut now: Local<'_, u64>) {
///     *now += 1;
///     activities.run(*now, &bells);
/// }
/// let mut world = World::new();
/// let bell = world.spawn(Bell { rung: 0 });
/// let agent = world.spawn(activity::idle::<Async<Village>>());
/// let errand = Async::new("answering the door", move |cue| answer(cue, bell));
/// activity::order(&mut world, agent, 1, errand)?;
/// let mut schedule = Schedule::builder().add(live).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// schedule.run(&mut world, &pool);
/// let doing = world.get::<activity::Doing<Async<Village>>>(agent)?;
/// assert_eq!(doing.to_string(), "answering the door: waiting for the bell");
/// world.get_mut::<Bell>(bell)?.rung = 1;
/// world.resource_mut::<Events<Posted<Rung>>>()?.send(Posted::about(bell, Rung));
/// (0..3).for_each(|_| _ = schedule.run(&mut world, &pool));
/// let doing = world.get::<activity::Doing<Async<Village>>>(agent)?;
/// assert_eq!(doing.ended(), Some(activity::Ended::Success));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Async<G: Setting> {
    name: Cow<'static, str>,
    /// Nobody locks it: it is what makes a future that is only `Send` a part of a component.
    future: Mutex<Option<Running<G::Failure>>>,
    desk: Arc<Desk<G>>,
}

/// What the future and the runtime hand each other.
struct Desk<G: Setting>(Mutex<Papers<G>>);

struct Papers<G: Setting> {
    asks: VecDeque<Ask<G>>,
    closings: VecDeque<Closing<G>>,
    /// What was told and not taken yet; a death has no event.
    inbox: VecDeque<(Option<G::Event>, Entity)>,
    step: Option<Cow<'static, str>>,
    now: u64,
    /// It waits for the next tick, whatever comes.
    wants_tick: bool,
    /// The parts of the future that wait for something here.
    waiting: Vec<Waker>,
}

/// Whether the future has asked to be polled again, as it was polled.
struct Woken(Mutex<bool>);

impl Woken {
    fn take(&self) -> bool {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

impl<G: Setting> Desk<G> {
    fn open(&self) -> MutexGuard<'_, Papers<G>> {
        // Closures of users are taken out before they are called, so no panic leaves it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has all parts of the future looked at again: combinators look at those alone that were woken.
    fn wake_all(&self) {
        let waiting = std::mem::take(&mut self.open().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until there is something on the desk.
    async fn wait<R>(&self, mut look: impl FnMut(&mut Papers<G>) -> Option<R>) -> R {
        poll_fn(|context| {
            let mut papers = self.open();
            let found = look(&mut papers);
            if found.is_none() {
                papers.waiting.push(context.waker().clone());
            }
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl<G: Setting> fmt::Debug for Async<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Async").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<G: Setting> Async<G> {
    /// An activity that runs the future which `story` makes of its cue. It begins to run with the
    /// activity's first tick.
    pub fn new<Told>(name: impl Into<Cow<'static, str>>, story: impl FnOnce(Cue<G>) -> Told) -> Self
    where
        Told: Future<Output = Result<(), G::Failure>> + Send + 'static,
    {
        let desk = Arc::new(Desk(Mutex::new(Papers {
            asks: VecDeque::new(),
            closings: VecDeque::new(),
            inbox: VecDeque::new(),
            step: None,
            now: 0,
            wants_tick: false,
            waiting: Vec::new(),
        })));
        let future = Mutex::new(Some(Box::pin(story(Cue(desk.clone()))) as Running<G::Failure>));
        Self { name: name.into(), future, desk }
    }

    fn future(&mut self) -> &mut Option<Running<G::Failure>> {
        self.future.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what guards that were dropped have left.
    fn close(desk: &Desk<G>, effects: &mut Effects<'_, G>, world: &G::World<'_>) {
        loop {
            let closing = desk.open().closings.pop_front();
            let Some(closing) = closing else { break };
            closing(effects, world);
        }
    }
}

impl<G: Setting<Event: Clone>> Activity for Async<G> {
    type Setting = G;

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn step(&self) -> Option<Cow<'_, str>> {
        self.desk.open().step.clone()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, G>, world: &G::World<'_>) -> Status<G::Failure> {
        let woken = Arc::new(Woken(Mutex::new(false)));
        let waker = Waker::from(woken.clone());
        let desk = self.desk.clone();
        {
            let mut papers = desk.open();
            (papers.now, papers.wants_tick) = (tick.now(), false);
        }
        for _ in 0..ASKS_MAX {
            // One that panics is gone.
            let Some(mut running) = self.future().take() else {
                return Status::Finished(Ending::Interrupted);
            };
            desk.wake_all();
            woken.take();
            match running.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => *self.future() = Some(running),
                Poll::Ready(result) => {
                    drop(running);
                    let ending = result.map_or_else(Ending::Failure, |()| Ending::Success);
                    return Status::Finished(ending);
                }
            }
            Self::close(&desk, tick, world);
            let asks = std::mem::take(&mut desk.open().asks);
            if asks.is_empty() {
                let goes_on = desk.open().wants_tick || woken.take();
                return if goes_on { Status::Ongoing } else { Status::Blocked };
            }
            asks.into_iter().for_each(|ask| ask(tick, world));
        }
        Status::Ongoing
    }

    fn on_event(&mut self, notice: Notice<'_, G::Event>, subject: Entity) -> Response {
        let mut papers = self.desk.open();
        match notice {
            Notice::Event(event) => papers.inbox.push_back((Some(event.clone()), subject)),
            Notice::Died => papers.inbox.push_back((None, subject)),
            Notice::Time => {}
        }
        Response::WAKE
    }

    fn on_finish(
        mut self,
        _: &Ending<G::Failure>,
        effects: &mut Effects<'_, G>,
        world: &G::World<'_>,
    ) {
        // Its guards lie down on the desk what is to be done.
        drop(self.future().take());
        Self::close(&self.desk, effects, world);
    }
}

/// What an `async` activity has in hand: the way to its world, and to what it waits for. It is for
/// the future of its own activity alone.
pub struct Cue<G: Setting>(Arc<Desk<G>>);

impl<G: Setting> Clone for Cue<G> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<G: Setting> fmt::Debug for Cue<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cue").finish_non_exhaustive()
    }
}

impl<G: Setting> Cue<G> {
    /// Calls the closure with the tick and the world, in this very tick, and gives what it gives.
    pub async fn with<R: Send + 'static>(
        &self,
        ask: impl for<'t, 'w> FnOnce(&mut Tick<'t, G>, &G::World<'w>) -> R + Send + 'static,
    ) -> R {
        let answer = Arc::new(Mutex::new(None));
        let place = answer.clone();
        self.0.open().asks.push_back(Box::new(move |tick, world| {
            let given = ask(tick, world);
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(given);
        }));
        self.0.wait(|_| answer.lock().unwrap_or_else(PoisonError::into_inner).take()).await
    }

    /// Has events of these kinds about the subject come, and its death in any case; see
    /// [`Tick::subscribe`].
    pub async fn subscribe(&self, subject: Entity, kinds: EventKinds) -> Token {
        self.with(move |tick, _| tick.subscribe(subject, kinds)).await
    }

    /// The next event that it is told of, and who it is about; `None` in place of the event is the
    /// subject's death.
    pub async fn next(&self) -> (Option<G::Event>, Entity) {
        self.0.wait(|papers| papers.inbox.pop_front()).await
    }

    /// The next event that it is told of, and who it is about; `None` where a subject has died.
    pub async fn event(&self) -> Option<(G::Event, Entity)> {
        let (event, subject) = self.next().await;
        event.map(|event| (event, subject))
    }

    /// Sleeps for so many ticks, at least one. Events that come meanwhile are kept.
    pub async fn sleep(&self, ticks: u64) {
        let due = self
            .with(move |tick, _| {
                tick.wake_after(ticks);
                tick.now().saturating_add(ticks.max(1))
            })
            .await;
        self.0.wait(|papers| (papers.now >= due).then_some(())).await;
    }

    /// Waits for the next tick.
    pub async fn next_tick(&self) {
        let mut since = None;
        self.0
            .wait(|papers| {
                let is_next = papers.now > *since.get_or_insert(papers.now);
                papers.wants_tick |= !is_next;
                is_next.then_some(())
            })
            .await;
    }

    /// Waits for a future of another library, which is asked in every tick. What comes of it does
    /// not depend on threads only as far as that future does not.
    pub async fn outside<R>(&self, future: impl Future<Output = R>) -> R {
        let mut future = std::pin::pin!(future);
        poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            if polled.is_pending() {
                let mut papers = self.0.open();
                papers.wants_tick = true;
                papers.waiting.push(context.waker().clone());
            }
            polled
        })
        .await
    }

    /// Says what it is doing at the moment, for a person to read.
    pub fn step(&self, step: impl Into<Cow<'static, str>>) {
        self.0.open().step = Some(step.into());
    }

    /// Has something done when the guard is dropped: where the future lets go of it, or is dropped
    /// with it because the activity was interrupted.
    #[must_use = "what is dropped at once is done at once"]
    pub fn guard(
        &self,
        closing: impl for<'t, 'w> FnOnce(&mut Effects<'t, G>, &G::World<'w>) + Send + 'static,
    ) -> Guard<G> {
        Guard { desk: self.0.clone(), closing: Mutex::new(Some(Box::new(closing))) }
    }
}

/// Something that is done when it is dropped, see [`Cue::guard`].
pub struct Guard<G: Setting> {
    desk: Arc<Desk<G>>,
    closing: Mutex<Option<Closing<G>>>,
}

impl<G: Setting> fmt::Debug for Guard<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl<G: Setting> Guard<G> {
    /// Lets it go without anything being done.
    pub fn disarm(mut self) {
        *self.closing.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<G: Setting> Drop for Guard<G> {
    fn drop(&mut self) {
        let closing = self.closing.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.desk.open().closings.extend(closing);
    }
}
