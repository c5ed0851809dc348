//! The system parameter with which actions write to their agents.

use std::fmt;

use formic_ecs::{Claim, ClaimError, QueryData};
use formic_jobs::{ExclusiveLookup, SystemParam};

use super::components::ActionResult;
use super::processor::Agent;

/// Exclusive access from the actions of one kind to components of their agents, on all threads. A
/// [`Processor`](super::Processor) writes to its agent through it.
///
/// An action has exclusive access to its agent's components as long as no other action of the same kind
/// and agent runs in the same tick. Interrupted actions are cleaned up before the others and do not
/// conflict with them. If two actions of one kind run at once, as the parts of a
/// [race](super::Composite::race) may, and both write to the same agent, that is an error every time: see
/// [`ExclusiveLookup`]. Make them two kinds of actions, which run in the order of their systems, or run
/// them [on one thread](super::Actions::process_serial), with a
/// [`ComponentLookup`](formic_jobs::ComponentLookup).
///
/// ```
/// use formic_ai::prelude::*;
///
/// #[derive(Component)]
/// struct Gold(u32);
/// #[derive(Component, Clone)]
/// struct Dig;
/// fn dig(mut actions: Actions<Dig>, purses: AgentAccess<&mut Gold>) {
///     actions.update(|imp, Dig| {
///         purses.act(imp, |gold| {
///             gold.0 += 1;
///             ActionResult::Success
///         })
///     });
/// }
///
/// let mut world = World::new();
/// let imp = Sequence::new().then(Dig).spawn(&mut world, Gold(0))?;
/// let mut schedule =
///     formic_ai::action::add(Schedule::builder()).add(dig.as_action()).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(world.get::<Gold>(imp)?.0, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(SystemParam)]
pub struct AgentAccess<'a, Q: QueryData + 'static>(ExclusiveLookup<'a, Q>);

impl<Q: QueryData + 'static> AgentAccess<'_, Q> {
    /// Calls `act` with the components of the agent and returns its result. The action fails if the agent
    /// is gone or lacks a component, or if [`claim`](Self::claim) returns any other error.
    #[inline]
    pub fn act(
        &self,
        agent: Agent<'_>,
        act: impl FnOnce(Q::Item<'_>) -> ActionResult,
    ) -> ActionResult {
        match self.claim(agent) {
            Ok(mut claim) => act(claim.get_mut()),
            Err(_) => ActionResult::Failed,
        }
    }

    /// Claims the components of the agent, until the claim is dropped.
    ///
    /// # Errors
    /// Returns [`ClaimError::NoSuchEntity`] if the agent is gone, [`ClaimError::Missing`] if it lacks a
    /// component, [`ClaimError::Held`] if this action already holds a claim on it, and
    /// [`ClaimError::Contested`] if another action of the same kind has claimed it in this tick. After
    /// either of the last two, the system panics when it ends.
    #[inline]
    pub fn claim(&self, agent: Agent<'_>) -> Result<Claim<'_, Q>, ClaimError> {
        self.0.claim(agent.row, agent.entity)
    }
}

impl<Q: QueryData + 'static> fmt::Debug for AgentAccess<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
