//! The system parameter that updates all agents that follow state machines.

use formic_ecs::{Buffer, EnabledMut, Entity, Present, QueryData, With};
use formic_jobs::{Query, SystemParam};

use super::agent::{FsmAgent, StateChanged, StateMemory};
use super::machine::{Machine, NONE};
use super::record::{note_first, note_refusal};
use super::situation::Situation;
use super::update::{Update, choose};
use crate::action::{Body, MindSystem, Reported, Switching};
use crate::explain::{DecisionRecorder, Engine};

type Row<Q> = (
    Entity,
    &'static mut FsmAgent,
    &'static mut Body,
    &'static mut Buffer<StateMemory>,
    EnabledMut<StateChanged>,
    Present<&'static mut StateChanged>,
    EnabledMut<Switching>,
    Q,
);
/// Agents with actions that have ended. The machine reads the ends from the body, and clears the flag
/// here.
type EndedActions<'a> = Query<'a, EnabledMut<Reported>, (With<Reported>, With<FsmAgent>)>;
/// Agents that changed state in the previous update.
type Changed<'a> = Query<'a, EnabledMut<StateChanged>, (With<StateChanged>, With<FsmAgent>)>;
type Parts<'a, Q> = (Query<'a, Row<Q>>, EndedActions<'a>, Changed<'a>, DecisionRecorder<'a>);

/// The agents that follow machines and have the components that `Q` asks for: the argument of a system
/// that updates their machines.
///
/// The [module documentation](super) has a complete example.
#[derive(SystemParam)]
pub struct Machines<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
    _mind: MindSystem<FsmAgent, Row<()>>,
}

debug_fields!([Q: QueryData] Machines<'_, Q>:);

impl<Q: QueryData + 'static> Machines<'_, Q> {
    /// Updates the machine once for each of these agents, on all threads of the pool. An update takes the
    /// most important transition that can be taken, if there is one. An agent in a state that the machine
    /// does not have, because another machine was saved, enters the initial state.
    ///
    /// # Panics
    /// Panics if an agent's body has fewer actions than the machine uses.
    pub fn update(&mut self, machine: &Machine<Q>) {
        let (query, ended, changed, recorder) = &mut self.parts;
        forget(ended, changed);
        let asks_all = recorder.log().is_some_and(|log| log.awaits_first(Engine::Machine));
        query.par_for_each(|row| step(machine, row, recorder, asks_all));
    }
}

/// Clears the flags of the previous update. It is a separate function, compiled once for all machines.
fn forget(ended: &mut EndedActions<'_>, changed: &mut Changed<'_>) {
    ended.par_for_each(|mut reported| _ = reported.set(false));
    changed.par_for_each(|mut is_changed| _ = is_changed.set(false));
}

type RowItem<'a, Q> = <Row<Q> as QueryData>::Item<'a>;

/// Updates one agent. Whether the agent is watched is only looked up if it changes state, or if some
/// watched agent has no record yet.
#[inline(always)]
fn step<Q: QueryData>(
    machine: &Machine<Q>,
    (entity, agent, body, memory, is_changed, changed, switching, item): RowItem<'_, Q>,
    recorder: &DecisionRecorder<'_>,
    asks_all: bool,
) {
    let mut chosen = None;
    // A state that the machine does not have is one of a save that another machine has made.
    if usize::from(agent.first.state) < machine.states.len() {
        agent.first.updates = agent.first.updates.saturating_add(1);
        let is_refused;
        (chosen, is_refused) = choose(machine, agent, body, memory, &item);
        if is_refused {
            agent.first.refused = agent.first.refused.saturating_add(1);
            if let Some(watch) = recorder.watch(entity).filter(|_| chosen.is_none()) {
                note_refusal(watch, machine, agent);
            }
        }
        if chosen.is_none() {
            if let Some(watch) = asks_all.then(|| recorder.watch(entity)).flatten() {
                note_first(watch, &Situation { machine, agent, body, memory });
            }
            agent.forget_events();
            return;
        }
    }
    let row = (entity, agent, body, memory, is_changed, changed, switching, item);
    change(machine, row, chosen, recorder);
}

/// Takes a transition, or enters the initial state.
#[inline(never)]
fn change<Q: QueryData>(
    machine: &Machine<Q>,
    (entity, agent, body, memory, mut is_changed, changed, mut switching, mut item): RowItem<'_, Q>,
    chosen: Option<usize>,
    recorder: &DecisionRecorder<'_>,
) {
    if chosen.is_none() && agent.first.state != NONE {
        // What it does in a state of another machine is over.
        body.halt_all();
        agent.first.state = NONE;
    }
    let before = agent.first.state;
    let mut update = Update { machine, agent, body, memory, item: &mut item };
    update.change(chosen, recorder.watch(entity));
    *changed = StateChanged { from: before, to: agent.first.state };
    is_changed.set(true);
    if body.is_switching() {
        switching.set(true);
    }
}
