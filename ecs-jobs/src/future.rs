//! Futures on the threads of a pool: each time a future is woken, a job polls it.

use crate::panic_slot::{Payload, catch, discard};
use crate::run_job::add_job;
use crate::shared::Shared;
use crate::slots::{JobId, JobKind};
use crate::sync::{Arc, Mutex, Ordering, Weak, downgrade};
use crate::worker::{run_one, run_until};
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
// Wakers are made of these, also in models, so they are the standard library's.
use std::sync::{Arc as StdArc, Weak as StdWeak};
use std::task::{Context, Poll, Wake, Waker};

/// A waker for a thread that blocks on a future.
struct ThreadWaker {
    shared: Weak<Shared>,
    is_woken: Mutex<bool>,
}

impl Wake for ThreadWaker {
    fn wake(self: StdArc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &StdArc<Self>) {
        *self.is_woken.lock() = true;
        if let Some(shared) = self.shared.upgrade() {
            shared.announce_condition();
        }
    }
}

/// Polls `future` on this thread until it is ready; between polls the thread works for the pool.
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let thread_waker = ThreadWaker { shared: downgrade(shared), is_woken: Mutex::new(false) };
    let thread_waker = StdArc::new(thread_waker);
    let waker = Waker::from(StdArc::clone(&thread_waker));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        // A future that has woken itself leaves turns to others: it may wait for what they do.
        run_one(shared);
        run_until(shared, None, || std::mem::take(&mut *thread_waker.is_woken.lock()));
    }
}

/// The unfinished futures of a pool, in the order of creation, to be dropped with it.
#[derive(Clone)]
pub(crate) struct Futures(StdArc<Mutex<BTreeMap<u64, StdWeak<dyn Spawned>>>>);

impl Futures {
    pub(crate) fn new() -> Self {
        Self(StdArc::new(Mutex::new(BTreeMap::new())))
    }

    /// Drops those that have not ended, the oldest first. A future that is being polled is dropped by the
    /// thread that polls it.
    pub(crate) fn drop_all(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        // The waker of a waiting thread may panic.
        all.values().filter_map(StdWeak::upgrade).for_each(|task| {
            catch(|| task.drop_future()).unwrap_or_else(discard);
        });
    }
}

/// A task with an output of any type.
trait Spawned: Send + Sync {
    fn drop_future(&self);
}

/// A future that runs on a pool, made by [`Pool::spawn_future`](crate::Pool::spawn_future).
///
/// The future runs whether or not this is kept. This is itself a future, of the same output.
///
/// # Panics
///
/// Panics if it is polled after the underlying future has panicked, after it has returned its output, or
/// after its pool was dropped before the underlying future had ended.
pub struct FutureTask<T>(StdArc<Task<T>>);

struct Task<T> {
    shared: Weak<Shared>,
    /// The futures of the pool, and the number of this one among them.
    futures: Futures,
    number: u64,
    state: Mutex<State<T>>,
}

struct State<T> {
    turn: Turn,
    /// `None` while it is polled, and after it has ended.
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    output: Option<Result<T, Payload>>,
    /// Whether a [`FutureTask`] exists, which may ask for the output.
    has_handle: bool,
    /// The waker of the code that waits for the output.
    waiter: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Waits to be woken.
    Waits,
    /// A job is going to poll it.
    Queued,
    Polled,
    /// A job polls it, and it was woken meanwhile.
    PolledAndWoken,
    /// The pool was dropped.
    Dropped,
    Ended,
}

