//! Index jobs: jobs that are only numbers, for work whose parts are known beforehand.
//!
//! A schedule runs its systems as these. Unlike the jobs of a scope they own nothing: none of them
//! is an allocation, and the queue is kept from run to run.

use crate::context::WorkerContext;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::task_group::{TaskGroup, Work};
use crate::wait::share;

/// A queue of jobs that are only numbers.
pub(crate) type IndexQueue = Queue<usize>;

/// One run of a graph, as its jobs see it.
#[derive(Debug)]
pub(crate) struct GraphRun<'run> {
    shared: &'run Shared,
    queue: &'run IndexQueue,
    group: TaskGroup,
}

impl GraphRun<'_> {
    /// Adds a job, and wakes no thread for it: one that is awake takes it, at the latest the one
    /// that added it, when it has ended its own job.
    pub(crate) fn add(&self, index: usize) {
        self.group.add_one();
        self.queue.push(index);
    }

    /// Wakes up to this many threads, after jobs were added that are worth it.
    pub(crate) fn wake(&self, wanted: usize) {
        self.shared.announce_work(&self.group, wanted);
    }
}

struct IndexJobs<'run, F> {
    run: &'run GraphRun<'run>,
    body: F,
}

impl<F: Fn(usize, usize, &GraphRun<'_>) + Sync> Work for IndexJobs<'_, F> {
    fn group(&self) -> &TaskGroup {
        &self.run.group
    }

    fn has_work(&self) -> bool {
        !self.run.queue.is_empty()
    }

    fn run_one(&self, slot: usize) -> bool {
        let group = &self.run.group;
        let Some(index) = self.run.queue.pop() else { return false };
        // After a panic the jobs that have not started are dropped.
        if !group.is_cancelled() {
            group.run(|| (self.body)(slot, index, self.run));
        }
        group.finish_job();
        true
    }
}

/// Runs `body(slot, index, run)` for every index that `start` and then the jobs themselves add.
///
/// Panics with the first panic of a job, when all have ended.
pub(crate) fn run_indices(
    shared: &Shared,
    queue: &IndexQueue,
    start: impl FnOnce(&GraphRun<'_>),
    body: impl Fn(usize, usize, &GraphRun<'_>) + Sync,
) {
    WorkerContext::with(shared, |context| {
        let run = GraphRun { shared, queue, group: TaskGroup::new(0) };
        let jobs = IndexJobs { run: &run, body };
        share(shared, context, &jobs, || _ = run.group.run(|| start(&run)));
        run.group.panics.resume_if_any();
    });
}
