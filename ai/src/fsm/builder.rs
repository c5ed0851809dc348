//! Machines in the making, and what can be wrong with them.

use std::collections::{BTreeMap, HashMap};

use formic_ecs::QueryData;

use super::machine::{FlatState, FlatTransition, Machine, NO_GUARD, NONE};
use super::state::{History, State};
use super::transition::{Goes, Transition, Trigger};
use crate::action::ActionSet;
use crate::explain::Label;

debug_as_text!(MachineError);

/// Why states do not make a [`Machine`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// There are no states, or more than 4,096.
    #[error("a machine has from 1 to 4096 states, and not {0}")]
    StateCount(usize),
    /// Two states have the same name.
    #[error("the state {0:?} is defined twice")]
    DefinedTwice(String),
    /// There is no state of this name.
    #[error("there is no state {0:?}")]
    UnknownState(String),
    /// No action of the plan has this name.
    #[error("there is no action {0:?}")]
    UnknownAction(String),
    /// A state lies inside itself.
    #[error("the state {0:?} lies inside itself")]
    InsideItself(String),
    /// The initial state of a state does not lie directly inside it.
    #[error("the state {child:?} does not lie directly inside {parent:?}")]
    NotInside {
        /// The initial state.
        child: String,
        /// The state that it was said to be the initial one of.
        parent: String,
    },
    /// Two states that can be active at a time have the same action.
    #[error("a state and one inside it have the same action {0:?}")]
    SharedAction(String),
    /// A transition waits for the end of an action, and leads from this state, which has none; it is
    /// `any` where no state has one.
    #[error("a transition waits for the end of the action of {0:?}, which has none")]
    NoAction(String),
    /// Each innermost state has a list of the transitions that lead away from it, and these lists
    /// are longer than [`MachineBuilder::TRANSITIONS_MAX`] together.
    #[error(
        "the transitions, counted for each state that they lead from, are more than {}",
        TRANSITIONS_MAX
    )]
    TooManyTransitions,
}

/// A [`Machine`] in the making.
#[derive(Debug)]
pub struct MachineBuilder<Q: QueryData> {
    states: Vec<State<Q>>,
    transitions: Vec<Transition<Q>>,
    event_names: BTreeMap<u32, Label>,
}

impl<Q: QueryData> Default for MachineBuilder<Q> {
    fn default() -> Self {
        Self::new()
    }
}

/// See [`MachineBuilder::TRANSITIONS_MAX`].
const TRANSITIONS_MAX: usize = 1 << 20;

/// The places of states, by their names.
struct Places(HashMap<String, u16>);

impl Places {
    fn of<Q: QueryData>(states: &[State<Q>]) -> Result<Self, MachineError> {
        let mut places = HashMap::with_capacity(states.len());
        for (place, state) in (0..).zip(states) {
            if places.insert(state.name.clone(), place).is_some() {
                return Err(MachineError::DefinedTwice(state.name.clone()));
            }
        }
        Ok(Self(places))
    }

    fn find(&self, name: &str) -> Result<u16, MachineError> {
        self.0.get(name).copied().ok_or_else(|| MachineError::UnknownState(name.into()))
    }
}

impl<Q: QueryData> MachineBuilder<Q> {
    /// How many transitions a machine may have, each counted for every innermost state that it leads
    /// from: one that leads from any state counts once for each of them.
    pub const TRANSITIONS_MAX: usize = TRANSITIONS_MAX;

