//! Running a schedule.

use std::fmt;

use ecs_core::{CommandBuffer, CommandFailure, World};

use super::error::Ambiguity;
use super::graph::Graph;
use super::param::RunContext;
use super::system::System;
use crate::pool::Pool;
use crate::scope::Scope;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};

/// Systems in an order that is settled, made by a [`ScheduleBuilder`](super::ScheduleBuilder).
pub struct Schedule {
    world: u64,
    names: Vec<String>,
    /// Each is locked by whoever runs it, which the graph lets only one do.
    systems: Vec<Mutex<Box<dyn System>>>,
    graph: Graph,
    /// For each system, how many it still waits for in this run.
    waiting_for: Vec<AtomicUsize>,
    /// Whether a system has panicked in this run.
    panicked: AtomicBool,
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule").field("systems", &self.names).finish_non_exhaustive()
    }
}

/// What a run has to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Commands that did not apply at the sync point, by the order of the systems.
    pub failures: Vec<CommandFailure>,
}

impl Schedule {
    /// A schedule in the making.
    #[must_use]
    pub fn builder() -> super::ScheduleBuilder {
        super::ScheduleBuilder::default()
    }

    pub(super) fn new(
        world: u64,
        names: Vec<String>,
        systems: impl Iterator<Item = Box<dyn System>>,
        graph: Graph,
    ) -> Self {
        let waiting_for = graph.predecessor_counts.iter().map(|_| AtomicUsize::new(0)).collect();
        let systems = systems.map(Mutex::new).collect();
        Self { world, names, systems, graph, waiting_for, panicked: AtomicBool::new(false) }
    }

    /// The names of the systems in the order of adding.
    #[must_use]
    pub fn system_names(&self) -> &[String] {
        &self.names
    }

    /// The pairs of systems that touch the same data, and whose order nobody declared.
    #[must_use]
    pub fn ambiguities(&self) -> &[Ambiguity] {
        &self.graph.ambiguities
    }

    /// Which systems wait directly for which: pairs of places in
    /// [`system_names`](Self::system_names).
    pub fn steps(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let successors = self.graph.successors.iter().enumerate();
        successors.flat_map(|(from, to)| to.iter().map(move |&to| (from, to)))
    }

    /// Runs every system once, those that do not wait for each other at the same time, and then
    /// plays back the commands that they recorded.
    ///
    /// # Panics
    /// Where the schedule was built for another world. Where a system panics: the first panic
    /// goes on here when all systems that had started have ended; those that had not are not
    /// started, and all commands of this run are dropped. Where a component panics as a command
    /// drops it: what was played before stays, the commands after it are dropped.
    pub fn run(&mut self, world: &mut World, pool: &Pool) -> RunReport {
        assert_eq!(
            self.world,
            world.id(),
            "a schedule runs only in the world that it was built for"
        );
        let guard = Abandoned(self);
        guard.0.run_systems(world, pool);
        let report = guard.0.sync(world);
        std::mem::forget(guard);
        report
    }

    fn run_systems(&self, world: &mut World, pool: &Pool) {
        for (waiting, &count) in self.waiting_for.iter().zip(&self.graph.predecessor_counts) {
            // Relaxed: the scope hands it to the other threads.
            waiting.store(count, Ordering::Relaxed);
        }
        self.panicked.store(false, Ordering::Relaxed);
        let context = RunContext { cell: world.cell_with_turns(self.systems.len()), pool };
        pool.scope(|scope| {
            let ready = (0..self.systems.len())
                .filter(|&system| self.graph.predecessor_counts[system] == 0);
            for system in ready {
                scope.spawn(move |scope| self.run_from(system, context, scope));
            }
        });
    }

    /// Runs a system, and then those that waited for nothing else: the first of them here, the
    /// others wherever there is a thread.
    fn run_from<'scope>(
        &'scope self,
        first: usize,
        context: RunContext<'scope>,
        scope: &Scope<'scope>,
    ) {
        let mut next = Some(first);
        while let Some(system) = next.take() {
            // The pool drops the jobs that have not started; this one has, its systems have not.
            if self.panicked.load(Ordering::Relaxed) {
                return;
            }
            let alarm = Alarm(&self.panicked);
            // A turn of its own: what it writes is new for those that come before it when they run
            // the next time.
            let cell = context.cell.turn(self.graph.turns[system]);
            self.systems[system].lock().run(RunContext { cell, ..context });
            std::mem::forget(alarm);
            for &successor in &self.graph.successors[system] {
                // Release: what this system did comes before the successor. Acquire: so does what
                // the others did that the successor waited for.
                if self.waiting_for[successor].fetch_sub(1, Ordering::AcqRel) > 1 {
                    continue;
                }
                if next.is_none() {
                    next = Some(successor);
                } else {
                    scope.spawn(move |scope| self.run_from(successor, context, scope));
                }
            }
        }
    }

    /// The sync point: plays back what the systems recorded, in the order of adding.
    fn sync(&self, world: &mut World) -> RunReport {
        let mut report = RunReport::default();
        for system in &self.systems {
            system.lock().visit_commands(&mut |buffers| {
                let playback = CommandBuffer::play_all(buffers, world);
                report.failures.extend_from_slice(playback.failures());
            });
        }
        report
    }
}

/// Drops the commands of a run that a panic ended, in a system or in playback.
struct Abandoned<'a>(&'a Schedule);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        for system in &self.0.systems {
            system.lock().visit_commands(&mut |buffers| {
                buffers.iter_mut().for_each(CommandBuffer::clear);
            });
        }
    }
}

/// Tells the other threads that a system has panicked, unless it is forgotten.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        // Relaxed: it only keeps others from beginning what would be dropped anyway.
        self.0.store(true, Ordering::Relaxed);
    }
}
