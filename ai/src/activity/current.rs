//! The current sub-activity of an activity.

use std::borrow::Cow;

use formic_ecs::{Entity, HashState};
use serde::{Deserialize, Serialize};

use super::behaviour::{Activity, EventOf, Failure, WorldOf};
use super::domain::{Ending, Response, Status};
use super::event::Notice;
use super::tick::{Effects, Tick};

/// Holds the current sub-activity of an activity, if there is one, and finishes it exactly once: its
/// subscriptions end, then its `on_finish` is called.
///
/// The activity passes its ticks, events and interruptions on. While there is a sub-activity, it owns all
/// subscriptions of the task: those that the activity made itself end with it.
///
/// ```
/// # use std::borrow::Cow;
/// # use formic_ai::activity::Event;
/// use formic_ai::activity::{Activity, Current, Effects, Ending, Notice, Response, Status, Tick};
/// use formic_ecs::Entity;
/// # struct Nothing;
/// # impl Event for Nothing {}
/// # type Village = ((), Nothing, &'static str);
/// # #[derive(formic_ecs::HashState)]
/// # struct Nap;
/// # impl Activity for Nap {
/// #     type Domain = Village;
/// #     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(|_, _| {});
/// #     fn name(&self) -> Cow<'_, str> { "napping".into() }
/// #     fn on_tick(&mut self, _: &mut Tick<Village>, (): &()) -> Status<&'static str> {
/// #         Status::Finished(Ending::Success)
/// #     }
/// # }
/// #[derive(formic_ecs::HashState)]
/// struct NapTwice { now: Current<Nap>, naps: u32 }
///
/// impl Activity for NapTwice {
///     type Domain = Village;
///     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(formic_ecs::HashState::hash_state);
///     fn name(&self) -> Cow<'_, str> { "napping twice".into() }
///     fn step(&self) -> Option<Cow<'_, str>> { self.now.name() }
///     fn on_tick(&mut self, tick: &mut Tick<Village>, world: &()) -> Status<&'static str> {
///         loop {
///             match self.now.on_tick(tick, world) {
///                 None | Some(Status::Finished(Ending::Success)) if self.naps < 2 => {
///                     self.naps += 1;
///                     self.now.begin(Nap);
///                 }
///                 Some(status) => return status,
///                 None => return Status::Finished(Ending::Success),
///             }
///         }
///     }
///     fn on_event(&mut self, notice: Notice<Nothing>, subject: Entity) -> Response {
///         self.now.on_event(notice, subject)
///     }
///     fn on_finish(
///         self,
///         _: &Ending<&'static str>,
///         effects: &mut Effects<Village>,
///         world: &(),
///     ) {
///         self.now.finish(effects, world);
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, HashState, Serialize, Deserialize)]
pub struct Current<S>(Option<S>);

impl<S> Default for Current<S> {
    fn default() -> Self {
        Self(None)
    }
}

debug_fields!([S: Activity] Current<S>:; name = |it| it.name());

impl<S: Activity> Current<S> {
    /// Starts with this sub-activity.
    #[must_use]
    pub const fn new(sub: S) -> Self {
        Self(Some(sub))
    }

    /// The sub-activity, if there is one.
    #[must_use]
    pub const fn get(&self) -> Option<&S> {
        self.0.as_ref()
    }

    /// Its name, followed by its own step if it has one.
    #[must_use]
    pub fn name(&self) -> Option<Cow<'_, str>> {
        let sub = self.0.as_ref()?;
        Some(match sub.step() {
            Some(step) => format!("{}: {step}", sub.name()).into(),
            None => sub.name(),
        })
    }

    /// Begins a sub-activity.
    ///
    /// # Panics
    /// Panics if there is one that has not ended; [`interrupt`](Self::interrupt) it first.
    pub fn begin(&mut self, sub: S) {
        assert!(self.0.is_none(), "a sub-activity is begun when the one before has ended");
        self.0 = Some(sub);
    }

    /// Ticks the sub-activity, if there is one. If it returns that it has finished, it is finished and
    /// removed.
    pub fn on_tick(
        &mut self,
        tick: &mut Tick<'_, S::Domain>,
        world: &WorldOf<'_, S>,
    ) -> Option<Status<Failure<S>>> {
        let status = self.0.as_mut()?.on_tick(tick, world);
        if let Status::Finished(ending) = &status {
            let sub = self.0.take();
            tick.unsubscribe_all();
            if let Some(sub) = sub {
                sub.on_finish(ending, tick, world);
            }
        }
        Some(status)
    }

    /// Passes an event on to the sub-activity; without one, wakes the activity.
    pub fn on_event(&mut self, notice: Notice<'_, EventOf<S>>, subject: Entity) -> Response {
        self.0.as_mut().map_or(Response::WAKE, |sub| sub.on_event(notice, subject))
    }

    /// Interrupts the sub-activity during a tick, if there is one.
    pub fn interrupt(&mut self, tick: &mut Tick<'_, S::Domain>, world: &WorldOf<'_, S>) {
        if let Some(sub) = self.0.take() {
            tick.unsubscribe_all();
            sub.on_finish(&Ending::Interrupted, tick, world);
        }
    }

    /// Interrupts the sub-activity, if there is one, because the activity ends. However the activity
    /// ended, the sub-activity has not completed.
    pub fn finish(self, effects: &mut Effects<'_, S::Domain>, world: &WorldOf<'_, S>) {
        if let Some(sub) = self.0 {
            sub.on_finish(&Ending::Interrupted, effects, world);
        }
    }
}
