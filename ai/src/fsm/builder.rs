//! The builder of state machines.

use std::collections::{BTreeMap, BTreeSet};

use formic_ecs::QueryData;

use super::machine::{FlatState, FlatTransition, Machine, NO_GUARD, NONE};
use super::state::{History, State};
use super::transition::{EVENTS_MAX, Transition, TransitionTarget, Trigger};
use crate::action::{ActionSet, MindError};
use crate::explain::Label;

/// A builder for a [`Machine`].
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

/// The indices of states, by name.
struct Places(BTreeMap<String, u16>);

impl Places {
    fn of<Q: QueryData>(states: &[State<Q>]) -> Result<Self, MindError> {
        let mut places = BTreeMap::new();
        for (place, state) in (0..).zip(states) {
            if places.insert(state.name.clone(), place).is_some() {
                let problem = format!("the state {:?} is defined twice", state.name);
                return Err(MindError::twice("name", &state.name, problem));
            }
        }
        Ok(Self(places))
    }

    fn find(&self, name: &str) -> Result<u16, MindError> {
        let known = self.0.keys().map(String::as_str);
        self.0.get(name).copied().ok_or_else(|| MindError::unknown("state", "", name, known))
    }
}

impl<Q: QueryData> MachineBuilder<Q> {
    /// The maximum number of transitions of a machine. A transition counts once for each innermost state
    /// that it leads from, so one from any state counts once per innermost state.
    pub const TRANSITIONS_MAX: usize = TRANSITIONS_MAX;

    /// Creates a builder without states and transitions.
    #[must_use]
    pub const fn new() -> Self {
        Self { states: Vec::new(), transitions: Vec::new(), event_names: BTreeMap::new() }
    }

    /// Adds a state. The first state that lies in no other is the initial one.
    #[must_use]
    pub fn state(mut self, state: State<Q>) -> Self {
        self.states.push(state);
        self
    }

    /// Names an event, for [decision records](crate::explain).
    ///
    /// # Panics
    /// Panics if the event is not below [`FsmAgent::EVENTS_MAX`](super::FsmAgent::EVENTS_MAX).
    #[must_use]
    pub fn event(mut self, event: u32, name: impl Into<Label>) -> Self {
        assert!(event < EVENTS_MAX, "there are {EVENTS_MAX} events");
        self.event_names.insert(event, name.into());
        self
    }

    /// Adds a transition.
    #[must_use]
    pub fn transition(mut self, transition: Transition<Q>) -> Self {
        self.transitions.push(transition);
        self
    }

    /// Checks the machine and resolves the names of its states, actions and events.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// * there are no states, or more than 4,096,
    /// * there are more than [`TRANSITIONS_MAX`](Self::TRANSITIONS_MAX) transitions,
    /// * a name is given twice or is unknown,
    /// * a state lies inside itself,
    /// * a state has the same action as one that it lies in,
    /// * an initial state is not directly inside its state, or
    /// * a transition waits for the end of an action where there is none.
    pub fn build(self, actions: &ActionSet) -> Result<Machine<Q>, MindError> {
        self.build_with(&actions.names().collect::<Vec<_>>())
    }

