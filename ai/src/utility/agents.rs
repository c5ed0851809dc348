//! The system parameter that decides for all utility agents.

use bytemuck::TransparentWrapper;
use formic_ecs::{Buffer, EnabledBitMut, EnabledMut, Entity, ParallelScratch, QueryData, With};
use formic_jobs::{Pool, Query, SystemParam};

use super::agent::{Cooldown, NONE, UtilityAgent};
use super::considerations::BATCH;
use super::curve::unit_or_nan;
use super::reasoner::{Reasoner, Select};
use super::record::Choice;
use crate::action::{Body, MindSystem, Reported, Switching};
use crate::bits::set_bits;
use crate::explain::{DecisionLog, DecisionRecorder, Engine, Stopped};

type Row<Q> = (
    Entity,
    &'static mut UtilityAgent,
    &'static mut Body,
    Option<&'static mut Buffer<Cooldown>>,
    EnabledMut<Switching>,
    Q,
);
/// Agents with actions that have ended. They are few, and found by their enabled bits: checking every
/// agent would take half as long as its decision.
type EndedActions<'a> =
    Query<'a, (Entity, EnabledMut<Reported>), (With<Reported>, With<UtilityAgent>)>;
type Parts<'a, Q> = (Query<'a, Row<Q>>, EndedActions<'a>, DecisionRecorder<'a>);

type RowItem<'a, Q> = <Row<Q> as QueryData>::Item<'a>;

/// The agents that decide by utility and have the components that `Q` asks for: the argument of a system
/// that decides for them. With `(&Needs, &Awake)` those whose `Awake` is disabled do not decide.
///
/// The [module documentation](super) has a complete example.
#[derive(SystemParam)]
pub struct UtilityAgents<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
    _mind: MindSystem<UtilityAgent, Row<()>>,
}

