//! The state that all activities of a game share, and how they end.

use std::borrow::Cow;
use std::fmt;

use formic_ecs::{Codec, HashState};
use formic_jobs::SystemParam;

use super::event::Event;
use crate::explain::Ended;

/// What the activities of a game have in common: what they read, what wakes them, and how they fail.
///
/// An activity and its sub-activities share one. It is a type without values: a tuple of a
/// [system parameter](SystemParam), an [`Event`] and a failure, or a type of the game's. That can say
/// how failures are saved and put into words, and is what an [`Async`](super::Async) activity needs
/// that reads the world: the compiler forgets the lifetimes in a tuple across an `await`.
///
/// ```
/// use std::borrow::Cow;
/// use formic_ai::activity::{ActivityDomain, Event};
/// use formic_ai::prelude::*;
/// # #[derive(Component)] struct Position(i32);
/// struct Arrived;
/// impl Event for Arrived {}
/// #[derive(Debug)]
/// enum Trouble { NoWay }
///
/// type Hamlet = (ComponentLookup<'static, &'static Position>, Arrived, Trouble);
///
/// enum Village {}
/// impl ActivityDomain for Village {
///     type World<'w> = ComponentLookup<'w, &'static Position>;
///     type Event = Arrived;
///     type Failure = Trouble;
///     fn reason(Trouble::NoWay: &Trouble) -> Option<Cow<'_, str>> { Some("there is no way".into()) }
/// }
/// ```
pub trait ActivityDomain: Sized + 'static {
    /// What activities can read of the world: a struct of [`ComponentLookup`](formic_jobs::ComponentLookup)s and
    /// [`Res`](formic_jobs::Res)ources, say. They get it by a shared reference, many of them at once.
    type World<'w>: Sync;
    /// What wakes them.
    type Event: Event;
    /// Why they can fail.
    type Failure: fmt::Debug + Send + Sync + 'static;

    /// How a reason is saved with a game, which has what [`Finished`](super::Finished) of late. Without
    /// this a game with such activities cannot be saved.
    const FAILURE: Codec<Self::Failure> = Codec::UNSAVED;

    /// A reason in words, for [records](crate::explain): `the door is locked`.
    #[must_use]
    fn reason(failure: &Self::Failure) -> Option<Cow<'_, str>> {
        _ = failure;
        None
    }
}

impl<P, E, F> ActivityDomain for (P, E, F)
where
    P: SystemParam + 'static,
    for<'w> P::Item<'w>: Sync,
    E: Event,
    F: fmt::Debug + Send + Sync + 'static,
{
    type World<'w> = P::Item<'w>;
    type Event = E;
    type Failure = F;
}

/// What an activity says at the end of a tick of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub enum Status<F> {
    /// Tick it again in the next tick.
    Ongoing,
    /// It sleeps until an event, a death or a timer that it has subscribed to wakes it.
    ///
    /// One that waits for nothing at all would sleep until it is interrupted. It is taken for
    /// [`Ongoing`](Self::Ongoing), which costs time and does not hang, and is
    /// [counted](super::ActivityReport::waiting_for_nothing). Who means to sleep until interrupted
    /// subscribes to its own agent with [`EventKinds::NONE`](super::EventKinds::NONE).
    Blocked,
    /// It has come to its end.
    Finished(Ending<F>),
}

/// How an activity came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub enum Ending<F> {
    /// It is done.
    Success,
    /// It could not be done.
    Failed(F),
    /// Something else came first: another activity, an order to stop, or the end of the agent. An
    /// activity that gives up by itself may say so as well.
    Interrupted,
}

impl<F> Ending<F> {
    /// The same without the reason.
    #[must_use]
    pub const fn how(&self) -> Ended {
        match self {
            Self::Success => Ended::Success,
            Self::Failed(_) => Ended::Failed,
            Self::Interrupted => Ended::Interrupted,
        }
    }
}

/// What an activity makes of an event.
///
/// ```
/// use formic_ai::activity::Response;
/// # enum Noise { Mouse, Alarm }
/// // What `on_event` of an activity says that sleeps until it hears the alarm.
/// let hear = |noise: Noise| match noise {
///     Noise::Mouse => Response::SLEEP,
///     Noise::Alarm => Response::WAKE.unsubscribe(), // One alarm is enough.
/// };
/// assert_eq!(hear(Noise::Mouse), Response::SLEEP);
/// assert_ne!(hear(Noise::Alarm), Response::WAKE);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Response {
    pub(super) wakes: bool,
    pub(super) drops: Drops,
}

/// Which subscriptions end with a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drops {
    None,
    This,
    All,
}

impl Response {
    /// Ticks the activity again. Its subscriptions stay.
    pub const WAKE: Self = Self { wakes: true, drops: Drops::None };
    /// Lets it sleep on.
    pub const SLEEP: Self = Self { wakes: false, drops: Drops::None };

    /// Ends the subscription that the event came by.
    pub const fn unsubscribe(self) -> Self {
        Self { drops: Drops::This, ..self }
    }

    /// Ends all subscriptions and timers of the activity. One that sleeps on and waits for nothing
    /// any more is woken all the same.
    pub const fn unsubscribe_all(self) -> Self {
        Self { drops: Drops::All, ..self }
    }
}
