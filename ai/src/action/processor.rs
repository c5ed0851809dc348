//! What carries out one kind of action.

use ecs_core::{Component, Entity};

use super::components::ActionResult;

/// Carries out the actions of one kind: those whose filter component is [`Self::Action`].
///
/// It is called from several threads at once, for actions of different agents; to write to an
/// agent it holds [`Claims`](ecs_jobs::Claims), to read from others a
/// [`Lookup`](ecs_jobs::Lookup).
pub trait Processor: Sync {
    /// The filter component.
    type Action: Component;

    /// Begins an action. Called once per activation, before anything else. An action that is done
    /// at once gives [`ActionResult::Success`] here and is not updated; one that gives
    /// [`ActionResult::Running`] is updated in the same tick.
    fn start(&self, agent: Entity, action: &mut Self::Action) -> ActionResult;

    /// Goes on with an action, once a tick until it gives something else than
    /// [`ActionResult::Running`].
    fn update(&self, agent: Entity, action: &mut Self::Action) -> ActionResult;

    /// Tidies up after an action. Called once per activation, after its last `start` or `update`.
    fn cleanup(&self, agent: Entity, action: &mut Self::Action, ended: Ended) {
        let _ = (agent, action, ended);
    }
}

/// How an activation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The action was done.
    Success,
    /// It could not be done.
    Failed,
}
