//! Machines: states, what leads from one to the other, and how they lie inside each other.

use std::fmt;

use ecs_core::QueryData;

use crate::action::Plan;

type Ask<Q> = Box<dyn for<'a> Fn(&<Q as QueryData>::Item<'a>) -> bool + Send + Sync>;
type Do<Q> = Box<dyn for<'a> Fn(&mut <Q as QueryData>::Item<'a>) + Send + Sync>;

/// What a state with states inside goes back to when it is entered again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum History {
    /// Its initial state.
    #[default]
    None,
    /// The state inside it that was left last, and the initial one inside that.
    Shallow,
    /// The states inside it that were left last, all the way down.
    Deep,
}

/// A state of a [`Machine`], in the making.
pub struct State<Q: QueryData> {
    name: String,
    inside: Option<String>,
    initial: Option<String>,
    action: Option<String>,
    history: History,
    enter: Option<Do<Q>>,
    exit: Option<Do<Q>>,
}

impl<Q: QueryData> fmt::Debug for State<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<Q: QueryData> State<Q> {
    /// A state in which nothing is done.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            inside: None,
            initial: None,
            action: None,
            history: History::None,
            enter: None,
            exit: None,
        }
    }

    /// Puts it inside another state.
    #[must_use]
    pub fn inside(mut self, parent: impl Into<String>) -> Self {
        self.inside = Some(parent.into());
        self
    }

    /// Which of the states inside it is entered with it; the first where nothing is said.
    #[must_use]
    pub fn initial(mut self, child: impl Into<String>) -> Self {
        self.initial = Some(child.into());
        self
    }

    /// The action of the agent's body that is carried out while the state is active.
    #[must_use]
    pub fn action(mut self, name: impl Into<String>) -> Self {
        self.action = Some(name.into());
        self
    }

    /// What it goes back to when it is entered again.
    #[must_use]
    pub const fn history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// What is done to the agent's components when the state is entered.
    #[must_use]
    pub fn on_enter(
        mut self,
        act: impl for<'a> Fn(&mut Q::Item<'a>) + Send + Sync + 'static,
    ) -> Self {
        self.enter = Some(Box::new(act));
        self
    }

    /// What is done to the agent's components when the state is left.
    #[must_use]
    pub fn on_exit(
        mut self,
        act: impl for<'a> Fn(&mut Q::Item<'a>) + Send + Sync + 'static,
    ) -> Self {
        self.exit = Some(Box::new(act));
        self
    }
}

/// What leads from one state to another, in the making.
///
/// It is taken when all that it asks for is the case: its event, its time, its guard.
pub struct Transition<Q: QueryData> {
    /// `None` for any state.
    from: Option<String>,
    to: Goes<String>,
    guard: Option<Ask<Q>>,
    trigger: Trigger,
    priority: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes<S> {
    To(S),
    /// There, and the state that was left comes back with the next `Back`.
    Push(S),
    Back,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    Always,
    Event(u32),
    /// So many updates after the innermost state was entered.
    After(u32),
    Done,
    Failed,
}

impl<Q: QueryData> fmt::Debug for Transition<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transition")
            .field("from", &self.from)
            .field("to", &self.to)
            .field("trigger", &self.trigger)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl<Q: QueryData> Transition<Q> {
    fn of(from: Option<String>, to: Goes<String>) -> Self {
        Self { from, to, guard: None, trigger: Trigger::Always, priority: 0 }
    }

    /// From a state, and the states inside it, to another.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::of(Some(from.into()), Goes::To(to.into()))
    }

    /// From any state but the one that it leads to and those inside it.
    pub fn from_any(to: impl Into<String>) -> Self {
        Self::of(None, Goes::To(to.into()))
    }

    /// An interruption: from a state to another, and [back](Self::back) to the innermost state that
    /// was left.
    pub fn interrupt(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::of(Some(from.into()), Goes::Push(to.into()))
    }

    /// An interruption of any state but the one that it leads to and those inside it.
    pub fn interrupt_any(to: impl Into<String>) -> Self {
        Self::of(None, Goes::Push(to.into()))
    }

    /// Back to the innermost state that was interrupted last. It is not taken where there is none.
    pub fn back(from: impl Into<String>) -> Self {
        Self::of(Some(from.into()), Goes::Back)
    }

