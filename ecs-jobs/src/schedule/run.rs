//! Running a schedule.

use formic_ecs::{CommandBuffer, CommandFailure, DeclaredAccess, World};

use super::access::EventAging;
use super::error::Ambiguity;
use super::node::{Built, Node, Outcome, Plan, Role, SharedConditions};
use super::stages::Part;
use super::timeline::Timeline;
use super::turn::{Run, WorldAccess, clear_quietly};
use crate::panic_slot::{catch, discard};
use crate::pool::Pool;
use crate::static_graph::{StaticGraph, measures};

/// A compiled schedule: systems in a fixed order, made by a [`ScheduleBuilder`](super::ScheduleBuilder).
///
/// It prints as the plan of a run: stages of systems that can run in parallel, exclusive systems, and the
/// sync points between them.
pub struct Schedule {
    pub(super) world: u64,
    names: Vec<String>,
    pub(super) nodes: Vec<Node>,
    shared_conditions: SharedConditions,
    pub(super) plan: Plan,
    /// For each part of the plan, the combined access of its systems.
    declared: Vec<DeclaredAccess>,
    pub(super) aging: Vec<EventAging>,
    /// The number of the next run.
    pub(super) tick: u64,
    /// The number of the first run since the schedule was built or a game was loaded.
    pub(super) first_tick: u64,
    /// For each part of the plan, whether several threads are worth it. At first this is unknown, and
    /// other threads are asked to help.
    shared: Vec<bool>,
    measure_next: bool,
    pub(super) timeline: Timeline,
    /// Whether a panicking system ends only its own turn.
    skips_panics: bool,
    /// The run that is being stepped through, if any.
    pub(super) begun: Option<Begun>,
}

debug_fields!([] Schedule:; systems = |it| &it.names);

/// The report of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Commands that failed at a sync point, by sync point and then by the order of the systems.
    pub failures: Vec<CommandFailure>,
    /// Systems that panicked, in the order of adding; only if the schedule
    /// [skips panics](super::ScheduleBuilder::skip_panics).
    pub panics: Vec<SystemPanic>,
}

/// A system that panicked, in a run that went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPanic {
    /// The system, or the condition of several systems.
    pub system: String,
    /// The message, if the payload is text.
    pub message: String,
}

display_text! { SystemPanic:
    Self { system, message } => "{system} panicked: {message}";
}

/// The state of a run that is being stepped through: its next step, and its report so far.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) run: Run,
    pub(super) part: usize,
    pub(super) turn: usize,
    pub(super) report: RunReport,
}

impl Schedule {
    pub(super) fn new(world: u64, built: Built, plan: Plan, skips_panics: bool) -> Self {
        let Built { nodes, shared_conditions, aging, .. } = built;
        let declared = plan.parts.iter().map(|part| {
            let mut declared = DeclaredAccess::default();
            part.nodes().iter().for_each(|&node| declared.merge(&nodes[node].info.rights));
            declared
        });
        Self {
            world,
            declared: declared.collect(),
            names: nodes.iter().map(|node| node.info.name.clone()).collect(),
            shared: vec![plan.within_stages.is_worth_a_try(); plan.parts.len()],
            timeline: Timeline::new(),
            skips_panics,
            nodes,
            shared_conditions,
            plan,
            aging,
            tick: 0,
            first_tick: 0,
            measure_next: false,
            begun: None,
        }
    }

    /// Returns the names of the systems in the order of adding. A condition of several systems has an
    /// entry of its own, before the first of these.
    #[must_use]
    pub fn system_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of the next run, which is the number of runs so far, including those that
    /// panicked.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// The name of a node in a save: its name, and an index among nodes with the same name.
    pub(super) fn name_in_save(&self, number: usize) -> String {
        let name = &self.names[number];
        match self.names[..number].iter().filter(|other| *other == name).count() {
            0 => name.clone(),
            earlier => format!("{name} {}", earlier + 1),
        }
    }

    /// Continues with this run, after a game was loaded.
    pub(super) fn resume_at(&mut self, tick: u64) {
        (self.tick, self.first_tick) = (tick, tick);
        self.nodes.iter_mut().for_each(|node| node.state.get_mut().last = None);
    }

