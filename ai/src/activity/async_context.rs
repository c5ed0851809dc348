//! The context handed to an async activity.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use formic_ecs::Entity;

use super::domain::ActivityDomain;
use super::event::{EventKinds, Token};
use super::inbox::{NoEvent, Told};
use super::mailbox::{Closing, Mailbox, Waiter};
use super::tick::{Effects, Tick};

/// The context handed to an `async` activity, through which its future reads the world and waits for
/// events. It belongs to the future of its own activity; anywhere else its futures never complete.
pub struct AsyncContext<G: ActivityDomain>(pub(super) Arc<Mailbox<G>>);

impl<G: ActivityDomain> Clone for AsyncContext<G> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

debug_fields!([G: ActivityDomain] AsyncContext<G>:);

impl<G: ActivityDomain> AsyncContext<G> {
    /// Calls the closure with the tick and the world, within the current tick, and returns its result. If
    /// this future is dropped before, the closure is not called. If the closure panics, the future is
    /// dropped and the activity ends as interrupted, as if the future itself had panicked.
    pub async fn with<R: Send + 'static>(
        &self,
        ask: impl for<'t, 'w> FnOnce(&mut Tick<'t, G>, &G::World<'w>) -> R + Send + 'static,
    ) -> R {
        let answer = Arc::new(Mutex::new((None, None)));
        let place = Arc::downgrade(&answer);
        self.0.request(Box::new(move |tick, world| {
            let Some(place) = place.upgrade() else { return };
            let given = ask(tick, world);
            let mut answer = place.lock().unwrap_or_else(PoisonError::into_inner);
            answer.0 = Some(given);
            let waker: Option<Waker> = answer.1.take();
            drop(answer);
            waker.into_iter().for_each(Waker::wake);
        }));
        poll_fn(|context| {
            let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
            let given = answer.0.take();
            let waker = given.is_none().then(|| context.waker().clone());
            let before = std::mem::replace(&mut answer.1, waker);
            drop(answer);
            drop(before);
            given.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Subscribes to events of these kinds about the subject, and always to its death; see
    /// [`Tick::subscribe`].
    pub async fn subscribe(&self, subject: Entity, kinds: EventKinds) -> Token {
        self.with(move |tick, _| tick.subscribe(subject, kinds)).await
    }

    /// Ends a subscription, and drops the events that came by it and were not taken.
    pub async fn unsubscribe(&self, token: Token) -> bool {
        self.with(move |tick, _| tick.unsubscribe(token)).await
    }

    /// The next notice by any of its subscriptions, in the order in which they came. Notices that are not
    /// taken are kept: up to 1,024 events, then the oldest are [lost](NoEvent::Missed).
    pub async fn next(&self) -> Told<G::Event> {
        self.0.wait(|state| state.inbox.take(|_| true)).await
    }

    /// The next event by this subscription; events by others are kept. If a request carries the token,
    /// the answer [goes](super::Posted::answering) to this subscription alone.
    ///
    /// # Errors
    /// Returns an error if the subject has died, or if events may have been missed.
    pub async fn answer(&self, token: Token) -> Result<G::Event, NoEvent> {
        let told = self.0.wait(|state| state.inbox.take(|other| other == token)).await;
        told.event
    }

    /// The next event by any of its subscriptions, with its subject.
    ///
    /// # Errors
    /// Returns an error if a subject has died, or if events may have been missed; [`next`](Self::next)
    /// also says which subject.
    pub async fn event(&self) -> Result<(G::Event, Entity), NoEvent> {
        let Told { subject, event, .. } = self.next().await;
        event.map(|event| (event, subject))
    }

    /// Sleeps for this many ticks, at least one. Events that come meanwhile are kept.
    pub async fn sleep(&self, ticks: u64) {
        let mailbox = self.0.clone();
        let set = self.with(move |tick, _| {
            let due = tick.now().saturating_add(ticks.max(1));
            (Timer { mailbox, token: Some(tick.wake_after(ticks)) }, due)
        });
        let (mut timer, due) = set.await;
        self.0.wait(|state| (state.now >= due).then_some(())).await;
        timer.token = None;
    }

    /// Waits for the next tick.
    ///
    /// ```
    /// # use formic_ai::activity::{self, Activities, ActivitySlot, Async, AsyncContext, Event};
    /// # use formic_ai::prelude::*;
    /// # #[derive(Clone)] struct Nothing;
    /// # impl Event for Nothing {}
    /// # type House = ((), Nothing, ());
    /// let climb = Async::new("climbing", |stairs: AsyncContext<House>| async move {
    ///     for step in 1..=3 {
    ///         stairs.step(format!("on step {step}"));
    ///         stairs.next_tick().await;
    ///     }
    ///     Ok(())
    /// });
    /// # let mut world = World::new();
    /// let child = world.spawn(activity::idle::<Async<House>>());
    /// activity::order(&mut world, child, 1, climb)?;
    /// let live = |activities: Activities<Async<House>>, mut now: Local<u64>| {
    ///     *now += 1;
    ///     activities.run(*now, &());
    /// };
    /// let mut schedule = Schedule::builder().add(live).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// (0..2).for_each(|_| _ = schedule.run(&mut world, &pool));
    /// let slot = world.get::<ActivitySlot<Async<House>>>(child)?;
    /// assert_eq!(slot.to_string(), "climbing: on step 2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next_tick(&self) {
        let mut since = None;
        self.0
            .wait(|state| {
                let is_next = state.now > *since.get_or_insert(state.now);
                state.wants_tick |= !is_next;
                is_next.then_some(())
            })
            .await;
    }

    /// Waits for a future of another library that may not call its waker, by polling it every tick. A
    /// future that does call its waker needs no wrapper: await it directly, and the activity sleeps
    /// meanwhile. Either result is deterministic only as far as that future is.
    ///
    /// ```
    /// use formic_ai::activity::{self, Activities, ActivitySlot, Async, AsyncContext, Event};
    /// use formic_ai::prelude::*;
    /// use std::future::poll_fn;
    /// use std::task::Poll;
    /// # #[derive(Clone)] struct Nothing;
    /// # impl Event for Nothing {}
    /// # type House = ((), Nothing, ());
    /// let ask = Async::new("asking a server", |context: AsyncContext<House>| async move {
    ///     // The future of a library that does not wake: its reply is there when it is asked a third time.
    ///     let mut times = 0..3;
    ///     let reply = poll_fn(move |_| if times.next() == Some(2) { Poll::Ready(42) } else { Poll::Pending });
    ///     if context.outside(reply).await == 42 { Ok(()) } else { Err(()) }
    /// });
    /// # let mut world = World::new();
    /// let child = world.spawn(activity::idle::<Async<House>>());
    /// activity::order(&mut world, child, 1, ask)?;
    /// let live = |activities: Activities<Async<House>>| _ = activities.run(0, &());
    /// let mut schedule = Schedule::builder().add(live).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// (0..3).for_each(|_| _ = schedule.run(&mut world, &pool));
    /// assert_eq!(world.get::<ActivitySlot<Async<House>>>(child)?.ended(), Some(Ended::Success));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn outside<R>(&self, future: impl Future<Output = R>) -> R {
        let mut future = std::pin::pin!(future);
        let mut waiter = Waiter::new(&self.0);
        poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            if polled.is_pending() {
                let mut state = self.0.open();
                state.wants_tick = true;
                waiter.stay(state, context.waker());
            }
            polled
        })
        .await
    }

    /// Sets the step that it is at, for people to read.
    pub fn step(&self, step: impl Into<Cow<'static, str>>) {
        let step = step.into();
        self.0.open().step = Some(step);
    }

    /// Returns a guard that runs `closing` when it is dropped: by the future, or together with the future
    /// if the activity is interrupted.
    #[must_use = "what is dropped at once is done at once"]
    pub fn guard(
        &self,
        closing: impl for<'t, 'w> FnOnce(&mut Effects<'t, G>, &G::World<'w>) + Send + 'static,
    ) -> Guard<G> {
        Guard { mailbox: self.0.clone(), closing: Mutex::new(Some(Box::new(closing))) }
    }
}

