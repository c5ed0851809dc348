//! The calls that run futures on the pool.

use crate::future::{FutureTask, block_on};
use crate::pool::Pool;
use std::future::Future;

/// # Futures
///
/// For work that waits for something other than jobs: files, sockets, timers of another library. Each
/// time a future is woken, a job polls it; between polls it occupies no thread.
impl Pool {
    /// Runs a future on the threads of the pool, each poll as a job of the frame.
    ///
    /// The result is a future of its output, to pass to [`block_on`](Self::block_on) or to await in
    /// another future. The future goes on if the result is dropped. A future that is still pending when
    /// the pool is dropped is dropped with it; code that awaits it on another pool panics. A future that
    /// wakes itself is polled once more at most by then. (Futures that wake each other without end keep a
    /// pool from ending, and all of these keep a [`flush`](Self::flush) from returning, as jobs that schedule
    /// themselves again do.)
    ///
    /// The thread that wakes a future never polls it. In a pool without threads of its own, a future is
    /// polled only by a thread that runs any job there, in [`block_on`](Self::block_on),
    /// [`run_until`](Self::run_until), [`run_until_done`](Self::run_until_done),
    /// [`try_run_one`](Self::try_run_one) or [`flush`](Self::flush), or while it drops the pool; no other
    /// call polls it. A future that holds a [gate](Self::gate) must end before the pool is dropped.
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

    /// Polls `future` on this thread until it is ready, and works for the pool between polls, as
    /// [`run_until`](Self::run_until) does: a future that wakes itself also leaves a turn to a job.
    ///
    /// # Panics
    ///
    /// Panics if `future` does, or if it is pending and this thread is already in 128 nested waits.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on(&self.shared, future)
    }
}
