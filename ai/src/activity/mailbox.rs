//! The mailbox between an async activity and the runtime.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Wake, Waker};

use super::domain::ActivityDomain;
use super::event::Token;
use super::inbox::{Inbox, Told};
use super::tick::{Effects, Tick};

pub(super) type Ask<G> =
    Box<dyn for<'t, 'w> FnOnce(&mut Tick<'t, G>, &<G as ActivityDomain>::World<'w>) + Send>;
pub(super) type Closing<G> =
    Box<dyn for<'t, 'w> FnOnce(&mut Effects<'t, G>, &<G as ActivityDomain>::World<'w>) + Send>;

/// Questions and guards go to the runtime, events and answers to the async activity.
pub(super) struct Mailbox<G: ActivityDomain>(Mutex<MailboxState<G>>);

pub(super) struct MailboxState<G: ActivityDomain> {
    pub(super) asks: VecDeque<Ask<G>>,
    pub(super) closings: VecDeque<Closing<G>>,
    /// What was told and not taken yet.
    pub(super) inbox: Inbox<G::Event>,
    pub(super) step: Option<Cow<'static, str>>,
    pub(super) now: u64,
    /// It waits for the next tick, whatever comes.
    pub(super) wants_tick: bool,
    /// The parts of the future that wait for something here, each by its number.
    pub(super) waiting: BTreeMap<u64, Waker>,
    next_waiter: u64,
    /// The activity is no more: no one reads this.
    pub(super) is_closed: bool,
}

impl<G: ActivityDomain> Default for MailboxState<G> {
    fn default() -> Self {
        Self {
            asks: VecDeque::new(),
            closings: VecDeque::new(),
            inbox: Inbox::default(),
            step: None,
            now: 0,
            wants_tick: false,
            waiting: BTreeMap::new(),
            next_waiter: 0,
            is_closed: false,
        }
    }
}

impl<G: ActivityDomain> Default for Mailbox<G> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<G: ActivityDomain> Mailbox<G> {
    pub(super) fn open(&self) -> MutexGuard<'_, MailboxState<G>> {
        // Users' code is taken out before it is called, so no panic leaves it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has all parts of the future that wait looked at again: combinators look at those alone that
    /// were woken.
    pub(super) fn wake_all(&self) {
        let waiting = std::mem::take(&mut self.open().waiting);
        waiting.into_values().for_each(Waker::wake);
    }

    /// Waits until there is something in the mailbox; it is looked for once a tick. What is answered
    /// within the tick wakes the asker by itself.
    pub(super) async fn wait<R>(
        &self,
        mut look: impl FnMut(&mut MailboxState<G>) -> Option<R>,
    ) -> R {
        let mut waiter = Waiter::new(self);
        poll_fn(move |context| {
            let mut state = self.open();
            let found = look(&mut state);
            if found.is_none() {
                waiter.stay(state, context.waker());
            }
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Lays down a question; a question that no runtime can answer stays unanswered.
    pub(super) fn ask(&self, ask: Ask<G>) {
        let mut state = self.open();
        if !state.is_closed {
            state.asks.push_back(ask);
        }
    }

    /// Lays down what is to be done.
    pub(super) fn close_with(&self, closing: Option<Closing<G>>) {
        let mut state = self.open();
        if !state.is_closed {
            state.closings.extend(closing);
        }
    }

    /// Keeps what the async activity is told.
    pub(super) fn put(&self, told: Told<G::Event>) {
        let lost = self.open().inbox.put(told);
        // What is dropped may look: the books are in order by now.
        drop(lost);
    }

    /// Forgets what came by these subscriptions, which the async activity has ended.
    pub(super) fn forget(&self, mut ended: Vec<Token>) {
        if ended.is_empty() {
            return;
        }
        ended.sort_unstable();
        let forgotten = self.open().inbox.forget(|token| ended.binary_search(&token).is_ok());
        drop(forgotten);
    }

    /// Drops the questions that will not be answered any more.
    pub(super) fn drop_asks(&self) {
        let asks = std::mem::take(&mut self.open().asks);
        drop(asks);
    }

    /// The activity is no more. What lies here may hold the way to this mailbox, so it goes, lest they
    /// keep each other for ever.
    pub(super) fn shut(&self) {
        let nothing = MailboxState { is_closed: true, ..MailboxState::default() };
        let state = std::mem::replace(&mut *self.open(), nothing);
        drop(state);
    }
}

/// A part of a future that waits here: once, however often it is polled, and no longer than it is
/// there.
pub(super) struct Waiter<'a, G: ActivityDomain> {
    mailbox: &'a Mailbox<G>,
    number: Option<u64>,
}

impl<'a, G: ActivityDomain> Waiter<'a, G> {
    pub(super) const fn new(mailbox: &'a Mailbox<G>) -> Self {
        Self { mailbox, number: None }
    }

    /// Is to be woken with the next tick.
    pub(super) fn stay(&mut self, mut state: MutexGuard<'_, MailboxState<G>>, waker: &Waker) {
        if state.is_closed {
            return;
        }
        let number = *self.number.get_or_insert(state.next_waiter);
        state.next_waiter = state.next_waiter.max(number + 1);
        let before = state.waiting.insert(number, waker.clone());
        drop(state);
        drop(before);
    }
}

impl<G: ActivityDomain> Drop for Waiter<'_, G> {
    fn drop(&mut self) {
        let waker = self.number.and_then(|number| self.mailbox.open().waiting.remove(&number));
        drop(waker);
    }
}

/// The waker of an async activity: while it is polled, a call is noted; at any other time it goes
/// to where the next run finds it.
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
