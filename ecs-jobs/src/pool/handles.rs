//! The calls about jobs with handles.

use crate::complete::wait_for_job;
use crate::context::WorkerContext;
use crate::handle::{JobError, JobHandle, JobPanic};
use crate::panic_slot::{PanicSlot, catch, discard};
use crate::pool::{JobBuilder, Pool};
use crate::run_job::cancel_job;
use crate::sleep::Pinned;
use crate::slots::JobKind;
use crate::sync::{Arc, Deadline, Mutex};
use crate::worker::wait_for_all;
use std::ops::Range;
use std::panic::resume_unwind;
use std::time::Duration;

/// # Jobs with handles
///
/// For work that goes on while the caller does something else, and for graphs of
/// it. What such a job uses it owns or shares, since no thread waits for it in the
/// frame that it came from; where one does, [`scope`](Pool::scope) and
/// [`join`](Pool::join) may borrow.
///
/// **Order.** A job starts when all jobs that it was scheduled after are done,
/// and sees what they did. Handles exist only of jobs that were scheduled before,
/// so there are no cycles, unless a [gate](Pool::gate) closes one.
///
/// **Cost.** Once warm, scheduling a job whose closure has no more than 64 bytes
/// allocates nothing.
///
/// **Panics.** A job that panics is done, and has failed. Those scheduled after
/// it are cancelled: they are dropped instead of run, are done as well, and have
/// failed for the same panic, as have those after them. The payload is resumed in
/// the first [`complete`](Pool::complete) or [`flush`](Pool::flush) that comes
/// upon one of them; later ones panic with a message of their own. A pool keeps
/// the last 1,024 payloads, and never forgets that a job has failed. If more than
/// 65,536 have failed since, other handles that are as old may count as failed, too.
impl Pool {
    /// Schedules a job, and returns its handle.
    ///
    /// It runs on any thread of the pool, or on one that waits for it, and it
    /// runs whether a thread waits or not. In a pool without threads it has run
    /// when this returns, unless this is called from inside a job that was scheduled so. A job that is to come
    /// [after](Self::after) others, [in the background](Self::in_background) or
    /// [on the main thread](Self::on_main) is scheduled through these.
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
    /// It is shared out like [`for_each_index`](Self::for_each_index), and is
    /// done when all indices are.
    ///
    /// # Panics
    ///
    /// Panics like [`schedule`](Self::schedule). If `body` panics, the batches that have not started are
    /// left out, and the job has failed.
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

    /// Schedules what starts once all of `jobs` are done.
    pub fn after<'a>(&'a self, jobs: &'a [JobHandle]) -> JobBuilder<'a> {
        JobBuilder::new(self, JobKind::Anywhere).after(jobs)
    }

    /// Schedules what a [profiler](crate::PoolBuilder::on_span) is to know by this name.
    pub fn named(&self, name: &'static str) -> JobBuilder<'_> {
        JobBuilder::new(self, JobKind::Anywhere).named(name)
    }

    /// Schedules what may take several frames, such as loading, baking or saving: threads take all other
    /// jobs, those of the frame, first.
    ///
    /// Of each eight jobs that are taken one is of the background, if any is ready, so that this goes
    /// on under any load. A thread that waits for a job runs it at once, however urgent it is.
    pub fn in_background(&self) -> JobBuilder<'_> {
        JobBuilder::new(self, JobKind::Background)
    }

    /// Schedules for the thread that made the pool, for what only that
    /// thread may do: windows, audio devices, engines.
    ///
    /// It runs when that thread is in [`complete`](Self::complete),
    /// [`flush`](Self::flush), [`run_until`](Self::run_until),
    /// [`try_run_one`](Self::try_run_one) or
    /// [`run_main_thread_jobs`](Self::run_main_thread_jobs). If the pool is
    /// dropped on another thread before that, the job is cancelled.
    ///
    /// It does not run while that thread is in `scope`, `join` or one of the
    /// `for_each` calls: nothing in there may wait for it. If that thread waits inside
    /// of another job it runs there too, so it must not wait for that one: such a wait
    /// has no end, and panics in debug builds. In a pool without threads what it schedules
    /// runs inside of it, and must not wait for it either.
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

