//! What an activity can cause.

use std::fmt;

use ecs_core::{Buffer, CommandBuffer, Entity};
use ecs_jobs::GatherSlot;

use super::event::{EventKinds, Posted, Token};
use super::setting::{Ending, Setting};
use super::subscription::Subscription;

/// What comes of the ticks of many activities, until it is seen to in order.
#[derive(Debug)]
pub(super) enum Outgoing<G: Setting> {
    Post(Posted<G::Event>),
    Link { task: Entity, subscription: Subscription },
    Unlink(Token),
    UnlinkAll(Entity),
    WaitsForNothing,
    Ended(Finished<G::Failure>),
}

/// An activity has come to its end: what minds that want to know the reason read with an
/// [`EventReader`](ecs_jobs::EventReader).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished<F> {
    /// The entity with the [`Doing`](super::Doing).
    pub task: Entity,
    /// Who has acted.
    pub agent: Entity,
    /// How it came to its end, and why.
    pub ending: Ending<F>,
}

/// What an activity can cause at any time, its end included: queued updates, and events.
pub struct Effects<'t, G: Setting> {
    pub(super) task: Entity,
    pub(super) agent: Entity,
    pub(super) now: u64,
    pub(super) commands: &'t mut CommandBuffer,
    pub(super) out: &'t mut GatherSlot<Outgoing<G>>,
}

impl<G: Setting> fmt::Debug for Effects<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effects")
            .field("task", &self.task)
            .field("agent", &self.agent)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl<G: Setting> Effects<'_, G> {
    /// Who acts.
    #[must_use]
    pub const fn agent(&self) -> Entity {
        self.agent
    }

    /// The entity with the [`Doing`](super::Doing): the agent itself, or its
    /// [lane](super::lane).
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
pub struct Tick<'t, G: Setting> {
    pub(super) effects: Effects<'t, G>,
    pub(super) subscriptions: &'t mut Buffer<Subscription>,
    pub(super) newest: &'t mut u32,
}

impl<G: Setting> fmt::Debug for Tick<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tick")
            .field("effects", &self.effects)
            .field("subscriptions", &self.subscriptions)
            .finish_non_exhaustive()
    }
}

impl<'t, G: Setting> std::ops::Deref for Tick<'t, G> {
    type Target = Effects<'t, G>;

    fn deref(&self) -> &Effects<'t, G> {
        &self.effects
    }
}

impl<'t, G: Setting> std::ops::DerefMut for Tick<'t, G> {
    fn deref_mut(&mut self) -> &mut Effects<'t, G> {
        &mut self.effects
    }
}

impl<G: Setting> Tick<'_, G> {
    /// Has events of these kinds about the subject come to
    /// [`on_event`](super::Activity::on_event), and its death in any case.
    ///
    /// It is in force before anything that this tick causes can be seen by anybody: subscribe, then
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
        }
        place.is_some()
    }

    /// Ends all subscriptions and timers of this activity.
    pub fn unsubscribe_all(&mut self) {
        if !self.subscriptions.is_empty() {
            self.subscriptions.clear();
            let task = self.task;
            self.out.push(Outgoing::UnlinkAll(task));
        }
    }

    /// What this activity waits for, in the order of subscribing.
    #[must_use]
    pub fn subscriptions(&self) -> &[Subscription] {
        self.subscriptions
    }
}
