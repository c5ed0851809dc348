//! The calls that schedule and await jobs with handles.

use crate::complete::wait_for_job;
use crate::context::WorkerContext;
use crate::handle::{JobError, JobHandle, JobPanic};
use crate::panic_slot::{PanicSlot, catch, discard};
use crate::pool::{JobBuilder, Pool};
use crate::run_job::{cancel_job, combine};
use crate::slots::JobKind;
use crate::sync::{Arc, Deadline, Mutex};
use crate::worker::wait_for_all;
use std::ops::Range;
use std::panic::resume_unwind;
use std::time::Duration;

/// # Jobs with handles
///
/// For work that goes on while the caller does something else, and for graphs of such work. Such a job
/// owns or shares what it uses, since the stack frame that scheduled it does not wait for it. Where the
/// frame does wait, [`scope`](Pool::scope) and [`join`](Pool::join) allow borrows.
///
/// **Order.** A job starts when all jobs that it was scheduled after are done, and sees their effects. A
/// handle exists only for a job that was already scheduled, so there are no cycles, unless a
/// [gate](Pool::gate) closes one.
///
/// **Cost.** Once the pool is warm, scheduling a job whose closure has at most 64 bytes does not
/// allocate; in a pool with [spans](crate::PoolBuilder::on_span), 40 bytes.
///
/// **Panics.** A job that panics is done and has failed. Its successors are cancelled: they are dropped
/// instead of run, count as done, and have failed with the same panic; so do their successors in turn.
/// The payload is resumed in the first [`complete`](Pool::complete) or [`flush`](Pool::flush) that meets
/// one of these jobs; later calls panic with a message of their own. A pool keeps the last 1,024
/// payloads, and never forgets that a job has failed. Once more than 65,536 jobs have failed since, other
/// handles of the same age may count as failed, too.
impl Pool {
    /// Schedules a job and returns its handle.
    ///
    /// The job runs on any thread of the pool, or on a thread that waits for it; it runs whether or not a
    /// thread waits. In a pool without threads it has run when this call returns, unless the call is made
    /// from inside a job that such a call runs; what a job schedules there has run by then, too, so one
    /// that schedules itself again without end keeps the call from returning. A job that was not ready by
    /// then, and runs in a wait, runs what it schedules inside itself: that must not wait for it. To
    /// schedule a job [after](Self::after) others, [in the background](Self::in_background) or [on the main
    /// thread](Self::on_main), use these calls.
    ///
    /// # Panics
    ///
    /// Panics if there are more than sixteen million unfinished jobs. The job is dropped then.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::{Arc, Mutex};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let words = Arc::new(Mutex::new(Vec::new()));
    /// let say = |word: &'static str| {
    ///     let words = Arc::clone(&words);
    ///     move || words.lock().unwrap().push(word)
    /// };
    /// let first = pool.schedule(say("ants"));
    /// let second = pool.after(&[first]).schedule(say("dig"));
    /// pool.complete(second);
    /// assert_eq!(*words.lock().unwrap(), ["ants", "dig"]);
    /// ```
    pub fn schedule(&self, job: impl FnOnce() + Send + 'static) -> JobHandle {
        self.after(&[]).schedule(job)
    }

