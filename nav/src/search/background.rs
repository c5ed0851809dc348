//! Long searches, which run between two ticks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

use formic_jobs::Pool;

use crate::bytes::{Saved, get, get_count, put};
use crate::grid::change::GridVersion;
use crate::path::PathScratch;
use crate::path::outcome::{Path, PathOutcome};
use crate::search::batch::{Job, Question, open};
use crate::terrain::Terrain;

/// What is searched between two ticks: everything that the answers depend on, beside the copy of
/// the terrain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Slice {
    /// In their order, as far as the allotment goes.
    pub(crate) questions: Vec<Question>,
    pub(crate) allotment: u64,
    /// What the tick in which it began had spent.
    pub(crate) spent: u64,
    /// What the first search has cost in slices before, and what it was allowed in each.
    pub(crate) charge: u64,
    pub(crate) allotments: Vec<u64>,
    /// The version of the terrain in the tick before, which tells an edited one from another one.
    pub(crate) seen: GridVersion,
}

impl Slice {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.questions.len() as u64);
        self.questions.iter().for_each(|question| question.write(out));
        [self.allotment, self.spent, self.charge].into_iter().for_each(|number| put(out, number));
        put(out, self.allotments.len() as u64);
        self.allotments.iter().for_each(|&allotment| put(out, allotment));
        self.seen.write(out);
    }

    pub(crate) fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let count = get_count(bytes, 25)?;
        let questions = (0..count).map(|_| Question::read(bytes)).collect::<Result<_, _>>()?;
        let (allotment, spent, charge) = (get(bytes)?, get(bytes)?, get(bytes)?);
        let count = get_count(bytes, 8)?;
        let allotments = (0..count).map(|_| get(bytes)).collect::<Result<_, _>>()?;
        let seen = GridVersion::read(bytes)?;
        Ok(Self { questions, allotment, spent, charge, allotments, seen })
    }
}

/// How far a slice is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    /// Its answers were taken, or there was none.
    #[default]
    Taken,
    /// No thread has begun with it.
    Waiting,
    Done,
}

/// The searches of a slice, and the memory they run in.
#[derive(Debug, Default)]
pub(crate) struct Workshop {
    /// The terrain that they run over, which no edit reaches meanwhile.
    pub(crate) copy: Option<Terrain>,
    pub(crate) slice: Slice,
    pub(crate) stage: Stage,
    /// Whether the scratch holds what the slice goes on with.
    is_warm: bool,
    scratch: PathScratch,
    /// One for each question, of which so many were begun. The last one of these may be unfinished.
    jobs: Vec<Job>,
    begun: usize,
    /// Whether a pool has a job for it that has not run.
    is_queued: bool,
    /// What a search panicked with on another thread.
    panic: Option<Box<dyn Any + Send>>,
}

impl Workshop {
    /// The searches that were begun, in their order.
    pub(crate) fn jobs(&mut self) -> &mut [Job] {
        &mut self.jobs[..self.begun]
    }

    /// Searches, unless that is done.
    fn run(&mut self) {
        let Self { slice, stage, jobs, begun, scratch, .. } = self;
        let Some(copy) = self.copy.as_ref().filter(|_| *stage == Stage::Waiting) else { return };
        (*stage, *begun) = (Stage::Done, 0);
        let mut is_resumed = !slice.allotments.is_empty();
        if is_resumed && !self.is_warm {
            run_again(scratch, slice, copy);
        }
        self.is_warm = true;
        let mut left = slice.allotment;
        for &question in &slice.questions {
            if *begun == jobs.len() {
                jobs.push(Job::new(question, left));
            }
            let job = &mut jobs[*begun];
            *job = Job { path: std::mem::take(&mut job.path), ..Job::new(question, left) };
            job.solve(copy, scratch, is_resumed);
            left -= job.charge;
            is_resumed = false;
            *begun += 1;
            if job.outcome == PathOutcome::OutOfBudget {
                return;
            }
        }
    }

    /// Keeps one of the questions, of a search that is to go on, and what it has cost so far.
    pub(crate) fn keep(&mut self, place: usize, charge: u64) {
        let others: u64 = self.jobs[..place].iter().map(|job| job.charge).sum();
        let slice = &mut self.slice;
        slice.questions.swap(0, place);
        slice.questions.truncate(1);
        slice.charge = charge;
        if place > 0 {
            slice.allotments.clear();
        }
        let allotment = slice.allotment - others;
        slice.allotments.extend(Some(allotment).filter(|&allotment| allotment > 0));
    }
}

/// Brings a scratch to where the slices before had brought it over this terrain.
fn run_again(scratch: &mut PathScratch, slice: &Slice, copy: &Terrain) {
    let Some(question) = slice.questions.first() else { return };
    let Some(query) = question.query() else { return };
    let (terrain, mut path) = (question.terrain(copy), Path::new());
    let mut outcome = None;
    for &allotment in &slice.allotments {
        outcome = Some(match outcome {
            None => scratch.solve(terrain, &query.within(allotment), &mut path),
            Some(PathOutcome::OutOfBudget) => scratch.resume(terrain, allotment, &mut path),
            // Not the search that was saved; it is answered when its turn comes.
            Some(_) => break,
        });
    }
}

/// What background jobs of the pool work on.
#[derive(Debug, Default)]
pub(crate) struct Background(Arc<Mutex<Workshop>>);

/// A job in a pool, which may drop it without running it.
struct Queued(Option<Arc<Mutex<Workshop>>>);

impl Drop for Queued {
    fn drop(&mut self) {
        if let Some(workshop) = &self.0 {
            open(workshop).is_queued = false;
        }
    }
}

impl Background {
    /// What a slice works on. Waits for one that a thread has begun with.
    pub(crate) fn workshop(&self) -> MutexGuard<'_, Workshop> {
        open(&self.0)
    }

    /// Of a slice that was saved, and will run when it is waited for.
    pub(crate) fn of_saved(slice: Slice, copy: Terrain) -> Self {
        let background = Self::default();
        let mut workshop = background.workshop();
        (workshop.slice, workshop.stage) = (slice, Stage::Waiting);
        workshop.copy = Some(copy);
        drop(workshop);
        background
    }

    /// Begins with the slice. A job that has not run yet serves for this one.
    pub(crate) fn begin(&self, pool: &Pool) {
        if std::mem::replace(&mut self.workshop().is_queued, true) {
            return;
        }
        let mut queued = Queued(Some(Arc::clone(&self.0)));
        let job = move || {
            let Some(workshop) = queued.0.take() else { return };
            let mut workshop = open(&workshop);
            // Before the search: a thread that waits for it begins with the next slice at once.
            workshop.is_queued = false;
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| workshop.run())) {
                workshop.panic = Some(payload);
            }
        };
        pool.in_background().schedule(job);
    }

    /// Waits until the slice is done. One that no thread has begun with is searched here, on this
    /// thread.
    ///
    /// It waits for the lock and not for the job: a thread that waits in the pool runs jobs of the main
    /// thread meanwhile, which are not to run in the middle of a tick.
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
