//! Agents and their actions.

use formic_ecs::prelude::*;
use formic_ecs::{Bundle, QueryPlan, ViewPlan};

use super::Progress;
use crate::harness::Cell;
use crate::model::{ACTIONS, ADVANCE_EVERY, action_order, first_action, sum_bits};

#[derive(Component)]
struct Agent {
    current: u32,
}

/// The actions of an agent.
#[derive(Component, Clone, Copy)]
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
struct Tag;
#[derive(Component)]
#[component(enableable)]
struct Executing;

struct State<Plans> {
    world: World,
    agents: Vec<Entity>,
    frame: usize,
    plans: Plans,
}

impl<Plans> State<Plans> {
    /// A world of agents and their actions, spawned agent by agent or in shuffled order.
    fn of<B: Bundle>(
        n: usize,
        shuffle: bool,
        action: impl Fn(Owner, bool) -> B,
        plans: impl FnOnce(&mut World) -> Plans,
    ) -> Self {
        let mut world = World::new();
        let agents = world.spawn_batch((0..n).map(|i| Agent { current: first_action(i) }));
        let mut actions = vec![[agents[0]; ACTIONS as usize]; n];
        for (agent, index) in action_order(n, shuffle) {
            let owner = Owner { agent: agents[agent], index };
            actions[agent][index as usize] =
                world.spawn(action(owner, index == first_action(agent)));
        }
        for (&agent, actions) in agents.iter().zip(actions) {
            world.insert(agent, Actions(actions)).expect("alive");
        }
        let plans = plans(&mut world);
        Self { world, agents, frame: 0, plans }
    }

    /// All actions, each with whether it is the first of its agent.
    fn actions(&self) -> Vec<(Entity, bool)> {
        let of_agent = |(i, &agent): (usize, &Entity)| {
            let actions = self.world.get::<Actions>(agent).expect("alive").0;
            (0..ACTIONS).map(move |index| (actions[index as usize], index == first_action(i)))
        };
        self.agents.iter().enumerate().flat_map(of_agent).collect()
    }

    fn check(&mut self) -> u64 {
        sum_bits(self.world.query::<&Progress>().map(|progress| progress.0))
    }
}

/// The agents that move on in this frame.
fn moving<'a>(agents: &'a [Entity], frame: &mut usize) -> impl Iterator<Item = Entity> + use<'a> {
    let phase = *frame % ADVANCE_EVERY;
    *frame += 1;
    agents[phase..].iter().step_by(ADVANCE_EVERY).copied()
}

fn progress_flagged(world: &mut World) {
    world.query::<(&mut Progress, &Active)>().for_each(|(progress, active)| {
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
    type Plans = (
        ViewPlan<&'static mut Agent>,
        ViewPlan<&'static Agent>,
        QueryPlan<(&'static Owner, &'static mut Active)>,
    );
    let plans = |world: &mut World| (world.view_plan(), world.view_plan(), world.plan());
    let state =
        State::<Plans>::of(n, shuffle, |owner, active| (owner, Active(active), Progress(0)), plans);
    let frame = |state: &mut State<Plans>| {
        let (movers, readers, flags) = &mut state.plans;
        let cell = state.world.cell();
        let mut agents = cell.view(movers).expect("nobody else is there");
        for agent in moving(&state.agents, &mut state.frame) {
            let agent = agents.get_mut(agent).expect("alive");
            agent.current = (agent.current + 1) % ACTIONS;
        }
        drop(agents);
        let agents = cell.view(readers).expect("nobody else is there");
        let mut flags = cell.query(flags).expect("nobody writes these");
        flags.query().for_each(|(owner, active)| {
            active.0 = agents.get(owner.agent).expect("alive").current == owner.index;
        });
        drop((agents, flags));
        progress_flagged(&mut state.world);
    };
    Cell::frames(state, frame, State::check)
}

type Movers = ViewPlan<(&'static mut Agent, &'static Actions)>;

pub(super) fn flag_push(n: usize) -> Cell {
    type Plans = (Movers, ViewPlan<&'static mut Active>);
    let plans = |world: &mut World| (world.view_plan(), world.view_plan());
    let state =
        State::<Plans>::of(n, false, |owner, active| (owner, Active(active), Progress(0)), plans);
    let frame = |state: &mut State<Plans>| {
        let (movers, flags) = &mut state.plans;
        let cell = state.world.cell();
        let mut agents = cell.view(movers).expect("nobody else is there");
        let mut flags = cell.view(flags).expect("nobody else is there");
        for agent in moving(&state.agents, &mut state.frame) {
            let (agent, actions) = agents.get_mut(agent).expect("alive");
            let (before, after) = advance(agent, actions);
            flags.get_mut(before).expect("alive").0 = false;
            flags.get_mut(after).expect("alive").0 = true;
        }
        drop((agents, flags));
        progress_flagged(&mut state.world);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn tag(n: usize) -> Cell {
    let mut state = State::of(n, false, |owner, _| (owner, Progress(0)), |_| ());
    for (action, is_first) in state.actions() {
        if is_first {
            state.world.insert(action, Tag).expect("alive");
        }
    }
    let frame = |state: &mut State<()>| {
        for agent in moving(&state.agents, &mut state.frame) {
            let world = &mut state.world;
            let actions = *world.get::<Actions>(agent).expect("alive");
            let (before, after) = advance(world.get_mut(agent).expect("alive"), &actions);
            world.remove::<Tag>(before).expect("alive");
            world.insert(after, Tag).expect("alive");
        }
        let tagged = state.world.query_filtered::<&mut Progress, With<Tag>>();
        tagged.for_each(|progress| progress.0 += 1);
    };
    Cell::frames(state, frame, State::check)
}

pub(super) fn native(n: usize, shuffle: bool) -> Cell {
    type Plans = (Movers, ViewPlan<EnabledMut<Executing>>);
    let plans = |world: &mut World| (world.view_plan(), world.view_plan());
    let mut state =
        State::<Plans>::of(n, shuffle, |owner, _| (owner, Executing, Progress(0)), plans);
    for (action, is_first) in state.actions() {
        state.world.set_enabled::<Executing>(action, is_first).expect("alive");
    }
    let frame = |state: &mut State<Plans>| {
        let (movers, bits) = &mut state.plans;
        let cell = state.world.cell();
        let mut agents = cell.view(movers).expect("nobody else is there");
        let bits = cell.view(bits).expect("nobody else is there");
        for agent in moving(&state.agents, &mut state.frame) {
            let (agent, actions) = agents.get_mut(agent).expect("alive");
            let (before, after) = advance(agent, actions);
            bits.set(before, false).expect("alive");
            bits.set(after, true).expect("alive");
        }
        drop((agents, bits));
        let executing = state.world.query_filtered::<&mut Progress, With<Executing>>();
        executing.for_each(|progress| progress.0 += 1);
    };
    Cell::frames(state, frame, State::check)
}