    /// Schedules a loop that runs `body` for each of `indices`, in no particular order.
    ///
    /// Its batches are shared among threads as in [`for_each_index`](Self::for_each_index). The job is
    /// done when all indices are.
    ///
    /// # Panics
    ///
    /// Panics like [`schedule`](Self::schedule). If `body` panics, batches that have not started are
    /// skipped, and the job has failed.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::Arc;
    /// # use std::sync::atomic::{AtomicUsize, Ordering};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let sum = Arc::new(AtomicUsize::new(0));
    /// let inside = Arc::clone(&sum);
    /// pool.complete(pool.parallel_for(0..100, move |index| _ = inside.fetch_add(index, Ordering::Relaxed)));
    /// assert_eq!(sum.load(Ordering::Relaxed), 4950);
    /// ```
    pub fn parallel_for(
        &self,
        indices: Range<usize>,
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> JobHandle {
        self.after(&[]).parallel_for(indices, body)
    }

    /// Returns a builder of jobs that start once all of `jobs` are done.
    pub fn after<'a>(&'a self, jobs: &'a [JobHandle]) -> JobBuilder<'a> {
        JobBuilder::new(self, JobKind::Anywhere).after(jobs)
    }

    /// Returns a builder of jobs that a [profiler](crate::PoolBuilder::on_span) sees under this name.
    pub fn named(&self, name: &'static str) -> JobBuilder<'_> {
        JobBuilder::new(self, JobKind::Anywhere).named(name)
    }

    /// Returns a builder of background jobs, which may take several frames: loading, baking, saving.
    /// Threads prefer all other jobs, those of the frame, and workers prefer loops, scopes and joins of the
    /// frame to those inside background jobs.
    ///
    /// One in eight jobs taken is a background job, if any is ready, so background work progresses under
    /// any load. A thread that waits for a job runs it at once, whatever its urgency.
    pub fn in_background(&self) -> JobBuilder<'_> {
        JobBuilder::new(self, JobKind::Background)
    }

    /// Returns a builder of jobs for the thread that created the pool, for work that only that thread may
    /// do: windows, audio devices, engines.
    ///
    /// Such a job runs while that thread is in [`complete`](Self::complete), [`flush`](Self::flush),
    /// [`run_until`](Self::run_until), [`try_run_one`](Self::try_run_one) or
    /// [`run_main_thread_jobs`](Self::run_main_thread_jobs). If the pool is dropped on another thread
    /// before that, the job is cancelled.
    ///
    /// It does not run while that thread is in `scope`, `join` or one of the `for_each` calls, so no job
    /// of those calls may wait for it. If that thread waits inside another job, the job runs there, so it
    /// must not wait for that other job: such a wait never ends, and panics in debug builds. In a pool
    /// without threads, a job that it schedules runs inside it, and must not wait for it either.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let main = std::thread::current().id();
    /// let work = pool.schedule(|| ());
    /// let show = pool
    ///     .on_main()
    ///     .after(&[work])
    ///     .schedule(move || assert_eq!(std::thread::current().id(), main));
    /// pool.complete(show);
    /// ```
    pub fn on_main(&self) -> JobBuilder<'_> {
        JobBuilder::new(self, JobKind::MAIN)
    }

