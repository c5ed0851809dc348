//! Gates: jobs whose dependencies are named after they are scheduled.

use crate::handle::JobHandle;
use crate::pool::Pool;
use crate::run_job::{add_gate, cancel_job, open_gate};
use crate::shared::Shared;
use crate::sync::{Weak, downgrade};

/// A job without a body whose dependencies are named later; jobs scheduled after it wait until then.
///
/// Created by [`Pool::gate`]. [`open_after`](Self::open_after) turns it into an empty job that depends on
/// the jobs named there. A gate that is dropped before that is cancelled, and so are the jobs after it,
/// as by [`Pool::cancel`]: their dependencies will never be known.
///
/// Only that call opens a gate, and a thread that waits for a job after the gate does not look for the
/// code that will open it. So the thread that holds the gate must not wait for a job after it. If a job
/// is to open the gate, a waiting thread may be the only one that can run that job: such a thread must
/// wait with [`run_until_done`](Pool::run_until_done), which runs any job. In a pool without threads, opening
/// or dropping a gate runs all jobs that are ready, so none of these may wait for a job after another gate
/// of this thread. Flushing or dropping a pool
/// waits for its gates as well, including gates held by a future and gates that were forgotten.
///
/// ```
/// # use formic_jobs::{Pool, Threads};
/// # use std::sync::Mutex;
/// # static EATEN: Mutex<Vec<&str>> = Mutex::new(Vec::new());
/// # let eat = |what| move || EATEN.lock().unwrap().push(what);
/// # let pool = Pool::new(Threads::Own(1)).unwrap();
/// let gate = pool.gate();
/// let rest = pool.after(&[gate.handle()]).schedule(eat("rest"));
/// let ants: Vec<_> = (0..3).map(|_| pool.schedule(eat("leaf"))).collect();
/// gate.open_after(&ants);
/// pool.complete(rest);
/// assert_eq!(*EATEN.lock().unwrap(), ["leaf", "leaf", "leaf", "rest"]);
/// ```
#[must_use = "a gate that is dropped cancels the jobs after it"]
pub struct Gate {
    /// `Some` while the gate is not open. Weak, because a job of the pool may hold the gate.
    shared: Option<Weak<Shared>>,
    handle: JobHandle,
}

impl Gate {
    /// Returns the handle of the gate, to wait for or to schedule jobs after.
    #[must_use]
    pub fn handle(&self) -> JobHandle {
        self.handle
    }

    /// Lets the jobs after the gate start once all of `jobs` are done; if there are none, at once. Does
    /// nothing if the gate was cancelled or the pool no longer exists.
    ///
    /// # Panics
    ///
    /// Panics if one of `jobs` is of another pool, or if there are more than sixteen million unfinished
    /// jobs. In debug builds, also panics if one of `jobs` waits for the gate; in release builds such a
    /// wait never ends. The gate is cancelled then.
    pub fn open_after(mut self, jobs: &[JobHandle]) {
        if let Some(shared) = self.shared.as_ref().and_then(Weak::upgrade) {
            let are_ours = jobs.iter().all(|job| job.pool == self.handle.pool);
            assert!(are_ours, "a handle is of another pool");
            open_gate(&shared, self.handle.id, jobs);
            self.shared = None;
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take().and_then(|shared| shared.upgrade()) {
            cancel_job(&shared, self.handle.id);
        }
    }
}

debug_fields!([] Gate:; handle = |it| it.handle);

impl Pool {
    /// Creates a gate, which jobs can be scheduled after before its dependencies are known.
    ///
    /// # Panics
    ///
    /// Panics like [`schedule`](Self::schedule).
    pub fn gate(&self) -> Gate {
        let handle = JobHandle { pool: self.shared.number, id: add_gate(&self.shared) };
        Gate { shared: Some(downgrade(&self.shared)), handle }
    }
}