/// The timer of a sleep, which is cancelled with it if the sleep is cut short. Otherwise timers would
/// accumulate in a future that waits for an event or a timeout.
struct Timer<G: ActivityDomain> {
    mailbox: Arc<Mailbox<G>>,
    /// `None` once it has run out.
    token: Option<Token>,
}

impl<G: ActivityDomain> Drop for Timer<G> {
    fn drop(&mut self) {
        if let Some(token) = self.token {
            self.mailbox.request(Box::new(move |tick, _| _ = tick.unsubscribe(token)));
        }
    }
}

/// A guard that runs a closure when it is dropped, see [`AsyncContext::guard`].
pub struct Guard<G: ActivityDomain> {
    mailbox: Arc<Mailbox<G>>,
    closing: Mutex<Option<Closing<G>>>,
}

debug_fields!([G: ActivityDomain] Guard<G>:);

impl<G: ActivityDomain> Guard<G> {
    /// Releases the guard without running its closure.
    ///
    /// ```
    /// use formic_ai::activity::AsyncContext;
    /// # #[derive(Clone)] struct Nothing;
    /// # impl formic_ai::activity::Event for Nothing {}
    /// # type House = ((), Nothing, ());
    /// # #[derive(formic_ecs::Component)] struct Crate;
    /// /// Carries a crate, and drops it wherever it is interrupted.
    /// async fn carry(context: AsyncContext<House>) -> Result<(), ()> {
    ///     let falls = context.guard(|effects, _| _ = effects.commands().spawn(Crate));
    ///     context.sleep(10).await;
    ///     falls.disarm(); // It was set down with care.
    ///     Ok(())
    /// }
    /// # _ = carry;
    /// ```
    pub fn disarm(mut self) {
        *self.closing.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<G: ActivityDomain> Drop for Guard<G> {
    fn drop(&mut self) {
        let closing = self.closing.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.mailbox.close_with(closing);
    }
}
