//! Wake-ups from other threads.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use super::event::Token;

/// The subscriptions whose [wakers](super::Tick::waker) were called since the last run. This is the only
/// data of activities that threads outside the schedule write to. One lock protects it, so a call takes
/// effect in this run or in the next.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<BTreeSet<Token>>);

/// The data of a waker.
struct ActivityWaker {
    calls: Arc<Calls>,
    token: Token,
}

impl Calls {
    fn open(&self) -> MutexGuard<'_, BTreeSet<Token>> {
        // Nothing that can panic happens under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of pending calls.
    pub(super) fn len(&self) -> usize {
        self.open().len()
    }

    /// Takes the smallest token with a pending call.
    pub(super) fn next(&self) -> Option<Token> {
        self.open().pop_first()
    }

    /// A waker for this subscription.
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
