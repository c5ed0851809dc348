//! Handles of scheduled jobs.

use crate::panic_slot::{PanicSlot, Payload};
use crate::slots::JobId;
use crate::sync::Arc;
use std::any::Any;
use std::fmt;

/// A scheduled job: something to wait for, or to schedule other jobs after.
///
/// A handle is a small number that can be copied and sent anywhere. It keeps nothing alive: a job runs
/// whether or not its handle is kept, and a handle may be kept for any time after the job is done. Only
/// the pool that made it can use it; see [`Pool::schedule`].
///
/// ```
/// use formic_jobs::{Pool, Threads};
///
/// let pool = Pool::new(Threads::Own(1))?;
/// let load = pool.schedule(|| ());
/// let parse = pool.after(&[load]).schedule(|| ());
/// pool.complete(parse);
/// assert!(pool.is_done(load));
/// # Ok::<(), formic_jobs::PoolError>(())
/// ```
///
/// [`Pool::schedule`]: crate::Pool::schedule
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobHandle {
    /// The number of the pool that owns the job.
    pub(crate) pool: u64,
    pub(crate) id: JobId,
}

impl From<JobHandle> for JobId {
    fn from(handle: JobHandle) -> Self {
        handle.id
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobHandle({}v{} of pool {})", self.id.index(), self.id.generation(), self.pool)
    }
}

/// The reason why a job did not complete successfully.
#[non_exhaustive]
pub enum JobError {
    /// The handle is of another pool, possibly one that no longer exists.
    OtherPool,
    /// The job panicked or was cancelled, or a job that it was scheduled after has failed.
    Failed(JobPanic),
    /// The calling thread is already in too many nested waits, each inside a job that it runs in the wait
    /// around it. One more could overflow its stack.
    TooDeep,
    /// The job is not done, and the given time is over.
    TimedOut,
}

error_text! { JobError:
    Self::OtherPool => "the job is of another pool";
    Self::TooDeep => "this thread waits for jobs inside of jobs too deeply";
    Self::TimedOut => "the job was not done in time";
    Self::Failed(_) => "the job panicked or was cancelled, or one that it comes after was";
}

/// The panic that made a job fail.
///
/// All jobs that failed for one panic share it. Its payload is handed out once, to the first caller.
#[derive(Clone, Debug)]
pub struct JobPanic(pub(crate) Arc<PanicSlot>);

impl JobPanic {
    /// Takes the payload of the panic, unless another caller has already taken it.
    #[must_use = "no other caller gets the payload"]
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        let payload: Option<Payload> = self.0.take();
        payload
    }
}