    /// Returns the pairs of systems with conflicting accesses and no declared order.
    #[must_use]
    pub fn ambiguities(&self) -> &[Ambiguity] {
        &self.plan.ambiguities
    }

    /// Returns the direct dependencies between systems, as pairs of indices into
    /// [`system_names`](Self::system_names).
    pub fn steps(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let successors = self.plan.successors.iter().enumerate();
        successors.flat_map(|(from, to)| to.iter().map(move |&to| (from, to)))
    }

    /// Runs every system whose conditions hold, independent ones in parallel, and plays back their
    /// commands at the sync points.
    ///
    /// If parallelism would save less than waking another thread costs, everything runs on the calling
    /// thread. Once warm, a run allocates nothing except what systems allocate.
    ///
    /// If [`step`](Self::step) has begun a run, this completes it and begins no other.
    ///
    /// # Panics
    /// Panics if the schedule was built for another world.
    ///
    /// Panics if a system or a condition panics, with the first panic, after all started systems have
    /// ended. Systems that have not started are not run, and commands not yet played are dropped; events
    /// age as in any run. A schedule that [skips panics](super::ScheduleBuilder::skip_panics) goes on
    /// instead.
    ///
    /// Panics if a component panics when a command drops it: commands played before stay applied, and
    /// those after it are dropped.
    pub fn run(&mut self, world: &mut World, pool: &Pool) -> RunReport {
        let mut begun = self.begin_or_go_on(world, pool);
        let guard = Abandoned(self, &mut *world);
        // The rest of a stage that was begun by steps.
        while begun.turn > 0 {
            guard.0.take_step(&mut begun, guard.1, pool);
        }
        while begun.part < guard.0.plan.parts.len() {
            match guard.0.plan.parts[begun.part] {
                Part::Stage(_) => guard.0.run_stage(begun.part, begun.run, guard.1, pool),
                Part::Exclusive(node) => guard.0.run_alone(node, begun.run, guard.1, pool),
                Part::Sync(_) => guard.0.sync(&mut begun, guard.1, pool),
            }
            begun.part += 1;
        }
        std::mem::forget(guard);
        self.end_run(begun, world)
    }

    /// Takes the run that is being stepped through, or begins one. `self.begun` is `None` until it is put
    /// back.
    pub(super) fn begin_or_go_on(&mut self, world: &World, pool: &Pool) -> Begun {
        assert_eq!(
            self.world,
            world.id(),
            "a schedule runs only in the world that it was built for"
        );
        // The pool may differ from that of earlier steps.
        self.timeline.prepare(pool);
        self.begun.take().unwrap_or_else(|| {
            let measure = std::mem::take(&mut self.measure_next) || measures(self.tick);
            let look_ns = if measure { pool.shared().clock.look_ns() } else { 0 };
            let skips_panics = self.skips_panics;
            let run = Run { tick: self.tick, measure, look_ns, skips_panics };
            self.tick += 1;
            self.timeline.begin_run(pool, run.tick);
            Begun { run, part: 0, turn: 0, report: RunReport::default() }
        })
    }

    /// Records the names of systems whose panics were skipped, and ages events.
    pub(super) fn end_run(&mut self, begun: Begun, world: &mut World) -> RunReport {
        let mut report = begun.report;
        let nodes = self.nodes.iter_mut().filter(|_| self.skips_panics);
        for Node { info, state } in nodes {
            let panic = state.get_mut().panic.take();
            let named = panic.map(|message| SystemPanic { system: info.name.clone(), message });
            report.panics.extend(named);
        }
        self.age_events(world);
        report
    }

    fn age_events(&self, world: &mut World) {
        self.aging.iter().for_each(|aging| (aging.age)(world, aging.writes));
    }

