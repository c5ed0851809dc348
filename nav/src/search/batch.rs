//! Searches that run in parallel, and their shared memory.

#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use formic_ecs::Entity;
use formic_jobs::Pool;

use crate::bytes::{Bytes, Saved, bytes_by_field};
use crate::cell::Cell;
use crate::class::ClassId;
use crate::path::PathScratch;
use crate::path::outcome::{Path, PathOutcome, Unreachable};
use crate::path::query::{Algorithm, PathQuery};
use crate::terrain::Terrain;

/// The question that a search answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Question {
    pub(crate) entity: Entity,
    /// The number of the request, which tells it apart from later ones of the same agent.
    pub(crate) number: u32,
    /// The class of the agent.
    pub(crate) class: ClassId,
    /// `None` if no cell can be at the position.
    pub(crate) start: Option<Cell>,
    pub(crate) goal: Option<Cell>,
    /// Whether the goal is outside of all cells, so that this is the cell nearest to it.
    pub(crate) is_beyond: bool,
    /// Whether a path to the nearest reachable cell suffices.
    pub(crate) or_nearest: bool,
    /// Whether the shortest any-angle path is wanted.
    pub(crate) is_any_angle: bool,
}

bytes_by_field!(Question {
    entity,
    number,
    class,
    start,
    goal,
    is_beyond,
    or_nearest,
    is_any_angle
});

impl Question {
    /// The terrain of the agent.
    pub(crate) fn terrain<'a>(&self, terrain: &'a Terrain) -> &'a Terrain {
        terrain.for_class(self.class).unwrap_or(terrain)
    }

    /// The query for a scratch, if there are both cells.
    pub(crate) fn query(&self) -> Option<PathQuery> {
        let query = PathQuery::new(self.start?, self.goal?);
        let algorithm = if self.is_any_angle { Algorithm::AnyAngle } else { query.algorithm };
        Some(PathQuery { or_nearest: self.or_nearest, algorithm, ..query })
    }

    /// Whether two questions of one agent have the same answer.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        *self == Self { number: self.number, ..*other }
    }

    /// The number of columns or of rows between start and goal, whichever is greater.
    pub(crate) fn distance(&self) -> u64 {
        let Some((start, goal)) = self.start.zip(self.goal) else { return 0 };
        u64::from(start.x.abs_diff(goal.x).max(start.y.abs_diff(goal.y)))
    }
}

/// One search: the question, and then the answer.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) question: Question,
    /// The maximum number of expansions.
    pub(crate) allotment: u64,
    pub(crate) outcome: PathOutcome,
    pub(crate) path: Path,
    /// The cost of the search, in expansions.
    pub(crate) charge: u64,
}

impl Job {
    /// Creates a job that is not solved yet.
    pub(crate) fn new(question: Question, allotment: u64) -> Self {
        let outcome = PathOutcome::OutOfBudget;
        Self { question, allotment, outcome, path: Path::new(), charge: 0 }
    }

    /// Becomes another job, which is not solved yet. The path keeps its memory.
    pub(crate) fn become_new(&mut self, question: Question, allotment: u64) {
        *self = Self { path: std::mem::take(&mut self.path), ..Self::new(question, allotment) };
    }

    /// Searches, from the start or resumed where the scratch was interrupted.
    pub(crate) fn solve(&mut self, terrain: &Terrain, scratch: &mut PathScratch, is_resumed: bool) {
        let Question { start, is_beyond, .. } = self.question;
        let terrain = self.question.terrain(terrain);
        let Some(query) = self.question.query() else {
            let is_start = start.is_none();
            self.outcome = PathOutcome::Unreachable(match is_start {
                true => Unreachable::StartOutside,
                false => Unreachable::GoalOutside,
            });
            return;
        };
        let outcome = if is_resumed {
            scratch.resume(terrain, self.allotment, &mut self.path)
        } else {
            scratch.solve(terrain, &query.within(self.allotment), &mut self.path)
        };
        self.outcome = match outcome {
            PathOutcome::Found { cost } | PathOutcome::Partial { cost, .. } if is_beyond => {
                PathOutcome::Partial { cost, reason: Unreachable::GoalOutside }
            }
            outcome => outcome,
        };
        self.charge = scratch.charge();
    }
}

