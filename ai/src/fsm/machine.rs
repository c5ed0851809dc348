//! State machines in their compiled form.

use std::collections::BTreeMap;

use formic_ecs::QueryData;

use super::state::{Do, History};
use super::transition::{Guard, TransitionTarget, Trigger};
use crate::explain::Label;

/// A state machine, immutable and shared by all agents that follow it; see [`Tree`](crate::bt::Tree) for sharing
/// it with code.
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
    /// The transitions out of each innermost state, consecutively; within a state the most important
    /// first.
    pub(super) transitions: Vec<FlatTransition>,
    pub(super) guards: Vec<Guard<Q>>,
    /// The description of each transition's condition, if it has one.
    pub(super) names: Vec<Option<Label>>,
    /// The names of events.
    pub(super) event_names: BTreeMap<u32, Label>,
    /// The initial state of the machine.
    pub(super) initial: u16,
    pub(super) has_history: bool,
}

debug_fields!([Q: QueryData] Machine<Q>: ; states = |it| {
    it.states.iter().map(|state| &*state.name).collect::<Vec<_>>()
});

pub(super) struct FlatState<Q: QueryData> {
    pub(super) name: Label,
    /// `NONE` for an outermost state.
    pub(super) parent: u16,
    /// The number of states that it lies in.
    pub(super) depth: u16,
    /// The state inside that is entered with it; `NONE` for an innermost state.
    pub(super) initial: u16,
    pub(super) action: Option<u16>,
    pub(super) history: History,
    pub(super) enter: Option<Do<Q>>,
    pub(super) exit: Option<Do<Q>>,
    /// The range of its transitions.
    pub(super) transitions: std::ops::Range<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FlatTransition {
    /// The state that it was declared for; the innermost state if it was declared for any.
    pub(super) from: u16,
    pub(super) to: TransitionTarget<u16>,
    pub(super) trigger: Trigger,
    /// The index of its guard; `NO_GUARD` if it has none.
    pub(super) guard: u32,
    /// Whether it depends on nothing but its guard.
    pub(super) is_plain: bool,
}

pub(super) const NONE: u16 = u16::MAX;
pub(super) const NO_GUARD: u32 = u32::MAX;

impl<Q: QueryData> Machine<Q> {
    /// The index of the state with this name.
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

    /// The event with this name, see [`MachineBuilder::event`](super::MachineBuilder::event).
    #[must_use]
    pub fn event(&self, name: &str) -> Option<u32> {
        self.event_names.iter().find(|(_, known)| ***known == *name).map(|(&event, _)| event)
    }

    /// The number of states.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// The number of entries of a [`StateMemory`](super::StateMemory) buffer that hold histories. The
    /// stack of interruptions follows them.
    pub(super) fn histories(&self) -> usize {
        if self.has_history { self.state_count() } else { 0 }
    }

    /// A state and all states that it lies in, from the inside out.
    pub(super) fn ancestors(&self, state: u16) -> impl Iterator<Item = u16> + Clone {
        let outer = |&at: &u16| Some(self.states[usize::from(at)].parent);
        std::iter::successors(Some(state), move |at| outer(at).filter(|&outer| outer != NONE))
    }

    /// The innermost state that both states lie inside, other than themselves; `NONE` if there is none.
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
