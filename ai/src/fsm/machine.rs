//! Machines: states, and what leads from one to the other, ready to be followed.

use std::collections::BTreeMap;

use formic_ecs::QueryData;

use super::state::{Do, History};
use super::transition::{Ask, Goes, Trigger};
use crate::explain::Label;

/// A state machine: shared by all agents that follow it, and never changed.
///
/// ```
/// use formic_ai::fsm::{MachineBuilder, State, Transition};
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Patrol;
/// # #[derive(Component, Clone)] struct Chase;
/// #[derive(Component)]
/// struct Enemy { distance: f32 }
/// let actions = ActionSet::new().action("patrol", Patrol).action("chase", Chase);
/// let go = Transition::<&Enemy>::new;
/// let machine = MachineBuilder::new()
///     .state(State::new("patrolling").action("patrol"))
///     .state(State::new("chasing").action("chase"))
///     .transition(go("patrolling", "chasing").when(|enemy| enemy.distance < 5.0))
///     .transition(go("chasing", "patrolling").when(|enemy| enemy.distance > 9.0))
///     .build(&actions)?;
/// assert_eq!(machine.find("chasing"), Some(1));
/// # Ok::<(), formic_ai::action::MindError>(())
/// ```
pub struct Machine<Q: QueryData> {
    pub(super) states: Vec<FlatState<Q>>,
    /// For each innermost state, what can lead away from it, most important first; one after the
    /// other.
    pub(super) transitions: Vec<FlatTransition>,
    pub(super) guards: Vec<Ask<Q>>,
    /// For each of the transitions what it asks for, in words.
    pub(super) names: Vec<Option<Label>>,
    /// What events are called.
    pub(super) event_names: BTreeMap<u32, Label>,
    /// The initial state of the whole.
    pub(super) initial: u16,
    pub(super) has_history: bool,
}

debug_fields!([Q: QueryData] Machine<Q>: ; states = |it| {
    it.states.iter().map(|state| &*state.name).collect::<Vec<_>>()
});

pub(super) struct FlatState<Q: QueryData> {
    pub(super) name: Label,
    /// `NONE` for the outermost.
    pub(super) parent: u16,
    /// How many states it lies in.
    pub(super) depth: u16,
    /// The state inside that is entered with it; `NONE` for the innermost.
    pub(super) initial: u16,
    pub(super) action: Option<u16>,
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
    /// Its place among the guards; `NO_GUARD` for none.
    pub(super) guard: u32,
    /// Whether it depends on nothing but its guard.
    pub(super) is_plain: bool,
}

pub(super) const NONE: u16 = u16::MAX;
pub(super) const NO_GUARD: u32 = u32::MAX;

impl<Q: QueryData> Machine<Q> {
    /// The place of the state of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.states.iter().position(|state| *state.name == *name)
    }

    /// The name of a state.
    ///
    /// # Panics
    /// Panics if there is no such state.
    #[must_use]
    pub fn name(&self, state: usize) -> &str {
        &self.states[state].name
    }

    /// The event of this name, see [`MachineBuilder::event`](super::MachineBuilder::event).
    #[must_use]
    pub fn event(&self, name: &str) -> Option<u32> {
        self.event_names.iter().find(|(_, known)| ***known == *name).map(|(&event, _)| event)
    }

    /// How many states there are.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// How many places of a memory are for histories; the interruptions come after them.
    pub(super) fn histories(&self) -> usize {
        if self.has_history { self.state_count() } else { 0 }
    }

    /// A state and those that it lies in, outwards.
    pub(super) fn way(&self, state: u16) -> impl Iterator<Item = u16> + Clone {
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
