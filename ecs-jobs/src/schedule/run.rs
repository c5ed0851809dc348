//! Running a schedule.

use std::fmt;

use formic_ecs::{CommandBuffer, CommandFailure, World};

use super::access::EventAging;
use super::error::Ambiguity;
use super::node::{Built, Node, Outcome, Plan, Role, Slot, Switch};
use super::param::RunContext;
use super::stages::Part;
use super::system::System;
use super::timeline::Timeline;
use crate::panic_slot::{catch, discard};
use crate::pool::Pool;
use crate::static_graph::measures;
use crate::sync::Ordering;

/// Systems in an order that is settled, made by a [`ScheduleBuilder`](super::ScheduleBuilder).
///
/// It prints as what a run does: stages of systems that can run at the same time, exclusive systems,
/// and the sync points between them.
pub struct Schedule {
    pub(super) world: u64,
    names: Vec<String>,
    pub(super) nodes: Vec<Node>,
    pub(super) switches: Vec<Switch>,
    pub(super) plan: Plan,
    pub(super) aging: Vec<EventAging>,
    /// The number of the next run.
    pub(super) tick: u64,
    /// For each part of the plan whether it is worth several threads. At first this is unknown, and
    /// others are asked to help.
    shared: Vec<bool>,
    measure_next: bool,
    pub(super) timeline: Timeline,
    /// Whether a system that panics ends its turn only.
    skips_panics: bool,
    /// The run that is being stepped through.
    pub(super) begun: Option<Begun>,
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule").field("systems", &self.names).finish_non_exhaustive()
    }
}

/// What a run has to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Commands that did not apply at a sync point, by sync point and then by the order of the
    /// systems.
    pub failures: Vec<CommandFailure>,
    /// Systems that panicked, in the order of adding; only if the schedule
    /// [skips panics](super::ScheduleBuilder::skip_panics).
    pub panics: Vec<SystemPanic>,
}

/// A system that panicked, in a run that went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPanic {
    /// The system, or the condition of several.
    pub system: String,
    /// What it said, if that is text.
    pub message: String,
}

impl fmt::Display for SystemPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} panicked: {}", self.system, self.message)
    }
}

/// A run that is being stepped through: what comes next, and what it has to tell so far.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) run: Run,
    pub(super) part: usize,
    pub(super) turn: usize,
    pub(super) report: RunReport,
}

/// What the nodes of one run have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) tick: u64,
    /// Whether to take the time of each node.
    pub(super) measure: bool,
    /// What of that is the look at the clock, in nanoseconds.
    pub(super) look_ns: u64,
    skips_panics: bool,
}

impl Schedule {
    pub(super) fn new(world: u64, built: Built, plan: Plan, skips_panics: bool) -> Self {
        let Built { nodes, switches, aging, .. } = built;
        Self {
            world,
            names: nodes.iter().map(|node| node.name.clone()).collect(),
            shared: vec![plan.within_stages.is_worth_a_try(); plan.parts.len()],
            timeline: Timeline::new(),
            skips_panics,
            nodes,
            switches,
            plan,
            aging,
            tick: 0,
            measure_next: false,
            begun: None,
        }
    }

    /// The names of the systems in the order of adding. The condition of several systems counts as
    /// one, before the first of these.
    #[must_use]
    pub fn system_names(&self) -> &[String] {
        &self.names
    }

    /// The number of the next run: how many there were, those that panicked included.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// What a save calls a node: its name, and of several with one name which it is.
    pub(super) fn name_in_save(&self, number: usize) -> String {
        let name = &self.names[number];
        match self.names[..number].iter().filter(|other| *other == name).count() {
            0 => name.clone(),
            earlier => format!("{name} {}", earlier + 1),
        }
    }

    /// Goes on with this run, after a game was loaded.
    pub(super) fn resume_at(&mut self, tick: u64) {
        self.tick = tick;
        self.nodes.iter_mut().for_each(|node| node.slot.get_mut().last = None);
    }

    /// The pairs of systems that touch the same data, and whose order is not declared.
    #[must_use]
    pub fn ambiguities(&self) -> &[Ambiguity] {
        &self.plan.ambiguities
    }

    /// Which systems wait directly for which: pairs of places in
    /// [`system_names`](Self::system_names).
    pub fn steps(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let successors = self.plan.successors.iter().enumerate();
        successors.flat_map(|(from, to)| to.iter().map(move |&to| (from, to)))
    }

