//! Processors: the code that runs the actions of one kind.

use formic_ecs::{Claimant, Component, Entity, QueryData};

use super::components::ActionResult;
use crate::explain::Ended;

/// The code that runs the actions of one kind: those whose filter component is [`Self::Action`].
///
/// If closures suffice, [`Actions::carry_out`](super::Actions::carry_out) takes them instead.
///
/// It is called from several threads at once. To write to its agent, it holds an
/// [`AgentAccess`](super::AgentAccess); to read from other entities, a
/// [`ComponentLookup`](formic_jobs::ComponentLookup). If it writes to anything else, it must run [on one
/// thread](super::Actions::process_serial). If it needs other components of the action entity, it is a
/// [`WideProcessor`].
///
/// ```
/// use formic_ai::action::{self, Agent, Ended};
/// use formic_ai::prelude::*;
///
/// #[derive(Component, Clone)]
/// struct Song { beats: u32, applause: bool }
/// struct Singing;
///
/// impl Processor for Singing {
///     type Action = Song;
///     fn start(&self, _singer: Agent, song: &mut Song) -> ActionResult {
///         song.beats = 3;
///         ActionResult::Running
///     }
///     fn update(&self, _singer: Agent, song: &mut Song) -> ActionResult {
///         song.beats -= 1;
///         if song.beats == 0 { ActionResult::Success } else { ActionResult::Running }
///     }
///     fn cleanup(&self, _singer: Agent, song: &mut Song, ended: Ended) {
///         song.applause = ended == Ended::Success;
///     }
/// }
/// fn sing(mut actions: Actions<Song>) {
///     actions.process(&Singing);
/// }
///
/// let mut world = World::new();
/// Sequence::new().then(Song { beats: 0, applause: false }).spawn(&mut world, ())?;
/// let mut schedule = action::add(Schedule::builder()).add(sing.as_action()).build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// (0..3).for_each(|_| _ = schedule.run(&mut world, &pool));
/// assert!(world.query::<&Song>().into_iter().all(|song| song.applause));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Processor {
    /// The filter component.
    type Action: Component;

    /// Starts an action. It is called once per activation, before anything else. An action that finishes
    /// at once returns [`ActionResult::Success`] here and is not updated. One that returns
    /// [`ActionResult::Running`], the default, is updated in the same tick.
    fn start(&self, agent: Agent<'_>, action: &mut Self::Action) -> ActionResult {
        let _ = (agent, action);
        ActionResult::Running
    }

    /// Updates an action, once per tick until it returns anything but [`ActionResult::Running`]. An
    /// action that ends in `start` does not need it.
    ///
    /// # Panics
    /// Panics unless the processor overrides it.
    fn update(&self, agent: Agent<'_>, action: &mut Self::Action) -> ActionResult {
        let _ = (agent, action);
        no_update(Self::Action::name())
    }

    /// Cleans up after an action. It is called once per activation, after its last `start` or `update`.
    ///
    /// After [`Ended::Interrupted`] the agent may be gone.
    fn cleanup(&self, agent: Agent<'_>, action: &mut Self::Action, ended: Ended) {
        let _ = (agent, action, ended);
    }
}

