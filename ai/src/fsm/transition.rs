//! Transitions, in the making.

use formic_ecs::QueryData;

use crate::bits::WORDS_MAX;
use crate::explain::Label;

/// How many events there are.
pub(super) const EVENTS_MAX: u32 = 1024;
const _: () = assert!(EVENTS_MAX as usize == 64 * WORDS_MAX, "a set has room for all");

pub(super) type Ask<Q> = Box<dyn for<'a> Fn(&<Q as QueryData>::Item<'a>) -> bool + Send + Sync>;

/// What leads from one state to another, in the making.
///
/// It is taken when all that it asks for is the case: its event, its time, its guard.
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
    pub(super) to: Goes<String>,
    pub(super) guard: Option<Ask<Q>>,
    pub(super) trigger: Trigger,
    pub(super) priority: i32,
    /// What its condition is called in records.
    pub(super) name: Option<Label>,
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

debug_fields!([Q: QueryData] Transition<Q>: from, to, trigger, priority);

impl<Q: QueryData> Transition<Q> {
    fn of(from: Option<String>, to: Goes<String>) -> Self {
        Self { from, to, guard: None, trigger: Trigger::Always, priority: 0, name: None }
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
    ///
    /// Up to 16 interruptions lie on each other. One more is refused, which
    /// [`FsmAgent::interruptions_refused`](super::FsmAgent::interruptions_refused) counts.
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

    /// What it asks for, in words, for [records](crate::explain): `the enemy is near`.
    #[must_use]
    pub fn called(mut self, name: impl Into<Label>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Asks for an event that the agent was [sent](super::FsmAgent::send).
    ///
    /// # Panics
    /// Panics if it is not below [`FsmAgent::EVENTS_MAX`](super::FsmAgent::EVENTS_MAX).
    #[must_use]
    pub fn on(mut self, event: u32) -> Self {
        assert!(event < EVENTS_MAX, "event {event} is out of range: there are {EVENTS_MAX}");
        self.trigger = Trigger::Event(event);
        self
    }

    /// Asks that the innermost state was entered so many updates ago at least.
    #[must_use]
    pub const fn after(mut self, updates: u32) -> Self {
        self.trigger = Trigger::After(updates);
        self
    }

    /// Asks that the action of the state that it leads from is done. That state has an action, or the
    /// machine is not built.
    #[must_use]
    pub const fn when_done(mut self) -> Self {
        self.trigger = Trigger::Done;
        self
    }

    /// Asks that the action of the state that it leads from has failed. That state has an action, or
    /// the machine is not built.
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