    /// Neither states nor transitions yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { states: Vec::new(), transitions: Vec::new(), event_names: BTreeMap::new() }
    }

    /// Adds a state. The first of those that lie in no other is the initial one.
    #[must_use]
    pub fn state(mut self, state: State<Q>) -> Self {
        self.states.push(state);
        self
    }

    /// Says what an event is called in [records](crate::explain).
    #[must_use]
    pub fn event(mut self, event: u32, name: impl Into<Label>) -> Self {
        self.event_names.insert(event, name.into());
        self
    }

    /// Adds a transition.
    #[must_use]
    pub fn transition(mut self, transition: Transition<Q>) -> Self {
        self.transitions.push(transition);
        self
    }

    /// Checks everything and finds the actions of the states in a plan.
    ///
    /// # Errors
    /// See [`MachineError`].
    pub fn build(self, actions: &ActionSet) -> Result<Machine<Q>, MachineError> {
        self.build_with(|name| actions.find(name))
    }

    /// The same where actions are found in another way.
    pub(super) fn build_with(
        mut self,
        find: impl Fn(&str) -> Option<usize>,
    ) -> Result<Machine<Q>, MachineError> {
        let count = self.states.len();
        if !(1..=4096).contains(&count) {
            return Err(MachineError::StateCount(count));
        }
        let places = Places::of(&self.states)?;
        let parents = self.parents(&places)?;
        let initials = self.initials(&places, &parents)?;
        let outer = |&at: &u16| Some(parents[usize::from(at)]).filter(|&outer| outer != NONE);
        let way = |state: u16| std::iter::successors(Some(state), outer);
        // The innermost states inside each state, in their order.
        let is_leaf = |&state: &u16| initials[usize::from(state)] == NONE;
        let all: Vec<u16> = (0..).take(count).filter(is_leaf).collect();
        let mut leaves = vec![Vec::new(); count];
        for &leaf in &all {
            way(leaf).for_each(|state| leaves[usize::from(state)].push(leaf));
        }
        let mut flat: Vec<(u16, i32, FlatTransition, Option<Label>)> = Vec::new();
        let mut guards = Vec::new();
        for transition in std::mem::take(&mut self.transitions) {
            let from = transition.from.as_deref().map(|name| places.find(name)).transpose()?;
            let to = match &transition.to {
                Goes::To(name) => Goes::To(places.find(name)?),
                Goes::Push(name) => Goes::Push(places.find(name)?),
                Goes::Back => Goes::Back,
            };
            if matches!(transition.trigger, Trigger::Done | Trigger::Failed) {
                let has_action = match from {
                    Some(from) => self.states[usize::from(from)].action.is_some(),
                    None => self.states.iter().any(|state| state.action.is_some()),
                };
                if !has_action {
                    return Err(MachineError::NoAction(transition.from.unwrap_or("any".into())));
                }
            }
            let guard = transition.guard.map_or(NO_GUARD, |guard| {
                guards.push(guard);
                u32::try_from(guards.len() - 1).unwrap_or(NO_GUARD)
            });
            let trigger = transition.trigger;
            let is_plain = trigger == Trigger::Always && matches!(to, Goes::To(_));
            let entry = FlatTransition { from: 0, to, trigger, guard, is_plain };
            let stays: &[u16] = match (from, to) {
                (None, Goes::To(to) | Goes::Push(to)) => &leaves[usize::from(to)],
                _ => &[],
            };
            for &leaf in from.map_or(&all, |from| &leaves[usize::from(from)]) {
                if stays.binary_search(&leaf).is_ok() {
                    continue;
                }
                if flat.len() == TRANSITIONS_MAX {
                    return Err(MachineError::TooManyTransitions);
                }
                let entry = FlatTransition { from: from.unwrap_or(leaf), ..entry };
                flat.push((leaf, transition.priority, entry, transition.name.clone()));
            }
        }
        // Stable: equals stay in the order of adding.
        flat.sort_by_key(|it| (it.0, std::cmp::Reverse(it.1)));
        let place = |at: usize| u32::try_from(at).expect("fewer transitions than 2^32");
        let mut states = Vec::with_capacity(count);
        for (number, state) in (0..).zip(std::mem::take(&mut self.states)) {
            let first = flat.partition_point(|it| it.0 < number);
            let end = flat.partition_point(|it| it.0 <= number);
            let action = match &state.action {
                None => None,
                Some(name) => {
                    let found = find(name).and_then(|action| u16::try_from(action).ok());
                    Some(found.ok_or_else(|| MachineError::UnknownAction(name.clone()))?)
                }
            };
            states.push(FlatState {
                parent: parents[usize::from(number)],
                depth: u16::try_from(way(number).count() - 1).unwrap_or(NONE),
                initial: initials[usize::from(number)],
                action,
                name: state.name.into(),
                history: state.history,
                enter: state.enter,
                exit: state.exit,
                transitions: place(first)..place(end),
            });
        }
        for (number, state) in (0..).zip(&states) {
            let mut outer = way(number).skip(1).map(|outer| &states[usize::from(outer)]);
            if state.action.is_some() && outer.any(|outer| outer.action == state.action) {
                return Err(MachineError::SharedAction(state.name.to_string()));
            }
        }
        let initial = (0..).zip(&parents).find(|&(_, &parent)| parent == NONE).map_or(0, |it| it.0);
        let has_history = states.iter().any(|state| state.history != History::None);
        let (transitions, names) = flat.into_iter().map(|it| (it.2, it.3)).unzip();
        let event_names = std::mem::take(&mut self.event_names);
        Ok(Machine { states, transitions, guards, names, event_names, initial, has_history })
    }

    /// For each state the one that it lies in.
    fn parents(&self, places: &Places) -> Result<Vec<u16>, MachineError> {
        let inside = |state: &State<Q>| match &state.inside {
            Some(parent) => places.find(parent),
            None => Ok(NONE),
        };
        let parents = self.states.iter().map(inside).collect::<Result<Vec<u16>, _>>()?;
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
    fn initials(&self, places: &Places, parents: &[u16]) -> Result<Vec<u16>, MachineError> {
        let mut initials = vec![NONE; self.states.len()];
        for (child, &parent) in (0..).zip(parents) {
            if parent != NONE && initials[usize::from(parent)] == NONE {
                initials[usize::from(parent)] = child;
            }
        }
        for (number, state) in (0..).zip(&self.states) {
            let Some(name) = &state.initial else { continue };
            let child = places.find(name)?;
            if parents[usize::from(child)] != number {
                let parent = state.name.clone();
                return Err(MachineError::NotInside { child: name.clone(), parent });
            }
            initials[usize::from(number)] = child;
        }
        Ok(initials)
    }
}
