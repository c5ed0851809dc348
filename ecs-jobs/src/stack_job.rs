//! A reference to the second half of a join, as queues carry it.
#![expect(unsafe_code, reason = "a job reference erases the type and lifetime of a stack job")]

use crate::task_group::TaskGroup;
use std::ptr::NonNull;

/// A reference to a job that lies in a stack frame of its owner.
///
/// Invariant J-4: a job reference is used up once, either by running it or by its owner taking it
/// back. The owner does not leave the frame of the job before that, and if it was run, not before
/// the run has told so by its last use of the job (the end of the job's group, J-2).
#[derive(Debug)]
pub(crate) struct JobRef {
    job: NonNull<()>,
    group: NonNull<TaskGroup>,
    run: unsafe fn(NonNull<()>),
}

// SAFETY: `JobRef::new` demands a job that may be run on any thread, and is run once (J-4).
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    ///
    /// - `run` may be called with `job`, once, on any thread.
    /// - The caller does not leave the frame of `job`, in which `group` lies as well, before the
    ///   reference is used up and, if it was run, `run` has used `job` for the last time (J-4).
    #[inline]
    pub(crate) unsafe fn new(
        job: NonNull<()>,
        group: NonNull<TaskGroup>,
        run: unsafe fn(NonNull<()>),
    ) -> Self {
        Self { job, group, run }
    }

    /// A reference for tests, to a job that does not use what it is given, of a group that the
    /// test keeps.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn of_nothing(
        job: NonNull<()>,
        group: &'static TaskGroup,
        run: fn(NonNull<()>),
    ) -> Self {
        Self { job, group: NonNull::from(group), run }
    }

    /// Whether this refers to `job`.
    #[inline]
    pub(crate) fn is_for(&self, job: NonNull<()>) -> bool {
        self.job == job
    }

    /// The group of the job.
    pub(crate) fn group(&self) -> &TaskGroup {
        // SAFETY: the reference is not used up, so the frame is still there (J-4).
        unsafe { self.group.as_ref() }
    }

    /// Runs the job and uses up the reference.
    pub(crate) fn run(self) {
        // SAFETY: references are made only by `new`, whose caller granted this one call; there is
        // one, because `self` is gone afterwards (J-4).
        unsafe { (self.run)(self.job) }
    }
}
