//! Agents and their actions.

use shipyard::{Component, EntitiesView, EntityId, Get, IntoIter, Remove, View, ViewMut, World};

use super::Progress;
use crate::harness::Cell;
use crate::model::{ACTIONS, ADVANCE_EVERY, action_order, first_action, sum_bits};

#[derive(Component)]
struct Agent {
    current: u32,
}

/// The actions of an agent.
#[derive(Component)]
struct Actions([EntityId; ACTIONS as usize]);

/// The agent of an action, and the index of the action there.
#[derive(Component)]
struct Owner {
    agent: EntityId,
    index: u32,
}

#[derive(Component)]
struct Active(bool);
#[derive(Component)]
struct Running;

struct State {
    world: World,
    agents: Vec<EntityId>,
    frame: usize,
}

impl State {
    fn of(n: usize, shuffle: bool, action: impl Fn(&mut World, EntityId, bool)) -> Self {
        let mut world = World::new();
        let bundles = (0..n).map(|i| (Agent { current: first_action(i) },));
        let agents: Vec<EntityId> = world.bulk_add_entity(bundles).collect();
        let mut actions = vec![[agents[0]; ACTIONS as usize]; n];
        for (agent, index) in action_order(n, shuffle) {
            let owner = Owner { agent: agents[agent], index };
            let entity = world.add_entity((owner, Progress(0)));
            action(&mut world, entity, index == first_action(agent));
            actions[agent][index as usize] = entity;
        }
        for (&agent, actions) in agents.iter().zip(actions) {
            world.add_component(agent, (Actions(actions),));
        }
        Self { world, agents, frame: 0 }
    }

    fn check(&mut self) -> u64 {
        self.world.run(|progress: View<'_, Progress>| {
            sum_bits(progress.iter().map(|progress| progress.0))
        })
    }
}

/// The agents that move on in this frame.
fn moving<'a>(
    agents: &'a [EntityId],
    frame: &mut usize,
) -> impl Iterator<Item = EntityId> + use<'a> {
    let phase = *frame % ADVANCE_EVERY;
    *frame += 1;
    agents[phase..].iter().step_by(ADVANCE_EVERY).copied()
}

fn progress_flagged(mut progress: ViewMut<'_, Progress>, flags: View<'_, Active>) {
    (&mut progress, &flags).iter().for_each(|(progress, active)| {
        progress.0 += u32::from(active.0);
    });
}

/// An agent on its way to the next action: the one before and the one after.
fn advance(agent: &mut Agent, actions: &Actions) -> (EntityId, EntityId) {
    let before = actions.0[agent.current as usize];
    agent.current = (agent.current + 1) % ACTIONS;
    (before, actions.0[agent.current as usize])
}

fn add_flag(world: &mut World, action: EntityId, is_active: bool) {
    world.add_component(action, (Active(is_active),));
}

pub(super) fn flag(n: usize, shuffle: bool) -> Cell {
    let state = State::of(n, shuffle, add_flag);
    let frame = |State { world, agents: ids, frame }: &mut State| {
        let run = |mut agents: ViewMut<'_, Agent>,
                   owners: View<'_, Owner>,
                   mut flags: ViewMut<'_, Active>| {
            for agent in moving(ids, frame) {
                let mut agent = (&mut agents).get(agent).expect("alive");
                agent.current = (agent.current + 1) % ACTIONS;
            }
            (&owners, &mut flags).iter().for_each(|(owner, active)| {
                active.0 = (&agents).get(owner.agent).expect("alive").current == owner.index;
            });
        };
        world.run(run);
        world.run(progress_flagged);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn flag_push(n: usize) -> Cell {
    let state = State::of(n, false, add_flag);
    let frame = |State { world, agents: ids, frame }: &mut State| {
        let run = |mut agents: ViewMut<'_, Agent>,
                   actions: View<'_, Actions>,
                   mut flags: ViewMut<'_, Active>| {
            for agent in moving(ids, frame) {
                let (mut agent, actions) = (&mut agents, &actions).get(agent).expect("alive");
                let (before, after) = advance(&mut agent, actions);
                (&mut flags).get(before).expect("alive").0 = false;
                (&mut flags).get(after).expect("alive").0 = true;
            }
        };
        world.run(run);
        world.run(progress_flagged);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn tag(n: usize) -> Cell {
    let state = State::of(n, false, |world, action, is_first| {
        if is_first {
            world.add_component(action, (Running,));
        }
    });
    let frame = |State { world, agents: ids, frame }: &mut State| {
        let run = |entities: EntitiesView<'_>,
                   mut agents: ViewMut<'_, Agent>,
                   actions: View<'_, Actions>,
                   mut tags: ViewMut<'_, Running>| {
            for agent in moving(ids, frame) {
                let (mut agent, actions) = (&mut agents, &actions).get(agent).expect("alive");
                let (before, after) = advance(&mut agent, actions);
                tags.remove(before).expect("there");
                entities.add_component(after, &mut tags, Running);
            }
        };
        world.run(run);
        world.run(|mut progress: ViewMut<'_, Progress>, tags: View<'_, Running>| {
            (&mut progress, &tags).iter().for_each(|(progress, _)| progress.0 += 1);
        });
    };
    Cell::frames(state, frame, State::check)
}
