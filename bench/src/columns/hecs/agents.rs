//! Agents and their actions.

use hecs::{Entity, World};

use super::Progress;
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
struct Running;

struct State {
    world: World,
    agents: Vec<Entity>,
    frame: usize,
}

impl State {
    /// The world, and the entities of all actions by agent.
    fn of<B: hecs::DynamicBundle>(
        n: usize,
        shuffle: bool,
        action: impl Fn(Owner, bool) -> B,
    ) -> Self {
        let mut world = World::new();
        let bundles = (0..n).map(|i| (Agent { current: first_action(i) },));
        let agents: Vec<Entity> = world.spawn_batch(bundles).collect();
        let mut actions = vec![[Entity::DANGLING; ACTIONS as usize]; n];
        for (agent, index) in action_order(n, shuffle) {
            let owner = Owner { agent: agents[agent], index };
            actions[agent][index as usize] =
                world.spawn(action(owner, index == first_action(agent)));
        }
        for (&agent, actions) in agents.iter().zip(actions) {
            world.insert_one(agent, Actions(actions)).expect("alive");
        }
        Self { world, agents, frame: 0 }
    }

    fn check(&mut self) -> u64 {
        sum_bits(self.world.query_mut::<&Progress>().into_iter().map(|progress| progress.0))
    }
}

fn progress_flagged(world: &mut World) {
    world.query_mut::<(&mut Progress, &Active)>().into_iter().for_each(|(progress, active)| {
        progress.0 += u32::from(active.0);
    });
}

pub(super) fn flag(n: usize, shuffle: bool) -> Cell {
    let state = State::of(n, shuffle, |owner, active| (owner, Active(active), Progress(0)));
    let frame = |state: &mut State| {
        let phase = state.frame % ADVANCE_EVERY;
        state.frame += 1;
        let mut agents = state.world.view_mut::<&mut Agent>();
        for &agent in state.agents[phase..].iter().step_by(ADVANCE_EVERY) {
            let agent = agents.get_mut(agent).expect("alive");
            agent.current = (agent.current + 1) % ACTIONS;
        }
        drop(agents);
        let world = &state.world;
        let agents = world.view::<&Agent>();
        world.query::<(&Owner, &mut Active)>().iter().for_each(|(owner, active)| {
            active.0 = agents.get(owner.agent).expect("alive").current == owner.index;
        });
        drop(agents);
        progress_flagged(&mut state.world);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn flag_push(n: usize) -> Cell {
    let state = State::of(n, false, |owner, active| (owner, Active(active), Progress(0)));
    let frame = |state: &mut State| {
        let phase = state.frame % ADVANCE_EVERY;
        state.frame += 1;
        let world = &state.world;
        let mut agents = world.view::<(&mut Agent, &Actions)>();
        let mut flags = world.view::<&mut Active>();
        for &agent in state.agents[phase..].iter().step_by(ADVANCE_EVERY) {
            let (agent, actions) = agents.get_mut(agent).expect("alive");
            flags.get_mut(actions.0[agent.current as usize]).expect("alive").0 = false;
            agent.current = (agent.current + 1) % ACTIONS;
            flags.get_mut(actions.0[agent.current as usize]).expect("alive").0 = true;
        }
        drop((agents, flags));
        progress_flagged(&mut state.world);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn tag(n: usize) -> Cell {
    let mut state = State::of(n, false, |owner, _| (owner, Progress(0)));
    for i in 0..n {
        let world = &mut state.world;
        let action =
            world.get::<&Actions>(state.agents[i]).expect("alive").0[first_action(i) as usize];
        world.insert_one(action, Running).expect("alive");
    }
    let frame = |state: &mut State| {
        let phase = state.frame % ADVANCE_EVERY;
        state.frame += 1;
        for &agent in state.agents[phase..].iter().step_by(ADVANCE_EVERY) {
            let (agent, actions) =
                state.world.query_one_mut::<(&mut Agent, &Actions)>(agent).expect("alive");
            let before = actions.0[agent.current as usize];
            agent.current = (agent.current + 1) % ACTIONS;
            let after = actions.0[agent.current as usize];
            state.world.remove_one::<Running>(before).expect("alive");
            state.world.insert_one(after, Running).expect("alive");
        }
        let running = state.world.query_mut::<&mut Progress>().with::<&Running>();
        running.into_iter().for_each(|progress| progress.0 += 1);
    };
    Cell::frames(state, frame, State::check)
}