impl<T: Send + 'static> Task<T> {
    /// Adds a job that polls the future. If the pool no longer exists, nothing is added: no thread would
    /// poll it. The waking thread does not poll, and keeps no reference to what it queues, which may end
    /// before this returns: it may hold a lock that the future or its output takes.
    fn queue(self: StdArc<Self>) {
        let Some(shared) = self.shared.upgrade() else { return };
        let again = StdArc::downgrade(&self);
        let (name, poll) = ("a spawned future", move || self.poll());
        let add = || add_job::<JobId>(&shared, JobKind::Poll, name, &[], poll);
        if let Err(payload) = catch(add) {
            if let Some(again) = again.upgrade() {
                again.wait_again();
            }
            resume_unwind(payload);
        }
    }

    /// There is no slot for a job now: the holder of the waker may wake the future again, unless the pool
    /// has dropped it.
    fn wait_again(&self) {
        let mut state = self.state.lock();
        if state.turn == Turn::Queued {
            state.turn = Turn::Waits;
        }
    }

    fn poll(self: StdArc<Self>) {
        let mut state = self.state.lock();
        let Some(mut future) = state.future.take() else { return };
        state.turn = Turn::Polled;
        drop(state);
        let waker = Waker::from(StdArc::clone(&self));
        let polled = catch(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
        let output = match polled {
            Ok(Poll::Pending) => {
                let mut state = self.state.lock();
                if state.turn == Turn::Dropped {
                    drop(state);
                    discard(future);
                    return self.end(None);
                }
                state.future = Some(future);
                let is_woken = state.turn == Turn::PolledAndWoken && !self.is_pool_dropped();
                state.turn = if is_woken { Turn::Queued } else { Turn::Waits };
                drop(state);
                if is_woken {
                    self.queue();
                }
                return;
            }
            // The future's own values are dropped before the waiting thread goes on. A panic in that drop
            // counts.
            Ok(Poll::Ready(output)) => match catch(|| drop(future)) {
                Ok(()) => Ok(output),
                Err(payload) => {
                    discard(output);
                    Err(payload)
                }
            },
            Err(payload) => {
                discard(future);
                Err(payload)
            }
        };
        self.end(Some(output));
    }

    /// Whether a thread waits for the end of the pool: it would wait for ever for a future that wakes itself
    /// again and again.
    fn is_pool_dropped(&self) -> bool {
        // Relaxed: a poll that misses it is followed by another.
        self.shared.upgrade().is_none_or(|shared| shared.is_dropped.load(Ordering::Relaxed))
    }

    /// Passes the outcome to the waiting thread. There is no output if the pool was dropped. An output
    /// that no code can ask for is dropped at once: leftover wakers would drop it later, perhaps under a
    /// lock that its drop takes.
    fn end(&self, output: Option<Result<T, Payload>>) {
        let mut state = self.state.lock();
        state.turn = Turn::Ended;
        if !state.has_handle {
            drop(state);
            return discard(output);
        }
        state.output = output;
        let waiter = state.waiter.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl<T: Send + 'static> Spawned for Task<T> {
    fn drop_future(&self) {
        let mut state = self.state.lock();
        if state.turn == Turn::Ended {
            return;
        }
        state.turn = Turn::Dropped;
        let Some(future) = state.future.take() else { return };
        drop(state);
        discard(future);
        self.end(None);
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.futures.0.lock().remove(&self.number);
    }
}

impl<T: Send + 'static> Wake for Task<T> {
    fn wake(self: StdArc<Self>) {
        let mut state = self.state.lock();
        match state.turn {
            Turn::Waits => state.turn = Turn::Queued,
            Turn::Polled => {
                state.turn = Turn::PolledAndWoken;
                return;
            }
            Turn::Queued | Turn::PolledAndWoken | Turn::Dropped | Turn::Ended => return,
        }
        drop(state);
        self.queue();
    }
}

impl<T: Send + 'static> FutureTask<T> {
    pub(crate) fn spawn(
        shared: &Arc<Shared>,
        futures: &Futures,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        let state = State {
            turn: Turn::Queued,
            future: Some(Box::pin(future)),
            output: None,
            has_handle: true,
            waiter: None,
        };
        let (shared, state) = (downgrade(shared), Mutex::new(state));
        let mut list = futures.0.lock();
        let number = list.last_key_value().map_or(0, |(last, _)| last + 1);
        let task = StdArc::new(Task { shared, futures: futures.clone(), number, state });
        let weak: StdWeak<Task<T>> = StdArc::downgrade(&task);
        list.insert(number, weak);
        drop(list);
        StdArc::clone(&task).queue();
        Self(task)
    }

    /// Returns whether the future has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.state.lock().turn == Turn::Ended
    }
}

impl<T> Drop for FutureTask<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.has_handle = false;
        let left = (state.output.take(), state.waiter.take());
        drop(state);
        drop(left);
    }
}

impl<T> Future for FutureTask<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Cloning calls foreign code, so it happens before the lock is taken.
        let waker = context.waker().clone();
        let mut state = self.0.state.lock();
        let former = match state.output.take() {
            Some(Ok(output)) => return Poll::Ready(output),
            Some(Err(payload)) => {
                drop(state);
                resume_unwind(payload)
            }
            None if state.turn == Turn::Ended => {
                drop(state);
                panic!("a future has given its output before, or its pool has gone")
            }
            None => state.waiter.replace(waker),
        };
        drop(state);
        drop(former);
        Poll::Pending
    }
}

debug_fields!([T] FutureTask<T>:);

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_future_that_the_pool_has_dropped_stays_ended_where_its_job_finds_no_place() {
        let shared = Arc::new(Shared::new(1).0);
        let futures = Futures::new();
        // No worker takes the job, as if there had been no slot for it.
        let task = FutureTask::spawn(&shared, &futures, async {});
        futures.drop_all();
        assert!(task.is_done());
        task.0.wait_again();
        assert!(task.is_done(), "a thread that waits for it is told");
    }
}