    /// Asks for a condition.
    #[must_use]
    pub fn when(
        mut self,
        ask: impl for<'a> Fn(&Q::Item<'a>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.guard = Some(Box::new(ask));
        self
    }

    /// Asks for an event, from 0 to 63, that the agent was [sent](super::FsmAgent::send).
    ///
    /// # Panics
    /// Where it is above 63.
    #[must_use]
    pub fn on(mut self, event: u32) -> Self {
        assert!(event < 64, "there are 64 events, and {event} is none");
        self.trigger = Trigger::Event(event);
        self
    }

    /// Asks that the innermost state was entered so many updates ago at least.
    #[must_use]
    pub const fn after(mut self, updates: u32) -> Self {
        self.trigger = Trigger::After(updates);
        self
    }

    /// Asks that the action of the state that it leads from is done.
    #[must_use]
    pub const fn when_done(mut self) -> Self {
        self.trigger = Trigger::Done;
        self
    }

    /// Asks that the action of the state that it leads from has failed.
    #[must_use]
    pub const fn when_failed(mut self) -> Self {
        self.trigger = Trigger::Failed;
        self
    }

    /// Of transitions that could be taken, the one of the highest priority is; of equals the one
    /// that was added first.
    #[must_use]
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }
}

/// A state machine: shared by all agents that follow it, and never changed.
///
/// ```
/// use ai::fsm::{Machine, MachineBuilder, State, Transition};
/// use ai::prelude::*;
/// # #[derive(Component, Clone)] struct Patrol;
/// # #[derive(Component, Clone)] struct Chase;
/// #[derive(Component)]
/// struct Enemy { distance: f32 }
/// let plan = Plan::new().action("patrol", Patrol).action("chase", Chase);
/// let machine: Machine<&'static Enemy> = MachineBuilder::new()
///     .state(State::new("patrolling").action("patrol"))
///     .state(State::new("chasing").action("chase"))
///     .transition(
///         Transition::new("patrolling", "chasing").when(|enemy: &&Enemy| enemy.distance < 5.0),
///     )
///     .transition(
///         Transition::new("chasing", "patrolling").when(|enemy: &&Enemy| enemy.distance > 9.0),
///     )
///     .build(&plan)?;
/// assert_eq!(machine.find("chasing"), Some(1));
/// # Ok::<(), ai::fsm::MachineError>(())
/// ```
pub struct Machine<Q: QueryData> {
    pub(super) states: Vec<FlatState<Q>>,
    /// For each innermost state, what can lead away from it, most important first; one after the
    /// other.
    pub(super) transitions: Vec<FlatTransition>,
    pub(super) guards: Vec<Ask<Q>>,
    /// The initial state of the whole.
    pub(super) initial: u16,
    pub(super) has_history: bool,
}

impl<Q: QueryData> fmt::Debug for Machine<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.states.iter().map(|state| state.name.as_str()).collect();
        f.debug_struct("Machine").field("states", &names).finish_non_exhaustive()
    }
}

pub(super) struct FlatState<Q: QueryData> {
    pub(super) name: String,
    /// `NONE` for the outermost.
    pub(super) parent: u16,
    /// How many states it lies in.
    pub(super) depth: u16,
    /// The state inside that is entered with it; `NONE` for the innermost.
    pub(super) initial: u16,
    pub(super) action: Option<u8>,
    pub(super) history: History,
    pub(super) enter: Option<Do<Q>>,
    pub(super) exit: Option<Do<Q>>,
    /// Where its transitions are.
    pub(super) transitions: std::ops::Range<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FlatTransition {
    /// The state that it was declared for; the innermost one where it is for any.
    pub(super) from: u16,
    pub(super) to: Goes<u16>,
    pub(super) trigger: Trigger,
    /// Its place among the guards; `NONE_GUARD` for none.
    pub(super) guard: u32,
}

pub(super) const NONE: u16 = u16::MAX;
pub(super) const NO_GUARD: u32 = u32::MAX;

/// Why states do not make a [`Machine`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MachineError {
    /// There are no states, or more than 4,096.
    StateCount(usize),
    /// Two states have the same name.
    DefinedTwice(String),
    /// There is no state of this name.
    UnknownState(String),
    /// No action of the plan has this name.
    UnknownAction(String),
    /// A state lies inside itself.
    InsideItself(String),
    /// The initial state of a state does not lie directly inside it.
    NotInside {
        /// The initial state.
        child: String,
        /// The state that it was said to be the initial one of.
        parent: String,
    },
    /// Two states that can be active at a time have the same action.
    SharedAction(String),
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StateCount(count) => {
                write!(f, "a machine has from 1 to 4096 states, and not {count}")
            }
            Self::DefinedTwice(name) => write!(f, "the state {name:?} is defined twice"),
            Self::UnknownState(name) => write!(f, "there is no state {name:?}"),
            Self::UnknownAction(name) => write!(f, "there is no action {name:?}"),
            Self::InsideItself(name) => write!(f, "the state {name:?} lies inside itself"),
            Self::NotInside { child, parent } => {
                write!(f, "the state {child:?} does not lie directly inside {parent:?}")
            }
            Self::SharedAction(name) => {
                write!(f, "a state and one inside it have the same action {name:?}")
            }
        }
    }
}

