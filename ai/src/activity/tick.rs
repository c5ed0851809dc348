//! The effects an activity can cause.

use std::sync::Arc;
use std::task::Waker;

use formic_ecs::{Buffer, Codec, CommandBuffer, Entity};
use formic_jobs::GatherSlot;

use super::calls::Calls;
use super::domain::{ActivityDomain, Ending};
use super::event::{EventKinds, Posted, Token};
use super::subscription::Subscription;
use crate::explain::Ended;

/// What comes of the ticks of many activities, until it is seen to in order.
#[derive(Debug)]
pub(super) enum Outgoing<G: ActivityDomain> {
    Post(Posted<G::Event>),
    Link { task: Entity, subscription: Subscription },
    Unlink(Token),
    UnlinkAll(Entity),
    WaitsForNothing,
    Ended(Finished<G::Failure>),
}

/// An activity has come to its end: what minds that want to know the reason read with an
/// [`EventReader`](formic_jobs::EventReader).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished<F> {
    /// The entity with the [`ActivitySlot`](super::ActivitySlot).
    pub task: Entity,
    /// Who has acted.
    pub agent: Entity,
    /// How it came to its end, and why.
    pub ending: Ending<F>,
}

impl<F: 'static> Finished<F> {
    /// Who, as whom, and how, with the reason of a failure by its own codec.
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

/// What an activity can cause at any time, its end included: queued updates, and events.
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
    /// Who acts.
    #[must_use]
    pub const fn agent(&self) -> Entity {
        self.agent
    }

    /// The entity with the [`ActivitySlot`](super::ActivitySlot): the agent itself, or its
    /// [parallel activity](super::parallel).
    #[must_use]
    pub const fn task(&self) -> Entity {
        self.task
    }

    /// The tick that it is, as [`Activities::run`](super::Activities::run) was told.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The same for a shorter time.
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

    /// Updates of the world, which are made at the next sync point of the schedule.
    pub const fn commands(&mut self) -> &mut CommandBuffer {
        self.commands
    }

    /// Posts an event. It is on its way when all activities have had their tick.
    pub fn post(&mut self, post: Posted<G::Event>) {
        self.out.push(Outgoing::Post(post));
    }
}

/// What an activity can cause in a tick of its own: [`Effects`], and subscriptions.
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
    /// Where it is noted which subscriptions the activity ends itself, for the recorder.
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
    /// Has events of these kinds about the subject come to
    /// [`on_event`](super::Activity::on_event), and its death in any case.
    ///
    /// It is in force before anything that this tick causes can be seen: subscribe, then
    /// request, and no answer is lost. What was posted before is not told: look whether it has
    /// happened already. The death of a subject that is dead by now is told at once.
    ///
    /// A request that takes the token along is answered to this subscription alone, see
    /// [`Posted::answering`].
    pub fn subscribe(&mut self, subject: Entity, kinds: EventKinds) -> Token {
        let number = self.next_number();
        self.add(Subscription::to(subject, kinds, number))
    }

    /// Wakes the activity in so many ticks, at least one.
    pub fn wake_after(&mut self, ticks: u64) -> Token {
        self.wake_at(self.now.saturating_add(ticks.max(1)))
    }

    /// Wakes the activity in the tick of this number, or in the next one if that is past.
    pub fn wake_at(&mut self, tick: u64) -> Token {
        let number = self.next_number();
        self.add(Subscription::timer(self.task, tick, number))
    }

    /// The same for a shorter time, in which it is noted what is ended.
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

    /// Ends a subscription or a timer of this activity. Whether there was one: it may have ended by
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

    /// Has a thread outside of the schedule wake the activity: the waker, called from anywhere and
    /// at any time, has it ticked in the next run, as long as this subscription is in force. For an
    /// answer that comes as no event (a file, a server's reply), that is one to the own agent and
    /// [`EventKinds::NONE`].
    ///
    /// In which tick such an answer comes, is not part of the state of the world: with it, what is
    /// replayed need not be the same.
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

    /// What this activity waits for, in the order of subscribing.
    #[must_use]
    pub fn subscriptions(&self) -> &[Subscription] {
        self.subscriptions
    }
}
