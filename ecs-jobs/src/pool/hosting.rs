//! The calls by which a host lends its threads to the pool.

use crate::context::WorkerContext;
use crate::handle::JobHandle;
use crate::pool::Pool;
use crate::run_job::{run_only, take_any};
use crate::sleep::Pinned;
use crate::worker::run_until;
use std::time::Duration;

/// # Threads of the host
///
/// Any thread can work for the pool: for a while, with
/// [`run_until`](Pool::run_until) and [`run_until_done`](Pool::run_until_done),
/// or for one job, with [`try_run_one`](Pool::try_run_one). In a pool of
/// [`Threads::Host`](crate::Threads::Host) a thread in the former two is a worker
/// like any other, as long as there are seats; else, and in all other pools, it
/// runs jobs with handles only, and leaves the calls of other threads alone.
impl Pool {
    /// Works for the pool until `condition` holds, and sleeps when there is
    /// nothing to do.
    ///
    /// The condition is looked at before each job, in a chain of jobs and between those of a scope or
    /// the batches of a loop as well, whenever this thread is about to
    /// sleep or wakes up, and after any job with a handle has ended. The thread that makes it
    /// true by other means calls [`wake_host_threads`](Self::wake_host_threads) then.
    /// It is meant as a quick look, and should not wait for anything: a job that gets ready
    /// meanwhile may wait for as long as the look takes.
    ///
    /// In the middle of a job or of another call of the pool, where this thread cannot
    /// take on just anything, it runs jobs with handles only. (The first indices of a loop, which its
    /// caller runs before it decides whether to share the loop, count as outside of it.)
    ///
    /// The thread that made the pool also runs the jobs that are for it.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::atomic::{AtomicBool, Ordering};
    /// let pool = Pool::new(Threads::Host(1))?;
    /// let is_over = AtomicBool::new(false);
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| pool.run_until(|| is_over.load(Ordering::Acquire)));
    ///     let job = pool.schedule(|| println!("on one thread or the other"));
    ///     pool.complete(job);
    ///     is_over.store(true, Ordering::Release);
    ///     pool.wake_host_threads();
    /// });
    /// # Ok::<(), formic_jobs::PoolError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `condition` does, or if this thread is in 128 waits already, each inside of a job that it
    /// runs in the one around it. (The loop of a worker is one.)
    pub fn run_until(&self, condition: impl FnMut() -> bool) {
        run_until(&self.shared, None, condition);
    }

    /// Works for the pool until the job is done. Unlike
    /// [`complete`](Self::complete) this runs any work, and does not resume the
    /// job's panic.
    ///
    /// # Panics
    ///
    /// Panics if `job` is of another pool, if a job waits for itself, or if this thread is in 128 waits
    /// already, each inside of a job that it runs in the one around it.
    pub fn run_until_done(&self, job: JobHandle) {
        self.check_wait(job);
        run_until(&self.shared, Some(job.id), || self.shared.slots.is_done(job.id));
    }

    /// Has the threads in [`run_until`](Self::run_until) look at their conditions.
    pub fn wake_host_threads(&self) {
        // The fence comes after whatever makes the condition true.
        self.shared.announce_condition();
    }

    /// Runs one job with a handle that is ready, if there is one, and returns
    /// whether there was. On the main thread, those that are for it come first.
    ///
    /// For a host that lends the pool a moment at a time. What the job makes
    /// ready is left to the next call, or to other threads.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// let pool = Pool::new(Threads::Host(0))?;
    /// let job = pool.schedule(|| ());
    /// assert!(!pool.is_done(job));
    /// assert!(pool.try_run_one());
    /// assert!(pool.is_done(job));
    /// assert!(!pool.try_run_one());
    /// # Ok::<(), formic_jobs::PoolError>(())
    /// ```
    pub fn try_run_one(&self) -> bool {
        let shared = &*self.shared;
        WorkerContext::with(shared, |context| {
            if Pinned::of_this_thread(shared).run_one(shared, context) {
                return true;
            }
            let Some(job) = take_any(shared) else { return false };
            run_only(shared, context, job);
            true
        })
    }

    /// Runs the jobs for the main thread that are ready, and returns how many
    /// there were. On any other thread that is none.
    pub fn run_main_thread_jobs(&self) -> usize {
        let pinned = Pinned::of_this_thread(&self.shared);
        WorkerContext::with(&self.shared, |context| {
            std::iter::from_fn(|| pinned.run_one(&self.shared, context).then_some(())).count()
        })
    }

    /// What the pool's clock says: the time since the pool was made, or that of
    /// the [host's clock](crate::PoolBuilder::clock).
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }
}
