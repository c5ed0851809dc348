//! Agents and their actions.

use flecs_ecs::prelude::*;

use super::Progress;
use super::loops::Asked;
use crate::harness::Cell;
use crate::model::{ACTIONS, ADVANCE_EVERY, action_order, first_action, sum_bits};

#[derive(Component, Clone, Copy)]
struct Agent {
    current: u32,
}

/// The actions of an agent.
#[derive(Component, Clone, Copy)]
struct Actions([Entity; ACTIONS as usize]);

/// The agent of an action, and the index of the action there.
#[derive(Component, Clone, Copy)]
struct Owner {
    agent: Entity,
    index: u32,
}

#[derive(Component, Clone, Copy)]
struct Active(bool);
#[derive(Component)]
struct Running;
#[derive(Component)]
#[flecs(traits(CanToggle))]
struct Executing;

struct State<Q> {
    asked: Asked<Q>,
    agents: Vec<Entity>,
    frame: usize,
}

/// Agents and their actions; `action` finishes an action, told whether it is the first of its agent.
fn crowd(n: usize, shuffle: bool, action: impl Fn(EntityView<'_>, bool)) -> (World, Vec<Entity>) {
    let world = World::new();
    let values: Vec<Agent> = (0..n).map(|i| Agent { current: first_action(i) }).collect();
    let agents = world.entity_bulk(n as u32).set(&values).build();
    let mut actions = vec![[agents[0]; ACTIONS as usize]; n];
    for (agent, index) in action_order(n, shuffle) {
        let entity = world.entity().set(Owner { agent: agents[agent], index }).set(Progress(0));
        action(entity, index == first_action(agent));
        actions[agent][index as usize] = entity.id();
    }
    for (&agent, actions) in agents.iter().zip(actions) {
        world.entity_from_id(agent).set(Actions(actions));
    }
    (world, agents)
}

impl<Q> State<Q> {
    fn of((world, agents): (World, Vec<Entity>), query: impl FnOnce(&World) -> Q) -> Self {
        Self { asked: Asked { query: query(&world), world }, agents, frame: 0 }
    }

    /// Calls this for each agent that moves on in this frame.
    fn move_on(&mut self, f: impl Fn(&World, EntityView<'_>)) {
        let phase = self.frame % ADVANCE_EVERY;
        self.frame += 1;
        let world = &self.asked.world;
        for &agent in self.agents[phase..].iter().step_by(ADVANCE_EVERY) {
            f(world, world.entity_from_id(agent));
        }
    }

    fn check(&mut self) -> u64 {
        let mut all = Vec::new();
        self.asked.world.new_query::<&Progress>().each(|progress| all.push(progress.0));
        sum_bits(all.into_iter())
    }
}

/// An agent on its way to the next action: the one before and the one after.
fn advance(agent: EntityView<'_>) -> (Entity, Entity) {
    agent.get::<(&mut Agent, &Actions)>(|(agent, actions)| {
        let before = actions.0[agent.current as usize];
        agent.current = (agent.current + 1) % ACTIONS;
        (before, actions.0[agent.current as usize])
    })
}

type Flagged = Query<(&'static mut Progress, &'static Active)>;

fn progress_flagged(query: &Flagged) {
    query.each(|(progress, active)| {
        progress.0 += u32::from(active.0);
    });
}

pub(super) fn flag(n: usize, shuffle: bool) -> Cell {
    type Queries = (Query<(&'static Owner, &'static mut Active)>, Flagged);
    let crowd = crowd(n, shuffle, |action, active| _ = action.set(Active(active)));
    let state = State::of(crowd, |world| {
        (world.query().set_cached().build(), world.query().set_cached().build())
    });
    let frame = |state: &mut State<Queries>| {
        state.move_on(|_, agent| {
            agent.get::<&mut Agent>(|agent| agent.current = (agent.current + 1) % ACTIONS);
        });
        let Asked { query: (owners, flagged), world } = &state.asked;
        owners.each(|(owner, active)| {
            let agent = world.entity_from_id(owner.agent).cloned::<&Agent>();
            active.0 = agent.current == owner.index;
        });
        progress_flagged(flagged);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn flag_push(n: usize) -> Cell {
    let crowd = crowd(n, false, |action, active| _ = action.set(Active(active)));
    let state = State::of(crowd, |world| world.query().set_cached().build());
    let frame = |state: &mut State<Flagged>| {
        state.move_on(|world, agent| {
            let (before, after) = advance(agent);
            world.entity_from_id(before).get::<&mut Active>(|active| active.0 = false);
            world.entity_from_id(after).get::<&mut Active>(|active| active.0 = true);
        });
        progress_flagged(&state.asked.query);
    };
    Cell::frames(state, frame, State::check)
}

type Progressing = Query<&'static mut Progress>;

pub(super) fn tag(n: usize) -> Cell {
    let crowd = crowd(n, false, |action, is_first| _ = action.add_if(Running::id(), is_first));
    let state = State::of(crowd, |world| world.query().with(Running::id()).set_cached().build());
    let frame = |state: &mut State<Progressing>| {
        state.move_on(|world, agent| {
            let (before, after) = advance(agent);
            world.entity_from_id(before).remove(Running::id());
            world.entity_from_id(after).add(Running::id());
        });
        state.asked.query.each(|progress| progress.0 += 1);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn native(n: usize, shuffle: bool) -> Cell {
    let crowd = crowd(n, shuffle, |action, is_first| {
        let action = action.add(Executing::id());
        _ = if is_first { action.enable(Executing::id()) } else { action.disable(Executing::id()) };
    });
    let state = State::of(crowd, |world| world.query().with(Executing::id()).set_cached().build());
    let frame = |state: &mut State<Progressing>| {
        state.move_on(|world, agent| {
            let (before, after) = advance(agent);
            world.entity_from_id(before).disable(Executing::id());
            world.entity_from_id(after).enable(Executing::id());
        });
        state.asked.query.each(|progress| progress.0 += 1);
    };
    Cell::frames(state, frame, State::check)
}