    /// Runs the nodes of a stage: on as many threads as are worth it, each as soon as its dependencies
    /// have ended, or one after the other on this thread.
    fn run_stage(&mut self, part: usize, run: Run, world: &mut World, pool: &Pool) {
        let Self { nodes, shared_conditions, plan, declared, timeline, shared, .. } = self;
        let Plan { parts, within_stages, turns, .. } = plan;
        let Part::Stage(order) = &parts[part] else { return };
        let has_clock = run.measure || Timeline::IS_KEPT;
        let clock_ns = || if has_clock { pool.now_ns() } else { 0 };
        let run_nodes = |graph: &StaticGraph, is_shared| {
            let note = |slot, number, outcome, before| {
                let now = pool.now_ns();
                timeline.note_node(slot, number, outcome, [before, now]);
                run.note_cost(graph, number, outcome, now.saturating_sub(before));
                now
            };
            if is_shared {
                let cell = world.cell_for(&declared[part], order.len());
                let run_node = |slot: usize, number: usize| {
                    let before = clock_ns();
                    let Node { info, state } = &nodes[number];
                    // A version slot of its own: its writes count as new for the systems before it when
                    // they run the next time.
                    let part = WorldAccess::Declared(cell.version_slot(turns[number]));
                    let mut state = state.lock();
                    let outcome = info.take_turn(&mut state, shared_conditions, part, pool, run);
                    if has_clock {
                        note(slot, number, outcome, before);
                    }
                };
                return graph.run_together(pool.shared(), order, run_node);
            }
            let slot = pool.worker_count();
            let mut cells = world.serial_cells_for(&declared[part], order.len());
            let mut before = clock_ns();
            for (place, &number) in order.iter().enumerate() {
                let Node { info, state } = &mut nodes[number];
                let outcome = cells.lend(place, &info.rights, |cell| {
                    let part = WorldAccess::Declared(cell);
                    info.take_turn(state.get_mut(), shared_conditions, part, pool, run)
                });
                if has_clock {
                    before = note(slot, number, outcome, before);
                }
            }
        };
        let decision = (run.measure, &mut shared[part]);
        self.measure_next |= within_stages.run(pool.shared(), order, decision, run_nodes);
    }

    /// Runs the turn of a node that has exclusive access to the world.
    pub(super) fn run_alone(&mut self, number: usize, run: Run, world: &mut World, pool: &Pool) {
        let before = pool.now_ns();
        let Node { info, state } = &mut self.nodes[number];
        let access = match info.role {
            Role::Exclusive(_) => WorldAccess::Whole(world),
            Role::System(_) | Role::SharedCondition(_) => WorldAccess::Declared(world.cell()),
        };
        let outcome = info.take_turn(state.get_mut(), &self.shared_conditions, access, pool, run);
        let now = pool.now_ns();
        self.timeline.note_node(pool.worker_count(), number, outcome, [before, now]);
    }

    /// Executes a sync point: plays back the commands of the systems before it, in the order of adding.
    pub(super) fn sync(&mut self, begun: &mut Begun, world: &mut World, pool: &Pool) {
        let Self { nodes, plan, timeline, .. } = self;
        let Part::Sync(sync) = &plan.parts[begun.part] else { return };
        let before = if Timeline::IS_KEPT { pool.now_ns() } else { 0 };
        for &node in &sync.plays {
            let state = nodes[node].state.get_mut();
            if state.last != Some((begun.run.tick, Outcome::Ran)) {
                continue;
            }
            if let Some(system) = &mut state.system {
                system.visit_commands(&mut |buffers| {
                    let playback = CommandBuffer::play_all(buffers, world);
                    begun.report.failures.extend_from_slice(playback.failures());
                });
            }
        }
        if Timeline::IS_KEPT {
            let now = pool.now_ns();
            timeline.note(pool.worker_count(), None, [before, now]);
        }
    }
}

/// Ends a run that a panic has ended, in a system or in playback: drops its commands, and the messages of
/// panics that it skipped, which no report will have, and ages events.
pub(super) struct Abandoned<'a>(pub(super) &'a mut Schedule, pub(super) &'a mut World);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let Self(schedule, world) = self;
        for state in schedule.nodes.iter_mut().map(|node| node.state.get_mut()) {
            state.panic = None;
            if let Some(system) = &mut state.system {
                system.visit_commands(&mut clear_quietly);
            }
        }
        catch(|| schedule.age_events(world)).unwrap_or_else(discard);
    }
}
