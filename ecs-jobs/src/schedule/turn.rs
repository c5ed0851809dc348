//! The turn of a node in a run.

use formic_ecs::{CommandBuffer, World, WorldCell};

use super::node::{NodeInfo, NodeState, Outcome, Role, SharedConditions};
use super::param::{RunContext, RunData};
use super::system::System;
use crate::panic_slot::{catch, discard};
use crate::pool::Pool;
use crate::static_graph::StaticGraph;
use crate::sync::Ordering;

/// The common parameters of the nodes of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) tick: u64,
    /// Whether to measure the time of each node.
    pub(super) measure: bool,
    /// The part of a measured time that is the clock read, in nanoseconds.
    pub(super) look_ns: u64,
    pub(super) skips_panics: bool,
}

impl Run {
    /// Records the duration of a node's turn, if this run measures.
    pub(super) fn note_cost(&self, graph: &StaticGraph, node: usize, outcome: Outcome, ns: u64) {
        if self.measure {
            graph.record_cost(node, ns.saturating_sub(self.look_ns), outcome == Outcome::Ran);
        }
    }
}

/// The access to the world that a node gets for its turn.
pub(super) enum WorldAccess<'w> {
    /// The access that it has declared.
    Declared(WorldCell<'w>),
    /// The whole world, for an exclusive node.
    Whole(&'w mut World),
}

impl NodeInfo {
    /// Runs the turn of this node and returns the outcome.
    ///
    /// Inlined: it is a good part of the cost of an empty system.
    #[inline(always)]
    pub(super) fn take_turn(
        &self,
        state: &mut NodeState,
        shared_conditions: &SharedConditions,
        world: WorldAccess<'_>,
        pool: &Pool,
        run: Run,
    ) -> Outcome {
        let _span = pool.span(&self.name);
        // Valid until the outcome is known.
        state.last = Some((run.tick, Outcome::Panicked));
        let outcome = if run.skips_panics {
            self.run_or_skip(state, shared_conditions, world, pool, run.tick)
        } else {
            self.run(state, shared_conditions, world, pool, run.tick)
        };
        if let Role::SharedCondition(set) = self.role {
            shared_conditions[set].store(outcome == Outcome::Ran, Ordering::Relaxed);
        }
        state.last = Some((run.tick, outcome));
        outcome
    }

    /// Runs the system, unless a rate or condition prevents it.
    #[inline(always)]
    fn run(
        &self,
        state: &mut NodeState,
        shared_conditions: &SharedConditions,
        world: WorldAccess<'_>,
        pool: &Pool,
        tick: u64,
    ) -> Outcome {
        let slice = self.rate.slice(tick);
        match world {
            WorldAccess::Declared(cell) => {
                let cell = cell.restrict_to(&self.rights);
                let context = &RunData { cell, pool, slice, tick };
                if let Some(skip_reason) = self.skip_reason(state, shared_conditions, context) {
                    return skip_reason;
                }
                if let Some(system) = &mut state.system {
                    system.run(context);
                }
            }
            WorldAccess::Whole(world) => {
                let cell = world.cell().restrict_to(&self.rights);
                let context = &RunData { cell, pool, slice, tick };
                if let Some(skip_reason) = self.skip_reason(state, shared_conditions, context) {
                    return skip_reason;
                }
                if let Some(system) = &mut state.system {
                    system.run_exclusive(world, pool);
                }
            }
        }
        if cfg!(debug_assertions) && !self.records_commands {
            state.system.iter_mut().for_each(|system| check_nothing_recorded(&mut **system));
        }
        Outcome::Ran
    }

    /// Runs the system; a panic ends its turn, and is recorded in the state.
    #[cold]
    #[inline(never)]
    fn run_or_skip(
        &self,
        state: &mut NodeState,
        shared_conditions: &SharedConditions,
        world: WorldAccess<'_>,
        pool: &Pool,
        tick: u64,
    ) -> Outcome {
        catch(|| self.run(state, shared_conditions, world, pool, tick)).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            state.panic = Some(text.unwrap_or("what it said is no text").to_owned());
            discard(payload);
            if let Some(system) = &mut state.system {
                system.visit_commands(&mut clear_quietly);
            }
            Outcome::Panicked
        })
    }

    /// The reason why the node does not run in this tick, if any.
    ///
    /// # Panics
    /// Panics if a condition does.
    #[inline]
    fn skip_reason(
        &self,
        state: &mut NodeState,
        shared_conditions: &SharedConditions,
        context: RunContext<'_>,
    ) -> Option<Outcome> {
        let is_off = |&&set: &&usize| !shared_conditions[set].load(Ordering::Relaxed);
        if let Some(&off) = self.shared_conditions.iter().find(is_off) {
            return Some(Outcome::SharedConditionFalse(place(off)));
        }
        if let Some(ticks) = self.rate.ticks_to_go(context.tick) {
            return Some(Outcome::NotDue(ticks));
        }
        let refused =
            state.conditions.iter_mut().position(|condition| !condition.test.holds(context));
        refused.map(|refused| Outcome::NotWanted(place(refused)))
    }
}

fn place(index: usize) -> u32 {
    u32::try_from(index).expect("a schedule has less than 2^32 conditions")
}

/// Checks that a system that does not declare commands has recorded none: they would never be played.
fn check_nothing_recorded(system: &mut dyn System) {
    let mut is_empty = true;
    system.visit_commands(&mut |buffers| is_empty &= buffers.iter().all(CommandBuffer::is_empty));
    let name = system.name();
    assert!(is_empty, "the system {name} records commands, which its access does not declare");
}

/// Empties buffers while a panic is under way: a payload that panics when it is dropped would abort the
/// process.
pub(super) fn clear_quietly(buffers: &mut [CommandBuffer]) {
    for buffer in buffers {
        if let Err(payload) = catch(|| buffer.clear()) {
            discard(payload);
        }
    }
}
