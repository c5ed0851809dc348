//! Futures on the threads of a pool: each time that one is woken, a job polls it.

use crate::host::run_until;
use crate::panic_slot::{Payload, catch, discard};
use crate::run_job::queue_job;
use crate::shared::Shared;
use crate::sync::{Arc, Mutex, Weak, downgrade};
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
// Wakers are made of these, also in models.
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

/// Wakes a thread that blocks on a future.
struct Alarm {
    shared: Weak<Shared>,
    is_woken: Mutex<bool>,
}

impl Wake for Alarm {
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

/// Polls `future` on this thread until it is ready; in between the thread works for the pool.
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let alarm = Alarm { shared: downgrade(shared), is_woken: Mutex::new(false) };
    let alarm = StdArc::new(alarm);
    let waker = Waker::from(StdArc::clone(&alarm));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        run_until(shared, None, || std::mem::take(&mut *alarm.is_woken.lock()));
    }
}

/// A future that runs on a pool, made by [`Pool::spawn_future`](crate::Pool::spawn_future).
///
/// It goes on whether or not this is kept. This is itself a future, of the output.
///
/// # Panics
///
/// When it is polled: with the panic of the future that it stands for, or if it has given its output
/// before.
pub struct FutureTask<T>(StdArc<Task<T>>);

struct Task<T> {
    shared: Weak<Shared>,
    state: Mutex<State<T>>,
}

struct State<T> {
    turn: Turn,
    /// None while it is polled, and when it has ended.
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    output: Option<Result<T, Payload>>,
    /// Who waits for the output.
    waiter: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// To be woken.
    Waits,
    /// A job is going to poll it.
    Queued,
    Polled,
    /// The same, and it was woken meanwhile.
    PolledAndWoken,
    Ended,
}

impl<T: Send + 'static> Task<T> {
    /// Adds a job that polls the future. Without a pool no thread is left that would. The thread that
    /// wakes does not poll, and keeps nothing of what it queues, which may end before it goes on: it may
    /// hold a lock that the future or its output takes.
    fn queue(self: StdArc<Self>) {
        let Some(shared) = self.shared.upgrade() else { return };
        let again = StdArc::downgrade(&self);
        if let Err(payload) = catch(|| queue_job(&shared, move || self.poll())) {
            // There is no place for a job now: who has it still may wake it again.
            if let Some(again) = again.upgrade() {
                again.state.lock().turn = Turn::Waits;
            }
            resume_unwind(payload);
        }
    }

    fn poll(self: StdArc<Self>) {
        let mut state = self.state.lock();
        state.turn = Turn::Polled;
        let future = state.future.take();
        drop(state);
        let Some(mut future) = future else { return };
        let waker = Waker::from(StdArc::clone(&self));
        let polled = catch(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
        let output = match polled {
            Ok(Poll::Pending) => {
                let mut state = self.state.lock();
                state.future = Some(future);
                let is_woken = state.turn == Turn::PolledAndWoken;
                state.turn = if is_woken { Turn::Queued } else { Turn::Waits };
                drop(state);
                if is_woken {
                    self.queue();
                }
                return;
            }
            // What it owns goes before the thread that waits goes on. A panic of that counts.
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
        let mut state = self.state.lock();
        (state.turn, state.output) = (Turn::Ended, Some(output));
        let waiter = state.waiter.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
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
            Turn::Queued | Turn::PolledAndWoken | Turn::Ended => return,
        }
        drop(state);
        self.queue();
    }
}

impl<T: Send + 'static> FutureTask<T> {
    pub(crate) fn spawn(
        shared: &Arc<Shared>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        let state = State {
            turn: Turn::Queued,
            future: Some(Box::pin(future)),
            output: None,
            waiter: None,
        };
        let task = Task { shared: downgrade(shared), state: Mutex::new(state) };
        let task = StdArc::new(task);
        StdArc::clone(&task).queue();
        Self(task)
    }

    /// Whether the future has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.state.lock().turn == Turn::Ended
    }
}

impl<T> Future for FutureTask<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Calls code of others, so before the lock.
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
                panic!("a future has given its output before")
            }
            None => state.waiter.replace(waker),
        };
        drop(state);
        drop(former);
        Poll::Pending
    }
}

debug_fields!([T] FutureTask<T>:);