    /// Runs every system whose conditions hold, those that do not wait for each other at the same
    /// time, and plays back at the sync points what they recorded.
    ///
    /// Where all that could be won is less than waking another thread costs, everything runs on the
    /// calling thread. Once warm, a run allocates nothing but what systems allocate.
    ///
    /// A run that [`step`](Self::step) has begun is brought to its end, and no other is begun.
    ///
    /// # Panics
    /// Panics if the schedule was built for another world. Where a system or a condition panics:
    /// the first panic goes on here when all systems that had started have ended; those that had
    /// not are not started, and all commands that were not played yet are dropped; unless the schedule
    /// [skips panics](super::ScheduleBuilder::skip_panics). Where a
    /// component panics as a command drops it: what was played before stays, the commands after it
    /// are dropped.
    pub fn run(&mut self, world: &mut World, pool: &Pool) -> RunReport {
        assert_eq!(
            self.world,
            world.id(),
            "a schedule runs only in the world that it was built for"
        );
        if self.begun.is_some() {
            return self.finish_steps(world, pool);
        }
        let run = self.begin_run(pool);
        let guard = Abandoned(self);
        let report = guard.0.run_parts(run, world, pool);
        std::mem::forget(guard);
        self.age_events(world);
        report
    }

    /// Gives the next run its number.
    pub(super) fn begin_run(&mut self, pool: &Pool) -> Run {
        let measure = self.measure_next || measures(self.tick);
        let look_ns = if measure { pool.look_ns() } else { 0 };
        let run = Run { tick: self.tick, measure, look_ns, skips_panics: self.skips_panics };
        self.tick += 1;
        self.measure_next = false;
        self.timeline.begin_run(pool);
        run
    }

    /// What comes at the end of a run.
    pub(super) fn age_events(&self, world: &mut World) {
        for aging in &self.aging {
            (aging.age)(world, aging.writes);
        }
    }

    fn run_parts(&mut self, run: Run, world: &mut World, pool: &Pool) -> RunReport {
        let mut report = RunReport::default();
        for part in 0..self.plan.parts.len() {
            match self.plan.parts[part] {
                Part::Stage(_) => self.run_stage(part, run, world, pool),
                Part::Exclusive(node) => self.run_exclusive(node, run, world, pool),
                Part::Sync(_) => self.sync(part, run, world, pool, &mut report),
            }
        }
        self.report_panics(&mut report);
        report
    }

    /// Names the systems whose panics were skipped.
    pub(super) fn report_panics(&mut self, report: &mut RunReport) {
        if !self.skips_panics {
            return;
        }
        for node in &mut self.nodes {
            let system = &node.name;
            let panic = node.slot.get_mut().panic.take();
            let named = panic.map(|message| SystemPanic { system: system.clone(), message });
            report.panics.extend(named);
        }
    }

    fn run_stage(&mut self, part: usize, run: Run, world: &mut World, pool: &Pool) {
        let start = pool.now_ns();
        if self.shared[part] && pool.worker_count() > 0 {
            self.run_together(part, run, world, pool);
        } else {
            self.run_in_a_row(part, run, world, pool);
        }
        let took = pool.now_ns().saturating_sub(start);
        let Plan { parts, within_stages, .. } = &mut self.plan;
        let Part::Stage(order) = &parts[part] else { return };
        if run.measure {
            self.shared[part] = within_stages.is_worth(order, pool.parallelism());
        } else if !self.shared[part] {
            self.measure_next |= within_stages.is_worth_a_look(order, took);
        }
    }

    /// Runs the nodes of a stage one after the other, on this thread.
    fn run_in_a_row(&mut self, part: usize, run: Run, world: &mut World, pool: &Pool) {
        let Self { nodes, switches, plan, timeline, .. } = self;
        let Part::Stage(order) = &plan.parts[part] else { return };
        let cell = world.cell_with_versions(order.len());
        let lane = pool.worker_count();
        let mut before = if run.measure || Timeline::IS_KEPT { pool.now_ns() } else { 0 };
        for (turn, &number) in order.iter().enumerate() {
            let node = &mut nodes[number];
            let context = RunContext {
                cell: cell.turn(turn).restrict_to(&node.rights),
                pool,
                slice: node.rate.slice(run.tick),
                tick: run.tick,
            };
            let slot = node.slot.get_mut();
            let wanted = (&*node.switches, node.rate);
            let span = pool.span(&node.name);
            let outcome = take_turn(slot, node.role, wanted, switches, context, run);
            drop(span);
            if run.measure || Timeline::IS_KEPT {
                let now = pool.now_ns();
                timeline.note_node(lane, number, outcome, before, now);
                if run.measure {
                    let took = now.saturating_sub(before).saturating_sub(run.look_ns);
                    plan.within_stages.took(number, took, outcome == Outcome::Ran);
                }
                before = now;
            }
        }
    }

