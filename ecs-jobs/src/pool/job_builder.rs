//! The builder of jobs with handles.

use crate::flat_loop;
use crate::handle::JobHandle;
use crate::pool::Pool;
use crate::run_job::add_job;
use crate::slots::JobKind;
use crate::sync::{Arc, downgrade};
use std::any::type_name;
use std::ops::Range;

/// A builder that names the dependencies of a job and the threads that may run it.
///
/// Created by [`Pool::after`], [`Pool::named`], [`Pool::in_background`] and [`Pool::on_main`]. Each
/// scheduling call schedules one job; the builder can be used again.
///
/// # Panics
///
/// Panics if one of the dependencies is of another pool, or if there are more than sixteen million
/// unfinished jobs; only the calls that schedule a job check this. The job is dropped then.
///
/// ```
/// # use formic_jobs::{Pool, Threads};
/// # let pool = Pool::new(Threads::Own(1)).unwrap();
/// let load = pool.schedule(|| ());
/// let bake = pool.in_background().after(&[load]).named("bake").parallel_for(0..100, |_index| ());
/// pool.complete(bake);
/// ```
#[must_use = "nothing is scheduled yet"]
#[derive(Clone, Copy, Debug)]
pub struct JobBuilder<'a> {
    pool: &'a Pool,
    kind: JobKind,
    after: &'a [JobHandle],
    name: Option<&'static str>,
}

impl<'a> JobBuilder<'a> {
    pub(super) const fn new(pool: &'a Pool, kind: JobKind) -> Self {
        Self { pool, kind, after: &[], name: None }
    }

    /// Makes the job start once all of `jobs` are done, replacing the dependencies named before.
    pub const fn after(self, jobs: &'a [JobHandle]) -> Self {
        Self { after: jobs, ..self }
    }

    /// Sets the name that a profiler gets, see [`PoolBuilder::on_span`](crate::PoolBuilder::on_span), and
    /// that the panic of a wait in a cycle has.
    pub const fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Schedules a job, like [`Pool::schedule`].
    pub fn schedule(self, job: impl FnOnce() + Send + 'static) -> JobHandle {
        self.pool.check(self.after);
        let shared = &*self.pool.shared;
        let name = self.name.unwrap_or_else(|| name_of(&job));
        let id = match &shared.spans {
            None => add_job(shared, self.kind, name, self.after, job),
            Some(spans) => {
                let spans = Arc::clone(spans);
                let job = move || {
                    let _span = spans.open(name);
                    job();
                };
                add_job(shared, self.kind, name, self.after, job)
            }
        };
        JobHandle { pool: shared.number, id }
    }

    /// Schedules a loop, like [`Pool::parallel_for`].
    pub fn parallel_for(
        self,
        indices: Range<usize>,
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> JobHandle {
        self.parallel_for_ranges(indices, move |range| range.for_each(&body))
    }

    /// Like [`parallel_for`](Self::parallel_for), for bodies that work better on many indices at a time:
    /// `body` gets ranges that together cover `indices` exactly once.
    pub fn parallel_for_ranges(
        self,
        indices: Range<usize>,
        body: impl Fn(Range<usize>) + Send + Sync + 'static,
    ) -> JobHandle {
        self.add_loop(move || indices, body)
    }

    /// Like [`parallel_for`](Self::parallel_for) over `0..len()`, where `len` is called when the loop
    /// starts: for a length that the dependencies compute.
    ///
    /// A panic in `len` counts as a panic in `body`.
    ///
    /// ```
    /// # use formic_jobs::{Pool, Threads};
    /// # use std::sync::{Arc, Mutex};
    /// # use std::sync::atomic::{AtomicUsize, Ordering};
    /// # let pool = Pool::new(Threads::Own(1)).unwrap();
    /// let found = Arc::new(Mutex::new(Vec::new()));
    /// let visited = Arc::new(AtomicUsize::new(0));
    /// let search = pool.schedule({
    ///     let found = Arc::clone(&found);
    ///     move || *found.lock().unwrap() = vec![7; 300]
    /// });
    /// let visit = pool.after(&[search]).parallel_for_deferred(
    ///     { let found = Arc::clone(&found); move || found.lock().unwrap().len() },
    ///     { let visited = Arc::clone(&visited); move |_| _ = visited.fetch_add(1, Ordering::Relaxed) },
    /// );
    /// pool.complete(visit);
    /// assert_eq!(visited.load(Ordering::Relaxed), 300);
    /// ```
    pub fn parallel_for_deferred(
        self,
        len: impl FnOnce() -> usize + Send + 'static,
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> JobHandle {
        self.add_loop(move || 0..len(), move |range| range.for_each(&body))
    }

    fn add_loop(
        self,
        indices: impl FnOnce() -> Range<usize> + Send + 'static,
        body: impl Fn(Range<usize>) + Send + Sync + 'static,
    ) -> JobHandle {
        // Weak, because the pool's slots keep the job.
        let shared = downgrade(&self.pool.shared);
        self.schedule(move || {
            let shared = shared.upgrade().expect("the thread that runs this has the pool");
            let Range { start, end } = indices();
            let shifted = |_slot, range: Range<usize>| body(start + range.start..start + range.end);
            flat_loop::for_each_range(&shared, end.saturating_sub(start), &shifted);
        })
    }
}

fn name_of<T>(_: &T) -> &'static str {
    type_name::<T>()
}