    /// Calls `body` once on each worker thread, with the number of the worker, waits until all calls have
    /// returned, and returns their results by worker.
    ///
    /// For per-thread work: to fill or clear a thread's caches, to set its rounding mode or priority, to
    /// collect its counters. A worker makes the call between two jobs, so this may take as long as the
    /// longest running job. In a pool without threads of its own, no worker makes the call.
    ///
    /// Unlike other calls, this one waits for unrelated jobs: do not hold a lock that any job wants, and
    /// do not let two pools broadcast in each other's bodies. A [`flush`](Self::flush) does not wait for it.
    ///
    /// # Panics
    ///
    /// Panics if `body` does, after all calls have ended, with the panic of the lowest-numbered worker.
    /// Panics if the calling thread is in a job or in a call of this pool, which a worker may be waiting
    /// for (the first indices of a loop, which its caller runs alone, count as outside), if it is a worker
    /// that [starts](crate::PoolBuilder::on_thread_start), and like [`schedule`](Self::schedule).
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::cell::Cell;
    /// thread_local!(static SEEN: Cell<u64> = const { Cell::new(0) });
    ///
    /// let pool = Pool::new(Threads::Own(3))?;
    /// pool.broadcast(|worker| SEEN.set(worker as u64));
    /// assert_eq!(pool.broadcast(|_worker| SEEN.get()), [0, 1, 2]);
    /// # Ok::<(), formic_jobs::PoolError>(())
    /// ```
    pub fn broadcast<R: Send + 'static>(
        &self,
        body: impl Fn(usize) -> R + Send + Sync + 'static,
    ) -> Vec<R> {
        assert!(!self.is_inside(), "a worker may wait for the call that this thread is in");
        let body = Arc::new(body);
        let results = Arc::new(Mutex::new(Vec::new()));
        let schedule = |worker| {
            let (body, results) = (Arc::clone(&body), Arc::clone(&results));
            let kind = JobKind::Pinned(JobKind::thread_of(worker));
            JobBuilder::new(self, kind).schedule(move || {
                let result = catch(|| body(worker));
                results.lock().push((worker, result));
            })
        };
        // In the same order on all workers: a body may wait for the body of another worker.
        let workers = 0..self.threads.len();
        let jobs: Vec<_> = self.one_at_a_time(|| workers.map(schedule).collect());
        // Not combined: a flush would wait for that.
        jobs.into_iter().for_each(|job| self.complete(job));
        let mut results = std::mem::take(&mut *results.lock());
        results.sort_by_key(|&(worker, _)| worker);
        let (mut all, panic) = (Vec::with_capacity(results.len()), PanicSlot::new());
        for (_, result) in results {
            result.map_or_else(|payload| panic.keep(payload), |result| all.push(result));
        }
        if let Some(payload) = panic.take() {
            all.into_iter().for_each(discard);
            resume_unwind(payload);
        }
        all
    }

    /// Drops a job and all its successors instead of running them, unless the job has started.
    ///
    /// A ready job is dropped by this call and is done when it returns. A job that waits for others is
    /// dropped when those are done. A job that has started is not affected. Dropped jobs have failed,
    /// without a panic.
    ///
    /// # Panics
    ///
    /// Panics if `job` is of another pool.
    ///
    /// ```
    /// # use formic_jobs::{JobError, Pool, Threads};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let load = pool.on_main().schedule(|| ());
    /// let show = pool.after(&[load]).schedule(|| unreachable!("the player has left"));
    /// pool.cancel(show);
    /// pool.complete(load);
    /// let Err(JobError::Failed(panic)) = pool.try_complete(show) else { panic!() };
    /// assert!(panic.take_payload().is_none());
    /// ```
    pub fn cancel(&self, job: JobHandle) {
        self.check(&[job]);
        cancel_job(&self.shared, job.id);
    }

    /// Returns a handle that is done when all of `handles` are, and that has failed if one of them has.
    /// If `handles` is empty, it is done at once. If it has one handle, the result is that handle:
    /// [cancelling](Self::cancel) it cancels the job, whereas several jobs run nevertheless.
    ///
    /// # Panics
    ///
    /// Panics like [`schedule`](Self::schedule).
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let all: Vec<_> = (0..10).map(|_| pool.schedule(|| ())).collect();
    /// pool.complete(pool.combine(&all));
    /// assert!(all.iter().all(|&one| pool.is_done(one)));
    /// ```
    pub fn combine(&self, handles: &[JobHandle]) -> JobHandle {
        self.check(handles);
        JobHandle { pool: self.shared.number, id: combine(&self.shared, handles) }
    }

    /// Returns whether the job is done: it has run, panicked, or was cancelled. Its effects are visible
    /// then.
    ///
    /// # Panics
    ///
    /// Panics if `job` is of another pool.
    #[must_use]
    pub fn is_done(&self, job: JobHandle) -> bool {
        self.check(&[job]);
        self.shared.slots.is_done(job.id)
    }

    /// Waits until the job is done, and helps with it meanwhile.
    ///
    /// The calling thread runs only the job itself, its dependencies, and loops inside these; if none of
    /// them can be taken, it sleeps. So a lock may be held across this call, as long as none of those
    /// jobs wants it. The pool's main thread also runs all jobs that were scheduled for it, because
    /// others may wait for them.
    ///
    /// Any number of threads may wait for the same job, any number of times.
    ///
    /// # Panics
    ///
    /// Panics if the job has failed: with the payload of its panic, or with a message if another caller
    /// has already taken the payload. Panics if `job` is of another pool, if a job waits for itself, or if
    /// this thread is already in 128 nested waits.
    pub fn complete(&self, job: JobHandle) {
        match self.try_complete(job) {
            Ok(()) => {}
            Err(JobError::Failed(JobPanic(panic))) => {
                panic.resume_if_any();
                panic!("the job was cancelled, or failed for a panic that was resumed elsewhere");
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`complete`](Self::complete), but returns failures.
    ///
    /// # Errors
    ///
    /// Returns [`JobError::Failed`] if the job panicked or was cancelled; the caller can take the payload
    /// from it, unless another caller already has. Returns [`JobError::OtherPool`] if the handle is of
    /// another pool, even one that no longer exists, and [`JobError::TooDeep`] if the job is not done and
    /// this thread is already in 128 nested waits.
    ///
    /// # Panics
    ///
    /// Panics if a job waits for itself; in debug builds, also if it does so through other jobs.
    ///
    /// ```
    /// # use formic_jobs::{JobError, Pool, Threads};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let job = pool.schedule(|| std::panic::resume_unwind(Box::new("too dark")));
    /// let after = pool.after(&[job]).schedule(|| unreachable!());
    /// let Err(JobError::Failed(panic)) = pool.try_complete(after) else { panic!() };
    /// let payload = panic.take_payload().expect("no other caller waits");
    /// assert_eq!(payload.downcast_ref(), Some(&"too dark"));
    /// ```
    pub fn try_complete(&self, job: JobHandle) -> Result<(), JobError> {
        self.try_complete_until(job, None)
    }

    /// Like [`try_complete`](Self::try_complete), with a timeout: for a frame that can go on without a
    /// result that is not there yet.
    ///
    /// The thread helps meanwhile. It finishes a job that it has started to run, so the call may take
    /// longer than `time` by that much.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`try_complete`](Self::try_complete), and [`JobError::TimedOut`] if the job
    /// is not done when the time is over. The job is not affected, and can be awaited again.
    ///
    /// # Panics
    ///
    /// Panics if a job waits for itself; in debug builds, also if it does so through other jobs, of which
    /// the thread may be running one when the time is over.
    ///
    /// ```
    /// # use formic_jobs::{JobError, Pool, Threads};
    /// # use std::time::Duration;
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let show = pool.on_main().schedule(|| ());
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| {
    ///         let late = pool.complete_for(show, Duration::from_millis(2));
    ///         assert!(matches!(late, Err(JobError::TimedOut)), "the main thread has not come");
    ///     });
    /// });
    /// pool.complete(show);
    /// ```
    pub fn complete_for(&self, job: JobHandle, time: Duration) -> Result<(), JobError> {
        self.try_complete_until(job, Some(&Deadline::after(time)))
    }

    fn try_complete_until(
        &self,
        job: JobHandle,
        deadline: Option<&Deadline>,
    ) -> Result<(), JobError> {
        if job.pool != self.shared.number {
            return Err(JobError::OtherPool);
        }
        self.check_wait(job);
        wait_for_job(&self.shared, job.id, deadline)?;
        let panic = self.shared.slots.failures.panic_of(job.id);
        panic.map_or(Ok(()), |panic| Err(JobError::Failed(JobPanic(panic))))
    }

    /// Waits until all jobs with handles are done, and helps with any of them, also with the loops and joins
    /// inside those that run.
    ///
    /// # Panics
    ///
    /// Panics if a job has panicked and no caller has taken its payload, with the oldest such payload.
    /// Panics if called from inside a job with a handle, which would wait for itself.
    pub fn flush(&self) {
        let is_inside = WorkerContext::with_any(&self.shared, |context| {
            context.is_some_and(|context| context.job.get().is_some())
        });
        assert!(!is_inside, "a job that waits for all jobs would wait for itself");
        wait_for_all(&self.shared, false);
        if let Some(payload) = self.shared.slots.failures.take_any() {
            resume_unwind(payload);
        }
    }

    pub(super) fn check(&self, handles: &[JobHandle]) {
        let are_ours = handles.iter().all(|handle| handle.pool == self.shared.number);
        assert!(are_ours, "a handle is of another pool");
    }

    /// Panics if `job` is of another pool, or is the job that this thread is running.
    pub(super) fn check_wait(&self, job: JobHandle) {
        self.check(&[job]);
        let is_own = WorkerContext::with_any(&self.shared, |context| {
            context.is_some_and(|context| context.job.get() == Some(job.id))
        });
        assert!(!is_own, "a job that waits for itself waits for ever");
    }
}
