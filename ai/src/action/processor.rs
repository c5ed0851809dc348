//! The processor that carries out one kind of action.

use std::fmt;

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Component, Entity, HashState, QueryData};

use super::components::ActionResult;

/// Carries out the actions of one kind: those whose filter component is [`Self::Action`].
///
/// It is called from several threads at once; to write to its agent it holds an
/// [`AgentAccess`](super::AgentAccess), to read from others a
/// [`ComponentLookup`](formic_jobs::ComponentLookup). Where an action writes to anything else, or wants the other
/// components of the action entity, it is a [`SerialProcessor`] or a [`WideProcessor`].
pub trait Processor: Sync {
    /// The filter component.
    type Action: Component;

    /// Called before the actions of a chunk, in the thread that carries them out.
    fn before_chunk(&self, chunk: ActionChunk) {
        let _ = chunk;
    }

    /// Begins an action. Called once per activation, before anything else. An action that is done
    /// at once gives [`ActionResult::Success`] here and is not updated; one that gives
    /// [`ActionResult::Running`] is updated in the same tick.
    fn start(&self, agent: Agent, action: &mut Self::Action) -> ActionResult;

    /// Goes on with an action, once a tick until it gives something else than
    /// [`ActionResult::Running`].
    fn update(&self, agent: Agent, action: &mut Self::Action) -> ActionResult;

    /// Tidies up after an action. Called once per activation, after its last `start` or `update`.
    ///
    /// After [`Ended::Interrupted`] the agent may be gone.
    fn cleanup(&self, agent: Agent, action: &mut Self::Action, ended: Ended) {
        let _ = (agent, action, ended);
    }
}

/// A [`Processor`] whose calls are handed more than the filter component: other components of the
/// action (`X`), and a place to put something (`O`), such as a command buffer or the slot of an
/// [`EventWriter`](formic_jobs::EventWriter), see
/// [`Actions::process_with`](super::Actions::process_with).
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
///     fn start(&self, _: Agent, _: &mut Wait, _: &mut &mut Patience, (): &mut ()) -> ActionResult {
///         ActionResult::Running
///     }
///     fn update(
///         &self,
///         _: Agent,
///         _: &mut Wait,
///         patience: &mut &mut Patience,
///         (): &mut (),
///     ) -> ActionResult {
///         patience.0 = patience.0.saturating_sub(1);
///         if patience.0 == 0 { ActionResult::Success } else { ActionResult::Running }
///     }
/// }
/// fn wait(mut actions: Actions<Wait, &'static mut Patience>) {
///     actions.process_wide(&Waiting);
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
pub trait WideProcessor<X: QueryData = (), O = ()>: Sync {
    /// The filter component.
    type Action: Component;

    /// See [`Processor::before_chunk`].
    fn before_chunk(&self, chunk: ActionChunk) {
        let _ = chunk;
    }

    /// See [`Processor::start`].
    fn start(
        &self,
        agent: Agent,
        action: &mut Self::Action,
        extras: &mut X::Item<'_>,
        out: &mut O,
    ) -> ActionResult;

    /// See [`Processor::update`].
    fn update(
        &self,
        agent: Agent,
        action: &mut Self::Action,
        extras: &mut X::Item<'_>,
        out: &mut O,
    ) -> ActionResult;

    /// See [`Processor::cleanup`].
    fn cleanup(
        &self,
        agent: Agent,
        action: &mut Self::Action,
        extras: &mut X::Item<'_>,
        ended: Ended,
        out: &mut O,
    ) {
        let _ = (agent, action, extras, ended, out);
    }
}

/// Carries out actions one after the other, on one thread: for actions that write to more than
/// their own agent, such as a door that two agents push at.
///
/// Those that are interrupted are tidied up first. All come in the order in which their entities lie
/// in the world, which does not depend on the number of threads.
pub trait SerialProcessor {
    /// The filter component.
    type Action: Component;

    /// See [`Processor::before_chunk`].
    fn before_chunk(&mut self, chunk: ActionChunk) {
        let _ = chunk;
    }

    /// See [`Processor::start`].
    fn start(&mut self, agent: Agent, action: &mut Self::Action) -> ActionResult;

    /// See [`Processor::update`].
    fn update(&mut self, agent: Agent, action: &mut Self::Action) -> ActionResult;

    /// See [`Processor::cleanup`].
    fn cleanup(&mut self, agent: Agent, action: &mut Self::Action, ended: Ended) {
        let _ = (agent, action, ended);
    }
}

/// Which actions come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActionChunk {
    /// The place of the chunk among all that have actions of this kind: a sort key for command
    /// buffers that does not depend on threads.
    pub ordinal: usize,
    /// How many actions of it are executing.
    pub action_count: usize,
}

/// Who acts: the agent, and the action of it that is being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agent {
    /// The agent.
    pub entity: Entity,
    /// The action.
    pub action: Entity,
    /// Whether all actions of the kind that were interrupted have been tidied up in this tick.
    pub(super) is_late: bool,
}

/// How an action, or an [activity](crate::activity), ended.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
#[repr(u8)]
pub enum Ended {
    /// It was done.
    Success = 1,
    /// It could not be done.
    Failed = 2,
    /// Something else came first, or the agent is gone.
    Interrupted = 3,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        })
    }
}
