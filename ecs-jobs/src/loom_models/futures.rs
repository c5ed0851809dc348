//! Futures: no wake-up is missed at any time, and the waker's earlier effects are visible.

use super::explore_within;
use super::handles::hosted;
use super::slots::Deed;
use crate::future::{FutureTask, Futures, block_on};
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future whose first poll starts a thread that does a deed and wakes the future. The second poll sees
/// that deed. Only the wake-up orders the two.
struct WokenOnce {
    deed: Deed,
    waking: Option<thread::JoinHandle<()>>,
}

impl WokenOnce {
    fn new() -> Self {
        Self { deed: Deed::new(), waking: None }
    }
}

impl Future for WokenOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(waking) = self.waking.take() {
            self.deed.see();
            waking.join().unwrap();
            return Poll::Ready(());
        }
        let (deed, waker) = (self.deed.clone(), context.waker().clone());
        self.waking = Some(thread::spawn(move || {
            deed.act();
            waker.wake();
        }));
        Poll::Pending
    }
}

#[test]
fn a_thread_that_blocks_on_a_future_does_not_miss_that_it_is_woken() {
    explore_within(0..=2, "block_on against a waker", || {
        block_on(&hosted(), WokenOnce::new());
    });
}

#[test]
fn a_future_that_is_woken_while_it_is_polled_or_after_is_polled_again() {
    explore_within(0..=2, "spawned future against a waker", || {
        let shared = hosted();
        block_on(&shared, FutureTask::spawn(&shared, &Futures::new(), WokenOnce::new()));
    });
}
