//! Running one stage on several threads.

use ecs_core::World;

use super::cost::{Calls, Sharing};
use super::param::RunContext;
use super::run::{Run, Schedule, take_turn};
use super::stages::Part;
use super::timeline::Timeline;
use crate::numbered::Crew;
use crate::pool::Pool;
use crate::sync::{AtomicBool, Ordering};

impl Schedule {
    /// Runs the nodes of a stage on all threads that are worth it: each as soon as those that it
    /// waits for have ended.
    pub(super) fn run_together(&self, part: usize, run: Run, world: &mut World, pool: &Pool) {
        let Part::Stage(order) = &self.plan.parts[part] else { return };
        for &node in order {
            // Relaxed: the queue hands it to the other threads.
            self.waiting_for[node].store(self.plan.stage_waits[node], Ordering::Relaxed);
        }
        self.panicked.store(false, Ordering::Relaxed);
        let context = RunContext::new(world.cell_with_turns(order.len()), pool, run.tick);
        let start = |crew: &Crew<'_>| {
            let mut calls = Calls::default();
            let ready = order.iter().filter(|&&node| self.plan.stage_waits[node] == 0);
            // The first is this thread's own.
            for (place, &node) in ready.enumerate() {
                crew.add(node);
                if place > 0 {
                    calls.add(self.nodes[node].cost_ns());
                }
            }
            self.call(crew, calls, pool);
        };
        pool.run_numbered(&self.queue, start, |lane, node, crew| {
            self.run_from(node, lane, run, context, crew);
        });
    }

    /// Runs a node, and then those that waited for nothing else: the one that takes the shortest
    /// time here, the others wherever there is a thread.
    fn run_from(
        &self,
        first: usize,
        lane: usize,
        run: Run,
        context: RunContext<'_>,
        crew: &Crew<'_>,
    ) {
        let mut next = Some(first);
        while let Some(number) = next.take() {
            // The pool drops the jobs that have not started; this one has, its systems have not.
            if self.panicked.load(Ordering::Relaxed) {
                return;
            }
            let alarm = Alarm(&self.panicked);
            self.run_node(number, lane, run, context);
            std::mem::forget(alarm);
            let mut calls = Calls::default();
            for &successor in &self.plan.stage_successors[number] {
                // Release: what this node did comes before the successor. Acquire: so does what
                // the others did that the successor waited for.
                if self.waiting_for[successor].fetch_sub(1, Ordering::AcqRel) > 1 {
                    continue;
                }
                let cost = |node: usize| self.nodes[node].cost_ns();
                let other = match next.replace(successor) {
                    None => continue,
                    Some(known) if cost(known) <= cost(successor) => {
                        next = Some(known);
                        successor
                    }
                    Some(known) => known,
                };
                crew.add(other);
                calls.add(cost(other));
            }
            self.call(crew, calls, context.pool);
        }
    }

    /// Wakes as many threads as there is work for that is worth it. What nobody is woken for is
    /// run by a thread that is awake.
    fn call(&self, crew: &Crew<'_>, calls: Calls, pool: &Pool) {
        let wanted = match self.sharing {
            Sharing::Always => pool.worker_count(),
            _ => calls.wanted().min(pool.worker_count()),
        };
        if wanted > 0 {
            crew.call(wanted);
        }
    }

    fn run_node(&self, number: usize, lane: usize, run: Run, context: RunContext<'_>) {
        let node = &self.nodes[number];
        let clock = run.measure || Timeline::IS_KEPT;
        let before = if clock { self.timeline.now_ns() } else { 0 };
        // A turn of its own: what it writes is new for those that come before it when they run
        // the next time.
        let cell = context.cell.turn(self.plan.turns[number]).limited_to(&node.rights);
        let context = RunContext { cell, slice: node.rate.slice(run.tick), ..context };
        let mut slot = node.slot.lock();
        let wanted = (&*node.switches, node.rate);
        let outcome = take_turn(&mut slot, node.role, wanted, &self.switches, context, run.tick);
        drop(slot);
        if clock {
            let now = self.timeline.now_ns();
            self.timeline.note_node(lane, number, outcome, before, now);
            if run.measure {
                node.took(now - before, outcome);
            }
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
