//! The effects that an activity can cause.

use std::sync::Arc;
use std::task::Waker;

use formic_ecs::{Buffer, Codec, CommandBuffer, Entity};
use formic_jobs::GatherSlot;

use super::calls::Calls;
use super::domain::{ActivityDomain, Ending};
use super::event::{EventKinds, Posted, Token};
use super::subscription::Subscription;
use crate::explain::Ended;

/// A result of the ticks of many activities, to be applied in order.
#[derive(Debug)]
pub(super) enum Outgoing<G: ActivityDomain> {
    Post(Posted<G::Event>),
    Link { task: Entity, subscription: Subscription },
    Unlink(Token),
    UnlinkAll(Entity),
    WaitsForNothing,
    Ended(Finished<G::Failure>),
}

/// The event that an activity has ended. Minds that need the reason read it with an
/// [`EventReader`](formic_jobs::EventReader).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished<F> {
    /// The entity with the [`ActivitySlot`](super::ActivitySlot).
    pub task: Entity,
    /// The agent that acted.
    pub agent: Entity,
    /// The ending, with the reason of a failure.
    pub ending: Ending<F>,
}

impl<F: 'static> Finished<F> {
    /// The task, the agent, and the ending, with the reason of a failure by its own codec.
    pub(super) const fn codec<G: ActivityDomain<Failure = F>>() -> Codec<Self> {
        Codec::custom(
            |finished, bytes| {
                Codec::plain().write(&finished.task, bytes)?;
                Codec::plain().write(&finished.agent, bytes)?;
                Codec::plain().write(&finished.ending.how(), bytes)?;
                match &finished.ending {
                    Ending::Failed(why) => G::FAILURE.write(why, bytes),
                    Ending::Success | Ending::Interrupted => Ok(()),
                }
            },
            |bytes| {
                let (task, agent) = (Codec::plain().read(bytes)?, Codec::plain().read(bytes)?);
                let ending = match Codec::<Ended>::plain().read(bytes)? {
                    Ended::Success => Ending::Success,
                    Ended::Failed => Ending::Failed(G::FAILURE.read(bytes)?),
                    Ended::Interrupted => Ending::Interrupted,
                };
                Ok(Self { task, agent, ending })
            },
        )
    }
}

/// The effects that an activity can cause at any time, including its end: queued changes, and events.
///
/// ```
/// # use std::borrow::Cow;
/// use formic_ai::activity::{self, Activities, Activity, Effects, Ending, Event, Posted, Status, Tick};
/// use formic_ai::prelude::*;
/// struct Served;
/// impl Event for Served {}
/// type Inn = ((), Served, ());
/// struct Cook;
///
/// impl Activity for Cook {
///     type Domain = Inn;
///     # const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
///     # fn name(&self) -> Cow<'_, str> { "cooking".into() }
///     # fn on_tick(&mut self, _: &mut Tick<Inn>, (): &()) -> Status<()> { Status::Finished(Ending::Success) }
///     // Other methods, and:
///     fn on_finish(self, ending: &Ending<()>, effects: &mut Effects<Inn>, (): &()) {
///         if ending.how() == Ended::Success {
///             effects.post(Posted::about(effects.agent(), Served)); // Wakes those who wait for it.
///         }
///     }
/// }
/// let mut world = World::new();
/// let cook = world.spawn(activity::idle::<Cook>());
/// activity::order(&mut world, cook, 1, Cook)?;
/// let live = |activities: Activities<Cook>| _ = activities.run(0, &());
/// let eat = |mut posts: EventReader<Posted<Served>>| assert_eq!(posts.read().count(), 1);
/// let mut schedule = Schedule::builder().add((live, eat)).build(&mut world)?;
/// assert!(schedule.run(&mut world, &Pool::new(Threads::None)?).failures.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Effects<'t, G: ActivityDomain> {
    pub(super) task: Entity,
    pub(super) agent: Entity,
    pub(super) now: u64,
    pub(super) commands: &'t mut CommandBuffer,
    pub(super) out: &'t mut GatherSlot<Outgoing<G>>,
    pub(super) calls: &'t Arc<Calls>,
}

