//! The calls by which a host lends its threads to the pool.

use crate::handle::JobHandle;
use crate::pool::Pool;
use crate::worker::{run_main_jobs, run_one, run_until};
use std::time::Duration;

/// # Threads of the host
///
/// Any thread can work for the pool: for a while, in [`run_until`](Pool::run_until) and
/// [`run_until_done`](Pool::run_until_done), or for one job, in [`try_run_one`](Pool::try_run_one). In a
/// pool of [`Threads::Host`](crate::Threads::Host), a thread in the first two is a full worker as long as
/// worker places are free. Otherwise, and in all other pools, it runs jobs with handles and helps with the
/// loops and joins inside them, but not with other calls of other threads.
impl Pool {
    /// Works for the pool until `condition` holds, and sleeps while there is no work.
    ///
    /// The condition is checked before each job, including the jobs of a chain or a scope and the batches
    /// of a loop; whenever this thread is about to sleep or wakes up; and after any job with a handle has
    /// ended. A thread that makes it true by other means calls
    /// [`wake_host_threads`](Self::wake_host_threads) afterwards. The check should be quick and must not
    /// block: a job that becomes ready meanwhile may wait as long as the check takes, and a loop that this
    /// thread helps with does not end before the check does. A check that waits for the end of that loop
    /// (in [`flush`](Self::flush), or for a lock that is held until then) waits for ever.
    ///
    /// Inside another call of the pool, where this thread cannot take on arbitrary work, it only runs jobs
    /// with handles and helps inside them, and inside a job it only runs jobs. (The first indices of a loop,
    /// which its caller runs before it decides whether to share the loop, count as outside.)
    ///
    /// The thread that created the pool also runs the jobs scheduled for it.
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
    /// Panics if `condition` does, or if this thread is already in 128 nested waits. (The loop of a
    /// worker counts as one.)
    pub fn run_until(&self, condition: impl FnMut() -> bool) {
        run_until(&self.shared, None, condition);
    }

    /// Works for the pool until the job is done. Unlike [`complete`](Self::complete), it runs any work,
    /// and does not resume the job's panic.
    ///
    /// # Panics
    ///
    /// Panics if `job` is of another pool, if a job waits for itself, or if this thread is already in 128
    /// nested waits; in debug builds, also if a job waits for itself through other jobs.
    pub fn run_until_done(&self, job: JobHandle) {
        self.check_wait(job);
        run_until(&self.shared, Some(job.id), || self.shared.slots.is_done(job.id));
    }

    /// Makes the threads in [`run_until`](Self::run_until) check their conditions.
    pub fn wake_host_threads(&self) {
        // The fence comes after the writes that make the condition true.
        self.shared.announce_condition();
    }

    /// Runs one ready job with a handle, if there is one, and returns whether there was. On the main
    /// thread, jobs for that thread come first.
    ///
    /// For a host that lends the pool a short time slice. Jobs that become ready through this one are
    /// left to the next call or to other threads.
    ///
    /// # Panics
    ///
    /// Panics if this thread is already in 128 nested waits, among which such calls count.
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
        run_one(&self.shared)
    }

    /// Runs the jobs for the main thread that are ready by now and returns their number. Those that become
    /// ready through them are left to the next call. On any other thread it runs none.
    ///
    /// # Panics
    ///
    /// Panics if this thread is already in 128 nested waits, among which such calls count.
    pub fn run_main_thread_jobs(&self) -> usize {
        run_main_jobs(&self.shared)
    }

    /// Returns the time of the pool's clock: the time since the pool was created, or that of the [host's
    /// clock](crate::PoolBuilder::clock).
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }
}
