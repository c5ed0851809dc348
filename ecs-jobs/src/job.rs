//! A job without its type, as deques carry it.
#![expect(unsafe_code, reason = "a job reference erases the type and lifetime of a stack job")]

use std::ptr::NonNull;

/// A reference to a job that lives in somebody's stack frame.
///
/// Invariant J-4: a job reference is used up once, either by running it or by
/// its owner taking it back, and the frame of the job is not left before that.
#[derive(Debug)]
pub(crate) struct JobRef {
    job: NonNull<()>,
    run: unsafe fn(NonNull<()>),
}

// SAFETY: `JobRef::new` demands a job that may run on any thread (J-4).
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    ///
    /// - `run` may be called with `job`, once, on any thread.
    /// - The caller does not leave the frame of `job` before the reference is
    ///   used up, and what runs it has ended (J-4).
    pub(crate) unsafe fn new(job: NonNull<()>, run: unsafe fn(NonNull<()>)) -> Self {
        Self { job, run }
    }

    /// Whether this refers to `job`.
    pub(crate) fn is_for(&self, job: NonNull<()>) -> bool {
        self.job == job
    }

    /// Runs the job and uses up the reference.
    pub(crate) fn run(self) {
        // SAFETY: references are made only by `new`, whose caller granted this
        // one call; there is one, because `self` is gone afterwards (J-4).
        unsafe { (self.run)(self.job) }
    }
}
