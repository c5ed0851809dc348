//! The mind of an agent that follows a machine, and the system argument that updates all of them.

use std::fmt;

use bytemuck::NoUninit;
use ecs_core::{
    Buffer, Component, ComponentError, EnabledMut, Entity, Present, QueryData, With, World,
};
use ecs_jobs::{Query, RunContext, SystemAccess, SystemParam};

use super::machine::{FlatTransition, Goes, History, Machine, NO_GUARD, NONE, Trigger};
use crate::action::{ActionResult, Body, Reported, Switching, link_mind};

/// On an agent that follows a state machine: its innermost state, and what it was sent.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[component(unique)]
#[repr(C)]
pub struct FsmAgent {
    events: u64,
    updates: u32,
    state: u16,
    unused: u16,
}

/// On an agent that follows a state machine: how it changed state last. It is switched on from the
/// update in which it did until the next one.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[component(enableable)]
#[repr(C)]
pub struct StateChanged {
    from: u16,
    to: u16,
}

impl StateChanged {
    /// The innermost state before; `None` as the machine begins.
    #[must_use]
    pub const fn from(&self) -> Option<usize> {
        if self.from == NONE { None } else { Some(self.from as usize) }
    }

    /// The innermost state now.
    #[must_use]
    pub const fn to(&self) -> usize {
        self.to as usize
    }
}

/// What an agent remembers of its machine: which states were interrupted, and which were last in
/// those that have a history.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[component(buffer = 4)]
#[repr(transparent)]
pub struct StateMemory(u16);

/// How many interruptions can lie on each other. One more is not taken.
const INTERRUPTIONS_MAX: usize = 16;

impl FsmAgent {
    /// Has an entity that has a body follow a machine. What is running is halted; the initial state
    /// is entered with the next update.
    ///
    /// # Errors
    /// Where the entity is not in the world or has no body.
    pub fn drive<Q: QueryData>(
        world: &mut World,
        agent: Entity,
        machine: &Machine<Q>,
    ) -> Result<(), ComponentError> {
        world.get_mut::<Body>(agent)?.halt_all();
        link_mind::<Self>(world);
        world.set_enabled::<Reported>(agent, false)?;
        world.set_enabled::<Switching>(agent, true)?;
        let mind = Self { events: 0, updates: 0, state: NONE, unused: 0 };
        let histories = if machine.has_history { machine.state_count() } else { 0 };
        let memory: Buffer<StateMemory> = (0..histories).map(|_| StateMemory(NONE)).collect();
        let changed = StateChanged { from: NONE, to: NONE };
        if world.insert(agent, (mind, memory, changed)).is_err() {
            unreachable!("the entity is in the world");
        }
        world.set_enabled::<StateChanged>(agent, false)?;
        Ok(())
    }

    /// The innermost state that it is in; `None` before the first update.
    #[must_use]
    pub const fn state(&self) -> Option<usize> {
        if self.state == NONE { None } else { Some(self.state as usize) }
    }

    /// How many updates ago that was entered.
    #[must_use]
    pub const fn updates(&self) -> u32 {
        self.updates
    }

    /// Sends it an event, from 0 to 63, for the next update. An event that leads nowhere then is
    /// lost, as are those that a more important transition came before.
    ///
    /// # Panics
    /// Where it is above 63.
    pub const fn send(&mut self, event: u32) {
        assert!(event < 64, "there are 64 events");
        self.events |= 1 << event;
    }
}

type Row<Q> = (
    &'static mut FsmAgent,
    &'static mut Body,
    &'static mut Buffer<StateMemory>,
    EnabledMut<StateChanged>,
    Present<&'static mut StateChanged>,
    EnabledMut<Switching>,
    Q,
);
/// Those whose actions have ended: the machine finds out by itself, and takes the note away.
type Ended<'a> = Query<'a, EnabledMut<Reported>, (With<Reported>, With<FsmAgent>)>;
/// Those that have changed state in the update before.
type Changed<'a> = Query<'a, EnabledMut<StateChanged>, (With<StateChanged>, With<FsmAgent>)>;
type Parts<'a, Q> = (Query<'a, Row<Q>>, Ended<'a>, Changed<'a>);