/// A [`Processor`] whose calls get more than the filter component: other components of the action (`X`),
/// and an output (`O`), such as a command buffer or the slot of an
/// [`EventWriter`](formic_jobs::EventWriter), see [`Actions::with`](super::Actions::with). Every
/// [`Processor`] is a `WideProcessor` with neither.
///
/// ```
/// use formic_ai::action::{Agent, WideProcessor};
/// use formic_ai::prelude::*;
///
/// #[derive(Component, Clone)]
/// struct Wait;
/// #[derive(Component, Clone)]
/// struct Patience(u32);
/// struct Waiting;
///
/// impl WideProcessor<&'static mut Patience> for Waiting {
///     type Action = Wait;
///     fn update(&self, _: Agent, _: &mut Wait, left: &mut Patience, (): &mut ()) -> ActionResult {
///         left.0 = left.0.saturating_sub(1);
///         if left.0 == 0 { ActionResult::Success } else { ActionResult::Running }
///     }
/// }
/// fn wait(mut actions: Actions<Wait, &'static mut Patience>) {
///     actions.process(&Waiting);
/// }
///
/// let mut world = World::new();
/// let waiting = Sequence::new().then_with(Wait, Patience(3));
/// let agent = waiting.spawn(&mut world, ())?;
/// let mut schedule = formic_ai::action::add(Schedule::builder())
///     .add(wait.as_action())
///     .build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// (0..3).for_each(|_| _ = schedule.run(&mut world, &pool));
/// assert_eq!(world.get::<SequenceAgent>(agent)?.advances(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait WideProcessor<X: Extras = (), O = ()> {
    /// The filter component.
    type Action: Component;

    /// See [`Processor::start`].
    fn start(
        &self,
        agent: Agent<'_>,
        action: &mut Self::Action,
        extras: X::Item<'_>,
        out: &mut O,
    ) -> ActionResult {
        drop((agent, action, extras, out));
        ActionResult::Running
    }

    /// See [`Processor::update`].
    ///
    /// # Panics
    /// Panics unless the processor overrides it.
    fn update(
        &self,
        agent: Agent<'_>,
        action: &mut Self::Action,
        extras: X::Item<'_>,
        out: &mut O,
    ) -> ActionResult {
        drop((agent, action, extras, out));
        no_update(Self::Action::name())
    }

    /// See [`Processor::cleanup`].
    fn cleanup(
        &self,
        agent: Agent<'_>,
        action: &mut Self::Action,
        extras: X::Item<'_>,
        ended: Ended,
        out: &mut O,
    ) {
        drop((agent, action, extras, ended, out));
    }
}

impl<X: Extras, P: Processor> WideProcessor<X> for P {
    type Action = P::Action;

    #[inline]
    fn start(
        &self,
        agent: Agent<'_>,
        it: &mut P::Action,
        _: X::Item<'_>,
        (): &mut (),
    ) -> ActionResult {
        Processor::start(self, agent, it)
    }

    #[inline]
    fn update(
        &self,
        agent: Agent<'_>,
        it: &mut P::Action,
        _: X::Item<'_>,
        (): &mut (),
    ) -> ActionResult {
        Processor::update(self, agent, it)
    }

    fn cleanup(
        &self,
        agent: Agent<'_>,
        it: &mut P::Action,
        _: X::Item<'_>,
        ended: Ended,
        (): &mut (),
    ) {
        Processor::cleanup(self, agent, it, ended);
    }
}

#[cold]
fn no_update(action: &str) -> ! {
    panic!("the action {action} goes on after `start`, and its processor has no `update`")
}

/// Components of action entities that a [`WideProcessor`] gets in every call: references, optional ones,
/// and tuples of these.
pub trait Extras: QueryData {
    /// Reborrows the item for one call.
    #[doc(hidden)]
    fn reborrow<'a>(item: &'a mut Self::Item<'_>) -> Self::Item<'a>;
}

impl<T: Component> Extras for &T {
    #[inline]
    fn reborrow<'a>(item: &'a mut Self::Item<'_>) -> Self::Item<'a> {
        item
    }
}

impl<T: Component> Extras for &mut T {
    #[inline]
    fn reborrow<'a>(item: &'a mut Self::Item<'_>) -> Self::Item<'a> {
        item
    }
}

impl<X: Extras> Extras for Option<X> {
    #[inline]
    fn reborrow<'a>(item: &'a mut Self::Item<'_>) -> Self::Item<'a> {
        item.as_mut().map(X::reborrow)
    }
}

impl Extras for () {
    #[inline]
    fn reborrow<'a>(_: &'a mut Self::Item<'_>) -> Self::Item<'a> {}
}

macro_rules! extras_of_tuples {
    ($($($X:ident $x:ident),*;)*) => {$(
        impl<$($X: Extras),*> Extras for ($($X,)*) {
            #[inline]
            fn reborrow<'a>(($($x,)*): &'a mut Self::Item<'_>) -> Self::Item<'a> {
                ($($X::reborrow($x),)*)
            }
        }
    )*};
}
extras_of_tuples! { A a; A a, B b; A a, B b, C c; A a, B b, C c, D d; }

/// The chunk whose actions run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActionChunk {
    /// The index of the chunk among all that have actions of this kind: a sort key for command buffers
    /// that does not depend on threads.
    pub ordinal: usize,
    /// The number of its executing actions.
    pub action_count: usize,
}

/// The agent that acts, and the action that is running.
///
/// The loop over the actions lends it for one call of a processor, on its thread.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Agent<'a> {
    /// The agent.
    pub entity: Entity,
    /// The action.
    pub action: Entity,
    /// The action as the claimant of the agent.
    pub(super) row: &'a Claimant<'a>,
}
