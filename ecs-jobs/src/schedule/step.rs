//! Stepping through a run: one system at a time, to see what each of them changes.

use formic_ecs::World;

use super::run::{Abandoned, Begun, RunReport, Schedule};
use super::stages::Part;
use crate::pool::Pool;

/// A step of a run. Made by [`Schedule::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The turn of a system, or of the condition of several, as an index into [`Schedule::system_names`].
    /// It may not have run; [`Schedule::explain_all`] gives the reason.
    System(usize),
    /// A sync point, as an index into [`Schedule::sync_points`].
    SyncPoint(usize),
}

/// The report of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepReport {
    /// The step.
    pub step: Step,
    /// The report of the whole run, if this was its last step.
    pub ended: Option<RunReport>,
}

impl Schedule {
    /// Executes the next step of a run: the turn of one system, or one sync point. The first step begins
    /// a run; [`run`](Self::run) completes it.
    ///
    /// Systems run one after the other, in the order that a run on one thread also uses, so that the run
    /// as a whole has its usual result.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// use formic_jobs::Step;
    /// fn spawn(mut commands: Commands) { commands.spawn(()); }
    /// fn count(all: Query<Entity>, mut found: ResMut<usize>) { *found = all.count(); }
    /// let mut world = World::new();
    /// world.insert_resource(0_usize);
    /// let mut schedule =
    ///     Schedule::builder().add(spawn).add(count.after(spawn)).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// let steps: Vec<_> = (0..3).map(|_| schedule.step(&mut world, &pool).step).collect();
    /// assert_eq!(steps, [Step::System(0), Step::SyncPoint(0), Step::System(1)]);
    /// assert_eq!(*world.resource::<usize>()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Panics like [`run`](Self::run); the run is over then. Panics if there is nothing to step through
    /// because the schedule has no systems.
    pub fn step(&mut self, world: &mut World, pool: &Pool) -> StepReport {
        assert!(self.part_len(0) > 0, "a schedule without systems has no steps");
        // Until the step is done there is no current run: a panic ends it.
        let mut begun = self.begin_or_go_on(world, pool);
        let guard = Abandoned(self, &mut *world);
        let step = guard.0.take_step(&mut begun, guard.1, pool);
        std::mem::forget(guard);
        let ended = if begun.part < self.plan.parts.len() {
            self.begun = Some(begun);
            None
        } else {
            Some(self.end_run(begun, world))
        };
        StepReport { step, ended }
    }

    /// Returns whether [`step`](Self::step) has begun a run that has not ended.
    #[must_use]
    pub const fn is_stepping(&self) -> bool {
        self.begun.is_some()
    }

    /// Returns the step that [`step`](Self::step) would execute next.
    #[must_use]
    pub fn next_step(&self) -> Option<Step> {
        let (part, turn) = self.begun.as_ref().map_or((0, 0), |begun| (begun.part, begun.turn));
        (turn < self.part_len(part)).then(|| self.step_at(part, turn))
    }

    pub(super) fn take_step(&mut self, begun: &mut Begun, world: &mut World, pool: &Pool) -> Step {
        let step = self.step_at(begun.part, begun.turn);
        match step {
            Step::System(node) => self.run_alone(node, begun.run, world, pool),
            Step::SyncPoint(_) => self.sync(begun, world, pool),
        }
        begun.turn += 1;
        if begun.turn == self.part_len(begun.part) {
            (begun.part, begun.turn) = (begun.part + 1, 0);
        }
        step
    }

    fn step_at(&self, part: usize, turn: usize) -> Step {
        let is_sync = |part: &&Part| matches!(part, Part::Sync(_));
        match self.plan.parts[part].nodes().get(turn) {
            Some(&node) => Step::System(node),
            None => Step::SyncPoint(self.plan.parts[..part].iter().filter(is_sync).count()),
        }
    }

    /// The number of steps of a part; zero after the last part.
    fn part_len(&self, part: usize) -> usize {
        // A sync point is a step, and has no nodes.
        self.plan.parts.get(part).map_or(0, |part| part.nodes().len().max(1))
    }
}