    /// Calls `body` once on each worker thread, with the number of the worker, waits until all have
    /// returned, and returns what they did, by worker.
    ///
    /// For what a thread has for itself: to fill or empty its caches, set its rounding or its priority,
    /// collect what it has counted. A worker calls it between two jobs, so this may take as long as the
    /// longest of those that run. In a pool without threads of its own there are no workers to call it.
    ///
    /// Unlike other calls this one waits for strangers: a lock that any job wants must not be held
    /// across it, and two pools must not do this in each other's bodies.
    ///
    /// # Panics
    ///
    /// Panics if `body` does, when all have ended, with the panic on the first of the workers. Panics if the
    /// calling thread is in a job or in a call of this pool, which a worker may be waiting for (the first
    /// indices of a loop, which its caller runs alone, count as outside of it), and like
    /// [`schedule`](Self::schedule).
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
        let is_inside = WorkerContext::with_any(&self.shared, |context| context.is_some());
        assert!(!is_inside, "a worker may wait for the call that this thread is in");
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
        // In one order on all workers: a body may wait for that of another worker.
        let workers = 0..self.threads.len();
        let jobs: Vec<_> = self.one_at_a_time(|| workers.map(schedule).collect());
        self.complete(self.combine(&jobs));
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

    /// Drops a job instead of running it, and all that come after it, unless it has begun.
    ///
    /// A job that is ready is dropped by this call, which then is done. One that waits for others is
    /// dropped when these are done. A job that has begun is not disturbed. Those that were dropped
    /// have failed, without a panic.
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

    /// A handle that is done when all of `handles` are, and has failed if one of
    /// them has. Of none it is done at once.
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
        JobHandle { pool: self.shared.number, id: self.shared.slots.join_up(handles) }
    }

    /// Whether the job is done: it has run, or panicked, or was cancelled. What
    /// it did is visible then.
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
    /// The calling thread runs the job itself, jobs that it comes after, and
    /// loops that one of these is in, never a stranger; if there is none of these
    /// to take, it sleeps. So a lock may be held across this call, as long as
    /// none of those jobs wants it. The pool's main thread also runs the jobs
    /// that were scheduled for it, all of them, because others may wait for them.
    ///
    /// Any number of threads may wait for one job, and one may wait for it again.
    ///
    /// # Panics
    ///
    /// Panics if the job has failed, with the payload of its panic, or with a message if a caller has got
    /// that already. Panics if `job` is of another pool, or if a job waits for itself.
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

    /// Like [`complete`](Self::complete), and returns failures.
    ///
    /// # Errors
    ///
    /// Returns [`JobError::Failed`] if the job panicked or was cancelled; the payload, if
    /// no caller has got it, is the caller's to take. [`JobError::OtherPool`] if the
    /// handle is of another pool, also of one that is gone.
    ///
    /// # Panics
    ///
    /// Panics if a job waits for itself; in debug builds also if it does so by way of others.
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

    /// Like [`try_complete`](Self::try_complete), and gives up after `time`: for a frame that goes on
    /// without what is not there yet.
    ///
    /// The thread helps meanwhile. A job that it has begun to run by then is brought to its end, so
    /// that the wait may take longer by that.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`try_complete`](Self::try_complete), and [`JobError::TimedOut`] if the job is not done when
    /// the time is over. It is not disturbed, and can be waited for again.
    ///
    /// # Panics
    ///
    /// Panics if a job waits for itself; in debug builds also if it does so by way of others: the thread may
    /// have begun to help with one of them when the time is over.
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
        let pinned = Pinned::of_this_thread(&self.shared);
        wait_for_job(&self.shared, job.id, pinned, deadline)?;
        let panic = self.shared.slots.failures.panic_of(job.id);
        panic.map_or(Ok(()), |panic| Err(JobError::Failed(JobPanic(panic))))
    }

    /// Waits until all jobs with handles are done, and helps with any of them.
    ///
    /// # Panics
    ///
    /// Panics if a job has panicked and no caller has got its payload, with the oldest such payload. Panics
    /// if called from inside a job with a handle, which would wait for itself.
    pub fn flush(&self) {
        let is_inside = WorkerContext::with_any(&self.shared, |context| {
            context.is_some_and(|context| context.job.get().is_some())
        });
        assert!(!is_inside, "a job that waits for all jobs would wait for itself");
        wait_for_all(&self.shared, Pinned::of_this_thread(&self.shared));
        if let Some(payload) = self.shared.slots.failures.take_any() {
            resume_unwind(payload);
        }
    }

    pub(super) fn check(&self, handles: &[JobHandle]) {
        let are_ours = handles.iter().all(|handle| handle.pool == self.shared.number);
        assert!(are_ours, "a handle is of another pool");
    }

    /// Panics if this thread cannot wait for the job.
    pub(super) fn check_wait(&self, job: JobHandle) {
        self.check(&[job]);
        let is_own = WorkerContext::with_any(&self.shared, |context| {
            context.is_some_and(|context| context.job.get() == Some(job.id))
        });
        assert!(!is_own, "a job that waits for itself waits for ever");
    }
}
