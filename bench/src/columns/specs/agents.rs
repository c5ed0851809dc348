//! Agents and their actions.

use specs::prelude::*;

use super::{Progress, put};
use crate::harness::Cell;
use crate::model::{ACTIONS, ADVANCE_EVERY, action_order, first_action, sum_bits};

struct Agent {
    current: u32,
}

/// The actions of an agent.
struct Actions([Entity; ACTIONS as usize]);

/// The agent of an action, and the index of the action there.
struct Owner {
    agent: Entity,
    index: u32,
}

struct Active(bool);
#[derive(Default)]
struct Running;

impl Component for Agent {
    type Storage = VecStorage<Self>;
}
impl Component for Actions {
    type Storage = VecStorage<Self>;
}
impl Component for Owner {
    type Storage = VecStorage<Self>;
}
impl Component for Active {
    type Storage = VecStorage<Self>;
}
impl Component for Running {
    type Storage = NullStorage<Self>;
}

struct State {
    world: World,
    agents: Vec<Entity>,
    frame: usize,
}

impl State {
    fn of(n: usize, shuffle: bool, action: impl Fn(EntityBuilder<'_>, bool) -> Entity) -> Self {
        let mut world = World::new();
        world.register::<Agent>();
        world.register::<Actions>();
        world.register::<Owner>();
        world.register::<Active>();
        world.register::<Running>();
        world.register::<Progress>();
        let agent = |i| world.create_entity().with(Agent { current: first_action(i) }).build();
        let agents: Vec<Entity> = (0..n).map(agent).collect();
        let mut actions = vec![[agents[0]; ACTIONS as usize]; n];
        for (agent, index) in action_order(n, shuffle) {
            let owner = Owner { agent: agents[agent], index };
            let entity = world.create_entity().with(owner).with(Progress(0));
            actions[agent][index as usize] = action(entity, index == first_action(agent));
        }
        for (&agent, actions) in agents.iter().zip(actions) {
            put(world.write_storage().insert(agent, Actions(actions)));
        }
        Self { world, agents, frame: 0 }
    }

    fn check(&mut self) -> u64 {
        sum_bits(self.world.read_storage::<Progress>().join().map(|progress| progress.0))
    }
}

/// The agents that move on in this frame.
fn moving<'a>(agents: &'a [Entity], frame: &mut usize) -> impl Iterator<Item = Entity> + use<'a> {
    let phase = *frame % ADVANCE_EVERY;
    *frame += 1;
    agents[phase..].iter().step_by(ADVANCE_EVERY).copied()
}

fn progress_flagged(world: &World, flags: &WriteStorage<'_, Active>) {
    let mut progress = world.write_storage::<Progress>();
    (&mut progress, flags).join().for_each(|(progress, active)| {
        progress.0 += u32::from(active.0);
    });
}

/// An agent on its way to the next action: the one before and the one after.
fn advance(agent: &mut Agent, actions: &Actions) -> (Entity, Entity) {
    let before = actions.0[agent.current as usize];
    agent.current = (agent.current + 1) % ACTIONS;
    (before, actions.0[agent.current as usize])
}

pub(super) fn flag(n: usize, shuffle: bool) -> Cell {
    let state = State::of(n, shuffle, |action, active| action.with(Active(active)).build());
    let frame = |state: &mut State| {
        let mut agents = state.world.write_storage::<Agent>();
        for agent in moving(&state.agents, &mut state.frame) {
            let agent = agents.get_mut(agent).expect("alive");
            agent.current = (agent.current + 1) % ACTIONS;
        }
        let owners = state.world.read_storage::<Owner>();
        let mut flags = state.world.write_storage::<Active>();
        (&owners, &mut flags).join().for_each(|(owner, active)| {
            active.0 = agents.get(owner.agent).expect("alive").current == owner.index;
        });
        progress_flagged(&state.world, &flags);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn flag_push(n: usize) -> Cell {
    let state = State::of(n, false, |action, active| action.with(Active(active)).build());
    let frame = |state: &mut State| {
        let mut agents = state.world.write_storage::<Agent>();
        let actions = state.world.read_storage::<Actions>();
        let mut flags = state.world.write_storage::<Active>();
        for agent in moving(&state.agents, &mut state.frame) {
            let actions = actions.get(agent).expect("alive");
            let (before, after) = advance(agents.get_mut(agent).expect("alive"), actions);
            flags.get_mut(before).expect("alive").0 = false;
            flags.get_mut(after).expect("alive").0 = true;
        }
        progress_flagged(&state.world, &flags);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn tag(n: usize) -> Cell {
    let state =
        State::of(
            n,
            false,
            |action, is_first| {
                if is_first { action.with(Running).build() } else { action.build() }
            },
        );
    let frame = |state: &mut State| {
        let mut agents = state.world.write_storage::<Agent>();
        let actions = state.world.read_storage::<Actions>();
        let mut tags = state.world.write_storage::<Running>();
        for agent in moving(&state.agents, &mut state.frame) {
            let actions = actions.get(agent).expect("alive");
            let (before, after) = advance(agents.get_mut(agent).expect("alive"), actions);
            tags.remove(before).expect("there");
            put(tags.insert(after, Running));
        }
        let mut progress = state.world.write_storage::<Progress>();
        (&mut progress, tags.mask()).join().for_each(|(progress, _)| progress.0 += 1);
    };
    Cell::frames(state, frame, State::check)
}