/// The agents that follow machines and have what `Q` asks for: the argument of the system that
/// updates their machines.
///
/// ```
/// use ai::fsm::{FsmAgent, Machine, MachineBuilder, Machines, State, Transition};
/// use ai::prelude::*;
/// # #[derive(Component, Clone)] struct Patrol;
/// # #[derive(Component, Clone)] struct Chase;
/// #[derive(Component)]
/// struct Enemy { distance: f32 }
/// struct Guards(Machine<&'static Enemy>);
///
/// fn think(mut machines: Machines<&'static Enemy>, guards: Res<Guards>) {
///     machines.update(&guards.0);
/// }
///
/// let plan = Plan::new().action("patrol", Patrol).action("chase", Chase);
/// let near = |enemy: &&Enemy| enemy.distance < 5.0;
/// let machine = MachineBuilder::new()
///     .state(State::new("patrolling").action("patrol"))
///     .state(State::new("chasing").action("chase"))
///     .transition(Transition::new("patrolling", "chasing").when(near))
///     .build(&plan)?;
/// let mut world = World::new();
/// let guard = plan.spawn(&mut world, Enemy { distance: 50.0 })?;
/// FsmAgent::drive(&mut world, guard, &machine)?;
/// world.insert_resource(Guards(machine));
/// let mut schedule = ai::action::phases(
///     Schedule::builder(),
///     |minds| minds.add(think),
///     |actions| actions,
/// )
/// .build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// schedule.run(&mut world, &pool);
/// assert!(world.get::<Body>(guard)?.is_running(0));
/// world.get_mut::<Enemy>(guard)?.distance = 1.0;
/// schedule.run(&mut world, &pool);
/// assert_eq!(world.get::<FsmAgent>(guard)?.state(), Some(1));
/// assert!(world.get::<Body>(guard)?.is_running(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Machines<'a, Q: QueryData + 'static> {
    parts: Parts<'a, Q>,
}

impl<Q: QueryData> fmt::Debug for Machines<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machines").field("query", &self.parts.0).finish()
    }
}

impl<Q: QueryData + 'static> SystemParam for Machines<'_, Q> {
    type State = <Parts<'static, Q> as SystemParam>::State;
    type Item<'a> = Machines<'a, Q>;

    fn init(world: &mut World, access: &mut SystemAccess) -> Self::State {
        <Parts<'static, Q> as SystemParam>::init(world, access)
    }

    fn fetch<'a>(
        state: &'a mut Self::State,
        context: RunContext<'a>,
    ) -> Result<Machines<'a, Q>, String> {
        Ok(Machines { parts: <Parts<'static, Q> as SystemParam>::fetch(state, context)? })
    }
}

impl<Q: QueryData + 'static> Machines<'_, Q> {
    /// Updates the machine once for each of these agents, on all threads of the pool: takes the most
    /// important transition that can be taken, if there is one.
    ///
    /// # Panics
    /// Where an agent was driven by another machine, with fewer states.
    pub fn update(&mut self, machine: &Machine<Q>) {
        let (query, ended, changed) = &mut self.parts;
        ended.par_for_each(|mut reported| _ = reported.set(false));
        changed.par_for_each(|mut is_changed| _ = is_changed.set(false));
        query.par_for_each(
            |(agent, body, memory, mut is_changed, changed, mut switching, mut item)| {
                let before = agent.state;
                let mut update = Update { machine, agent, body, memory, item: &mut item };
                if !update.run() {
                    return;
                }
                *changed = StateChanged { from: before, to: agent.state };
                is_changed.set(true);
                if body.is_switching() {
                    switching.set(true);
                }
            },
        );
    }
}

struct Update<'u, 'i, Q: QueryData> {
    machine: &'u Machine<Q>,
    agent: &'u mut FsmAgent,
    body: &'u mut Body,
    memory: &'u mut Buffer<StateMemory>,
    item: &'u mut Q::Item<'i>,
}

impl<Q: QueryData> Update<'_, '_, Q> {
    /// Whether a state was entered.
    #[inline]
    fn run(&mut self) -> bool {
        if self.agent.state == NONE {
            self.enter(NONE, self.machine.initial);
            return true;
        }
        self.agent.updates = self.agent.updates.saturating_add(1);
        let chosen = self.choose();
        self.agent.events = 0;
        if let Some(transition) = chosen {
            self.take(transition);
        }
        chosen.is_some()
    }