    /// Does the same with a list of action names.
    pub(super) fn build_with(mut self, actions: &[&str]) -> Result<Machine<Q>, MindError> {
        let count = self.states.len();
        if !(1..=4096).contains(&count) {
            let problem = format!("a machine has from 1 to 4096 states, and not {count}");
            return Err(MindError::new(problem));
        }
        let places = Places::of(&self.states)?;
        let mut events = BTreeSet::new();
        if let Some(event) = self.event_names.values().find(|&event| !events.insert(event)) {
            let problem = format!("the event {event:?} is defined twice");
            return Err(MindError::twice("", event, problem));
        }
        let parents = self.parents(&places)?;
        let initials = self.initials(&places, &parents)?;
        let outer = |&at: &u16| Some(parents[usize::from(at)]).filter(|&outer| outer != NONE);
        let ancestors = |state: u16| std::iter::successors(Some(state), outer);
        // The innermost states inside each state, in order.
        let is_leaf = |&state: &u16| initials[usize::from(state)] == NONE;
        let all: Vec<u16> = (0..).take(count).filter(is_leaf).collect();
        let mut leaves = vec![Vec::new(); count];
        for &leaf in &all {
            ancestors(leaf).for_each(|state| leaves[usize::from(state)].push(leaf));
        }
        let mut flat: Vec<(u16, i32, FlatTransition, Option<Label>)> = Vec::new();
        let mut guards = Vec::new();
        for transition in std::mem::take(&mut self.transitions) {
            let from = transition.from.as_deref().map(|name| places.find(name)).transpose()?;
            let to = match &transition.to {
                TransitionTarget::To(name) => TransitionTarget::To(places.find(name)?),
                TransitionTarget::Push(name) => TransitionTarget::Push(places.find(name)?),
                TransitionTarget::Back => TransitionTarget::Back,
            };
            if matches!(transition.trigger, Trigger::Done | Trigger::Failed) {
                let has_action = match from {
                    Some(from) => self.states[usize::from(from)].action.is_some(),
                    None => self.states.iter().any(|state| state.action.is_some()),
                };
                if !has_action {
                    let from = transition.from.as_deref().unwrap_or("any");
                    let problem = format!(
                        "a transition waits for the end of the action of {from:?}, which has none"
                    );
                    return Err(MindError::about("from", from, problem));
                }
            }
            let guard = transition.guard.map_or(NO_GUARD, |guard| {
                guards.push(guard);
                u32::try_from(guards.len() - 1).unwrap_or(NO_GUARD)
            });
            let trigger = transition.trigger;
            let is_plain = trigger == Trigger::Always && matches!(to, TransitionTarget::To(_));
            let entry = FlatTransition { from: 0, to, trigger, guard, is_plain };
            let stays: &[u16] = match (from, to) {
                (None, TransitionTarget::To(to) | TransitionTarget::Push(to)) => {
                    &leaves[usize::from(to)]
                }
                _ => &[],
            };
            for &leaf in from.map_or(&all, |from| &leaves[usize::from(from)]) {
                if stays.binary_search(&leaf).is_ok() {
                    continue;
                }
                if flat.len() == TRANSITIONS_MAX {
                    let problem = format!(
                        "the transitions, counted for each state that they lead from, are more \
                         than {TRANSITIONS_MAX}"
                    );
                    return Err(MindError::new(problem));
                }
                let entry = FlatTransition { from: from.unwrap_or(leaf), ..entry };
                flat.push((leaf, transition.priority, entry, transition.name.clone()));
            }
        }
        // The sort is stable: transitions of equal priority stay in the order in which they were added.
        flat.sort_by_key(|it| (it.0, std::cmp::Reverse(it.1)));
        let place = |at: usize| u32::try_from(at).expect("fewer transitions than 2^32");
        let mut states = Vec::with_capacity(count);
        for (number, state) in (0..).zip(std::mem::take(&mut self.states)) {
            let first = flat.partition_point(|it| it.0 < number);
            let end = flat.partition_point(|it| it.0 <= number);
            let action = match &state.action {
                None => None,
                Some(name) => {
                    let known = actions.iter().copied();
                    let found = (0..).zip(known.clone()).find(|it| it.1 == name).map(|it| it.0);
                    let unknown = || MindError::unknown("action", "action", name, known);
                    Some(found.ok_or_else(unknown)?)
                }
            };
            states.push(FlatState {
                parent: parents[usize::from(number)],
                depth: u16::try_from(ancestors(number).count() - 1).unwrap_or(NONE),
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
            let mut outer = ancestors(number).skip(1).map(|outer| &states[usize::from(outer)]);
            if state.action.is_some() && outer.any(|outer| outer.action == state.action) {
                let problem =
                    format!("a state and one inside it have the same action {:?}", state.name);
                return Err(MindError::about("name", &state.name, problem));
            }
        }
        let initial = (0..).zip(&parents).find(|&(_, &parent)| parent == NONE).map_or(0, |it| it.0);
        let has_history = states.iter().any(|state| state.history != History::None);
        let (transitions, names) = flat.into_iter().map(|it| (it.2, it.3)).unzip();
        let event_names = std::mem::take(&mut self.event_names);
        Ok(Machine { states, transitions, guards, names, event_names, initial, has_history })
    }

    /// The parent of each state.
    fn parents(&self, places: &Places) -> Result<Vec<u16>, MindError> {
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
                let problem = format!("the state {:?} lies inside itself", state.name);
                return Err(MindError::about("name", &state.name, problem));
            }
        }
        Ok(parents)
    }

    /// The initial child of each state.
    fn initials(&self, places: &Places, parents: &[u16]) -> Result<Vec<u16>, MindError> {
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
                let problem =
                    format!("the state {name:?} does not lie directly inside {:?}", state.name);
                return Err(MindError::about("initial", name, problem));
            }
            initials[usize::from(number)] = child;
        }
        Ok(initials)
    }
}
