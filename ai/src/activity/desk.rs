//! What a story and the runtime hand each other.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Wake, Waker};

use ecs_core::Entity;

use super::event::Token;
use super::setting::Setting;
use super::tick::{Effects, Tick};

pub(super) type Ask<G> =
    Box<dyn for<'t, 'w> FnOnce(&mut Tick<'t, G>, &<G as Setting>::World<'w>) + Send>;
pub(super) type Closing<G> =
    Box<dyn for<'t, 'w> FnOnce(&mut Effects<'t, G>, &<G as Setting>::World<'w>) + Send>;

/// How many events are kept for a story that does not ask for them.
const INBOX_MAX: usize = 1_024;

/// Something that a story has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told<E> {
    /// The subscription by which it came.
    pub token: Token,
    /// Who it is about.
    pub subject: Entity,
    /// What happened, or why there is no event.
    pub event: Result<E, NoEvent>,
}

/// Why there is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoEvent {
    /// The subject was despawned. The subscription has ended.
    Died,
    /// Events may have been [missed](super::Notice::Missed), or the story has not asked for 1,024 of
    /// them, and the oldest are gone. The subscription stays: look again, ask again.
    Missed,
}

impl fmt::Display for NoEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Died => "the subject was despawned",
            Self::Missed => "events may have been missed",
        })
    }
}

impl std::error::Error for NoEvent {}

/// Where both lay down what is for the other.
pub(super) struct Desk<G: Setting>(Mutex<Papers<G>>);

pub(super) struct Papers<G: Setting> {
    pub(super) asks: VecDeque<Ask<G>>,
    pub(super) closings: VecDeque<Closing<G>>,
    /// What was told and not taken yet.
    pub(super) inbox: VecDeque<Told<G::Event>>,
    pub(super) step: Option<Cow<'static, str>>,
    pub(super) now: u64,
    /// It waits for the next tick, whatever comes.
    pub(super) wants_tick: bool,
    /// The parts of the future that wait for something here.
    pub(super) waiting: Vec<Waker>,
    /// The activity is no more: nobody looks here.
    pub(super) is_closed: bool,
}

impl<G: Setting> Default for Papers<G> {
    fn default() -> Self {
        Self {
            asks: VecDeque::new(),
            closings: VecDeque::new(),
            inbox: VecDeque::new(),
            step: None,
            now: 0,
            wants_tick: false,
            waiting: Vec::new(),
            is_closed: false,
        }
    }
}

impl<G: Setting> Default for Desk<G> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<G: Setting> Desk<G> {
    pub(super) fn open(&self) -> MutexGuard<'_, Papers<G>> {
        // Users' code is taken out before it is called, so no panic leaves it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has all parts of the future looked at again: combinators look at those alone that were woken.
    pub(super) fn wake_all(&self) {
        let waiting = std::mem::take(&mut self.open().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until there is something on the desk.
    pub(super) async fn wait<R>(&self, mut look: impl FnMut(&mut Papers<G>) -> Option<R>) -> R {
        poll_fn(|context| {
            let mut papers = self.open();
            let found = look(&mut papers);
            if found.is_none() && !papers.is_closed {
                papers.waiting.push(context.waker().clone());
            }
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Lays down a question; whoever asks when there is nobody to answer, is not answered.
    pub(super) fn ask(&self, ask: Ask<G>) {
        let mut papers = self.open();
        if !papers.is_closed {
            papers.asks.push_back(ask);
        }
    }

    /// Lays down what is to be done.
    pub(super) fn close_with(&self, closing: Option<Closing<G>>) {
        let mut papers = self.open();
        if !papers.is_closed {
            papers.closings.extend(closing);
        }
    }

    /// Keeps what the story is told.
    pub(super) fn put(&self, told: Told<G::Event>) {
        let mut papers = self.open();
        let lost = papers.make_room();
        papers.inbox.push_back(told);
        drop(papers);
        // What is dropped may look: the books are in order by now.
        drop(lost);
    }

    /// Forgets what came by these subscriptions, which the story has ended.
    pub(super) fn forget(&self, is_ended: impl Fn(Token) -> bool) {
        let inbox = std::mem::take(&mut self.open().inbox);
        let (forgotten, kept): (Vec<_>, Vec<_>) =
            inbox.into_iter().partition(|told| is_ended(told.token));
        self.open().inbox.extend(kept);
        drop(forgotten);
    }

    /// The activity is no more. What lies here may hold the way to this desk, so it goes, lest they
    /// keep each other for ever.
    pub(super) fn shut(&self) {
        let nothing = Papers { is_closed: true, ..Papers::default() };
        let papers = std::mem::replace(&mut *self.open(), nothing);
        drop(papers);
    }
}

impl<G: Setting> Papers<G> {
    /// Gives back the oldest event where there are too many; a note of that takes its place.
    fn make_room(&mut self) -> Option<Result<G::Event, NoEvent>> {
        if self.inbox.len() < INBOX_MAX {
            return None;
        }
        let place = self.inbox.iter().position(|told| told.event.is_ok())?;
        let token = self.inbox[place].token;
        let is_note =
            |told: &Told<_>| told.token == token && matches!(told.event, Err(NoEvent::Missed));
        if self.inbox.iter().take(place).any(is_note) {
            self.inbox.remove(place).map(|told| told.event)
        } else {
            Some(std::mem::replace(&mut self.inbox[place].event, Err(NoEvent::Missed)))
        }
    }
}

/// The waker of a story: while it is polled, a call is noted; at any other time it goes to where
/// the next run finds it.
#[derive(Default)]
pub(super) struct Woken(Mutex<Calling>);

#[derive(Default)]
struct Calling {
    is_polled: bool,
    was_called: bool,
    outside: Option<Waker>,
}

impl Woken {
    fn open(&self) -> MutexGuard<'_, Calling> {
        // Nothing that can panic happens under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on calls are noted, and none has been.
    pub(super) fn begin(&self) {
        let mut calling = self.open();
        (calling.is_polled, calling.was_called) = (true, false);
    }

    /// From here on calls go to `outside`. Whether there was one meanwhile.
    pub(super) fn end(&self, outside: Option<Waker>) -> bool {
        let mut calling = self.open();
        calling.is_polled = false;
        calling.outside = outside;
        calling.was_called
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut calling = self.open();
        if calling.is_polled {
            calling.was_called = true;
        } else if let Some(outside) = calling.outside.clone() {
            drop(calling);
            outside.wake();
        }
    }
}
