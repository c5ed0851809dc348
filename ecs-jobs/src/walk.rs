//! A walk over the jobs that a waiting thread may help with: from the job to its dependencies.
//!
//! The walk is depth first and continues where it was after each job that it has found, so that all the
//! jobs of one wait cost it one step per dependency.

use crate::shared::Shared;
use crate::slots::{JobId, State};
use crate::sync::{thread_local, unique_number};
use std::cell::RefCell;

/// A job on the path of the walk, and the index of its next dependency.
type Step = (JobId, usize);

thread_local! {
    /// The memory of earlier walks of this thread.
    static SPARE: RefCell<Vec<Vec<Step>>> = const { RefCell::new(Vec::new()) };
}

/// A job that a walk has found.
#[derive(Debug)]
pub(crate) enum Found {
    /// A ready job, to be claimed.
    Ready(JobId),
    /// A job that another thread is running, and that may have open loops.
    Running(JobId),
}

/// A walk from one job, repeated until that job is done.
#[derive(Debug)]
pub(crate) struct Walk<'pool> {
    shared: &'pool Shared,
    from: JobId,
    number: u64,
    pinned: Option<u32>,
    path: Vec<Step>,
}

impl<'pool> Walk<'pool> {
    /// Creates a walk from the job `from`, by a thread that may run the jobs pinned to this number.
    pub(crate) fn new(shared: &'pool Shared, from: JobId, pinned: Option<u32>) -> Self {
        let path =
            SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        Self { shared, from, number: 0, pinned, path }
    }

    /// Restarts at the job itself.
    pub(crate) fn restart(&mut self) {
        self.number = unique_number();
        self.path.clear();
        self.enter(self.from);
    }

    /// The next job to help with; `None` at the end of the walk.
    pub(crate) fn next(&mut self) -> Option<Found> {
        loop {
            let (id, which) = self.path.last_mut()?;
            let (id, slot) = (*id, self.shared.slots.get(*id));
            match slot.state(id) {
                Some(State::Waiting) => {
                    let dependency = slot.dependency(id, *which);
                    *which += 1;
                    match dependency {
                        Some(dependency) => self.enter(dependency),
                        // It may have become ready since; then the thread that made it ready queues or
                        // runs it.
                        None => _ = self.path.pop(),
                    }
                }
                Some(State::Ready) => {
                    self.path.pop();
                    if slot.pinned().is_none_or(|thread| self.pinned == Some(thread)) {
                        return Some(Found::Ready(id));
                    }
                }
                Some(State::Running) => {
                    self.path.pop();
                    return Some(Found::Running(id));
                }
                None => _ = self.path.pop(),
            }
        }
    }

    /// The job on the path that waits for the job found last.
    pub(crate) fn waiting(&self) -> Option<JobId> {
        self.path.last().map(|&(id, _)| id)
    }

    /// Removes that job from the path, because the caller now has it.
    pub(crate) fn leave(&mut self) {
        self.path.pop();
    }

    fn enter(&mut self, id: JobId) {
        let slot = self.shared.slots.get(id);
        if !self.shared.slots.is_done(id) && !slot.is_walked(self.number) {
            self.path.push((id, 0));
        }
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.path.clear();
        // A thread that is ending drops the memory.
        _ = SPARE.try_with(|spare| spare.borrow_mut().push(std::mem::take(&mut self.path)));
    }
}