debug_fields!([G: ActivityDomain] Effects<'_, G>: task, agent, now);

impl<G: ActivityDomain> Effects<'_, G> {
    /// The agent that acts.
    #[must_use]
    pub const fn agent(&self) -> Entity {
        self.agent
    }

    /// The entity with the [`ActivitySlot`](super::ActivitySlot): the agent itself, or its [parallel
    /// activity](super::parallel).
    #[must_use]
    pub const fn task(&self) -> Entity {
        self.task
    }

    /// The current tick, as passed to [`Activities::run`](super::Activities::run).
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Reborrows the effects for a shorter time.
    pub(super) const fn reborrow(&mut self) -> Effects<'_, G> {
        Effects {
            task: self.task,
            agent: self.agent,
            now: self.now,
            commands: self.commands,
            out: self.out,
            calls: self.calls,
        }
    }

    /// A command buffer for changes of the world, which are applied at the next sync point of the
    /// schedule.
    pub const fn commands(&mut self) -> &mut CommandBuffer {
        self.commands
    }

    /// Posts an event. It is handed on after all activities have been ticked.
    pub fn post(&mut self, post: Posted<G::Event>) {
        self.out.push(Outgoing::Post(post));
    }
}

/// The effects that an activity can cause in one of its ticks: [`Effects`], and subscriptions.
///
/// ```
/// use std::borrow::Cow;
/// use formic_ai::activity::{self, Activities, Activity, ActivitySlot, Ending, EventKinds, Status, Tick};
/// # use formic_ai::activity::Event;
/// use formic_ai::prelude::*;
/// # struct Rung;
/// # impl Event for Rung {}
/// # type House = ((), Rung, ());
/// /// Listens for the bell, but not for ever.
/// struct Listen { bell: Entity, since: Option<u64> }
///
/// impl Activity for Listen {
///     type Domain = House;
///     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
///     fn name(&self) -> Cow<'_, str> { "listening".into() }
///     fn on_tick(&mut self, tick: &mut Tick<House>, (): &()) -> Status<()> {
///         match self.since {
///             None => {
///                 self.since = Some(tick.now());
///                 tick.subscribe(self.bell, EventKinds::ALL);
///                 tick.wake_after(20);
///                 Status::Blocked
///             }
///             // It rang, or the time is over: what it still waits for ends with it.
///             Some(since) if tick.now() < since + 20 => Status::Finished(Ending::Success),
///             Some(_) => Status::Finished(Ending::Failed(())),
///         }
///     }
/// }
/// fn live(activities: Activities<Listen>, mut now: Local<u64>) {
///     *now += 1;
///     activities.run(*now, &());
/// }
/// # let mut world = World::new();
/// let bell = world.spawn(());
/// let servant = world.spawn(activity::idle::<Listen>());
/// activity::order(&mut world, servant, 1, Listen { bell, since: None })?;
/// let mut schedule = Schedule::builder().add(live).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// schedule.run(&mut world, &pool);
/// let slot = world.get::<ActivitySlot<Listen>>(servant)?;
/// assert_eq!(slot.subscriptions()[0].subject(), bell);
/// assert_eq!(slot.subscriptions()[1].due(), Some(21));
/// assert!(world.resource::<activity::Subscriptions<Listen>>()?.wants(bell, EventKinds::ALL));
/// (0..20).for_each(|_| _ = schedule.run(&mut world, &pool));
/// assert_eq!(world.get::<ActivitySlot<Listen>>(servant)?.ended(), Some(Ended::Failed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tick<'t, G: ActivityDomain> {
    pub(super) effects: Effects<'t, G>,
    pub(super) subscriptions: &'t mut Buffer<Subscription>,
    pub(super) newest: &'t mut u32,
    /// Collects the subscriptions that the activity ends itself, for the caller of `noting`.
    pub(super) ended: Option<&'t mut Vec<Token>>,
}

debug_fields!([G: ActivityDomain] Tick<'_, G>: effects, subscriptions);

impl<'t, G: ActivityDomain> std::ops::Deref for Tick<'t, G> {
    type Target = Effects<'t, G>;

    fn deref(&self) -> &Effects<'t, G> {
        &self.effects
    }
}

impl<'t, G: ActivityDomain> std::ops::DerefMut for Tick<'t, G> {
    fn deref_mut(&mut self) -> &mut Effects<'t, G> {
        &mut self.effects
    }
}

