//! Stepping through a run: one system at a time, to see what each of them changes.

use formic_ecs::World;

use super::node::Node;
use super::param::RunContext;
use super::run::{Abandoned, Begun, Run, RunReport, Schedule, take_turn};
use super::stages::Part;
use crate::pool::Pool;

/// What one step of a run was. Made by [`Schedule::step`].
///
/// ```
/// use formic_jobs::prelude::*;
/// use formic_jobs::Step;
/// fn think() {}
/// let mut world = World::new();
/// let mut schedule = Schedule::builder().add(think).build(&mut world)?;
/// let report = schedule.step(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(report.step, Step::System(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The turn of a system, or of the condition of several, by its place in
    /// [`Schedule::system_names`]. It ran, or there was something against it:
    /// [`Schedule::explain_all`] knows.
    System(usize),
    /// A sync point, by its place in [`Schedule::sync_points`].
    SyncPoint(usize),
}

/// What a step has to tell.
///
/// ```
/// use formic_jobs::prelude::*;
/// fn think() {}
/// fn act() {}
/// let mut world = World::new();
/// let mut schedule = Schedule::builder().add((think, act).chain()).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// assert!(schedule.step(&mut world, &pool).ended.is_none());
/// assert!(schedule.step(&mut world, &pool).ended.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepReport {
    /// What it was.
    pub step: Step,
    /// The report of the whole run, where this was the last step of it.
    pub ended: Option<RunReport>,
}

impl Schedule {
    /// Takes the next step of a run: the turn of one system, or one sync point. The first step begins
    /// a run; [`run`](Self::run) brings it to its end in one go.
    ///
    /// Systems take their turns one after the other, in an order that a run on one thread takes as
    /// well, so that the run as a whole does what it always does.
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
    /// As [`run`](Self::run) does; the run is over then. Where there is nothing to step through,
    /// because no system was added.
    pub fn step(&mut self, world: &mut World, pool: &Pool) -> StepReport {
        assert_eq!(
            self.world,
            world.id(),
            "a schedule runs only in the world that it was built for"
        );
        let begun = match self.begun.take() {
            Some(begun) => begun,
            None => {
                assert!(self.part_len(0) > 0, "a schedule without systems has no steps");
                let run = self.begin_run(pool);
                Begun { run, part: 0, turn: 0, report: RunReport::default() }
            }
        };
        // The pool may be another one than that of the steps before.
        self.timeline.prepare(pool);
        // Until the step is done there is no run: a panic ends it.
        let guard = Abandoned(self);
        let (step, begun) = guard.0.take_step(begun, world, pool);
        std::mem::forget(guard);
        let ended = if begun.part < self.plan.parts.len() {
            self.begun = Some(begun);
            None
        } else {
            self.age_events(world);
            let mut report = begun.report;
            self.report_panics(&mut report);
            Some(report)
        };
        StepReport { step, ended }
    }

    /// Whether a run was begun by [`step`](Self::step) and has not come to its end.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn think() {}
    /// fn act() {}
    /// let mut world = World::new();
    /// let mut schedule = Schedule::builder().add((think, act)).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// schedule.step(&mut world, &pool);
    /// assert!(schedule.is_stepping());
    /// schedule.run(&mut world, &pool);
    /// assert!(!schedule.is_stepping() && schedule.tick() == 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn is_stepping(&self) -> bool {
        self.begun.is_some()
    }

    /// What [`step`](Self::step) would do next.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// use formic_jobs::Step;
    /// fn think() {}
    /// let mut world = World::new();
    /// let schedule = Schedule::builder().add(think).build(&mut world)?;
    /// assert_eq!(schedule.next_step(), Some(Step::System(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next_step(&self) -> Option<Step> {
        let (part, turn) = self.begun.as_ref().map_or((0, 0), |begun| (begun.part, begun.turn));
        (turn < self.part_len(part)).then(|| self.step_at(part, turn))
    }

    /// Brings a run to its end that was begun by steps.
    pub(super) fn finish_steps(&mut self, world: &mut World, pool: &Pool) -> RunReport {
        loop {
            if let Some(report) = self.step(world, pool).ended {
                return report;
            }
        }
    }

    fn take_step(&mut self, mut begun: Begun, world: &mut World, pool: &Pool) -> (Step, Begun) {
        let Begun { run, part, turn, .. } = begun;
        let step = self.step_at(part, turn);
        match &self.plan.parts[part] {
            Part::Stage(order) => {
                let node = order[turn];
                self.take_one_turn(node, run, world, pool);
            }
            Part::Exclusive(node) => self.run_exclusive(*node, run, world, pool),
            Part::Sync(_) => self.sync(part, run, world, pool, &mut begun.report),
        }
        begun.turn += 1;
        if begun.turn == self.part_len(part) {
            (begun.part, begun.turn) = (part + 1, 0);
        }
        (step, begun)
    }

    /// The turn of a node of a stage, with the world to itself.
    fn take_one_turn(&mut self, number: usize, run: Run, world: &mut World, pool: &Pool) {
        let Self { nodes, switches, timeline, .. } = self;
        let Node { name, slot, rights, role, switches: wanted, rate, .. } = &mut nodes[number];
        let before = pool.now_ns();
        let (slice, tick) = (rate.slice(run.tick), run.tick);
        let context = RunContext { cell: world.cell().restrict_to(rights), pool, slice, tick };
        let slot = slot.get_mut();
        let span = pool.span(name);
        let outcome = take_turn(slot, *role, (wanted, *rate), switches, context, run);
        drop(span);
        let now = pool.now_ns();
        timeline.note_node(pool.worker_count(), number, outcome, before, now);
    }

    fn step_at(&self, part: usize, turn: usize) -> Step {
        match &self.plan.parts[part] {
            Part::Stage(order) => Step::System(order[turn]),
            Part::Exclusive(node) => Step::System(*node),
            Part::Sync(_) => {
                let before = &self.plan.parts[..part];
                Step::SyncPoint(before.iter().filter(|part| matches!(part, Part::Sync(_))).count())
            }
        }
    }

    /// How many steps a part has; none behind the last part.
    fn part_len(&self, part: usize) -> usize {
        match self.plan.parts.get(part) {
            None => 0,
            Some(Part::Stage(order)) => order.len(),
            Some(Part::Exclusive(_) | Part::Sync(_)) => 1,
        }
    }
}
