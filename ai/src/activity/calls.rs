//! Calls from other threads.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use super::event::Token;

/// Which subscriptions were called by their [wakers](super::Tick::waker) since the last look: the
/// one thing here that threads outside of the schedule write to. Everything is under one lock, so
/// a call is looked at in this run or in the next.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<BTreeSet<Token>>);

/// What a waker is made of.
struct ActivityWaker {
    calls: Arc<Calls>,
    token: Token,
}

impl Calls {
    fn open(&self) -> MutexGuard<'_, BTreeSet<Token>> {
        // Nothing that can panic happens under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many were called.
    pub(super) fn len(&self) -> usize {
        self.open().len()
    }

    /// Takes out the first of those that were called.
    pub(super) fn next(&self) -> Option<Token> {
        self.open().pop_first()
    }

    /// A waker that calls this subscription.
    pub(super) fn waker(self: &Arc<Self>, token: Token) -> Waker {
        Waker::from(Arc::new(ActivityWaker { calls: self.clone(), token }))
    }
}

impl Wake for ActivityWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.calls.open().insert(self.token);
    }
}