impl<G: ActivityDomain> Tick<'_, G> {
    /// Subscribes to events of these kinds about the subject, and always to its death; they come to
    /// [`on_event`](super::Activity::on_event).
    ///
    /// The subscription takes effect before anything that this tick causes can be seen: subscribe, then
    /// request, and no answer is lost. Events that were posted before are not delivered: check whether
    /// the condition already holds. If the subject is already dead, its death is reported in the next
    /// run.
    ///
    /// If a request carries the token, the answer goes to this subscription alone, see
    /// [`Posted::answering`].
    pub fn subscribe(&mut self, subject: Entity, kinds: EventKinds) -> Token {
        let number = self.next_number();
        self.add(Subscription::to(subject, kinds, number))
    }

    /// Wakes the activity after this many ticks, at least one.
    pub fn wake_after(&mut self, ticks: u64) -> Token {
        self.wake_at(self.now.saturating_add(ticks.max(1)))
    }

    /// Wakes the activity in the tick with this number, or in the next one if that is past.
    pub fn wake_at(&mut self, tick: u64) -> Token {
        let number = self.next_number();
        self.add(Subscription::timer(self.task, tick, number))
    }

    /// Reborrows the tick for a shorter time, and collects the subscriptions that are ended in it.
    pub(super) const fn noting<'s>(&'s mut self, ended: &'s mut Vec<Token>) -> Tick<'s, G> {
        Tick {
            effects: self.effects.reborrow(),
            subscriptions: self.subscriptions,
            newest: self.newest,
            ended: Some(ended),
        }
    }

    fn next_number(&mut self) -> u32 {
        *self.newest = self.newest.wrapping_add(1);
        *self.newest
    }

    fn add(&mut self, subscription: Subscription) -> Token {
        self.subscriptions.push(subscription);
        let task = self.task;
        self.out.push(Outgoing::Link { task, subscription });
        subscription.token(task)
    }

    /// Ends a subscription or a timer of this activity. Returns whether it existed: it may have ended by
    /// itself.
    pub fn unsubscribe(&mut self, token: Token) -> bool {
        let task = self.task;
        let place = self.subscriptions.iter().position(|it| it.token(task) == token);
        if let Some(place) = place {
            self.subscriptions.remove(place);
            self.out.push(Outgoing::Unlink(token));
            self.ended.iter_mut().for_each(|ended| ended.push(token));
        }
        place.is_some()
    }

    /// Ends all subscriptions and timers of this activity.
    pub fn unsubscribe_all(&mut self) {
        if !self.subscriptions.is_empty() {
            let task = self.task;
            if let Some(ended) = &mut self.ended {
                ended.extend(self.subscriptions.iter().map(|it| it.token(task)));
            }
            self.subscriptions.clear();
            self.out.push(Outgoing::UnlinkAll(task));
        }
    }

    /// A waker with which a thread outside the schedule wakes the activity. Called from anywhere at any
    /// time, it makes the activity tick in the next run, as long as this subscription is active. For an
    /// answer that is not an event (a file, the reply of a server), subscribe to the own agent with
    /// [`EventKinds::NONE`].
    ///
    /// The tick in which such an answer comes is not part of the state of the world: a replay with it may
    /// differ.
    ///
    /// ```
    /// # use std::borrow::Cow;
    /// use std::sync::{Arc, OnceLock};
    /// use std::thread;
    /// # use formic_ai::activity::{Event, EventKinds};
    /// use formic_ai::activity::{Activity, Ending, Status, Tick};
    /// # struct Nothing;
    /// # impl Event for Nothing {}
    /// # type Village = ((), Nothing, ());
    /// struct Ask { reply: Arc<OnceLock<u32>>, has_asked: bool }
    ///
    /// impl Activity for Ask {
    ///     type Domain = Village;
    ///     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
    ///     fn name(&self) -> Cow<'_, str> { "asking a server".into() }
    ///     fn on_tick(&mut self, tick: &mut Tick<Village>, (): &()) -> Status<()> {
    ///         if self.reply.get().is_some() {
    ///             return Status::Finished(Ending::Success);
    ///         }
    ///         if !std::mem::replace(&mut self.has_asked, true) {
    ///             let token = tick.subscribe(tick.agent(), EventKinds::NONE);
    ///             let (waker, reply) = (tick.waker(token), self.reply.clone());
    ///             thread::spawn(move || {
    ///                 _ = reply.set(42);
    ///                 waker.wake();
    ///             });
    ///         }
    ///         Status::Blocked
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn waker(&self, token: Token) -> Waker {
        self.effects.calls.waker(token)
    }

    /// The subscriptions of this activity, in the order of subscribing.
    #[must_use]
    pub fn subscriptions(&self) -> &[Subscription] {
        self.subscriptions
    }
}
