//! The jobs that a waiting thread may help with: walking from the job to
//! those it waits for.
//!
//! The walk is depth first and goes on where it was after each job that it has
//! led to, so that all the jobs of one wait cost it one step per dependency.

use crate::shared::Shared;
use crate::sleep::Pinned;
use crate::slots::{JobId, State};
use crate::sync::{thread_local, unique_number};
use std::cell::RefCell;

/// A job on the way, and which of its dependencies is next.
type Step = (JobId, usize);

thread_local! {
    /// The memory of earlier walks of this thread.
    static SPARE: RefCell<Vec<Vec<Step>>> = const { RefCell::new(Vec::new()) };
}

/// What a walk has come upon.
#[derive(Debug)]
pub(crate) enum Found {
    /// A job that is ready, for a thread that claims it.
    Ready(JobId),
    /// A job that another thread is running, and that may have open loops.
    Running(JobId),
}

/// A walk from one job, again and again until that is done.
#[derive(Debug)]
pub(crate) struct Walk<'pool> {
    shared: &'pool Shared,
    from: JobId,
    number: u64,
    pinned: Pinned,
    way: Vec<Step>,
}

impl<'pool> Walk<'pool> {
    /// A walk from the job `from`, by a thread that may run these of the jobs for one alone.
    pub(crate) fn new(shared: &'pool Shared, from: JobId, pinned: Pinned) -> Self {
        let way =
            SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        Self { shared, from, number: 0, pinned, way }
    }

    /// Begins again at the job itself.
    pub(crate) fn restart(&mut self) {
        self.number = unique_number();
        self.way.clear();
        self.enter(self.from);
    }

    /// The next job that is to be helped with; `None` at the end of the walk.
    pub(crate) fn next(&mut self) -> Option<Found> {
        loop {
            let (id, which) = self.way.last_mut()?;
            let (id, slot) = (*id, self.shared.slots.get(*id));
            match slot.state(id) {
                Some(State::Waiting) => {
                    let dependency = slot.dependency(id, *which);
                    *which += 1;
                    match dependency {
                        Some(dependency) => self.enter(dependency),
                        // It may have got ready since, and then it is the
                        // business of who made it so.
                        None => _ = self.way.pop(),
                    }
                }
                Some(State::Ready) => {
                    self.way.pop();
                    if slot.pinned().is_none_or(|thread| self.pinned.is_of(thread)) {
                        return Some(Found::Ready(id));
                    }
                }
                Some(State::Running) => {
                    self.way.pop();
                    return Some(Found::Running(id));
                }
                None => _ = self.way.pop(),
            }
        }
    }

    /// The job on the way that waits for the one that was found last.
    pub(crate) fn waiting(&self) -> Option<JobId> {
        self.way.last().map(|&(id, _)| id)
    }

    /// Leaves that job out, which is the caller's now.
    pub(crate) fn leave(&mut self) {
        self.way.pop();
    }

    fn enter(&mut self, id: JobId) {
        let slot = self.shared.slots.get(id);
        if !self.shared.slots.is_done(id) && !slot.is_walked(self.number) {
            self.way.push((id, 0));
        }
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.way.clear();
        // A thread that ends has no use for it.
        _ = SPARE.try_with(|spare| spare.borrow_mut().push(std::mem::take(&mut self.way)));
    }
}
