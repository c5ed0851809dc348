//! The types that all activities of a game share, and how activities end.

use std::borrow::Cow;
use std::fmt;

use formic_ecs::{Codec, HashState};
use formic_jobs::SystemParam;

use super::event::Event;
use crate::explain::Ended;

/// The types that all activities of a game share: the world that they read, the events that wake them,
/// and how they fail.
///
/// An activity and its sub-activities share one domain. It is a type without values: a tuple of a [system
/// parameter](SystemParam), an [`Event`] and a failure, or a type of your own. Your own type can also say
/// how failures are saved and worded. An [`Async`](super::Async) activity that reads the world needs one:
/// the compiler loses the lifetimes in a tuple across an `await`.
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
    /// The part of the world that activities can read: a struct of
    /// [`ComponentLookup`](formic_jobs::ComponentLookup)s and [`Res`](formic_jobs::Res)ources, for
    /// instance. They get it by shared reference, many of them at the same time.
    type World<'w>: Sync;
    /// The events that wake them.
    type Event: Event;
    /// The reasons of failures.
    type Failure: fmt::Debug + Send + Sync + 'static;

    /// The codec of reasons, for saving a game, which includes the recent [`Finished`](super::Finished)
    /// events. Without one, a game with such activities cannot be saved.
    const FAILURE: Codec<Self::Failure> = Codec::UNSAVED;

    /// A reason in words, for [decision records](crate::explain): `the door is locked`.
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

/// The result of a tick of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub enum Status<F> {
    /// It continues in the next tick.
    Ongoing,
    /// It sleeps until an event, a death or a timer that it has subscribed to wakes it.
    ///
    /// An activity that waits for nothing would sleep until it is interrupted. It is treated as
    /// [`Ongoing`](Self::Ongoing) instead, which costs time but does not hang, and is
    /// [counted](super::ActivityReport::waiting_for_nothing). To sleep until interrupted, subscribe to
    /// the own agent with [`EventKinds::NONE`](super::EventKinds::NONE).
    Blocked,
    /// It has ended.
    Finished(Ending<F>),
}

/// The ending of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState, serde::Serialize, serde::Deserialize)]
pub enum Ending<F> {
    /// It has succeeded.
    Success,
    /// It has failed.
    Failed(F),
    /// Something else came first: another activity, an order to stop, or the end of the agent. An
    /// activity that gives up by itself may return this as well.
    Interrupted,
}

impl<F> Ending<F> {
    /// The ending without the reason.
    #[must_use]
    pub const fn how(&self) -> Ended {
        match self {
            Self::Success => Ended::Success,
            Self::Failed(_) => Ended::Failed,
            Self::Interrupted => Ended::Interrupted,
        }
    }
}

/// The response of an activity to an event.
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

/// The subscriptions that end with a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drops {
    None,
    This,
    All,
}

impl Response {
    /// Wakes the activity. Its subscriptions stay.
    pub const WAKE: Self = Self { wakes: true, drops: Drops::None };
    /// Lets the activity sleep on.
    pub const SLEEP: Self = Self { wakes: false, drops: Drops::None };

    /// Also ends the subscription that the event came by.
    pub const fn unsubscribe(self) -> Self {
        Self { drops: Drops::This, ..self }
    }

    /// Also ends all subscriptions and timers of the activity. An activity that would sleep without
    /// waiting for anything is woken nevertheless.
    pub const fn unsubscribe_all(self) -> Self {
        Self { drops: Drops::All, ..self }
    }
}
