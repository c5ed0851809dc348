//! The calls by which futures run on the pool.

use crate::future::{FutureTask, block_on};
use crate::pool::Pool;
use std::future::Future;

/// # Futures
///
/// For what waits for something else than jobs: files, sockets, timers of another library. Each time
/// that a future is woken, a job polls it; in between it takes no thread.
impl Pool {
    /// Runs a future on the threads of the pool, each poll as a job of the frame.
    ///
    /// The result is a future of its output, for [`block_on`](Self::block_on) or for another future. The
    /// future goes on if that is dropped. One that still waits when the pool goes is dropped with it: what
    /// awaits it on another pool panics.
    ///
    /// The thread that wakes a future never polls it. In a pool without threads of its own a thread does
    /// that waits for something there, as in [`block_on`](Self::block_on) or
    /// [`run_until`](Self::run_until); no other call does. One that has a [gate](Self::gate) must have ended before the pool goes.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let length = pool.spawn_future(async { "twelve bytes".len() });
    /// let twice = pool.spawn_future(async { 2 * length.await });
    /// assert_eq!(pool.block_on(twice), 24);
    /// ```
    pub fn spawn_future<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> FutureTask<T> {
        FutureTask::spawn(&self.shared, &self.futures, future)
    }

    /// Polls `future` on this thread until it is ready, and works for the pool in between, as
    /// [`run_until`](Self::run_until) does.
    ///
    /// # Panics
    ///
    /// Panics if `future` does.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on(&self.shared, future)
    }
}