impl std::error::Error for MachineError {}

/// A [`Machine`] in the making.
#[derive(Debug)]
pub struct MachineBuilder<Q: QueryData> {
    states: Vec<State<Q>>,
    transitions: Vec<Transition<Q>>,
}

impl<Q: QueryData> Default for MachineBuilder<Q> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Q: QueryData> MachineBuilder<Q> {
    /// Neither states nor transitions yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { states: Vec::new(), transitions: Vec::new() }
    }

    /// Adds a state. The first of those that lie in no other is the initial one.
    #[must_use]
    pub fn state(mut self, state: State<Q>) -> Self {
        self.states.push(state);
        self
    }

    /// Adds a transition.
    #[must_use]
    pub fn transition(mut self, transition: Transition<Q>) -> Self {
        self.transitions.push(transition);
        self
    }

    fn find(&self, name: &str) -> Result<u16, MachineError> {
        let place = self.states.iter().position(|state| state.name == name);
        let place = place.and_then(|place| u16::try_from(place).ok());
        place.ok_or_else(|| MachineError::UnknownState(name.into()))
    }

    /// Checks everything and finds the actions of the states in a plan.
    ///
    /// # Errors
    /// See [`MachineError`].
    #[expect(clippy::missing_panics_doc, reason = "so many transitions do not fit into memory")]
    pub fn build(mut self, plan: &Plan) -> Result<Machine<Q>, MachineError> {
        let count = self.states.len();
        if !(1..=4096).contains(&count) {
            return Err(MachineError::StateCount(count));
        }
        let parents = self.parents()?;
        let initials = self.initials(&parents)?;
        let outer = |&at: &u16| Some(parents[usize::from(at)]).filter(|&outer| outer != NONE);
        let way = |state: u16| std::iter::successors(Some(state), outer);
        let mut flat: Vec<(u16, i32, FlatTransition)> = Vec::new();
        let mut guards = Vec::new();
        for transition in std::mem::take(&mut self.transitions) {
            let from = transition.from.as_deref().map(|name| self.find(name)).transpose()?;
            let to = match &transition.to {
                Goes::To(name) => Goes::To(self.find(name)?),
                Goes::Push(name) => Goes::Push(self.find(name)?),
                Goes::Back => Goes::Back,
            };
            let guard = transition.guard.map_or(NO_GUARD, |guard| {
                guards.push(guard);
                u32::try_from(guards.len() - 1).unwrap_or(NO_GUARD)
            });
            let entry = FlatTransition { from: 0, to, trigger: transition.trigger, guard };
            for leaf in (0..).take(count).filter(|&state| initials[usize::from(state)] == NONE) {
                let applies = match (from, to) {
                    (Some(from), _) => way(leaf).any(|state| state == from),
                    (None, Goes::To(to) | Goes::Push(to)) => way(leaf).all(|state| state != to),
                    (None, Goes::Back) => true,
                };
                if applies {
                    let entry = FlatTransition { from: from.unwrap_or(leaf), ..entry };
                    flat.push((leaf, transition.priority, entry));
                }
            }
        }
        // Stable: equals stay in the order of adding.
        flat.sort_by_key(|&(leaf, priority, _)| (leaf, std::cmp::Reverse(priority)));
        let place = |at: usize| u32::try_from(at).expect("fewer transitions than 2^32");
        let mut states = Vec::with_capacity(count);
        for (number, state) in (0..).zip(std::mem::take(&mut self.states)) {
            let first = flat.partition_point(|&(leaf, ..)| leaf < number);
            let end = flat.partition_point(|&(leaf, ..)| leaf <= number);
            let action = match &state.action {
                None => None,
                Some(name) => {
                    let found = plan.find(name).and_then(|action| u8::try_from(action).ok());
                    Some(found.ok_or_else(|| MachineError::UnknownAction(name.clone()))?)
                }
            };
            states.push(FlatState {
                parent: parents[usize::from(number)],
                depth: u16::try_from(way(number).count() - 1).unwrap_or(NONE),
                initial: initials[usize::from(number)],
                action,
                name: state.name,
                history: state.history,
                enter: state.enter,
                exit: state.exit,
                transitions: place(first)..place(end),
            });
        }
        for (number, state) in (0..).zip(&states) {
            let mut outer = way(number).skip(1).map(|outer| &states[usize::from(outer)]);
            if state.action.is_some() && outer.any(|outer| outer.action == state.action) {
                return Err(MachineError::SharedAction(state.name.clone()));
            }
        }
        let initial = (0..).zip(&parents).find(|&(_, &parent)| parent == NONE).map_or(0, |it| it.0);
        let has_history = states.iter().any(|state| state.history != History::None);
        let transitions = flat.into_iter().map(|(_, _, transition)| transition).collect();
        Ok(Machine { states, transitions, guards, initial, has_history })
    }

    /// For each state the one that it lies in.
    fn parents(&self) -> Result<Vec<u16>, MachineError> {
        let mut parents = Vec::with_capacity(self.states.len());
        for (place, state) in self.states.iter().enumerate() {
            if self.states[..place].iter().any(|other| other.name == state.name) {
                return Err(MachineError::DefinedTwice(state.name.clone()));
            }
            parents.push(match &state.inside {
                Some(parent) => self.find(parent)?,
                None => NONE,
            });
        }
        for (start, state) in self.states.iter().enumerate() {
            let mut at = parents[start];
            for _ in 0..=self.states.len() {
                if at == NONE {
                    break;
                }
                at = parents[usize::from(at)];
            }
            if at != NONE {
                return Err(MachineError::InsideItself(state.name.clone()));
            }
        }
        Ok(parents)
    }

    /// For each state the one inside it that is entered with it.
    fn initials(&self, parents: &[u16]) -> Result<Vec<u16>, MachineError> {
        let mut initials = vec![NONE; self.states.len()];
        for (child, &parent) in (0..).zip(parents) {
            if parent != NONE && initials[usize::from(parent)] == NONE {
                initials[usize::from(parent)] = child;
            }
        }
        for (number, state) in (0..).zip(&self.states) {
            let Some(name) = &state.initial else { continue };
            let child = self.find(name)?;
            if parents[usize::from(child)] != number {
                let parent = state.name.clone();
                return Err(MachineError::NotInside { child: name.clone(), parent });
            }
            initials[usize::from(number)] = child;
        }
        Ok(initials)
    }
}

impl<Q: QueryData> Machine<Q> {
    /// The place of the state of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.states.iter().position(|state| state.name == name)
    }

    /// The name of a state.
    ///
    /// # Panics
    /// Where there is no such state.
    #[must_use]
    pub fn name(&self, state: usize) -> &str {
        &self.states[state].name
    }

    /// How many states there are.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// A state and those that it lies in, outwards.
    pub(super) fn way(&self, state: u16) -> impl Iterator<Item = u16> {
        let outer = |&at: &u16| Some(self.states[usize::from(at)].parent);
        std::iter::successors(Some(state), move |at| outer(at).filter(|&outer| outer != NONE))
    }

    /// The innermost state that both lie inside, and are not themselves; `NONE` for the whole.
    pub(super) fn common(&self, a: u16, b: u16) -> u16 {
        let outer = |state: u16| self.states[usize::from(state)].parent;
        let (mut a, mut b) = (outer(a), outer(b));
        let depth =
            |state: u16| if state == NONE { 0 } else { self.states[usize::from(state)].depth + 1 };
        while a != b {
            if depth(a) >= depth(b) {
                a = outer(a);
            } else {
                b = outer(b);
            }
        }
        a
    }
}
