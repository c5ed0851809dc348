//! Long searches, which run between two ticks.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

use formic_jobs::Pool;

use crate::bytes::{Bytes, Saved, bytes_by_field};
use crate::grid::change::GridVersion;
use crate::path::PathScratch;
use crate::path::outcome::{Path, PathOutcome};
use crate::search::batch::{Job, Question, open};
use crate::terrain::Terrain;

/// A slice of long searches, which runs between two ticks: everything on which the answers depend, except
/// the copy of the terrain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Slice {
    /// In their order, as far as the allotment goes.
    pub(crate) questions: Vec<Question>,
    pub(crate) allotment: u64,
    /// The expansions spent by the tick in which it began.
    pub(crate) spent: u64,
    /// The cost of the first search in the slices before. It is resumed if that is not zero.
    pub(crate) charge: u64,
    /// The version of the terrain in the tick before, which tells an edited terrain from another one.
    pub(crate) seen: GridVersion,
}

bytes_by_field!(Slice { questions, allotment, spent, charge, seen });

/// The stage of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    /// Its answers were taken, or there was none.
    #[default]
    Taken,
    /// No thread has begun to run it.
    Waiting,
    Done,
}

/// The searches of a slice, and their memory.
#[derive(Debug, Default)]
pub(crate) struct Workshop {
    /// The terrain on which they run. No edit reaches it meanwhile.
    pub(crate) copy: Option<Terrain>,
    pub(crate) slice: Slice,
    pub(crate) stage: Stage,
    /// Whether the scratch holds the search that the slice resumes.
    is_warm: bool,
    scratch: PathScratch,
    /// One for each question, of which so many were begun. The last one of these may be unfinished.
    jobs: Vec<Job>,
    begun: usize,
    /// The panic of a search on another thread.
    panic: Option<Box<dyn Any + Send>>,
}

impl Workshop {
    /// The searches that were begun, in order.
    pub(crate) fn jobs(&mut self) -> &mut [Job] {
        &mut self.jobs[..self.begun]
    }

    /// Runs the searches, unless that is done.
    fn run(&mut self) {
        let Self { slice, stage, jobs, begun, scratch, .. } = self;
        let Some(copy) = self.copy.as_ref().filter(|_| *stage == Stage::Waiting) else { return };
        (*stage, *begun) = (Stage::Done, 0);
        let mut is_resumed = slice.charge > 0 && (self.is_warm || run_again(scratch, slice, copy));
        self.is_warm = true;
        let mut left = slice.allotment;
        for &question in &slice.questions {
            if *begun == jobs.len() {
                jobs.push(Job::new(question, left));
            }
            let job = &mut jobs[*begun];
            job.become_new(question, left);
            job.solve(copy, scratch, is_resumed);
            left -= job.charge;
            is_resumed = false;
            *begun += 1;
            if job.outcome == PathOutcome::OutOfBudget {
                return;
            }
        }
    }

    /// Keeps one of the questions, whose search is to be resumed, and its cost so far.
    pub(crate) fn keep(&mut self, place: usize, charge: u64) {
        self.slice.questions.swap(0, place);
        self.slice.questions.truncate(1);
        self.slice.charge = charge;
    }
}

/// Brings a scratch to the state in which the slices before had left it over this terrain: an interrupted
/// search depends on its cost so far alone. Returns false if this is not the search that was saved.
fn run_again(scratch: &mut PathScratch, slice: &Slice, copy: &Terrain) -> bool {
    let Some(question) = slice.questions.first() else { return false };
    let Some(query) = question.query() else { return false };
    let (terrain, query) = (question.terrain(copy), query.within(slice.charge));
    scratch.solve(terrain, &query, &mut Path::new()) == PathOutcome::OutOfBudget
}

/// The state on which background jobs of the pool work.
#[derive(Debug, Default)]
pub(crate) struct Background(Arc<Mutex<Workshop>>);

impl Background {
    /// Locks the state of a slice. Waits for a slice that a thread has begun to run.
    pub(crate) fn workshop(&self) -> MutexGuard<'_, Workshop> {
        open(&self.0)
    }

    /// Creates the state of a saved slice, which will run when it is waited for.
    pub(crate) fn of_saved(slice: Slice, copy: Terrain) -> Self {
        let background = Self::default();
        let mut workshop = background.workshop();
        (workshop.slice, workshop.stage) = (slice, Stage::Waiting);
        workshop.copy = Some(copy);
        drop(workshop);
        background
    }

    /// Begins the slice on any thread of the pool. A job that has not run yet serves for this slice.
    pub(crate) fn begin(&self, pool: &Pool) {
        if Arc::weak_count(&self.0) > 0 {
            return;
        }
        let queued = Arc::downgrade(&self.0);
        let job = move || {
            let Some(workshop) = queued.upgrade() else { return };
            // Before the search: a thread that waits for it begins the next slice at once.
            drop(queued);
            let mut workshop = open(&workshop);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| workshop.run())) {
                workshop.panic = Some(payload);
            }
        };
        pool.in_background().schedule(job);
    }

    /// Waits until the slice is done. If no thread has begun to run it, it runs here, on this thread.
    ///
    /// It waits for the lock and not for the job: a thread that waits in the pool runs jobs of the main
    /// thread meanwhile, which must not run in the middle of a tick.
    pub(crate) fn finish(&self) -> MutexGuard<'_, Workshop> {
        let mut workshop = self.workshop();
        if let Some(payload) = workshop.panic.take() {
            drop(workshop);
            resume_unwind(payload);
        }
        workshop.run();
        workshop
    }
}
