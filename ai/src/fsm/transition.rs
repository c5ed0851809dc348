//! Transitions, as declared for the builder.

use formic_ecs::QueryData;

use crate::bits::WORDS_MAX;
use crate::explain::Label;

/// The number of events.
pub(super) const EVENTS_MAX: u32 = 1024;
const _: () = assert!(EVENTS_MAX as usize == 64 * WORDS_MAX, "a set has room for all");

pub(super) type Guard<Q> = Box<dyn for<'a> Fn(&<Q as QueryData>::Item<'a>) -> bool + Send + Sync>;

/// A transition from one state to another, as declared for the builder.
///
/// It is taken when everything that it requires holds: its event, its time, its guard.
///
/// ```
/// use formic_ai::fsm::{MachineBuilder, State, Transition};
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Deed;
/// #[derive(Component)]
/// struct Senses { smoke: bool, noise: bool }
///
/// let actions = ["sleep", "listen", "run", "hide"];
/// let actions = actions.iter().fold(ActionSet::new(), |set, name| set.action(*name, Deed));
/// type Go = Transition<&'static Senses>;
/// let machine = MachineBuilder::new()
///     .state(State::new("asleep").action("sleep"))
///     .state(State::new("alert").action("listen"))
///     .state(State::new("fleeing").action("run"))
///     .state(State::new("hidden").action("hide"))
///     // In records: \"alert because it hears something\".
///     .transition(Go::new("asleep", "alert").when(|it| it.noise).called("it hears something"))
///     .transition(Go::new("alert", "asleep").after(30))
///     // Whatever it does, and it goes on with that afterwards.
///     .transition(Go::interrupt_any("fleeing").when(|it| it.smoke).priority(1))
///     .transition(Go::back("fleeing").when_done())
///     // There was no way out.
///     .transition(Go::new("fleeing", "hidden").when_failed())
///     .transition(Go::back("hidden").when(|it| !it.smoke))
///     .build(&actions)?;
/// assert_eq!(machine.name(3), "hidden");
/// # Ok::<(), formic_ai::action::MindError>(())
/// ```
pub struct Transition<Q: QueryData> {
    /// `None` for any state.
    pub(super) from: Option<String>,
    pub(super) to: TransitionTarget<String>,
    pub(super) guard: Option<Guard<Q>>,
    pub(super) trigger: Trigger,
    pub(super) priority: i32,
    /// The description of its condition in decision records.
    pub(super) name: Option<Label>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransitionTarget<S> {
    To(S),
    /// Enters the state and pushes the state that was left, for the next `Back`.
    Push(S),
    Back,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    Always,
    Event(u32),
    /// This many updates after the innermost state was entered.
    After(u32),
    Done,
    Failed,
}

debug_fields!([Q: QueryData] Transition<Q>: from, to, trigger, priority);

impl<Q: QueryData> Transition<Q> {
    fn of(from: Option<String>, to: TransitionTarget<String>) -> Self {
        Self { from, to, guard: None, trigger: Trigger::Always, priority: 0, name: None }
    }

    /// A transition from a state, and from the states inside it, to another state.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::of(Some(from.into()), TransitionTarget::To(to.into()))
    }

    /// A transition from any state, except the target and the states inside it.
    pub fn from_any(to: impl Into<String>) -> Self {
        Self::of(None, TransitionTarget::To(to.into()))
    }

    /// An interruption: a transition to another state that remembers the innermost state it leaves, for a
    /// transition [back](Self::back).
    ///
    /// Up to 16 interruptions can be stacked. A further one is refused, and counted by
    /// [`FsmAgent::interruptions_refused`](super::FsmAgent::interruptions_refused).
    pub fn interrupt(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::of(Some(from.into()), TransitionTarget::Push(to.into()))
    }

    /// An interruption of any state, except the target and the states inside it.
    pub fn interrupt_any(to: impl Into<String>) -> Self {
        Self::of(None, TransitionTarget::Push(to.into()))
    }

    /// A transition back to the innermost state that was interrupted last. It is not taken if no state is
    /// interrupted.
    pub fn back(from: impl Into<String>) -> Self {
        Self::of(Some(from.into()), TransitionTarget::Back)
    }

    /// Requires a condition, the guard of the transition.
    #[must_use]
    pub fn when(
        mut self,
        ask: impl for<'a> Fn(&Q::Item<'a>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.guard = Some(Box::new(ask));
        self
    }

    /// Describes the condition in words, for [decision records](crate::explain): `the enemy is near`.
    #[must_use]
    pub fn called(mut self, name: impl Into<Label>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Requires an event that the agent was [sent](super::FsmAgent::send).
    ///
    /// # Panics
    /// Panics if the event is not below [`FsmAgent::EVENTS_MAX`](super::FsmAgent::EVENTS_MAX).
    #[must_use]
    pub fn on(mut self, event: u32) -> Self {
        assert!(event < EVENTS_MAX, "event {event} is out of range: there are {EVENTS_MAX}");
        self.trigger = Trigger::Event(event);
        self
    }

    /// Requires that at least this many updates have passed since the innermost state was entered.
    #[must_use]
    pub const fn after(mut self, updates: u32) -> Self {
        self.trigger = Trigger::After(updates);
        self
    }

    /// Requires that the action of the source state has succeeded. If the source state has no action,
    /// building the machine fails. A transition from any state needs one state with an action.
    #[must_use]
    pub const fn when_done(mut self) -> Self {
        self.trigger = Trigger::Done;
        self
    }

    /// Requires that the action of the source state has failed. If the source state has no action,
    /// building the machine fails. A transition from any state needs one state with an action.
    #[must_use]
    pub const fn when_failed(mut self) -> Self {
        self.trigger = Trigger::Failed;
        self
    }

    /// Sets the priority. Among the transitions that can be taken, the one with the highest priority is;
    /// among equals, the one that was added first.
    #[must_use]
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }
}
