//! Running one stage on several threads.

use formic_ecs::World;

use super::node::Outcome;
use super::param::RunContext;
use super::run::{Run, Schedule, take_turn};
use super::stages::Part;
use super::timeline::Timeline;
use crate::panic_slot::catch;
use crate::pool::Pool;

impl Schedule {
    /// Runs the nodes of a stage on all threads that are worth it: each as soon as those that it
    /// waits for have ended.
    pub(super) fn run_together(&self, part: usize, run: Run, world: &mut World, pool: &Pool) {
        let Part::Stage(order) = &self.plan.parts[part] else { return };
        let context = RunContext::new(world.cell_with_versions(order.len()), pool, run.tick);
        pool.run_static_graph(&self.plan.within_stages, order, |lane, node| {
            catch(|| self.run_node(node, lane, run, context))
        });
    }

    fn run_node(&self, number: usize, lane: usize, run: Run, context: RunContext<'_>) {
        let node = &self.nodes[number];
        let clock = run.measure || Timeline::IS_KEPT;
        let before = if clock { context.pool.now_ns() } else { 0 };
        // A turn of its own: what it writes is new for those that come before it when they run
        // the next time.
        let cell = context.cell.turn(self.plan.turns[number]).restrict_to(&node.rights);
        let context = RunContext { cell, slice: node.rate.slice(run.tick), ..context };
        let mut slot = node.slot.lock();
        let wanted = (&*node.switches, node.rate);
        let span = context.pool.span(&node.name);
        let outcome = take_turn(&mut slot, node.role, wanted, &self.switches, context, run);
        drop((span, slot));
        if clock {
            let now = context.pool.now_ns();
            self.timeline.note_node(lane, number, outcome, before, now);
            if run.measure {
                let has_run = outcome == Outcome::Ran;
                let took = now.saturating_sub(before).saturating_sub(run.look_ns);
                self.plan.within_stages.took(number, took, has_run);
            }
        }
    }
}