/// Jobs and scratches, kept to reuse their memory.
///
/// Everything is behind locks for which no thread ever waits: a job is locked by the one thread to which
/// the pool gives its index, and a scratch by the one that has its slot.
#[derive(Debug, Default)]
pub(crate) struct Searchers {
    /// Only the first `job_count` are in use.
    jobs: Vec<Mutex<Job>>,
    job_count: usize,
    scratches: Vec<Mutex<PathScratch>>,
}

impl Searchers {
    /// Solves the jobs that were set, on all threads of a pool, and returns them in order.
    pub(crate) fn solve(
        &mut self,
        pool: &Pool,
        terrain: &Terrain,
    ) -> impl Iterator<Item = &mut Job> {
        let count = self.job_count;
        if self.scratches.len() < pool.parallelism() {
            self.scratches.resize_with(pool.parallelism(), Mutex::default);
        }
        let (jobs, scratches) = (&self.jobs[..count], &self.scratches[..]);
        pool.for_each_range_with_slot(count, |slot, range| {
            let mut scratch = open(&scratches[slot]);
            for index in range {
                open(&jobs[index]).solve(terrain, &mut scratch, false);
            }
        });
        self.jobs[..count]
            .iter_mut()
            .map(|job| job.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the questions to solve, each with its allotment.
    pub(crate) fn set(&mut self, questions: impl Iterator<Item = (Question, u64)>) {
        self.job_count = 0;
        for (question, allotment) in questions {
            match self.jobs.get_mut(self.job_count) {
                Some(job) => open(job).become_new(question, allotment),
                None => self.jobs.push(Mutex::new(Job::new(question, allotment))),
            }
            self.job_count += 1;
        }
    }
}

/// Locks a mutex. A poisoned one is as good as any other: each search begins by resetting what it uses.
pub(crate) fn open<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Estimates the costs of searches from the costs of others over about the same distance. Over weights,
/// twice the distance costs four times as much.
///
/// It computes in integers, so every machine gets the same estimates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    /// Indexed by the logarithm of the distance.
    classes: [Usual; DISTANCE_BITS],
}

/// Distances are those of columns or rows.
const DISTANCE_BITS: usize = 16;

/// The costs of searches so far.
#[derive(Clone, Copy, Debug)]
struct Usual {
    distance: u64,
    expansions: u64,
}

bytes_by_field!(Usual { distance, expansions });
bytes_by_field!(Estimate { classes });

impl Default for Usual {
    /// A guess that the first searches soon outweigh.
    fn default() -> Self {
        Self { distance: 16, expansions: 256 }
    }
}

impl Estimate {
    /// The number of searches over the greatest distance of a class that are remembered before older ones
    /// begin to fade.
    const COUNT_MAX: u64 = 256;

    /// Whether, read from a save, there is room to count on.
    pub(crate) fn is_sound(&self) -> bool {
        self.classes.iter().all(|it| it.distance.max(it.expansions) <= u64::MAX / 2)
    }

    /// The number of expansions that a search over `distance` steps will probably take: at least one.
    pub(crate) fn expansions(&self, distance: u64) -> u64 {
        let usual = &self.classes[class(distance)];
        (distance.saturating_mul(usual.expansions) / usual.distance.max(1)).max(1)
    }

    /// The maximum number of expansions of a short search: twice what is usual.
    pub(crate) fn allotment(&self, question: &Question) -> u64 {
        self.expansions(question.distance()).saturating_mul(2)
    }

    pub(crate) fn learn(&mut self, distance: u64, expansions: u64) {
        // A search that needed no expansion says nothing about those that do.
        if expansions == 0 {
            return;
        }
        let class = class(distance);
        let usual = &mut self.classes[class];
        usual.distance += distance;
        usual.expansions += expansions;
        if usual.distance > Self::COUNT_MAX << class {
            usual.distance /= 2;
            usual.expansions /= 2;
        }
    }
}

fn class(distance: u64) -> usize {
    (distance.max(1).ilog2() as usize).min(DISTANCE_BITS - 1)
}
