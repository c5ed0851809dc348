//! Searches that run side by side, and the memory they share out.

#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use ecs_core::Entity;
use ecs_jobs::Pool;

use crate::cell::Cell;
use crate::path::PathScratch;
use crate::path::outcome::{Path, PathOutcome, Unreachable};
use crate::terrain::Terrain;

/// One search: the question, and then the answer.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) entity: Entity,
    start: Option<Cell>,
    goal: Option<Cell>,
    pub(crate) outcome: PathOutcome,
    pub(crate) path: Path,
    pub(crate) expansions: u64,
}

impl Job {
    /// A job to be done; a place where no cell can be is none.
    pub(crate) fn new(entity: Entity, start: Option<Cell>, goal: Option<Cell>) -> Self {
        let outcome = PathOutcome::OutOfBudget;
        Self { entity, start, goal, outcome, path: Path::new(), expansions: 0 }
    }

    /// The least number of steps between start and goal.
    pub(crate) fn distance(&self) -> u64 {
        let Some((start, goal)) = self.start.zip(self.goal) else { return 0 };
        u64::from(start.x.abs_diff(goal.x).max(start.y.abs_diff(goal.y)))
    }

    fn solve(&mut self, terrain: &Terrain, scratch: &mut PathScratch) {
        self.outcome = match (self.start, self.goal) {
            (None, _) => PathOutcome::Unreachable(Unreachable::StartOutside),
            (_, None) => PathOutcome::Unreachable(Unreachable::GoalOutside),
            (Some(start), Some(goal)) => {
                let outcome = scratch.find(terrain, start, goal, &mut self.path);
                self.expansions = scratch.expansion_count();
                outcome
            }
        };
    }
}

/// Jobs and scratches, kept for their memory.
///
/// Everything is behind locks that nobody ever waits for: a job is opened by the
/// one thread that the pool gives its index to, and a scratch by the one that
/// has its slot.
#[derive(Debug, Default)]
pub(crate) struct Searchers {
    jobs: Vec<Mutex<Job>>,
    scratches: Vec<Mutex<PathScratch>>,
}

impl Searchers {
    /// Solves jobs on all threads of a pool, and returns them in order.
    pub(crate) fn solve(
        &mut self,
        pool: &Pool,
        terrain: &Terrain,
        questions: impl Iterator<Item = Job>,
    ) -> impl Iterator<Item = &mut Job> {
        let count = self.set(questions);
        if self.scratches.len() < pool.parallelism() {
            self.scratches.resize_with(pool.parallelism(), Mutex::default);
        }
        let (jobs, scratches) = (&self.jobs[..count], &self.scratches[..]);
        pool.for_each_range_with_slot(count, |slot, range| {
            let mut scratch = open(&scratches[slot]);
            for job in &jobs[range] {
                open(job).solve(terrain, &mut scratch);
            }
        });
        self.jobs[..count]
            .iter_mut()
            .map(|job| job.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts questions into the first jobs, whose paths keep their memory.
    fn set(&mut self, questions: impl Iterator<Item = Job>) -> usize {
        let mut count = 0;
        for question in questions {
            match self.jobs.get_mut(count) {
                Some(job) => {
                    let job = job.get_mut().unwrap_or_else(PoisonError::into_inner);
                    let path = std::mem::take(&mut job.path);
                    *job = Job { path, ..question };
                }
                None => self.jobs.push(Mutex::new(question)),
            }
            count += 1;
        }
        count
    }
}

/// Opens a lock. A poisoned one is as good as any: each search begins by
/// resetting what it uses.
fn open<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Foretells what searches cost, from what others have cost.
///
/// In integers, so that every machine foretells the same.
#[derive(Debug)]
pub(crate) struct Estimate {
    distance: u64,
    expansions: u64,
}

impl Default for Estimate {
    /// A guess that the first searches soon outweigh.
    fn default() -> Self {
        Self { distance: 16, expansions: 256 }
    }
}

impl Estimate {
    /// How many steps are remembered before older ones begin to fade.
    const DISTANCE_MAX: u64 = 1 << 16;

    /// The expansions that a search over `distance` steps will probably take: at
    /// least one for each.
    pub(crate) fn expansions(&self, distance: u64) -> u64 {
        let usual = distance.saturating_mul(self.expansions) / self.distance.max(1);
        usual.max(distance)
    }

    pub(crate) fn learn(&mut self, distance: u64, expansions: u64) {
        // A search that was not needed says nothing of those that are.
        if expansions == 0 {
            return;
        }
        self.distance += distance;
        self.expansions += expansions;
        if self.distance > Self::DISTANCE_MAX {
            self.distance /= 2;
            self.expansions /= 2;
        }
    }
}