    #[inline]
    fn choose(&self) -> Option<FlatTransition> {
        let range = self.machine.states[usize::from(self.agent.state)].transitions.clone();
        let candidates = &self.machine.transitions[range.start as usize..range.end as usize];
        candidates.iter().find(|transition| self.can_be_taken(transition)).copied()
    }

    #[inline]
    fn can_be_taken(&self, transition: &FlatTransition) -> bool {
        let is_triggered = match transition.trigger {
            Trigger::Always => true,
            Trigger::Event(event) => self.agent.events >> event & 1 == 1,
            Trigger::After(updates) => self.agent.updates >= updates,
            Trigger::Done => self.ended(transition.from) == Some(ActionResult::Success),
            Trigger::Failed => self.ended(transition.from) == Some(ActionResult::Failed),
        };
        let is_possible = || match transition.to {
            Goes::To(_) => true,
            Goes::Push(_) => self.interruptions() < INTERRUPTIONS_MAX,
            Goes::Back => self.interruptions() > 0,
        };
        let is_guarded = transition.guard != NO_GUARD;
        is_triggered
            && is_possible()
            && (!is_guarded || (self.machine.guards[transition.guard as usize])(self.item))
    }

    fn ended(&self, state: u16) -> Option<ActionResult> {
        let action = self.machine.states[usize::from(state)].action?;
        self.body.ended(usize::from(action))
    }

    /// How many places of the memory are for histories; the interruptions come after them.
    fn histories(&self) -> usize {
        if self.machine.has_history { self.machine.state_count() } else { 0 }
    }

    fn interruptions(&self) -> usize {
        self.memory.len().saturating_sub(self.histories())
    }

    fn take(&mut self, transition: FlatTransition) {
        let from = self.agent.state;
        let to = match transition.to {
            Goes::To(to) => to,
            Goes::Push(to) => {
                self.memory.push(StateMemory(from));
                to
            }
            Goes::Back => match self.memory.pop() {
                Some(interrupted) => interrupted.0,
                None => return,
            },
        };
        let common = self.machine.common(from, to);
        let mut state = from;
        while state != common {
            state = self.exit(state);
        }
        self.enter(common, to);
    }

    /// Leaves a state; returns the one that it lies in.
    fn exit(&mut self, number: u16) -> u16 {
        let state = &self.machine.states[usize::from(number)];
        if let Some(action) = state.action {
            self.body.halt(usize::from(action));
        }
        if let Some(exit) = &state.exit {
            exit(self.item);
        }
        if self.machine.has_history && state.parent != NONE {
            self.memory[usize::from(state.parent)].0 = number;
        }
        state.parent
    }

    /// Enters what lies between a state that is active and another one, that one, and what is
    /// entered with it.
    fn enter(&mut self, common: u16, to: u16) {
        // From the outside: there are few, and asking for each level anew needs no memory.
        let mut depth = if common == NONE { 0 } else { self.depth(common) + 1 };
        while depth <= self.depth(to) {
            let at = self.machine.way(to).find(|&at| self.depth(at) == depth);
            self.enter_one(at.unwrap_or(to));
            depth += 1;
        }
        let (mut at, mut is_deep) = (to, false);
        loop {
            let state = &self.machine.states[usize::from(at)];
            if state.initial == NONE {
                break;
            }
            is_deep |= state.history == History::Deep;
            let is_kept = is_deep || state.history == History::Shallow;
            let last = if is_kept { self.memory[usize::from(at)].0 } else { NONE };
            at = if last == NONE { state.initial } else { last };
            self.enter_one(at);
        }
        (self.agent.state, self.agent.updates) = (at, 0);
    }

    fn depth(&self, state: u16) -> u16 {
        self.machine.states[usize::from(state)].depth
    }

    fn enter_one(&mut self, number: u16) {
        let state = &self.machine.states[usize::from(number)];
        if let Some(action) = state.action {
            self.body.begin(usize::from(action));
        }
        if let Some(enter) = &state.enter {
            enter(self.item);
        }
    }
}
