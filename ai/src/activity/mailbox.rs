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

pub(super) type Request<G> =
    Box<dyn for<'t, 'w> FnOnce(&mut Tick<'t, G>, &<G as ActivityDomain>::World<'w>) + Send>;
pub(super) type Closing<G> =
    Box<dyn for<'t, 'w> FnOnce(&mut Effects<'t, G>, &<G as ActivityDomain>::World<'w>) + Send>;

/// A mailbox: closures of the future and of its guards go to the runtime, events and results to the async
/// activity.
pub(super) struct Mailbox<G: ActivityDomain>(Mutex<MailboxState<G>>);

pub(super) struct MailboxState<G: ActivityDomain> {
    pub(super) requests: VecDeque<Request<G>>,
    pub(super) closings: VecDeque<Closing<G>>,
    /// The notices that were not taken yet.
    pub(super) inbox: Inbox<G::Event>,
    pub(super) step: Option<Cow<'static, str>>,
    pub(super) now: u64,
    /// Whether it waits for the next tick, regardless of events.
    pub(super) wants_tick: bool,
    /// The wakers of the parts of the future that wait here, by number.
    pub(super) waiting: BTreeMap<u64, Waker>,
    next_waiter: u64,
    /// Whether the activity is gone, so that the mailbox has no reader.
    pub(super) is_closed: bool,
}

impl<G: ActivityDomain> Default for MailboxState<G> {
    fn default() -> Self {
        Self {
            requests: VecDeque::new(),
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
        // User code is moved out before it is called, so a panic leaves the state consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all waiting parts of the future: combinators only poll parts that were woken.
    pub(super) fn wake_all(&self) {
        let waiting = std::mem::take(&mut self.open().waiting);
        waiting.into_values().for_each(Waker::wake);
    }

    /// Waits until `look` finds something in the mailbox; it is called once per tick. A result within the
    /// tick wakes its receiver by itself.
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

    /// Queues a closure for the runtime; if the activity is gone, it is dropped.
    pub(super) fn request(&self, request: Request<G>) {
        let mut state = self.open();
        if !state.is_closed {
            state.requests.push_back(request);
        }
    }

    /// Queues the closure of a guard.
    pub(super) fn close_with(&self, closing: Option<Closing<G>>) {
        let mut state = self.open();
        if !state.is_closed {
            state.closings.extend(closing);
        }
    }

    /// Stores a notice for the async activity.
    pub(super) fn put(&self, told: Told<G::Event>) {
        let lost = self.open().inbox.put(told);
        // Code that runs in the drop may look at this state, which is consistent by now.
        drop(lost);
    }

    /// Drops the notices of these subscriptions, which the async activity has ended.
    pub(super) fn forget(&self, mut ended: Vec<Token>) {
        if ended.is_empty() {
            return;
        }
        ended.sort_unstable();
        let forgotten = self.open().inbox.forget(|token| ended.binary_search(&token).is_ok());
        drop(forgotten);
    }

    /// Drops the closures that will not be called any more.
    pub(super) fn drop_asks(&self) {
        let requests = std::mem::take(&mut self.open().requests);
        drop(requests);
    }

    /// Closes the mailbox of an activity that is gone. The contents may hold references to this mailbox
    /// and are dropped, so that there is no reference cycle.
    pub(super) fn close(&self) {
        let nothing = MailboxState { is_closed: true, ..MailboxState::default() };
        let state = std::mem::replace(&mut *self.open(), nothing);
        drop(state);
    }
}

/// The registration of a part of a future that waits here: one entry, however often it is polled, which
/// is removed when this is dropped.
pub(super) struct Waiter<'a, G: ActivityDomain> {
    mailbox: &'a Mailbox<G>,
    number: Option<u64>,
}

impl<'a, G: ActivityDomain> Waiter<'a, G> {
    pub(super) const fn new(mailbox: &'a Mailbox<G>) -> Self {
        Self { mailbox, number: None }
    }

    /// Registers to be woken with the next tick.
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

/// The waker of an async activity. While the activity is polled, a call is only noted; at any other time
/// it is forwarded to where the next run finds it.
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

    /// Notes calls from here on, and clears earlier ones.
    pub(super) fn begin(&self) {
        let mut calling = self.open();
        (calling.is_polled, calling.was_called) = (true, false);
    }

    /// Forwards calls to `outside` from here on. Returns whether there was a call since `begin`.
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
