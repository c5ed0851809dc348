//! Agents and their actions.

use legion::query::{EntityFilter, Query};
use legion::storage::Component;
use legion::{Entity, EntityStore, IntoQuery, World, component};

use super::Progress;
use crate::harness::Cell;
use crate::model::{ACTIONS, ADVANCE_EVERY, action_order, first_action, sum_bits};

#[derive(Clone, Copy)]
struct Agent {
    current: u32,
}

/// The actions of an agent.
#[derive(Clone, Copy)]
struct Actions([Entity; ACTIONS as usize]);

/// The agent of an action, and the index of the action there.
#[derive(Clone, Copy)]
struct Owner {
    agent: Entity,
    index: u32,
}

#[derive(Clone, Copy)]
struct Active(bool);
#[derive(Clone, Copy)]
struct Running;

struct Crowd {
    world: World,
    agents: Vec<Entity>,
    frame: usize,
}

impl Crowd {
    fn of<T: Component>(n: usize, shuffle: bool, third: impl Fn(bool) -> T) -> Self {
        let mut world = World::default();
        let bundles = (0..n).map(|i| (Agent { current: first_action(i) },));
        let agents = world.extend(bundles).to_vec();
        let mut actions = vec![[agents[0]; ACTIONS as usize]; n];
        for (agent, index) in action_order(n, shuffle) {
            let owner = Owner { agent: agents[agent], index };
            let third = third(index == first_action(agent));
            actions[agent][index as usize] = world.push((owner, Progress(0), third));
        }
        for (&agent, actions) in agents.iter().zip(actions) {
            world.entry(agent).expect("alive").add_component(Actions(actions));
        }
        Self { world, agents, frame: 0 }
    }

    fn check(&self) -> u64 {
        sum_bits(<&Progress>::query().iter(&self.world).map(|progress| progress.0))
    }
}

/// The agents that move on in this frame.
fn moving<'a>(agents: &'a [Entity], frame: &mut usize) -> impl Iterator<Item = Entity> + use<'a> {
    let phase = *frame % ADVANCE_EVERY;
    *frame += 1;
    agents[phase..].iter().step_by(ADVANCE_EVERY).copied()
}

type Flagged = Query<(&'static mut Progress, &'static Active)>;

fn progress_flagged(query: &mut Flagged, world: &mut World) {
    query.for_each_mut(world, |(progress, active)| {
        progress.0 += u32::from(active.0);
    });
}

/// Lets an agent go on to its next action: the one before and the one after.
fn advance(world: &mut World, agent: Entity) -> (Entity, Entity) {
    let mut entry = world.entry_mut(agent).expect("alive");
    let Actions(actions) = *entry.get_component::<Actions>().expect("there");
    let agent = entry.get_component_mut::<Agent>().expect("there");
    let before = actions[agent.current as usize];
    agent.current = (agent.current + 1) % ACTIONS;
    (before, actions[agent.current as usize])
}

pub(super) fn flag(n: usize, shuffle: bool) -> Cell {
    struct State {
        crowd: Crowd,
        owners: Query<(&'static Owner, &'static mut Active)>,
        readers: Query<&'static Agent>,
        flagged: Flagged,
    }
    let crowd = Crowd::of(n, shuffle, Active);
    let frame = |State { crowd, owners, readers, flagged }: &mut State| {
        let Crowd { world, agents, frame } = crowd;
        for agent in moving(agents, frame) {
            let entry = world.entry_mut(agent).expect("alive");
            let agent = entry.into_component_mut::<Agent>().expect("there");
            agent.current = (agent.current + 1) % ACTIONS;
        }
        let (mut actions, rest) = world.split_for_query(owners);
        owners.for_each_mut(&mut actions, |(owner, active)| {
            active.0 = readers.get(&rest, owner.agent).expect("alive").current == owner.index;
        });
        progress_flagged(flagged, world);
    };
    let owners = <(&Owner, &mut Active)>::query();
    let readers = <&Agent>::query();
    let flagged = <(&mut Progress, &Active)>::query();
    Cell::frames(State { crowd, owners, readers, flagged }, frame, |state| state.crowd.check())
}

pub(super) fn flag_push(n: usize) -> Cell {
    let crowd = Crowd::of(n, false, Active);
    let frame = |(Crowd { world, agents, frame }, flagged): &mut (Crowd, Flagged)| {
        for agent in moving(agents, frame) {
            let (before, after) = advance(world, agent);
            set_active(world, before, false);
            set_active(world, after, true);
        }
        progress_flagged(flagged, world);
    };
    let flagged = <(&mut Progress, &Active)>::query();
    Cell::frames((crowd, flagged), frame, |(crowd, _)| crowd.check())
}

fn set_active(world: &mut World, action: Entity, active: bool) {
    let entry = world.entry_mut(action).expect("alive");
    entry.into_component_mut::<Active>().expect("there").0 = active;
}

pub(super) fn tag(n: usize) -> Cell {
    let mut crowd = Crowd::of(n, false, |_| ());
    for i in 0..n {
        let entry = crowd.world.entry_ref(crowd.agents[i]).expect("alive");
        let first = entry.into_component::<Actions>().expect("there").0[first_action(i) as usize];
        crowd.world.entry(first).expect("alive").add_component(Running);
    }
    running(crowd, <&mut Progress>::query().filter(component::<Running>()))
}

fn running<F: EntityFilter + 'static>(
    crowd: Crowd,
    query: Query<&'static mut Progress, F>,
) -> Cell {
    type State<F> = (Crowd, Query<&'static mut Progress, F>);
    let frame = |(Crowd { world, agents, frame }, running): &mut State<F>| {
        for agent in moving(agents, frame) {
            let (before, after) = advance(world, agent);
            world.entry(before).expect("alive").remove_component::<Running>();
            world.entry(after).expect("alive").add_component(Running);
        }
        running.for_each_mut(world, |progress| progress.0 += 1);
    };
    Cell::frames((crowd, query), frame, |(crowd, _)| crowd.check())
}
