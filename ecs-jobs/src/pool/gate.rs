//! Jobs whose dependencies are named later.

use crate::handle::JobHandle;
use crate::pool::Pool;
use crate::run_job::{add_gate, cancel_job, open_gate};
use crate::shared::Shared;
use crate::sync::{Weak, downgrade};

/// Keeps jobs that are scheduled after it from starting, until it is said what else they wait for.
///
/// Made by [`Pool::gate`]. When it is [opened](Self::open_after) it becomes an empty job after those that
/// are named then. One that is dropped before is cancelled, and so are the jobs after it, as by
/// [`Pool::cancel`]: what they were to wait for will never be known.
///
/// Nothing but the call opens it, and a thread that waits for a job after it does not go and look for who is to
/// do so. So who has the gate must not wait for a job after it; and where a job is to open it, a
/// thread that waits may be the one that the job needs: it waits with
/// [`run_until_done`](Pool::run_until_done), which runs any. A pool that is flushed or dropped
/// waits for its gates as well, those that a future has or that were forgotten among them.
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
    /// Of a gate that is not open. Not the pool itself: a job of it may have the gate.
    shared: Option<Weak<Shared>>,
    handle: JobHandle,
}

impl Gate {
    /// What jobs are scheduled after, and threads can wait for.
    #[must_use]
    pub fn handle(&self) -> JobHandle {
        self.handle
    }

    /// Lets the jobs after it start once all of `jobs` are done; of none, at once. Nothing happens if the
    /// gate was cancelled, or the pool has gone.
    ///
    /// # Panics
    ///
    /// Panics if one of `jobs` is of another pool, or if there are more than sixteen million unfinished
    /// jobs; in debug builds also if one of `jobs` waits for the gate, which is otherwise a wait without an
    /// end. The gate is cancelled then.
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
    /// Makes something that jobs can be scheduled after before it is known what it waits for.
    ///
    /// # Panics
    ///
    /// Panics like [`schedule`](Self::schedule).
    pub fn gate(&self) -> Gate {
        let handle = JobHandle { pool: self.shared.number, id: add_gate(&self.shared) };
        Gate { shared: Some(downgrade(&self.shared)), handle }
    }
}