    pub(super) fn run_exclusive(
        &mut self,
        number: usize,
        run: Run,
        world: &mut World,
        pool: &Pool,
    ) {
        let Self { nodes, switches, timeline, .. } = self;
        let Node { name, slot, rights, role, switches: wanted, rate, .. } = &mut nodes[number];
        let slot = slot.get_mut();
        let before = pool.now_ns();
        let span = pool.span(name);
        slot.last = Some((run.tick, Outcome::Panicked));
        let outcome = guarded(slot, run, |slot| {
            let context = RunContext {
                cell: world.cell().restrict_to(rights),
                pool,
                slice: rate.slice(run.tick),
                tick: run.tick,
            };
            let hindrance = slot.hindrance((wanted, *rate), switches, &context, run.tick);
            let outcome = hindrance.unwrap_or(Outcome::Ran);
            if let (Outcome::Ran, Role::Exclusive(_), Some(system)) =
                (outcome, *role, &mut slot.system)
            {
                system.run_exclusive(world, pool);
            }
            outcome
        });
        drop(span);
        slot.last = Some((run.tick, outcome));
        let now = pool.now_ns();
        timeline.note_node(pool.worker_count(), number, outcome, before, now);
    }

    /// A sync point: plays back what the systems before it recorded, in the order of adding.
    pub(super) fn sync(
        &mut self,
        part: usize,
        run: Run,
        world: &mut World,
        pool: &Pool,
        report: &mut RunReport,
    ) {
        let Self { nodes, plan, timeline, .. } = self;
        let Part::Sync(sync) = &plan.parts[part] else { return };
        let before = if Timeline::IS_KEPT { pool.now_ns() } else { 0 };
        for &node in &sync.plays {
            let slot = nodes[node].slot.get_mut();
            if slot.last != Some((run.tick, Outcome::Ran)) {
                continue;
            }
            if let Some(system) = &mut slot.system {
                system.visit_commands(&mut |buffers| {
                    let playback = CommandBuffer::play_all(buffers, world);
                    report.failures.extend_from_slice(playback.failures());
                });
            }
        }
        if Timeline::IS_KEPT {
            let now = pool.now_ns();
            timeline.note_sync(pool.worker_count(), before, now);
        }
    }
}

/// The turn of a node that is not exclusive; returns what came of it.
pub(super) fn take_turn(
    slot: &mut Slot,
    role: Role,
    node: (&[usize], super::rate::Rate),
    switches: &[Switch],
    context: RunContext<'_>,
    run: Run,
) -> Outcome {
    // Until it is known better.
    slot.last = Some((run.tick, Outcome::Panicked));
    let outcome = guarded(slot, run, |slot| {
        let outcome = slot.hindrance(node, switches, &context, run.tick).unwrap_or(Outcome::Ran);
        if let (Outcome::Ran, Role::System(_), Some(system)) = (outcome, role, &mut slot.system) {
            system.run(context);
            if cfg!(debug_assertions) && !slot.records_commands {
                check_nothing_recorded(&mut **system);
            }
        }
        outcome
    });
    if let Role::Switch(switch) = role {
        switches[switch].is_on.store(outcome == Outcome::Ran, Ordering::Relaxed);
    }
    slot.last = Some((run.tick, outcome));
    outcome
}

/// Takes a turn; if the run goes on after panics, one ends the turn and is noted in the slot.
fn guarded(slot: &mut Slot, run: Run, turn: impl FnOnce(&mut Slot) -> Outcome) -> Outcome {
    if !run.skips_panics {
        return turn(slot);
    }
    catch(|| turn(&mut *slot)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        slot.panic = Some(text.unwrap_or("what it said is no text").to_owned());
        discard(payload);
        if let Some(system) = &mut slot.system {
            system.visit_commands(&mut clear_quietly);
        }
        Outcome::Panicked
    })
}

/// Commands of a system that does not say that it records any would never be played.
fn check_nothing_recorded(system: &mut dyn System) {
    let mut is_empty = true;
    system.visit_commands(&mut |buffers| is_empty &= buffers.iter().all(CommandBuffer::is_empty));
    let name = system.name();
    assert!(is_empty, "the system {name} records commands, which its access does not declare");
}

/// Drops the commands of a run that a panic ended, in a system or in playback.
pub(super) struct Abandoned<'a>(pub(super) &'a mut Schedule);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let slots = self.0.nodes.iter_mut().map(|node| node.slot.get_mut());
        for system in slots.filter_map(|slot| slot.system.as_mut()) {
            system.visit_commands(&mut clear_quietly);
        }
    }
}

/// Empties buffers while a panic is under way: a payload that panics as well when it is dropped
/// would abort the process.
pub(super) fn clear_quietly(buffers: &mut [CommandBuffer]) {
    for buffer in buffers {
        if let Err(payload) = catch(|| buffer.clear()) {
            discard(payload);
        }
    }
}