debug_fields!([Q: QueryData] UtilityAgents<'_, Q>:);

impl<Q: QueryData + 'static> UtilityAgents<'_, Q> {
    /// Decides for all of these agents, on all threads of the pool. `inputs` returns the inputs of an
    /// agent, in the order of their [`Input`](super::Input)s.
    ///
    /// An option whose action has ended is over, and competes like the others. If another option is
    /// chosen, the running action is halted and the other one begins.
    ///
    /// # Panics
    /// Panics if there are fewer inputs than the reasoner needs.
    pub fn decide<const N: usize>(
        &mut self,
        reasoner: &Reasoner,
        inputs: impl Fn(Q::Item<'_>) -> [f32; N] + Sync,
    ) {
        assert!(
            N >= reasoner.input_count(),
            "the reasoner asks for {} inputs, and is given {N}",
            reasoner.input_count()
        );
        let (all, ended, recorder) = &mut self.parts;
        let (log, tick) = (recorder.log(), recorder.tick());
        ended.for_each(|(entity, mut reported)| {
            if let Ok((_, agent, body, cooldowns, ..)) = all.get(entity) {
                reported.set(false);
                let cooldowns = cooldowns.map_or(&mut [][..], |buffer| &mut buffer[..]);
                let ended = agent.take_end(reasoner, body, cooldowns);
                if let (Some(log), Some((option, result))) = (log, ended) {
                    let name = || reasoner.options[option].name.clone();
                    log.note_end(entity, || Stopped::new(name(), result.into()));
                }
            }
        });
        let (query, scratch, pool) = all.walk();
        let room = (scratch, pool);
        let asks_all = log.is_some_and(|log| log.awaits_first(Engine::Utility));
        match log.map(|log| (log, tick, asks_all)) {
            None => decide_all::<Q, false, N>(reasoner, query, room, &inputs, None),
            log => decide_all::<Q, true, N>(reasoner, query, room, &inputs, log),
        }
    }
}

/// The log, the tick, and whether agents that keep their option are looked up as well.
type Log<'a> = (&'a DecisionLog, u64, bool);

fn decide_all<Q: QueryData, const IS_LOGGED: bool, const N: usize>(
    reasoner: &Reasoner,
    mut query: formic_ecs::Query<'_, Row<Q>>,
    (scratch, pool): (&mut ParallelScratch, &Pool),
    inputs: &(impl Fn(Q::Item<'_>) -> [f32; N] + Sync),
    log: Option<Log<'_>>,
) {
    let is_in_batches = reasoner.select == Select::Highest && !reasoner.has_cooldowns();
    let chunks = query.parallel(scratch);
    pool.for_each_range(chunks.batch_count(), |range| {
        if !is_in_batches {
            chunks.take_batches(range, |_, rows| {
                rows.for_each(|row| decide_one(reasoner, row, inputs, log));
            });
            return;
        }
        let mut batch = Batch::<IS_LOGGED, N>::new(reasoner, log);
        chunks.take_batches(range, |_, rows| {
            rows.for_each(|(entity, agent, body, _, switching, data)| {
                batch.push(entity, (agent, body, switching), inputs(data));
            });
        });
        batch.decide();
    });
}

/// An agent that waits until its batch is full.
type Waiting<'a> = (&'a mut UtilityAgent, &'a mut Body, EnabledBitMut<'a>);

/// Agents that are decided together. Their inputs are stored by input, not by agent.
struct Batch<'a, const IS_LOGGED: bool, const N: usize> {
    reasoner: &'a Reasoner,
    log: Option<Log<'a>>,
    agents: Vec<Waiting<'a>>,
    /// The agents' entities, filled only if there is a log.
    entities: Vec<Entity>,
    inputs: [[f32; BATCH]; N],
    current: [u32; BATCH],
}

impl<'a, const IS_LOGGED: bool, const N: usize> Batch<'a, IS_LOGGED, N> {
    fn new(reasoner: &'a Reasoner, log: Option<Log<'a>>) -> Self {
        let agents = Vec::with_capacity(BATCH);
        let entities = Vec::new();
        Self { reasoner, log, agents, entities, inputs: [[0.0; BATCH]; N], current: [NONE; BATCH] }
    }

    #[inline(always)]
    fn push(&mut self, entity: Entity, agent: Waiting<'a>, inputs: [f32; N]) {
        let place = self.agents.len() % BATCH;
        self.inputs.iter_mut().zip(inputs).for_each(|(all, input)| all[place] = input);
        self.current[place] = agent.0.current;
        if IS_LOGGED {
            self.entities.push(entity);
        }
        self.agents.push(agent);
        if self.agents.len() == BATCH {
            self.decide();
        }
    }

    /// Decides for all agents of the batch.
    #[inline(never)]
    fn decide(&mut self) {
        let Self { reasoner, log, agents, entities, inputs, current } = self;
        let mut units = [[0.0; BATCH]; N];
        for (units, inputs) in units.iter_mut().zip(inputs.iter()) {
            units.iter_mut().zip(inputs).for_each(|(to, &input)| *to = unit_or_nan(input));
        }
        let choices = reasoner.highest_each(inputs, &units, current, NONE);
        // Most agents keep their option. An agent without an option may still have an end to record.
        let mut news = 0_u64;
        for (place, (&choice, &before)) in choices.iter().zip(&*current).enumerate() {
            let is_news = (choice != before) | (choice == NONE);
            news |= u64::from(is_news) << place;
        }
        // Entries beyond the last agent are left over from an earlier batch.
        let behind = u64::MAX.checked_shl(u32::try_from(agents.len()).unwrap_or(u64::BITS));
        let all = !behind.unwrap_or(0);
        news &= all;
        if let Some((log, tick, asks_all)) = *log {
            // A separate loop over what is needed to find the watched agents, so that the memory accesses
            // overlap.
            let mut watched = 0_u64;
            for place in set_bits(if asks_all { all } else { news }) {
                let is_watched = log.is_watched(entities[place]);
                watched |= u64::from(is_watched) << place;
            }
            for place in set_bits(watched) {
                let (entity, agent) = (entities[place], &*agents[place].0);
                let inputs = inputs.map(|all| all[place]);
                let choice = chosen(choices[place]);
                note_choice(reasoner, (log, tick), entity, agent, choice, &inputs, &[]);
            }
        }
        for place in set_bits(news) {
            if choices[place] != current[place] {
                let (agent, body, switching) = &mut agents[place];
                agent.switch(chosen(choices[place]), reasoner, body, &mut []);
                switching.set(true);
            }
        }
        agents.clear();
        entities.clear();
    }
}

fn chosen(choice: u32) -> Option<usize> {
    (choice != NONE).then_some(choice as usize)
}

/// Decides for a single agent.
fn decide_one<Q: QueryData, const N: usize>(
    reasoner: &Reasoner,
    (entity, agent, body, cooldowns, mut switching, data): RowItem<'_, Q>,
    inputs: &(impl Fn(Q::Item<'_>) -> [f32; N] + Sync),
    log: Option<Log<'_>>,
) {
    let inputs = inputs(data);
    let cooldowns = cooldowns.map_or(&mut [][..], |buffer| &mut buffer[..]);
    let choice = agent.choose(reasoner, &inputs, cooldowns);
    if let Some((log, tick, _)) = log {
        note_choice(reasoner, (log, tick), entity, agent, choice, &inputs, cooldowns);
    }
    // Cooldowns that applied to this decision go down by one. The cooldown of an option that is left now
    // counts from the next decision on.
    cooldowns.iter_mut().for_each(|it| it.0 = it.0.saturating_sub(1));
    if choice != agent.current() {
        agent.switch(choice, reasoner, body, cooldowns);
        switching.set(true);
    }
}

/// Records the decision of a watched agent, if it changes the option or is the agent's first record.
#[inline(never)]
fn note_choice(
    reasoner: &Reasoner,
    (log, tick): (&DecisionLog, u64),
    entity: Entity,
    agent: &UtilityAgent,
    chosen: Option<usize>,
    inputs: &[f32],
    cooldowns: &[Cooldown],
) {
    if agent.current() != chosen || log.is_awaited(entity, Engine::Utility) {
        let cooldowns: &[u32] = Cooldown::peel_slice(cooldowns);
        let choice = Choice { before: agent.current(), chosen, inputs, cooldowns };
        reasoner.note(log, tick, entity, &choice);
    }
}
