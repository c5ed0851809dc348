//! Agents and their actions.

use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryData;
use bevy_ecs::system::SystemState;

use super::Progress;
use crate::harness::Cell;
use crate::model::{ACTIONS, ADVANCE_EVERY, action_order, first_action, sum_bits};

#[derive(Component)]
struct Agent {
    current: u32,
}

/// The actions of an agent.
#[derive(Component)]
struct Actions([Entity; ACTIONS as usize]);

/// The agent of an action, and the index of the action there.
#[derive(Component)]
struct Owner {
    agent: Entity,
    index: u32,
}

#[derive(Component)]
struct Active(bool);

#[derive(Component)]
#[component(storage = "SparseSet")]
struct Running;

struct Crowd {
    world: World,
    agents: Vec<Entity>,
    frame: usize,
}

impl Crowd {
    fn of<B: Bundle>(n: usize, shuffle: bool, action: impl Fn(Owner, bool) -> B) -> Self {
        let mut world = World::new();
        let bundles = (0..n).map(|i| Agent { current: first_action(i) });
        let agents: Vec<Entity> = world.spawn_batch(bundles).collect();
        let mut actions = vec![[Entity::PLACEHOLDER; ACTIONS as usize]; n];
        for (agent, index) in action_order(n, shuffle) {
            let owner = Owner { agent: agents[agent], index };
            let action = world.spawn(action(owner, index == first_action(agent)));
            actions[agent][index as usize] = action.id();
        }
        for (&agent, actions) in agents.iter().zip(actions) {
            world.entity_mut(agent).insert(Actions(actions));
        }
        Self { world, agents, frame: 0 }
    }

    fn check(&mut self) -> u64 {
        sum_bits(self.world.query::<&Progress>().iter(&self.world).map(|progress| progress.0))
    }
}

/// The agents that move on in this frame.
fn moving<'a>(agents: &'a [Entity], frame: &mut usize) -> impl Iterator<Item = Entity> + use<'a> {
    let phase = *frame % ADVANCE_EVERY;
    *frame += 1;
    agents[phase..].iter().step_by(ADVANCE_EVERY).copied()
}

fn progress_flagged(mut actions: Query<'_, '_, (&mut Progress, &Active)>) {
    actions.iter_mut().for_each(|(mut progress, active)| {
        progress.0 += u32::from(active.0);
    });
}

type Flagged = QueryState<(&'static mut Progress, &'static Active)>;

pub(super) fn flag(n: usize, shuffle: bool) -> Cell {
    type Looking = (
        Query<'static, 'static, &'static Agent>,
        Query<'static, 'static, (&'static Owner, &'static mut Active)>,
    );
    struct State {
        crowd: Crowd,
        agents: QueryState<&'static mut Agent>,
        looking: SystemState<Looking>,
        flagged: Flagged,
    }
    let mut crowd = Crowd::of(n, shuffle, |owner, active| (owner, Active(active), Progress(0)));
    let (agents, flagged) = (crowd.world.query(), crowd.world.query());
    let looking = SystemState::new(&mut crowd.world);
    let frame = |State { crowd, agents, looking, flagged }: &mut State| {
        let mut moved = agents.query_mut(&mut crowd.world);
        for agent in moving(&crowd.agents, &mut crowd.frame) {
            let mut agent = moved.get_mut(agent).expect("alive");
            agent.current = (agent.current + 1) % ACTIONS;
        }
        let (agents, mut actions) = looking.get_mut(&mut crowd.world).expect("queries only");
        actions.iter_mut().for_each(|(owner, mut active)| {
            active.0 = agents.get(owner.agent).expect("alive").current == owner.index;
        });
        progress_flagged(flagged.query_mut(&mut crowd.world));
    };
    Cell::frames(State { crowd, agents, looking, flagged }, frame, |state| state.crowd.check())
}

/// An agent on its way to the next action: the one before and the one after.
fn advance(agent: &mut Agent, actions: &Actions) -> (Entity, Entity) {
    let before = actions.0[agent.current as usize];
    agent.current = (agent.current + 1) % ACTIONS;
    (before, actions.0[agent.current as usize])
}

type Mover = (&'static mut Agent, &'static Actions);

pub(super) fn flag_push(n: usize) -> Cell {
    type Pushing = (Query<'static, 'static, Mover>, Query<'static, 'static, &'static mut Active>);
    struct State {
        crowd: Crowd,
        pushing: SystemState<Pushing>,
        flagged: Flagged,
    }
    let mut crowd = Crowd::of(n, false, |owner, active| (owner, Active(active), Progress(0)));
    let flagged = crowd.world.query();
    let pushing = SystemState::new(&mut crowd.world);
    let frame = |State { crowd, pushing, flagged }: &mut State| {
        let (mut agents, mut flags) = pushing.get_mut(&mut crowd.world).expect("queries only");
        for agent in moving(&crowd.agents, &mut crowd.frame) {
            let (mut agent, actions) = agents.get_mut(agent).expect("alive");
            let (before, after) = advance(&mut agent, actions);
            flags.get_mut(before).expect("alive").0 = false;
            flags.get_mut(after).expect("alive").0 = true;
        }
        progress_flagged(flagged.query_mut(&mut crowd.world));
    };
    Cell::frames(State { crowd, pushing, flagged }, frame, |state| state.crowd.check())
}

fn mover<'w>(
    agents: &'w mut QueryState<Mover>,
    world: &'w mut World,
    agent: Entity,
) -> <Mover as QueryData>::Item<'w, 'w> {
    agents.get_mut(world, agent).expect("alive")
}

pub(super) fn tag(n: usize) -> Cell {
    struct State {
        crowd: Crowd,
        agents: QueryState<Mover>,
        running: QueryState<&'static mut Progress, With<Running>>,
    }
    let mut crowd = Crowd::of(n, false, |owner, _| (owner, Progress(0)));
    for (i, &agent) in crowd.agents.iter().enumerate() {
        let actions = crowd.world.get::<Actions>(agent).expect("alive");
        let first = actions.0[first_action(i) as usize];
        crowd.world.entity_mut(first).insert(Running);
    }
    let (agents, running) = (crowd.world.query(), crowd.world.query_filtered());
    let frame = |State { crowd, agents, running }: &mut State| {
        for agent in moving(&crowd.agents, &mut crowd.frame) {
            let (mut agent, actions) = mover(agents, &mut crowd.world, agent);
            let (before, after) = advance(&mut agent, actions);
            crowd.world.entity_mut(before).remove::<Running>();
            crowd.world.entity_mut(after).insert(Running);
        }
        running.iter_mut(&mut crowd.world).for_each(|mut progress| progress.0 += 1);
    };
    Cell::frames(State { crowd, agents, running }, frame, |state| state.crowd.check())
}
