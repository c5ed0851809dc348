//! The waits of jobs for one another, recorded in debug builds to find waits that never end.

use crate::handle::JobHandle;
use crate::slots::{JobId, Slots};
use crate::sync::Mutex;
use std::collections::HashMap;

/// The number of slots whose jobs' names are kept: about as many as stay as long as the pool.
const NAMED_MAX: usize = 1 << 14;

/// Who waits for whom.
#[derive(Debug)]
pub(crate) struct WaitGraph {
    /// The current waits: pairs of a job that waits inside its body, and the job that it waits for.
    waits: Mutex<Vec<(JobId, JobId)>>,
    /// The last job with a name in each of the first [`NAMED_MAX`] slots. Gates and join nodes have none.
    names: Mutex<HashMap<u32, (JobId, &'static str)>>,
}

impl WaitGraph {
    pub(crate) fn new() -> Self {
        let [waits, names] = if cfg!(debug_assertions) { [64, NAMED_MAX] } else { [0, 0] };
        Self {
            waits: Mutex::new(Vec::with_capacity(waits)),
            names: Mutex::new(HashMap::with_capacity(names)),
        }
    }

    /// Notes the name of a new job, in debug builds.
    pub(crate) fn note_name(&self, id: JobId, name: &'static str) {
        if cfg!(debug_assertions) && (id.index() as usize) < NAMED_MAX {
            self.names.lock().insert(id.index(), (id, name));
        }
    }

    /// The name of a job, if it has one, and its handle.
    fn describe(&self, pool: u64, id: JobId) -> String {
        let (names, handle) = (self.names.lock(), JobHandle { pool, id });
        match names.get(&id.index()).filter(|(of, _)| *of == id) {
            Some((_, name)) => format!("`{name}`, {handle:?}"),
            None => format!("{handle:?}"),
        }
    }

    /// Runs `wait`, in which the job `waiting` waits for `job`.
    ///
    /// # Panics
    ///
    /// Panics if the wait would never end, because `job` waits for `waiting`, directly or through others.
    /// Debug builds only.
    pub(crate) fn while_waiting<R>(
        &self,
        (pool, slots): (u64, &Slots),
        waiting: Option<JobId>,
        job: JobId,
        wait: impl FnOnce() -> R,
    ) -> R {
        let Some(waiting) = waiting.filter(|_| cfg!(debug_assertions)) else { return wait() };
        let mut waits = self.waits.lock();
        // Under the lock: if several waits close a cycle together, the last one finds it.
        if let Some(cycle) = cycle(slots, &waits, waiting, job) {
            drop(waits);
            let jobs: Vec<String> = cycle.iter().map(|&id| self.describe(pool, id)).collect();
            panic!("a wait without an end: {}", jobs.join(" waits for "));
        }
        waits.push((waiting, job));
        drop(waits);
        let result = wait();
        let mut waits = self.waits.lock();
        let place = waits.iter().position(|other| *other == (waiting, job));
        place.map(|place| waits.swap_remove(place));
        result
    }
}

/// The path from `waiting` through `job` back to `waiting`, if there is one.
fn cycle(
    slots: &Slots,
    waits: &[(JobId, JobId)],
    waiting: JobId,
    job: JobId,
) -> Option<Vec<JobId>> {
    let mut came_from = HashMap::from([(job, waiting)]);
    let mut open = vec![job];
    while let Some(at) = open.pop() {
        if at == waiting {
            let back = std::iter::successors(Some(came_from[&waiting]), |at| {
                (*at != waiting).then(|| came_from[at])
            });
            let mut path: Vec<JobId> = std::iter::once(waiting).chain(back).collect();
            path.reverse();
            return Some(path);
        }
        for next in behind(slots, waits, at) {
            came_from.entry(next).or_insert_with(|| {
                open.push(next);
                at
            });
        }
    }
    None
}

/// The jobs that `job` waits for: by its own calls, and as its dependencies.
fn behind(slots: &Slots, waits: &[(JobId, JobId)], job: JobId) -> Vec<JobId> {
    let called = waits.iter().filter(|(waiting, _)| *waiting == job).map(|&(_, other)| other);
    let slot = slots.get(job);
    let before = (0..).map_while(|which| slot.dependency(job, which));
    called.chain(before).filter(|&other| !slots.is_done(other)).collect()
}
